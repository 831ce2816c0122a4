"""JSON Web Signatures over a document (TRUST.md §4.3): published ones, and every reason of §6.2 item 6."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.reasons import Untrusted
from proxy.trust.signatures import base64url
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.jws import decode_header, decode_signature, key_type_of, read_signature, signing_input
from proxy.trust.signatures.keys import KeyType, PublicKey, parse_jwk, parse_multikey
from proxy.trust.signatures.proofs import ProofTerms, SecuredDocument
from proxy.trust.signatures.signing import PrivateKey, sign_data_integrity, sign_jws
from tests.trust.signatures.published import refused, rows, vectors

NOW = 1_780_315_200.0  # 2026-06-01T12:00:00Z
TERMS = ProofTerms("example.com", NOW, 300.0)
KID = "did:web:example.com#key-1"
KEYS = {key_type: PrivateKey.generate(key_type) for key_type in KeyType}
ED25519 = KEYS[KeyType.ED25519]
DOCUMENT: JsonObject = {"name": "Zürich", "list": [1, 2.5, None, True]}
ENTRY = sign_jws(DOCUMENT, ED25519, KID, NOW - 60)
HEADER: JsonObject = {"alg": "EdDSA", "kid": KID, "typ": "JOSE", "iat": int(NOW) - 60}

JOSE = vectors("jose/jws.json")
A2A = vectors("a2a/agent-card-signed.json")
CASES = vectors("uaix/mirror-verification-cases.json")


def entry(protecting: object = HEADER, key: PrivateKey = ED25519, **changes: object) -> JsonObject:
    """An entry signed with this header, of the members of HEADER and others; one of `...` is left out."""
    protected = base64url.encode(protecting if isinstance(protecting, bytes) else json.dumps(protecting).encode())
    message = signing_input(protected, SecuredDocument(DOCUMENT).without_signatures)
    members = {"protected": protected, "signature": base64url.encode(key.sign(message)), **changes}
    return {name: value for name, value in members.items() if value is not ...}


def header(**members: object) -> JsonObject:
    return {name: value for name, value in {**HEADER, **members}.items() if value is not ...}


def secured(*entries: object) -> SecuredDocument:
    return SecuredDocument({**DOCUMENT, "signatures": list(entries)})


@pytest.mark.parametrize(
    ("algorithm", "key_type"),
    [
        ("EdDSA", KeyType.ED25519),
        ("Ed25519", KeyType.ED25519),
        ("ES256", KeyType.P256),
        ("ES384", KeyType.P384),
    ],
)
def test_a_signature_that_holds(algorithm: str, key_type: KeyType) -> None:
    made = entry(header(alg=algorithm, exp=NOW + 60.5), KEYS[key_type])
    read = read_signature(made, secured(made), TERMS)
    assert (read.kind, read.verification_method) == ("jws", KID)
    assert (read.created, read.expires) == (NOW - 60, NOW + 60.5)
    read.check(KEYS[key_type].public)


def test_neither_container_is_a_part_of_the_payload() -> None:
    document = {**DOCUMENT, "signatures": [ENTRY]}
    document["proof"] = sign_data_integrity(document, ED25519, KID, NOW)
    read_signature(ENTRY, SecuredDocument(document), TERMS).check(ED25519.public)


@pytest.mark.parametrize(
    "made",
    [
        entry(header(typ=...)),
        entry(header(jku="https://other.example/jwks.json")),
        entry(header(iat=NOW + 300)),
        entry(header(iat=0)),
        entry(header(exp=1)),
        entry(header={}),
        entry(header={"jku": "https://other.example/jwks.json"}),
    ],
    ids=["no typ", "jku", "skew", "epoch", "ended", "other header, empty", "other header"],
)
def test_a_header_that_is_taken(made: JsonObject) -> None:
    read_signature(made, secured(made), TERMS).check(ED25519.public)


UNSUPPORTED = ("HS256", "RS256", "PS256", "ES512", "ES256K", "Ed448", "eddsa")
TEXTS_WRONG: list[object] = [..., None, 1, True, [], {}]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        # the shape
        *[(made, "proof_malformed") for made in (None, True, 1, "a.b.c", [], [ENTRY], {})],
        *[(entry(protected=wrong), "proof_malformed") for wrong in TEXTS_WRONG],
        *[(entry(signature=wrong), "proof_malformed") for wrong in TEXTS_WRONG],
        *[(entry(wrong), "proof_malformed") for wrong in ([], 1, "x", None)],
        *[(entry(header=wrong), "proof_malformed") for wrong in (None, 1, "x", [])],
        ({**ENTRY, "payload": ""}, "proof_malformed"),
        ({**ENTRY, "header": {"kid": KID}}, "proof_malformed"),
        ({**ENTRY, "header": {"alg": "none"}}, "proof_malformed"),
        ({**ENTRY, "protected": ""}, "proof_malformed"),
        ({**ENTRY, "protected": f"{ENTRY['protected']}="}, "proof_malformed"),
        ({**ENTRY, "protected": "é"}, "proof_malformed"),
        (entry(b"{"), "proof_malformed"),
        (entry(b"\xff"), "proof_malformed"),
        (entry(b'{"alg":"none","alg":"EdDSA"}'), "proof_malformed"),
        (entry(b'{"alg":"EdDSA","x":' + b"[" * 5000), "proof_malformed"),
        (entry(header(x="x" * 8192)), "proof_malformed"),
        ({**ENTRY, "signature": ""}, "proof_malformed"),
        ({**ENTRY, "signature": "AA"}, "proof_malformed"),
        ({**ENTRY, "signature": f"{ENTRY['signature']}="}, "proof_malformed"),
        ({**ENTRY, "signature": f"{ENTRY['signature']}AA"}, "proof_malformed"),
        ({**ENTRY, "signature": "A" * 500_000}, "proof_malformed"),
        (entry(header(alg="ES384")), "proof_malformed"),
        # the algorithm
        *[
            (entry(header(alg=wrong)), "cryptosuite_unsupported")
            for wrong in (..., None, 1, [], {}, "", "none", "None", *UNSUPPORTED)
        ],
        # the other parameters
        *[
            (entry(header(**{name: "x"})), "jws_header_unsupported")
            for name in ("jwk", "x5u", "x5c", "x5t", "cty", "zip", "nbf", "unknown")
        ],
        (entry(header(b64=False, crit=["b64"])), "jws_header_unsupported"),
        (entry(header(crit=[])), "jws_header_unsupported"),
        ({**ENTRY, "header": {"jwk": {}}}, "jws_header_unsupported"),
        ({**ENTRY, "header": {"unknown": 1}}, "jws_header_unsupported"),
        *[(entry(header(typ=wrong)), "jws_header_unsupported") for wrong in ("JWT", "jose", None, 1, ["JOSE"])],
        # the key
        *[
            (entry(header(kid=wrong)), "proof_malformed")
            for wrong in (
                ...,
                None,
                1,
                [KID],
                "",
                "key-1",
                "#key-1",
                "did:web:example.com",
                "did:web:example.com#",
                "did:#key-1",
                "https://example.com/keys#key-1",
                "did:web:example.com#a#b",
                "did:web:example.com#é",
                "DID:web:example.com#key-1",
                KID + "\n",
                KID + "k" * 1024,
            )
        ],
        # time
        (entry(header(iat=...)), "proof_created_missing"),
        (entry(header(iat=NOW + 301)), "proof_not_yet_valid"),
        (entry(header(iat=253402300799)), "proof_not_yet_valid"),
        *[
            (entry(header(**{name: wrong})), "proof_malformed")
            for name in ("iat", "exp")
            for wrong in (None, True, "1780315200", "2026-06-01T12:00:00Z", -1, 253402300800, 1e308, [], {})
        ],
    ],
)
def test_a_signature_that_is_refused_unchecked(made: object, reason: str) -> None:
    with refused(reason):
        read_signature(made, secured(made), TERMS)


WRONG_IN_TURN: list[tuple[str, JsonObject]] = [
    ("cryptosuite_unsupported", {"alg": "x"}),
    ("jws_header_unsupported", {"crit": ["x"]}),
    ("proof_malformed", {"kid": "x"}),
    ("proof_not_yet_valid", {"iat": NOW + 301}),
]


@pytest.mark.parametrize("first", range(len(WRONG_IN_TURN)), ids=[reason for reason, _ in WRONG_IN_TURN])
def test_the_first_that_fails_is_the_reason(first: int) -> None:
    members = {name: value for _, wrong in WRONG_IN_TURN[first:] for name, value in wrong.items()}
    with refused(WRONG_IN_TURN[first][0]):
        read_signature(entry(header(**members)), secured(), TERMS)


def test_a_date_that_need_not_be() -> None:
    undated, early = entry(header(iat=...)), entry(header(iat=NOW + 301))
    read = read_signature(undated, secured(undated), TERMS, must_be_dated=False)
    assert read.created is None
    read.check(ED25519.public)
    with refused("proof_not_yet_valid"):
        read_signature(early, secured(early), TERMS, must_be_dated=False)


@pytest.mark.parametrize(
    ("algorithm", "maker", "checker"),
    [
        ("EdDSA", KeyType.ED25519, KeyType.P256),
        ("ES256", KeyType.P256, KeyType.ED25519),
        ("ES256", KeyType.P256, KeyType.P384),
        ("ES256", KeyType.ED25519, KeyType.ED25519),
        ("EdDSA", KeyType.P256, KeyType.P256),
        ("ES384", KeyType.P384, KeyType.P256),
    ],
)
def test_a_key_of_another_type(algorithm: str, maker: KeyType, checker: KeyType) -> None:
    made = entry(header(alg=algorithm), KEYS[maker])
    with refused("key_suite_mismatch"):
        read_signature(made, secured(made), TERMS).check(KEYS[checker].public)


@pytest.mark.parametrize("key_type", KeyType)
def test_another_key_and_another_document(key_type: KeyType) -> None:
    made = sign_jws(DOCUMENT, KEYS[key_type], KID, NOW)
    with refused("signature_invalid"):
        read_signature(made, secured(made), TERMS).check(PrivateKey.generate(key_type).public)
    with refused("signature_invalid"):
        read_signature(made, SecuredDocument({**DOCUMENT, "more": 1}), TERMS).check(KEYS[key_type].public)


def test_a_payload_that_is_not_canonical() -> None:
    protected = base64url.encode(json.dumps(HEADER).encode())
    message = signing_input(protected, json.dumps(DOCUMENT).encode())
    made = {"protected": protected, "signature": base64url.encode(ED25519.sign(message))}
    with refused("signature_invalid"):
        read_signature(made, secured(made), TERMS).check(ED25519.public)


@pytest.mark.parametrize("rfc8037", rows([JOSE["rfc8037"]] if JOSE else [], ["RFC 8037 A.4"]))
def test_the_signature_of_rfc_8037(rfc8037: dict[str, Any]) -> None:
    protected, _, signature = rfc8037["compact"].split(".")
    key_type = key_type_of(decode_header(protected)["alg"])
    octets = decode_signature(signature, key_type)
    key = parse_jwk({name: value for name, value in rfc8037["jwkPrivate"].items() if name != "d"})
    assert key.type is key_type
    assert key.verifies(octets, signing_input(protected, rfc8037["payload"].encode()))


RFC_7797 = {name: JOSE["rfc7797"][name] for name in ("b64true", "b64falseDetached")} if JOSE else {}


@pytest.mark.parametrize("compact", rows(list(RFC_7797.values()), list(RFC_7797)))
def test_the_signatures_of_rfc_7797_are_refused(compact: str) -> None:
    protected, _, signature = compact.split(".")
    with refused("cryptosuite_unsupported"):
        read_signature({"protected": protected, "signature": signature}, secured(), TERMS)


@pytest.mark.parametrize("vector", rows([A2A] if A2A else [], ["A2A SDK"]))
def test_a_card_that_the_a2a_sdk_signed(vector: dict[str, Any]) -> None:
    card: Any = vector["agentCard"]
    document = SecuredDocument(card)
    assert document.without_signatures.decode() == vector["canonicalPayload"]
    [made] = card["signatures"]
    read = read_signature(made, document, TERMS, must_be_dated=False)
    read.check(parse_jwk(vector["jwk"]))
    with refused("proof_created_missing"):
        read_signature(made, document, TERMS)


JWS_CASES = [case for case in CASES.get("cases", []) if case["name"].startswith("jws-")]


@pytest.mark.parametrize("case", rows(JWS_CASES, [case["name"] for case in JWS_CASES]))
def test_published_cases(case: dict[str, Any]) -> None:
    document = parse_ijson(case["manifest"].encode())
    entries: Any = document["signatures"]
    methods = {method["id"]: method for method in json.loads(CASES["didDocument"])["verificationMethod"]}

    def check() -> None:
        read = read_signature(entries[0], SecuredDocument(document), TERMS)
        read.check(key_of(methods[read.verification_method]))

    if "reason" in case["expect"]:
        with refused(case["expect"]["reason"]):
            check()
    else:
        check()


def key_of(method: dict[str, Any]) -> PublicKey:
    if "publicKeyJwk" in method:
        return parse_jwk(method["publicKeyJwk"])
    return parse_multikey(method["publicKeyMultibase"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_any_value_is_no_signature(value: object) -> None:
    with pytest.raises(Untrusted):
        read_signature(value, secured(), TERMS)


@given(st.binary(max_size=80), st.dictionaries(st.sampled_from([*HEADER, "exp", "crit", "jwk"]), JSON))
def test_any_header_is_signed_or_refused(octets: bytes, members: JsonObject) -> None:
    for made in (entry(octets), entry({**HEADER, **members})):
        try:
            read_signature(made, secured(made), TERMS).check(ED25519.public)
        except Untrusted:
            continue
        assert decode_header(str(made["protected"])).keys() <= {*HEADER, "exp"}


@given(st.dictionaries(st.sampled_from(["protected", "signature", "header"]), JSON, min_size=1))
def test_any_members_are_no_good_signature(members: JsonObject) -> None:
    made = {**ENTRY, **members}
    try:
        read_signature(made, secured(made), TERMS).check(ED25519.public)
    except Untrusted:
        return
    assert canonical(made) == canonical({**ENTRY, "header": {}})
