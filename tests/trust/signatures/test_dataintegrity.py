"""Data Integrity proofs: the published vectors with every value between, every reason of TRUST.md §6.2 item 6."""

from __future__ import annotations

import copy
import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.reasons import Untrusted
from proxy.trust.signatures import base58
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.dataintegrity import hash_data, read_proof
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.keys import KeyType, PublicKey, parse_multikey
from proxy.trust.signatures.proofs import ProofTerms, SecuredDocument
from proxy.trust.signatures.signing import PrivateKey, sign_data_integrity, sign_jws
from tests.trust.signatures.published import refused, rows, vectors

NOW = 1_780_315_200.0  # 2026-06-01T12:00:00Z
TERMS = ProofTerms("example.com", NOW, 300.0)
METHOD = "did:web:example.com#key-1"
KEYS = {key_type: PrivateKey.generate(key_type) for key_type in KeyType}
ED25519 = KEYS[KeyType.ED25519]
DOCUMENT: JsonObject = {"@context": ["https://example.com/v1", 1], "a": {"b": [1, 2.5, "é"]}, "n": None}

FILES = [f"w3c-di/{name}.json" for name in ("eddsa-jcs-2022", "ecdsa-jcs-2019-p256", "ecdsa-jcs-2019-p384")]
PUBLISHED = [vector for vector in map(vectors, FILES) if vector]
PUBLISHED_TERMS = ProofTerms("example.com", NOW, 300.0)


def signed(key: PrivateKey = ED25519, document: JsonObject = DOCUMENT, **options: Any) -> JsonObject:
    """The proof of a document, for the host and the moment of TERMS."""
    return sign_data_integrity(document, key, METHOD, NOW - 60, **options)


def changed(proof: JsonObject, **members: object) -> JsonObject:
    """The proof with other members; one of `...` is left out."""
    return {name: value for name, value in {**proof, **members}.items() if value is not ...}


PROOF = signed()


@pytest.mark.parametrize("vector", rows(PUBLISHED, [vector["source"] for vector in PUBLISHED]))
def test_published_vectors(vector: dict[str, Any]) -> None:
    key = parse_multikey(vector["keyPair"]["publicKeyMultibase"])
    sha = hashlib.sha384 if key.type is KeyType.P384 else hashlib.sha256
    document = SecuredDocument(vector["securedDocument"])
    assert document.without_proof.decode() == vector["canonicalDocument"]
    assert sha(document.without_proof).hexdigest() == vector["documentHashHex"]
    assert canonical(vector["proofConfig"]).decode() == vector["canonicalProofConfig"]
    assert sha(canonical(vector["proofConfig"])).hexdigest() == vector["proofConfigHashHex"]
    signature = bytes.fromhex(vector["signatureHex"])
    assert vector["proofValue"] == base58.MULTIBASE + base58.encode(signature)
    proof = document.members["proof"]
    assert isinstance(proof, dict)
    assert hash_data(proof, document, len(signature)).hex() == vector["hashDataHex"]
    assert key.verifies(signature, bytes.fromhex(vector["hashDataHex"]))
    read = read_proof(proof, document, PUBLISHED_TERMS)
    assert (read.kind, read.verification_method) == (vector["cryptosuite"], proof["verificationMethod"])
    assert (read.created, read.expires, read.signature) == (1_677_281_798.0, None, signature)
    read.check(key)


@pytest.mark.parametrize("vector", rows(PUBLISHED, [vector["source"] for vector in PUBLISHED]))
def test_published_vectors_altered(vector: dict[str, Any]) -> None:
    key = parse_multikey(vector["keyPair"]["publicKeyMultibase"])
    for name in vector["unsignedDocument"]:
        if name != "@context":
            altered = changed(vector["securedDocument"], **{name: ...})
            with refused("signature_invalid"):
                read_proof(altered["proof"], SecuredDocument(altered), PUBLISHED_TERMS).check(key)
    longer = copy.deepcopy(vector["securedDocument"])
    longer["@context"].append("https://example.com/v1")
    with refused("context_mismatch"):
        read_proof(longer["proof"], SecuredDocument(longer), PUBLISHED_TERMS)


