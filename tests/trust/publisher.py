"""A publisher of signed documents: keys from fixed seeds, a DID document, and signatures made without the proxy."""

from __future__ import annotations

import copy
import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final

import rfc8785
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePrivateKey,
    derive_private_key,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from multiformats import multibase

Json = dict[str, Any]
PrivateKey = Ed25519PrivateKey | EllipticCurvePrivateKey

DID: Final = "did:web:example.com"
NOW: Final = 1_780_315_200.0
"""2026-06-01T12:00:00Z"""
CREATED: Final = "2026-05-20T00:00:00Z"
CREATED_AT: Final = 1_779_235_200

ED: Final = Ed25519PrivateKey.from_private_bytes(b"\x11" * 32)
OTHER_ED: Final = Ed25519PrivateKey.from_private_bytes(b"\x22" * 32)
P256: Final = derive_private_key(0x1234567, SECP256R1())


def base64url(octets: bytes) -> str:
    return urlsafe_b64encode(octets).decode().rstrip("=")


def multikey(key: Ed25519PrivateKey) -> str:
    return multibase.encode(b"\xed\x01" + key.public_key().public_bytes_raw(), "base58btc")


def jwk(key: EllipticCurvePrivateKey) -> Json:
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return {"kty": "EC", "crv": "P-256", "x": base64url(point[1:33]), "y": base64url(point[33:])}


def method(fragment: str, key: Ed25519PrivateKey = ED, **members: Any) -> Json:
    """A verification method of the domain; a member of None is left out."""
    described = {
        "id": f"{DID}#{fragment}",
        "type": "Multikey",
        "controller": DID,
        "publicKeyMultibase": multikey(key),
        **members,
    }
    return {name: value for name, value in described.items() if value is not None}


def jwk_method(fragment: str, key: EllipticCurvePrivateKey = P256, **members: Any) -> Json:
    return method(fragment, type="JsonWebKey", publicKeyMultibase=None, publicKeyJwk=jwk(key), **members)


def did_document(*methods: Json, did: str = DID, **members: Any) -> Json:
    """A document with these methods, all of them for assertions."""
    return {
        "@context": ["https://www.w3.org/ns/did/v1"],
        "id": did,
        "verificationMethod": list(methods),
        "assertionMethod": [described["id"] for described in methods],
        **members,
    }


def without(document: Json, *names: str) -> Json:
    return {name: value for name, value in document.items() if name not in names}


def proof(document: Json, key: Ed25519PrivateKey = ED, fragment: str = "key-1", **members: Any) -> Json:
    """An eddsa-jcs-2022 proof over the document without its proofs; a member of None is left out."""
    described = {
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-jcs-2022",
        "created": CREATED,
        "verificationMethod": f"{DID}#{fragment}",
        "proofPurpose": "assertionMethod",
        **members,
    }
    options = {name: value for name, value in described.items() if value is not None}
    hashed = [hashlib.sha256(rfc8785.dumps(part)).digest() for part in (options, without(document, "proof"))]
    return {**options, "proofValue": multibase.encode(key.sign(b"".join(hashed)), "base58btc")}


def signed(document: Json, **options: Any) -> Json:
    return {**document, "proof": proof(document, **options)}


def jws(
    payload: bytes, header: Mapping[str, Any], key: Ed25519PrivateKey | EllipticCurvePrivateKey
) -> tuple[str, str]:
    """The protected header and the signature, both as base64url (RFC 7515)."""
    protected = base64url(rfc8785.dumps(dict(header)))
    message = f"{protected}.{base64url(payload)}".encode()
    if isinstance(key, Ed25519PrivateKey):
        return protected, base64url(key.sign(message))
    r, s = decode_dss_signature(key.sign(message, ECDSA(hashes.SHA256())))
    return protected, base64url(r.to_bytes(32) + s.to_bytes(32))


def signature(document: Json, key: PrivateKey = ED, **header: Any) -> Json:
    """An entry of `signatures` over the document without its signatures; a member of None is left out."""
    described = {
        "alg": "EdDSA" if isinstance(key, Ed25519PrivateKey) else "ES256",
        "kid": f"{DID}#key-1",
        "typ": "JOSE",
        **header,
    }
    members = {name: value for name, value in described.items() if value is not None}
    protected, value = jws(rfc8785.dumps(without(document, "signatures")), members, key)
    return {"protected": protected, "signature": value}


def manifest(**members: Any) -> Json:
    """A manifest of example.com; a member of None is left out."""
    described: Json = {
        "profileId": "uaix.ai-ready-web.manifest.v1",
        "site": {"name": "Zürich 納豆", "url": "https://example.com/"},
        "x-sequence": 42,
        "routes": [{"abilityLevel": "L1", "method": "GET", "highestSupportedPath": "/m", "x-weight": 0.25}],
        "x-independent-mirrors": ["https://mirror1.example.net/.well-known/uaix-agent-access.json"],
        **members,
    }
    return copy.deepcopy({name: value for name, value in described.items() if value is not None})
