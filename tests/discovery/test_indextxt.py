"""The TXT tier of DNS-AID (DISCOVERY_FORMATS §3, C-20, DA-5, DA-7, DA-8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.records.dnsvalues import AddressRecord, Txt
from proxy.discovery.records.indextxt import MAX_AGENTS, IndexText, NamedAgent, read_index_txt
from proxy.discovery.records.svcb import Place, PointerKind

INDEX = Place("_index._agents.example.com", "example.com", secure=False)
AGENT = Place("chat.example.com", "example.com", secure=False)


def read(*strings: str | bytes, place: Place = INDEX) -> tuple[IndexText, ...]:
    octets = tuple(string.encode() if isinstance(string, str) else string for string in strings)
    return read_index_txt([Txt(octets)], place)


def named(*pairs: str) -> tuple[NamedAgent, ...]:
    return tuple(NamedAgent(*pair.split(":")) for pair in pairs)


@pytest.mark.parametrize(
    ("text", "agents", "reason"),
    [
        ("agents=chat:mcp,billing:a2a", named("chat:mcp", "billing:a2a"), None),
        (" agents= Chat:MCP , billing:a2a,", named("chat:mcp", "billing:a2a"), None),
        ("agents=chat:mcp,chat:mcp,chat:a2a", named("chat:mcp", "chat:a2a"), None),
        ("agents=", (), None),
        ("agents=chat", (), "malformed"),
        ("agents=chat:mcp,bad,-x:mcp,x-:mcp,_x:mcp,a.b:mcp,y:,:mcp,z:m-p", named("chat:mcp"), "malformed"),
        (f"agents={'x' * 64}:mcp,{'x' * 63}:mcp", named(f"{'x' * 63}:mcp"), "malformed"),
        ("agents=chat:mcp:8443", (), "malformed"),
    ],
)
def test_a_list_of_agents(text: str, agents: tuple[NamedAgent, ...], reason: str | None) -> None:
    (found,) = read(text)
    assert (found.agents, found.reason) == (agents, reason)
    assert found.accepted is bool(agents)


def test_no_more_agents_than_allowed() -> None:
    (found,) = read("agents=" + ",".join(f"a{number}:mcp" for number in range(MAX_AGENTS + 1)))
    assert len(found.agents) == MAX_AGENTS
    assert found.reason == "too_many"
    assert len(found.text) == 201
    (full,) = read("agents=" + ",".join(f"a{number}:mcp" for number in range(MAX_AGENTS)))
    assert (len(full.agents), full.reason) == (MAX_AGENTS, None)


@pytest.mark.parametrize(
    ("text", "link", "reason"),
    [
        (
            "registry=https://example.com/.well-known/api-catalog",
            "https://example.com/.well-known/api-catalog",
            None,
        ),
        (
            "url=https://www.example.com/.well-known/ai-catalog.json",
            "https://www.example.com/.well-known/ai-catalog.json",
            None,
        ),
        ("registry= https://example.com/x#part", "https://example.com/x", None),
        ("registry=http://example.com/", None, "bad_url"),
        ("registry=/x", None, "bad_url"),
        ("registry=", None, "bad_url"),
        ("registry=https://u@example.com/", None, "bad_url"),
        ("url=https://127.0.0.1/", None, "bad_url"),
        ("url=https://example.net/x", None, "off_domain"),
    ],
)
def test_a_link(text: str, link: str | None, reason: str | None) -> None:
    (found,) = read(text)
    assert (found.link and found.link.uri, found.reason) == (link, reason)
    assert found.accepted is (link is not None)


def test_dnssec_lets_a_link_out_of_the_domain() -> None:
    (found,) = read("url=https://example.net/x", place=Place(INDEX.owner, INDEX.domain, secure=True))
    assert found.accepted


@pytest.mark.parametrize(
    ("text", "target", "port", "protocol"),
    [
        ("v=1 target=mcp.example.com port=8443 alpn=mcp", "mcp.example.com", 8443, "mcp"),
        ("v=1 target=MCP.example.com.", "mcp.example.com", 443, None),
        ("v=1  target=mcp.example.com  alpn=h2,mcp bap=a2a=1.0 x=y", "mcp.example.com", 443, "mcp"),
        ("v=1 target=mcp.example.com bap=a2a=1.0", "mcp.example.com", 443, "a2a"),
    ],
)
def test_a_service(text: str, target: str, port: int, protocol: str | None) -> None:
    (found,) = read(text, place=AGENT)
    assert found.accepted
    assert found.pointer is not None
    assert (found.pointer.target, found.pointer.port, found.pointer.protocol) == (target, port, protocol)
    assert found.pointer.kind is PointerKind.AGENT


def test_a_service_says_what_svcb_would() -> None:
    (found,) = read("v=1 target=docs.example.com cap=https://a.example.com/c cap-sha256=x well-known=x.json y=z")
    assert found.pointer is not None
    assert found.pointer.url is not None
    assert found.pointer.url.uri == "https://docs.example.com/.well-known/x.json"
    assert found.pointer.parameters == {"cap": "https://a.example.com/c", "cap-sha256": "x", "well-known": "x.json"}


@pytest.mark.parametrize(
    "text",
    [
        "v=1",
        "v=1 port=443",
        "v=1 target",
        "v=1 target=",
        "v=1 target=a.example.com target=b.example.com",
        *[f"v=1 target=a.example.com port={port}" for port in ("0", "x", "-1", "65536", "99999", "443x", "²")],
    ],
)
def test_a_malformed_service(text: str) -> None:
    (found,) = read(text)
    assert (found.reason, found.pointer, found.accepted) == ("malformed", None, False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("v=1 target=a.example.net", "off_domain"),
        ("v=1 target=a.example.com alpn=mcp,a2a", "two_agent_protocols"),
        ("v=1 target=a.example.com port=25", "port"),
        ("v=1 target=_a.example.com", "underscore"),
        ("v=1 target=a/b.example.com", "malformed"),
        ("v=1 target=a.example.com well-known=../x", "well_known"),
    ],
)
def test_a_service_that_is_not_followed(text: str, reason: str) -> None:
    (found,) = read(text)
    assert found.pointer is not None
    assert (found.pointer.reason, found.accepted, found.reason) == (reason, False, None)


@pytest.mark.parametrize(
    ("strings", "texts"),
    [
        (
            ("agents=chat:mcp", "registry=https://example.com/r"),
            ["agents=chat:mcp", "registry=https://example.com/r"],
        ),
        (("agents=chat:mcp,bill", "ing:a2a"), ["agents=chat:mcp,billing:a2a"]),
        (("agents=chat:mcp", ""), ["agents=chat:mcp"]),
        (("agents=é".encode()[:-1], "é".encode()[1:] + b":mcp"), ["agents=é:mcp"]),
        (("v=spf1 -all", "x"), ["v=spf1 -allx"]),
        ((), [""]),
    ],
    ids=["two forms", "cut", "an empty string", "cut in a character", "foreign", "no string"],
)
def test_strings_one_by_one_or_else_joined(strings: tuple[str | bytes, ...], texts: list[str]) -> None:
    assert [found.text for found in read(*strings)] == texts


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (b"v=spf1 -all", "foreign"),
        (b"", "foreign"),
        (b"v=2 target=a", "foreign"),
        (b"Agents=a:mcp", "foreign"),
        (b"agents=\xff", "not_utf_8"),
    ],
)
def test_what_is_none_of_the_forms_is_listed(octets: bytes, reason: str) -> None:
    (found,) = read(octets)
    assert (found.reason, found.accepted) == (reason, False)
    assert found.detail


def test_other_types_in_the_answer_are_passed_over() -> None:
    assert read_index_txt([AddressRecord("192.0.2.1")], INDEX) == ()


PREFIXES = st.sampled_from([b"", b"agents=", b"registry=", b"url=", b"v=1 ", b"v=1 target=a.example.com "])


@given(st.lists(st.tuples(PREFIXES, st.binary(max_size=40)).map(b"".join), max_size=4))
def test_no_octets_break_it(strings: list[bytes]) -> None:
    for found in read_index_txt([Txt(tuple(strings))], INDEX):
        assert len(found.text) <= 201
