"""The publisher's side: keys in PEM, and proofs that hold here and elsewhere."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from hypothesis import given
from hypothesis import strategies as st
from multiformats import multibase

from proxy.trust.reasons import Untrusted
from proxy.trust.signatures import base58, base64url
from proxy.trust.signatures.dataintegrity import read_proof
from proxy.trust.signatures.ijson import JsonObject
from proxy.trust.signatures.jws import read_signature
from proxy.trust.signatures.keys import KeyType
from proxy.trust.signatures.proofs import ProofTerms, SecuredDocument
from proxy.trust.signatures.signing import PrivateKey, sign_data_integrity, sign_jws
from tests.trust.signatures.published import refused, rows, vectors

NOW = 1_780_315_200.0  # 2026-06-01T12:00:00Z
TERMS = ProofTerms("example.com", NOW, 300.0)
METHOD = "did:web:example.com#key-1"
DOCUMENT: JsonObject = {"a": [1, "é"], "site": {"url": "https://example.com/"}}
EDDSA = vectors("w3c-di/eddsa-jcs-2022.json")
JOSE = vectors("jose/jws.json")


def pem(key: Any, encryption: Any = None, form: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
    octets: bytes = key.private_bytes(Encoding.PEM, form, encryption or NoEncryption())
    return octets


def of_seed(seed: bytes) -> PrivateKey:
    return PrivateKey.from_pem(pem(Ed25519PrivateKey.from_private_bytes(seed)))


@pytest.mark.parametrize("key_type", KeyType)
def test_a_key_and_its_file(key_type: KeyType) -> None:
    key = PrivateKey.generate(key_type)
    assert key.public.type is key_type
    again = PrivateKey.from_pem(key.to_pem())
    assert again == key and again.to_pem() == key.to_pem()
    assert key.to_pem().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert key.public.verifies(again.sign(b"message"), b"message")
    assert not key.public.verifies(again.sign(b"message"), b"another")
    assert PrivateKey.generate(key_type) != key


@pytest.mark.parametrize("key_type", KeyType)
def test_the_text_of_a_key_shows_no_secret(key_type: KeyType) -> None:
    key = PrivateKey.generate(key_type)
    assert repr(key) == f"PrivateKey(public={key.public!r})"


def test_an_ec_key_in_its_older_form() -> None:
    secret = ec.generate_private_key(ec.SECP256R1())
    assert PrivateKey.from_pem(pem(secret, form=PrivateFormat.TraditionalOpenSSL)) == PrivateKey.from_pem(
        pem(secret)
    )


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"key",
        b"\xff" * 100,
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        pem(Ed25519PrivateKey.generate())[:60],
        pem(Ed25519PrivateKey.generate(), BestAvailableEncryption(b"secret")),
        pem(ed448.Ed448PrivateKey.generate()),
        pem(rsa.generate_private_key(65537, 2048)),
        pem(ec.generate_private_key(ec.SECP256K1())),
        pem(ec.generate_private_key(ec.SECP521R1())),
    ],
    ids=["empty", "text", "octets", "no key", "cut", "encrypted", "Ed448", "RSA", "secp256k1", "P-521"],
)
def test_a_file_that_holds_no_key(octets: bytes) -> None:
    with refused("key_type_unsupported"):
        PrivateKey.from_pem(octets)


@given(st.binary(max_size=200))
def test_octets_that_hold_no_key(octets: bytes) -> None:
    wrapped = b"-----BEGIN PRIVATE KEY-----\n" + octets + b"\n-----END PRIVATE KEY-----\n"
    for file in (octets, wrapped):
        with pytest.raises(Untrusted):
            PrivateKey.from_pem(file)


@pytest.mark.parametrize("vector", rows([EDDSA] if EDDSA else [], ["eddsa-jcs-2022"]))
def test_the_published_proof_is_made_again(vector: dict[str, Any]) -> None:
    seed = base58.decode(vector["keyPair"]["privateKeyMultibase"][1:], 34)[2:]
    method = vector["proofConfig"]["verificationMethod"]
    proof = sign_data_integrity(vector["unsignedDocument"], of_seed(seed), method, 1_677_281_798.9)
    assert proof == vector["securedDocument"]["proof"]


@pytest.mark.parametrize("rfc8037", rows([JOSE["rfc8037"]] if JOSE else [], ["RFC 8037 A.1"]))
def test_the_key_of_rfc_8037(rfc8037: dict[str, Any]) -> None:
    private = rfc8037["jwkPrivate"]
    assert of_seed(base64url.decode(private["d"])).public.jwk["x"] == private["x"]


@pytest.mark.parametrize("key_type", KeyType)
def test_a_proof(key_type: KeyType) -> None:
    key = PrivateKey.generate(key_type)
    plain = sign_data_integrity(DOCUMENT, key, METHOD, NOW + 0.9)
    suite = "eddsa-jcs-2022" if key_type is KeyType.ED25519 else "ecdsa-jcs-2019"
    assert {name: value for name, value in plain.items() if name != "proofValue"} == {
        "type": "DataIntegrityProof",
        "cryptosuite": suite,
        "created": "2026-06-01T12:00:00Z",
        "verificationMethod": METHOD,
        "proofPurpose": "assertionMethod",
    }
    full = sign_data_integrity({**DOCUMENT, "@context": "x"}, key, METHOD, NOW, NOW + 60, "example.com")
    assert (full["expires"], full["domain"], full["@context"]) == ("2026-06-01T12:01:00Z", "example.com", "x")
    read_proof(plain, SecuredDocument({**DOCUMENT, "proof": plain}), TERMS).check(key.public)
    read_proof(full, SecuredDocument({**DOCUMENT, "@context": "x", "proof": full}), TERMS).check(key.public)


def test_an_earlier_proof_is_not_signed() -> None:
    key = PrivateKey.generate(KeyType.ED25519)
    first = sign_data_integrity(DOCUMENT, key, METHOD, NOW)
    assert sign_data_integrity({**DOCUMENT, "proof": first}, key, METHOD, NOW) == first
    with_first = {**DOCUMENT, "proof": first, "signatures": [{}]}
    assert sign_jws(with_first, key, METHOD, NOW) == sign_jws(DOCUMENT, key, METHOD, NOW)


@pytest.mark.parametrize(
    ("key_type", "algorithm"), [(KeyType.ED25519, "EdDSA"), (KeyType.P256, "ES256"), (KeyType.P384, "ES384")]
)
def test_a_jws(key_type: KeyType, algorithm: str) -> None:
    key = PrivateKey.generate(key_type)
    plain, full = sign_jws(DOCUMENT, key, METHOD, NOW + 0.9), sign_jws(DOCUMENT, key, METHOD, NOW, NOW + 60.5)
    header = {"alg": algorithm, "kid": METHOD, "typ": "JOSE", "iat": int(NOW)}
    assert json.loads(base64url.decode(str(plain["protected"]))) == header
    assert json.loads(base64url.decode(str(full["protected"]))) == {**header, "exp": int(NOW) + 60}
    for entry in (plain, full):
        document = SecuredDocument({**DOCUMENT, "signatures": [entry]})
        read_signature(entry, document, TERMS).check(key.public)


def test_a_proof_checked_without_this_package() -> None:
    key = PrivateKey.generate(KeyType.ED25519)
    proof = sign_data_integrity(DOCUMENT, key, METHOD, NOW)
    value = str(proof.pop("proofValue"))
    parts: list[Any] = [proof, DOCUMENT]
    message = b"".join(hashlib.sha256(rfc8785.dumps(part)).digest() for part in parts)
    secret = load_pem_private_key(key.to_pem(), None)
    assert isinstance(secret, Ed25519PrivateKey)
    secret.public_key().verify(multibase.decode(value), message)


@pytest.mark.parametrize(
    ("value", "reason"),
    [(2**53, "json_number_range"), (float("inf"), "json_number_range"), ("\ud800", "json_surrogate")],
    ids=["integer", "infinity", "surrogate"],
)
def test_a_document_without_a_canonical_form(value: object, reason: str) -> None:
    key = PrivateKey.generate(KeyType.ED25519)
    with refused(reason):
        sign_data_integrity({"a": value}, key, METHOD, NOW)
    with refused(reason):
        sign_jws({"a": value}, key, METHOD, NOW)
