"""AI Catalogs signed as a whole by profile did-web-v1 (SIG-1 to SIG-4, SIG-8)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.catalogs import MOST_OCTETS, verify_catalog
from proxy.trust.did.document import DidDocument, parse_did_document
from proxy.trust.manifests import Anchor, TrustRules
from proxy.trust.reasons import UNVERIFIABLE, Reason
from proxy.trust.signatures.keys import parse_jwk
from proxy.trust.verdict import Rejected, Signed
from tests.trust.publisher import (
    CREATED,
    CREATED_AT,
    DID,
    ED,
    NOW,
    P256,
    did_document,
    jwk,
    jwk_method,
    jws,
    method,
    without,
)

DAY = 86400.0
OTHER_P256 = derive_private_key(0x7654321, SECP256R1())
MULTIKEY = parse_jwk(jwk(P256)).multikey
KID = f"{DID}#p256"
CATALOG: dict[str, Any] = {
    "specVersion": "1.0",
    "host": {"displayName": "Example", "identifier": DID},
    "entries": [
        {
            "identifier": "urn:air:example.com:mcp:shop",
            "trustManifests": [{"contributor": DID, "signature": {"jws": "a..b"}, "additionalSignatures": []}],
        }
    ],
    "unknown": {"kept": True},
}


def document(*methods: dict[str, Any], did: str = DID, **members: Any) -> DidDocument:
    return parse_did_document(json.dumps(did_document(*methods, did=did, **members)).encode(), did)


DOCUMENT = document(jwk_method("p256"), method("ed"), method("multikey", publicKeyMultibase=MULTIKEY))
PINNED = Anchor(DOCUMENT, NOW)


def signed(
    catalog: dict[str, Any] = CATALOG,
    header: dict[str, Any] | None = None,
    key: Any = P256,
    **members: Any,
) -> dict[str, Any]:
    """The catalog with its signature, both of whose parts may be changed; a member of None is left out."""
    signature = {"signer": DID, "profile": "did-web-v1", "issuedAt": CREATED, **members}
    signature = {name: value for name, value in signature.items() if value is not None}
    parameters = {"alg": "ES256", "kid": KID, "typ": "ai-catalog+jws", **(header or {})}
    parameters = {name: value for name, value in parameters.items() if value is not None}
    payload = rfc8785.dumps(without({**catalog, "signature": signature}, "additionalSignatures"))
    protected, value = jws(payload, parameters, key)
    return copy.deepcopy({**catalog, "signature": {**signature, "jws": f"{protected}..{value}"}})


def verdict(body: Any, anchor: Anchor | None = PINNED, did: str = DID) -> Signed | Rejected:
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()
    return verify_catalog(octets, did, anchor, TrustRules(), NOW)


def reason(found: Signed | Rejected) -> Reason | None:
    return found.reason if isinstance(found, Rejected) else None


@pytest.mark.parametrize(
    ("members", "until"),
    [({}, None), ({"expiresAt": "2026-06-01T12:00:01Z"}, NOW + 1), ({"unknown": [1]}, None)],
    ids=["as it must be", "with an end", "with an unknown member"],
)
def test_signed_by_the_domain(members: dict[str, Any], until: float | None) -> None:
    assert verdict(signed(**members)) == Signed(DID, KID, "did-web-v1", CREATED_AT, until)


# SIG-2: what is signed, and in what form.


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, None, id="as signed"),
        pytest.param({"additionalSignatures": [{"jws": "x"}]}, None, id="further signatures"),
        pytest.param({"unknown": {"kept": False}}, Reason.SIGNATURE_INVALID, id="an unknown member"),
        pytest.param({"new": None}, Reason.SIGNATURE_INVALID, id="a new member"),
        pytest.param({"entries": []}, Reason.SIGNATURE_INVALID, id="the entries"),
        pytest.param(
            {"entries": [{**CATALOG["entries"][0], "trustManifests": [{"contributor": DID}]}]},
            Reason.SIGNATURE_INVALID,
            id="a signature of an entry",
        ),
    ],
)
def test_payload(changed: dict[str, Any], expected: Reason | None) -> None:
    assert reason(verdict(signed() | changed)) is expected


def test_the_signature_s_own_members_are_signed() -> None:
    for name, value in (("issuedAt", "2026-05-21T00:00:00Z"), ("expiresAt", "2027-01-01T00:00:00Z"), ("x", 1)):
        body = signed()
        body["signature"][name] = value
        assert reason(verdict(body)) is Reason.SIGNATURE_INVALID


@pytest.mark.parametrize(
    ("header", "key", "expected"),
    [
        pytest.param(
            {"typ": "ai-catalog-trust-manifest+jws"}, P256, Reason.JWS_HEADER_UNSUPPORTED, id="an entry's"
        ),
        pytest.param({"typ": "JOSE"}, P256, Reason.JWS_HEADER_UNSUPPORTED, id="JOSE"),
        pytest.param({"typ": None}, P256, Reason.JWS_HEADER_UNSUPPORTED, id="no typ"),
        pytest.param({"jku": "https://example.com/"}, P256, Reason.JWS_HEADER_UNSUPPORTED, id="jku"),
        pytest.param({"jwk": {}}, P256, Reason.JWS_HEADER_UNSUPPORTED, id="jwk"),
        pytest.param({"b64": False, "crit": ["b64"]}, P256, Reason.JWS_HEADER_UNSUPPORTED, id="b64"),
        pytest.param({"x5u": "x"}, P256, Reason.JWS_HEADER_UNSUPPORTED, id="x5u"),
        pytest.param({"x5c": []}, P256, Reason.JWS_HEADER_UNSUPPORTED, id="x5c"),
        pytest.param({"kid": None}, P256, Reason.JWS_HEADER_UNSUPPORTED, id="no kid"),
        pytest.param({"kid": 7}, P256, Reason.PROOF_MALFORMED, id="kid as number"),
        pytest.param({"alg": None}, P256, Reason.CRYPTOSUITE_UNSUPPORTED, id="no alg"),
        pytest.param({"alg": "none"}, P256, Reason.CRYPTOSUITE_UNSUPPORTED, id="none"),
        pytest.param({"alg": "ES384"}, P256, Reason.CRYPTOSUITE_UNSUPPORTED, id="ES384"),
        pytest.param({"alg": "EdDSA", "kid": f"{DID}#ed"}, ED, Reason.CRYPTOSUITE_UNSUPPORTED, id="EdDSA"),
        pytest.param({}, OTHER_P256, Reason.SIGNATURE_INVALID, id="by another key"),
    ],
)
def test_headers(header: dict[str, Any], key: Any, expected: Reason) -> None:
    assert reason(verdict(signed(header=header, key=key))) is expected


VALUE: str = signed()["signature"]["jws"]


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "",
        "..",
        VALUE.replace("..", "."),
        VALUE.replace("..", ".e30."),
        VALUE.replace("..", "..."),
        VALUE + "=",
        VALUE + "\n",
        VALUE[:-4],
        VALUE.rpartition(".")[2],
        f"!!..{VALUE.rpartition('.')[2]}",
    ],
)
def test_forms_of_the_jws(value: object) -> None:
    body = signed()
    body["signature"]["jws"] = value
    assert reason(verdict(body)) is Reason.PROOF_MALFORMED


# SIG-1, SIG-3, SIG-4: by whom.


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({"profile": "did-web-v2"}, Reason.PROOF_TYPE_UNSUPPORTED, id="another profile"),
        pytest.param({"profile": None}, Reason.PROOF_TYPE_UNSUPPORTED, id="no profile"),
        pytest.param({"profile": ["did-web-v1"]}, Reason.PROOF_TYPE_UNSUPPORTED, id="profiles"),
        pytest.param({"signer": "did:web:evil.example"}, Reason.VM_FOREIGN_DID, id="another signer"),
        pytest.param({"signer": "did:web:Example.com"}, Reason.VM_FOREIGN_DID, id="signer in another case"),
        pytest.param({"signer": None}, Reason.VM_FOREIGN_DID, id="no signer"),
        pytest.param({"signer": [DID]}, Reason.VM_FOREIGN_DID, id="signers"),
        pytest.param({"header": {"kid": "did:web:evil.example#p256"}}, Reason.VM_FOREIGN_DID, id="foreign kid"),
        pytest.param({"header": {"kid": "p256"}}, Reason.VM_FOREIGN_DID, id="bare kid"),
        pytest.param({"header": {"kid": DID}}, Reason.VM_FOREIGN_DID, id="kid without fragment"),
        pytest.param({"header": {"kid": f"{DID}#p257"}}, Reason.VM_NOT_FOUND, id="unknown kid"),
        pytest.param({"header": {"kid": f"{DID}#ed"}}, Reason.KEY_SUITE_MISMATCH, id="an Ed25519 key"),
        pytest.param({"header": {"kid": f"{DID}#multikey"}}, Reason.KEY_SUITE_MISMATCH, id="not as JWK"),
        pytest.param({"issuedAt": None}, Reason.PROOF_CREATED_MISSING, id="not dated"),
        pytest.param({"issuedAt": "2026-05-20"}, Reason.PROOF_MALFORMED, id="dated by day"),
        pytest.param({"issuedAt": "2026-05-20T00:00:00"}, Reason.PROOF_MALFORMED, id="no time zone"),
        pytest.param({"issuedAt": 7}, Reason.PROOF_MALFORMED, id="dated by number"),
        pytest.param({"issuedAt": "2026-06-01T12:05:00Z"}, None, id="dated within the skew"),
        pytest.param({"issuedAt": "2026-06-01T12:05:01Z"}, Reason.PROOF_NOT_YET_VALID, id="from the future"),
        pytest.param({"issuedAt": "2020-01-01T00:00:00Z"}, None, id="dated long ago"),
        pytest.param({"expiresAt": "2026-06-01T12:00:00Z"}, Reason.PROOF_EXPIRED, id="ended"),
        pytest.param({"expiresAt": "soon"}, Reason.PROOF_MALFORMED, id="end as text"),
    ],
)
def test_signatures(members: dict[str, Any], expected: Reason | None) -> None:
    assert reason(verdict(signed(**members))) is expected


@pytest.mark.parametrize(
    "did", ["did:web:example.com%3A8443", "did:web:example.com:shop", "did:web:Example.com", "did:example:1"]
)
def test_signers_that_are_no_whole_domain(did: str) -> None:
    kid = f"{did}#p256"
    anchor = Anchor(document(jwk_method("p256", id=kid, controller=did), did=did), NOW)
    body = signed(CATALOG | {"host": {"identifier": did}}, {"kid": kid}, signer=did)
    assert reason(verdict(body, anchor, did)) is Reason.VM_FOREIGN_DID


@pytest.mark.parametrize(
    ("methods", "members", "expected"),
    [
        pytest.param(
            [jwk_method("p256")], {"assertionMethod": []}, Reason.VM_NOT_ASSERTION, id="not for assertions"
        ),
        pytest.param([], {"assertionMethod": [jwk_method("p256")]}, None, id="embedded"),
        pytest.param(
            [jwk_method("p256", controller="did:a:b")], {}, Reason.VM_CONTROLLER_MISMATCH, id="controller"
        ),
        pytest.param([jwk_method("p256", revoked=CREATED)], {}, Reason.VM_REVOKED, id="revoked"),
        pytest.param([jwk_method("p256", OTHER_P256)], {}, Reason.SIGNATURE_INVALID, id="key was changed"),
    ],
)
def test_documents(methods: list[Any], members: dict[str, Any], expected: Reason | None) -> None:
    assert reason(verdict(signed(), Anchor(document(*methods, **members), NOW))) is expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"alg": "ES256", "use": "sig", "key_ops": ["verify"]}, None),
        ({"key_ops": ["sign", "verify"], "kid": "p256"}, None),
        ({"alg": "ES384"}, Reason.KEY_SUITE_MISMATCH),
        ({"alg": None}, Reason.KEY_SUITE_MISMATCH),
        ({"use": "enc"}, Reason.KEY_SUITE_MISMATCH),
        ({"key_ops": ["deriveKey"]}, Reason.KEY_SUITE_MISMATCH),
        ({"key_ops": []}, Reason.KEY_SUITE_MISMATCH),
        ({"key_ops": "verify"}, Reason.KEY_SUITE_MISMATCH),
        ({"d": "AA"}, Reason.DID_DOC_INVALID),
    ],
    ids=str,
)
def test_use_of_the_key(parameters: dict[str, Any], expected: Reason | None) -> None:
    described = jwk_method("p256") | {"publicKeyJwk": {**jwk(P256), **parameters}}
    assert reason(verdict(signed(), Anchor(document(described), NOW))) is expected


@pytest.mark.parametrize(
    "host",
    [None, {}, [], "Example", {"identifier": "did:web:evil.example"}, {"identifier": "example.com"}],
    ids=str,
)
def test_host_is_the_signer(host: object) -> None:
    assert reason(verdict(signed(CATALOG | {"host": host}))) is Reason.SITE_MISMATCH


def test_no_host() -> None:
    assert reason(verdict(signed(without(CATALOG, "host")))) is Reason.SITE_MISMATCH


# The text, the anchor, and what stays open.


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(CATALOG, Reason.UNSIGNED, id="unsigned"),
        pytest.param(CATALOG | {"signature": None}, Reason.PROOF_MALFORMED, id="null"),
        pytest.param(CATALOG | {"signature": "eyJ..x"}, Reason.PROOF_MALFORMED, id="a text"),
        pytest.param(CATALOG | {"signature": [signed()["signature"]]}, Reason.PROOF_MALFORMED, id="a list"),
        pytest.param(CATALOG | {"signature": {}}, Reason.PROOF_TYPE_UNSUPPORTED, id="an empty object"),
        pytest.param(b'{"entries":[],"entries":[]}', Reason.JSON_DUPLICATE_KEY, id="repeated name"),
        pytest.param(b"\xff", Reason.JSON_INVALID, id="no JSON"),
        pytest.param([], Reason.NOT_OBJECT, id="a list for a catalog"),
        pytest.param(b" " * (MOST_OCTETS + 1), Reason.TOO_LARGE, id="too large"),
    ],
)
def test_texts(body: Any, expected: Reason) -> None:
    assert reason(verdict(body)) is expected


@pytest.mark.parametrize(
    ("anchor", "expected"),
    [
        (None, Reason.TRUST_ANCHOR_MISSING),
        (Anchor(DOCUMENT, NOW - 30 * DAY), None),
        (Anchor(DOCUMENT, NOW - 31 * DAY), Reason.TRUST_ANCHOR_EXPIRED),
        (Anchor(DOCUMENT, NOW, frozenset({MULTIKEY})), Reason.TRUST_ANCHOR_ON_PROBATION),
    ],
    ids=["none", "old", "too old", "on probation"],
)
def test_what_cannot_be_verified_is_not_what_is_false(anchor: Anchor | None, expected: Reason | None) -> None:
    assert reason(verdict(signed(), anchor)) is expected
    assert expected is None or expected in UNVERIFIABLE
    assert reason(verdict(CATALOG, anchor)) is Reason.UNSIGNED


def test_what_is_false_is_not_open() -> None:
    assert UNVERIFIABLE.isdisjoint({Reason.SIGNATURE_INVALID, Reason.UNSIGNED, Reason.JSON_DUPLICATE_KEY})
    assert reason(verdict(signed(profile="x509-v1"))) in UNVERIFIABLE


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4) | st.sampled_from([DID, VALUE, CREATED]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["signer", "profile", "jws", "issuedAt", "identifier"]), inner)
    ),
    max_leaves=8,
)


@given(st.sampled_from(["signer", "profile", "jws", "issuedAt", "expiresAt"]), JSON, JSON)
def test_members_of_any_type(name: str, member: Any, signature: Any) -> None:
    body = signed()
    body["signature"][name] = member
    assert isinstance(verdict(body), Signed | Rejected)
    assert isinstance(verdict(CATALOG | {"signature": signature, "host": member}), Signed | Rejected)


@given(st.binary(max_size=60))
def test_any_bytes_are_refused(body: bytes) -> None:
    assert isinstance(verdict(body), Rejected)
