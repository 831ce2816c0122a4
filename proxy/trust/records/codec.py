"""The durable form of what is known of an authority: an octet string that vouches for itself.

The SHA-256 of the text in hex, a line feed, the text: JSON of one format, documents in base64. The disk is not
trusted (TRUST.md §6.3): the DID document and the log are verified again. Of manifests no body is kept, so that a
record stays small. Format 1 kept every body and did not tell what came from mirrors, format 2 kept those that list
mirrors; both are read, and no longer written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from proxy.trust.did.document import parse_did_document
from proxy.trust.reasons import Untrusted
from proxy.trust.records.editions import (
    manifest_members,
    read_manifest,
    read_manifest_of_format_1,
    read_manifest_of_format_2,
)
from proxy.trust.records.keyring import KeyRing
from proxy.trust.records.knowledge import (
    MOST_IPNS_NAMES,
    MOST_MANIFESTS,
    Knowledge,
    is_expendable,
)
from proxy.trust.records.members import (
    base64_of,
    damaged,
    integer_of,
    object_of,
    objects_of,
    octets_of,
    optional_text_of,
    text_of,
    time_of,
)
from proxy.trust.records.pin import Pin, PinnedLog, PinSource, Validators
from proxy.trust.records.publication import KnownManifest
from proxy.trust.records.webvh import keys_of, read_log, state_of
from proxy.trust.signatures.ijson import JsonObject, parse_ijson

FORMAT: Final = 3
MOST_OCTETS: Final = 32 * 2**20

_DIGEST_DIGITS: Final = 64
_LARGEST_SEQUENCE: Final = 2**64 - 1
_READERS: Final[dict[int, Callable[[JsonObject], KnownManifest]]] = {
    1: read_manifest_of_format_1,
    2: read_manifest_of_format_2,
    FORMAT: read_manifest,
}


def to_record(knowledge: Knowledge) -> bytes:
    """The record of what is known."""
    members = {
        "format": FORMAT,
        "authority": knowledge.authority,
        "did": knowledge.did,
        "dns_did": knowledge.dns_did,
        "latest_time": knowledge.latest_time,
        "pin": None if knowledge.pin is None else _pin_members(knowledge.pin),
        "manifests": [manifest_members(manifest) for manifest in knowledge.manifests.values()],
        # As text: a sequence has 64 bits, of which a JSON number keeps 53.
        "ipns": {name: str(sequence) for name, sequence in knowledge.ipns.items()},
    }
    text = json.dumps(members, separators=(",", ":")).encode()
    return _digest(text) + b"\n" + text


def parse_record(octets: bytes) -> Knowledge:
    """What a record says. Raises Untrusted: trust_record_damaged."""
    try:
        return _knowledge(_members(octets))
    except Untrusted as error:
        raise damaged(f"The trust record is damaged. {error.detail}") from None


@dataclass(frozen=True, slots=True)
class Heading:
    """Whose record it is, whether it may be forgotten, and when any of it was learnt, in Unix seconds."""

    authority: str
    is_expendable: bool
    latest_time: float


def read_heading(octets: bytes) -> Heading:
    """The heading of a record, if it is as it was written. Raises Untrusted: trust_record_damaged.

    What a pin says is not looked at, so every record of a file can be held against its key in a short time.
    """
    try:
        members = _members(octets)
        # Without a pin there is not much to read.
        may_go = members.get("pin") is None and is_expendable(_knowledge(members))
        return Heading(text_of(members, "authority"), may_go, time_of(members, "latest_time"))
    except Untrusted as error:
        raise damaged(f"The trust record is damaged. {error.detail}") from None


def _pin_members(pin: Pin) -> JsonObject:
    log = pin.log
    return {
        "did": pin.did,
        "source": pin.source,
        "document": base64_of(pin.document) if log is None else None,
        "log": None if log is None else base64_of(log.octets),
        "witnesses": None if log is None or log.witnesses is None else base64_of(log.witnesses),
        "fetched_at": pin.fetched_at,
        "first_seen": pin.first_seen,
        "last_confirmed_at": pin.last_confirmed_at,
        "etag": pin.validators.etag,
        "last_modified": pin.validators.last_modified,
        "gone_since": pin.gone_since,
        "dropped": dict(pin.ring.dropped),
        "probation": dict(pin.ring.probation),
    }


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _members(octets: bytes) -> JsonObject:
    """The members of a record whose digest is right."""
    text = octets[_DIGEST_DIGITS + 1 :]
    if octets[: _DIGEST_DIGITS + 1] != _digest(text) + b"\n":
        raise damaged("Its digest is not that of its text.")
    members = parse_ijson(text, MOST_OCTETS)
    _reader(members)
    return members


def _reader(members: JsonObject) -> Callable[[JsonObject], KnownManifest]:
    """What reads manifests in the format of the record."""
    written = members.get("format")
    reader = _READERS.get(written) if isinstance(written, int) else None
    if reader is None:
        raise damaged("It is of another format.")
    return reader


def _knowledge(members: JsonObject) -> Knowledge:
    did = text_of(members, "did")
    pin = None if members.get("pin") is None else _pin(object_of(members, "pin"))
    if pin is not None and pin.did != did:
        raise damaged("Its pin is of another DID.")
    return Knowledge(
        authority=text_of(members, "authority"),
        did=did,
        pin=pin,
        manifests={manifest.url: manifest for manifest in _manifests(members)},
        ipns=_sequences(object_of(members, "ipns")),
        dns_did=optional_text_of(members, "dns_did"),
        latest_time=time_of(members, "latest_time"),
    )


def _pin(members: JsonObject) -> Pin:
    did, source = text_of(members, "did"), _source(members)
    log = _log(members, did) if source is PinSource.WEBVH else None
    document = octets_of(members, "document") if log is None else log.verified.document
    parsed = parse_did_document(document, did) if log is None else state_of(log, did)
    ring = KeyRing(keys_of(parsed), _times(object_of(members, "dropped")), _times(object_of(members, "probation")))
    return Pin(
        did,
        source,
        document,
        parsed,
        ring,
        fetched_at=time_of(members, "fetched_at"),
        first_seen=time_of(members, "first_seen"),
        last_confirmed_at=time_of(members, "last_confirmed_at"),
        validators=Validators(optional_text_of(members, "etag"), optional_text_of(members, "last_modified")),
        gone_since=None if members.get("gone_since") is None else time_of(members, "gone_since"),
        log=log,
    )


def _source(members: JsonObject) -> PinSource:
    try:
        return PinSource(text_of(members, "source"))
    except ValueError:
        raise damaged("Its pin comes from nowhere.") from None


def _log(members: JsonObject, did: str) -> PinnedLog:
    """Verified as at the time when it came."""
    witnesses = None if members.get("witnesses") is None else octets_of(members, "witnesses")
    return read_log(octets_of(members, "log"), witnesses, time_of(members, "fetched_at"), did)


def _manifests(members: JsonObject) -> Iterator[KnownManifest]:
    return map(_reader(members), objects_of(members, "manifests", MOST_MANIFESTS))


def _sequences(members: JsonObject) -> dict[str, int]:
    sequences = {name: integer_of(members, name) for name in members}
    if len(sequences) > MOST_IPNS_NAMES or not all(
        0 <= number <= _LARGEST_SEQUENCE for number in sequences.values()
    ):
        raise damaged("Its IPNS sequences are none, or too many.")
    return sequences


def _times(members: JsonObject) -> dict[str, float]:
    return {name: time_of(members, name) for name in members}
