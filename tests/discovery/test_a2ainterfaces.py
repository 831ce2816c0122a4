"""Which interfaces of an agent card can be used, and in what order (A2A-2, C-10)."""

from typing import Any

import pytest

from proxy.discovery.cards.a2ainterfaces import MOST_INTERFACES, read_interfaces
from proxy.discovery.findings import Finding
from proxy.http.targets import parse_target

BASE = parse_target("https://example.com/cards/agent-card.json")
URL = "https://a.example.com/rpc"


def read(card: dict[str, Any]) -> tuple[list[tuple[str, str, str | None]], list[Finding]]:
    findings: list[Finding] = []
    found = read_interfaces(card, BASE, findings)
    return [(i.url.uri, i.binding, i.protocol_version) for i in found], findings


def listed(**members: Any) -> dict[str, Any]:
    return {"supportedInterfaces": [{"url": URL, "protocolBinding": "JSONRPC", **members}]}


def test_order_of_all_generations() -> None:
    interfaces, findings = read(
        {
            "additionalInterfaces": [
                {"url": "https://a.example.com/old", "transport": "HTTP+JSON"},
                {"url": URL, "transport": "jsonrpc"},
            ],
            "url": URL,
            "preferredTransport": "JSONRPC",
            "protocolVersion": "0.3.0",
            "supportedInterfaces": [
                {"url": "https://a.example.com/g", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
                {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            ],
        }
    )
    assert interfaces == [
        ("https://a.example.com/g", "GRPC", "1.0"),
        (URL, "JSONRPC", "1.0"),
        ("https://a.example.com/old", "HTTP+JSON", "0.3.0"),
    ]
    assert findings == []


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ({"url": URL}, (URL, "JSONRPC", None)),
        ({"url": URL, "preferredTransport": "grpc"}, (URL, "GRPC", None)),
        ({"url": URL, "preferredTransport": 5, "protocolVersion": 1}, (URL, "JSONRPC", None)),
        ({"url": f"{URL}#card"}, (URL, "JSONRPC", None)),
        (listed(), (URL, "JSONRPC", None)),
        (listed(protocolVersion="0.3"), (URL, "JSONRPC", "0.3")),
        (listed(protocolBinding="https://example.com/bindings/x"), (URL, "https://example.com/bindings/x", None)),
        (listed(url="https://A.example.com:443"), ("https://a.example.com/", "JSONRPC", None)),
    ],
    ids=str,
)
def test_usable(card: dict[str, Any], expected: tuple[str, str, str | None]) -> None:
    assert read(card) == ([expected], [])


FLAGGED = [
    ("spelling", listed(protocolBinding="jsonrpc"), "/supportedInterfaces/0/protocolBinding", True),
    ("protocol", listed(protocolBinding=None, protocol="JSONRPC"), "/supportedInterfaces/0/protocol", False),
    ("transport", listed(protocolBinding="", transport="http+json"), "/supportedInterfaces/0/transport", False),
    ("relative", {"url": "/rpc"}, "/url", True),
    ("address", listed(protocolBinding="GRPC", url="g.example.com:8443"), "/supportedInterfaces/0/url", True),
]


@pytest.mark.parametrize(("card", "path", "warning"), [row[1:] for row in FLAGGED], ids=[row[0] for row in FLAGGED])
def test_usable_with_a_flag(card: dict[str, Any], path: str, warning: bool) -> None:
    interfaces, findings = read(card)
    assert len(interfaces) == 1
    assert [(finding.rule, finding.path, finding.is_warning) for finding in findings] == [("A2A-2", path, warning)]


@pytest.mark.parametrize(
    ("card", "url"),
    [
        ({"url": "rpc"}, "https://example.com/cards/rpc"),
        ({"url": "//b.example.com/rpc"}, "https://b.example.com/rpc"),
        (listed(protocolBinding="GRPC", url="g.example.com:443"), "https://g.example.com/"),
    ],
    ids=str,
)
def test_what_an_incomplete_url_leads_to(card: dict[str, Any], url: str) -> None:
    assert [interface[0] for interface in read(card)[0]] == [url]


UNUSABLE = [
    ("no list", {"supportedInterfaces": {}}, "/supportedInterfaces"),
    ("null", {"supportedInterfaces": None}, "/supportedInterfaces"),
    ("additional no list", {"additionalInterfaces": "x"}, "/additionalInterfaces"),
    ("no object", {"supportedInterfaces": [URL]}, "/supportedInterfaces/0"),
    ("no binding", {"supportedInterfaces": [{"url": URL}]}, "/supportedInterfaces/0"),
    ("binding a number", listed(protocolBinding=1), "/supportedInterfaces/0"),
    ("other protocol", listed(protocolBinding=None, protocol="a2a"), "/supportedInterfaces/0"),
    ("no transport", {"additionalInterfaces": [{"url": URL}]}, "/additionalInterfaces/0"),
    ("no URL", listed(url=None), "/supportedInterfaces/0/url"),
    ("URL a number", {"url": 5}, "/url"),
    ("URL empty", {"url": ""}, "/url"),
    ("template", listed(url="https://{tenant}.example.com/"), "/supportedInterfaces/0/url"),
    ("http", {"url": "http://a.example.com/"}, "/url"),
    ("websocket", listed(url="wss://a.example.com/"), "/supportedInterfaces/0/url"),
    ("userinfo", {"url": "https://u:p@a.example.com/"}, "/url"),
    ("loopback", {"url": "https://127.0.0.1/rpc"}, "/url"),
    ("localhost", {"url": "https://localhost:9999/"}, "/url"),
    ("too long", {"url": f"{URL}/{'x' * 10_000}"}, "/url"),
    ("port", {"url": "https://a.example.com:6379/"}, "/url"),
    ("address of another binding", listed(url="g.example.com:8443"), "/supportedInterfaces/0/url"),
    ("address of the machine", listed(protocolBinding="GRPC", url="localhost:50051"), "/supportedInterfaces/0/url"),
]


@pytest.mark.parametrize(("card", "path"), [row[1:] for row in UNUSABLE], ids=[row[0] for row in UNUSABLE])
def test_unusable(card: dict[str, Any], path: str) -> None:
    interfaces, findings = read(card)
    assert interfaces == []
    assert {finding.rule for finding in findings} == {"A2A-2"}
    assert {finding.path for finding in findings if not finding.is_warning} == {path, ""}


def test_no_interface_at_all() -> None:
    assert read({}) == ([], [Finding("A2A-2", "", "The card has no usable interface.")])


def test_of_very_many_interfaces_the_first_are_read() -> None:
    entries = [{"url": f"https://a.example.com/{n}", "protocolBinding": "JSONRPC"} for n in range(50_000)]
    interfaces, findings = read({"supportedInterfaces": entries})
    assert len(interfaces) == MOST_INTERFACES
    assert [finding.path for finding in findings] == ["/supportedInterfaces"]
    assert len(read({"supportedInterfaces": [None] * 50_000})[1]) <= MOST_INTERFACES + 2


def test_findings_repeat_nothing_of_the_card() -> None:
    _, findings = read(
        {"url": "https://user:hunter2@a.example.com/", **listed(protocolBinding="hunter2\n", url=[])}
    )
    assert all("hunter2" not in finding.detail for finding in findings)
