"""A2A cards: who signed them, by the SDK's sample and by ours (A2A-4, TRUST.md §4.3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.cards import verify_card
from proxy.trust.did.document import parse_did_document
from proxy.trust.manifests import Anchor, TrustRules
from proxy.trust.reasons import Reason
from proxy.trust.verdict import Rejected, Signed
from tests.trust.publisher import (
    CREATED_AT,
    DID,
    ED,
    NOW,
    OTHER_ED,
    P256,
    base64url,
    did_document,
    jwk_method,
    manifest,
    method,
    multikey,
    signature,
    without,
)

VECTOR = Path(__file__).resolve().parents[3] / "shared/vectors/a2a/agent-card-signed.json"
DAY = 86400.0
DOCUMENT = parse_did_document(
    json.dumps(
        did_document(
            method("key-1"),
            method("key-2", OTHER_ED),
            jwk_method("p256"),
            method("gone", revoked="2026-05-01T00:00:00Z"),
            method("until-june", expires="2026-06-20T00:00:00Z"),
        )
    ).encode(),
    DID,
)
PINNED = Anchor(DOCUMENT, NOW)
CARD: dict[str, Any] = {
    "name": "Zürich Route Planner",
    "supportedInterfaces": [{"url": "https://example.com/a2a", "protocolBinding": "JSONRPC", "tenant": ""}],
    "skills": [],
}


def verdict(body: Any, anchor: Anchor | None = PINNED, did: str = DID) -> Signed | Rejected:
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()
    return verify_card(octets, did, "example.com", anchor, TrustRules(), NOW)


def card(*signatures: Any, **members: Any) -> dict[str, Any]:
    return {**CARD, **members, "signatures": list(signatures)}


def reason(found: Signed | Rejected) -> Reason | None:
    return found.reason if isinstance(found, Rejected) else None


@pytest.fixture
def sample() -> Any:
    if not VECTOR.exists():
        pytest.skip("the vectors are not on this machine")
    return json.loads(VECTOR.read_bytes())


def pinned_for(sample: Any) -> tuple[Anchor, str]:
    did = "did:web:agent.example.com"
    described = jwk_method("key-1", id=f"{did}#key-1", controller=did) | {"publicKeyJwk": sample["jwk"]}
    return Anchor(parse_did_document(json.dumps(did_document(described, did=did)).encode(), did), NOW), did


def test_the_card_that_the_sdk_signed(sample: Any) -> None:
    anchor, did = pinned_for(sample)
    assert verdict(sample["agentCard"], anchor, did) == Signed(did, f"{did}#key-1", "jws", None, None)


@pytest.mark.parametrize("name", ["name", "skills", "version", "new"])
def test_the_sdk_s_card_changed(sample: Any, name: str) -> None:
    anchor, did = pinned_for(sample)
    changed = sample["agentCard"] | {name: "x"}
    assert reason(verdict(changed, anchor, did)) is Reason.SIGNATURE_INVALID


@pytest.mark.parametrize(
    ("header", "key", "expected"),
    [
        pytest.param({}, ED, (f"{DID}#key-1", None, None), id="EdDSA"),
        pytest.param({"alg": "Ed25519"}, ED, (f"{DID}#key-1", None, None), id="Ed25519"),
        pytest.param({"kid": f"{DID}#p256"}, P256, (f"{DID}#p256", None, None), id="ES256"),
        pytest.param({"kid": "key-1"}, ED, (f"{DID}#key-1", None, None), id="bare kid"),
        pytest.param({"kid": "key-2"}, OTHER_ED, (f"{DID}#key-2", None, None), id="another bare kid"),
        pytest.param({"typ": None}, ED, (f"{DID}#key-1", None, None), id="no typ"),
        pytest.param({"jku": "https://evil.example/jwks.json"}, ED, (f"{DID}#key-1", None, None), id="jku"),
        pytest.param({"iat": CREATED_AT}, ED, (f"{DID}#key-1", CREATED_AT, None), id="dated"),
        pytest.param({"iat": NOW + 300}, ED, (f"{DID}#key-1", NOW + 300, None), id="dated within the skew"),
        pytest.param({"iat": 0}, ED, (f"{DID}#key-1", 0, None), id="dated long ago"),
        pytest.param({"exp": NOW + 1}, ED, (f"{DID}#key-1", None, NOW + 1), id="ends"),
        pytest.param({"kid": "until-june"}, ED, (f"{DID}#until-june", None, 1781913600), id="its key ends"),
        pytest.param(
            {"kid": "until-june", "exp": NOW + 1}, ED, (f"{DID}#until-june", None, NOW + 1), id="it ends first"
        ),
    ],
)
def test_signed_by_the_domain(
    header: dict[str, Any], key: Any, expected: tuple[str, float | None, float | None]
) -> None:
    found = verdict(card(signature(CARD, key, **header)))
    method_id, signed_at, valid_until = expected
    assert found == Signed(DID, method_id, "jws", signed_at, valid_until)


@pytest.mark.parametrize(
    ("header", "key", "expected"),
    [
        pytest.param({"kid": f"{DID}#key-2"}, ED, Reason.SIGNATURE_INVALID, id="another key's name"),
        pytest.param({"kid": "did:web:evil.example#key-1"}, ED, Reason.VM_FOREIGN_DID, id="another DID"),
        pytest.param({"kid": f"did:key:{multikey(ED)}#{multikey(ED)}"}, ED, Reason.VM_FOREIGN_DID, id="did:key"),
        pytest.param({"kid": "https://example.com/keys#key-1"}, ED, Reason.VM_FOREIGN_DID, id="a URL"),
        pytest.param({"kid": "#key-1"}, ED, Reason.VM_FOREIGN_DID, id="a fragment"),
        pytest.param({"kid": ""}, ED, Reason.VM_FOREIGN_DID, id="an empty name"),
        pytest.param({"kid": "k" * 257}, ED, Reason.VM_FOREIGN_DID, id="a long name"),
        pytest.param({"kid": "did:web:example.com"}, ED, Reason.PROOF_MALFORMED, id="the DID alone"),
        pytest.param({"kid": None}, ED, Reason.PROOF_MALFORMED, id="no kid"),
        pytest.param({"kid": 7}, ED, Reason.PROOF_MALFORMED, id="kid as number"),
        pytest.param({"kid": "key-9"}, ED, Reason.VM_NOT_FOUND, id="unknown name"),
        pytest.param({"kid": "gone"}, ED, Reason.VM_REVOKED, id="revoked"),
        pytest.param({"kid": "p256"}, ED, Reason.KEY_SUITE_MISMATCH, id="key of another type"),
        pytest.param({"alg": "none"}, ED, Reason.CRYPTOSUITE_UNSUPPORTED, id="none"),
        pytest.param({"alg": "HS256"}, ED, Reason.CRYPTOSUITE_UNSUPPORTED, id="HS256"),
        pytest.param({"typ": "JWT"}, ED, Reason.JWS_HEADER_UNSUPPORTED, id="typ"),
        pytest.param({"jwk": {}}, ED, Reason.JWS_HEADER_UNSUPPORTED, id="jwk"),
        pytest.param({"x5u": "https://example.com/"}, ED, Reason.JWS_HEADER_UNSUPPORTED, id="x5u"),
        pytest.param({"crit": ["b64"], "b64": False}, ED, Reason.JWS_HEADER_UNSUPPORTED, id="crit"),
        pytest.param({"iat": NOW + 301}, ED, Reason.PROOF_NOT_YET_VALID, id="from the future"),
        pytest.param({"iat": "now"}, ED, Reason.PROOF_MALFORMED, id="iat as text"),
        pytest.param({"exp": NOW}, ED, Reason.PROOF_EXPIRED, id="ended"),
    ],
)
def test_not_signed_by_the_domain(header: dict[str, Any], key: Any, expected: Reason) -> None:
    found = verdict(card(signature(CARD, key, **header)))
    assert isinstance(found, Rejected) and found.reason is expected
    assert [failure.reason for failure in found.failures] == [expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(CARD, Reason.UNSIGNED, id="no signatures"),
        pytest.param(card(), Reason.UNSIGNED, id="an empty list of them"),
        pytest.param(card(*[signature(CARD)] * 8), None, id="eight"),
        pytest.param(card(*[signature(CARD)] * 9), Reason.TOO_MANY_PROOFS, id="nine"),
        pytest.param(card(None, signature(CARD, kid="x/y"), signature(CARD)), None, id="the last is good"),
        pytest.param(card(signature(CARD), name="Other"), Reason.SIGNATURE_INVALID, id="changed"),
        pytest.param(card(signature(CARD), iconUrl=""), Reason.SIGNATURE_INVALID, id="a default value added"),
        pytest.param(card(signature(CARD), proof={}), Reason.SIGNATURE_INVALID, id="a proof added"),
        pytest.param(card(signature({**CARD, "proof": {}}), proof={}), None, id="a proof that was signed"),
        pytest.param(
            card(signature(without(CARD, "skills"))),
            Reason.SIGNATURE_INVALID,
            id="signed without its default values",
        ),
        pytest.param({**CARD, "signatures": None}, Reason.PROOF_MALFORMED, id="null"),
        pytest.param({**CARD, "signatures": signature(CARD)}, Reason.PROOF_MALFORMED, id="not in a list"),
        pytest.param(card("x"), Reason.PROOF_MALFORMED, id="a text"),
        pytest.param(card({}), Reason.PROOF_MALFORMED, id="an empty object"),
        pytest.param(card({"protected": 7, "signature": ""}), Reason.PROOF_MALFORMED, id="header as number"),
        pytest.param(
            card({"protected": "e30", "signature": ""}), Reason.CRYPTOSUITE_UNSUPPORTED, id="empty header"
        ),
        pytest.param(
            card({"protected": base64url(b"[]"), "signature": ""}), Reason.PROOF_MALFORMED, id="header as list"
        ),
        pytest.param(card({**signature(CARD), "signature": "AA"}), Reason.PROOF_MALFORMED, id="short signature"),
        pytest.param(
            card({**signature(CARD), "header": {"a": 1}}), Reason.JWS_HEADER_UNSUPPORTED, id="second header"
        ),
        pytest.param(b"{", Reason.JSON_INVALID, id="no JSON"),
        pytest.param(b'{"name":"a","name":"b"}', Reason.JSON_DUPLICATE_KEY, id="repeated name"),
        pytest.param([], Reason.NOT_OBJECT, id="a list"),
        pytest.param(
            manifest(signatures=[signature(manifest())]), Reason.PROFILE_MISMATCH, id="a manifest signed by the key"
        ),
        pytest.param(card(signature(CARD), name=7), Reason.PROFILE_MISMATCH, id="no name"),
    ],
)
def test_cards(body: Any, expected: Reason | None) -> None:
    assert reason(verdict(body)) is expected


@pytest.mark.parametrize(
    ("anchor", "expected"),
    [
        (None, Reason.TRUST_ANCHOR_MISSING),
        (Anchor(DOCUMENT, NOW - 30 * DAY), None),
        (Anchor(DOCUMENT, NOW - 31 * DAY), Reason.TRUST_ANCHOR_EXPIRED),
        (Anchor(DOCUMENT, NOW, frozenset({multikey(ED)})), Reason.TRUST_ANCHOR_ON_PROBATION),
        (Anchor(DOCUMENT, NOW, frozenset({multikey(OTHER_ED)})), None),
        (Anchor(Rejected(Reason.DID_DOC_INVALID, "Broken."), NOW), Reason.DID_DOC_INVALID),
    ],
    ids=["none", "old", "too old", "key on probation", "other key on probation", "broken"],
)
def test_anchors(anchor: Anchor | None, expected: Reason | None) -> None:
    assert reason(verdict(card(signature(CARD)), anchor)) is expected
    assert reason(verdict(CARD, anchor)) is Reason.UNSIGNED


def test_the_anchor_is_of_another_did() -> None:
    assert reason(verdict(card(signature(CARD)), did="did:web:other.example")) is Reason.DID_DOC_ID_MISMATCH


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4) | st.just(signature(CARD)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["protected", "signature", "header", "alg"]), inner)
    ),
    max_leaves=8,
)


@given(JSON, JSON, JSON)
def test_members_of_any_type(signatures: Any, protected: Any, header: Any) -> None:
    encoded = base64url(json.dumps(header).encode())
    for listed in (
        signatures,
        [{"protected": protected, "signature": ""}],
        [{"protected": encoded, "signature": ""}],
    ):
        assert isinstance(verdict({**CARD, "signatures": listed}), Signed | Rejected)


@given(st.binary(max_size=60))
def test_any_bytes_are_refused(body: bytes) -> None:
    assert isinstance(verdict(body), Rejected)
