"""WWW-Authenticate: challenges, and the metadata that they point at (RFC 9110 §11.6.1, OA-1)."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.authorization.challenges import (
    Challenge,
    MetadataLocated,
    MetadataRefused,
    parse_challenges,
    resource_metadata,
)

SAMPLES = Path(__file__).parent.parent / "samples" / "discovery"
VECTORS: list[dict[str, Any]] = json.loads((SAMPLES / "oauth_derivation_vectors.json").read_bytes())[
    "www_authenticate"
]
URL = "https://api.example.com/x"


def located(*values: str) -> str | None:
    """The URL that is found, or the reason against the one that is refused."""
    match resource_metadata(parse_challenges(values)):
        case MetadataLocated(url, published):
            assert published.startswith("https://")
            return url.uri
        case MetadataRefused(reason, detail):
            assert detail
            return reason.value
    return None


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["h"])
def test_vectors(vector: dict[str, Any]) -> None:
    expected = vector["rm"] or "https_required"
    assert located(vector["h"]) == expected


CHALLENGES: list[tuple[str, list[tuple[str, str | None, dict[str, str]]]]] = [
    ("", []),
    (",, ,", []),
    ("Basic", [("basic", None, {})]),
    ("Basic, Bearer", [("basic", None, {}), ("bearer", None, {})]),
    ("Negotiate abc==", [("negotiate", "abc==", {})]),
    ("Negotiate\tabc=, Basic Realm=x", [("negotiate", "abc=", {}), ("basic", None, {"realm": "x"})]),
    ('Bearer realm = "a, b", error="x"', [("bearer", None, {"realm": "a, b", "error": "x"})]),
    ('Bearer , realm="a"', [("bearer", None, {"realm": "a"})]),
    (r'Bearer realm="a\"b\\"', [("bearer", None, {"realm": 'a"b\\'})]),
    ('Bearer realm=""', [("bearer", None, {"realm": ""})]),
    ('Bearer a="Basic realm=x, DPoP"', [("bearer", None, {"a": "Basic realm=x, DPoP"})]),
    ('Bearer realm="a" error="b"', [("bearer", None, {"realm": "a", "error": "b"})]),
    ('Bearer  realm=a ,  DPoP  algs="E P"', [("bearer", None, {"realm": "a"}), ("dpop", None, {"algs": "E P"})]),
    ('Bearer realm="a", Basic', [("bearer", None, {"realm": "a"}), ("basic", None, {})]),
    ('realm="a", Bearer', [("bearer", None, {})]),
    ('Bearer realm="unclosed, Basic realm=x', [("bearer", None, {}), ("basic", None, {"realm": "x"})]),
    ("Bearer realm=", [("bearer", "realm=", {})]),
    ("Bearer = x", []),
    ('Bearer {"a": 1}', [("bearer", None, {})]),
    ("<html>", []),
    ("Bär realm=x", []),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), CHALLENGES, ids=[row[0] or "empty" for row in CHALLENGES])
def test_challenges(value: str, expected: list[tuple[str, str | None, dict[str, str]]]) -> None:
    found = parse_challenges([value])
    assert [(c.scheme, c.token68, dict(c.parameters)) for c in found] == expected


def test_every_line_counts() -> None:
    assert [challenge.scheme for challenge in parse_challenges(["Basic", "Bearer, DPoP"])] == [
        "basic",
        "bearer",
        "dpop",
    ]
    assert parse_challenges(["Bearer", 'realm="a"']) == (Challenge("bearer", None, ()),)


def test_of_a_repeated_parameter_the_first_counts() -> None:
    [challenge] = parse_challenges(['Bearer a="1", A="2"'])
    assert challenge.parameters == (("a", "1"), ("a", "2"))
    assert (challenge.get("a"), challenge.get("b")) == ("1", None)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([f'Bearer resource_metadata="{URL}"'], URL),
        ([f"Bearer resource_metadata={URL}"], URL),
        ([f"Bearer Resource_Metadata = {URL}, scope=x"], URL),
        ([f'DPoP resource_metadata="{URL}"'], URL),
        ([f'Bearer error="invalid_token" resource_metadata="{URL}"'], URL),
        (["Basic realm=x", f'Bearer resource_metadata="{URL}"'], URL),
        ([f'Bearer resource_metadata="http://a.example.com/", DPoP resource_metadata="{URL}"'], URL),
        ([f'Bearer resource_metadata="", DPoP resource_metadata="{URL}"'], URL),
        ([f'Bearer resource_metadata="{URL}?a=b,c#d"'], f"{URL}?a=b,c"),
        (['Bearer resource_metadata="https://elsewhere.example.net/x"'], "https://elsewhere.example.net/x"),
        (['Bearer resource_metadata="https://169.254.169.254/latest"'], "ssrf"),
        (['Bearer resource_metadata="https://[::1]/"'], "ssrf"),
        (['Bearer resource_metadata="https://localhost/"'], "ssrf"),
        (['Bearer resource_metadata="https://u:p@api.example.com/"'], "userinfo"),
        (['Bearer resource_metadata="https://api.example.com:22/"'], "port"),
        (['Bearer resource_metadata="/.well-known/oauth-protected-resource"'], "malformed"),
        (['Bearer resource_metadata="https://a b/"'], "malformed"),
        (['Bearer resource_metadata="http://a.example.com/", DPoP resource_metadata="/x"'], "https_required"),
        (['Bearer resource_metadata=""'], None),
        (["Bearer"], None),
        ([f'Bearer realm="resource_metadata={URL}"'], None),
        ([f'resource_metadata="{URL}"'], None),
        ([], None),
    ],
    ids=str,
)
def test_resource_metadata(values: list[str], expected: str | None) -> None:
    assert located(*values) == expected


HOSTILE = [
    "a" * 300_000,
    "a " * 150_000,
    "Bearer " + "a=" * 150_000,
    "Bearer " + 'a="' * 100_000,
    "Bearer " + 'a="\\' * 75_000,
    "Bearer a" + " " * 300_000,
    "Bearer " + "a  " * 100_000,
    "Bearer " + "," * 300_000,
    'Bearer a="' + "\\" * 300_000,
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: value[:16])
def test_a_hostile_field_is_read_in_linear_time(value: str) -> None:
    started = time.process_time()
    parse_challenges([value])
    assert time.process_time() - started < 2.0


@given(st.lists(st.text(max_size=60) | st.text('Bearer abc=",\\ \t', max_size=60), max_size=4))
@settings(max_examples=300, deadline=None)
def test_no_text_raises(values: list[str]) -> None:
    resource_metadata(parse_challenges(values))
