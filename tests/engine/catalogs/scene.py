"""An engine that reads catalogs: what origins publish is simulated, their word is recorded in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from proxy.discovery.classes import DocumentClass
from proxy.engine.catalogs.judging import Judgement
from proxy.engine.catalogs.reading import CatalogRead, CatalogReader
from proxy.engine.catalogs.watching import WatchList
from proxy.engine.outcome import Refusal
from proxy.http.messages import Realm
from proxy.http.targets import Target, parse_target
from proxy.ledgers import LedgerDamaged, LedgerUnavailable
from proxy.relocation.records import Proof, Record, State, record_url
from proxy.relocation.sightings import Sighting, Source
from proxy.stores.memoryledger import MemoryLedger
from tests.simulators.clock import START
from tests.simulators.engine import Simulation, engine
from tests.simulators.registry import PATH, Registry

CATALOG: Final = "https://catalog.example.org/catalog.json"
REGISTRY: Final = f"https://registry.example.org{PATH}?limit=100"
TYPE: Final = "application/ai-catalog+json"
DAY: Final = 86_400.0


def entry(name: str, url: str, **members: object) -> dict[str, object]:
    """An entry of an AI Catalog."""
    return {
        "identifier": f"urn:air:example.com:{name}",
        "type": "application/a2a-agent-card+json",
        "url": url,
        **members,
    }


def catalog(*entries: Mapping[str, object], **members: object) -> bytes:
    """An AI Catalog, formatted as its publisher likes it."""
    return json.dumps({"specVersion": "1.0", "entries": list(entries), **members}, indent=1).encode()


def moved(url: str, target: str, now: float = START, **members: Any) -> Record:
    return record(url, State.MOVED, 308, now, location=target, target=target, proof=Proof.SAME_SITE, **members)


def pending(url: str, target: str, now: float = START, **members: Any) -> Record:
    return record(url, State.PENDING, 308, now, location=target, target=target, **members)


def gone(url: str, now: float = START, **members: Any) -> Record:
    return record(url, State.GONE, 410, now, **members)


def record(url: str, state: State, status: int, now: float, **members: Any) -> Record:
    """A record that was made now and holds for a day."""
    ends = {"fresh_until": now + DAY, "due_at": now + DAY}
    return Record(url, state, status, observed_at=now, checked_at=now, **{**ends, **members})


@dataclass
class Records:
    """A ledger that can be made to fail."""

    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    fault: LedgerUnavailable | None = None
    looked_up: int = 0

    def __call__(self, url: str) -> Record | None:
        self.looked_up += 1
        if self.fault is not None:
            raise self.fault
        return self.ledger.get(url)

    def fail(self, *, damaged: bool = False) -> None:
        self.fault = LedgerDamaged("damaged") if damaged else LedgerUnavailable("unavailable")


@dataclass
class Origins:
    """Implements `Rechecking`: says what it is told of each URL, nothing of others."""

    records: Records
    clock: Any
    sightings: dict[str, Sighting] = field(default_factory=dict)
    said: dict[str, Record] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    claims: dict[str, DocumentClass | None] = field(default_factory=dict)
    due: list[str] = field(default_factory=list)
    hanging: set[str] = field(default_factory=set)
    hosts_at_once: int = 0
    fault: LedgerUnavailable | None = None
    _under_way: list[str] = field(default_factory=list)

    def soon(self, target: Target) -> None:
        self.due.append(target.uri)

    async def ask(self, target: Target, realm: Realm, claimed: DocumentClass | None) -> Sighting:
        assert realm is Realm.PUBLIC
        url = record_url(target)
        self.asked.append(url)
        self.claims[url] = claimed
        self._under_way.append(target.authority)
        self.hosts_at_once = max(self.hosts_at_once, len(set(self._under_way)))
        try:
            await asyncio.sleep(0)
            if target.authority in self.hanging:
                await asyncio.Event().wait()
        finally:
            self._under_way.remove(target.authority)
        if self.fault is not None:
            raise self.fault
        if url in self.said:
            await self.records.ledger.put(self.said[url])
            return Sighting(self.said[url].status, self.clock(), False, Source.PROBE)
        return self.sightings.get(url, Sighting(0, self.clock(), False, Source.PROBE))

    def serves(self, *urls: str, status: int = 200, is_document: bool | None = None) -> None:
        is_document = status == 200 if is_document is None else is_document
        self.sightings |= {url: Sighting(status, self.clock(), is_document, Source.PROBE) for url in urls}

    def says(self, record: Record) -> None:
        self.said[record.url] = record


@dataclass
class Scene:
    """Everything between a published catalog and a verdict."""

    sim: Simulation = field(default_factory=engine)
    records: Records = field(default_factory=Records)
    origins: Origins = field(init=False)
    reader: CatalogReader = field(init=False)
    judgement: Judgement = field(init=False)

    def __post_init__(self) -> None:
        self.origins = Origins(self.records, self.sim.clock)
        self.reader = CatalogReader(self.sim.gateway, self.sim.clock, "discovery-proxy/test")
        self.judgement = Judgement(self.records, self.origins, self.sim.store, self.sim.clock)

    def publish(self, body: bytes, url: str = CATALOG, **how: Any) -> None:
        """From now on a catalog is there, fresh for five minutes."""
        how.setdefault("content_type", TYPE)
        if "cache_control" not in how:
            how.setdefault("max_age", 300)
        self.sim.origin.respond(url, body=body, **how)

    def publish_registry(self, registry: Registry, since: Iterable[str] = (), limit: int = 100) -> None:
        """From now on a registry's pages are there, also those of what has changed `since`."""
        site = REGISTRY.partition("?")[0]
        queries = [
            f"limit={limit}",
            *(f"limit={limit}&updated_since={moment.replace(':', '%3A')}" for moment in since),
        ]
        for query in queries:
            self.sim.origin.answer(f"{site}?{query}", registry.reply)
            for start in range(limit, registry.count + limit, limit):
                self.sim.origin.answer(f"{site}?{query}&cursor=from%3A{start}", registry.reply)

    async def put(self, *records: Record) -> None:
        for one in records:
            await self.records.ledger.put(one)

    async def read(self, url: str = CATALOG) -> CatalogRead | Refusal:
        return await self.reader.read(parse_target(url))

    async def read_all(self, url: str = REGISTRY, since: float | None = None) -> CatalogRead:
        read = await self.reader.read_all(parse_target(url), since)
        assert isinstance(read, CatalogRead)
        return read

    def asked(self, host: str) -> list[str]:
        """What a host was asked for."""
        return [sent.path for sent in self.sim.origin.requests if sent.request.target.host == host]

    def watch_list(self, *urls: str, interval: float = 3600.0) -> WatchList:
        return WatchList(self.reader, self.judgement, self.sim.clock, urls, interval)
