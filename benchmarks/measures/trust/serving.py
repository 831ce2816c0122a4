"""What a served manifest pays for its signature: nothing at a hit, and no stop of the event loop at a fetch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Final

from benchmarks import documents
from benchmarks.latency import spread
from benchmarks.measures.trust.verification import LARGE, SMALL, baseline_of, from_mirror
from benchmarks.publisher import MANIFEST_PATH, Publisher
from benchmarks.registry import CannotMeasure
from benchmarks.tables import Row, Table
from benchmarks.turns import Turns, in_turns, ratio, require
from proxy.caching.freshness import Exchange
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import NotStored, may_store
from proxy.config import load
from proxy.engine.outcome import Complete
from proxy.engine.settings import EngineSettings, Rules
from proxy.engine.trust.settings import TrustSettings
from proxy.engine.trust.verifying import Verifier
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead
from proxy.http.targets import parse_target
from proxy.metrics import Metrics
from proxy.server.keeping import open_kept
from proxy.server.network import open_network
from proxy.server.wiring import build_engine, wall_clock
from proxy.trust.manifests import TrustRules, verify_manifest
from proxy.trust.records.knowledge import Knowledge, with_pin
from proxy.trust.records.pin import anchor_of, sighted
from proxy.trust.verdict import CopySource, VerifiedCopy
from proxy.upstream.addresses import OwnListeners

# Of the same length, so that the two requests are.
_SIGNED_HOST: Final = "signed.example.com"
_UNSIGNED_HOST: Final = "simple.example.com"
_TICK_SECONDS: Final = 0.001
_RESTING_TICKS: Final = 20


async def hits(publisher: Publisher, now: float, turns: Turns) -> Table:
    """Fresh hits of the same octets, once vouched for by a good proof and once by TLS alone."""
    settings = load(None, {}, {"store.url": "memory://"})
    # The network is never reached; the engine is put together as in service all the same.
    network = open_network(settings, OwnListeners(), wall_clock)
    kept = open_kept(settings, Metrics(), wall_clock)
    gateway = build_engine(settings, kept, network).gateway
    verifier, known = _verifier(publisher, now)
    copy = from_mirror(publisher, SMALL)
    verdict = await verifier.manifest(copy, publisher.host, known, None)
    if not isinstance(verdict, VerifiedCopy):
        raise CannotMeasure(f"the manifest was not verified: {verdict.reason}")
    vouching = verifier.vouching(verdict.signed, CopySource.ORIGIN, known, is_stale=False)
    unsigned = _stored(_UNSIGNED_HOST, copy.body, now)
    signed = replace(_stored(_SIGNED_HOST, copy.body, now), vouching=vouching)
    calls = []
    for stored, state in ((unsigned, "origin-tls;"), (signed, "verified;")):
        kept.store.put(stored.uri, stored)
        call = partial(gateway.hit, _asking(stored.uri))
        require(stored.uri, call, partial(_tells, state))
        calls.append(call)
    by_tls, by_proof = in_turns(calls, turns)
    await network.close()
    rows: list[Row] = [
        {"a hit of a manifest": "without a signature", "µs": median(by_tls), "signed ÷ unsigned": 1.0},
        {"a hit of a manifest": "signed", "µs": median(by_proof), "signed ÷ unsigned": ratio(by_proof, by_tls)},
    ]
    raw = {"unsigned, µs": by_tls, "signed, µs": by_proof}
    return Table(f"Gateway.hit, the same 1.5 KB twice: {turns}", rows, raw)


def _verifier(publisher: Publisher, now: float) -> tuple[Verifier, Knowledge]:
    """The engine's own, and the publisher's document pinned."""
    verifier = Verifier(TrustSettings(), lambda: now, Metrics())
    pin = sighted(None, publisher.did, publisher.did_document, now).pin
    return verifier, with_pin(Knowledge(publisher.host, publisher.did), pin, now)


def _asking(uri: str) -> Request:
    return Request("GET", parse_target(uri), Fields(documents.REQUEST_LINES))


def _stored(host: str, body: bytes, now: float) -> StoredResponse:
    """The manifest as an origin's answer is stored, before anybody has looked at its signature."""
    asked = _asking(f"https://{host}{MANIFEST_PATH}")
    head = ResponseHead(200, "OK", Fields(documents.response_lines(1, now)))
    verdict = may_store(asked, head, Exchange(now, now), Rules(EngineSettings()).of(asked).storage, 0)
    assert not isinstance(verdict, NotStored), verdict
    return verdict.with_body(body)


def _tells(state: str, answer: object) -> bool:
    return isinstance(answer, Complete) and (answer.head.fields.get("discovery-trust") or "").startswith(state)


async def held_loop(publisher: Publisher, now: float, times: int) -> Table:
    """For how long nothing else could run: with no verification, with the engine's, and with one on the loop."""
    verifier, known = _verifier(publisher, now)
    assert known.pin is not None
    copy, anchor = from_mirror(publisher, LARGE), anchor_of(known.pin, now)
    baseline = baseline_of(copy, now)
    rules = TrustRules()

    async def rest() -> None:
        await asyncio.sleep(_RESTING_TICKS * _TICK_SECONDS)

    async def engine() -> None:
        await verifier.manifest(copy, publisher.host, known, baseline)

    async def directly() -> None:
        verify_manifest(copy, publisher.did, publisher.host, anchor, baseline, rules, now)

    ways = {"nothing": rest, "a manifest, as the engine does": engine, "a manifest, on the loop": directly}
    took: dict[str, list[float]] = {name: [] for name in ways}
    held: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(times):
        for name, way in ways.items():
            duration, longest = await _timed(way)
            took[name].append(duration * 1000)
            held[name].append(longest * 1000)
    rows: list[Row] = [
        {"verified": name, "took p50 ms": median(took[name]), **_held(spread(held[name], "ms"))} for name in ways
    ]
    raw = {f"{name}, loop held, ms": figures for name, figures in held.items()}
    return Table(f"The event loop meanwhile, {LARGE // 1024} KiB, {times} times each in turns", rows, raw)


def _held(figures: dict[str, float]) -> dict[str, float]:
    return {f"held {name}": figure for name, figure in figures.items()}


async def _timed(way: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """Seconds that it took, and the longest that a clock on the same loop was late meanwhile."""
    late: list[float] = []
    clock = asyncio.get_running_loop().create_task(_tick(late))
    await asyncio.sleep(2 * _TICK_SECONDS)
    late.clear()
    started = time.perf_counter()
    await way()
    duration = time.perf_counter() - started
    await asyncio.sleep(2 * _TICK_SECONDS)
    clock.cancel()
    return duration, max(late)


async def _tick(late: list[float]) -> None:
    while True:
        started = time.perf_counter()
        await asyncio.sleep(_TICK_SECONDS)
        late.append(time.perf_counter() - started - _TICK_SECONDS)
