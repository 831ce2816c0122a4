"""Public keys as DID documents write them (TRUST.md §1.3), and what signatures they take."""

from __future__ import annotations

import contextlib
import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.reasons import Untrusted
from proxy.trust.signatures import base58, base64url
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.keys import (
    KeyType,
    PublicKey,
    ed25519_verifies,
    is_small_order,
    parse_base58_ed25519,
    parse_jwk,
    parse_multikey,
)
from tests.trust.signatures.published import refused, rows, vectors

DID_KEYS = vectors("did-key/keys.json") or []
JOSE = vectors("jose/jws.json")
A2A = vectors("a2a/agent-card-signed.json")
P = 2**255 - 19


def point(scalar: int, curve: ec.EllipticCurve) -> bytes:
    public = ec.derive_private_key(scalar, curve).public_key()
    return public.public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


ED25519 = PublicKey(
    KeyType.ED25519, Ed25519PrivateKey.from_private_bytes(b"\x07" * 32).public_key().public_bytes_raw()
)
P256 = PublicKey(KeyType.P256, point(7, ec.SECP256R1()))
P256_EVEN = PublicKey(KeyType.P256, point(8, ec.SECP256R1()))
P384 = PublicKey(KeyType.P384, point(7, ec.SECP384R1()))
KEYS = [ED25519, P256, P256_EVEN, P384]
NAMES = [f"{key.type.value} {key.octets[:1].hex()}" for key in KEYS]


@pytest.mark.parametrize("row", rows(DID_KEYS, [row["source"] for row in DID_KEYS]))
def test_published_did_keys(row: dict[str, str]) -> None:
    key = parse_multikey(row["multikey"])
    assert (key.type.value, key.octets.hex()) == (row["type"], row["publicKeyHex"])
    assert key.multikey == row["multikey"] == row["did"].removeprefix("did:key:")


@pytest.mark.parametrize("rfc8037", rows([JOSE["rfc8037"]] if JOSE else [], ["RFC 8037 A.1 to A.4"]))
def test_the_key_of_rfc_8037(rfc8037: dict[str, Any]) -> None:
    private = rfc8037["jwkPrivate"]
    with refused("did_doc_invalid"):
        parse_jwk(private)
    jwk = {name: value for name, value in private.items() if name != "d"}
    key = parse_jwk(jwk)
    assert key.jwk == jwk
    assert base64url.encode(hashlib.sha256(canonical(key.jwk)).digest()) == rfc8037["thumbprintSha256"]
    protected, payload, signature = rfc8037["compact"].split(".")
    assert base64url.decode(payload).decode() == rfc8037["payload"]
    assert key.verifies(base64url.decode(signature), f"{protected}.{payload}".encode())


@pytest.mark.parametrize("vector", rows([A2A] if A2A else [], ["A2A"]))
def test_the_key_of_a_signed_card(vector: dict[str, Any]) -> None:
    assert parse_jwk(vector["jwk"]).jwk == vector["jwk"]


@pytest.mark.parametrize("key", KEYS, ids=NAMES)
def test_every_form_is_of_one_key(key: PublicKey) -> None:
    assert parse_multikey(key.multikey) == key
    assert parse_jwk(key.jwk) == key
    assert parse_jwk({**key.jwk, "alg": "x", "use": "sig", "kid": 1, "x5c": []}) == key


def test_the_bare_form_of_2018() -> None:
    assert parse_base58_ed25519(base58.encode(ED25519.octets)) == ED25519


def changed(key: PublicKey, **members: object) -> dict[str, object]:
    """The JWK with other members; one of `...` is left out."""
    return {name: value for name, value in {**key.jwk, **members}.items() if value is not ...}


X = str(P256.jwk["x"])
Y = str(P256.jwk["y"])
WRONG_COORDINATES: list[object] = [
    ...,
    None,
    1,
    [],
    {},
    "",
    "AA",
    X + "=",
    X[:-1],
    X + "AA",
    "é",
    X.replace(X[0], "+"),
]


