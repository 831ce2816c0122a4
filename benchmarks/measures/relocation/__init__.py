"""What the origins' word costs: to hold a catalog against it, to look for it at each request, to keep a lot of it.

catalogs   ten thousand entries read, judged and edited
lookups    one URL, by itself and as a part of an answer
scale      file, memory and look-ups by the number of records
serving    answers from the ledger over HTTP
listed     the catalogs
recorded   the records
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import uvloop

from benchmarks.measures.relocation.catalogs import catalogs
from benchmarks.measures.relocation.lookups import lookups
from benchmarks.measures.relocation.scale import scale
from benchmarks.measures.relocation.serving import serving
from benchmarks.registry import benchmark
from benchmarks.tables import Table
from benchmarks.turns import Turns
from proxy.server.wiring import wall_clock


@dataclass(frozen=True, slots=True)
class _Effort:
    """Rounds of catalogs; how often a look-up is timed; sizes of ledgers, look-ups in each; turns of serving."""

    catalogs: int
    turns: Turns
    sizes: tuple[int, ...]
    lookups: int
    served: int
    seconds: float


_FULL = _Effort(31, Turns(rounds=61, batch=0.01), (10_000, 100_000, 1_000_000), 10_000, 5, 1.0)
_QUICK = _Effort(3, Turns(rounds=3, batch=0.001), (100_000,), 10_000, 1, 0.2)


@benchmark("relocation", "the cost of the origins' word: to catalogs, to a request, and of a million records")
def relocation(quick: bool) -> Iterator[Table]:
    """Seven tables."""
    effort, now = _QUICK if quick else _FULL, wall_clock()
    yield from uvloop.run(catalogs(now, effort.catalogs))
    yield from uvloop.run(lookups(now, effort.turns))
    yield from scale(effort.sizes, effort.lookups, now)
    yield uvloop.run(serving(now, effort.served, effort.seconds))
