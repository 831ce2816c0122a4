"""Verified copies of manifests whose origin is down (TRUST.md §6.1, contract §6).

A copy is fresh for minutes at the most, never past the end of what vouches for it, and is given up as soon as the
origin answers; until then the origin is asked again and again behind the scenes, and a copy that is still wanted is
renewed before it ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proxy.caching.freshness import Exchange
from proxy.caching.stored import StoredResponse
from proxy.discovery.access.mirrors import HttpsMirror
from proxy.engine.copies import Search, copy_of
from proxy.engine.failover.recovery import Exhausted, Recovered, Recovery
from proxy.engine.outage import Found, NoCopy, OriginAnswered
from proxy.engine.state import EngineState
from proxy.engine.trust.continuing import Continuing
from proxy.engine.trust.known import Known, authority_of
from proxy.engine.trust.pinning import Occasion, Pinning
from proxy.engine.trust.probing import Probing
from proxy.engine.trust.verifying import Verifier
from proxy.engine.trust.voucher import reason_of
from proxy.failover.attempts import Attempt, AttemptOutcome, shown_url
from proxy.http.messages import Request
from proxy.http.targets import Target
from proxy.single import SingleCalls
from proxy.trust.reasons import UNKNOWN_KEY
from proxy.trust.records.knowledge import (
    Knowledge,
    ipns_seen,
    manifest_accepted_from_mirror,
    manifest_contradicted,
)
from proxy.trust.records.publication import ManifestEvent
from proxy.trust.rollback import Equivocal, Version
from proxy.trust.verdict import CopySource, Rejected, UnverifiedCopy, Verdict
from proxy.trustrecords import TrustRecordsUnavailable

_NOT_GOOD: Final = frozenset({ManifestEvent.SUPERSEDED, ManifestEvent.EQUIVOCATION})
# Where nobody has a copy, the same places are not asked again for this long; doubled each time.
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 15.0
_MOST_MISSING: Final = 1_000

_log = logging.getLogger("proxy.trust")


@dataclass(frozen=True, slots=True)
class _Missing:
    """That nobody had a copy, in which purge generation, and until when that is taken for granted."""

    found: NoCopy
    generation: int
    until: float
    pause: float

    def counts(self, generation: int, now: float) -> bool:
        """Whether it is taken for granted now; not after a purge, nor by a clock that was set back."""
        return self.generation == generation and 0 <= self.until - now <= self.pause


class Standby:
    """Implements engine.outage.Failover."""

    def __init__(
        self,
        state: EngineState,
        known: Known,
        pinning: Pinning,
        continuing: Continuing,
        verifier: Verifier,
        recovery: Recovery,
        probing: Probing,
        mirror_max_age: float,
    ) -> None:
        self._copies = state.copies
        self._generations = state.generations
        self._clock = state.clock
        self._known = known
        self._pinning = pinning
        self._continuing = continuing
        self._verifier = verifier
        self._recovery = recovery
        self._probing = probing
        self._mirror_max_age = mirror_max_age
        # A search that began before a purge is no answer to who asks after it.
        self._calls: SingleCalls[tuple[str, int], Found] = SingleCalls()
        self._missing: OrderedDict[str, _Missing] = OrderedDict()
        self._prepared: set[asyncio.Task[None]] = set()

    async def find(self, request: Request, *, is_silent: bool) -> Found:
        """A verified copy, from now on held for others; or why there is none."""
        uri, generation = request.target.uri, self._generations.latest
        held = self._copies.get(uri)
        if held is not None and held.generation == generation and held.fresh_until > self._clock():
            return held
        missing = self._missing.get(uri)
        if missing is not None and missing.counts(generation, self._clock()):
            return missing.found
        found = await self._calls.call((uri, generation), lambda: self._search(request))
        if isinstance(found, StoredResponse):
            self._missing.pop(uri, None)
            self._probing.start(request, self._renew, is_silent=is_silent)
        elif isinstance(found, NoCopy):
            self._remember_missing(uri, found, generation)
        return found

    def prepare(self, request: Request) -> None:
        """Look for a copy behind the scenes: what stands in now will not for long."""
        uri = request.target.uri
        if uri in self._copies or (uri, self._generations.latest) in self._calls:
            return

        async def look() -> None:
            await self.find(request, is_silent=False)

        task = asyncio.get_running_loop().create_task(look())
        self._prepared.add(task)
        task.add_done_callback(self._prepared.discard)

    def is_watching(self, uri: str) -> bool:
        """Whether the origin of `uri` is known to be down, and asked again and again until it answers."""
        return uri in self._copies and self._probing.is_watching(uri)

    async def close(self) -> None:
        """Give up what is under way."""
        for task in self._prepared:
            task.cancel()
        await asyncio.gather(*self._prepared, return_exceptions=True)
        await self._probing.close()
        await self._calls.close()

    def _remember_missing(self, uri: str, found: NoCopy, generation: int) -> None:
        before = self._missing.pop(uri, None)
        is_in_a_row = before is not None and self._clock() - before.until < _LONGEST_PAUSE
        pause = min(before.pause * 2, _LONGEST_PAUSE) if before is not None and is_in_a_row else _FIRST_PAUSE
        self._missing[uri] = _Missing(found, generation, self._clock() + pause, pause)
        if len(self._missing) > _MOST_MISSING:
            self._missing.popitem(last=False)

    async def _renew(self, request: Request) -> None:
        key = (request.target.uri, self._generations.latest)
        await self._calls.call(key, lambda: self._search(request))

    async def _search(self, request: Request) -> Found:
        """One search, whose find is held unless the origin has answered meanwhile."""
        target = request.target
        authority = authority_of(target)
        if not authority:
            return None
        with self._copies.search(target.uri) as search:
            try:
                found = await self._find(target, authority, search)
            except TrustRecordsUnavailable as error:
                _log.error("no copy can be verified", extra={"host": authority, "reason": str(error)})
                return _unverifiable(target, error)
            if search.is_overtaken:
                return OriginAnswered()
            if isinstance(found, StoredResponse):
                self._copies.put(found)
            return found

    async def _find(self, target: Target, authority: str, search: Search) -> Found:
        known = await self._known.get(authority)
        manifest = None if known is None else known.manifests.get(target.uri)
        if known is None or manifest is None:
            return None
        generation, started = self._generations.latest, self._clock()
        plan = self._recovery.plan(manifest.mirrors, target)
        if not plan.candidates and not plan.skipped:
            return None
        mirrors = [mirror.target for mirror in plan.candidates if isinstance(mirror, HttpsMirror)]

        async def judge(copy: UnverifiedCopy) -> Verdict:
            return await self._judge(copy, authority, target.uri, mirrors)

        end = await self._recovery.recover(plan, judge, known.ipns)
        _tell(authority, end)
        await self._note_names(authority, end)
        nobody = NoCopy(tuple(attempt.told() for attempt in end.attempts if not attempt.is_of_gateway))
        if isinstance(end, Exhausted):
            return nobody
        after = await self._remember(authority, target.uri, end, search)
        if after is None:
            return OriginAnswered() if search.is_overtaken else nobody
        verified, longest = end.verified, self._mirror_max_age
        seconds = longest if end.max_age is None else min(longest, max(0.0, end.max_age))
        vouching = self._verifier.vouching(verified.signed, verified.copy.source, after, is_stale=verified.is_stale)
        exchange = Exchange(started, self._clock())
        return copy_of(target.uri, verified.copy.body, vouching, seconds, exchange, generation)

    async def _judge(self, copy: UnverifiedCopy, authority: str, uri: str, mirrors: Sequence[Target]) -> Verdict:
        verdict = await self._verify(copy, authority, uri)
        # Keys may have rotated while the domain is away: a did:webvh log from elsewhere can say so.
        may_rotate = isinstance(verdict, Rejected) and verdict.reason in UNKNOWN_KEY
        if may_rotate and await self._continuing.look(authority, mirrors):
            return await self._verify(copy, authority, uri)
        return verdict

    async def _verify(self, copy: UnverifiedCopy, authority: str, uri: str) -> Verdict:
        known = await self._known.get(authority)
        if known is not None and known.pin is None:
            # The domain may be up but for this document.
            known = await self._pinning.knowledge(authority, Occasion.MANIFEST, wait=True)
        manifest = None if known is None else known.manifests.get(uri)
        baseline = None if manifest is None else manifest.baseline
        verdict = await self._verifier.manifest(copy, authority, known, baseline)
        if isinstance(verdict, Equivocal):
            await self._note_contradiction(authority, uri, verdict.version)
        return verdict

    async def _note_contradiction(self, authority: str, uri: str, version: Version) -> None:
        """Two mirrors have different manifests of one version, both signed: neither is served any more."""
        events: list[ManifestEvent] = []

        def contradicted(known: Knowledge) -> Knowledge:
            change = manifest_contradicted(known, uri, version)
            events.append(change.event)
            return change.knowledge

        await self._known.change(authority, contradicted)
        if ManifestEvent.EQUIVOCATION in events:
            self._copies.drop(uri)
            _log.error("two manifests of one version are signed", extra={"host": authority})

    async def _note_names(self, authority: str, end: Recovered | Exhausted) -> None:
        """The highest sequence of each name that was resolved, whatever became of its content."""
        if not end.names:
            return

        def noted(known: Knowledge) -> Knowledge:
            for seen in end.names:
                known = ipns_seen(known, seen.name.text, seen.sequence).knowledge
            return known

        await self._known.change(authority, noted)

    async def _remember(self, authority: str, uri: str, end: Recovered, search: Search) -> Knowledge | None:
        """The version seen, durably, before anybody is told of it; None where it counts no longer.

        The origin may have answered meanwhile, or another copy have been accepted that is newer or contradicts it.
        """
        body, signed, now = end.verified.copy.body, end.verified.signed, self._clock()
        version = await self._verifier.version(body, signed.signed_at or now)
        events: list[ManifestEvent] = []

        def accept(known: Knowledge) -> Knowledge:
            if search.is_overtaken or uri not in known.manifests:
                return known
            change = manifest_accepted_from_mirror(known, uri, body, version, now)
            events.append(change.event)
            return change.knowledge

        after = await self._known.change(authority, accept)
        return after if events and events[0] not in _NOT_GOOD else None


def _unverifiable(target: Target, error: TrustRecordsUnavailable) -> NoCopy:
    reason = reason_of(error).value
    return NoCopy((Attempt(CopySource.MIRROR, shown_url(target.uri), AttemptOutcome.REFUSED, reason).told(),))


def _tell(authority: str, end: Recovered | Exhausted) -> None:
    for attempt in end.attempts:
        told = {name: value for name, value in attempt.told().items() if value is not None}
        _log.info("copy looked for", extra={"host": authority, **told})
