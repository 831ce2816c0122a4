"""One question answered in process: an engine with its store in memory, closed again when it has answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter
from typing import cast

from proxy.config import Settings
from proxy.discovery.classes import DocumentClass
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.names import parse_domain
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.reading import Manner, Reading
from proxy.engine.discovery.results import Question, question_of
from proxy.engine.settings import Rules
from proxy.engine.trust.documents import DidDocuments, FetchEnd
from proxy.http.messages import Realm
from proxy.http.problems import Problem
from proxy.http.targets import Target
from proxy.metrics import Metrics
from proxy.server.enginesettings import class_policies, discovery_settings, engine_settings
from proxy.server.keeping import keep, passing
from proxy.server.network import open_network
from proxy.server.wiring import (
    Engine,
    build_engine,
    wall_clock,
)
from proxy.stores.generations import MemoryGenerations
from proxy.upstream.addresses import OwnListeners
from proxy.upstream.mirrors import MirrorClient


def discover_once(settings: Settings, domain: str, level: str | None, ladder: str | None) -> JsonObject:
    """What `domain` publishes, as `/v1/discover` tells it, however it ends. Raises BadDomain, CannotOpen."""
    name = parse_domain(domain, isolated=settings.discovery.mdns.isolated)
    return asyncio.run(_discover(settings, question_of(name, level, ladder)))


def read_once(settings: Settings, target: Target, document_class: DocumentClass) -> Reading:
    """The document at `target`, to whatever address that leads, as discovery reads it. Raises CannotOpen."""
    return asyncio.run(_read(settings, target, document_class))


def read_did_once(settings: Settings, did: str) -> FetchEnd:
    """What the domain of a DID has as its document or log, unverified. Raises CannotOpen."""
    return asyncio.run(_read_did(settings, did))


async def _discover(settings: Settings, question: Question) -> JsonObject:
    async with _engine(settings) as engine:
        engine.discoverer.check(question.domain)
        started = perf_counter()
        prepared = await engine.discoverer.discover(question)
        milliseconds = (perf_counter() - started) * 1000
    assert not isinstance(prepared, Problem)  # nobody else asks this engine
    told = json.loads(prepared.body(milliseconds))
    return cast(JsonObject, told)


async def _read(settings: Settings, target: Target, document_class: DocumentClass) -> Reading:
    rules = Rules(engine_settings(settings), class_policies(settings))
    discovery = discovery_settings(settings)
    async with _engine(settings) as engine:
        reader = Reader(
            engine.gateway,
            rules,
            MemoryGenerations(),
            wall_clock,
            discovery.agent,
            discovery.negative_ttl,
        )
        return await reader.read(target, document_class, Manner(realm=Realm.ANY))


async def _read_did(settings: Settings, did: str) -> FetchEnd:
    network = open_network(settings, OwnListeners(), wall_clock)
    try:
        agent = discovery_settings(settings).agent
        mirrors = MirrorClient(network.origin, agent)
        return await DidDocuments(network.origin, mirrors, agent, wall_clock, Metrics()).fetch(did, None)
    finally:
        await network.close()


@asynccontextmanager
async def _engine(settings: Settings) -> AsyncIterator[Engine]:
    network = open_network(settings, OwnListeners(), wall_clock)
    kept = keep(settings, Metrics(), wall_clock, None, passing())
    try:
        engine = build_engine(settings, kept, network)
        try:
            yield engine
        finally:
            await engine.close()
    finally:
        await kept.flights.close(0.0)
        await network.close()
        await kept.close(0.0)
