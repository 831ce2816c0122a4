"""The uaix1 record at `_agent.<host>` (DISCOVERY_FORMATS §1.1, U-T1 to U-T7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.records.uaix1 import (
    Uaix1,
    Uaix1Error,
    Uaix1Reason,
    choose_uaix1,
    default_endpoint,
    parse_uaix1,
)

HOST = "shop.example.com"
MANIFEST = f"https://{HOST}/.well-known/uaix-agent-access.json"


def read(text: str, *, secure: bool = False) -> Uaix1 | Uaix1Error:
    return parse_uaix1(text, HOST, secure=secure)


def record(text: str, *, secure: bool = False) -> Uaix1:
    reading = read(text, secure=secure)
    assert isinstance(reading, Uaix1), reading
    return reading


@pytest.mark.parametrize(
    ("text", "endpoint", "did"),
    [
        (f"v=uaix1; endpoint={MANIFEST}; did=did:web:{HOST}", MANIFEST, f"did:web:{HOST}"),
        (f"v=uaix1;endpoint={MANIFEST}", MANIFEST, None),
        (f"v=uaix1;endpoint={MANIFEST};", MANIFEST, None),
        (f" V = uaix1 ; Endpoint = {MANIFEST} ; DID=did:web:{HOST}", MANIFEST, f"did:web:{HOST}"),
        ("v=uaix1", None, None),
        (f"v=uaix1; did=did:web:{HOST}", None, f"did:web:{HOST}"),
        (f"v=uaix1; endpoint={MANIFEST}; note=x; y=2", MANIFEST, None),
        (f"v=uaix1; endpoint=https://{HOST}:8443/m?a=b=c", f"https://{HOST}:8443/m?a=b=c", None),
        (f"v=uaix1; endpoint={MANIFEST}#part", MANIFEST, None),
    ],
    ids=[
        "full",
        "no did",
        "semicolon at the end",
        "case and spaces",
        "neither",
        "did alone",
        "unknown keys",
        "port and query",
        "fragment",
    ],
)
def test_valid_records(text: str, endpoint: str | None, did: str | None) -> None:
    reading = record(text)
    assert (reading.endpoint and reading.endpoint.uri) == endpoint
    assert reading.did == did
    assert not reading.needs_proof
    assert not reading.is_did_ignored
    expected = {"endpoint": endpoint, "did": did}
    assert reading.value == {name: value for name, value in expected.items() if value}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("v=uaix2; endpoint=https://shop.example.com/", "unknown_version"),
        ("v=UAIX1; endpoint=https://shop.example.com/", "unknown_version"),
        (f"endpoint={MANIFEST}; v=uaix1", "unknown_version"),
        ("", "unknown_version"),
        ("v=uaix1; endpoint", "malformed"),
        ("v=uaix1; endpoint=", "malformed"),
        ("v=uaix1; =x", "malformed"),
        ("v=uaix1; endpoint=/m.json", "malformed"),
        ("v=uaix1; endpoint=https://", "malformed"),
        ("v=uaix1; endpoint=https://shop.example.com/a b", "malformed"),
        ("v=uaix1; endpoint=https://shop.example.com/../x", "malformed"),
        ("v=uaix1; endpoint=https://a.example.com/m; endpoint=https://b.example.com/m", "duplicate_key"),
        (f"v=uaix1; v=uaix1; endpoint={MANIFEST}", "duplicate_key"),
        (f"v=uaix1; did=did:web:{HOST}; DID=did:web:{HOST}", "duplicate_key"),
        ("v=uaix1; endpoint=http://shop.example.com/m.json", "https_required"),
        ("v=uaix1; endpoint=wss://shop.example.com/m.json", "https_required"),
        ("v=uaix1; endpoint=https://u:p@shop.example.com/m.json", "userinfo"),
        ("v=uaix1; endpoint=https://169.254.169.254/latest", "ssrf"),
        ("v=uaix1; endpoint=https://[::1]/", "ssrf"),
        ("v=uaix1; endpoint=https://localhost/", "ssrf"),
        ("v=uaix1; endpoint=https://shop.example.com:25/", "port"),
    ],
)
def test_refused_records(text: str, reason: str) -> None:
    reading = read(text)
    assert isinstance(reading, Uaix1Error)
    assert reading.reason == reason
    assert reading.detail.endswith(".")


@pytest.mark.parametrize(
    ("endpoint", "secure", "needs_proof"),
    [
        (MANIFEST, False, False),
        (MANIFEST, True, False),
        ("https://cdn.example.net/m.json", False, True),
        ("https://cdn.example.net/m.json", True, False),
        ("https://www.shop.example.com/m.json", False, True),  # the exact host counts, not the domain
        (f"https://{HOST.upper()}/m.json", False, False),
    ],
)
def test_an_endpoint_elsewhere_needs_proof_or_dnssec(endpoint: str, secure: bool, needs_proof: bool) -> None:
    assert record(f"v=uaix1; endpoint={endpoint}", secure=secure).needs_proof is needs_proof


@pytest.mark.parametrize(
    ("did", "secure", "holds"),
    [
        (f"did:web:{HOST}", False, True),
        (f"did:web:{HOST}%3A8443", False, True),
        (f"did:web:{HOST}:agents:shop", False, True),
        (f"did:webvh:QmScid:{HOST}", False, True),
        (f"did:webvh:QmScid:{HOST}:path", False, True),
        ("did:web:cdn.example.net", True, True),  # the endpoint's host, which DNSSEC vouches for
        ("did:web:cdn.example.net", False, False),
        ("did:web:example.com", False, False),
        (f"did:web:{HOST.upper()}", False, False),
        (f"did:web:{HOST}#key-1", False, False),
        (f"did:web:{HOST}/x", False, False),
        (f"did:webvh:{HOST}", False, False),
        ("did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", True, False),
        ("shop.example.com", False, False),
        (f"did:web:{HOST}:{'a' * 512}", False, False),
    ],
)
def test_only_a_did_of_the_host_vouches(did: str, secure: bool, holds: bool) -> None:
    reading = record(f"v=uaix1; endpoint=https://cdn.example.net/m.json; did={did}", secure=secure)
    assert reading.did == (did if holds else None)
    assert reading.is_did_ignored is not holds


def test_a_did_of_the_endpoint_alone_never_vouches_without_an_endpoint() -> None:
    assert record("v=uaix1; did=did:web:cdn.example.net", secure=True).is_did_ignored


GOOD = f"v=uaix1; endpoint={MANIFEST}"
OTHER = "v=uaix1; endpoint=https://shop.example.com/b.json"
BAD = "v=uaix1; endpoint=http://shop.example.com/"


@pytest.mark.parametrize(
    ("texts", "outcome"),
    [
        ([], "no_record"),
        ([GOOD], MANIFEST),
        ([GOOD, BAD], MANIFEST),
        ([GOOD, f"v=uaix1 ;  endpoint={MANIFEST}"], MANIFEST),
        ([GOOD, OTHER], "ambiguous"),
        ([GOOD, OTHER, BAD], "ambiguous"),
        ([BAD], "https_required"),
        ([BAD, "v=uaix1; did"], "https_required"),
    ],
    ids=["none", "one", "bad sibling", "the same twice", "two", "two and a bad one", "bad", "two bad"],
)
def test_exactly_one_valid_record_holds(texts: list[str], outcome: str) -> None:
    readings = [read(text) for text in texts]
    for order in (readings, readings[::-1]):
        chosen = choose_uaix1(order)
        if isinstance(chosen, Uaix1):
            assert chosen.endpoint is not None
            assert chosen.endpoint.uri == outcome
        else:
            assert chosen.reason == outcome


def test_the_default_place_is_on_the_host_itself() -> None:
    assert default_endpoint(HOST).uri == MANIFEST


@given(st.text(max_size=300), st.booleans())
def test_no_text_breaks_it(text: str, secure: bool) -> None:
    for whole in (text, f"v=uaix1;{text}", f"v=uaix1;endpoint={text}", f"v=uaix1;did={text}"):
        reading = read(whole, secure=secure)
        if isinstance(reading, Uaix1Error):
            assert reading.reason in Uaix1Reason
