"""Longer logs of a pinned did:webvh, from its watchers and from mirrors (TRUST.md §3.2).

Keys may have rotated while the domain is away. A log can say so, whoever brings it, as long as it contains the
version that is pinned.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Final

from proxy.engine.trust.documents import DidDocuments, Fetched
from proxy.engine.trust.known import Known
from proxy.engine.trust.settings import TrustSettings
from proxy.http.targets import Target
from proxy.ports import Clock, Observer
from proxy.single import SingleCalls
from proxy.trust.reasons import Untrusted
from proxy.trust.records.knowledge import Knowledge, with_pin
from proxy.trust.records.webvh import ReceivedLog, log_sighted

_PAUSE_SECONDS: Final = 60.0
_MOST_REMEMBERED: Final = 1_000

_log = logging.getLogger("proxy.trust")


class Continuing:
    """Looks for continuations, at most once a minute for each domain."""

    def __init__(
        self, documents: DidDocuments, known: Known, settings: TrustSettings, clock: Clock, observer: Observer
    ) -> None:
        self._documents = documents
        self._known = known
        self._settings = settings
        self._clock = clock
        self._observer = observer
        self._calls: SingleCalls[str, bool] = SingleCalls()
        self._looked_at: OrderedDict[str, float] = OrderedDict()

    async def close(self) -> None:
        """Give up what is under way."""
        await self._calls.close()

    async def look(self, authority: str, mirrors: Sequence[Target]) -> bool:
        """Whether a log was found that changes what is pinned. Raises TrustRecordsUnavailable."""
        is_recent = 0.0 <= self._clock() - self._looked_at.get(authority, -_PAUSE_SECONDS) < _PAUSE_SECONDS
        if is_recent and authority not in self._calls:
            return False
        return await self._calls.call(authority, lambda: self._look(authority, mirrors))

    async def _look(self, authority: str, mirrors: Sequence[Target]) -> bool:
        known = await self._known.get(authority)
        pin = None if known is None else known.pin
        if pin is None or pin.log is None:
            return False
        self._looked_at[authority] = self._clock()
        if len(self._looked_at) > _MOST_REMEMBERED:
            self._looked_at.popitem(last=False)
        after = known
        for found in await self._documents.from_elsewhere(pin.did, pin.log.verified.watchers, mirrors):
            # The longest counts, whoever brings it first.
            try:
                after = await self._known.change(authority, partial(self._continued, found), off_loop=True)
            except Untrusted as error:
                self._tell(authority, pin.did, error.reason.value)
        return after is not None and after.pin != pin

    def _continued(self, found: Fetched, known: Knowledge) -> Knowledge:
        now, pin = self._clock(), known.pin
        if pin is None:
            return known
        sighting = log_sighted(
            pin,
            ReceivedLog(pin.did, found.body, found.witnesses, now, from_domain=False),
            is_configured=known.authority in self._settings.anchors,
            probation_seconds=self._settings.probation,
        )
        self._tell(known.authority, pin.did, sighting.event.value)
        return with_pin(known, sighting.pin, now)

    def _tell(self, authority: str, did: str, result: str) -> None:
        self._observer.verified("webvh", result)
        _log.info("log from elsewhere", extra={"host": authority, "did": did, "result": result})
