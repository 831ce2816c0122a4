"""Agent cards of every generation, and what else answers at `agent.json` (A2A-1, A2A-2, A2A-4, A2A-6, OA-13)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.cards.a2a import (
    MOST_ELEMENTS,
    MOST_SCHEMES,
    AgentCard,
    Generation,
    is_plainly_card,
    sniff_agent_json,
)
from proxy.discovery.gate import NotADocument
from proxy.http.targets import parse_target
from tests.discovery.reading import parse_card

SAMPLES = Path(__file__).parent.parent / "samples" / "discovery"
BASE = parse_target("https://example.com/.well-known/agent-card.json")
METADATA = "https://id.example.com/.well-known/oauth-authorization-server"

CURRENT: dict[str, Any] = {
    "name": "A",
    "supportedInterfaces": [
        {"url": "https://a.example.com/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
}
EARLIER: dict[str, Any] = {"name": "A", "url": "https://a.example.com/rpc", "protocolVersion": "0.3.0"}


def card(document: dict[str, Any]) -> AgentCard:
    found = parse_card(json.dumps(document).encode(), BASE)
    assert isinstance(found, AgentCard)
    return found


def flags(document: dict[str, Any]) -> set[tuple[str, str]]:
    """Rule and place of every finding."""
    return {(finding.rule, finding.path) for finding in card(document).findings}


def test_the_sample_card() -> None:
    found = parse_card((SAMPLES / "a2a_card_v10.json").read_bytes(), BASE)
    assert isinstance(found, AgentCard)
    assert (found.generation, found.name, found.version) == ("1.0", "Example Quote Agent", "1.2.0")
    assert found.description == "Answers price questions."
    assert [(i.url.uri, i.binding, i.protocol_version) for i in found.interfaces] == [
        ("https://api.example.com/a2a/v1", "JSONRPC", "1.0"),
        ("https://api.example.com/a2a/rest", "HTTP+JSON", "1.0"),
    ]
    assert found.oauth2_metadata_urls == (METADATA,)
    assert (found.is_signed, found.findings) == (False, ())


@pytest.mark.parametrize(
    ("more", "generation"),
    [
        ({"supportedInterfaces": []}, "1.0"),
        ({"supportedInterfaces": [], "protocolVersion": "0.3.0", "url": "u"}, "1.0"),
        ({"protocolVersion": "0.3.0"}, "0.3"),
        ({"preferredTransport": "GRPC"}, "0.3"),
        ({"protocolVersion": "1.0", "url": "u"}, "0.3"),
        ({"protocolVersion": "0.2.6", "preferredTransport": "GRPC"}, "0.2"),
        ({"url": "https://a.example.com"}, "0.2"),
        ({"url": "u", "authentication": {"schemes": ["bearer"]}}, "0.2"),
        ({"url": "u", "protocolVersion": 3}, "0.2"),
    ],
    ids=str,
)
def test_generation(more: dict[str, Any], generation: str) -> None:
    assert card({"name": "A", **more}).generation is Generation(generation)


WILD = [
    ("capabilities as list", {"capabilities": ["streaming"]}, ("A2A-2", "/capabilities")),
    ("skills as texts", {"skills": [{"id": "a"}, "quote"]}, ("A2A-2", "/skills/1")),
    ("skills as object", {"skills": {"quote": {}}}, ("A2A-2", "/skills")),
    ("skills null", {"skills": None}, ("A2A-2", "/skills")),
    ("input mode as word", {"defaultInputModes": ["text/plain", "text"]}, ("A2A-2", "/defaultInputModes/1")),
    ("output mode as number", {"defaultOutputModes": [1]}, ("A2A-2", "/defaultOutputModes/0")),
    ("modes as text", {"defaultOutputModes": "text/plain"}, ("A2A-2", "/defaultOutputModes")),
    ("description as object", {"description": {"en": "x"}}, ("A2A-2", "/description")),
    ("version as number", {"version": 1}, ("A2A-2", "/version")),
    ("schemes as list", {"securitySchemes": []}, ("A2A-2", "/securitySchemes")),
    ("signatures as object", {"signatures": {}}, ("A2A-4", "/signatures")),
    ("signature as text", {"signatures": ["x"]}, ("A2A-4", "/signatures/0")),
    ("signature halved", {"signatures": [{"protected": "x"}]}, ("A2A-4", "/signatures/0")),
]


@pytest.mark.parametrize(("more", "flag"), [row[1:] for row in WILD], ids=[row[0] for row in WILD])
@pytest.mark.parametrize("plain", [CURRENT, EARLIER], ids=["1.0", "0.3"])
def test_wild_errors_are_flagged_and_the_card_is_read(
    plain: dict[str, Any], more: dict[str, Any], flag: tuple[str, str]
) -> None:
    assert flags(plain) == set()
    assert flags({**plain, **more}) == {flag}
    assert card({**plain, **more}).interfaces == card(plain).interfaces


def test_texts_of_another_type_are_absent() -> None:
    found = card({**CURRENT, "description": 1, "version": ["1"]})
    assert (found.description, found.version) == (None, None)


@pytest.mark.parametrize(
    ("more", "signed"),
    [
        ({}, False),
        ({"signatures": []}, False),
        ({"signatures": ["x"]}, False),
        ({"signatures": [{"protected": "e30", "signature": "AA"}]}, True),
        ({"signatures": [{"protected": "e30", "signature": "AA"}, {"protected": "e30"}]}, False),
    ],
    ids=str,
)
def test_signed_means_that_there_is_something_to_verify(more: dict[str, Any], signed: bool) -> None:
    assert card({**CURRENT, **more}).is_signed is signed


@pytest.mark.parametrize(
    ("scheme", "urls", "flagged"),
    [
        ({"oauth2SecurityScheme": {"oauth2MetadataUrl": METADATA}}, (METADATA,), False),
        ({"type": "oauth2", "oauth2MetadataUrl": METADATA}, (METADATA,), False),
        ({"oauth2MetadataUrl": "https://ID.example.com"}, ("https://ID.example.com",), False),
        ({"oauth2SecurityScheme": {"flows": {}}}, (), False),
        ({"oauth2SecurityScheme": "x"}, (), False),
        ("apiKey", (), False),
        ({"oauth2MetadataUrl": "http://id.example.com/"}, (), True),
        ({"oauth2MetadataUrl": "/oauth"}, (), True),
        ({"oauth2MetadataUrl": "https://169.254.169.254/"}, (), True),
        ({"oauth2MetadataUrl": 7}, (), True),
    ],
    ids=str,
)
def test_oauth2_metadata_urls(scheme: object, urls: tuple[str, ...], flagged: bool) -> None:
    document = {**CURRENT, "securitySchemes": {"s": scheme, "t": scheme}}
    assert card(document).oauth2_metadata_urls == urls
    assert flags(document) == ({("OA-13", "/securitySchemes")} if flagged else set())


def test_a_card_of_very_many_schemes_is_read_in_part() -> None:
    schemes = {str(n): {"oauth2MetadataUrl": f"https://id{n}.example.com/"} for n in range(5000)}
    found = card({**CURRENT, "securitySchemes": schemes})
    assert len(found.oauth2_metadata_urls) == MOST_SCHEMES
    assert [(one.rule, one.path, one.is_warning) for one in found.findings] == [("A2A-2", "/securitySchemes", True)]


@pytest.mark.parametrize("name", ["skills", "signatures", "defaultInputModes"])
def test_of_very_many_elements_the_first_are_looked_at(name: str) -> None:
    found = card({**CURRENT, name: [0] * (MOST_ELEMENTS + 5)})
    wrong = [(one.path, one.is_warning) for one in found.findings if one.path.startswith(f"/{name}")]
    assert wrong == [(f"/{name}", True), (f"/{name}/0", False)]
    assert f"{MOST_ELEMENTS} of {MOST_ELEMENTS}" in found.findings[-1].detail


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"<!doctype html>", "html"),
        (b"Not Found", "not-json"),
        (b'{"name": "\xff", "url": "u"}', "not-utf-8"),
        (b"[" * 100_000, "too-deep"),
        (b'{"name": "A", "url": "u", "x": ' + b"[" * 40 + b"]" * 40 + b"}", "too-deep"),
        (b"[]", "not-an-object"),
        (b"null", "not-an-object"),
        (b'{"name": "A"}', "members-missing"),
        (b'{"url": "https://a.example.com"}', "members-missing"),
        (b'{"name": null, "url": "u"}', "members-missing"),
        (b'{"error": "unauthorized"}', "members-missing"),
        (b'{"aid_version": "1.0", "identity": {"name": "x"}}', "members-missing"),
    ],
)
def test_what_is_no_card(body: bytes, reason: str) -> None:
    found = parse_card(body, BASE)
    assert isinstance(found, NotADocument) and found.reason == reason


def test_of_a_repeated_name_the_last_one_counts() -> None:
    found = parse_card(b'{"name": "A", "name": "B", "url": "https://a.example.com/"}', BASE)
    assert isinstance(found, AgentCard) and found.name == "B"


@pytest.mark.parametrize(
    "vector", json.loads((SAMPLES / "legacy_agent_json_sniff.json").read_bytes()), ids=lambda v: v["kind"]
)
def test_agent_json_vectors(vector: dict[str, Any]) -> None:
    assert sniff_agent_json(vector["doc"]) == vector["kind"]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (CURRENT, "a2a"),
        (EARLIER, "a2a"),
        ({"name": "A", "authentication": {"schemes": ["bearer"]}}, "a2a<=0.2"),
        ({"name": "A", "authentication": {"schemes": "bearer"}}, "unknown"),
        ({"name": "A", "authentication": []}, "unknown"),
        ({"name": "", "url": "u"}, "unknown"),
        ({"aid_version": "1.0", "identity": {}, "name": "A", "url": "https://a.example.com"}, "a2a<=0.2"),
        ({"aid_version": "1.0", "identity": "x"}, "unknown"),
        ({"aid_version": 1, "identity": {}}, "unknown"),
        ({"v": "aid1", "uri": "https://a.example.com/"}, "aid-wellknown"),
        ({"v": "aid1"}, "unknown"),
        ({"v": "uaix1", "uri": "https://a.example.com/"}, "unknown"),
        ({"v": 1, "u": "x"}, "unknown"),
        ([], "unknown"),
        (None, "unknown"),
        ("aid2", "unknown"),
    ],
    ids=str,
)
def test_agent_json_kind(value: object, kind: str) -> None:
    assert sniff_agent_json(value) == kind


@pytest.mark.parametrize(
    ("value", "is_plain"),
    [
        ({"name": "A", "supportedInterfaces": []}, True),
        ({"name": "A", "preferredTransport": "GRPC"}, True),
        ({"name": "A", "url": "https://example.com/", "defaultInputModes": []}, True),
        ({"name": "A", "url": "https://example.com/"}, False),
        ({"name": "A", "protocolVersion": "2025-06-18"}, False),
        ({"supportedInterfaces": []}, False),
        ([], False),
        (None, False),
    ],
)
def test_what_no_other_card_has(value: object, is_plain: bool) -> None:
    assert is_plainly_card(value) is is_plain


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["https://a.example.com", "/"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = (
    *("name", "description", "version", "url", "supportedInterfaces", "additionalInterfaces", "preferredTransport"),
    *("protocolVersion", "capabilities", "skills", "securitySchemes", "signatures", "authentication"),
    *("defaultInputModes", "defaultOutputModes", "supportsAuthenticatedExtendedCard"),
)


@given(st.dictionaries(st.sampled_from(MEMBERS), ANYTHING))
@settings(max_examples=200, deadline=None)
def test_members_of_any_type(document: dict[str, Any]) -> None:
    sniff_agent_json(document)
    assert isinstance(
        parse_card(json.dumps({"url": "u", **document, "name": "A"}).encode(), BASE), AgentCard | NotADocument
    )


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_no_bytes_raise(body: bytes) -> None:
    assert isinstance(parse_card(body, BASE), AgentCard | NotADocument)
