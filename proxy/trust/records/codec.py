"""The durable form of what is known of an authority: an octet string that vouches for itself.

The SHA-256 of the text in hex, a line feed, the text: JSON of one format, bodies in base64. The disk is not trusted
(TRUST.md §6.3): nothing that can be derived is read from it. The DID document and the log are verified again, and
versions are computed again from the manifests.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Final

from proxy.trust.did.document import parse_did_document
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.records.keyring import KeyRing
from proxy.trust.records.knowledge import MOST_IPNS_NAMES, MOST_MANIFESTS, Knowledge, KnownManifest
from proxy.trust.records.pin import Pin, PinnedLog, PinSource, Validators
from proxy.trust.records.webvh import keys_of, read_log, state_of
from proxy.trust.rollback import version_of
from proxy.trust.signatures.ijson import JsonObject, parse_ijson

FORMAT: Final = 1
MOST_OCTETS: Final = 16 * 2**20

_DIGEST_DIGITS: Final = 64
_SEQUENCE: Final = re.compile(r"0|[1-9][0-9]{0,19}")


def to_record(knowledge: Knowledge) -> bytes:
    """The record of what is known."""
    members = {
        "format": FORMAT,
        "authority": knowledge.authority,
        "did": knowledge.did,
        "dns_did": knowledge.dns_did,
        "latest_time": knowledge.latest_time,
        "pin": None if knowledge.pin is None else _pin_members(knowledge.pin),
        "manifests": [_manifest_members(manifest) for manifest in knowledge.manifests.values()],
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
        raise _damaged(f"The trust record is damaged. {error.detail}") from None


def authority_of(octets: bytes) -> str:
    """Whose record it is, if it is as it was written. Raises Untrusted: trust_record_damaged.

    What else it says is not looked at, so every record of a file can be held against its key in a short time.
    """
    try:
        return _text(_members(octets), "authority")
    except Untrusted as error:
        raise _damaged(f"The trust record is damaged. {error.detail}") from None


def _pin_members(pin: Pin) -> JsonObject:
    log = pin.log
    return {
        "did": pin.did,
        "source": pin.source,
        "document": _base64(pin.document) if log is None else None,
        "log": None if log is None else _base64(log.octets),
        "witnesses": None if log is None or log.witnesses is None else _base64(log.witnesses),
        "fetched_at": pin.fetched_at,
        "first_seen": pin.first_seen,
        "last_confirmed_at": pin.last_confirmed_at,
        "etag": pin.validators.etag,
        "last_modified": pin.validators.last_modified,
        "gone_since": pin.gone_since,
        "dropped": dict(pin.ring.dropped),
        "probation": dict(pin.ring.probation),
    }


def _manifest_members(manifest: KnownManifest) -> JsonObject:
    return {
        "url": manifest.url,
        "body": _base64(manifest.body),
        "signed": manifest.signed,
        "created": manifest.version.created,
        "accepted_at": manifest.accepted_at,
    }


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def _members(octets: bytes) -> JsonObject:
    """The members of a record whose digest is right."""
    text = octets[_DIGEST_DIGITS + 1 :]
    if octets[: _DIGEST_DIGITS + 1] != _digest(text) + b"\n":
        raise _damaged("Its digest is not that of its text.")
    members = parse_ijson(text, MOST_OCTETS)
    if members.get("format") != FORMAT:
        raise _damaged("It is of another format.")
    return members


def _knowledge(members: JsonObject) -> Knowledge:
    latest_time = _time(members, "latest_time")
    did = _text(members, "did")
    pin = None if members.get("pin") is None else _pin(_object(members, "pin"), latest_time)
    if pin is not None and pin.did != did:
        raise _damaged("Its pin is of another DID.")
    return Knowledge(
        authority=_text(members, "authority"),
        did=did,
        pin=pin,
        manifests={manifest.url: manifest for manifest in _manifests(members)},
        ipns=_sequences(_object(members, "ipns")),
        dns_did=_optional_text(members, "dns_did"),
        latest_time=latest_time,
    )


def _pin(members: JsonObject, latest_time: float) -> Pin:
    did, source = _text(members, "did"), _source(members)
    log = _log(members, did, latest_time) if source is PinSource.WEBVH else None
    document = _octets(members, "document") if log is None else log.verified.document
    parsed = parse_did_document(document, did) if log is None else state_of(log, did)
    ring = KeyRing(keys_of(parsed), _times(_object(members, "dropped")), _times(_object(members, "probation")))
    return Pin(
        did,
        source,
        document,
        parsed,
        ring,
        fetched_at=_time(members, "fetched_at"),
        first_seen=_time(members, "first_seen"),
        last_confirmed_at=_time(members, "last_confirmed_at"),
        validators=Validators(_optional_text(members, "etag"), _optional_text(members, "last_modified")),
        gone_since=None if members.get("gone_since") is None else _time(members, "gone_since"),
        log=log,
    )


def _source(members: JsonObject) -> PinSource:
    try:
        return PinSource(_text(members, "source"))
    except ValueError:
        raise _damaged("Its pin comes from nowhere.") from None


def _log(members: JsonObject, did: str, latest_time: float) -> PinnedLog:
    """Verified as at the time when it was pinned, which is not after `latest_time`."""
    witnesses = None if members.get("witnesses") is None else _octets(members, "witnesses")
    return read_log(_octets(members, "log"), witnesses, latest_time, did)


def _manifests(members: JsonObject) -> Iterator[KnownManifest]:
    listed = members.get("manifests")
    if not isinstance(listed, list) or len(listed) > MOST_MANIFESTS:
        raise _damaged("Its manifests are no list, or too many.")
    for manifest in listed:
        if not isinstance(manifest, dict):
            raise _damaged("A manifest of it is none.")
        body = _octets(manifest, "body")
        version = version_of(parse_ijson(body), _time(manifest, "created"))
        signed = manifest.get("signed")
        if not isinstance(signed, bool):
            raise _damaged("A manifest of it is neither signed nor unsigned.")
        yield KnownManifest(_text(manifest, "url"), body, version, signed, _time(manifest, "accepted_at"))


def _sequences(members: JsonObject) -> dict[str, int]:
    sequences = {name: _text(members, name) for name in members}
    if len(sequences) > MOST_IPNS_NAMES or not all(map(_SEQUENCE.fullmatch, sequences.values())):
        raise _damaged("Its IPNS sequences are no numbers, or too many.")
    return {name: int(digits) for name, digits in sequences.items()}


def _times(members: JsonObject) -> dict[str, float]:
    return {name: _time(members, name) for name in members}


def _time(members: JsonObject, name: str) -> float:
    value = members.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _damaged(f"Its {name} is no time.")
    return float(value)


def _text(members: JsonObject, name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise _damaged(f"Its {name} is no text.")
    return value


def _optional_text(members: JsonObject, name: str) -> str | None:
    return None if members.get(name) is None else _text(members, name)


def _object(members: JsonObject, name: str) -> JsonObject:
    value = members.get(name)
    if not isinstance(value, dict):
        raise _damaged(f"Its {name} is no object.")
    return value


def _octets(members: JsonObject, name: str) -> bytes:
    try:
        return base64.b64decode(_text(members, name), validate=True)
    except ValueError:
        raise _damaged(f"Its {name} is not in base64.") from None


def _damaged(detail: str) -> Untrusted:
    return Untrusted(Reason.TRUST_RECORD_DAMAGED, detail)
