"""The proof that an endpoint holds its key (DISCOVERY_FORMATS §2.1, AID-20 to AID-23; RFC 9421)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import http_sf
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.records.pka import (
    PkaReason,
    PkaRequest,
    PkaState,
    PkaVerdict,
    no_proof,
    request_fields,
    signature_base,
    verify,
)
from proxy.discovery.records.pkakeys import KeyRefused, PublicKey, base64url, parse_key, thumbprint
from proxy.http.fields import Fields
from proxy.http.targets import parse_target

NOW = 1_780_000_000.0
NONCE = bytes(range(32))
PRIVATE = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
KEY = PublicKey(PRIVATE.public_key().public_bytes_raw())
REQUEST = PkaRequest(KEY, NONCE, parse_target("https://API.example.com:443/mcp?x=1"))
BOUND_REQUEST = replace(REQUEST, domain="example.com")
UNBOUND = '("@method";req "@target-uri";req "@authority";req "@status")'
BOUND = '("@method";req "@target-uri";req "@authority";req "aid-domain";req "@status")'


@dataclass(frozen=True)
class Signer:
    """An endpoint's answer to REQUEST, written out apart from the code under test."""

    covered: str = UNBOUND
    created: object = int(NOW)
    expires: object = int(NOW) + 60
    keyid: object = f'"{thumbprint(KEY)}"'
    alg: object = '"ed25519"'
    nonce: object = f'"{base64url(NONCE)}"'
    tag: object = '"aid-pka-v2"'
    more: str = ""
    order: tuple[str, ...] = ("created", "expires", "keyid", "alg", "nonce", "tag")
    method: str = "GET"
    uri: str = "https://api.example.com/mcp?x=1"
    authority: str = "api.example.com"
    domain: str = "example.com"
    status: int = 200
    key: Ed25519PrivateKey = PRIVATE

    @property
    def parameters(self) -> str:
        pairs = "".join(f";{name}={getattr(self, name)}" for name in self.order)
        return f"{self.covered}{pairs}{self.more}"

    @property
    def signature(self) -> str:
        values = {
            '"@method";req': self.method,
            '"@target-uri";req': self.uri,
            '"@authority";req': self.authority,
            '"aid-domain";req': self.domain,
            '"@status"': str(self.status),
        }
        identifiers = [one for one in self.covered.strip("()").split(" ") if one in values]
        lines = [f"{one}: {values[one]}" for one in identifiers] + [f'"@signature-params": {self.parameters}']
        return base64.b64encode(self.key.sign("\n".join(lines).encode())).decode()

    def fields(self, **changes: str) -> Fields:
        lines = {
            "Cache-Control": "no-store",
            "Signature-Input": f"aid-pka={self.parameters}",
            "Signature": f"aid-pka=:{self.signature}:",
        }
        return Fields({**lines, **{name.replace("_", "-"): value for name, value in changes.items()}}.items())


def check(signer: Signer, request: PkaRequest = REQUEST, now: float = NOW) -> PkaVerdict:
    return verify(request, signer.status, signer.fields(), now)


def refused(reason: str) -> PkaVerdict:
    return PkaVerdict(PkaState.FAILED, PkaReason(reason))


@pytest.mark.parametrize(
    ("signer", "request_", "is_bound"),
    [
        (Signer(), REQUEST, False),
        (Signer(), BOUND_REQUEST, False),
        (Signer(covered=BOUND), BOUND_REQUEST, True),
        (Signer(status=401), REQUEST, False),
        (Signer(status=500), REQUEST, False),
        (Signer(alg='"Ed25519"'), REQUEST, False),
        (Signer(order=("tag", "nonce", "alg", "keyid", "expires", "created")), REQUEST, False),
        (Signer(expires=int(NOW) + 300), REQUEST, False),
        (Signer(created=int(NOW) + 30, expires=int(NOW) + 31), REQUEST, False),
        (Signer(created=int(NOW) - 60, expires=int(NOW) - 30), REQUEST, False),
    ],
    ids=[
        "plain",
        "not bound",
        "bound",
        "401",
        "500",
        "case of alg",
        "order",
        "window",
        "skew ahead",
        "skew behind",
    ],
)
def test_a_proof_that_holds(signer: Signer, request_: PkaRequest, is_bound: bool) -> None:
    assert check(signer, request_) == PkaVerdict(PkaState.VERIFIED, None, int(str(signer.created)), is_bound)


