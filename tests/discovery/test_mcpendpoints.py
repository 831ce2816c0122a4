"""Where each layout of a server card says that the server listens (MCP-3, MCP-6, C-10)."""

import json
from pathlib import Path
from typing import Any

import pytest

from proxy.discovery.cards.mcpendpoints import MOST_ENDPOINTS, read_endpoints
from proxy.discovery.findings import Finding
from proxy.http.targets import parse_target

SAMPLES = Path(__file__).parent.parent / "samples" / "discovery"
BASE = parse_target("https://example.com/.well-known/mcp/server-card.json")
URL = "https://mcp.example.com/mcp"
OTHER = "https://other.example.com/"


def read(card: dict[str, Any], base: Any = BASE) -> tuple[str, list[tuple[str, str]], list[Finding]]:
    findings: list[Finding] = []
    shape, endpoints = read_endpoints(card, base, findings)
    return shape.value, [(endpoint.url.uri, endpoint.transport.value) for endpoint in endpoints], findings


@pytest.mark.parametrize(
    "vector", json.loads((SAMPLES / "mcp_wellknown_shape_vectors.json").read_bytes()), ids=lambda v: v["shape"]
)
def test_shape_vectors(vector: dict[str, Any]) -> None:
    shape, endpoints, _ = read(vector["doc"], parse_target(vector["base"]) if "base" in vector else BASE)
    assert shape == vector["shape"]
    assert [url for url, _ in endpoints] == ([] if vector["endpoint"] is None else [vector["endpoint"]])


LAYOUTS = [
    ("remotes", {"remotes": [{"type": "sse", "url": URL}]}, "sep2127", "sse"),
    ("remote without a type", {"remotes": [{"url": URL}]}, "sep2127", "unstated"),
    ("transport", {"transport": {"type": "http", "endpoint": URL}}, "sep1649", "streamable-http"),
    ("transport with url", {"transport": {"type": "streamable_http", "url": URL}}, "sep1649", "streamable-http"),
    ("endpoint", {"endpoint": URL}, "loose", "unstated"),
    ("endpoint, transport", {"endpoint": URL, "transport": "streamableHttp"}, "loose", "streamable-http"),
    ("endpoint, type", {"endpoint": URL, "transport": {"type": "SSE"}}, "loose", "sse"),
    ("endpoint, foreign type", {"endpoint": URL, "type": "mcp-server"}, "loose", "unstated"),
    ("endpoint, list of transports", {"endpoint": URL, "transport": ["http"]}, "loose", "unstated"),
    ("serverUrl", {"serverUrl": URL}, "loose", "unstated"),
    ("url", {"url": URL}, "flat", "unstated"),
    ("primary", {"endpoints": {"mcp": {"primary": URL}}}, "loose", "unstated"),
    ("endpoints as text", {"endpoints": {"mcp": URL}}, "loose", "unstated"),
    ("transports", {"transports": {"stdio": "x", "sse": {"url": URL}}}, "loose", "sse"),
    (
        "transports with endpoint",
        {"transports": {"Streamable HTTP": {"endpoint": URL}}},
        "loose",
        "streamable-http",
    ),
    ("servers", {"servers": [{"name": "a", "url": URL, "type": "http"}]}, "list", "streamable-http"),
    ("servers of cards", {"servers": [{"remotes": [{"type": "sse", "url": URL}]}]}, "list", "sse"),
    ("servers as map", {"servers": {"a": {"serverUrl": URL}}}, "list", "unstated"),
    ("mcpServers", {"mcpServers": {"a": {"url": URL, "transport": "sse"}}}, "list", "sse"),
    ("list before url", {"url": OTHER, "mcpServers": {"a": {"url": URL}}}, "list", "unstated"),
    ("endpoint before list", {"endpoint": URL, "servers": [{"url": OTHER}]}, "loose", "unstated"),
]


@pytest.mark.parametrize(
    ("card", "shape", "transport"), [row[1:] for row in LAYOUTS], ids=[row[0] for row in LAYOUTS]
)
def test_layouts(card: dict[str, Any], shape: str, transport: str) -> None:
    assert read(card)[:2] == (shape, [(URL, transport)])
    assert read(card)[2] == []


def test_order_of_places() -> None:
    card: dict[str, Any] = {
        "endpoints": {"mcp": {"primary": "https://f.example.com/"}},
        "url": "https://e.example.com/",
        "serverUrl": "https://d.example.com/",
        "endpoint": "https://c.example.com/",
        "transport": {"endpoint": "https://b.example.com/"},
        "remotes": [{"url": "https://a.example.com/"}],
    }
    order = []
    for place in ("remotes", "transport", "endpoint", "serverUrl", "url", "endpoints"):
        order.append(read(card)[1][0][0])
        del card[place]
    assert order == [f"https://{host}.example.com/" for host in "abcdef"]


def test_streamable_http_comes_before_sse() -> None:
    types = ["sse", None, "streamable-http", "sse", "http"]
    remotes = [{"type": name, "url": f"https://{n}.example.com/"} for n, name in enumerate(types)]
    assert [url[8] for url, _ in read({"remotes": remotes})[1]] == ["2", "4", "1", "0", "3"]


def test_one_endpoint_listed_twice_is_one() -> None:
    remotes = [{"type": "sse", "url": URL}, {"type": "http", "url": URL}, {"type": "sse", "url": f"{URL}#x"}]
    assert read({"remotes": remotes})[1] == [(URL, "streamable-http"), (URL, "sse")]


