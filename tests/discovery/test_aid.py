"""AID records and the document that stands in for them (DISCOVERY_FORMATS §2, AID-1 to AID-5, AID-9)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.records.aid import MAX_DOCUMENT, choose_aid, parse_aid, parse_aid_document
from proxy.discovery.records.aidrecord import AidCode, AidError, AidRecord, Deprecation

NOW = 1_780_000_000.0  # 2026-05-28
KEY = "ebVWLo_mVPlAeLES6KmLp5AfhTrmlb7X4OORC60ElmQ"
LEGACY_KEY = "zJCwBHjjLTchNpqU9c4nxsFoAPBJHvn2J8VL9FELSJDt9"
BASE = "v=aid2;u=https://api.example.com/mcp;p=mcp"


def record(text: str) -> AidRecord:
    reading = parse_aid(text, NOW)
    assert isinstance(reading, AidRecord), reading
    return reading


def error(text: str) -> AidError:
    reading = parse_aid(text, NOW)
    assert isinstance(reading, AidError), reading
    assert reading.detail.endswith(".")
    return reading


def test_every_key_under_its_full_name_or_its_alias() -> None:
    short = f"{BASE};a=oauth2_code;s=Shop tools;d=https://docs.example.com/;e=2027-01-01T00:00:00Z;k={KEY}"
    long = (
        "v=aid2;uri=https://api.example.com/mcp;proto=mcp;auth=oauth2_code;desc=Shop tools"
        f";docs=https://docs.example.com/;dep=2027-01-01T00:00:00Z;pka={KEY}"
    )
    assert record(short) == record(long)
    read = record(short)
    assert read.fields == {
        "v": "aid2",
        "uri": "https://api.example.com/mcp",
        "proto": "mcp",
        "auth": "oauth2_code",
        "desc": "Shop tools",
        "docs": "https://docs.example.com/",
        "dep": "2027-01-01T00:00:00Z",
        "pka": KEY,
    }
    assert read.uri == "https://api.example.com/mcp"
    assert read.target is not None
    assert read.target.uri == read.uri
    assert read.key is not None
    assert read.key.text == KEY
    assert read.deprecated_at == 1_798_761_600.0


@pytest.mark.parametrize(
    "text",
    [
        f"{BASE};",
        "V = aid2 ; U = https://api.example.com/mcp ; P = mcp",
        ";".join(reversed(BASE.split(";"))),
        f"{BASE};x=1;unknown=2",
        f"{BASE};a=none",
        f"{BASE};s={'é' * 30}",
        f"{BASE};s={'x' * 60}",
        "v=aid1;u=https://api.example.com/mcp;p=mcp",
        "v=aid1;u=https://api.example.com/mcp;p=mcp;i=g1",
        f"v=aid1;u=https://api.example.com/mcp;p=mcp;k={LEGACY_KEY};i=g1",
        "v=aid1;u=https://api.example.com/mcp;p=mcp;k=z" + "1" * 32 + ";i=g1",
        "v=aid2;u=HTTPS://API.example.com;p=a2a",
    ],
)
def test_accepted(text: str) -> None:
    record(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v=aid2",
        "v=aid2;p=mcp",
        "v=aid2;u=https://api.example.com/mcp",
        f"{BASE};a",
        f"{BASE};a=",
        f"{BASE};=x",
        f"{BASE};p=mcp",
        f"{BASE};P=mcp",
        f"{BASE};uri=https://api.example.com/mcp",
        f"{BASE};proto=mcp",
        "v=aid1;u=https://a.example.com/;p=mcp;i=g1;kid=g1",
        "v=aid3;u=https://api.example.com/mcp;p=mcp",
        "v=AID2;u=https://api.example.com/mcp;p=mcp",
        f"{BASE};a=oauth",
        f"{BASE};a=PAT",
        f"{BASE};s={'x' * 61}",
        f"{BASE};s={'é' * 31}",
        f"{BASE};d=http://docs.example.com/",
        f"{BASE};d=docs",
        f"{BASE};e=2027-01-01",
        f"{BASE};e=2027-01-01T00:00:00+00:00",
        f"{BASE};e=2027-13-01T00:00:00Z",
        f"{BASE};e=2027-02-30T00:00:00Z",
        f"{BASE};k={KEY}=",
        f"{BASE};k={KEY[:-1]}",
        f"{BASE};k={KEY[:-1]}R",  # same octets, another spelling
        f"{BASE};k={LEGACY_KEY}",
        f"{BASE};k={KEY};i=g1",
        f"{BASE};i=g1",
        f"v=aid1;u=https://api.example.com/mcp;p=mcp;k={LEGACY_KEY}",
        f"v=aid1;u=https://api.example.com/mcp;p=mcp;k={KEY};i=g1",
        "v=aid1;u=https://api.example.com/mcp;p=mcp;k=z" + "1" * 33 + ";i=g1",
        "v=aid2;u=api.example.com;p=mcp",
        "v=aid2;u=https:;p=mcp",
        "v=aid2;u=https://;p=mcp",
        "v=aid2;u=https://a.example.com/a b;p=mcp",
        "v=aid2;u=https://a.example.com/\x07;p=mcp",
        "v=aid2;u=https:a.example.com;p=mcp",
        "v=aid2;u=docker:;p=local",
    ],
)
def test_malformed(text: str) -> None:
    assert error(text).code is AidCode.ERR_INVALID_TXT


@pytest.mark.parametrize(
    ("proto", "uri", "code"),
    [
        *[(proto, "https://a.example.com/", None) for proto in ("mcp", "a2a", "openapi", "grpc", "graphql", "ucp")],
        ("websocket", "wss://a.example.com/ws", None),
        ("local", "docker:example/image", None),
        ("local", "npx:tool", None),
        ("local", "pip:tool", None),
        ("zeroconf", "zeroconf:_mcp._tcp", None),
        ("mcp", "http://a.example.com/", 1003),
        ("mcp", "wss://a.example.com/", 1003),
        ("websocket", "https://a.example.com/", 1003),
        ("websocket", "ws://a.example.com/", 1003),
        ("local", "https://a.example.com/", 1003),
        ("local", "sh:rm", 1003),
        ("zeroconf", "https://a.example.com/", 1003),
        ("mcp", "https://10.0.0.1/", 1003),
        ("mcp", "https://[::1]/", 1003),
        ("websocket", "wss://169.254.169.254/", 1003),
        ("mcp", "https://localhost/", 1003),
        ("mcp", "https://u:p@a.example.com/", 1003),
        ("mcp", "https://a.example.com:25/", 1003),
        ("ftp", "https://a.example.com/", 1002),
        ("MCP", "https://a.example.com/", 1002),
    ],
)
def test_what_each_protocol_takes(proto: str, uri: str, code: int | None) -> None:
    text = f"v=aid2;u={uri};p={proto}"
    if code is not None:
        assert error(text).code == code
        return
    read = record(text)
    assert read.proto == proto
    assert (read.target is None) == (proto in ("local", "zeroconf"))
    assert read.uri == uri


def test_a_websocket_is_reached_over_https() -> None:
    read = record("v=aid2;u=wss://a.example.com:8443/ws?x=1#frag;p=websocket")
    assert read.target is not None
    assert read.target.uri == "https://a.example.com:8443/ws?x=1"


def test_a_key_that_proves_nothing_is_a_matter_of_security() -> None:
    refused = error(f"{BASE};k={'A' * 43}")
    assert refused.code is AidCode.ERR_SECURITY
    assert refused.name == "ERR_SECURITY"


def test_a_legacy_key_is_shown_and_not_used() -> None:
    read = record(f"v=aid1;u=https://a.example.com/;p=mcp;k={LEGACY_KEY};i=g1")
    assert read.key is None
    assert (read.fields["pka"], read.fields["kid"]) == (LEGACY_KEY, "g1")


def test_free_text_is_shown_without_controls() -> None:
    assert record(f"{BASE};s=a\x1b[31mb\u202ec").fields["desc"] == "a[31mbc"
    assert record("v=aid1;u=https://a.example.com/;p=mcp;i=a\x00b").fields["kid"] == "ab"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "v=AID1; endpoint=https://x.example.com/",
            ("aid1 in lower case", "uri (or u) is missing: endpoint is no key of AID", "proto (or p) is missing."),
        ),
        (
            "v=AID2;url=https://x.example.com/;protocol=mcp",
            ("aid2 in lower", "url is no key", "protocol is no key"),
        ),
        ("v=aid3;u=https://x.example.com/;p=mcp", ("neither aid1 nor aid2",)),
        ("v=aid2;p=mcp", ("uri (or u) is missing.",)),
    ],
)
def test_says_what_is_wrong_with_records_from_the_wild(text: str, says: tuple[str, ...]) -> None:
    detail = error(text).detail
    assert all(part in detail for part in says), detail
    assert "x.example.com" not in detail


@pytest.mark.parametrize(
    ("dep", "deprecation"),
    [
        (None, Deprecation.NONE),
        ("2026-05-28T20:26:41Z", Deprecation.ANNOUNCED),
        ("2026-05-28T20:26:40Z", Deprecation.PAST),
        ("0001-01-01T00:00:00Z", Deprecation.PAST),
    ],
)
def test_deprecation(dep: str | None, deprecation: Deprecation) -> None:
    assert record(f"{BASE};e={dep}" if dep else BASE).deprecation is deprecation


AID1 = "v=aid1;u=https://old.example.com/mcp;p=mcp"
OTHER = "v=aid2;u=https://b.example.com/mcp;p=mcp"
NO_URI = "v=aid2;p=mcp"
PAST = f"{BASE};e=2020-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("texts", "outcome"),
    [
        ([], 1000),
        ([BASE], "https://api.example.com/mcp"),
        ([AID1], "https://old.example.com/mcp"),
        ([AID1, BASE], "https://api.example.com/mcp"),
        ([NO_URI, BASE], "https://api.example.com/mcp"),
        ([NO_URI, AID1], "https://old.example.com/mcp"),
        ([AID1, AID1.replace("old", "older"), BASE], "https://api.example.com/mcp"),
        (["v=aid3;u=https://c.example.com/;p=mcp", AID1], "https://old.example.com/mcp"),
        ([BASE, OTHER], 1001),
        ([BASE, f"{BASE};"], 1001),
        ([AID1, AID1.replace("old", "older")], 1001),
        ([NO_URI], 1001),
        (["v=aid3;u=https://c.example.com/;p=mcp"], 1001),
        (["v=aid2;u=https://a.example.com/;p=ftp"], 1002),
        (["v=aid2;u=https://a.example.com/;p=ftp"] * 2, 1002),
        (["v=aid2;u=https://a.example.com/;p=ftp", NO_URI], 1001),
        (["v=aid2;u=http://a.example.com/;p=mcp"], 1003),
        ([PAST], 1001),
        ([PAST, OTHER], 1001),
        ([PAST, AID1], 1001),
    ],
)
def test_exactly_one_valid_record_of_the_newest_version_holds(texts: list[str], outcome: str | int) -> None:
    readings = [parse_aid(text, NOW) for text in texts]
    for order in (readings, readings[::-1]):
        chosen = choose_aid(order)
        if isinstance(chosen, AidRecord):
            assert chosen.uri == outcome
        else:
            assert chosen.code == outcome
            assert chosen.allows_document is (outcome == 1000)


def test_only_absence_and_a_failed_look_up_allow_the_document() -> None:
    allowed = {code for code in AidCode if AidError(code, "").allows_document}
    assert allowed == {AidCode.ERR_NO_RECORD, AidCode.ERR_DNS_LOOKUP_FAILED}


NO_TEXTS: tuple[Any, ...] = (None, 1, True, [], {}, "", " ")
MEMBERS: dict[str, Any] = {"v": "aid2", "u": "https://a.example.com/mcp", "p": "mcp"}


def document(value: object, media_type: str | None = "application/json") -> AidRecord | AidError:
    return parse_aid_document(json.dumps(value).encode(), media_type, NOW)


@pytest.mark.parametrize(
    ("value", "media_type"),
    [
        (MEMBERS, "application/json"),
        (MEMBERS, "Application/JSON; charset=utf-8"),
        ({"v": "aid2", "uri": "https://a.example.com/mcp", "proto": "mcp"}, "application/json"),
        ({**MEMBERS, "x": {"deep": [1, None]}, "auth": None, "k": KEY, "a": "pat"}, "application/json"),
        ({**MEMBERS, "v": " aid1 "}, "application/json"),
    ],
)
def test_document(value: object, media_type: str) -> None:
    read = document(value, media_type)
    assert isinstance(read, AidRecord), read
    assert read.uri == "https://a.example.com/mcp"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *[(value, 1005) for value in (None, [], [MEMBERS], "v=aid2", 1, {}, {"v": "aid2"})],
        *[({**MEMBERS, name: wrong}, 1005) for name in MEMBERS for wrong in NO_TEXTS],
        *[({**MEMBERS, name: 1}, 1005) for name in ("auth", "desc", "docs", "dep", "pka", "kid", "s", "i")],
        ({**MEMBERS, "uri": "https://a.example.com/mcp"}, 1005),
        ({**MEMBERS, "V": "aid2", "v": "aid3"}, 1005),
        ({**MEMBERS, "kid": "g1"}, 1005),
        ({**MEMBERS, "p": "ftp"}, 1002),
        ({**MEMBERS, "u": "http://a.example.com/"}, 1003),
        ({**MEMBERS, "u": "https://10.0.0.1/"}, 1003),
    ],
)
def test_a_bad_document(value: object, code: int) -> None:
    read = document(value)
    assert isinstance(read, AidError), read
    assert read.code == code
    assert not read.allows_document


GOOD_BODY = json.dumps(MEMBERS).encode()


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (GOOD_BODY, None),
        (GOOD_BODY, ""),
        (GOOD_BODY, "text/html"),
        (GOOD_BODY, "text/plain; x=application/json"),
        (b"", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"<!doctype html>", "application/json"),
        (b'{"v": "aid2", "v": "aid2", "u": "https://a.example.com/", "p": "mcp"}', "application/json"),
        (b"[" * 100_000, "application/json"),
        (b"[" * 40 + b"]" * 40, "application/json"),
        (b'{"v": NaN}', "application/json"),
        (GOOD_BODY + b" " * MAX_DOCUMENT, "application/json"),
    ],
    ids=[
        "no type",
        "empty type",
        "html",
        "text",
        "empty",
        "not UTF-8",
        "markup",
        "a name twice",
        "long and deep",
        "deep",
        "NaN",
        "too long",
    ],
)
def test_a_body_that_is_no_document(body: bytes, media_type: str | None) -> None:
    read = parse_aid_document(body, media_type, NOW)
    assert isinstance(read, AidError)
    assert read.code is AidCode.ERR_FALLBACK_FAILED


def test_a_document_may_be_as_long_as_allowed() -> None:
    assert isinstance(parse_aid_document(GOOD_BODY.ljust(MAX_DOCUMENT), "application/json", NOW), AidRecord)


KEYS = ["v", "uri", "u", "proto", "p", "auth", "a", "desc", "docs", "d", "dep", "e", "pka", "k", "kid", "i", "x"]
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(st.text(max_size=200), st.dictionaries(st.sampled_from(KEYS), JSON), st.binary(max_size=100))
def test_nothing_breaks_the_parsers(text: str, members: dict[str, Any], octets: bytes) -> None:
    for key in KEYS:
        parse_aid(f"{BASE};{key}={text}", NOW)
        parse_aid(f"v=aid1;{key}={text}", NOW)
    parse_aid(text, NOW)
    document(members)
    document({**MEMBERS, **members})
    parse_aid_document(octets, "application/json", NOW)
