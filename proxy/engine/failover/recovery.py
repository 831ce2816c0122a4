"""A verified copy of a manifest whose origin does not answer: the mirrors of a plan, raced (TRUST.md §6.1).

What is learnt of hosts and gateways on the way outlasts the race. A host that is overtaken after a whole hedge
delay counts as one that failed: else a silent one would cost that delay every time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from proxy.discovery.access.mirrors import HttpsMirror, IpfsMirror, Mirror
from proxy.engine.failover.breakers import Breakers
from proxy.engine.failover.content import AttemptLog, Content, ContentMissing
from proxy.engine.failover.gateways import Gateways, metered
from proxy.engine.failover.names import Names, NameSeen
from proxy.engine.failover.race import Finish, RaceTerms, Run, RunState, race
from proxy.engine.failover.settings import FailoverSettings
from proxy.failover.attempts import Attempt, AttemptOutcome, AttemptReason
from proxy.failover.plan import Plan, mirror_url, plan, source_of
from proxy.http.messages import Realm
from proxy.http.problems import Slug
from proxy.http.targets import Target
from proxy.ports import Clock, MirrorAnswer, Mirrors, MirrorUnavailable, Observer
from proxy.trust.content.cid import Cid
from proxy.trust.verdict import UnverifiedCopy, Verdict, VerifiedCopy

Judge = Callable[[UnverifiedCopy], Awaitable[Verdict]]
"""What a copy is worth."""

_REASON: Final = "mirror"
_ACCEPT: Final = "application/json, */*;q=0.1"
_NOTHING_KNOWN: Final[Mapping[str, int]] = {}
# What says that the host is in trouble, and not that it has no copy or that we would not take it.
_TROUBLE: Final = frozenset({Slug.ORIGIN_UNREACHABLE, Slug.ORIGIN_TIMEOUT, Slug.ORIGIN_INVALID_RESPONSE})
_STATUSES_OF_TROUBLE: Final = ("status-5", "status-429")


@dataclass(frozen=True, slots=True)
class Recovered:
    """A verified copy. `max_age`: for how many seconds its source calls it fresh; None where it does not say.

    `names`: the IPNS names that were resolved on the way, whose sequences may not fall from now on.
    """

    verified: VerifiedCopy
    max_age: float | None
    names: tuple[NameSeen, ...]
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No copy that is believed, and why for each mirror; `names` as for one that is."""

    attempts: tuple[Attempt, ...]
    names: tuple[NameSeen, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """What is thought of hosts now: whether each mirror works, by authority, and of each gateway from 0 to 1."""

    mirror_up: Mapping[str, bool]
    gateway_score: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Tried:
    """How a candidate ended by itself."""

    outcome: AttemptOutcome
    reason: str
    verified: VerifiedCopy | None = None
    max_age: float | None = None
    name: NameSeen | None = None
    log: AttemptLog = field(default_factory=AttemptLog)


class Recovery:
    """Fetches copies, and remembers who is worth asking."""

    def __init__(self, mirrors: Mirrors, observer: Observer, clock: Clock, settings: FailoverSettings) -> None:
        self._mirrors = mirrors
        self._observer = observer
        self._clock = clock
        self._settings = settings
        self._breakers = Breakers(clock)
        self._gateway_breakers = Breakers(clock)
        self._gateways = Gateways(mirrors, self._gateway_breakers, observer, clock, settings)
        self._content = Content(self._gateways, settings)
        self._names = Names(self._gateways, clock, settings)

    def plan(self, listed: object, site: Target) -> Plan:
        """Whom to ask for the manifest of `site` that has `listed`, any JSON value, as its mirrors."""
        return plan(listed, site, self._settings.rules, self._breakers.known, self._clock())

    def standing(self) -> Standing:
        """What is thought of hosts now."""
        up: dict[str, bool] = {}
        for key, breaker in self._breakers.known.items():
            authority = key.split("/")[2] if "/" in key else key
            up[authority] = up.get(authority, True) and not breaker.is_open
        return Standing(up, self._gateways.scores)

    async def recover(
        self, plan: Plan, judge: Judge, sequences: Mapping[str, int] = _NOTHING_KNOWN
    ) -> Recovered | Exhausted:
        """The first copy that `judge` verifies. `sequences`: the highest seen of each IPNS name, by its text."""
        candidates = plan.candidates
        settings = self._settings
        terms = RaceTerms(settings.hedge_delay, settings.deadline, max(1, len(candidates)))
        contenders = [partial(self._try, mirror, plan.site, judge, sequences) for mirror in candidates]
        finish = await race(contenders, lambda tried: tried.verified is not None, terms)
        self._learn(candidates, finish)
        attempts = (*plan.skipped, *_told(candidates, finish))
        won = finish.winner
        names = tuple(
            run.result.name for run in finish.runs if run.result is not None and run.result.name is not None
        )
        if won is None or won.verified is None:
            return Exhausted(attempts, names)
        return Recovered(won.verified, won.max_age, names, attempts)

    async def _try(self, mirror: Mirror, site: Target, judge: Judge, sequences: Mapping[str, int]) -> _Tried:
        if isinstance(mirror, HttpsMirror):
            return await self._from_host(mirror, site, judge)
        log = AttemptLog()
        if isinstance(mirror, IpfsMirror):
            return await self._by_content(mirror, mirror.cid, None, judge, log)
        seen = await self._names.resolve(mirror.name, sequences.get(mirror.name.text, 0), log)
        if isinstance(seen, ContentMissing):
            return _Tried(seen.outcome, seen.reason, log=log)
        return await self._by_content(mirror, seen.cid, seen, judge, log)

    async def _from_host(self, mirror: HttpsMirror, site: Target, judge: Judge) -> _Tried:
        authority = mirror.target.authority
        if not self._breakers.allow(authority) or not self._breakers.allow(mirror.target.uri):
            return _Tried(AttemptOutcome.SKIPPED, AttemptReason.BREAKER_OPEN)
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer = await self._fetch(mirror.target, site)
        seconds = loop.time() - began
        if isinstance(answer, MirrorUnavailable):
            self._hold_against(mirror.target, answer.reason)
            tried = _Tried(AttemptOutcome.FAILED, answer.reason)
        else:
            self._breakers.succeeded(authority)
            self._breakers.succeeded(mirror.target.uri)
            found = _Tried(AttemptOutcome.SERVED, "", max_age=answer.max_age)
            tried = await _judged(mirror, answer.body, judge, found)
        result = "verified" if tried.verified is not None else metered(tried.outcome, tried.reason)
        self._observer.upstream(_REASON, result, seconds)
        return tried

    async def _fetch(self, target: Target, site: Target) -> MirrorAnswer | MirrorUnavailable:
        settings = self._settings

        def may_follow(to: Target) -> bool:
            return to.port in settings.rules.ports and to.host != site.host

        try:
            return await self._mirrors.fetch(
                target, _ACCEPT, settings.max_manifest, settings.mirror_timeout, Realm.PUBLIC, may_follow
            )
        except MirrorUnavailable as error:
            return error

    def _hold_against(self, target: Target, reason: str) -> None:
        """A host that cannot be reached is spared; of one that can be, the one URL, for others' may be well."""
        if reason == Slug.ORIGIN_UNREACHABLE:
            self._breakers.failed(target.authority)
        elif reason in _TROUBLE or reason.startswith(_STATUSES_OF_TROUBLE):
            self._breakers.failed(target.uri)
        elif reason != Slug.EGRESS_DENIED:
            self._breakers.succeeded(target.authority)
            self._breakers.succeeded(target.uri)

    async def _by_content(
        self, mirror: Mirror, cid: Cid, name: NameSeen | None, judge: Judge, log: AttemptLog
    ) -> _Tried:
        file = await self._content.fetch(cid, log)
        if isinstance(file, ContentMissing):
            return _Tried(file.outcome, file.reason, name=name, log=log)
        max_age = None if name is None else name.seconds
        found = _Tried(AttemptOutcome.SERVED, "", max_age=max_age, name=name, log=log)
        return await _judged(mirror, file, judge, found)

    def _learn(self, candidates: Sequence[Mirror], finish: Finish[_Tried]) -> None:
        for mirror, run in zip(candidates, finish.runs, strict=False):
            is_slow = run.state is not RunState.ENDED and run.seconds >= self._settings.hedge_delay
            if isinstance(mirror, HttpsMirror) and is_slow:
                self._breakers.failed(mirror.target.uri)


async def _judged(mirror: Mirror, body: bytes, judge: Judge, found: _Tried) -> _Tried:
    verdict = await judge(UnverifiedCopy(body, source_of(mirror), mirror_url(mirror)))
    if isinstance(verdict, VerifiedCopy):
        return replace(found, verified=verdict)
    return _Tried(AttemptOutcome.REFUSED, verdict.reason, name=found.name, log=found.log)


def _told(candidates: Sequence[Mirror], finish: Finish[_Tried]) -> Iterator[Attempt]:
    """Each candidate that was asked, after what its gateways did; those not asked too where the time was over."""
    for mirror, run in zip(candidates, finish.runs, strict=False):
        if run.result is not None:
            yield from run.result.log.attempts
        outcome, reason = _end_of(run, finish.winner)
        yield Attempt(source_of(mirror), mirror_url(mirror), outcome, reason, run.seconds * 1000)
    if finish.winner is None:
        for mirror in candidates[len(finish.runs) :]:
            yield Attempt(source_of(mirror), mirror_url(mirror), AttemptOutcome.SKIPPED, AttemptReason.DEADLINE)


def _end_of(run: Run[_Tried], winner: _Tried | None) -> tuple[AttemptOutcome, str]:
    result = run.result
    if run.state is RunState.OVERDUE:
        return AttemptOutcome.FAILED, AttemptReason.DEADLINE
    # One that is as good as the winner and a moment later was overtaken too.
    if result is None or (result.verified is not None and result is not winner):
        return AttemptOutcome.SKIPPED, AttemptReason.HEDGED
    return result.outcome, result.reason
