"""Digests of artifacts (CAT-9, SK-4)."""

import hashlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.listings.digests import (
    DataVerdict,
    Digest,
    DigestAlgorithm,
    DigestReason,
    MalformedDigest,
    data_verdict,
    matches,
    parse_digest,
)

BODY = b"# Shop\n"


def stated(name: str, body: bytes = BODY) -> str:
    return f"{name}:{hashlib.new(name, body).hexdigest()}"


@pytest.mark.parametrize("name", ["sha256", "sha384", "sha512"])
def test_accepted_and_compared_over_the_exact_bytes(name: str) -> None:
    digest = parse_digest(stated(name))
    assert digest.algorithm is DigestAlgorithm(name)
    assert str(digest) == stated(name)
    assert matches(digest, BODY)
    for other in (b"", BODY + b"\n", b"\xef\xbb\xbf" + BODY, BODY.replace(b"\n", b"\r\n")):
        assert not matches(digest, other)


def test_upper_case_digits_are_the_same_digest() -> None:
    text = stated("sha256")
    assert parse_digest("sha256:" + text[7:].upper()) == parse_digest(text)


REFUSED = [
    (stated("md5"), "weak"),
    (stated("sha1"), "weak"),
    (stated("sha224"), "weak"),
    ("sha-1:" + "0" * 40, "weak"),
    ("sha3-256:" + "0" * 64, "unknown-algorithm"),
    ("sha-256:" + "0" * 64, "unknown-algorithm"),
    ("blake2b:" + "0" * 128, "unknown-algorithm"),
    ("crc32:00000000", "unknown-algorithm"),
    ("", "malformed"),
    ("0" * 64, "malformed"),
    ("sha256:", "malformed"),
    ("sha256:" + "0" * 63, "malformed"),
    ("sha256:" + "0" * 65, "malformed"),
    ("sha512:" + "0" * 64, "malformed"),
    ("sha256:" + "g" * 64, "malformed"),
    ("sha256:" + "\uff10" * 64, "malformed"),
    ("SHA256:" + "0" * 64, "malformed"),
    (" " + "sha256:" + "0" * 64, "malformed"),
    ("sha256:" + "0" * 64 + "\n", "malformed"),
    ("sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "malformed"),
    ("sha256:" + "0" * 1_000_000, "malformed"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[row[0][:24] for row in REFUSED])
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(MalformedDigest) as refused:
        parse_digest(text)
    assert refused.value.reason is DigestReason(reason)
    assert refused.value.detail.endswith(".")


@given(st.text(alphabet="sha1256-:0fF \n", max_size=90) | st.text(max_size=90))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(MalformedDigest):
        assert isinstance(parse_digest(text), Digest)


DATA = {"name": "é", "b": [1, 1.0, True, None], "a": {}}
JCS = '{"a":{},"b":[1,1,true,null],"name":"é"}'.encode()


def test_data_is_compared_in_its_canonical_form() -> None:
    digest = parse_digest(stated("sha256", JCS))
    assert data_verdict(digest, DATA) is DataVerdict.MATCHES
    assert data_verdict(digest, {**DATA, "a": []}) is DataVerdict.DIFFERS


@pytest.mark.parametrize(
    "value", [2**53, {"a": -(2**60)}, "\ud800", {"\ud800": 1, "a": 2}, [["\udfff"]], float("inf")], ids=repr
)
def test_what_has_no_canonical_form_is_no_match(value: object) -> None:
    assert data_verdict(parse_digest(stated("sha256")), value) is DataVerdict.NOT_CANONICAL