OTHER_KEY = Ed25519PrivateKey.from_private_bytes(b"\x08" * 32)


@pytest.mark.parametrize(
    ("signer", "reason"),
    [
        (Signer(key=OTHER_KEY), "signature"),
        (Signer(method="POST"), "signature"),
        (Signer(uri="https://api.example.com/mcp"), "signature"),
        (Signer(uri="https://api.example.com:443/mcp?x=1"), "signature"),
        (Signer(authority="api.example.com:443"), "signature"),
        (Signer(keyid=f'"{thumbprint(PublicKey(OTHER_KEY.public_key().public_bytes_raw()))}"'), "key_id"),
        (Signer(keyid=f'"{KEY.text}"'), "key_id"),
        (Signer(alg='"ecdsa-p256-sha256"'), "algorithm"),
        (Signer(nonce=f'"{base64url(NONCE[::-1])}"'), "nonce"),
        (Signer(nonce=f'"{base64url(NONCE)}="'), "nonce"),
        (Signer(tag='"aid-pka-v1"'), "tag"),
        (Signer(expires=int(NOW)), "window"),
        (Signer(expires=int(NOW) - 1), "window"),
        (Signer(expires=int(NOW) + 301), "window"),
        (Signer(created=int(NOW) + 31, expires=int(NOW) + 60), "too_early"),
        (Signer(created=int(NOW) - 90, expires=int(NOW) - 31), "expired"),
        (Signer(covered=BOUND), "domain_not_asked"),
        (Signer(covered='("@method";req "@target-uri";req "@authority";req "@status" "date")'), "components"),
        (Signer(covered='("@method";req "@target-uri";req "@authority";req)'), "components"),
        (Signer(covered='("@method" "@target-uri";req "@authority";req "@status")'), "components"),
        (Signer(covered='("@method";req "@target-uri";req "@authority";req "@status";req)'), "components"),
        (Signer(covered='("@method";req=1 "@target-uri";req "@authority";req "@status")'), "components"),
        (Signer(covered='("@target-uri";req "@method";req "@authority";req "@status")'), "components"),
        (Signer(covered="(method;req)"), "components"),
        (Signer(covered="()"), "components"),
        (Signer(created=f'"{int(NOW)}"'), "parameters"),
        (Signer(created=f"{int(NOW)}.5"), "parameters"),
        (Signer(created="?1", expires="?1"), "parameters"),
        (Signer(created=f"@{int(NOW)}"), "parameters"),
        (Signer(keyid=KEY.text.replace("_", "a").replace("-", "b").lower().lstrip("0123456789")), "parameters"),
        (Signer(alg="ed25519"), "parameters"),
        (Signer(nonce=f":{base64.b64encode(NONCE).decode()}:"), "parameters"),
        (Signer(more=";x=1"), "parameters"),
        (Signer(order=("created", "keyid", "alg", "nonce", "tag")), "parameters"),
        (Signer(order=("created", "expires", "keyid", "alg", "nonce")), "parameters"),
        (Signer(more=f";created={int(NOW)}"), "repeated"),
        (Signer(more=f';tag="aid-pka-v2",aid-pka={UNBOUND}'), "repeated"),
        (Signer(covered='("@method";req;req "@target-uri";req "@authority";req "@status")'), "repeated"),
        (Signer(status=302), "redirect"),
        (Signer(status=304), "redirect"),
    ],
)
def test_a_proof_that_does_not_hold(signer: Signer, reason: str) -> None:
    assert check(signer) == refused(reason)


def test_the_time_of_the_check_decides() -> None:
    assert check(Signer(), now=NOW + 90).state is PkaState.VERIFIED
    assert check(Signer(), now=NOW + 91) == refused("expired")
    assert check(Signer(), now=NOW - 30).state is PkaState.VERIFIED
    assert check(Signer(), now=NOW - 31) == refused("too_early")


