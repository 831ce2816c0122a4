"""One round: alive, origins gone, mirrors and cache gone too, alive again; and what was answered meanwhile."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median
from typing import Final

from benchmarks.client import Reply, fetch, plain
from benchmarks.load import Answer, open_loop
from benchmarks.measures.outage.places import Death, Domain, World, kill, world
from benchmarks.processes import ProxyProcess, proxy_process
from benchmarks.publisher import MANIFEST_PATH
from benchmarks.registry import CannotMeasure
from proxy.server.wiring import wall_clock

_PATIENCE_SECONDS: Final = 60.0
_SLICE_SECONDS: Final = 0.5
_TIMES_ALONE: Final = 5
_ORDER: Final = b'{"all": true}'
_PURGE: Final = (
    b"POST /admin/purge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_ORDER), _ORDER)
)
_REQUESTS: Final = [plain(f"/https/{domain.host}{MANIFEST_PATH}") for domain in Domain]
_SOURCE: Final = re.compile(r";source=([a-z]+)")

Answers = Mapping[Domain, list[Answer]]


class Phase(Enum):
    """What is the matter, in order."""

    ALIVE = "all is well"
    GONE = "the origins are gone"
    BARE = "mirrors and cache are gone too"
    BACK = "all are back"


@dataclass(frozen=True, slots=True)
class Effort:
    """Rounds of everything, requests a second of each domain; seconds that it is alive, gone, and to connect."""

    rounds: int
    rate: int
    alive: float
    outage: float
    connect: float


@dataclass(frozen=True, slots=True)
class Round:
    """The answers of one round; milliseconds from when all lived again until the origin of mirrors was heard.

    `mirror_alone` and `gateway_alone` are milliseconds in which a client of its own has the same from there.
    """

    answers: Mapping[Phase, Answers]
    back_milliseconds: float
    mirror_alone: float
    gateway_alone: float

    def first(self, phase: Phase, source: str) -> Answer:
        """The answer of the domain with mirrors that came from there before any other. Raises CannotMeasure."""
        answers = self.answers[phase][Domain.MIRRORED]
        by_source = [answer for answer in answers if _source(answer.reply) == source]
        if not by_source:
            raise CannotMeasure(
                f"while {phase.value}, none of {len(answers)} answers was by {source}: {answers[-1].reply}"
            )
        return min(by_source, key=lambda answer: answer.due)

    def later(self, phase: Phase, source: str) -> list[Answer]:
        """Those that were due after it had been received."""
        known_at = self.first(phase, source).reply.received_at
        return [answer for answer in self.answers[phase][Domain.MIRRORED] if answer.due > known_at]


async def rounds_of(death: Death, effort: Effort) -> list[Round]:
    """Each with new places and a new proxy."""
    rounds = []
    for _ in range(effort.rounds):
        async with world(wall_clock()) as places:
            settings = {**places.settings, "UPSTREAM__CONNECT_TIMEOUT": f"{effort.connect * 1000:.0f}ms"}
            with proxy_process(settings) as proxy:
                rounds.append(await _round(proxy, places, death, effort))
    return rounds


async def _round(proxy: ProxyProcess, places: World, death: Death, effort: Effort) -> Round:
    mirror = median([await places.by_itself(places.mirrors[0]) for _ in range(_TIMES_ALONE)])
    gateway = median([await places.by_itself(places.gateway) for _ in range(_TIMES_ALONE)])
    await _warm(proxy)
    answers = {Phase.ALIVE: await _load(proxy, effort.rate, effort.alive)}
    await kill(places.domains, death)
    answers[Phase.GONE] = await _load(proxy, effort.rate, effort.outage)
    await kill(places.mirrors, death)
    purged = await fetch(proxy.admin_port, _PURGE)
    if purged.status != 200:
        raise CannotMeasure(f"the purge was answered {purged.status}")
    answers[Phase.BARE] = await _load(proxy, effort.rate, effort.outage)
    for place in (*places.domains, *places.mirrors):
        await place.live()
    answers[Phase.BACK], back = await _until_back(proxy, effort)
    return Round(answers, back, mirror, gateway)


async def _warm(proxy: ProxyProcess) -> None:
    """Every manifest is cached, its signature verified by a pinned document."""
    for request in _REQUESTS:
        reply = await fetch(proxy.port, request)
        if reply.status != 200 or not reply.get("discovery-trust").startswith("verified;"):
            raise CannotMeasure(f"a first answer was {reply}, Discovery-Trust: {reply.get('discovery-trust')}")


async def _load(proxy: ProxyProcess, rate: float, seconds: float) -> Answers:
    return dict(zip(Domain, await open_loop(proxy.port, _REQUESTS, rate, seconds), strict=True))


async def _until_back(proxy: ProxyProcess, effort: Effort) -> tuple[Answers, float]:
    """The answers until the origin with mirrors is heard of again, and for a while on."""
    began = time.perf_counter()
    answers: dict[Domain, list[Answer]] = {domain: [] for domain in Domain}
    back: float | None = None
    while back is None:
        if time.perf_counter() - began > _PATIENCE_SECONDS:
            raise CannotMeasure(f"the origin was not heard of {_PATIENCE_SECONDS:.0f} s after it was back")
        _add(answers, await _load(proxy, effort.rate, _SLICE_SECONDS))
        back = _heard_of(answers[Domain.MIRRORED])
    _add(answers, await _load(proxy, effort.rate, effort.alive))
    return answers, (back - began) * 1000


def _add(answers: Answers, more: Answers) -> None:
    for domain, others in more.items():
        answers[domain].extend(others)


def _heard_of(answers: Sequence[Answer]) -> float | None:
    times = [answer.reply.received_at for answer in answers if _source(answer.reply) == "origin"]
    return min(times, default=None)


def _source(reply: Reply) -> str:
    """Where the document came from: the `source` of Discovery-Trust, "" for an answer that is none."""
    found = _SOURCE.search(reply.get("discovery-trust"))
    return "" if found is None or reply.status != 200 else found[1]
