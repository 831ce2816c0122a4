"""IPNS: a name that is a key, and the record by which its holder says what the name stands for (TRUST.md §7.4).

Names whose Ed25519 key is written in them, no others. Only what `signatureV2` signs is believed; where the older
fields are there too, they have to say the same. Which of two good records is the newer is for whoever has both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from proxy.trust.content.cid import (
    IDENTITY,
    LIBP2P_KEY,
    LONGEST,
    Cid,
    MalformedCid,
    decode_cid,
    parse_cid,
    to_base36,
)
from proxy.trust.content.dagcbor import MalformedCbor, parse_cbor
from proxy.trust.content.protobuf import MalformedProtobuf, fields
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures import base58
from proxy.trust.signatures.datetimes import parse_date_time_stamp
from proxy.trust.signatures.keys import KeyType, PublicKey

LARGEST_RECORD: Final = 10 * 2**10

_CONTENT: Final = "/ipfs/"
_SIGNED_PREFIX: Final = b"ipns-signature:"
_PEER_ID: Final = "1"
# A libp2p public key of type Ed25519 (1) and of 32 octets.
_KEY_PREFIX: Final = b"\x08\x01\x12\x20"
_KEY_CID_PREFIX: Final = bytes([1, LIBP2P_KEY])
_END_OF_LIFE: Final = 0
_NANOSECONDS: Final = 1e9

# IpnsEntry: the older fields by the name that their value has in the signed data, then the others.
_OLDER: Final = {1: "Value", 3: "ValidityType", 4: "Validity", 5: "Sequence", 6: "TTL"}
_OLDER_SIGNATURE: Final = 2
_PUBLIC_KEY: Final = 7
_SIGNATURE: Final = 8
_DATA: Final = 9

_Key = TypeVar("_Key", int, str)
_Value = TypeVar("_Value", int, bytes)


@dataclass(frozen=True, slots=True)
class IpnsName:
    """A name; `text` is CIDv1 in base36, whatever it was written in."""

    key: PublicKey
    text: str


@dataclass(frozen=True, slots=True)
class IpnsRecord:
    """What a name stands for: `value` is a path, `sequence` grows with each change. Times in Unix seconds."""

    value: str
    sequence: int
    valid_until: float
    ttl_seconds: float

    def content(self) -> Cid:
        """The content that the value names. Raises Untrusted.

        IPFS_PATH_UNSUPPORTED: a path below content, or another name. CID_UNSUPPORTED: no identifier of content.
        """
        name = self.value.removeprefix(_CONTENT)
        if name == self.value or "/" in name:
            raise Untrusted(Reason.IPFS_PATH_UNSUPPORTED, "The record points to something else than whole content.")
        try:
            cid = parse_cid(name)
        except MalformedCid:
            raise Untrusted(Reason.CID_UNSUPPORTED, "The record points to no content identifier.") from None
        if not cid.names_content:
            raise Untrusted(Reason.CID_UNSUPPORTED, "The record points to what no block can be held against.")
        return cid


def parse_name(text: str) -> IpnsName:
    """The name that `text` is: a CID of a key (k51…), or a peer id in base58 (12D3…).

    Raises Untrusted IPNS_INVALID.
    """
    cid = _named(text)
    if (cid.codec, cid.hash_function) != (LIBP2P_KEY, IDENTITY) or not cid.digest.startswith(_KEY_PREFIX):
        raise _invalid("The name has no Ed25519 key written in it.")
    try:
        key = PublicKey(KeyType.ED25519, cid.digest[len(_KEY_PREFIX) :])
    except Untrusted as error:
        raise _invalid(error.detail) from None
    return IpnsName(key, to_base36(cid))


def verify_record(octets: bytes, name: IpnsName, now: float) -> IpnsRecord:
    """The record of `name`, if its key signed it and it has not ended. `now` in Unix seconds.

    Raises Untrusted IPNS_INVALID.
    """
    if len(octets) > LARGEST_RECORD:
        raise _invalid(f"A record has at most {LARGEST_RECORD} octets.")
    entry = _read_entry(octets)
    signature, data = _required(entry, _SIGNATURE, bytes), _required(entry, _DATA, bytes)
    if entry.get(_PUBLIC_KEY, _KEY_PREFIX + name.key.octets) != _KEY_PREFIX + name.key.octets:
        raise _invalid("The record states another key than the one in the name.")
    if not name.key.verifies(signature, _SIGNED_PREFIX + data):
        raise _invalid("The key of the name did not sign the record.")
    signed = _read_data(data)
    _require_same(entry, signed)
    record = _record(signed)
    if record.valid_until <= now:
        raise _invalid("The record has ended.")
    return record


def _named(text: str) -> Cid:
    try:
        if text.startswith(_PEER_ID):
            return decode_cid(_KEY_CID_PREFIX + base58.decode(text, LONGEST))
        return parse_cid(text)
    except ValueError:
        raise _invalid("The name is no identifier in base36, base32 or base58.") from None


def _read_entry(octets: bytes) -> dict[int, int | bytes]:
    """The fields of an IpnsEntry, none of them twice."""
    entry: dict[int, int | bytes] = {}
    try:
        for field, value in fields(octets):
            if field in entry:
                raise _invalid("The record has a field twice.")
            entry[field] = value
    except MalformedProtobuf:
        raise _invalid("The record is no protocol buffer.") from None
    return entry


def _read_data(data: bytes) -> dict[str, object]:
    try:
        value = parse_cbor(data)
    except MalformedCbor as error:
        raise _invalid(str(error)) from None
    if not isinstance(value, dict):
        raise _invalid("The data of the record is no map.")
    return value


def _require_same(entry: dict[int, int | bytes], signed: dict[str, object]) -> None:
    """Where the record has older fields, they say what was signed. One that is left out says zero, or nothing."""
    if 1 not in entry and _OLDER_SIGNATURE not in entry:
        return
    for field, name in _OLDER.items():
        value = signed.get(name)
        if entry.get(field, b"" if isinstance(value, bytes) else 0) != value:
            raise _invalid("The older fields of the record say something else than what was signed.")


def _record(signed: dict[str, object]) -> IpnsRecord:
    if _required(signed, "ValidityType", int) != _END_OF_LIFE:
        raise _invalid("The record's validity is of an unknown type.")
    sequence, ttl = _required(signed, "Sequence", int), _required(signed, "TTL", int)
    if sequence < 0 or ttl < 0:
        raise _invalid("The record has a negative sequence or lifetime.")
    try:
        value = _required(signed, "Value", bytes).decode("ascii")
        valid_until = parse_date_time_stamp(_required(signed, "Validity", bytes).decode("ascii"))
    except UnicodeDecodeError:
        raise _invalid("A text of the record is not ASCII.") from None
    except ValueError:
        raise _invalid("The record's end is no date and time.") from None
    return IpnsRecord(value, sequence, valid_until, ttl / _NANOSECONDS)


def _required(members: Mapping[_Key, object], name: _Key, kind: type[_Value]) -> _Value:
    value = members.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _invalid("The record lacks a member, or has one of another type.")
    return value


def _invalid(detail: str) -> Untrusted:
    return Untrusted(Reason.IPNS_INVALID, detail)