@pytest.mark.parametrize("key", KEYS.values(), ids=[key_type.value for key_type in KEYS])
def test_a_proof_that_holds(key: PrivateKey) -> None:
    proof = signed(key, expires=NOW + 60.9, domain="example.com")
    read = read_proof(proof, SecuredDocument({**DOCUMENT, "proof": proof}), TERMS)
    assert (read.created, read.expires, read.verification_method) == (NOW - 60, NOW + 60, METHOD)
    read.check(key.public)


def test_each_of_a_set_is_over_the_document_without_all() -> None:
    proofs = [signed(key) for key in KEYS.values()]
    document = SecuredDocument({**DOCUMENT, "proof": proofs})
    for proof, key in zip(proofs, KEYS.values(), strict=True):
        read_proof(proof, document, TERMS).check(key.public)


def test_signatures_are_signed_with_the_rest() -> None:
    document = {**DOCUMENT, "signatures": [sign_jws(DOCUMENT, ED25519, METHOD, NOW)]}
    proof = signed(document=document)
    read_proof(proof, SecuredDocument({**document, "proof": proof}), TERMS).check(ED25519.public)
    with refused("signature_invalid"):
        read_proof(proof, SecuredDocument({**DOCUMENT, "proof": proof}), TERMS).check(ED25519.public)


def test_what_is_hashed_is_made_once() -> None:
    document = SecuredDocument(DOCUMENT)
    assert document.without_proof is document.without_proof
    assert document.sha256 is document.sha256 and document.sha384 is document.sha384


