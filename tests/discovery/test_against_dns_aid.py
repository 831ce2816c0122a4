"""A second opinion on DNS-AID: the same records judged here and by `dns_aid` (dns-aid-core).

Where the two may differ stands beside each row with the rule that explains it, and those rows must differ. Only the
wire is replaced: what the library decides, it decides by its own code.
"""

from __future__ import annotations

import asyncio
from typing import Any

import dns.rdata
import pytest

from proxy.discovery.records.dnsvalues import Txt
from proxy.discovery.records.indextxt import read_index_txt
from proxy.discovery.records.svcb import Place, pointers
from proxy.discovery.records.svcparams import CORE_KEYS
from tests.discovery.test_svcb import wire

core = pytest.importorskip("dns_aid.core", reason="dns-aid is not installed")
catalog_pointer = pytest.importorskip("dns_aid.core.catalog_pointer")
discoverer = pytest.importorskip("dns_aid.core.discoverer")
indexer = pytest.importorskip("dns_aid.core.indexer")
models = pytest.importorskip("dns_aid.core.models")
fqdn = pytest.importorskip("dns_aid.core.fqdn")
validation = pytest.importorskip("dns_aid.utils.validation")

DOMAIN = "example.com"
INDEX = Place("_index._agents.example.com", DOMAIN, secure=False)


def ours_on(texts: list[str], place: Place = INDEX) -> str | None:
    """The URL of the first pointer that may be followed."""
    found = pointers([wire(text) for text in texts], place)
    return next((pointer.url.uri for pointer in found if pointer.url is not None), None)


def theirs_of(text: str) -> dns.rdata.Rdata:
    rdtype, _, rest = text.partition(" ")
    return dns.rdata.from_text("IN", rdtype, rest)


def theirs_on(monkeypatch: pytest.MonkeyPatch, texts: list[str]) -> str | None:
    rdatas = [theirs_of(text) for text in texts]

    async def resolve(resolver: Any, name: str) -> list[Any] | None:
        return rdatas if name == INDEX.owner else None

    async def vetted(url: str, **_: float) -> str:
        return url

    monkeypatch.setattr(catalog_pointer, "_resolve_svcb", resolve)
    monkeypatch.setattr(catalog_pointer, "validate_fetch_url_async", vetted)
    found = asyncio.run(catalog_pointer.resolve_catalog_pointer_detail(DOMAIN))
    return found.url if found is not None else None


@pytest.mark.parametrize(
    ("texts", "rule"),
    [
        (["SVCB 1 a.example.com. alpn=h2"], None),
        (["SVCB 1 a.example.com. alpn=h2 port=443 mandatory=alpn,port"], None),
        (['SVCB 1 a.example.com. key65409="ai-catalog.json"'], None),
        (['SVCB 1 a.example.com. key65409="agents.json"'], None),
        (["HTTPS 1 a.example.com. alpn=h2"], None),
        (["SVCB 1 A.Example.com."], "RFC 4343: a host has one spelling here"),
        (["SVCB 1 a.example.com.", "SVCB 2 b.example.com."], None),
        (["SVCB 0 a.example.com."], None),
        (["SVCB 1 ."], None),
        (['SVCB 1 a.example.com. key65280="/.well-known/ai-catalog.json"'], None),
        (['SVCB 1 a.example.com. key65280="/.well-known/x.json"'], "DA-4: key 65280 is an absolute path"),
        (['SVCB 1 a.example.com. key65409="../admin"'], "DA-4: a bad value voids the record, no default steps in"),
        (['SVCB 1 a.example.com. key65409="/x.json"'], "DA-4: a bad value voids the record, no default steps in"),
        (["SVCB 1 a.example.com. port=8443"], "DA-2: the port is that of the record"),
        (["SVCB 2 b.example.com.", "SVCB 1 a.example.com."], "DA-1: by priority"),
        (["SVCB 1 a.example.com. mandatory=key65500 key65500=x"], "DA-1: an unknown mandatory key"),
        (["SVCB 0 a.example.com.", "SVCB 1 b.example.com."], "RFC 9460 §2.4.1: beside an alias no other counts"),
        (["SVCB 1 a.example.com. alpn=mcp,a2a"], "DA-3: one agent protocol"),
        (["SVCB 1 _a.example.com."], "-02: no underscore in a target"),
        (["SVCB 1 cat.other.net."], "DA-5: judged here, there by the caller"),
    ],
)
def test_pointers(monkeypatch: pytest.MonkeyPatch, texts: list[str], rule: str | None) -> None:
    assert (ours_on(texts) == theirs_on(monkeypatch, texts)) is (rule is None)


