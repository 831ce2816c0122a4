"""Verifying documents by what is known of their domain; every verdict is logged and counted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from proxy.caching.vouching import TrustState, Vouching
from proxy.engine.trust.settings import TrustSettings
from proxy.failover.attempts import shown_url
from proxy.ports import Clock, Observer
from proxy.trust.cards import verify_card
from proxy.trust.catalogs import verify_catalog
from proxy.trust.manifests import Anchor, verify_manifest
from proxy.trust.reasons import Reason
from proxy.trust.records.knowledge import Knowledge, is_clock_doubtful
from proxy.trust.records.pin import anchor_of
from proxy.trust.rollback import Baseline, Version, version_of
from proxy.trust.signatures.ijson import parse_ijson
from proxy.trust.verdict import CopySource, Rejected, Signed, UnverifiedCopy, Verdict, VerifiedCopy

# From this size on canonicalising takes milliseconds, which the event loop is spared (TRUST.md §4.2).
_OFF_THE_LOOP: Final = 64 * 1024

T = TypeVar("T")
_log = logging.getLogger("proxy.trust")


class Verifier:
    """Holds documents against what is known."""

    def __init__(self, settings: TrustSettings, clock: Clock, observer: Observer) -> None:
        self._settings = settings
        self._clock = clock
        self._observer = observer

    async def manifest(
        self, copy: UnverifiedCopy, authority: str, known: Knowledge | None, baseline: Baseline | None
    ) -> Verdict:
        """A manifest of `authority`. From its own origin: with keys on probation, and without a baseline."""
        now, rules = self._clock(), self._settings.rules
        did, anchor = self._anchor(known, now, is_from_origin=copy.source is CopySource.ORIGIN)

        def verify() -> Verdict:
            return verify_manifest(copy, did, authority, anchor, baseline, rules, now)

        verdict = await _run(verify, len(copy.body))
        if isinstance(verdict, VerifiedCopy) and copy.source is not CopySource.ORIGIN:
            verdict = self._by_age(verdict, known, now)
        signed = verdict.signed if isinstance(verdict, VerifiedCopy) else verdict
        self._tell("manifest", authority, copy, signed)
        return verdict

    def _by_age(self, verdict: VerifiedCopy, known: Knowledge | None, now: float) -> Verdict:
        """A copy from elsewhere by the age of the pin, which a clock that has gone back cannot tell."""
        if known is not None and is_clock_doubtful(known, now, self._settings.rules.skew):
            _log.warning("the clock has gone back: the age of pins is not known", extra={"host": known.authority})
            verdict = replace(verdict, is_stale=True)
        if verdict.is_stale and self._settings.is_strict:
            return Rejected(Reason.TRUST_ANCHOR_EXPIRED, "The pin is past its soft age, and trust is strict.")
        return verdict

    async def card(self, copy: UnverifiedCopy, authority: str, known: Knowledge | None) -> Signed | Rejected:
        """An agent card of `authority`."""
        now, rules = self._clock(), self._settings.rules
        did, anchor = self._anchor(known, now, is_from_origin=True)
        signed = await _run(lambda: verify_card(copy.body, did, authority, anchor, rules, now), len(copy.body))
        self._tell("agent-card", authority, copy, signed)
        return signed

    async def catalog(self, copy: UnverifiedCopy, authority: str, known: Knowledge | None) -> Signed | Rejected:
        """An AI catalog of `authority`."""
        now, rules = self._clock(), self._settings.rules
        did, anchor = self._anchor(known, now, is_from_origin=True)
        signed = await _run(lambda: verify_catalog(copy.body, did, anchor, rules, now), len(copy.body))
        self._tell("ai-catalog", authority, copy, signed)
        return signed

    def unsigned(self, kind: str, copy: UnverifiedCopy, authority: str) -> None:
        """Tell of a document without any signature."""
        self._tell(kind, authority, copy, Rejected(Reason.UNSIGNED, "There is no signature."))

    async def version(self, body: bytes, created: float) -> Version:
        """The version that a manifest is. Raises Untrusted where it has no canonical form."""
        return await _run(lambda: version_of(parse_ijson(body), created), len(body))

    def vouching(self, signed: Signed, source: CopySource, known: Knowledge | None, *, is_stale: bool) -> Vouching:
        """What a good proof comes to, and until when: to the end of the proof, of its key and of the pin."""
        now, rules = self._clock(), self._settings.rules
        _, anchor = self._anchor(known, now, is_from_origin=True)
        confirmed_at = now if anchor is None else anchor.confirmed_at
        is_held_to_age = self._settings.is_strict and source is not CopySource.ORIGIN
        ends_at = confirmed_at + (rules.soft if is_held_to_age else rules.hard)
        if signed.valid_until is not None:
            ends_at = min(ends_at, signed.valid_until)
        return Vouching(
            TrustState.STALE_TRUST if is_stale else TrustState.VERIFIED,
            source.value,
            now,
            did=signed.did,
            method=signed.verification_method,
            proof=signed.kind,
            signed_at=signed.signed_at,
            valid_until=signed.valid_until,
            soft_until=confirmed_at + rules.soft,
            ends_at=ends_at,
        )

    @staticmethod
    def _anchor(known: Knowledge | None, now: float, *, is_from_origin: bool) -> tuple[str, Anchor | None]:
        if known is None or known.pin is None:
            return "" if known is None else known.did, None
        anchor = anchor_of(known.pin, now)
        # Probation is for copies from elsewhere: the domain itself may use its newest key at once.
        return known.did, replace(anchor, barred=frozenset()) if is_from_origin else anchor

    def _tell(self, kind: str, authority: str, copy: UnverifiedCopy, signed: Signed | Rejected) -> None:
        told = {"kind": kind, "host": authority, "source": copy.source.value, "url": shown_url(copy.url)}
        if isinstance(signed, Signed):
            self._observer.verified(kind, "verified")
            told |= {"did": signed.did, "verification_method": signed.verification_method, "proof": signed.kind}
            _log.info("verified", extra=told)
            return
        self._observer.verified(kind, signed.reason.value)
        is_normal = signed.reason is Reason.UNSIGNED and copy.source is CopySource.ORIGIN
        level = logging.INFO if is_normal else logging.WARNING
        _log.log(level, "not verified", extra=told | {"reason": signed.reason.value})


async def _run(verify: Callable[[], T], octets: int) -> T:
    return verify() if octets <= _OFF_THE_LOOP else await asyncio.to_thread(verify)