@pytest.mark.parametrize(
    ("proof", "reason"),
    [
        # the shape
        *[(proof, "proof_malformed") for proof in (None, True, 1, 1.5, "proof", [], [PROOF], {})],
        (changed(PROOF, type=...), "proof_malformed"),
        (changed(PROOF, verificationMethod=...), "proof_malformed"),
        (changed(PROOF, proofPurpose=...), "proof_malformed"),
        *[
            (changed(PROOF, **{name: wrong}), "proof_malformed")
            for name in ("type", "cryptosuite", "verificationMethod", "proofPurpose", "proofValue", "created")
            for wrong in (None, 1, True, [], {}, ["x"])
        ],
        (changed(PROOF, expires=None), "proof_malformed"),
        (changed(PROOF, expires=NOW), "proof_malformed"),
        # type, suite, value, purpose
        (changed(PROOF, type="Ed25519Signature2020"), "proof_type_unsupported"),
        (changed(PROOF, type="dataintegrityproof"), "proof_type_unsupported"),
        (changed(PROOF, type="Ed25519Signature2020", cryptosuite=..., proofValue=...), "proof_type_unsupported"),
        (changed(PROOF, cryptosuite=...), "cryptosuite_unsupported"),
        (changed(PROOF, cryptosuite="eddsa-rdfc-2022"), "cryptosuite_unsupported"),
        (changed(PROOF, cryptosuite="EDDSA-JCS-2022"), "cryptosuite_unsupported"),
        (changed(PROOF, cryptosuite="ecdsa-sd-2023", proofValue="u2V0A"), "cryptosuite_unsupported"),
        (changed(PROOF, proofValue=...), "proof_malformed"),
        (changed(PROOF, proofValue=""), "proof_malformed"),
        (changed(PROOF, proofValue="uAAAA"), "proof_malformed"),
        (changed(PROOF, proofValue="z0"), "proof_malformed"),
        (changed(PROOF, proofValue="z" + base58.encode(bytes(63))), "proof_malformed"),
        (changed(PROOF, proofValue="z" + base58.encode(b"\1" * 65)), "proof_malformed"),
        (changed(PROOF, proofValue="z" + base58.encode(b"\1" * 96)), "proof_malformed"),
        (
            changed(PROOF, cryptosuite="ecdsa-jcs-2019", proofValue="z" + base58.encode(b"\1" * 80)),
            "proof_malformed",
        ),
        (changed(PROOF, proofValue="z" * 500_000), "proof_malformed"),
        (changed(PROOF, proofPurpose="authentication"), "purpose_mismatch"),
        (changed(PROOF, proofPurpose=""), "purpose_mismatch"),
        # features, domain
        (changed(PROOF, challenge="x"), "proof_feature_unsupported"),
        (changed(PROOF, challenge=None), "proof_feature_unsupported"),
        (changed(PROOF, previousProof="urn:uuid:1"), "proof_feature_unsupported"),
        (changed(PROOF, domain="other.example"), "proof_domain_mismatch"),
        (changed(PROOF, domain="sub.example.com"), "proof_domain_mismatch"),
        (changed(PROOF, domain="example.com:8443"), "proof_domain_mismatch"),
        (changed(PROOF, domain="http://example.com"), "proof_domain_mismatch"),
        (changed(PROOF, domain="https://example.com/"), "proof_domain_mismatch"),
        (changed(PROOF, domain=""), "proof_domain_mismatch"),
        (changed(PROOF, domain=[]), "proof_domain_mismatch"),
        (changed(PROOF, domain=["a.example", "b.example"]), "proof_domain_mismatch"),
        *[(changed(PROOF, domain=wrong), "proof_malformed") for wrong in (None, 1, {}, ["example.com", 1], [[]])],
        # time
        (changed(PROOF, created=...), "proof_created_missing"),
        (changed(PROOF, created="2026-05-20T00:00:00"), "proof_malformed"),
        (changed(PROOF, created=""), "proof_malformed"),
        (changed(PROOF, expires="2026-07-20"), "proof_malformed"),
        (changed(PROOF, created="2026-06-01T12:05:01Z"), "proof_not_yet_valid"),
        (changed(PROOF, created="9999-12-31T23:59:59Z"), "proof_not_yet_valid"),
        # context
        (changed(PROOF, **{"@context": "https://example.com/v1"}), "context_mismatch"),
        (changed(PROOF, **{"@context": ["https://example.com/v1", True]}), "context_mismatch"),
        (changed(PROOF, **{"@context": ["https://example.com/v1"]}), "context_mismatch"),
        (changed(PROOF, **{"@context": None}), "context_mismatch"),
        # the name of the key
        (changed(PROOF, verificationMethod=""), "proof_malformed"),
        (changed(PROOF, verificationMethod="did:web:example.com#key 1"), "proof_malformed"),
        (changed(PROOF, verificationMethod="did:web:example.com#é"), "proof_malformed"),
        (changed(PROOF, verificationMethod="did:web:example.com#key-1\n"), "proof_malformed"),
        (changed(PROOF, verificationMethod="did:web:example.com#" + "k" * 1024), "proof_malformed"),
    ],
)
def test_a_proof_that_is_refused_unchecked(proof: object, reason: str) -> None:
    with refused(reason):
        read_proof(proof, SecuredDocument({**DOCUMENT, "proof": proof}), TERMS)


WRONG_IN_TURN: list[tuple[str, JsonObject]] = [
    ("proof_type_unsupported", {"type": "x"}),
    ("cryptosuite_unsupported", {"cryptosuite": "x"}),
    ("purpose_mismatch", {"proofPurpose": "x"}),
    ("proof_feature_unsupported", {"challenge": "x"}),
    ("proof_domain_mismatch", {"domain": "x"}),
    ("proof_not_yet_valid", {"created": "2027-01-01T00:00:00Z"}),
    ("context_mismatch", {"@context": "x"}),
]


@pytest.mark.parametrize("first", range(len(WRONG_IN_TURN)), ids=[reason for reason, _ in WRONG_IN_TURN])
def test_the_first_that_fails_is_the_reason(first: int) -> None:
    members = {name: value for _, wrong in WRONG_IN_TURN[first:] for name, value in wrong.items()}
    with refused(WRONG_IN_TURN[first][0]):
        read_proof(changed(PROOF, **members), SecuredDocument(DOCUMENT), TERMS)