@pytest.mark.parametrize(
    ("published", "identifier"),
    [
        ("https://mcp.example.com", "https://mcp.example.com"),
        ("https://MCP.example.com:443/a", "https://MCP.example.com:443/a"),
        ("/mcp", "https://example.com/mcp"),
        ("mcp", "https://example.com/.well-known/mcp/mcp"),
    ],
)
def test_the_identifier_is_the_published_text(published: str, identifier: str) -> None:
    [endpoint] = read_endpoints({"url": published}, BASE, [])[1]
    assert endpoint.identifier == identifier


FLAGGED = [
    ("template", {"remotes": [{"type": "sse", "url": "https://{host}/mcp"}]}, "sep2127", "/remotes/0/url", True),
    ("stdio", {"mcpServers": {"a": {"type": "stdio", "command": "x"}}}, "list", "/mcpServers", True),
    ("command alone", {"mcpServers": {"a": {"command": "x"}}}, "list", "/mcpServers", True),
    ("list element", {"servers": ["x", {"url": "ftp://a.example.com/"}]}, "list", "/servers/1/url", False),
    ("unknown transport", {"url": URL, "transport": "websocket"}, "flat", "/url", True),
    ("null", {"endpoint": None}, "loose", "/endpoint", True),
    ("number", {"endpoint": 5}, "loose", "/endpoint", False),
    ("empty", {"serverUrl": ""}, "loose", "/serverUrl", False),
    ("http", {"url": "http://mcp.example.com/"}, "flat", "/url", False),
    ("websocket", {"url": "wss://mcp.example.com/"}, "flat", "/url", False),
    ("private", {"transport": {"endpoint": "https://10.0.0.1/mcp"}}, "sep1649", "/transport/endpoint", False),
    ("metadata address", {"remotes": [{"url": "https://169.254.169.254/"}]}, "sep2127", "/remotes/0/url", False),
    ("too long", {"url": f"{URL}/{'x' * 10_000}"}, "flat", "/url", False),
    ("userinfo", {"url": "https://u:p@mcp.example.com/"}, "flat", "/url", False),
    ("primary absent", {"endpoints": {"mcp": {}}}, "loose", "/endpoints/mcp/primary", True),
    ("endpoints a list", {"endpoints": {"mcp": []}}, "loose", "/endpoints/mcp", False),
]


@pytest.mark.parametrize(
    ("card", "shape", "path", "warning"), [row[1:] for row in FLAGGED], ids=[row[0] for row in FLAGGED]
)
def test_no_endpoint_is_made_of_what_cannot_be_used(
    card: dict[str, Any], shape: str, path: str, warning: bool
) -> None:
    found, endpoints, findings = read(card)
    assert (found, endpoints) == (shape, [])
    assert [(finding.rule, finding.path, finding.is_warning) for finding in findings] == [
        ("MCP-3", path, warning),
        ("MCP-3", "", True),
    ]


def test_a_place_that_yields_nothing_is_passed_over() -> None:
    card = {"remotes": [{"url": "https://{x}.example.com/"}], "endpoint": "", "url": URL}
    shape, endpoints, findings = read(card)
    assert (shape, endpoints) == ("flat", [(URL, "unstated")])
    assert [finding.path for finding in findings] == ["/remotes/0/url", "/endpoint"]


def test_relative_urls() -> None:
    shape, endpoints, findings = read({"remotes": [{"type": "sse", "url": "/sse"}]})
    assert (shape, endpoints) == ("relative", [("https://example.com/sse", "sse")])
    assert findings == [Finding("MCP-3", "/remotes/0/url", "The URL is not absolute.", True)]
    assert read({"servers": [{"url": "/a"}]})[0] == "list"


@pytest.mark.parametrize(
    ("card", "shape"),
    [
        ({}, "no-endpoint"),
        ({"entries": []}, "catalog"),
        ({"entries": {}}, "no-endpoint"),
        ({"entries": [], "url": URL}, "flat"),
        ({"remotes": []}, "no-endpoint"),
        ({"remotes": "x", "transport": "sse", "endpoints": URL, "servers": "x", "transports": []}, "no-endpoint"),
        ({"remotes": [URL], "transports": {"sse": URL}, "endpoints": {"rest": URL}}, "no-endpoint"),
    ],
    ids=str,
)
def test_shape_without_a_usable_place(card: dict[str, Any], shape: str) -> None:
    assert read(card)[0] == shape


@pytest.mark.parametrize("name", ["remotes", "servers", "mcpServers", "transports"])
def test_of_very_many_endpoints_the_first_are_read(name: str) -> None:
    values = [{"type": "sse", "url": f"https://mcp.example.com/{n}"} for n in range(50_000)]
    named = {"SSE" if n == 0 else "s" + "-" * n + "se": value for n, value in enumerate(values[:200])}
    card = {name: named if name == "transports" else values}
    _, endpoints, findings = read(card)
    assert len(endpoints) == MOST_ENDPOINTS
    assert findings == [Finding("MCP-3", "", f"Only the first {MOST_ENDPOINTS} endpoints are read.")]


def test_lists_of_lists_stay_bounded() -> None:
    server = {"remotes": [{"url": None}] * 10_000}
    assert len(read({"servers": [server] * 10_000, "mcpServers": {"a": server}})[2]) <= 2 * MOST_ENDPOINTS + 3