@pytest.mark.parametrize(
    ("jwk", "reason"),
    [
        ({}, "key_type_unsupported"),
        (changed(P256, d="AA"), "did_doc_invalid"),
        (changed(ED25519, d=None), "did_doc_invalid"),
        ({"kty": "RSA", "n": "AQAB", "e": "AQAB"}, "key_type_unsupported"),
        ({"kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "AQAB"}, "did_doc_invalid"),
        ({"kty": "oct", "k": "AA"}, "key_type_unsupported"),
        (changed(ED25519, crv="X25519"), "key_type_unsupported"),
        (changed(ED25519, kty="EC"), "key_type_unsupported"),
        (changed(ED25519, crv=[]), "key_type_unsupported"),
        (changed(ED25519, kty=None), "key_type_unsupported"),
        (changed(P256, crv="secp256k1"), "key_type_unsupported"),
        (changed(P256, crv="P-384"), "key_type_unsupported"),
        (changed(P256, kty="OKP"), "key_type_unsupported"),
        (changed(P256, y=P256_EVEN.jwk["y"]), "key_type_unsupported"),
        (changed(P256, x=P256_EVEN.jwk["x"]), "key_type_unsupported"),
        (changed(P256, y=base64url.encode(bytes(32))), "key_type_unsupported"),
        (changed(P256, x=base64url.encode(b"\xff" * 32)), "key_type_unsupported"),
        (changed(ED25519, x=base64url.encode(b"\x01" + bytes(31))), "key_weak"),
        *[
            (changed(key, x=wrong), "key_type_unsupported")
            for key in (P256, ED25519)
            for wrong in WRONG_COORDINATES
        ],
        *[(changed(P256, y=wrong), "key_type_unsupported") for wrong in WRONG_COORDINATES],
    ],
)
def test_a_jwk_that_is_no_key(jwk: dict[str, object], reason: str) -> None:
    with refused(reason):
        parse_jwk(jwk)


def multikey(prefix: str, octets: bytes) -> str:
    return "z" + base58.encode(bytes.fromhex(prefix) + octets)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "key_type_unsupported"),
        ("z", "key_type_unsupported"),
        ("z0", "key_type_unsupported"),
        ("m7QE", "key_type_unsupported"),
        (ED25519.multikey[1:], "key_type_unsupported"),
        (ED25519.multikey + "\n", "key_type_unsupported"),
        ("z" * 10**6, "key_type_unsupported"),
        (multikey("ec01", ED25519.octets), "key_type_unsupported"),  # X25519
        (multikey("e701", P256.octets), "key_type_unsupported"),  # secp256k1
        (multikey("8026", bytes(32)), "key_type_unsupported"),  # a private key
        (multikey("ed01", ED25519.octets[1:]), "key_type_unsupported"),
        (multikey("ed01", ED25519.octets + b"\0"), "key_type_unsupported"),
        (multikey("ed01", bytes(32)), "key_weak"),
        (multikey("ed01", b"\x02" + bytes(31)), "key_type_unsupported"),
        (multikey("8024", P256.octets[1:]), "key_type_unsupported"),
        (multikey("8024", b"\x04" + P256.octets[1:]), "key_type_unsupported"),
        (multikey("8024", b"\x02" + b"\xff" * 32), "key_type_unsupported"),
        (multikey("8124", P256.octets), "key_type_unsupported"),
        (multikey("8124", b"\x02" + b"\xff" * 48), "key_type_unsupported"),
    ],
)
def test_a_multikey_that_is_no_key(text: str, reason: str) -> None:
    with refused(reason):
        parse_multikey(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "key_type_unsupported"),
        ("0", "key_type_unsupported"),
        ("1" * 33, "key_type_unsupported"),
        ("1" * 32, "key_weak"),
        (ED25519.multikey, "key_type_unsupported"),
    ],
)
def test_a_text_of_2018_that_is_no_key(text: str, reason: str) -> None:
    with refused(reason):
        parse_base58_ed25519(text)