def test_a_proof_for_another_domain_does_not_hold() -> None:
    assert check(Signer(covered=BOUND, domain="other.example"), BOUND_REQUEST) == refused("signature")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Cache_Control": "max-age=0"}, "cacheable"),
        ({"Cache_Control": "no-storely"}, "cacheable"),
        ({"Cache_Control": 'x="no-store"'}, "cacheable"),
        ({"Cache_Control": "private, NO-STORE"}, None),
        ({"Signature": f"aid-pka=:{Signer().signature}:;x"}, "malformed"),
        ({"Signature": f'aid-pka="{Signer().signature}"'}, "malformed"),
        ({"Signature": "aid-pka=:AAAA:"}, "malformed"),
        ({"Signature": "aid-pka"}, "malformed"),
        ({"Signature": f"sig=:{Signer().signature}:"}, "unsigned"),
        ({"Signature": f"aid-pka=:{Signer().signature}:, other=:AAAA:"}, None),
        ({"Signature": f"aid-pka=:{Signer().signature}:, aid-pka=:{Signer().signature}:"}, "repeated"),
        ({"Signature": f"AID-PKA=:{Signer().signature}:"}, "malformed"),
        ({"Signature": "é"}, "malformed"),
        ({"Signature": ""}, "unsigned"),
        ({"Signature_Input": f"sig={Signer().parameters}"}, "unsigned"),
        ({"Signature_Input": f"other=(), aid-pka={Signer().parameters}"}, None),
        ({"Signature_Input": 'aid-pka="x"'}, "malformed"),
        ({"Signature_Input": "aid-pka"}, "malformed"),
        ({"Signature_Input": f"aid-pka={UNBOUND};created=1;"}, "malformed"),
        ({"Signature_Input": "aid-pka=(" + "(" * 5000}, "malformed"),
    ],
)
def test_the_fields_of_the_answer(changes: Mapping[str, str], reason: str | None) -> None:
    verdict = verify(REQUEST, 200, Signer().fields(**changes), NOW)
    assert verdict.reason == reason
    assert (verdict.state is PkaState.VERIFIED) is (reason is None)


def test_fields_in_several_lines_are_one_field() -> None:
    apart = Signer().fields().plus(("signature", "other=:AAAA:"), ("signature-input", "other=()"))
    assert verify(REQUEST, 200, apart, NOW).state is PkaState.VERIFIED
    twice = Signer().fields().plus(("signature", f"aid-pka=:{Signer().signature}:"))
    assert verify(REQUEST, 200, twice, NOW) == refused("repeated")


@pytest.mark.parametrize(
    ("status", "request_", "state", "reason"),
    [
        (200, REQUEST, "failed", "unsigned"),
        (401, REQUEST, "failed", "unsigned"),
        (403, REQUEST, "failed", "unsigned"),
        (403, BOUND_REQUEST, "failed", "domain_refused"),
        (404, BOUND_REQUEST, "failed", "unsigned"),
        (429, REQUEST, "unverifiable", "unavailable"),
        (500, REQUEST, "unverifiable", "unavailable"),
        (503, BOUND_REQUEST, "unverifiable", "unavailable"),
        (301, REQUEST, "failed", "redirect"),
    ],
)
def test_an_answer_without_a_signature(status: int, request_: PkaRequest, state: str, reason: str) -> None:
    no_store = Fields([("Cache-Control", "no-store")])
    assert verify(request_, status, no_store, NOW) == PkaVerdict(PkaState(state), PkaReason(reason))


@pytest.mark.parametrize("missing", ["Signature", "Signature-Input"])
def test_half_a_signature_is_none(missing: str) -> None:
    for status in (200, 500):
        assert verify(REQUEST, status, Signer().fields().without([missing]), NOW) == refused("unsigned")


def test_where_no_proof_was_to_be_had_the_key_is_not_refuted() -> None:
    assert {reason for reason in PkaReason if no_proof(reason).state is PkaState.UNVERIFIABLE} == {
        PkaReason.UNAVAILABLE,
        PkaReason.LEGACY_KEY,
    }


def test_what_is_asked_for() -> None:
    asked = dict(request_fields(REQUEST))
    wanted = f'created;expires;keyid="{thumbprint(KEY)}";alg="ed25519";nonce="{base64url(NONCE)}";tag="aid-pka-v2"'
    assert asked == {"Accept-Signature": f"aid-pka={UNBOUND};{wanted}", "Cache-Control": "no-store"}
    http_sf.parse(asked["Accept-Signature"].encode(), tltype="dictionary")
    bound = dict(request_fields(BOUND_REQUEST))
    assert bound["Accept-Signature"] == f"aid-pka={BOUND};{wanted}"
    assert bound["AID-Domain"] == "example.com"


# The key of RFC 8037 A.1 to A.3, whose thumbprint the RFC prints.
RFC_8037_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"


