"""Verified copies of manifests whose origin is down (TRUST.md §6.1, contract §6).

A copy is fresh for minutes at the most, never past the end of what vouches for it, and is given up as soon as the
origin answers; until then the origin is asked again and again behind the scenes, and a copy that is still wanted is
renewed before it ends.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Final

from proxy.caching.freshness import Exchange, Lifetime, LifetimeSource
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import mint_etag
from proxy.engine.failover.recovery import Exhausted, Recovered, Recovery
from proxy.engine.outage import NoCopy
from proxy.engine.state import EngineState
from proxy.engine.trust.known import Known, authority_of
from proxy.engine.trust.pinning import Pinning
from proxy.engine.trust.probing import Probing
from proxy.engine.trust.verifying import Verifier
from proxy.failover.attempts import Attempt, AttemptOutcome, shown_url
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.targets import Target
from proxy.ports import TrustRecordsUnavailable
from proxy.single import SingleCalls
from proxy.trust.reasons import Reason
from proxy.trust.records.knowledge import (
    Knowledge,
    KnownManifest,
    ipns_seen,
    manifest_accepted_from_mirror,
)
from proxy.trust.rollback import version_of
from proxy.trust.signatures.ijson import parse_ijson
from proxy.trust.verdict import CopySource, Rejected, UnverifiedCopy, Verdict

_MIRRORS: Final = "x-independent-mirrors"
_UNKNOWN_KEY: Final = frozenset({Reason.VM_NOT_FOUND, Reason.VM_NOT_ASSERTION, Reason.TRUST_ANCHOR_EXPIRED})

_log = logging.getLogger("proxy.trust")


class Standby:
    """Implements engine.outage.Failover."""

    def __init__(
        self,
        state: EngineState,
        known: Known,
        pinning: Pinning,
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
        self._verifier = verifier
        self._recovery = recovery
        self._probing = probing
        self._mirror_max_age = mirror_max_age
        self._calls: SingleCalls[str, StoredResponse | NoCopy | None] = SingleCalls()

    async def find(self, request: Request) -> StoredResponse | NoCopy | None:
        """A verified copy, from now on held for others; None where no place is known that keeps one."""
        target = request.target
        found = await self._calls.call(target.uri, lambda: self._find(target))
        if isinstance(found, StoredResponse):
            self._copies.put(found)
            self._probing.start(target, self._renew)
        return found

    def is_watching(self, uri: str) -> bool:
        """Whether the origin of `uri` is known to be down, and asked again and again until it answers."""
        return uri in self._copies and self._probing.is_watching(uri)

    async def close(self) -> None:
        """Give up what is under way."""
        await self._probing.close()
        await self._calls.close()

    async def _renew(self, target: Target) -> None:
        found = await self._calls.call(target.uri, lambda: self._find(target))
        # The origin may have answered meanwhile.
        if isinstance(found, StoredResponse) and target.uri in self._copies:
            self._copies.put(found)

    async def _find(self, target: Target) -> StoredResponse | NoCopy | None:
        authority = authority_of(target)
        if not authority:
            return None
        try:
            known = await self._known.get(authority)
            manifest = None if known is None else known.manifests.get(target.uri)
            if known is None or manifest is None:
                return None
            return await self._recover(target, known, manifest)
        except TrustRecordsUnavailable as error:
            _log.error("no copy can be verified", extra={"host": authority, "reason": str(error)})
            attempt = Attempt(
                CopySource.MIRROR, shown_url(target.uri), AttemptOutcome.REFUSED, Reason.TRUST_RECORD_DAMAGED.value
            )
            return NoCopy((attempt.told(),))

    async def _recover(
        self, target: Target, known: Knowledge, manifest: KnownManifest
    ) -> StoredResponse | NoCopy | None:
        generation, started = self._generations.latest, self._clock()
        plan = self._recovery.plan(_listed(manifest), target)
        if not plan.candidates and not plan.skipped:
            return None

        async def judge(copy: UnverifiedCopy) -> Verdict:
            return await self._judge(copy, known.authority, target.uri)

        end = await self._recovery.recover(plan, judge, known.ipns)
        _tell(known.authority, end)
        if isinstance(end, Exhausted):
            return NoCopy(tuple(attempt.told() for attempt in end.attempts))
        after = await self._remember(known.authority, target.uri, end)
        return self._stored(target, end, after, Exchange(started, self._clock()), generation)

    async def _judge(self, copy: UnverifiedCopy, authority: str, uri: str) -> Verdict:
        verdict = await self._verify(copy, authority, uri)
        # Keys may have rotated while the domain is away: a did:webvh log from its watchers can say so.
        may_rotate = isinstance(verdict, Rejected) and verdict.reason in _UNKNOWN_KEY
        if may_rotate and await self._pinning.continue_log(authority):
            return await self._verify(copy, authority, uri)
        return verdict

    async def _verify(self, copy: UnverifiedCopy, authority: str, uri: str) -> Verdict:
        known = await self._known.get(authority)
        manifest = None if known is None else known.manifests.get(uri)
        baseline = None if manifest is None else manifest.version
        return await self._verifier.manifest(copy, authority, known, baseline)

    async def _remember(self, authority: str, uri: str, end: Recovered) -> Knowledge:
        """The highest version seen, durably, before anybody is told of it."""
        body, signed = end.verified.copy.body, end.verified.signed
        now = self._clock()
        version = version_of(parse_ijson(body), now if signed.signed_at is None else signed.signed_at)

        def accept(known: Knowledge) -> Knowledge:
            if end.name is not None:
                known = ipns_seen(known, end.name.name.text, end.name.sequence).knowledge
            return manifest_accepted_from_mirror(known, uri, body, version, now).knowledge

        return await self._known.change(authority, accept)

    def _stored(
        self, target: Target, end: Recovered, known: Knowledge, exchange: Exchange, generation: int
    ) -> StoredResponse:
        verified, now = end.verified, exchange.response_time
        seconds = self._mirror_max_age if end.max_age is None else min(self._mirror_max_age, max(0.0, end.max_age))
        lines = (
            ("Content-Type", "application/json"),
            ("Cache-Control", f"max-age={int(seconds)}"),
            ("Date", format_http_date(now)),
        )
        body = verified.copy.body
        return StoredResponse(
            uri=target.uri,
            status=200,
            reason="OK",
            fields=Fields(lines),
            body=body,
            vary=(),
            selecting=(),
            exchange=exchange,
            born=now,
            lifetime=Lifetime(seconds, LifetimeSource.MAX_AGE),
            stale_while_revalidate=0.0,
            stale_if_error=0.0,
            forbids_stale=True,
            must_validate=False,
            document_class="manifest",
            tags=(),
            generation=generation,
            downstream_etag=mint_etag(body),
            keep_until=now + seconds,
            vouching=self._verifier.vouching(
                verified.signed, verified.copy.source, known, is_stale=verified.is_stale
            ),
        )


def _listed(manifest: KnownManifest) -> object:
    """The mirrors that a manifest lists. It was read before it was remembered."""
    members: Mapping[str, object] = json.loads(manifest.body)
    return members.get(_MIRRORS)


def _tell(authority: str, end: Recovered | Exhausted) -> None:
    for attempt in end.attempts:
        told = {name: value for name, value in attempt.told().items() if value is not None}
        _log.info("copy looked for", extra={"host": authority, **told})
