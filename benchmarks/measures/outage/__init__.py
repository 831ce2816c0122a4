"""An origin dies, then its mirrors and all that is cached, then everything comes back: who is answered, how soon?

Three domains are asked for their manifests side by side through one proxy: one that has mirrors, one whose stale
copy any cache might serve, one that has neither.

places   domains, mirrors and gateway on loopback
course   one round of dying and coming back, and what was answered meanwhile
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

import uvloop

from benchmarks.latency import spread
from benchmarks.measures.outage.course import Effort, Phase, Round, rounds_of
from benchmarks.measures.outage.places import Death, Domain
from benchmarks.registry import benchmark
from benchmarks.tables import Row, Table
from proxy.engine.failover.settings import FailoverSettings

_HEDGE_MILLISECONDS: Final = FailoverSettings().hedge_delay * 1000
_WANTED_MILLISECONDS: Final = 20.0
_FULL = Effort(rounds=3, rate=50, alive=2.0, outage=8.0, connect=3.0)
_QUICK = Effort(rounds=1, rate=20, alive=0.5, outage=1.5, connect=0.3)


@benchmark("outage", "answers while an origin, its mirrors and the cache are gone, and when it is back")
def outage(quick: bool) -> Iterator[Table]:
    """Two tables for each way to die."""
    effort = _QUICK if quick else _FULL
    for death in Death:
        rounds = uvloop.run(rounds_of(death, effort))
        yield _answered(death, effort, rounds)
        yield _delays(death, effort, rounds)


def _answered(death: Death, effort: Effort, rounds: Sequence[Round]) -> Table:
    rows: list[Row] = []
    raw: dict[str, list[float]] = {}
    for phase in Phase:
        for domain in Domain:
            answers = [answer for one in rounds for answer in one.answers[phase][domain]]
            waits = [answer.milliseconds for answer in answers]
            good = sum(answer.reply.status == 200 for answer in answers)
            rows.append(
                {
                    "while": phase.value,
                    "the domain has": domain.text,
                    "requests": len(answers),
                    "answered %": 100 * good / len(answers),
                    **spread(waits, "ms"),
                }
            )
            raw[f"{phase.value}, {domain.text}, ms"] = waits
    title = f"An origin that {death.value}: {effort.rate} requests a second of each domain, {len(rounds)} rounds"
    return Table(title, rows, raw)


def _delays(death: Death, effort: Effort, rounds: Sequence[Round]) -> Table:
    """The domain with mirrors: what the first wait for, and those after them."""
    connect = effort.connect * 1000 if death is Death.SILENT else 0.0
    hedges = 2 * _HEDGE_MILLISECONDS if death is Death.SILENT else 0.0
    to_mirror = connect + median(one.mirror_alone for one in rounds)
    to_gateway = connect + hedges + median(one.gateway_alone for one in rounds)
    rows: list[Row] = []
    raw: dict[str, list[float]] = {}
    for name, phase, source, bound in (
        ("mirror", Phase.GONE, "mirror", to_mirror),
        ("IPFS", Phase.BARE, "ipfs", to_gateway),
    ):
        firsts = [one.first(phase, source).milliseconds for one in rounds]
        later = [answer.milliseconds for one in rounds for answer in one.later(phase, source)]
        told = spread(later, "ms")
        rows += [
            _row(f"the first answer by {name}", median(firsts), bound),
            _row(f"an answer after it by {name}, p50", told["p50 ms"], _WANTED_MILLISECONDS),
            _row(f"an answer after it by {name}, p99", told["p99 ms"], _WANTED_MILLISECONDS),
        ]
        raw |= {f"first by {name}, ms": firsts, f"after it by {name}, ms": later}
    backs = [one.back_milliseconds for one in rounds]
    rows.append({"until": "the origin answers again", "ms": median(backs), "bound ms": "", "over it ms": ""})
    return Table(f"An origin that {death.value}: the domain with mirrors", rows, {**raw, "back, ms": backs})


def _row(until: str, milliseconds: float, bound: float) -> Row:
    return {"until": until, "ms": milliseconds, "bound ms": bound, "over it ms": max(0.0, milliseconds - bound)}
