"""Many clients ask at once for a document that nobody has asked for before."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

import uvloop

from benchmarks import documents
from benchmarks.client import Connection, Reply, fetch, plain, through_proxy
from benchmarks.latency import spread
from benchmarks.origin import COUNT
from benchmarks.processes import allow_many_connections, origin_process, proxy_process
from benchmarks.registry import CannotMeasure, benchmark
from benchmarks.tables import Row, Table


@dataclass(frozen=True, slots=True)
class _Effort:
    """Clients at once, rounds with a document each, and how many seconds the origin takes."""

    clients: int
    rounds: int
    delay: float


_FULL = _Effort(clients=1000, rounds=5, delay=1.0)
_QUICK = _Effort(clients=200, rounds=1, delay=0.2)


@benchmark("herd", "the requests to the origin when many clients at once ask for what is not stored")
def herd(quick: bool) -> Iterator[Table]:
    """One table, a row a round."""
    effort = _QUICK if quick else _FULL
    allow_many_connections()
    with origin_process(effort.delay) as origin, proxy_process() as proxy:
        yield uvloop.run(_table(effort, origin, proxy.port))


async def _table(effort: _Effort, origin: int, proxy: int) -> Table:
    rows: list[Row] = []
    raw: dict[str, list[float]] = {}
    for number in range(1, effort.rounds + 1):
        before = await _fetches(origin)
        latencies = await _stampede(effort.clients, proxy, through_proxy(origin, documents.path(number)))
        fetches = await _fetches(origin) - before
        counts = {"round": number, "clients": effort.clients, "origin requests": fetches}
        rows.append({**counts, **spread(latencies, "ms")})
        raw[f"round {number}, ms"] = latencies
    return Table(f"The origin takes {effort.delay * 1000:,.0f} ms, the fastest possible answer", rows, raw)


async def _fetches(origin: int) -> int:
    return int((await fetch(origin, plain(COUNT))).body)


async def _stampede(clients: int, proxy: int, request: bytes) -> list[float]:
    """Milliseconds from the moment at which all send to each whole answer."""
    connections = [await Connection.open(proxy) for _ in range(clients)]
    try:
        started = time.perf_counter()
        replies: list[Reply] = await asyncio.gather(*(connection.ask(request) for connection in connections))
    finally:
        for connection in connections:
            connection.close()
    wrong = [reply for reply in replies if reply.status != 200]
    if wrong:
        raise CannotMeasure(f"{len(wrong)} of {clients} answers were like this one: {wrong[0]}")
    return [(reply.received_at - started) * 1000 for reply in replies]
