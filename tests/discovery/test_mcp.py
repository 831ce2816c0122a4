"""Server cards of every layout, and where they are looked for (MCP-1, MCP-2, MCP-4)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.cards.mcp import ServerCard, card_probes, server_card_url
from proxy.discovery.gate import NotADocument
from proxy.http.targets import parse_target
from tests.discovery.reading import parse_server_card

SAMPLES = Path(__file__).parent.parent / "samples" / "discovery"
BASE = parse_target("https://example.com/.well-known/mcp/server-card.json")
CURRENT: dict[str, Any] = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
    "name": "com.example/mcp",
    "version": "1.0.0",
    "description": "d",
    "remotes": [{"type": "streamable-http", "url": "https://mcp.example.com/mcp"}],
}
EARLIER: dict[str, Any] = {"serverInfo": {"name": "x", "version": "1"}, "endpoint": "https://mcp.example.com/mcp"}


def card(document: dict[str, Any]) -> ServerCard:
    found = parse_server_card(json.dumps(document).encode(), BASE)
    assert isinstance(found, ServerCard)
    return found


def flags(document: dict[str, Any]) -> list[tuple[str, str, bool]]:
    return [(finding.rule, finding.path, finding.is_warning) for finding in card(document).findings]


@pytest.mark.parametrize(
    "vector", json.loads((SAMPLES / "mcp_wellknown_shape_vectors.json").read_bytes()), ids=lambda v: v["shape"]
)
def test_shape_vectors(vector: dict[str, Any]) -> None:
    found = card(vector["doc"])
    assert found.shape == vector["shape"]
    assert [endpoint.url.uri for endpoint in found.endpoints] == list(filter(None, [vector["endpoint"]]))
    assert found.name in ("x", "com.example/mcp") and found.version in ("1", "1.0.0")


@pytest.mark.parametrize(
    ("document", "texts"),
    [
        (CURRENT, ("com.example/mcp", "1.0.0", "d")),
        (EARLIER, ("x", "1", None)),
        ({**EARLIER, "name": "y", "serverInfo": {"name": "x", "description": "z"}}, ("y", None, "z")),
        ({**EARLIER, "serverInfo": {"name": 1, "version": ""}, "description": []}, (None, None, None)),
        ({"endpoint": "/mcp", "serverInfo": "x"}, (None, None, None)),
    ],
    ids=str,
)
def test_texts(document: dict[str, Any], texts: tuple[str | None, ...]) -> None:
    found = card(document)
    assert (found.name, found.version, found.description) == texts


def test_a_current_card_has_no_findings() -> None:
    assert flags(CURRENT) == []
    assert flags({**CURRENT, "version": "2026.1.0-beta+x86", "name": "a/b", "description": "ü" * 100}) == []


BREACHES = [
    ("no schema", {"$schema": None}, "/$schema"),
    ("dated schema", {"$schema": CURRENT["$schema"].replace("v1", "2026-07-28")}, "/$schema"),
    ("name without a slash", {"name": "mcp"}, "/name"),
    ("name of two slashes", {"name": "a/b/c"}, "/name"),
    ("name too short", {"name": "a/"}, "/name"),
    ("name too long", {"name": "a/" + "b" * 199}, "/name"),
    ("name with a line end", {"name": "a/b\n"}, "/name"),
    ("name as number", {"name": 5}, "/name"),
    ("no version", {"version": ""}, "/version"),
    ("version too long", {"version": "1" * 256}, "/version"),
    *((f"version {text}", {"version": text}, "/version") for text in ("^1.2", "~1", ">=1", "1.x", "1.*", "1 || 2")),
    ("no description", {"description": ""}, "/description"),
    ("description too long", {"description": "x" * 101}, "/description"),
    ("description null", {"description": None}, "/description"),
    ("remote of another type", {"remotes": [*CURRENT["remotes"], {"type": "http", "url": "/x"}]}, "/remotes/1"),
    ("remote without url", {"remotes": [*CURRENT["remotes"], {"type": "sse"}]}, "/remotes/1"),
    ("tools", {"tools": [{"name": "t"}]}, "/tools"),
    ("resources", {"resources": []}, "/resources"),
    ("prompts", {"prompts": []}, "/prompts"),
]


@pytest.mark.parametrize(("more", "path"), [row[1:] for row in BREACHES], ids=[row[0] for row in BREACHES])
def test_breaches_of_the_current_layout(more: dict[str, Any], path: str) -> None:
    found = [flag for flag in flags({**CURRENT, **more}) if flag[0] == "MCP-2"]
    assert found == [("MCP-2", path, False)]
    assert len(card({**CURRENT, **more}).endpoints) >= 1


def test_remotes_of_another_type_than_a_list() -> None:
    assert ("MCP-2", "/remotes", False) in flags({**CURRENT, "remotes": {"url": "https://mcp.example.com/"}})


def test_a_template_is_allowed_and_leads_nowhere() -> None:
    remotes = [{"type": "sse", "url": "https://{tenant}.example.com/sse"}]
    assert flags({**CURRENT, "remotes": remotes}) == [("MCP-3", "/remotes/0/url", True), ("MCP-3", "", True)]


def test_another_layout_is_a_warning() -> None:
    assert flags(EARLIER) == [("MCP-2", "", True)]
    assert flags({**EARLIER, "tools": [{"name": "t"}]}) == [("MCP-2", "", True), ("MCP-4", "/tools", True)]
    assert flags({**EARLIER, "tools": True}) == [("MCP-2", "", True)]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"<html>", "html"),
        (b"ok", "not-json"),
        (b'{"endpoint": "\xff"}', "not-utf-8"),
        (b'{"a":' * 200_000, "too-deep"),
        (b"[]", "not-an-object"),
        (b'{"jsonrpc": "2.0", "error": {"code": -32000}}', "members-missing"),
        (b'{"url": "https://mcp.example.com/"}', "members-missing"),
    ],
)
def test_what_is_no_card(body: bytes, reason: str) -> None:
    found = parse_server_card(body, BASE)
    assert isinstance(found, NotADocument) and found.reason == reason


def test_a_large_card_with_its_tools_is_read() -> None:
    tools = [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(20_000)]
    assert [endpoint.url.host for endpoint in card({**EARLIER, "tools": tools}).endpoints] == ["mcp.example.com"]


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp/server-card"),
        ("https://mcp.example.com/mcp/", "https://mcp.example.com/mcp/server-card"),
        ("https://mcp.example.com", "https://mcp.example.com/server-card"),
        ("https://mcp.example.com:8443/a/b?key=1", "https://mcp.example.com:8443/a/b/server-card"),
    ],
)
def test_server_card_url(endpoint: str, url: str) -> None:
    assert server_card_url(parse_target(endpoint)).uri == url


SITE = parse_target("https://example.com/some/page?x")
CATALOGUED = parse_target("https://cards.example.net/card.json")
ENDPOINT = parse_target("https://mcp.example.com/mcp")


@pytest.mark.parametrize(
    ("catalogued", "endpoint", "probes"),
    [
        (None, None, [BASE.uri]),
        (CATALOGUED, None, [CATALOGUED.uri, BASE.uri]),
        (None, ENDPOINT, ["https://mcp.example.com/mcp/server-card", BASE.uri]),
        (CATALOGUED, ENDPOINT, [CATALOGUED.uri, "https://mcp.example.com/mcp/server-card", BASE.uri]),
        (BASE, None, [BASE.uri]),
    ],
)
def test_card_probes(catalogued: Any, endpoint: Any, probes: list[str]) -> None:
    assert [probe.uri for probe in card_probes(SITE, catalogued, endpoint)] == probes


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["https://a.example.com", "/"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["url", "type", "mcp", "primary", "endpoint", "sse", "x"]), inner)
    ),
    max_leaves=8,
)
MEMBERS = (
    *("$schema", "name", "version", "description", "remotes", "serverInfo", "transport", "transports", "endpoint"),
    *("serverUrl", "url", "endpoints", "servers", "mcpServers", "entries", "tools"),
)


@given(st.dictionaries(st.sampled_from(MEMBERS), ANYTHING))
@settings(max_examples=300, deadline=None)
def test_members_of_any_type(document: dict[str, Any]) -> None:
    body = json.dumps({**document, "name": "x", "version": "1"}).encode()
    assert isinstance(parse_server_card(body, BASE), ServerCard)


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_no_bytes_raise(body: bytes) -> None:
    assert isinstance(parse_server_card(body, BASE), ServerCard | NotADocument)
