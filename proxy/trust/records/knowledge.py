"""What is known of one authority: its pin, the manifests last known to be good, and how far it has come.

TRUST.md §6.3, §6.4. It is kept durably and is no cache entry: a purge does not touch it. Versions gate mirrors
only; the domain itself may go back, which is told and sets a new baseline. Invariants: a pin is of the DID; each
manifest is under its own URL; nothing grows without bound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from proxy.trust.records.pin import Pin, PinSource
from proxy.trust.rollback import Accepted, Version, judge

MOST_MANIFESTS: Final = 8
MOST_IPNS_NAMES: Final = 64
CLOCK_SKEW_SECONDS: Final = 300.0


class ManifestEvent(StrEnum):
    """What came of accepting a manifest."""

    FIRST = "first"
    SAME = "same"
    NEWER = "newer"
    ORIGIN_REGRESSED = "origin_regressed"
    """The domain has published something that is not above its last version; it is the new baseline."""
    SUPERSEDED = "superseded"
    """A mirror's copy that is not above what is known by now; nothing changed."""


class DnsDidEvent(StrEnum):
    """How the DID that DNS names stands to the pin."""

    NOTED = "noted"
    """There is none, or no pin to hold it against."""
    AGREES = "agrees"
    CONFLICT = "dns_did_conflict"
    """Another than the pinned one, which stays."""


class IpnsEvent(StrEnum):
    """How an IPNS record's sequence stands to the highest one seen under its name."""

    ADVANCED = "advanced"
    SAME = "same"
    BEHIND = "behind"
    """The record is not to be used."""


