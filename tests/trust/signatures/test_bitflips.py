"""Signed manifests with any one bit or octet changed: none verifies with another meaning, nothing else is raised.

Every bit of every octet is flipped, and every octet replaced, dropped and doubled; together more than 20,000 texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from proxy.trust.reasons import Untrusted
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.dataintegrity import read_proof
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.jws import read_signature
from proxy.trust.signatures.keys import KeyType
from proxy.trust.signatures.proofs import ProofTerms, SecuredDocument
from proxy.trust.signatures.signing import PrivateKey, sign_data_integrity, sign_jws

NOW = 1_780_315_200.0
TERMS = ProofTerms("example.com", NOW, 300.0)
METHOD = "did:web:example.com#key-1"
KEYS = {key_type: PrivateKey.generate(key_type) for key_type in KeyType}
MANIFEST: JsonObject = {
    "@context": ["https://example.com/v1"],
    "profileId": "uaix.ai-ready-web.manifest.v1",
    "site": {"name": "Zürich 納豆", "url": "https://example.com/"},
    "x-sequence": 42,
    "routes": [{"abilityLevel": "L1", "x-weight": 1e21, "x-share": 0.25, "sideEffecting": False, "x": None}],
    "x-independent-mirrors": ["https://mirror.example.net/.well-known/uaix-agent-access.json"],
}


def with_proof(key_type: KeyType) -> JsonObject:
    return {
        **MANIFEST,
        "proof": sign_data_integrity(MANIFEST, KEYS[key_type], METHOD, NOW, NOW + 60, "example.com"),
    }


def with_signature(key_type: KeyType) -> JsonObject:
    return {**MANIFEST, "signatures": [sign_jws(MANIFEST, KEYS[key_type], METHOD, NOW, NOW + 60)]}


def verify(body: bytes, key_type: KeyType) -> JsonObject:
    """What a good proof of either kind is over, as a verifier of manifests would go about it. Raises Untrusted."""
    members = parse_ijson(body)
    document = SecuredDocument(members)
    entries = members.get("signatures")
    if "proof" in members:
        read_proof(members["proof"], document, TERMS).check(KEYS[key_type].public)
    else:
        first = entries[0] if isinstance(entries, list) and entries else None
        read_signature(first, document, TERMS).check(KEYS[key_type].public)
    return members


def flipped(body: bytes) -> Iterator[bytes]:
    for index, octet in enumerate(body):
        for bit in range(8):
            yield body[:index] + bytes([octet ^ 1 << bit]) + body[index + 1 :]


def edited(body: bytes) -> Iterator[bytes]:
    for index in range(len(body)):
        for octet in b'"0\\}':
            yield body[:index] + bytes([octet]) + body[index + 1 :]
        yield body[:index] + body[index + 1 :]
        yield body[: index + 1] + body[index:]
        yield body[:index]


TEXTS = {
    "Ed25519": (json.dumps(with_proof(KeyType.ED25519), ensure_ascii=False).encode(), KeyType.ED25519),
    "Ed25519, escaped": (json.dumps(with_proof(KeyType.ED25519), indent="\t").encode(), KeyType.ED25519),
    "P-256": (canonical(with_proof(KeyType.P256)), KeyType.P256),
    "JWS": (json.dumps(with_signature(KeyType.ED25519), ensure_ascii=False).encode(), KeyType.ED25519),
}


@pytest.mark.parametrize(("body", "key_type"), TEXTS.values(), ids=TEXTS)
def test_no_change_changes_what_is_signed(body: bytes, key_type: KeyType) -> None:
    original = canonical(verify(body, key_type))
    tried = accepted = 0
    for changed in (*flipped(body), *edited(body)):
        tried += 1
        try:
            members = verify(changed, key_type)
        except Untrusted:
            continue
        accepted += 1
        assert canonical(members) == original
    assert tried == 15 * len(body) and accepted < len(body)


def test_there_are_enough_of_them() -> None:
    assert sum(8 * len(body) for body, _ in TEXTS.values()) >= 20_000
