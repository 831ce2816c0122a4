"""A document that is always stale, an origin that takes two seconds: does anybody wait?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import uvloop

from benchmarks import documents
from benchmarks.client import fetch, plain, through_proxy
from benchmarks.latency import spread
from benchmarks.load import open_loop
from benchmarks.origin import COUNT
from benchmarks.processes import origin_process, proxy_process
from benchmarks.registry import CannotMeasure, benchmark
from benchmarks.tables import Table

# Stale on arrival, so that every answer is a stale one and the origin is always being asked.
_ALWAYS_STALE = "public, max-age=0, stale-while-revalidate=86400"
_NUMBER = 1
_STALE = re.compile(r"; hit; ttl=(-|0$)")


@dataclass(frozen=True, slots=True)
class _Effort:
    """Seconds of load, requests a second, seconds that the origin takes."""

    seconds: float
    rate: int
    delay: float


_FULL = _Effort(seconds=10.0, rate=500, delay=2.0)
_QUICK = _Effort(seconds=1.0, rate=500, delay=0.5)


@benchmark("stale", "the wait for a stale answer while the origin takes two seconds")
def stale(quick: bool) -> Iterator[Table]:
    """One table: the answers from when they were due and from when they were sent."""
    effort = _QUICK if quick else _FULL
    with origin_process(effort.delay, _ALWAYS_STALE) as origin, proxy_process() as proxy:
        yield uvloop.run(_table(effort, origin, proxy.port))


async def _table(effort: _Effort, origin: int, proxy: int) -> Table:
    request = through_proxy(origin, documents.path(_NUMBER))
    await fetch(proxy, request)
    before = int((await fetch(origin, plain(COUNT))).body)
    (answers,) = await open_loop(proxy, [request], effort.rate, effort.seconds)
    fetches = int((await fetch(origin, plain(COUNT))).body) - before
    wrong = [answer.reply for answer in answers if answer.reply.status != 200]
    if wrong:
        raise CannotMeasure(f"{len(wrong)} of {len(answers)} answers were like this one: {wrong[0]}")
    since_due = [answer.milliseconds for answer in answers]
    since_sent = [(answer.reply.received_at - answer.sent) * 1000 for answer in answers]
    stale_ones = sum(_STALE.search(answer.reply.get("cache-status")) is not None for answer in answers)
    counts = {"answers": len(answers), "stale": stale_ones, "origin requests": fetches}
    return Table(
        f"{effort.rate:,} requests a second for {effort.seconds:g} s; the origin takes {effort.delay:g} s",
        [
            {"counted from": "the moment it was due", **counts, **spread(since_due, "ms")},
            {"counted from": "the moment it was sent", **counts, **spread(since_sent, "ms")},
        ],
        {"since due, ms": since_due, "since sent, ms": since_sent},
    )