def test_thumbprint() -> None:
    assert thumbprint(parse_key(RFC_8037_KEY)) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "length"),
        (RFC_8037_KEY + "=", "encoding"),
        (RFC_8037_KEY[:-1] + "p", "encoding"),  # bits beyond the last octet
        (RFC_8037_KEY.replace("_", "/"), "encoding"),
        (RFC_8037_KEY[:-3] + "é", "encoding"),
        (RFC_8037_KEY + "\n", "encoding"),
        ("A" * 41, "encoding"),
        (base64url(b"\x07" * 31), "length"),
        (base64url(b"\x07" * 33), "length"),
    ],
)
def test_a_text_that_is_no_key(text: str, reason: str) -> None:
    with pytest.raises(KeyRefused) as error:
        parse_key(text)
    assert error.value.reason == reason


def small_order_encodings() -> list[bytes]:
    """All encodings of the points whose order divides 8, found by the arithmetic of RFC 8032 §5.1."""
    p = 2**255 - 19
    d = -121665 * pow(121666, -1, p) % p
    # Doubling a point of order 8 gives y = 0, so x² = -y², and the curve equation becomes d·y⁴ + 2·y² - 1 = 0.
    root = square_root((1 + d) % p, p)
    squares = [(sign * root - 1) * pow(d, -1, p) % p for sign in (1, -1)]
    order_8 = [
        y for square in squares if pow(square, (p - 1) // 2, p) == 1 for y in both(square_root(square, p), p)
    ]
    values = [0, 1, p - 1, *order_8]
    encoded = {value + extra for value in values for extra in (0, p) if value + extra < 2**255}
    return [(y | sign << 255).to_bytes(32, "little") for y in sorted(encoded) for sign in (0, 1)]


def square_root(square: int, p: int) -> int:
    root = pow(square, (p + 3) // 8, p)
    return root if root * root % p == square else root * pow(2, (p - 1) // 4, p) % p


def both(root: int, p: int) -> tuple[int, int]:
    return root, p - root


def test_keys_of_small_order_are_refused() -> None:
    encodings = small_order_encodings()
    assert len(encodings) == 14
    for octets in encodings:
        with pytest.raises(KeyRefused) as error:
            parse_key(base64url(octets))
        assert error.value.reason == "small_order"


VECTORS = Path(__file__).resolve().parents[3] / "shared/vectors/http-sig/rfc9421.json"


@pytest.mark.skipif(not VECTORS.exists(), reason="the vectors of RFC 9421 are not here")
def test_the_base_and_signature_of_rfc_9421() -> None:
    vectors = json.loads(VECTORS.read_bytes())
    checked = 0
    for case in vectors["cases"]:
        message = vectors[case["of"]]
        parsed: Any = http_sf.parse(case["signatureInput"].encode(), tltype="dictionary")
        items, _ = parsed[case["label"]]
        components = [(http_sf.ser(item), value_of(message, item[0])) for item in items]
        base = signature_base(components, case["signatureInput"].partition("=")[2])
        assert base.decode() == case["signatureBase"]
        if case["alg"] == "ed25519":
            member: Any = http_sf.parse(case["signature"].encode(), tltype="dictionary")
            key = parse_key(case["jwk"]["x"])
            assert key.verifies(member[case["label"]][0], base)
            assert not key.verifies(member[case["label"]][0], base + b" ")
            checked += 1
    assert checked


def value_of(message: Mapping[str, Any], name: str) -> str:
    fields = Fields((name, value) for name, value in message["headers"])
    derived = {
        "@method": message.get("method"),
        "@path": message.get("target", "").partition("?")[0],
        "@authority": fields.get("host"),
        "@status": str(message.get("status")),
    }
    return str(derived[name] if name in derived else fields.get(name))


TEXTS = st.text(max_size=60) | st.sampled_from(
    [
        Signer().parameters,
        f"aid-pka={Signer().parameters}",
        "aid-pka=(",
        "aid-pka=:AA==:",
        "aid-pka=@99999999999999",
    ]
)


@given(st.integers(100, 599), TEXTS, TEXTS, TEXTS)
def test_no_answer_breaks_it(status: int, signature_input: str, signature: str, more: str) -> None:
    for lines in (
        [("Signature-Input", signature_input), ("Signature", signature)],
        [("Signature-Input", f"aid-pka={UNBOUND}{more}"), ("Signature", f"aid-pka=:{Signer().signature}:")],
        [("Signature-Input", f"aid-pka=({more});created=1"), ("Signature", f"aid-pka=:{more}:")],
    ):
        fields = Fields([("Cache-Control", "no-store"), *lines])
        assert verify(REQUEST, status, fields, NOW).state is not PkaState.VERIFIED
