"""Pins by a did:webvh log, which may come from anybody once its DID is pinned (TRUST.md §3.2).

A log proves that every step was authorised by the one before, so keys may rotate while the domain is away. It does
not prove that it is the newest, nor whose it is: the first one comes from the domain, a later one contains the
pinned version, and only the domain's own makes the pin younger.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from proxy.trust.did.document import DidDocument, parse_did_document
from proxy.trust.did.web import MalformedDid, parse_web_did
from proxy.trust.did.webvh.entries import VersionId
from proxy.trust.did.webvh.log import verify_log
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.records.keyring import PROBATION_SECONDS, KeyRing, PinEvent, Succession
from proxy.trust.records.pin import NO_VALIDATORS, Pin, PinnedLog, PinSource, Sighting, Validators
from proxy.trust.verdict import Rejected


@dataclass(frozen=True, slots=True)
class ReceivedLog:
    """A log of `did` with its witness file, as they came at `received_at`, Unix seconds; nothing of it is verified.

    `from_domain`: it came over TLS from the domain, else from anybody.
    """

    did: str
    octets: bytes
    witnesses: bytes | None
    received_at: float
    from_domain: bool
    validators: Validators = NO_VALIDATORS


def log_sighted(
    pin: Pin | None,
    received: ReceivedLog,
    *,
    is_configured: bool = False,
    probation_seconds: float = PROBATION_SECONDS,
) -> Sighting:
    """After a log has come.

    `is_configured`: the operator has named its DID, so no pin is needed to know it; a first log that the domain did
    not send is as old as its newest version. Raises Untrusted: webvh_invalid, did_doc_*, and trust_anchor_missing
    for anybody's log of a DID that is neither pinned nor configured.
    """
    if pin is not None and pin.source is PinSource.CONFIG:
        return Sighting(pin, PinEvent.ANCHORED)
    known = pin if pin is not None and pin.did == received.did and pin.log is not None else None
    if not (known or received.from_domain or is_configured):
        raise Untrusted(Reason.TRUST_ANCHOR_MISSING, "The log is of a DID that is not pinned.")
    pinned = known.log.verified.latest if known and known.log else None
    read = read_log(received.octets, received.witnesses, received.received_at, received.did, pinned)
    is_vouched_for = is_configured or (known is not None and not known.probation)
    if known and not received.from_domain and (known.log == read or not is_vouched_for):
        return Sighting(known, PinEvent.ON_PROBATION if known.probation else PinEvent.CONFIRMED)
    parsed = state_of(read, received.did)
    if pin is None:
        succession = Succession(KeyRing(keys_of(parsed)), PinEvent.PINNED)
    elif is_vouched_for:
        succession = pin.ring.replaced(keys_of(parsed), received.received_at, revived=received.from_domain)
    else:
        succession = pin.ring.seen(keys_of(parsed), received.received_at, probation_seconds)
    event = PinEvent.DEACTIVATED if isinstance(parsed, Rejected) else succession.event
    return Sighting(_pin(known, received, read, parsed, succession.ring), event)


def _pin(
    known: Pin | None, received: ReceivedLog, read: PinnedLog, parsed: DidDocument | Rejected, ring: KeyRing
) -> Pin:
    return Pin(
        received.did,
        PinSource.WEBVH,
        read.verified.document,
        parsed,
        ring,
        fetched_at=received.received_at,
        first_seen=received.received_at if known is None else known.first_seen,
        last_confirmed_at=_confirmed_at(known, received, read),
        validators=received.validators if received.from_domain else NO_VALIDATORS,
        log=read,
    )


def read_log(
    octets: bytes, witnesses: bytes | None, now: float, did: str, pinned: VersionId | None = None
) -> PinnedLog:
    """A log of `did` with what it says, where it contains the version `pinned`. Raises Untrusted: webvh_invalid."""
    scid = _scid(did)
    verified = verify_log(octets, scid, now, witnesses=witnesses, pinned=pinned)
    return PinnedLog(octets, witnesses, verified)


def state_of(log: PinnedLog, did: str) -> DidDocument | Rejected:
    """The newest document of a log, or why nothing it lists is believed any more. Raises Untrusted: did_doc_*."""
    if log.verified.is_deactivated:
        return Rejected(Reason.WEBVH_INVALID, "The log says that the DID has been deactivated.")
    return parse_did_document(log.verified.document, did)


def keys_of(parsed: DidDocument | Rejected) -> frozenset[str]:
    """The assertion keys that a document lists, as multikey texts."""
    return frozenset() if isinstance(parsed, Rejected) else parsed.keys


def _scid(did: str) -> str:
    with suppress(MalformedDid):
        scid = parse_web_did(did).scid
        if scid is not None:
            return scid
    raise Untrusted(Reason.WEBVH_INVALID, "The DID is no did:webvh.")


def _confirmed_at(known: Pin | None, received: ReceivedLog, read: PinnedLog) -> float:
    if received.from_domain:
        return received.received_at
    return min(read.verified.updated_at, received.received_at) if known is None else known.last_confirmed_at
