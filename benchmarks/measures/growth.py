"""Memory as it fills: what it takes, what it says it takes, what a hit costs, what the budget is worth.

Each size is measured in a process of its own, whose memory was in nobody's use before.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

import uvloop

from benchmarks import documents
from benchmarks.client import Connection, fetch, plain, through_proxy
from benchmarks.latency import spread
from benchmarks.machine import MIB, resident_bytes
from benchmarks.processes import ProxyProcess, origin_process, proxy_process
from benchmarks.registry import CannotMeasure, benchmark
from benchmarks.tables import Row, Table
from proxy.caching.directives import NO_REQUEST_DIRECTIVES
from proxy.caching.reuse import Hit, decide
from proxy.server.wiring import wall_clock
from proxy.stores.memory import Memory

T = TypeVar("T")

_UNBOUNDED = 2**40
_VARIANTS = 64
# Coprime to every size here, so that a walk in such steps meets each document once before any twice.
_STEP = 7919
_FILLING_CONNECTIONS = 16
_BYTES = "discovery_proxy_cache_bytes{"


@dataclass(frozen=True, slots=True)
class _Effort:
    """Documents held at each size, hits timed at each, the budget in MiB and how often it is filled over."""

    memory: tuple[int, ...]
    proxied: tuple[int, ...]
    hits: int
    budget: int
    turns: int


_FULL = _Effort(memory=(1_000, 10_000, 100_000), proxied=(1_000, 10_000), hits=10_000, budget=256, turns=3)
_QUICK = _Effort(memory=(1_000,), proxied=(200,), hits=500, budget=8, turns=2)


@benchmark("growth", "what stored documents take in memory, and what a hit costs among many")
def growth(quick: bool) -> Iterator[Table]:
    """Three tables: the first tier alone, the tier at its budget, a whole proxy."""
    effort = _QUICK if quick else _FULL
    yield Table(
        "The first tier alone: documents of 2 KB put in; Memory.get and decide timed",
        [_elsewhere(_filled, size, effort.hits) for size in effort.memory],
    )
    yield Table(
        f"The first tier at its budget of {effort.budget} MiB, filled {effort.turns} times over",
        [_elsewhere(_turned_over, effort.budget * MIB, effort.turns)],
    )
    yield Table(
        "A whole proxy: documents fetched through it; hits timed one at a time on one connection",
        [_proxied(size, effort.hits) for size in effort.proxied],
    )


def _elsewhere(measured: Callable[[int, int], T], first: int, second: int) -> T:
    """What `measured` gives in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (first, second))


def _filled(size: int, hits: int) -> Row:
    now = wall_clock()
    memory = Memory(_UNBOUNDED, _VARIANTS, lambda reason, count: None)
    before = _resident()
    for number in range(size):
        kept = documents.stored(number, now)
        memory.put(kept.uri, kept, now)
    row = _footprint(size, _resident() - before, memory.bytes)
    return {**row, **spread(_timed_hits(memory, size, hits, now), "µs")}


def _resident() -> int:
    gc.collect()
    return resident_bytes()


def _footprint(size: int, resident: int, counted: int) -> dict[str, int | float]:
    return {
        "documents": size,
        "RSS growth MiB": resident / MIB,
        "bytes says MiB": counted / MIB,
        "RSS ÷ bytes": resident / counted,
        "bytes a document": counted // size,
    }


def _timed_hits(memory: Memory, size: int, hits: int, now: float) -> list[float]:
    """Microseconds of each hit, of documents all over the store."""
    requests = [documents.request(index * _STEP % size) for index in range(hits)]
    keyed = [(request, request.target.uri) for request in requests]
    figures = []
    for request, key in keyed:
        started = time.perf_counter_ns()
        decision = decide(request, NO_REQUEST_DIRECTIVES, memory.get(key, now), now)
        figures.append((time.perf_counter_ns() - started) / 1000)
        if not isinstance(decision, Hit):
            raise CannotMeasure(f"{type(decision).__name__} instead of a hit")
    return figures


def _turned_over(budget: int, turns: int) -> Row:
    """Resident memory over the budget, looked at ten times a turn from the first full moment on."""
    evicted = 0

    def note(_: str, count: int) -> None:
        nonlocal evicted
        evicted += count

    now = wall_clock()
    memory = Memory(budget, _VARIANTS, note)
    before = _resident()
    shares: list[float] = []
    number = capacity = 0
    while not evicted or number < capacity * turns:
        kept = documents.stored(number, now)
        memory.put(kept.uri, kept, now)
        number += 1
        capacity = capacity or (number if evicted else 0)
        if capacity and number % max(1, capacity // 10) == 0:
            shares.append((resident_bytes() - before) / budget)
    return {
        "put": number,
        "held": len(memory),
        "evicted": evicted,
        "bytes ÷ budget": memory.bytes / budget,
        "RSS growth ÷ budget, least": min(shares),
        "median": median(shares),
        "most": max(shares),
        "within ±15 %": "yes" if min(shares) >= 0.85 and max(shares) <= 1.15 else "no",
    }


def _proxied(size: int, hits: int) -> Row:
    with origin_process() as origin, proxy_process() as proxy:
        return uvloop.run(_through(proxy, origin, size, hits))


async def _through(proxy: ProxyProcess, origin: int, size: int, hits: int) -> Row:
    # Code and connections that the first requests need are not the documents' memory.
    await _fill(proxy, origin, range(size, size + 100))
    before, counted_before = resident_bytes(proxy.pid), await _counted(proxy)
    await _fill(proxy, origin, range(size))
    resident, counted = resident_bytes(proxy.pid) - before, await _counted(proxy) - counted_before
    figures = await _hits_through(proxy, origin, size, hits)
    return {**_footprint(size, resident, counted), **spread(figures, "µs")}


async def _fill(proxy: ProxyProcess, origin: int, numbers: range) -> None:
    waiting = iter(numbers)

    async def some() -> None:
        connection = await Connection.open(proxy.port)
        for number in waiting:
            reply = await connection.ask(through_proxy(origin, documents.path(number)))
            if "; stored" not in reply.get("cache-status"):
                raise CannotMeasure(f"not stored: {reply}")
        connection.close()

    await asyncio.gather(*(some() for _ in range(_FILLING_CONNECTIONS)))


async def _counted(proxy: ProxyProcess) -> int:
    text = (await fetch(proxy.admin_port, plain("/metrics"))).body.decode()
    return int(float(next(line for line in text.splitlines() if line.startswith(_BYTES)).rpartition(" ")[2]))


async def _hits_through(proxy: ProxyProcess, origin: int, size: int, hits: int) -> list[float]:
    """Microseconds of each, from sending to the last byte."""
    connection = await Connection.open(proxy.port)
    figures = []
    for index in range(hits):
        request = through_proxy(origin, documents.path(index * _STEP % size))
        started = time.perf_counter()
        reply = await connection.ask(request)
        figures.append((reply.received_at - started) * 1e6)
        if "; hit" not in reply.get("cache-status"):
            raise CannotMeasure(f"no hit: {reply}")
    connection.close()
    return figures
