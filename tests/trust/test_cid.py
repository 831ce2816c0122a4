"""Content identifiers: the published vectors, canonical texts only (TRUST.md §7.1)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.trust.cid import LONGEST, CidReason, MalformedCid, parse_cid

VECTORS = Path(__file__).resolve().parents[3] / "shared/vectors/multiformats/multibase-cid.json"
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


REFUSED = [
    ("nothing", "", CidReason.BASE),
    ("base64", "mAXASIA", CidReason.BASE),
    ("hexadecimal", "f01551220" + RAW_DIGEST, CidReason.BASE),
    ("too long", "b" + "a" * LONGEST, CidReason.LENGTH),
    ("control character", RAW[:-1] + "\n", CidReason.ENCODING),
    ("no ASCII", RAW[:-1] + "\u00e9", CidReason.ENCODING),
    ("padding", RAW + "=", CidReason.ENCODING),
    ("mixed case", RAW[:-1] + "M", CidReason.ENCODING),
    ("prefix alone", "b", CidReason.STRUCTURE),
    ("version 0 alone", "Qm", CidReason.STRUCTURE),
    ("short version 0", "QmYwAPJzv5CZsnA625s3Xf2sm5Dsg7C733d", CidReason.STRUCTURE),
    ("version 0 with a base", "z" + VERSION_0, CidReason.STRUCTURE),
    ("trailing octets", RAW + "aa", CidReason.STRUCTURE),
    ("pad bits", RAW[:-1] + "n", CidReason.STRUCTURE),
    ("version 2", "bajkreib2i6usdpkwnuvft6i6rsfjrdlzrrp6mvwvjbxlrpj6w444gomt5m", CidReason.STRUCTURE),
    ("short SHA-256", "bafkrebbaiedaq", CidReason.DIGEST_LENGTH),
]


@pytest.mark.parametrize(("text", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(text: str, reason: CidReason) -> None:
    with pytest.raises(MalformedCid) as refusal:
        parse_cid(text)
    assert refusal.value.reason is reason and refusal.value.detail


@given(st.one_of(st.text(), st.from_regex(r"[bBzkKQ][A-Za-z0-9]{0,130}", fullmatch=True)))
@example("bafy" + "b" * 124)
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        assert parse_cid(text).text
    except MalformedCid as error:
        assert error.detail
