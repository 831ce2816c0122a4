"""IPNS names and records: the published vectors, and records made to mislead (TRUST.md §7.4)."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.trust.content.cid import cid_of
from proxy.trust.content.dagcbor import MalformedCbor, parse_cbor
from proxy.trust.content.ipns import LARGEST_RECORD, IpnsRecord, parse_name, verify_record
from proxy.trust.content.protobuf import to_field
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures import base58
from tests.simulators.gateway import cbor, ipns_name, ipns_record

VECTORS = Path(__file__).resolve().parents[4] / "shared/vectors/ipfs/ipns-records.json"
ABSENT = pytest.param(None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))

NOW = 1_796_040_000.0
END = NOW + 3600
KEY = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
OTHER = Ed25519PrivateKey.from_private_bytes(b"\x08" * 32)
NAME = ipns_name(KEY)
CONTENT = cid_of(b"content")
VALUE = f"/ipfs/{CONTENT.text}"

GOOD = {
    "v1-v2": "/ipfs/bafkqaddwgevxmmraojswg33smq",
    "v1-v2-broken-signature-v1": "/ipfs/bafkqahtwgevxmmrao5uxi2bamjzg623fnyqhg2lhnzqxi5lsmuqhmmi",
    "v2": "/ipfs/bafkqadtwgiww63tmpeqhezldn5zgi",
}


def vectors() -> list[Any]:
    if not VECTORS.exists():
        return [ABSENT]
    return [pytest.param(one, id=one["variant"]) for one in json.loads(VECTORS.read_bytes())["records"]]


@pytest.mark.parametrize("vector", vectors())
def test_published_records(vector: dict[str, str]) -> None:
    octets, name = base64.b64decode(vector["recordBase64"]), parse_name(vector["name"])
    if vector["variant"] not in GOOD:
        invalid(octets, name.text)
        return
    record = verify_record(octets, name, NOW)
    assert (record.value, record.sequence, record.ttl_seconds) == (GOOD[vector["variant"]], 0, 1800.0)
    assert record.valid_until == pytest.approx(4847689023.694052, abs=1e-3)
    with pytest.raises(Untrusted) as refusal:
        record.content()
    assert refusal.value.reason is Reason.CID_UNSUPPORTED, "their content is written in the identifier"


def invalid(octets: bytes, name: str = NAME.text, now: float = NOW) -> str:
    """The detail of the refusal."""
    with pytest.raises(Untrusted) as refusal:
        verify_record(octets, parse_name(name), now)
    assert refusal.value.reason is Reason.IPNS_INVALID
    return refusal.value.detail


@pytest.mark.parametrize(
    "text",
    [
        NAME.text,
        NAME.text.upper(),
        base58.encode(b"\x00\x24\x08\x01\x12\x20" + NAME.key.octets),
        "z" + base58.encode(b"\x01\x72\x00\x24\x08\x01\x12\x20" + NAME.key.octets),
        "b" + base64.b32encode(b"\x01\x72\x00\x24\x08\x01\x12\x20" + NAME.key.octets).decode().lower().rstrip("="),
    ],
    ids=["base36", "upper case", "peer id", "base58", "base32"],
)
def test_names(text: str) -> None:
    name = parse_name(text)
    assert name.key.octets == KEY.public_key().public_bytes_raw()
    assert name.text == NAME.text and name.text.startswith("k51qzi5uqu5d")


def named(key: bytes, codec: int = 0x72, function: int = 0) -> str:
    return "z" + base58.encode(bytes([1, codec, function, len(key)]) + key)


NO_NAMES = {
    "nothing": "",
    "a domain": "example.com",
    "not base58": "12D3KooW0",
    "peer id alone": "1",
    "hash of a key": "QmPryXC7xWa5tXEUj1PY8YZwDYUpNk7q7BBHqMo445vK17",
    "content": CONTENT.text,
    "content written out": named(b"\x08\x01\x12\x20" + NAME.key.octets, codec=0x55),
    "hashed key": named(bytes(32), function=0x12),
    "P-256 key": named(b"\x08\x03\x12\x20" + NAME.key.octets),
    "short key": named(b"\x08\x01\x12\x20" + NAME.key.octets[:31]),
    "long key": named(b"\x08\x01\x12\x20" + NAME.key.octets + b"\0"),
    "key of small order": named(b"\x08\x01\x12\x20" + b"\x01" + bytes(31)),
    "no point of the curve": named(b"\x08\x01\x12\x20" + b"\x02" + bytes(31)),
    "too long": "k" + "5" * 200,
    "too long for a peer id": "1" * 100_000,
}


@pytest.mark.parametrize("text", NO_NAMES.values(), ids=NO_NAMES)
def test_no_names(text: str) -> None:
    with pytest.raises(Untrusted) as refusal:
        parse_name(text)
    assert refusal.value.reason is Reason.IPNS_INVALID and refusal.value.detail


def test_record() -> None:
    octets = ipns_record(KEY, VALUE, sequence=7, valid_until=END, ttl_seconds=60)
    record = verify_record(octets, NAME, NOW)
    assert record == IpnsRecord(VALUE, 7, END, 60.0)
    assert record.content() == CONTENT


def test_ends() -> None:
    octets = ipns_record(KEY, VALUE, valid_until=END)
    verify_record(octets, NAME, END - 1)
    assert "ended" in invalid(octets, now=END)


def test_of_another_key() -> None:
    octets = ipns_record(OTHER, VALUE, valid_until=END)
    verify_record(octets, ipns_name(OTHER), NOW)
    assert "did not sign" in invalid(octets)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("/ipns/example.com", Reason.IPFS_PATH_UNSUPPORTED),
        ("ipfs://" + CONTENT.text, Reason.IPFS_PATH_UNSUPPORTED),
        (f"{VALUE}/a.json", Reason.IPFS_PATH_UNSUPPORTED),
        (f"{VALUE}/", Reason.IPFS_PATH_UNSUPPORTED),
        ("", Reason.IPFS_PATH_UNSUPPORTED),
        ("/ipfs/", Reason.CID_UNSUPPORTED),
        ("/ipfs/QmYwAPJzv5CZsnA625s3Xf2sm5Dsg7C733d", Reason.CID_UNSUPPORTED),
        ("/ipfs/bafkqaaa", Reason.CID_UNSUPPORTED),
        (f"/ipfs/{NAME.text}", Reason.CID_UNSUPPORTED),
    ],
    ids=["name", "URL", "path", "slash", "nothing", "no CID", "bad CID", "identity", "key"],
)
def test_values_that_name_no_content(value: str, reason: Reason) -> None:
    record = verify_record(ipns_record(KEY, value, valid_until=END), NAME, NOW)
    with pytest.raises(Untrusted) as refusal:
        record.content()
    assert refusal.value.reason is reason


DATA: dict[str, int | bytes] = {
    "TTL": 0,
    "Value": VALUE.encode(),
    "Sequence": 2,
    "Validity": b"2123-08-14T12:17:03.694052001Z",
    "ValidityType": 0,
}


def record(data: bytes | None = None, *more: bytes, signature: bytes | None = None) -> bytes:
    """A record over `data` with the fields `more`."""
    data = cbor(DATA) if data is None else data
    signature = KEY.sign(b"ipns-signature:" + data) if signature is None else signature
    return b"".join([*more, to_field(8, signature), to_field(9, data)])


OLDER = {
    1: VALUE.encode(),
    2: b"not looked at",
    3: 0,
    4: DATA["Validity"],
    5: 2,
    6: 0,
}


def older(**stated: int | bytes | None) -> list[bytes]:
    fields = {**OLDER, **{int(number[1:]): value for number, value in stated.items()}}
    return [to_field(number, value) for number, value in fields.items() if value is not None]


def test_older_fields_that_agree() -> None:
    verify_record(record(None, *older()), NAME, NOW)
    verify_record(record(None, *older(_3=None, _6=None)), NAME, NOW)


def test_older_fields_count_for_nothing_by_themselves() -> None:
    verify_record(record(None, to_field(5, 99)), NAME, NOW)


@pytest.mark.parametrize(
    "stated",
    [
        {"_1": b"/ipfs/bafkqaaa"},
        {"_1": None},
        {"_1": 7},
        {"_3": 1},
        {"_4": b"2123-08-14T12:17:03Z"},
        {"_4": None},
        {"_5": 3},
        {"_5": None},
        {"_6": 1},
        {"_2": None, "_5": 3},
    ],
    ids=str,
)
def test_older_fields_that_differ(stated: dict[str, int | bytes | None]) -> None:
    assert "older fields" in invalid(record(None, *older(**stated)))


def test_stated_key() -> None:
    verify_record(record(None, to_field(7, b"\x08\x01\x12\x20" + NAME.key.octets)), NAME, NOW)
    other = OTHER.public_key().public_bytes_raw()
    assert "another key" in invalid(record(None, to_field(7, b"\x08\x01\x12\x20" + other)))
    assert "another key" in invalid(record(None, to_field(7, 1)))


def test_more_than_asked_for() -> None:
    data = cbor({**DATA, "_more": b"x"})
    assert verify_record(record(data, to_field(20, b"x")), NAME, NOW).sequence == 2


WITHOUT = {name: cbor({key: value for key, value in DATA.items() if key != name}) for name in DATA}
WRONG = {
    "TTL": b"x",
    "Value": 7,
    "Sequence": b"x",
    "Validity": 7,
    "ValidityType": 1,
}
BAD_DATA = {
    **{f"without {name}": data for name, data in WITHOUT.items()},
    **{f"wrong {name}": cbor({**DATA, name: value}) for name, value in WRONG.items()},
    "text for octets": cbor(DATA).replace(b"\x65Value\x58", b"\x65Value\x78"),
    "true for a number": cbor(DATA)[:-1] + b"\xf5",
    "negative sequence": cbor(DATA).replace(b"\x68Sequence\x02", b"\x68Sequence\x20"),
    "negative lifetime": cbor(DATA).replace(b"\x63TTL\x00", b"\x63TTL\x20"),
    "value not ASCII": cbor({**DATA, "Value": "/ipfs/ä".encode()}),
    "end not ASCII": cbor({**DATA, "Validity": b"2123-08-14T12:17:03\xffZ"}),
    "end is no time": cbor({**DATA, "Validity": b"tomorrow"}),
    "end without a zone": cbor({**DATA, "Validity": b"2123-08-14T12:17:03"}),
    "end on no day": cbor({**DATA, "Validity": b"2123-02-30T12:17:03Z"}),
    "no map": cbor(7),
    "list": b"\x80",
    "nothing": b"",
    "broken": cbor(DATA)[:-1],
    "followed by something": cbor(DATA) + b"\0",
    "a member twice": b"\xa6" + cbor(DATA)[1:] + cbor("TTL") + cbor(1),
}


@pytest.mark.parametrize("data", BAD_DATA.values(), ids=BAD_DATA)
def test_signed_data_that_is_no_record(data: bytes) -> None:
    invalid(record(data))


BAD_RECORDS = {
    "nothing": b"",
    "HTML": b"<!doctype html><title>Gateway</title>",
    "no signature": to_field(9, cbor(DATA)),
    "no data": to_field(8, bytes(64)),
    "signature of zeros": record(signature=bytes(64)),
    "empty signature": record(signature=b""),
    "short signature": record(signature=bytes(63)),
    "signature as a number": to_field(8, 7) + to_field(9, cbor(DATA)),
    "data as a number": to_field(8, bytes(64)) + to_field(9, 7),
    "data twice": record() + to_field(9, b""),
    "breaks off": record()[:-1],
    "too large": record() + to_field(20, bytes(LARGEST_RECORD)),
    "endless number": b"\xff" * LARGEST_RECORD,
    "older signature alone": b"".join(older()),
}


@pytest.mark.parametrize("octets", BAD_RECORDS.values(), ids=BAD_RECORDS)
def test_no_records(octets: bytes) -> None:
    invalid(octets)


@given(st.binary(max_size=400))
def test_any_octets_are_refused(octets: bytes) -> None:
    invalid(octets)


@given(st.integers(0, len(record()) - 1), st.integers(1, 255))
def test_any_changed_octet_of_what_is_signed_is_refused(at: int, change: int) -> None:
    octets = record()
    invalid(octets[:at] + bytes([octets[at] ^ change]) + octets[at + 1 :])


@given(st.text(max_size=200))
def test_any_text_is_a_name_or_refused(text: str) -> None:
    try:
        assert parse_name(text).text
    except Untrusted as error:
        assert error.reason is Reason.IPNS_INVALID


CBOR: dict[str, tuple[bytes, object]] = {
    "small": (b"\x17", 23),
    "one octet": (b"\x18\x18", 24),
    "two octets": (b"\x19\x01\x00", 256),
    "four octets": (b"\x1a\x00\x01\x00\x00", 65536),
    "eight octets": (b"\x1b\x00\x00\x00\x01\x00\x00\x00\x00", 2**32),
    "negative": (b"\x38\x63", -100),
    "octets": (b"\x42ab", b"ab"),
    "text": (b"\x62\xc3\xa4", "ä"),
    "list": (b"\x82\x01\x80", [1, []]),
    "map": (b"\xa1\x61a\xa1\x61b\xf6", {"a": {"b": None}}),
    "truths": (b"\x82\xf4\xf5", [False, True]),
    "deepest": (b"\x81" * 4 + b"\x00", [[[[0]]]]),
}


@pytest.mark.parametrize(("octets", "value"), CBOR.values(), ids=CBOR)
def test_cbor(octets: bytes, value: object) -> None:
    assert parse_cbor(octets) == value


NO_CBOR = {
    "nothing": b"",
    "breaks off": b"\x18",
    "octets break off": b"\x43ab",
    "octets of a huge length": b"\x5b" + b"\xff" * 8,
    "list of a huge length": b"\x9b" + b"\xff" * 8,
    "map of a huge length": b"\xbb" + b"\xff" * 8,
    "map breaks off": b"\xa1\x61a",
    "longer form of 23": b"\x18\x17",
    "longer form of 255": b"\x19\x00\xff",
    "longer form of 65535": b"\x1a\x00\x00\xff\xff",
    "longer form of 2^32-1": b"\x1b\x00\x00\x00\x00\xff\xff\xff\xff",
    "reserved length": b"\x1c",
    "indefinite octets": b"\x5f\xff",
    "indefinite list": b"\x9f\xff",
    "link": b"\xd8\x2a\x41\x00",
    "float": b"\xfb" + bytes(8),
    "undefined": b"\xf7",
    "text that is not UTF-8": b"\x61\xff",
    "key that is no text": b"\xa1\x01\x01",
    "key twice": b"\xa2\x61a\x01\x61a\x01",
    "too deep": b"\x81" * 5 + b"\x00",
    "far too deep": b"\x81" * 100_000,
    "something more": b"\x00\x00",
}


@pytest.mark.parametrize("octets", NO_CBOR.values(), ids=NO_CBOR)
def test_no_cbor(octets: bytes) -> None:
    with pytest.raises(MalformedCbor):
        parse_cbor(octets)


@given(st.binary(max_size=60))
@settings(max_examples=500)
def test_any_octets_are_cbor_or_refused(octets: bytes) -> None:
    try:
        parse_cbor(octets)
    except MalformedCbor as error:
        assert str(error)
