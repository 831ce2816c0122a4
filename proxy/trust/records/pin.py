"""The pinned DID document of a domain, and what each sight of the domain makes of it (TRUST.md §1.2, §6.3).

A pin is what mirrors are judged by while the domain is away. It comes from the domain itself over TLS, from the
operator, or from a verified did:webvh log, never from a mirror's did.json; it ages from when it was last confirmed.
Invariants: the document is one of the DID, and the keys are those that it lists; a log there is exactly where the
source is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from proxy.trust.did.document import DidDocument, parse_did_document
from proxy.trust.did.webvh.log import VerifiedLog
from proxy.trust.manifests import Anchor
from proxy.trust.records.keyring import PROBATION_SECONDS, KeyRing, PinEvent
from proxy.trust.verdict import Rejected

LEAST_SECONDS_BETWEEN_FETCHES: Final = 3600.0
MOST_SECONDS_BETWEEN_FETCHES: Final = 86_400.0
GONE_SECONDS: Final = 3600.0


class PinSource(StrEnum):
    """Who vouches for the document."""

    TLS = "tls"
    CONFIG = "config"
    WEBVH = "webvh"


@dataclass(frozen=True, slots=True)
class Validators:
    """What a conditional request for the document may be made with (RFC 9110 §8.8), as received."""

    etag: str | None = None
    last_modified: str | None = None

    @property
    def is_any(self) -> bool:
        """Whether a conditional request can be made at all."""
        return self.etag is not None or self.last_modified is not None


NO_VALIDATORS: Final = Validators()


@dataclass(frozen=True, slots=True)
class PinnedLog:
    """A did:webvh log and its witness file as received, and what they prove."""

    octets: bytes
    witnesses: bytes | None
    verified: VerifiedLog = field(compare=False)


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned document. Times in Unix seconds.

    `document` is the document as received, of a did:webvh the canonical state of its log; `parsed` is what it says,
    or why none of it is believed any more. `first_seen` is when this DID was first pinned, `last_confirmed_at` when
    the domain last showed this document or said that it is unchanged. `gone_since` is when the domain began to say
    that there is no document.
    """

    did: str
    source: PinSource
    document: bytes
    parsed: DidDocument | Rejected = field(compare=False, repr=False)
    ring: KeyRing
    fetched_at: float
    first_seen: float
    last_confirmed_at: float
    validators: Validators = NO_VALIDATORS
    gone_since: float | None = None
    log: PinnedLog | None = None

    @property
    def keys(self) -> frozenset[str]:
        """The multikey texts of the assertion keys that the document lists."""
        return self.ring.listed

    @property
    def dropped(self) -> Mapping[str, float]:
        """Keys that vanished, and when."""
        return self.ring.dropped

    @property
    def probation(self) -> Mapping[str, float]:
        """Keys that verify nothing yet, and when they were first seen."""
        return self.ring.probation


@dataclass(frozen=True, slots=True)
class Sighting:
    """The pin after the domain, its log or the operator has been asked."""

    pin: Pin
    event: PinEvent


def sighted(
    pin: Pin | None,
    did: str,
    document: bytes,
    now: float,
    validators: Validators = NO_VALIDATORS,
    probation_seconds: float = PROBATION_SECONDS,
) -> Sighting:
    """After the domain has answered 200 with the document of its did:web. Raises Untrusted: did_doc_*.

    Validators are kept only from the second answer with the same bytes. Else who has hijacked the domain for one
    answer could copy the entity tag of the true document, and every later 304 would confirm his own.
    """
    parsed = parse_did_document(document, did)
    if pin is None:
        return Sighting(_pinned(did, PinSource.TLS, document, parsed, now), PinEvent.PINNED)
    if pin.source is PinSource.CONFIG:
        return Sighting(pin, PinEvent.ANCHORED)
    succession = pin.ring.seen(parsed.keys, now, probation_seconds)
    is_repeated = (pin.did, pin.document) == (did, document) and not succession.ring.probation
    successor = Pin(
        did,
        PinSource.TLS,
        document,
        parsed,
        succession.ring,
        fetched_at=now,
        first_seen=pin.first_seen if pin.did == did else now,
        last_confirmed_at=now,
        validators=validators if is_repeated else NO_VALIDATORS,
    )
    return Sighting(successor, succession.event)


def configured(pin: Pin | None, did: str, document: bytes, now: float) -> Sighting:
    """After the operator has said what the document is. Raises Untrusted: did_doc_*."""
    parsed = parse_did_document(document, did)
    anchor = _pinned(did, PinSource.CONFIG, document, parsed, now)
    if pin is None:
        return Sighting(anchor, PinEvent.PINNED)
    succession = pin.ring.replaced(parsed.keys, now, revived=True)
    first_seen = pin.first_seen if pin.did == did else now
    return Sighting(replace(anchor, ring=succession.ring, first_seen=first_seen), succession.event)


def confirmed(pin: Pin, now: float) -> Pin:
    """After a 304. One that no validator asked for confirms nothing (RFC 9110 §15.4.5)."""
    if not pin.validators.is_any:
        return pin
    return replace(pin, last_confirmed_at=now, gone_since=None)


def gone(pin: Pin, now: float) -> Pin | None:
    """After 404 or 410 over good TLS: None once the domain has said so twice, an hour apart.

    Only a did:web ends like that. A log says itself when its DID has ended, and the operator needs no domain.
    """
    if pin.source is not PinSource.TLS:
        return pin
    since = now if pin.gone_since is None else min(pin.gone_since, now)
    return None if now - since >= GONE_SECONDS else replace(pin, gone_since=since)


def is_due(pin: Pin | None, now: float) -> bool:
    """Whether the revalidation of a manifest is an occasion to fetch the document, too."""
    return _is_older_than(pin, now, LEAST_SECONDS_BETWEEN_FETCHES)


def is_overdue(pin: Pin | None, now: float) -> bool:
    """Whether the document is to be fetched without waiting for an occasion."""
    return _is_older_than(pin, now, MOST_SECONDS_BETWEEN_FETCHES)


def anchor_of(pin: Pin, now: float) -> Anchor:
    """What mirrors are judged by at `now`. What the operator has configured never ages."""
    confirmed_at = now if pin.source is PinSource.CONFIG else pin.last_confirmed_at
    return Anchor(pin.parsed, confirmed_at, pin.ring.barred)


def _pinned(did: str, source: PinSource, document: bytes, parsed: DidDocument, now: float) -> Pin:
    return Pin(did, source, document, parsed, KeyRing(parsed.keys), now, now, now)


def _is_older_than(pin: Pin | None, now: float, seconds: float) -> bool:
    """Also where the clock has been set back behind the last answer."""
    if pin is None or pin.source is PinSource.CONFIG:
        return pin is None
    answered_at = max(pin.last_confirmed_at, pin.gone_since or 0.0)
    return not 0.0 <= now - answered_at < seconds