def small_order_encodings() -> list[bytes]:
    """All encodings of the points whose order divides 8, by the arithmetic of RFC 8032 §5.1."""
    d = -121665 * pow(121666, -1, P) % P
    # Doubling a point of order 8 gives y = 0; on the curve then d·y⁴ + 2·y² - 1 = 0.
    of_order_8 = [y for y in roots_of_order_8(d) if (d * pow(y, 4, P) + 2 * y * y - 1) % P == 0]
    values = {y + extra for y in [0, 1, P - 1, *of_order_8] for extra in (0, P) if y + extra < 2**255}
    return [(y | sign << 255).to_bytes(32, "little") for y in sorted(values) for sign in (0, 1)]


def roots_of_order_8(d: int) -> list[int]:
    squares = [(sign * square_root(1 + d) - 1) * pow(d, -1, P) % P for sign in (1, -1)]
    return [y for square in squares for root in [square_root(square)] for y in (root, P - root)]


def square_root(square: int) -> int:
    root = pow(square, (P + 3) // 8, P)
    return root if (root * root - square) % P == 0 else root * pow(2, (P - 1) // 4, P) % P


@pytest.mark.parametrize("octets", small_order_encodings(), ids=bytes.hex)
def test_keys_of_small_order(octets: bytes) -> None:
    assert is_small_order(octets)
    with refused("key_weak"):
        PublicKey(KeyType.ED25519, octets)


def test_there_are_fourteen_of_them() -> None:
    assert len(small_order_encodings()) == 14
    assert not is_small_order(ED25519.octets)


def test_the_forgery_that_they_allow() -> None:
    identity = b"\x01" + bytes(31)
    forged = identity + bytes(32)
    Ed25519PublicKey.from_public_bytes(identity).verify(forged, b"anything")
    assert not ed25519_verifies(identity, forged, b"anything")


@pytest.mark.parametrize(
    "octets", [b"\x02" + bytes(31), (P + 2).to_bytes(32, "little"), b"\xff" * 32, b"", bytes(31)], ids=bytes.hex
)
def test_no_point_of_edwards_curve(octets: bytes) -> None:
    with refused("key_type_unsupported"):
        PublicKey(KeyType.ED25519, octets)
    assert not ed25519_verifies(octets, bytes(64), b"")


@given(st.integers(min_value=1, max_value=2**256 - 1))
def test_every_key_that_is_generated_is_one(seed: int) -> None:
    private = Ed25519PrivateKey.from_private_bytes(seed.to_bytes(32, "big"))
    octets = private.public_key().public_bytes_raw()
    assert PublicKey(KeyType.ED25519, octets).verifies(private.sign(b"message"), b"message")
    assert ed25519_verifies(octets, private.sign(b"message"), b"message")


@pytest.mark.parametrize("key", KEYS, ids=NAMES)
@pytest.mark.parametrize("signature", [b"", bytes(64), bytes(96), b"\xff" * 64, b"\xff" * 96, bytes(72)], ids=len)
def test_octets_that_are_no_signature(key: PublicKey, signature: bytes) -> None:
    assert key.verifies(signature, b"message") is False


@given(st.binary(max_size=60))
def test_random_octets_are_a_key_or_untrusted(octets: bytes) -> None:
    for prefix in ("", "ed01", "8024", "8124"):
        try:
            key = parse_multikey(multikey(prefix, octets))
        except Untrusted:
            continue
        assert parse_jwk(key.jwk) == key


@given(st.text())
def test_random_texts_are_no_key(text: str) -> None:
    for parse in (parse_multikey, parse_base58_ed25519):
        with pytest.raises(Untrusted):
            parse(text)


@given(
    st.dictionaries(
        st.sampled_from(["kty", "crv", "x", "y"]), st.none() | st.integers() | st.text() | st.lists(st.none())
    )
)
def test_random_members_are_no_key(members: dict[str, object]) -> None:
    for jwk in (members, {**P256.jwk, **members}, {**ED25519.jwk, **members}):
        with contextlib.suppress(Untrusted):
            parse_jwk(jwk)