@dataclass(frozen=True, slots=True)
class KnownManifest:
    """A manifest last known to be good, as received. `accepted_at` in Unix seconds; `sha256` in hex."""

    url: str
    body: bytes
    version: Version
    signed: bool
    accepted_at: float

    @property
    def sha256(self) -> str:
        """The digest of the body."""
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Everything remembered of `authority`: "example.com" or "example.com:8443".

    `did` is the one that copies have to be signed by. `manifests` are by URL, the one accepted longest ago first;
    `ipns` maps names to the highest sequence seen, the one that advanced longest ago first. `latest_time` is the
    newest time, in Unix seconds, at which any of it was learnt.
    """

    authority: str
    did: str
    pin: Pin | None = None
    manifests: Mapping[str, KnownManifest] = field(default_factory=dict)
    ipns: Mapping[str, int] = field(default_factory=dict)
    dns_did: str | None = None
    latest_time: float = 0.0


@dataclass(frozen=True, slots=True)
class ManifestChange:
    """What is known after a manifest was accepted."""

    knowledge: Knowledge
    event: ManifestEvent


def with_pin(knowledge: Knowledge, pin: Pin | None, now: float) -> Knowledge:
    """With another pin, whose DID is from then on that of the authority; or without one."""
    did = knowledge.did if pin is None else pin.did
    return _at(replace(knowledge, did=did, pin=pin), now)


def without_anchor(knowledge: Knowledge, did: str) -> Knowledge:
    """With what the operator says no longer forgotten, and `did` again as that of the authority."""
    is_anchored = knowledge.pin is not None and knowledge.pin.source is PinSource.CONFIG
    return replace(knowledge, did=did, pin=None) if is_anchored else knowledge


def manifest_accepted_from_origin(
    knowledge: Knowledge, url: str, body: bytes, version: Version, *, signed: bool, now: float
) -> ManifestChange:
    """After the domain itself has published `body` at `url`, unsigned or with a good proof.

    One with a bad proof is not to be brought here: the one before stays what mirrors are held against. An unsigned
    one keeps the time at which its core was first seen.
    """
    known = knowledge.manifests.get(url)
    if known is not None and known.version.core == version.core and not signed:
        version = known.version
    manifest = KnownManifest(url, body, version, signed, now)
    event = _standing(version, known, ManifestEvent.ORIGIN_REGRESSED)
    return ManifestChange(_with_manifest(knowledge, manifest, now), event)


def manifest_accepted_from_mirror(
    knowledge: Knowledge, url: str, body: bytes, version: Version, now: float
) -> ManifestChange:
    """After a mirror's copy of the manifest at `url` has been verified.

    A copy of the same version replaces the known one, and so its list of mirrors, only if it was signed later.
    """
    known = knowledge.manifests.get(url)
    event = _standing(version, known, ManifestEvent.SUPERSEDED)
    is_kept = event is ManifestEvent.SAME and known is not None and version.created <= known.version.created
    if is_kept or event is ManifestEvent.SUPERSEDED:
        return ManifestChange(knowledge, event)
    manifest = KnownManifest(url, body, version, True, now)
    return ManifestChange(_with_manifest(knowledge, manifest, now), event)


def manifest_withdrawn(knowledge: Knowledge, url: str, now: float) -> Knowledge:
    """After the domain itself has said that there is no manifest at `url`: no mirror may serve one."""
    left = {known: manifest for known, manifest in knowledge.manifests.items() if known != url}
    return _at(replace(knowledge, manifests=left), now)


@dataclass(frozen=True, slots=True)
class DnsDidChange:
    """What is known after DNS was asked."""

    knowledge: Knowledge
    event: DnsDidEvent


def dns_did_seen(knowledge: Knowledge, did: str | None) -> DnsDidChange:
    """After DNS has named `did`, or none. The pin stays until the domain itself shows a document of another DID."""
    changed = replace(knowledge, dns_did=did)
    if did is None or knowledge.pin is None:
        return DnsDidChange(changed, DnsDidEvent.NOTED)
    return DnsDidChange(changed, DnsDidEvent.AGREES if did == knowledge.pin.did else DnsDidEvent.CONFLICT)


@dataclass(frozen=True, slots=True)
class IpnsChange:
    """What is known after an IPNS record was read."""

    knowledge: Knowledge
    event: IpnsEvent


def ipns_seen(knowledge: Knowledge, name: str, sequence: int) -> IpnsChange:
    """After a verified record of `name` has been read. Too many names, and the one still longest is forgotten."""
    highest = knowledge.ipns.get(name)
    if highest is not None and sequence <= highest:
        return IpnsChange(knowledge, IpnsEvent.SAME if sequence == highest else IpnsEvent.BEHIND)
    others = [(other, number) for other, number in knowledge.ipns.items() if other != name]
    advanced = dict([*others, (name, sequence)][-MOST_IPNS_NAMES:])
    return IpnsChange(replace(knowledge, ipns=advanced), IpnsEvent.ADVANCED)


def is_clock_doubtful(knowledge: Knowledge, now: float, skew_seconds: float = CLOCK_SKEW_SECONDS) -> bool:
    """Whether the clock has been set back since any of it was learnt: the age of a pin is not to be relied on."""
    return now < knowledge.latest_time - skew_seconds


def _standing(version: Version, known: KnownManifest | None, otherwise: ManifestEvent) -> ManifestEvent:
    """How a version stands to the known one; `otherwise` where it is not above it."""
    if known is None:
        return ManifestEvent.FIRST
    verdict = judge(version, known.version)
    if not isinstance(verdict, Accepted):
        return otherwise
    return ManifestEvent.NEWER if verdict.is_newer else ManifestEvent.SAME


def _with_manifest(knowledge: Knowledge, manifest: KnownManifest, now: float) -> Knowledge:
    others = [(url, known) for url, known in knowledge.manifests.items() if url != manifest.url]
    newest = dict([*others, (manifest.url, manifest)][-MOST_MANIFESTS:])
    return _at(replace(knowledge, manifests=newest), now)


def _at(knowledge: Knowledge, now: float) -> Knowledge:
    return replace(knowledge, latest_time=max(knowledge.latest_time, now))
