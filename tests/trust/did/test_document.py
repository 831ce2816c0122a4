"""DID documents: which keys may sign, and every way in which one may not (TRUST.md §1.3)."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from multiformats import multibase

from proxy.trust.did.document import MOST_OCTETS, DidDocument, parse_did_document
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures.keys import KeyType, parse_multikey
from tests.trust.publisher import DID, ED, NOW, OTHER_ED, P256, did_document, jwk, jwk_method, method, multikey

SPECIFIED = Path(__file__).resolve().parents[4] / "shared/vectors/did-web/spec-example-document.json"
BEFORE, AFTER = "2026-06-01T11:59:59Z", "2026-06-01T12:00:01Z"
KEY = f"{DID}#key-1"
OTHER = f"{DID}#key-2"
X25519 = multibase.encode(b"\xec\x01" + X25519PrivateKey.generate().public_key().public_bytes_raw(), "base58btc")
P256_MULTIKEY = "zDnaerx9CtbPJ1q36T5Ln5wYt3MQYeGRG5ehnPAmxcf5mDZpv"
WEAK = multibase.encode(b"\xed\x01" + bytes(32), "base58btc")
OKP = {"kty": "OKP", "crv": "Ed25519", "x": "Cm550dHBqo5zpuIYx3SSnr-tu-IBAAAAAAAAAAAAAAA"}


def parsed(document: Any, did: str = DID) -> DidDocument:
    return parse_did_document(json.dumps(document).encode(), did)


def refusal(document: Any, asked: str = KEY) -> Reason:
    with pytest.raises(Untrusted) as refused:
        parsed(document).assertion_key(asked, NOW)
    assert DID not in refused.value.detail
    return refused.value.reason


def test_the_specification_s_example() -> None:
    if not SPECIFIED.exists():
        pytest.skip("the vectors are not on this machine")
    document = parsed(json.loads(SPECIFIED.read_bytes())["didDocument"])
    assert set(document.methods) == {f"{DID}#key-{number}" for number in range(3)}
    assert document.assertion_key(f"{DID}#key-0", NOW).key.type is KeyType.ED25519
    assert document.assertion_key(f"{DID}#key-2", NOW).key.type is KeyType.P256
    with pytest.raises(Untrusted) as refused:
        document.assertion_key(f"{DID}#key-1", NOW)
    assert refused.value.reason is Reason.VM_NOT_ASSERTION
    assert len(document.keys) == 2 and document.exposed == frozenset()


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(did_document(method("key-1")), id="by reference"),
        pytest.param(did_document(method("key-1"), assertionMethod=["#key-1"]), id="by relative reference"),
        pytest.param(did_document(method("key-1", id="#key-1"), assertionMethod=[KEY]), id="relative id"),
        pytest.param(did_document(assertionMethod=[method("key-1")]), id="by value"),
        pytest.param(did_document(assertionMethod=[method("key-1", id="#key-1")]), id="by value, relative id"),
        pytest.param(did_document(method("key-1"), assertionMethod=[KEY, KEY, "#key-1"]), id="listed thrice"),
        pytest.param(did_document(method("key-1"), authentication=[KEY]), id="for something else as well"),
        pytest.param(
            did_document(authentication=[method("key-1")], assertionMethod=["#key-1"]), id="by value elsewhere"
        ),
        pytest.param(did_document(method("key-1"), controller="did:web:other.example"), id="other controller"),
        pytest.param(did_document(method("key-1"), service=[{"id": "#key-1"}], unknown={}), id="other members"),
        pytest.param(
            did_document(method("key-1", type="Ed25519VerificationKey2020")), id="Ed25519VerificationKey2020"
        ),
        pytest.param(
            did_document(
                method(
                    "key-1",
                    type="Ed25519VerificationKey2018",
                    publicKeyMultibase=None,
                    publicKeyBase58=multibase.encode(ED.public_key().public_bytes_raw(), "base58btc")[1:],
                )
            ),
            id="Ed25519VerificationKey2018",
        ),
        pytest.param(did_document(method("key-1", revoked=AFTER, expires=AFTER)), id="ends later"),
        pytest.param(did_document(method("key-1", expires="2026-06-01T14:00:01.5+02:00")), id="by zone"),
        pytest.param(did_document(method("key-1"), method("key-2", type="Unknown")), id="beside an unknown type"),
        pytest.param(did_document(method("key-1"), method("key-2", revoked="soon")), id="beside a malformed one"),
    ],
)
def test_a_key_that_may_sign(document: Any) -> None:
    read = parsed(document)
    assert read.assertion_key(KEY, NOW).key == parse_multikey(multikey(ED))
    assert multikey(ED) in read.keys


@pytest.mark.parametrize("kind", ["JsonWebKey", "JsonWebKey2020"])
def test_a_key_as_jwk(kind: str) -> None:
    read = parsed(did_document(jwk_method("key-1") | {"type": kind}))
    assert read.assertion_key(KEY, NOW).key.type is KeyType.P256


@pytest.mark.parametrize(
    ("members", "expires"),
    [
        ({}, None),
        ({"expires": AFTER}, NOW + 1),
        ({"revoked": AFTER}, NOW + 1),
        ({"expires": "2026-06-02T12:00:00Z", "revoked": AFTER}, NOW + 1),
        ({"expires": AFTER, "revoked": "2026-06-02T12:00:00Z"}, NOW + 1),
    ],
)
def test_end_of_a_key(members: dict[str, Any], expires: float | None) -> None:
    assert parsed(did_document(method("key-1", **members))).assertion_key(KEY, NOW).expires == expires


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        pytest.param(method("key-2"), Reason.VM_NOT_FOUND, id="not there"),
        pytest.param(
            method("key-1", id="did:web:other.example#key-1"), Reason.VM_NOT_FOUND, id="id of another DID"
        ),
        pytest.param(
            method("key-1", controller="did:web:evil.example"), Reason.VM_CONTROLLER_MISMATCH, id="foreign"
        ),
        pytest.param(method("key-1", controller=None), Reason.VM_CONTROLLER_MISMATCH, id="no controller"),
        pytest.param(method("key-1", controller=[DID]), Reason.VM_CONTROLLER_MISMATCH, id="controllers"),
        pytest.param(method("key-1", revoked=BEFORE), Reason.VM_REVOKED, id="revoked"),
        pytest.param(method("key-1", revoked="2026-06-01T12:00:00Z"), Reason.VM_REVOKED, id="revoked now"),
        pytest.param(method("key-1", revoked=BEFORE, expires=BEFORE), Reason.VM_REVOKED, id="revoked and expired"),
        pytest.param(method("key-1", expires=BEFORE), Reason.VM_EXPIRED, id="expired"),
        pytest.param(method("key-1", expires="2026-06-01T12:00:00Z"), Reason.VM_EXPIRED, id="expires now"),
        pytest.param(method("key-1", expires="2026-06-01T13:59:59+02:00"), Reason.VM_EXPIRED, id="by zone"),
        pytest.param(method("key-1", expires="2027-06-01T12:00:00"), Reason.DID_DOC_INVALID, id="expires, no zone"),
        pytest.param(method("key-1", revoked="2027-06-01T12:00:00"), Reason.DID_DOC_INVALID, id="revoked, no zone"),
        pytest.param(method("key-1", revoked=True), Reason.DID_DOC_INVALID, id="revoked: true"),
        pytest.param(method("key-1") | {"revoked": None}, Reason.DID_DOC_INVALID, id="revoked: null"),
        pytest.param(method("key-1", expires=1e10), Reason.DID_DOC_INVALID, id="expires as number"),
        pytest.param(method("key-1", type="X25519KeyAgreementKey2020"), Reason.KEY_TYPE_UNSUPPORTED, id="type"),
        pytest.param(method("key-1", type=None), Reason.KEY_TYPE_UNSUPPORTED, id="no type"),
        pytest.param(method("key-1", type=["Multikey"]), Reason.KEY_TYPE_UNSUPPORTED, id="types"),
        pytest.param(method("key-1", publicKeyMultibase=None), Reason.KEY_TYPE_UNSUPPORTED, id="no key"),
        pytest.param(method("key-1", publicKeyMultibase=7), Reason.KEY_TYPE_UNSUPPORTED, id="key of wrong type"),
        pytest.param(method("key-1", publicKeyMultibase={}), Reason.KEY_TYPE_UNSUPPORTED, id="multikey as object"),
        pytest.param(jwk_method("key-1") | {"publicKeyJwk": "x"}, Reason.KEY_TYPE_UNSUPPORTED, id="JWK as text"),
        pytest.param(method("key-1", publicKeyJwk=OKP), Reason.KEY_TYPE_UNSUPPORTED, id="two key members"),
        pytest.param(method("key-1", publicKeyHex="00"), Reason.KEY_TYPE_UNSUPPORTED, id="two, one unknown"),
        pytest.param(method("key-1", type="JsonWebKey"), Reason.KEY_TYPE_UNSUPPORTED, id="member of another type"),
        pytest.param(
            method("key-1", blockchainAccountId="eip155:1:0x0"), Reason.KEY_TYPE_UNSUPPORTED, id="account"
        ),
        pytest.param(method("key-1", publicKeyMultibase=X25519), Reason.KEY_TYPE_UNSUPPORTED, id="X25519"),
        pytest.param(
            method("key-1", type="Ed25519VerificationKey2020", publicKeyMultibase=P256_MULTIKEY),
            Reason.KEY_TYPE_UNSUPPORTED,
            id="P-256 as Ed25519VerificationKey2020",
        ),
        pytest.param(method("key-1", publicKeyMultibase=WEAK), Reason.KEY_WEAK, id="small order"),
        pytest.param(
            jwk_method("key-1") | {"publicKeyJwk": {**jwk(P256), "d": "AA"}}, Reason.DID_DOC_INVALID, id="d"
        ),
        pytest.param(method("key-1", secretKeyMultibase="z3u2"), Reason.DID_DOC_INVALID, id="secret key"),
    ],
)
def test_a_method_that_may_not_sign(described: Any, reason: Reason) -> None:
    assert refusal(did_document(described, assertionMethod=["#key-1"])) is reason


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "#key-1",
        "key-1",
        DID,
        "did:web:example.com.evil.example#key-1",
        "did:web:Example.com#key-1",
        "did:web:example.com:u#key-1",
        "did:web:example.com?x=1#key-1",
        "did:key:z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX#z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX",
    ],
)
def test_methods_of_another_did(asked: str) -> None:
    assert refusal(did_document(method("key-1")), asked) is Reason.VM_FOREIGN_DID


def test_a_method_for_something_else() -> None:
    document = did_document(
        method("key-1"), assertionMethod=[], authentication=[KEY], keyAgreement=[method("key-2")]
    )
    assert refusal(document, KEY) is refusal(document, OTHER) is Reason.VM_NOT_ASSERTION
    assert parsed(document).keys == frozenset()


def test_keys_of_a_document() -> None:
    document = parsed(
        did_document(
            method("key-1"),
            method("key-2", OTHER_ED, revoked=BEFORE),
            method("x25519", publicKeyMultibase=X25519),
            method("weak", publicKeyMultibase=WEAK),
            method("foreign", controller="did:web:evil.example"),
            jwk_method("leaked", publicKeyPem=None) | {"publicKeyJwk": {**jwk(P256), "d": "AA"}},
            assertionMethod=[
                "#key-1",
                "#key-2",
                "#x25519",
                "#weak",
                "#foreign",
                "#leaked",
                "#gone",
                "did:web:a.b#c",
            ],
        )
    )
    assert document.keys == {multikey(ED), multikey(OTHER_ED)}
    assert document.exposed == {f"{DID}#leaked"}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        pytest.param({}, Reason.DID_DOC_ID_MISMATCH, id="no id"),
        pytest.param({"id": [DID]}, Reason.DID_DOC_ID_MISMATCH, id="ids"),
        pytest.param({"id": "did:web:Example.com"}, Reason.DID_DOC_ID_MISMATCH, id="id in another case"),
        pytest.param({"id": f"{DID}#"}, Reason.DID_DOC_ID_MISMATCH, id="id with fragment"),
        pytest.param([], Reason.DID_DOC_NOT_OBJECT, id="a list"),
        pytest.param(None, Reason.DID_DOC_NOT_OBJECT, id="null"),
        pytest.param({"id": DID, "x": 2**53}, Reason.DID_DOC_JSON_NUMBER_RANGE, id="number"),
        pytest.param({"id": DID, "x": "\ud800"}, Reason.DID_DOC_JSON_SURROGATE, id="surrogate"),
        pytest.param(did_document(method("key-1"), method("key-1")), Reason.DID_DOC_INVALID, id="duplicate"),
        pytest.param(
            did_document(method("key-1"), method("key-1", id="#key-1")), Reason.DID_DOC_INVALID, id="relative"
        ),
        pytest.param(
            did_document(method("key-1"), assertionMethod=[method("key-1")]), Reason.DID_DOC_INVALID, id="value"
        ),
        pytest.param(
            did_document(method("key-1"), keyAgreement=[method("key-1")]), Reason.DID_DOC_INVALID, id="other"
        ),
        pytest.param(did_document(verificationMethod={}), Reason.DID_DOC_INVALID, id="methods as object"),
        pytest.param(did_document(verificationMethod=None), Reason.DID_DOC_INVALID, id="methods: null"),
        pytest.param(did_document(verificationMethod=[None]), Reason.DID_DOC_INVALID, id="method: null"),
        pytest.param(did_document(verificationMethod=[KEY]), Reason.DID_DOC_INVALID, id="method as text"),
        pytest.param(
            did_document(verificationMethod=[method("key-1", id=None)]), Reason.DID_DOC_INVALID, id="no method id"
        ),
        pytest.param(did_document(method("key-1", id="")), Reason.DID_DOC_INVALID, id="empty method id"),
        pytest.param(did_document(method("key-1", id=7)), Reason.DID_DOC_INVALID, id="method id as number"),
        pytest.param(did_document(assertionMethod=KEY), Reason.DID_DOC_INVALID, id="relationship as text"),
        pytest.param(did_document(assertionMethod=[1]), Reason.DID_DOC_INVALID, id="relationship to a number"),
        pytest.param(did_document(authentication={}), Reason.DID_DOC_INVALID, id="other relationship as object"),
    ],
)
def test_refused_documents(document: Any, reason: Reason) -> None:
    with pytest.raises(Untrusted) as refused:
        parsed(document)
    assert refused.value.reason is reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b"", Reason.DID_DOC_JSON_INVALID, id="empty"),
        pytest.param(b"<html>", Reason.DID_DOC_JSON_INVALID, id="HTML"),
        pytest.param(b'{"id":"\xff"}', Reason.DID_DOC_JSON_INVALID, id="not UTF-8"),
        pytest.param(b'{"id":"a","i\\u0064":"b"}', Reason.DID_DOC_JSON_DUPLICATE_KEY, id="repeated name"),
        pytest.param(b'{"a":' * 33 + b"1" + b"}" * 33, Reason.DID_DOC_JSON_DEPTH, id="too deep"),
        pytest.param(b'{"id":"' + b"a" * MOST_OCTETS + b'"}', Reason.DID_DOC_TOO_LARGE, id="too large"),
    ],
)
def test_refused_texts(body: bytes, reason: Reason) -> None:
    with pytest.raises(Untrusted) as refused:
        parse_did_document(body, DID)
    assert refused.value.reason is reason


def test_ten_thousand_methods() -> None:
    methods = [{"id": f"#{number}"} for number in range(10_000)]
    listed = [f"#{number}" for number in range(5_000)]
    started = perf_counter()
    document = parsed({"id": DID, "verificationMethod": methods, "assertionMethod": listed})
    assert len(document.methods) == 10_000 and document.keys == frozenset()
    assert perf_counter() - started < 1


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([DID, KEY, "#key-1", "Multikey", AFTER]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(method("key-1"))), inner),
    max_leaves=8,
)


@given(st.sampled_from(["verificationMethod", "assertionMethod", "keyAgreement", "id"]), JSON, JSON)
def test_any_document_is_read_or_refused(name: str, value: Any, member: Any) -> None:
    document = did_document(method("key-1", type=member), jwk_method("jwk")) | {name: value}
    try:
        read = parsed(document)
        assert isinstance(read.keys, frozenset) and isinstance(read.exposed, frozenset)
        read.assertion_key(KEY, NOW)
    except Untrusted:
        return


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with pytest.raises(Untrusted):
        parse_did_document(body, DID)