@pytest.mark.parametrize(
    "members",
    [
        {"created": "2026-06-01T12:05:00Z"},
        {"created": "2026-06-01T14:05:00+02:00"},
        {"created": "1970-01-01T00:00:00Z"},
        {"expires": "2026-05-30T00:00:00Z"},
        {"domain": "example.com"},
        {"domain": "https://example.com"},
        {"domain": ["other.example", "example.com"]},
        {"@context": ...},
        {"nonce": "x", "id": "urn:uuid:1", "unknown": {"a": [1]}},
        {"verificationMethod": "#key-1"},
        {"verificationMethod": "did:key:zAnother#zAnother"},
    ],
    ids=str,
)
def test_a_member_that_is_taken_but_signed(members: JsonObject) -> None:
    read = read_proof(changed(PROOF, **members), SecuredDocument(DOCUMENT), TERMS)
    with refused("signature_invalid"):
        read.check(ED25519.public)


def test_a_context_that_the_document_has_not() -> None:
    proof = changed(PROOF, **{"@context": None})
    with refused("context_mismatch"):
        read_proof(proof, SecuredDocument({"a": 1}), TERMS)


def test_the_port_is_a_part_of_the_host() -> None:
    terms = ProofTerms("example.com:8443", NOW, 300.0)
    proof = signed(domain="example.com:8443")
    read_proof(proof, SecuredDocument(DOCUMENT), terms).check(ED25519.public)
    with refused("proof_domain_mismatch"):
        read_proof(signed(domain="example.com"), SecuredDocument(DOCUMENT), terms)


@pytest.mark.parametrize(
    ("maker", "checker", "reason"),
    [
        (KeyType.ED25519, KeyType.P256, "key_suite_mismatch"),
        (KeyType.ED25519, KeyType.P384, "key_suite_mismatch"),
        (KeyType.P256, KeyType.ED25519, "key_suite_mismatch"),
        (KeyType.P384, KeyType.ED25519, "key_suite_mismatch"),
        (KeyType.P256, KeyType.P384, "signature_invalid"),
        (KeyType.P384, KeyType.P256, "signature_invalid"),
    ],
)
def test_another_key(maker: KeyType, checker: KeyType, reason: str) -> None:
    read = read_proof(signed(KEYS[maker]), SecuredDocument(DOCUMENT), TERMS)
    with refused(reason):
        read.check(KEYS[checker].public)


@pytest.mark.parametrize("key_type", KeyType)
def test_another_key_of_the_type(key_type: KeyType) -> None:
    read = read_proof(signed(KEYS[key_type]), SecuredDocument(DOCUMENT), TERMS)
    with refused("signature_invalid"):
        read.check(PrivateKey.generate(key_type).public)


CASES = vectors("uaix/mirror-verification-cases.json")
SIGNED_CASES = [case for case in CASES.get("cases", []) if case["name"].startswith("ed25519-multikey")]


@pytest.mark.parametrize("case", rows(SIGNED_CASES, [case["name"] for case in SIGNED_CASES]))
def test_a_published_manifest(case: dict[str, Any]) -> None:
    document = parse_ijson(case["manifest"].encode())
    key = parse_multikey(parse_ijson(CASES["didDocument"].encode())["verificationMethod"][0]["publicKeyMultibase"])  # type: ignore[index]
    read_proof(document["proof"], SecuredDocument(document), TERMS).check(key)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_any_value_is_no_proof(value: object) -> None:
    with pytest.raises(Untrusted):
        read_proof(value, SecuredDocument(DOCUMENT), TERMS)


@given(st.dictionaries(st.sampled_from([*sorted(PROOF), "expires", "domain", "challenge"]), JSON, min_size=1))
def test_any_members_are_no_good_proof(members: JsonObject) -> None:
    proof = {**PROOF, **members}
    key: PublicKey = ED25519.public
    try:
        read_proof(proof, SecuredDocument(DOCUMENT), TERMS).check(key)
    except Untrusted:
        return
    assert canonical(proof) == canonical(PROOF)
