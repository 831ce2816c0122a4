"""Fetching and pinning DID documents while a domain answers (TRUST.md §1.2, §6.3).

A document is asked for on the occasion of a manifest, at most once an hour and at least once a day, conditionally,
by our own clock, without redirects. What does not come leaves the pin as it is.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from proxy.engine.trust.documents import DidDocuments, Fetched, FetchEnd, NotThere, Unchanged, Unusable
from proxy.engine.trust.known import Known, default_did, is_of_authority
from proxy.engine.trust.settings import TrustSettings
from proxy.ports import Clock, Observer
from proxy.single import SingleCalls
from proxy.trust.did.document import DidDocument
from proxy.trust.did.web import is_webvh
from proxy.trust.reasons import Untrusted
from proxy.trust.records.keyring import PinEvent
from proxy.trust.records.knowledge import Knowledge, with_pin
from proxy.trust.records.pin import (
    LEAST_SECONDS_BETWEEN_FETCHES,
    Pin,
    PinSource,
    Sighting,
    confirmed,
    gone,
    is_due,
    is_overdue,
    sighted,
)
from proxy.trust.records.webvh import ReceivedLog, log_sighted
from proxy.trustrecords import TrustRecordsUnavailable

# After a failure the domain is asked again on the next occasion, but not more often than this.
_RETRY_SECONDS: Final = 60.0
_RETRY_ABSENT_SECONDS: Final = 3600.0
# Authorities whose pins are kept young without an occasion.
_MOST_TENDED: Final = 10_000
_TENDED_AT_ONCE: Final = 4
# Documents that wait for keys at once.
_MOST_WAITING: Final = 1_000
# From this size on a document takes milliseconds to read.
_OFF_THE_LOOP: Final = 16 * 1024

# What is told as information; everything else about a pin deserves a look.
_QUIET: Final = frozenset({PinEvent.PINNED, PinEvent.CONFIRMED, PinEvent.ROTATED, PinEvent.ANCHORED, "absent"})

_log = logging.getLogger("proxy.trust")


class Occasion(StrEnum):
    """Why the document is wanted now."""

    MANIFEST = "manifest"
    """A document of the domain came that is, or may once be, signed."""
    UNKNOWN_KEY = "unknown-key"
    """One came that a key signed which the pin does not know: the pin may be behind."""


@dataclass(slots=True)
class _Asked:
    """When a domain was asked last, for how long it is left alone, and when last for the sake of an unknown key."""

    at: float
    pause: float
    for_key_at: float = -math.inf


class Pinning:
    """The pins of all domains."""

    def __init__(
        self,
        documents: DidDocuments,
        known: Known,
        settings: TrustSettings,
        clock: Clock,
        observer: Observer,
    ) -> None:
        self._documents = documents
        self._known = known
        self._settings = settings
        self._clock = clock
        self._observer = observer
        self._calls: SingleCalls[str, Knowledge | None] = SingleCalls()
        self._asked: OrderedDict[str, _Asked] = OrderedDict()
        self._background: set[asyncio.Task[None]] = set()
        self._waiting: set[tuple[str, str]] = set()

    async def close(self) -> None:
        """Give up what is under way."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._calls.close()

    async def knowledge(self, authority: str, occasion: Occasion, *, wait: bool) -> Knowledge | None:
        """What is known of an authority, its pin renewed if that is due: behind the scenes, or `wait` for it.

        Raises TrustRecordsUnavailable.
        """
        known = await self._known.get(authority)
        pin = None if known is None else known.pin
        if not self._may_ask(authority, pin, occasion):
            return known
        renewal = self.renew(authority)
        if not wait:
            self._behind(renewal)
            return known
        try:
            async with asyncio.timeout(self._settings.patience):
                return await renewal
        except TimeoutError:
            return known

    async def renew(self, authority: str) -> Knowledge | None:
        """Ask the domain now, however lately it was asked; what is known then. Raises TrustRecordsUnavailable."""
        return await self._calls.call(authority, lambda: self._renew(authority))

    def when_keys_come(self, authority: str, url: str, then: Callable[[], Awaitable[None]]) -> None:
        """Do `then` for `url`, once, if the domain is being asked now and answers with its keys."""
        waiting = (authority, url)
        if authority not in self._calls or waiting in self._waiting or len(self._waiting) >= _MOST_WAITING:
            return
        self._waiting.add(waiting)

        async def wait() -> None:
            try:
                renewing = authority in self._calls
                known = await (self.renew(authority) if renewing else self._known.get(authority))
            finally:
                self._waiting.discard(waiting)
            if known is not None and known.pin is not None:
                await then()

        self._behind(wait())

    async def forget(self, authority: str) -> bool:
        """Forget a domain, and that it was asked; whether anything was known of it."""
        self._asked.pop(authority, None)
        return await self._known.forget(authority)

    def begin(self) -> None:
        """Take up what was tended before this process, or this configuration."""
        self._behind(self._take_up())

    async def _take_up(self) -> None:
        for authority in await self._known.authorities(_MOST_TENDED):
            with suppress(TrustRecordsUnavailable):
                known = await self._known.get(authority)
                if known is not None and known.pin is not None:
                    self._asked.setdefault(authority, _Asked(known.pin.last_confirmed_at, _RETRY_SECONDS))

    def tend(self) -> None:
        """Renew some pins that have had no occasion for a day; called every few seconds."""
        now = self._clock()
        due = [authority for authority, asked in self._asked.items() if now - asked.at >= 86_400.0]
        for authority in due[:_TENDED_AT_ONCE]:
            # One that cannot be renewed keeps no other waiting.
            self._asked.move_to_end(authority)
            self._behind(self._renew_overdue(authority))

    async def _renew_overdue(self, authority: str) -> None:
        known = await self._known.get(authority)
        if known is None or not is_overdue(known.pin, self._clock()):
            self._asked.pop(authority, None)
            return
        await self.renew(authority)

    def _may_ask(self, authority: str, pin: Pin | None, occasion: Occasion) -> bool:
        now = self._clock()
        asked = self._asked.get(authority)
        if asked is not None and 0.0 <= now - asked.at < asked.pause:
            return False
        if pin is not None and pin.source is PinSource.CONFIG:
            return False
        if occasion is Occasion.MANIFEST or asked is None:
            return is_due(pin, now)
        is_allowed = not 0.0 <= now - asked.for_key_at < LEAST_SECONDS_BETWEEN_FETCHES
        if is_allowed:
            asked.for_key_at = now
        return is_allowed

    def _behind(self, work: Coroutine[Any, Any, object]) -> None:
        async def quietly() -> None:
            try:
                await work
            except TrustRecordsUnavailable as error:
                _log.warning("a pin cannot be kept", extra={"reason": str(error)})

        task = asyncio.get_running_loop().create_task(quietly())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _renew(self, authority: str) -> Knowledge | None:
        """Ask the domain for its document, as the DID that DNS names if it is another, else as the known one."""
        known = await self._known.get(authority)
        end = await self._ask_as_named(authority, known)
        if not isinstance(end, Fetched):
            did = (known.did if known is not None else "") or default_did(authority)
            end = await self._ask(authority, known, did)
        pause = _RETRY_ABSENT_SECONDS if isinstance(end, NotThere) else _RETRY_SECONDS
        before = self._asked.pop(authority, None)
        for_key_at = -math.inf if before is None else before.for_key_at
        self._asked[authority] = _Asked(self._clock(), pause, for_key_at)
        if len(self._asked) > _MOST_TENDED:
            self._asked.popitem(last=False)
        return await self._known.get(authority)

    async def _ask_as_named(self, authority: str, known: Knowledge | None) -> FetchEnd | None:
        """The answer as the DID that DNS names; None where it names none, or the one that is known."""
        named = None if known is None or authority in self._settings.anchors else known.dns_did
        if known is None or named is None or named == known.did or not is_of_authority(named, authority):
            return None
        return await self._ask(authority, known, named)

    async def _ask(self, authority: str, known: Knowledge | None, did: str) -> FetchEnd:
        pin = None if known is None or known.pin is None or known.pin.did != did else known.pin
        end = await self._documents.fetch(did, pin)
        if isinstance(end, Unusable):
            self._tell(authority, did, end.reason)
            return end
        if isinstance(end, NotThere) and pin is None:
            self._tell(authority, did, "absent")
            return end
        try:
            is_large = isinstance(end, Fetched) and len(end.body) > _OFF_THE_LOOP
            after = await self._known.change(
                authority, lambda now_known: self._changed(now_known, did, end), off_loop=is_large
            )
        except Untrusted as error:
            self._tell(authority, did, error.reason.value)
            return Unusable(error.reason.value)
        self._alarm(authority, after.pin)
        return end

    def _alarm(self, authority: str, pin: Pin | None) -> None:
        if pin is not None and isinstance(pin.parsed, DidDocument) and pin.parsed.exposed:
            _log.error("the DID document publishes private keys", extra={"host": authority, "did": pin.did})

    def _changed(self, known: Knowledge, did: str, end: Fetched | Unchanged | NotThere) -> Knowledge:
        now, pin = self._clock(), known.pin
        match end:
            case Unchanged():
                if pin is None or pin.did != did:
                    return known
                self._tell(known.authority, did, PinEvent.CONFIRMED.value)
                return with_pin(known, confirmed(pin, now), now)
            case NotThere():
                left = pin if pin is None or pin.did != did else gone(pin, now)
                self._tell(known.authority, did, "absent" if left is not None else "deactivated")
                return with_pin(known, left, now)
            case Fetched():
                sighting = self._sighted(known, did, end, now)
                self._tell(known.authority, did, sighting.event.value)
                return with_pin(known, sighting.pin, now)

    def _sighted(self, known: Knowledge, did: str, end: Fetched, now: float) -> Sighting:
        pin, probation = known.pin, self._settings.probation
        if is_webvh(did):
            received = ReceivedLog(did, end.body, end.witnesses, now, True, end.validators)
            is_configured = known.authority in self._settings.anchors
            return log_sighted(pin, received, is_configured=is_configured, probation_seconds=probation)
        return sighted(pin, did, end.body, now, end.validators, probation)

    def _tell(self, authority: str, did: str, result: str) -> None:
        # Statuses are of the origin's choosing, and too many for names.
        counted = "error-status" if result.startswith("status-") else result
        self._observer.verified("webvh" if is_webvh(did) else "did", counted)
        alarming = result not in _QUIET
        _log.log(
            logging.WARNING if alarming else logging.INFO,
            "DID document",
            extra={"host": authority, "did": did, "result": result},
        )