def test_no_more_than_four_on_either_side(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["SVCB 1 ."] * 4 + ["SVCB 1 a.example.com."]
    assert ours_on(texts) is None
    assert theirs_on(monkeypatch, texts) is None


@pytest.mark.parametrize(
    ("segment", "rule"),
    [
        *[(segment, None) for segment in ("ai-catalog.json", "a", "A_1", "x" * 128)],
        *[
            (segment, None)
            for segment in ("", "..", "a..b", ".", "a/b", "a?b", "a#b", "a%2e", "a b", "a\\b", "x" * 129)
        ],
        ("/.well-known/x", "DA-4: 65409 is a single segment"),
        ("/x", "DA-4: 65409 is a single segment"),
        ("-", "DA-4 asks for no letter or digit"),
    ],
)
def test_segments(segment: str, rule: str | None) -> None:
    try:
        validation.validate_well_known_path(segment)
        theirs = True
    except validation.ValidationError:
        theirs = False
    record = wire("SVCB 1 a.example.com.")
    (pointer,) = pointers([type(record)(1, record.target, {65409: segment.encode()})], INDEX)
    assert (pointer.accepted == theirs) is (rule is None)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("agents=chat:mcp,billing:a2a", None),
        ("agents= chat:MCP , billing:a2a,", None),
        ("agents=", None),
        ("agents=chat", None),
        ("agents=:mcp,chat:", None),
        ("registry=https://example.com/r", None),
        ("v=spf1 -all", None),
        ("agents=Chat:mcp", "RFC 4343: a label has one spelling here"),
        ("agents=a b:mcp", "RFC 1035: the name is a label"),
        ("agents=chat:mcp,chat:mcp", "once is enough"),
        ("agents=chat:mcp:8443", "the protocol is a token"),
        ("agents=" + ",".join(f"a{number}:mcp" for number in range(501)), "DA-7: 500 agents"),
    ],
)
def test_the_list_of_agents(text: str, rule: str | None) -> None:
    (found,) = read_index_txt([Txt((text.encode(),))], INDEX)
    ours = [(agent.name, agent.protocol) for agent in found.agents]
    theirs = [(entry.name, entry.protocol) for entry in indexer.parse_index_txt(text)]
    assert (ours == theirs) is (rule is None)


@pytest.mark.parametrize(
    "owner",
    [
        "_chat._mcp._agents.example.com",
        "_chat._a2a._agents.example.com",
        "chat._agents.example.com",
        "chat.example.com",
    ],
)
def test_the_protocol_in_an_owner_name(owner: str) -> None:
    (pointer,) = pointers([wire("SVCB 1 a.example.com. alpn=h2")], Place(owner, DOMAIN, secure=False))
    assert pointer.protocol == fqdn.parse_dnsaid_fqdn(owner).protocol


@pytest.mark.parametrize("bap", ["mcp", "mcp=1.0", "a2a=1.1"])
def test_the_protocol_in_bap(bap: str) -> None:
    (pointer,) = pointers([wire(f'SVCB 1 a.example.com. key65402="{bap}"')], INDEX)
    assert pointer.protocol == discoverer._reconcile_protocol(models.Protocol.HTTPS, bap, []).value


def test_the_numbers_of_the_parameters() -> None:
    assert {name: f"key{number}" for number, name in CORE_KEYS.items()} == models.DNS_AID_KEY_MAP


def test_the_parameters_themselves() -> None:
    text = "SVCB 1 a.example.com. " + " ".join(
        f'key{number}="v{number}"' for number in sorted(CORE_KEYS) if number < 65409
    )
    (pointer,) = pointers([wire(text)], INDEX)
    rdata = theirs_of(text)
    assert pointer.parameters == discoverer._parse_svcb_custom_params(str(rdata))
