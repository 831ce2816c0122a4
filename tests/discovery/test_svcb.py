"""DNS-AID pointers (DISCOVERY_FORMATS §3, DA-1 to DA-8; RFC 9460)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import dns.name
import dns.rdata
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.records.dnsvalues import AddressRecord, Svcb, Txt
from proxy.discovery.records.svcb import MAX_POINTERS, Place, Pointer, PointerKind, PointerReason, pointers
from proxy.discovery.records.svcparams import ALL_KEYS, CORE_KEYS, SEED_KEYS

VECTORS = json.loads((Path(__file__).parent.parent / "samples/discovery/svcb_vectors.json").read_bytes())
DOMAIN = "example.com"
INDEX = "_index._agents.example.com"
# The reasons in the words of the vectors.
REASONS = {
    "unsupported mandatory": PointerReason.UNSUPPORTED_MANDATORY,
    "one agent protocol per record": PointerReason.TWO_AGENT_PROTOCOLS,
    "off-domain pointer needs DNSSEC or JWS": PointerReason.OFF_DOMAIN,
    "single segment only": PointerReason.WELL_KNOWN,
}


def wire(text: str) -> Svcb:
    """The value of a record in presentation format, its owner, TTL and class left out: "SVCB 1 a.example.com."."""
    rdtype, _, rest = text.partition(" ")
    rdata: Any = dns.rdata.from_text("IN", rdtype, rest)
    params = {}
    for key, value in rdata.params.items():
        file = BytesIO()
        if value is not None:
            value.to_wire(file)
        params[int(key)] = file.getvalue()
    target = "." if rdata.target == dns.name.root else str(rdata.target).removesuffix(".").lower()
    return Svcb(rdata.priority, target, params)


def owned(text: str) -> tuple[str, Svcb]:
    owner, _, _, rest = text.split(" ", 3)
    return owner.removesuffix("."), wire(rest)


def point(text: str, owner: str = INDEX, *, secure: bool = False, **options: Any) -> Pointer:
    (pointer,) = pointers([wire(text)], Place(owner, DOMAIN, secure), **options)
    return pointer


def raw(params: Mapping[int, bytes], target: str = "a.example.com", priority: int = 1) -> Pointer:
    (pointer,) = pointers([Svcb(priority, target, params)], Place(INDEX, DOMAIN, False))
    return pointer


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_vectors(vector: dict[str, Any]) -> None:
    read = [owned(text) for text in vector.get("rrs") or [vector["rr"]]]
    place = Place(read[0][0], DOMAIN, vector.get("dnssec", False))
    found = pointers([record for _, record in read], place)
    first = found[0]
    for name, value in vector["expect"].items():
        match name:
            case "target":
                assert (first.accepted, first.target) == (True, value)
            case "port":
                assert first.port == value
            case "catalog_url":
                assert first.url is not None
                assert first.url.uri == value
            case "alias":
                assert (first.accepted, first.alias) == (True, value)
            case "ignored" | "invalid":
                assert first.reason is REASONS[value]
            case "order":
                assert [pointer.target for pointer in found] == value
            case _:
                raise AssertionError(name)


@pytest.mark.parametrize(
    ("owner", "kind", "url"),
    [
        ("_index._agents.example.com", "index", "https://a.example.com/.well-known/ai-catalog.json"),
        ("_catalog._agents.example.com", "catalog", "https://a.example.com/.well-known/ai-catalog.json"),
        ("_entries._agents.example.com", "entries", "https://a.example.com/.well-known/ai-catalog.json"),
        ("_search._agents.example.com", "search", "https://a.example.com/"),
        ("billing._agents.example.com", "agent", None),
        ("billing.example.com", "agent", None),
        ("_chat._mcp._agents.example.com", "agent", None),
        ("_index._agents.other.example.com", "agent", None),
        ("_agent._agents.example.com", "agent", None),
    ],
)
def test_the_owner_says_what_is_pointed_to(owner: str, kind: str, url: str | None) -> None:
    pointer = point("SVCB 1 a.example.com.", owner)
    assert pointer.kind == kind
    assert (pointer.url and pointer.url.uri) == url
    assert pointer.accepted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SVCB 1 a.example.com.", None),
        ("HTTPS 1 a.example.com. alpn=h2 no-default-alpn ipv4hint=192.0.2.1 ipv6hint=2001:db8::1", None),
        (
            "SVCB 1 a.example.com. mandatory=alpn,no-default-alpn alpn=h2 no-default-alpn",
            None,
        ),
        ('SVCB 1 a.example.com. mandatory=key65280 key65280="/.well-known/x"', None),
        ('SVCB 1 a.example.com. key65500="whatever"', None),
        ('SVCB 1 a.example.com. mandatory=key65400 key65400="https://a.example.com/c"', "unsupported_mandatory"),
        ("SVCB 1 a.example.com. alpn=mcp,h2", None),
        ("SVCB 1 a.example.com. alpn=mcp,mcp", "two_agent_protocols"),
        ("SVCB 1 a.example.com. alpn=h2,h3", None),
        ("SVCB 1 a.example.com. port=8443", None),
        ("SVCB 1 a.example.com. port=25", "port"),
        ("SVCB 1 a.example.com. port=0", "malformed_parameter"),
        ("SVCB 1 .", "underscore"),
        ("SVCB 1 _x.example.com.", "underscore"),
        ("SVCB 1 localhost.", "off_domain"),
        ("SVCB 1 a.example.net.", "off_domain"),
        ("SVCB 1 example.com.", None),
        ("SVCB 1 com.", "off_domain"),
        (r"SVCB 1 a.example.com\/x.example.com.", "malformed"),
        (r"SVCB 1 u\@a.example.com.", "malformed"),
        (r"SVCB 1 a\.b.example.com.", "malformed"),
        (r"SVCB 1 a\000.example.com.", "malformed"),
    ],
)
def test_which_records_count(text: str, reason: str | None) -> None:
    pointer = point(text)
    assert pointer.reason == reason
    assert pointer.accepted is (reason is None)
    assert (pointer.detail is None) is (reason is None)
    if reason:
        assert pointer.url is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SVCB 1 cat.other.net.", None),
        ("SVCB 1 localhost.", "ssrf"),
        ("SVCB 1 single.", "ssrf"),
        ("SVCB 1 10.0.0.1.", "ssrf"),
        ("SVCB 1 127.1.", "malformed"),
        ("SVCB 0 other.net.", None),
    ],
)
def test_dnssec_lets_a_pointer_out_of_the_domain_but_not_inwards(text: str, reason: str | None) -> None:
    assert point(text, secure=True).reason == reason


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({}, None),
        ({0: b""}, "malformed_parameter"),
        ({0: b"\x00"}, "malformed_parameter"),
        ({0: b"\x00\x01\x00"}, "malformed_parameter"),
        ({0: b"\x00\x01"}, "malformed_parameter"),  # not there
        ({0: b"\x00\x03\x00\x01", 1: b"\x02h2", 3: b"\x01\xbb"}, "malformed_parameter"),
        ({0: b"\x00\x01\x00\x01", 1: b"\x02h2"}, "malformed_parameter"),
        ({0: b"\x00\x00"}, "malformed_parameter"),
        ({0: b"\x00\x01\x00\x03", 1: b"\x02h2", 3: b"\x01\xbb"}, None),
        ({0: b"\x00\x05", 5: b"\x00\x01"}, "unsupported_mandatory"),
        ({1: b""}, "malformed_parameter"),
        ({1: b"\x00"}, "malformed_parameter"),
        ({1: b"\x02h2\x00"}, "malformed_parameter"),
        ({1: b"\x03h2"}, "malformed_parameter"),
        ({1: b"\x02\xff\x00"}, None),
        ({3: b""}, "malformed_parameter"),
        ({3: b"\x01"}, "malformed_parameter"),
        ({3: b"\x01\xbb\x00"}, "malformed_parameter"),
        ({65280: b"\xff"}, "well_known"),
        ({65400: b"\xff\x00"}, None),
    ],
)
def test_parameters_on_the_wire(params: Mapping[int, bytes], reason: str | None) -> None:
    assert raw(params).reason == reason


@pytest.mark.parametrize(
    ("number", "value", "path"),
    [
        (65409, "ai-catalog.json", "/.well-known/ai-catalog.json"),
        (65409, "Agents_1.json", "/.well-known/Agents_1.json"),
        *[
            (65409, value, None)
            for value in ("", "/x", "../admin", "a..b", ".", "a/b", "a%2e", "a?b", "a#b", "a b")
        ],
        *[(65409, value, None) for value in ("a b", "a\x00", "é", "x" * 129, "/.well-known/x", "a\\b")],
        (65280, "/.well-known/ai-catalog.json", "/.well-known/ai-catalog.json"),
        (65280, "/.well-known/agents/index.json", "/.well-known/agents/index.json"),
        *[(65280, value, None) for value in ("x", "/x", "/.well-known", "/.well-known/", "/.well-known//x")],
        *[(65280, f"/.well-known/{value}", None) for value in ("..", "../x", "a/../b", ".", "%2e", "a?b", "a#b")],
        *[
            (65280, value, None)
            for value in ("", "x/.well-known/y", "//a.example.net/.well-known/x", "\x00/.well-known/x")
        ],
        (65280, "/.well-known/" + "/".join(["x" * 100] * 3), None),
    ],
)
def test_the_place_of_the_document(number: int, value: str, path: str | None) -> None:
    pointer = raw({number: value.encode()})
    assert (pointer.url and pointer.url.path) == path
    assert pointer.reason is (PointerReason.WELL_KNOWN if path is None else None)


def test_an_agent_may_name_a_descriptor() -> None:
    pointer = point('SVCB 1 a.example.com. key65409="agent-card.json"', "billing.example.com")
    assert pointer.url is not None
    assert pointer.url.uri == "https://a.example.com/.well-known/agent-card.json"


def test_the_configured_keys_alone_count() -> None:
    text = 'SVCB 1 a.example.com. key65280="/.well-known/seed.json" key65409="core.json"'
    paths = {}
    for name, keys in (("seed", SEED_KEYS), ("core", CORE_KEYS), ("all", ALL_KEYS), ("none", {})):
        pointer = point(text, keys=keys)
        assert pointer.url is not None
        paths[name] = pointer.url.path.rpartition("/")[2]
    assert paths == {"seed": "seed.json", "core": "core.json", "all": "core.json", "none": "ai-catalog.json"}
    assert point('SVCB 1 a.example.com. mandatory=key65409 key65409="x"', keys={}).reason == "unsupported_mandatory"


def test_the_parameters_are_shown_by_name() -> None:
    text = (
        r'SVCB 1 a.example.com. alpn=h2 key65400="https://a.example.com/" key65001=x key65404="a\027b" key65002=d'
    )
    pointer = point(text)
    assert pointer.parameters == {"cap": "https://a.example.com/", "realm": "ab", "cap-sha256": "d"}
    assert pointer.alpn == ("h2",)


@pytest.mark.parametrize(
    ("text", "owner", "protocol"),
    [
        ("SVCB 1 a.example.com. alpn=mcp,h2", "billing.example.com", "mcp"),
        ('SVCB 1 a.example.com. alpn=h2 key65402="a2a=1.0"', "billing.example.com", "a2a"),
        ('SVCB 1 a.example.com. key65402="mcp,a2a"', "billing.example.com", "mcp"),
        ('SVCB 1 a.example.com. key65402="ftp"', "billing.example.com", None),
        ("SVCB 1 a.example.com. alpn=h2", "_chat._mcp._agents.example.com", "mcp"),
        ("SVCB 1 a.example.com. alpn=h2", "_a2a._agents.example.com", "a2a"),
        ("SVCB 1 a.example.com. alpn=h2", "mcp._agents.example.com", None),
        ("SVCB 1 a.example.com. alpn=h2", INDEX, None),
    ],
)
def test_what_the_agent_speaks(text: str, owner: str, protocol: str | None) -> None:
    assert point(text, owner).protocol == protocol


@pytest.mark.parametrize(
    ("text", "alias", "reason"),
    [
        ("SVCB 0 billing.example.com.", "billing.example.com", None),
        ("SVCB 0 _x._agents.example.com.", "_x._agents.example.com", None),
        ("SVCB 0 .", None, "no_service"),
        ("SVCB 0 billing.example.net.", None, "off_domain"),
        (r"SVCB 0 a\/b.example.com.", None, "malformed"),
    ],
)
def test_an_alias_is_to_be_followed(text: str, alias: str | None, reason: str | None) -> None:
    pointer = point(text)
    assert (pointer.alias, pointer.reason, pointer.priority) == (alias, reason, 0)
    assert pointer.url is None


def test_the_parameters_of_an_alias_are_ignored() -> None:
    assert raw({0: b"", 3: b"\x00\x19"}, priority=0).alias == "a.example.com"


def test_beside_an_alias_no_other_record_counts() -> None:
    records = [wire("SVCB 1 a.example.com."), wire("SVCB 0 b.example.com."), wire("SVCB 0 c.example.com.")]
    found = pointers(records, Place(INDEX, DOMAIN, False))
    assert [(one.target, one.reason) for one in found] == [
        ("b.example.com", None),
        ("c.example.com", "alias_present"),
        ("a.example.com", "alias_present"),
    ]


def test_the_holder_is_meant_by_a_dot() -> None:
    place = Place("billing._agents.example.com", DOMAIN, False)
    (here,) = pointers([wire("SVCB 1 .")], place)
    (there,) = pointers([wire("SVCB 1 .")], place, holder="billing.example.com")
    (elsewhere,) = pointers([wire("SVCB 1 .")], place, holder="billing.example.net")
    assert here.reason is PointerReason.UNDERSCORE
    assert (there.accepted, there.target) == (True, "billing.example.com")
    assert elsewhere.reason is PointerReason.OFF_DOMAIN


def test_no_more_than_four_by_priority_and_equals_in_their_order() -> None:
    records = [Svcb(priority, f"a{number}.example.com", {}) for number, priority in enumerate([9, 1, 5, 1, 7, 3])]
    found = pointers([*records, Txt((b"x",)), AddressRecord("192.0.2.1")], Place(INDEX, DOMAIN, False))
    assert [one.target[:2] for one in found] == ["a1", "a3", "a5", "a2", "a4", "a0"]
    assert [one.reason for one in found] == [None] * MAX_POINTERS + [PointerReason.TOO_MANY] * 2


NUMBERS = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 65001, 65280, 65400, 65402, 65409, 65500])
PARAMS = st.dictionaries(NUMBERS, st.binary(max_size=20))
NAMES = st.sampled_from([".", "a.example.com", "a.other.net", "localhost", "10.0.0.1"]) | st.text(max_size=30)


@given(
    st.lists(st.builds(Svcb, st.integers(0, 65535), NAMES, PARAMS), max_size=6),
    st.sampled_from([f"_{kind}._agents.example.com" for kind in PointerKind]) | st.text(max_size=20),
    st.booleans(),
)
def test_no_record_breaks_it(records: list[Svcb], owner: str, secure: bool) -> None:
    found = pointers(records, Place(owner, DOMAIN, secure))
    assert len(found) == len(records)
    for pointer in found:
        assert pointer.accepted or pointer.url is None
        if pointer.url is not None and pointer.kind is not PointerKind.SEARCH:
            assert pointer.url.path.startswith("/.well-known/")
