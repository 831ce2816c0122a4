"""What signed documents cost: to verify them, to tell content by its hash, and to serve them afterwards.

verification   a whole verification by kind of proof, its parts, and what size does to it
identifiers    our own reading of CIDs and base58 beside that of `multiformats`
serving        a hit of a signed manifest, and the event loop while a large one is verified
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import uvloop

from benchmarks.measures.trust.identifiers import identifiers
from benchmarks.measures.trust.serving import held_loop, hits
from benchmarks.measures.trust.verification import parts, sizes, verification
from benchmarks.publisher import Publisher
from benchmarks.registry import benchmark
from benchmarks.tables import Table
from benchmarks.turns import Turns
from proxy.server.wiring import wall_clock


@dataclass(frozen=True, slots=True)
class _Effort:
    """How often calls are timed, and how many large manifests are verified beside a ticking clock."""

    turns: Turns
    verified: int


_FULL = _Effort(Turns(rounds=61, batch=0.01), verified=100)
_QUICK = _Effort(Turns(rounds=3, batch=0.001), verified=3)


@benchmark("trust", "the cost of signed manifests and of content by its hash, and what a hit pays for it")
def trust(quick: bool) -> Iterator[Table]:
    """Six tables."""
    effort, now = _QUICK if quick else _FULL, wall_clock()
    publisher = Publisher("example.com", now)
    yield verification(publisher, now, effort.turns)
    yield parts(publisher, effort.turns)
    yield sizes(publisher, now, effort.turns)
    yield identifiers(publisher, effort.turns)
    yield asyncio.run(hits(publisher, now, effort.turns))
    yield uvloop.run(held_loop(publisher, now, effort.verified))
