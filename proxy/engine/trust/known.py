"""What is known of each authority, read and changed in turn so that no change is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Final

from proxy.discovery.names import is_local
from proxy.engine.copies import Copies
from proxy.engine.trust.settings import ConfiguredAnchor, TrustSettings
from proxy.engine.turns import Turns
from proxy.http.targets import DEFAULT_PORTS, Target, parse_authority
from proxy.ports import Clock
from proxy.trust.did.web import MalformedDid, did_of, host_of, is_path_did
from proxy.trust.reasons import Untrusted
from proxy.trust.records.knowledge import Knowledge, with_pin, without_anchor
from proxy.trust.records.pin import PinSource, configured
from proxy.trustrecords import TrustRecords

_HTTPS_PORT: Final = DEFAULT_PORTS["https"]
# Changes that wait for their record, each with a manifest of up to a megabyte.
_MOST_OWED: Final = 64

_log = logging.getLogger("proxy.trust")


Change = Callable[[Knowledge], Knowledge]


class Known:
    """Knowledge by authority. Reading and changing raise TrustRecordsUnavailable and nothing else."""

    def __init__(
        self, records: TrustRecords, turns: Turns, copies: Copies, settings: TrustSettings, clock: Clock
    ) -> None:
        self._records = records
        self._copies = copies
        self._anchors = settings.anchors
        self._clock = clock
        self._turns = turns
        self._owed: dict[str, dict[str, Change]] = {}

    async def get(self, authority: str) -> Knowledge | None:
        """What is known of an authority; None before anything is."""
        if authority in self._owed:
            return await self.change(authority, lambda known: known)
        knowledge = await self._records.get(authority)
        anchor = self._anchors.get(authority)
        if anchor is None and not _is_anchored(knowledge):
            return knowledge
        if knowledge is not None and _agrees(knowledge, anchor):
            return knowledge
        # The operator's word has changed since it was remembered.
        return await self.change(authority, lambda known: known)

    async def authorities(self, limit: int) -> tuple[str, ...]:
        """At most `limit` of those that something is known of."""
        return await self._records.authorities(limit)

    async def change(self, authority: str, change: Change, *, off_loop: bool = False) -> Knowledge:
        """What is known after `change`, also what that raises; durable when this returns.

        `off_loop`: it may take long, as a large DID document does, and the event loop is spared it.
        """
        async with self._turns.of(authority):
            before = await self._records.get(authority)
            known = before or Knowledge(authority, default_did(authority))
            owed = self._owed.get(authority, {})
            known = self._anchored(reduce(lambda known, one: one(known), owed.values(), known))
            after = await asyncio.to_thread(change, known) if off_loop else change(known)
            if after != before:
                await self._records.put(after)
            self._paid(authority, owed)
            if _has_lost_keys(before, after):
                # A key that is gone is dead at once, also for the copies that it verified.
                self._copies.drop_all_of(f"https://{authority}")
            return after

    def owe(self, authority: str, url: str, change: Change) -> None:
        """Make `change`, which the origin's word on `url` comes to, once what is known of it can be read again.

        Until then nothing is known of it at all, and so nobody is served what the origin has said is over.
        """
        if sum(map(len, self._owed.values())) < _MOST_OWED or url in self._owed.get(authority, {}):
            self._owed.setdefault(authority, {})[url] = change

    def _paid(self, authority: str, owed: dict[str, Change]) -> None:
        """What has come meanwhile is still owed."""
        left = {url: one for url, one in self._owed.pop(authority, {}).items() if owed.get(url) is not one}
        if left:
            self._owed[authority] = left

    async def forget(self, authority: str) -> bool:
        """Forget an authority, a damaged record of it too; whether there was anything."""
        async with self._turns.of(authority):
            self._copies.drop_all_of(f"https://{authority}")
            self._owed.pop(authority, None)
            return await self._records.remove(authority)

    def _anchored(self, known: Knowledge) -> Knowledge:
        """With what the operator says, or without what he says no longer."""
        anchor = self._anchors.get(known.authority)
        if anchor is None:
            return without_anchor(known, default_did(known.authority)) if _is_anchored(known) else known
        if anchor.document is None:
            known = without_anchor(known, anchor.did)
            return known if known.did == anchor.did else replace(known, did=anchor.did, pin=None)
        if _agrees(known, anchor):
            return known
        try:
            now = self._clock()
            return with_pin(known, configured(known.pin, anchor.did, anchor.document, now).pin, now)
        except Untrusted as error:
            detail = {"host": known.authority, "did": anchor.did, "reason": error.reason.value}
            _log.error("the configured DID document is not believed", extra=detail)
            return known


def _has_lost_keys(before: Knowledge | None, after: Knowledge) -> bool:
    if before is None or before.pin is None:
        return False
    return after.pin is None or after.pin.did != before.pin.did or not before.pin.keys <= after.pin.keys


def _is_anchored(known: Knowledge | None) -> bool:
    return known is not None and known.pin is not None and known.pin.source is PinSource.CONFIG


def _agrees(known: Knowledge, anchor: ConfiguredAnchor | None) -> bool:
    """Whether what is remembered is what the operator says now."""
    if anchor is None:
        return not _is_anchored(known)
    if anchor.document is None:
        return known.did == anchor.did and not _is_anchored(known)
    pin = known.pin
    return _is_anchored(known) and pin is not None and (pin.did, pin.document) == (anchor.did, anchor.document)


def default_did(authority: str) -> str:
    """The did:web of an authority; "" where it can have none, such as an address."""
    host, port = parse_authority(authority, _HTTPS_PORT)
    try:
        return did_of(host, port)
    except MalformedDid:
        return ""


def is_of_authority(did: str, authority: str) -> bool:
    """Whether a DID that DNS names may speak for an authority: same host and port, and no path (TRUST.md §6.3)."""
    try:
        return host_of(did) == parse_authority(authority, _HTTPS_PORT) and not is_path_did(did)
    except MalformedDid:
        return False


def authority_of(target: Target) -> str:
    """The authority that a target's documents are known by; "" where nothing is remembered of it."""
    is_public = target.scheme == "https" and not is_local(target.host)
    return target.authority if is_public and default_did(target.authority) else ""
