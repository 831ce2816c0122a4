"""What the no-op boundary costs: to resolve a route, to let a hit pass, to look for secrets, to find a route.

passing    a route resolved, and a hit beside the same without the boundary
scanning   URLs looked through for secrets
covering   one route among many
serving    a hit over HTTP
published  manifests and their routes
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import uvloop

from benchmarks.measures.boundary.covering import covering
from benchmarks.measures.boundary.passing import passing
from benchmarks.measures.boundary.scanning import lengths, scanning
from benchmarks.measures.boundary.serving import serving
from benchmarks.registry import benchmark
from benchmarks.tables import Table
from benchmarks.turns import Turns
from proxy.server.wiring import wall_clock


@dataclass(frozen=True, slots=True)
class _Effort:
    """How often calls are timed, among how many routes one is looked for; turns of serving."""

    turns: Turns
    routes: tuple[int, ...]
    served: int
    seconds: float


_FULL = _Effort(Turns(rounds=61, batch=0.01), (10, 1_000, 10_000), served=15, seconds=1.0)
_QUICK = _Effort(Turns(rounds=3, batch=0.001), (10, 1_000, 10_000), served=1, seconds=0.2)


@benchmark("boundary", "the cost of the no-op boundary: to a route, to a hit, to a URL, and with many routes")
def boundary(quick: bool) -> Iterator[Table]:
    """Six tables."""
    effort = _QUICK if quick else _FULL
    yield from asyncio.run(passing(wall_clock(), effort.turns))
    yield scanning(effort.turns)
    yield lengths(effort.turns)
    yield covering(effort.routes, effort.turns)
    yield uvloop.run(serving(effort.served, effort.seconds))
