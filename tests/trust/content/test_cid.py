"""Content identifiers: the published vectors, canonical texts only (TRUST.md §7.1)."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from multiformats import CID

from proxy.trust.content.cid import (
    DAG_PB,
    LONGEST,
    CidReason,
    MalformedCid,
    cid_of,
    decode_cid,
    parse_cid,
    to_base36,
)

VECTORS = Path(__file__).resolve().parents[4] / "shared/vectors/multiformats/multibase-cid.json"
RAW = "bafkreib2i6usdpkwnuvft6i6rsfjrdlzrrp6mvwvjbxlrpj6w444gomt5m"
RAW_DIGEST = "3a47a921bd566d2a59f91e8c8a988d798c5fe656d5486eb8bd3eb739c33993eb"
VERSION_0 = "QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn"


def vectors() -> list[Any]:
    if not VECTORS.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))]
    return [pytest.param(vector, id=vector["note"]) for vector in json.loads(VECTORS.read_bytes())["cid"]]


@pytest.mark.parametrize("vector", vectors())
def test_published_vectors(vector: dict[str, Any]) -> None:
    if "error" in vector:
        with pytest.raises(MalformedCid):
            parse_cid(vector["cid"])
        return
    cid = parse_cid(vector["cid"])
    assert (cid.version, cid.codec, cid.hash_function) == (vector["version"], vector["codec"], vector["hash"])
    assert cid.digest.hex() == vector["digestHex"]
    assert cid.names_content is vector["allowedForManifest"]
    again = parse_cid(cid.text)
    assert again.text == cid.text and again.digest == cid.digest


@pytest.mark.parametrize(
    ("text", "version", "codec"),
    [
        (RAW, 1, 0x55),
        (RAW.upper(), 1, 0x55),
        ("zb2rhe5P4gXftAwvA4eXQ5HJwsER2owDyS9sKaQRRVQPn93bA", 1, 0x55),
        (VERSION_0, 0, 0x70),
        ("baguqeera3ivekzieqgbhvktm5hzu7pzfrois3qa7pltbwzti7opgdlw2kkqa", 1, 0x0129),
    ],
    ids=["base32", "upper case", "base58", "version 0", "dag-json"],
)
def test_content(text: str, version: int, codec: int) -> None:
    cid = parse_cid(text)
    assert (cid.version, cid.codec, cid.names_content) == (version, codec, True)
    assert cid.text.startswith("ba") and cid.text.islower()


def test_one_content_has_one_text() -> None:
    assert parse_cid(RAW.upper()).text == parse_cid(RAW).text == RAW
    assert parse_cid(RAW).digest.hex() == RAW_DIGEST


@pytest.mark.parametrize(
    "text",
    [
        "k51qzi5uqu5diamp7qnnvs1p1gzmku3eijkeijs3418j23j077zrkok63xdm8c",
        "bafkqaaa",
        "bafkrcfeq2ybn4rgeqvcnrrw47vckcmwltysbmwy",
    ],
    ids=["key", "identity", "sha1"],
)
def test_identifiers_of_no_content(text: str) -> None:
    assert not parse_cid(text).names_content


def test_of_octets() -> None:
    cid = cid_of(b"hello")
    assert cid.text == str(CID("base32", 1, "raw", ("sha2-256", hashlib.sha256(b"hello").digest())))
    assert cid_of(b"hello", DAG_PB).codec == DAG_PB
    assert parse_cid(cid.text) == decode_cid(cid.octets) == cid


def test_binary_form_keeps_the_version() -> None:
    cid = parse_cid(VERSION_0)
    assert cid.octets.hex() == f"1220{cid.digest.hex()}" and decode_cid(cid.octets) == cid
    assert parse_cid(cid.text).octets.hex() == f"01701220{cid.digest.hex()}"


def test_base36() -> None:
    text = "k51qzi5uqu5diamp7qnnvs1p1gzmku3eijkeijs3418j23j077zrkok63xdm8c"
    assert to_base36(parse_cid(text)) == to_base36(parse_cid(parse_cid(text).text)) == text


REFUSED = [
    ("nothing", "", CidReason.BASE),
    ("base64", "mAXASIA", CidReason.BASE),
    ("hexadecimal", "f01551220" + RAW_DIGEST, CidReason.BASE),
    ("too long", "b" + "a" * LONGEST, CidReason.LENGTH),
    ("control character", RAW[:-1] + "\n", CidReason.ENCODING),
    ("no ASCII", RAW[:-1] + "\u00e9", CidReason.ENCODING),
    ("digits of another alphabet", RAW[:-1] + "\u0663", CidReason.ENCODING),
    ("underscore", RAW[:9] + "_" + RAW[9:], CidReason.ENCODING),
    ("padding", RAW + "=", CidReason.ENCODING),
    ("mixed case", RAW[:-1] + "M", CidReason.ENCODING),
    ("upper-case prefix alone", "B" + RAW[1:], CidReason.ENCODING),
    ("mixed case in base36", "k51QZI", CidReason.ENCODING),
    ("no character of base32", "b0189", CidReason.ENCODING),
    ("no character of base58", VERSION_0[:-1] + "0", CidReason.ENCODING),
    ("prefix alone", "b", CidReason.ENCODING),
    ("prefix of base36 alone", "k", CidReason.STRUCTURE),
    ("prefix of base58 alone", "z", CidReason.STRUCTURE),
    ("leading zero in base36", "k01", CidReason.STRUCTURE),
    ("version 0 alone", "Qm", CidReason.STRUCTURE),
    ("short version 0", "QmYwAPJzv5CZsnA625s3Xf2sm5Dsg7C733d", CidReason.STRUCTURE),
    ("version 0 with a base", "z" + VERSION_0, CidReason.STRUCTURE),
    ("trailing octet", RAW + "aa", CidReason.STRUCTURE),
    ("trailing character", RAW + "a", CidReason.ENCODING),
    ("pad bits", RAW[:-1] + "n", CidReason.ENCODING),
    ("version 2", "bajkreib2i6usdpkwnuvft6i6rsfjrdlzrrp6mvwvjbxlrpj6w444gomt5m", CidReason.STRUCTURE),
    ("short SHA-256", "bafkrebbaiedaq", CidReason.DIGEST_LENGTH),
]


@pytest.mark.parametrize(("text", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(text: str, reason: CidReason) -> None:
    with pytest.raises(MalformedCid) as refusal:
        parse_cid(text)
    assert refusal.value.reason is reason and refusal.value.detail


REFUSED_OCTETS = [
    ("nothing", b"", CidReason.STRUCTURE),
    ("version alone", b"\x01", CidReason.STRUCTURE),
    ("no digest length", b"\x01\x55\x12", CidReason.STRUCTURE),
    ("longer form of a number", b"\x01\xd5\x00\x12\x20" + bytes(32), CidReason.STRUCTURE),
    ("endless number", b"\x01" + b"\x80" * 5000, CidReason.STRUCTURE),
    ("number of 65 bits", b"\x01" + b"\xff" * 9 + b"\x02\x12\x20" + bytes(32), CidReason.STRUCTURE),
    ("longer version 0", b"\x12\x20" + bytes(33), CidReason.STRUCTURE),
    ("digest too short", b"\x01\x55\x12\x20" + bytes(31), CidReason.STRUCTURE),
    ("identity of 129 octets", b"\x01\x55\x00\x81\x01" + bytes(129), CidReason.DIGEST_LENGTH),
]


@pytest.mark.parametrize(
    ("octets", "reason"), [row[1:] for row in REFUSED_OCTETS], ids=[row[0] for row in REFUSED_OCTETS]
)
def test_refused_in_binary_form(octets: bytes, reason: CidReason) -> None:
    with pytest.raises(MalformedCid) as refusal:
        decode_cid(octets)
    assert refusal.value.reason is reason


def test_longest_identity() -> None:
    assert decode_cid(b"\x01\x55\x00\x80\x01" + bytes(128)).digest == bytes(128)


@given(st.one_of(st.text(), st.from_regex(r"[bBzkKQ][A-Za-z0-9]{0,130}", fullmatch=True)))
@example("bafy" + "b" * 124)
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        assert parse_cid(text).text
    except MalformedCid as error:
        assert error.detail


@given(st.binary(max_size=200))
def test_any_octets_decode_or_are_refused(octets: bytes) -> None:
    try:
        assert decode_cid(octets).octets == octets
    except MalformedCid as error:
        assert error.detail


@given(
    st.sampled_from(["raw", "dag-pb", "dag-json", "json", "libp2p-key"]),
    st.sampled_from(["base32", "base32upper", "base36", "base36upper", "base58btc"]),
    st.binary(min_size=32, max_size=32),
)
def test_agrees_with_another_implementation(codec: str, base: str, digest: bytes) -> None:
    other = CID(base, 1, codec, ("sha2-256", digest))
    cid = parse_cid(str(other))
    assert (cid.codec, cid.digest, cid.octets) == (other.codec.code, digest, bytes(other))
    assert cid.text == str(other.set(base="base32"))


@given(st.binary(min_size=32, max_size=32))
def test_version_0_agrees_with_another_implementation(digest: bytes) -> None:
    other = CID("base58btc", 0, "dag-pb", ("sha2-256", digest))
    cid = parse_cid(str(other))
    assert (cid.version, cid.digest, cid.octets) == (0, digest, bytes(other))
