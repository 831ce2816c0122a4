"""What an operator asks of trust: what is known of domains, pin a domain's keys now, forget a domain."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from typing import Final

from proxy.engine.trust.known import Known, default_did
from proxy.engine.trust.pinning import Pinning
from proxy.engine.trust.settings import TrustSettings
from proxy.http.targets import DEFAULT_PORTS, MalformedTarget, https_authority, parse_authority
from proxy.http.timestamps import timestamp
from proxy.ports import Clock
from proxy.trust.reasons import Reason
from proxy.trust.records.knowledge import Knowledge, with_pin
from proxy.trust.records.pin import Pin, PinSource
from proxy.trust.records.publication import KnownManifest
from proxy.trustrecords import TrustRecords, TrustRecordsDamaged

_MOST_SEARCHED: Final = 100_000


class TrustControl:
    """Trust as an operator sees it. Malformed hosts raise MalformedTarget, records TrustRecordsUnavailable."""

    def __init__(
        self, records: TrustRecords, known: Known, pinning: Pinning, settings: TrustSettings, clock: Clock
    ) -> None:
        self._records = records
        self._known = known
        self._pinning = pinning
        self._rules = settings.rules
        self._clock = clock

    async def known(self, did: str | None, limit: int) -> list[dict[str, object]]:
        """What is known of each authority, of that of one DID, or of all; at most `limit`."""
        told: list[dict[str, object]] = []
        for authority in await self._records.authorities(limit if did is None else _MOST_SEARCHED):
            try:
                knowledge = await self._known.get(authority)
            except TrustRecordsDamaged:
                told.append({"authority": authority, "error": Reason.TRUST_RECORD_DAMAGED.value})
                continue
            if knowledge is not None and did in (None, knowledge.did):
                told.append(self._told(knowledge))
        return told[:limit]

    async def of_authority(self, authority: str) -> dict[str, object] | None:
        """What is known of one authority; None for nothing."""
        knowledge = await self._known.get(authority)
        return None if knowledge is None else self._told(knowledge)

    async def pin(self, host: str) -> dict[str, object] | None:
        """Ask a domain for its keys now and believe them without a second sighting; None where it has none."""
        authority = _authority(host)
        began = self._clock()
        knowledge = await self._pinning.renew(authority)
        if knowledge is None or knowledge.pin is None:
            return None
        if knowledge.pin.source is PinSource.CONFIG:
            # The configuration says what its keys are, whatever the domain says.
            return self._told(knowledge)
        if knowledge.pin.last_confirmed_at < began:
            return None
        now = self._clock()

        def believed(known: Knowledge) -> Knowledge:
            pin = known.pin
            if pin is None:
                return known
            ring = pin.ring.replaced(pin.ring.listed, now, revived=True).ring
            return with_pin(known, replace(pin, ring=ring), now)

        return self._told(await self._known.change(authority, believed))

    async def unpin(self, host: str) -> bool:
        """Forget a domain: keys, tombstones, manifests, a damaged record too; whether there was anything."""
        return await self._pinning.forget(_authority(host))

    def _told(self, knowledge: Knowledge) -> dict[str, object]:
        return {
            "authority": knowledge.authority,
            "did": knowledge.did,
            "dns_did": knowledge.dns_did,
            "pin": None if knowledge.pin is None else self._pin(knowledge.pin),
            "manifests": [_manifest(manifest) for manifest in knowledge.manifests.values()],
            "ipns": dict(knowledge.ipns),
        }

    def _pin(self, pin: Pin) -> dict[str, object]:
        return {
            "did": pin.did,
            "source": pin.source.value,
            "standing": self._standing(pin),
            "sha256": hashlib.sha256(pin.document).hexdigest(),
            "fetched_at": timestamp(pin.fetched_at),
            "first_seen": timestamp(pin.first_seen),
            "last_confirmed_at": timestamp(pin.last_confirmed_at),
            "keys": sorted(pin.keys),
            "on_probation": {key: timestamp(at) for key, at in pin.probation.items()},
            "dropped": {key: timestamp(at) for key, at in pin.dropped.items()},
            "version": None if pin.log is None else pin.log.verified.latest.text,
        }

    def _standing(self, pin: Pin) -> str:
        """How copies are judged by it: "verified", "stale-trust", or not at all."""
        age = -math.inf if pin.source is PinSource.CONFIG else self._clock() - pin.last_confirmed_at
        if age > self._rules.hard:
            return "expired"
        if pin.keys and pin.ring.barred == pin.keys:
            return "on-probation"
        return "stale-trust" if age > self._rules.soft else "verified"


def _manifest(manifest: KnownManifest) -> dict[str, object]:
    return {
        "url": manifest.url,
        "sha256": manifest.current.sha256,
        "signed": manifest.signed,
        "sequence": manifest.version.sequence,
        "created": timestamp(manifest.version.created),
        "accepted_at": timestamp(manifest.current.accepted_at),
    }


def _authority(host: str) -> str:
    authority = https_authority(*parse_authority(host, DEFAULT_PORTS["https"]))
    if not default_did(authority):
        raise MalformedTarget("A host that can have a DID: a name with a dot in it, no address.")
    return authority
