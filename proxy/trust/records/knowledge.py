"""What is known of one authority: its pin, the manifests last known to be good, and how far it has come.

TRUST.md §6.3, §6.4. It is kept durably and is no cache entry: a purge does not touch it. Versions gate mirrors
only; the domain itself may go back, which is told and sets a new baseline. Invariants: a pin is of the DID; each
manifest is under its own URL; nothing grows without bound.

The clock is believed where the domain itself answers, and nowhere else: what comes from it now was learnt now, also
by a clock that was ahead before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from proxy.trust.records.pin import Pin, PinSource
from proxy.trust.records.publication import (
    KnownManifest,
    ManifestEvent,
    Publication,
    carried,
    contradicted,
    edition,
    published,
)
from proxy.trust.rollback import Version

MOST_MANIFESTS: Final = 8
MOST_IPNS_NAMES: Final = 64
CLOCK_SKEW_SECONDS: Final = 300.0


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
class Knowledge:
    """Everything remembered of `authority`: "example.com" or "example.com:8443".

    `did` is the one that copies have to be signed by. `manifests` are by URL, the one changed longest ago first;
    `ipns` maps names to the highest sequence seen, the one that advanced longest ago first. `latest_time` is when
    the domain last said any of it, or a later time at which somebody else did; Unix seconds.
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
    """With another pin, whose DID is from then on that of the authority; or without one.

    One that the domain confirmed at `now` ends every doubt about the clock.
    """
    did = knowledge.did if pin is None else pin.did
    changed = replace(knowledge, did=did, pin=pin)
    is_confirmed = pin is not None and pin.source is not PinSource.CONFIG and pin.last_confirmed_at == now
    return replace(changed, latest_time=now) if is_confirmed else _not_before(changed, now)


def without_anchor(knowledge: Knowledge, did: str) -> Knowledge:
    """With what the operator says no longer forgotten, and `did` again as that of the authority."""
    is_anchored = knowledge.pin is not None and knowledge.pin.source is PinSource.CONFIG
    return replace(knowledge, did=did, pin=None) if is_anchored else knowledge


def is_published(knowledge: Knowledge, url: str, body: bytes, now: float, *, signed: bool) -> bool:
    """Whether it is known already that the domain publishes `body` at `url`, so that nothing comes of it."""
    known = knowledge.manifests.get(url)
    return (
        known is not None and known.is_published_as(body, signed=signed) and not is_clock_doubtful(knowledge, now)
    )


def manifest_accepted_from_origin(
    knowledge: Knowledge, url: str, body: bytes, version: Version, *, signed: bool, now: float
) -> ManifestChange:
    """After the domain itself has published `body`, a JSON object, at `url`, unsigned or with a good proof.

    One with a bad proof is not to be brought here: the one before stays what mirrors are held against. An unsigned
    one keeps the time at which its core was first seen. What mirrors have brought until now counts no more.
    """
    new = edition(body, version, signed=signed, accepted_at=now)
    change = _changed(knowledge, url, published(knowledge.manifests.get(url), url, new))
    return replace(change, knowledge=replace(change.knowledge, latest_time=now))


def manifest_accepted_from_mirror(
    knowledge: Knowledge, url: str, body: bytes, version: Version, now: float
) -> ManifestChange:
    """After a mirror's copy of the manifest at `url` has been verified. It is good unless the event is SUPERSEDED
    or EQUIVOCATION, for more may have become known since it was held against what was.
    """
    new = edition(body, version, signed=True, accepted_at=now)
    change = _changed(knowledge, url, carried(knowledge.manifests.get(url), new))
    if change.knowledge is knowledge:
        return change
    return replace(change, knowledge=_not_before(change.knowledge, now))


def manifest_contradicted(knowledge: Knowledge, url: str, version: Version) -> ManifestChange:
    """After a mirror's copy of the manifest at `url` was rejected as Equivocal with this version (TRUST.md §5).

    What another mirror brought of the same version is given up: the domain's own is the last one known to be good.
    """
    return _changed(knowledge, url, contradicted(knowledge.manifests.get(url), version))


def manifest_withdrawn(knowledge: Knowledge, url: str, now: float) -> Knowledge:
    """After the domain itself has said that there is no manifest at `url`: no mirror may serve one."""
    left = {known: manifest for known, manifest in knowledge.manifests.items() if known != url}
    return _not_before(replace(knowledge, manifests=left), now)


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
    return now < max(knowledge.latest_time, _confirmed_at(knowledge.pin)) - skew_seconds


def is_expendable(knowledge: Knowledge) -> bool:
    """Whether nothing is lost with it that a domain which answers would not say again: no keys, and no mirrors."""
    return knowledge.pin is None and not any(manifest.lists_mirrors for manifest in knowledge.manifests.values())


def _confirmed_at(pin: Pin | None) -> float:
    """What the operator has configured never ages."""
    return 0.0 if pin is None or pin.source is PinSource.CONFIG else pin.last_confirmed_at


def _changed(knowledge: Knowledge, url: str, publication: Publication) -> ManifestChange:
    """With the manifest in the place of the one before, which was changed longest ago if too many are known."""
    manifest = publication.manifest
    if manifest is None or manifest == knowledge.manifests.get(url):
        return ManifestChange(knowledge, publication.event)
    manifests = {other: known for other, known in knowledge.manifests.items() if other != url}
    # Any path may end in the name of a manifest; those of the domain itself give way to none of them.
    root = f"https://{knowledge.authority}/.well-known/"
    expendable = [other for other in manifests if not other.startswith(root)]
    for other in expendable[: max(0, len(manifests) + 1 - MOST_MANIFESTS)]:
        del manifests[other]
    return ManifestChange(replace(knowledge, manifests=manifests | {url: manifest}), publication.event)


def _not_before(knowledge: Knowledge, now: float) -> Knowledge:
    return replace(knowledge, latest_time=max(knowledge.latest_time, now))
