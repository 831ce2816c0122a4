"""Pins by a did:webvh log, which may come from anybody once its DID is pinned (TRUST.md §3.2).

A log proves that every step was authorised by the one before, so keys may rotate while the domain is away. It does
not prove that it is the newest, nor whose it is: the first one comes from the domain, a later one contains the
pinned version, and only the domain's own makes the pin younger.
"""

from __future__ import annotations

from contextlib import suppress

from proxy.trust.did.document import DidDocument, parse_did_document
from proxy.trust.did.web import MalformedDid, parse_web_did
from proxy.trust.did.webvh.entries import VersionId
from proxy.trust.did.webvh.log import verify_log
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.records.keyring import PROBATION_SECONDS, KeyRing, PinEvent, Succession
from proxy.trust.records.pin import NO_VALIDATORS, Pin, PinnedLog, PinSource, Sighting, Validators
from proxy.trust.verdict import Rejected


def log_sighted(
    pin: Pin | None,
    did: str,
    log: bytes,
    witnesses: bytes | None,
    now: float,
    *,
    from_domain: bool,
    is_configured: bool = False,
    validators: Validators = NO_VALIDATORS,
    probation_seconds: float = PROBATION_SECONDS,
) -> Sighting:
    """After a log of `did` has come, over TLS from the domain or else from anybody.

    `is_configured`: the operator has named the DID, so no pin is needed to know it; a first log that the domain did
    not send is as old as its newest version. Raises Untrusted: webvh_invalid, did_doc_*, and trust_anchor_missing
    for anybody's log of a DID that is neither pinned nor configured.
    """
    if pin is not None and pin.source is PinSource.CONFIG:
        return Sighting(pin, PinEvent.ANCHORED)
    known = pin if pin is not None and pin.did == did and pin.log is not None else None
    if not (known or from_domain or is_configured):
        raise Untrusted(Reason.TRUST_ANCHOR_MISSING, "The log is of a DID that is not pinned.")
    read = read_log(log, witnesses, now, did, known.log.verified.latest if known and known.log else None)
    is_vouched_for = is_configured or (known is not None and not known.probation)
    if known and not from_domain and (known.log == read or not is_vouched_for):
        return Sighting(known, PinEvent.ON_PROBATION if known.probation else PinEvent.CONFIRMED)
    parsed = state_of(read, did)
    succession = _succession(pin, keys_of(parsed), now, probation_seconds, is_vouched_for, from_domain)
    successor = Pin(
        did,
        PinSource.WEBVH,
        read.verified.document,
        parsed,
        succession.ring,
        fetched_at=now,
        first_seen=known.first_seen if known else now,
        last_confirmed_at=_confirmed_at(known, read, now, from_domain),
        validators=validators if from_domain else NO_VALIDATORS,
        log=read,
    )
    return Sighting(successor, PinEvent.DEACTIVATED if isinstance(parsed, Rejected) else succession.event)


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


def _succession(
    pin: Pin | None,
    keys: frozenset[str],
    now: float,
    probation_seconds: float,
    is_vouched_for: bool,
    from_domain: bool,
) -> Succession:
    if pin is None:
        return Succession(KeyRing(keys), PinEvent.PINNED)
    if is_vouched_for:
        return pin.ring.replaced(keys, now, revived=from_domain)
    return pin.ring.seen(keys, now, probation_seconds)


def _confirmed_at(known: Pin | None, read: PinnedLog, now: float, from_domain: bool) -> float:
    if from_domain:
        return now
    return min(read.verified.updated_at, now) if known is None else known.last_confirmed_at
