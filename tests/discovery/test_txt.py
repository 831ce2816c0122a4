"""The TXT records at `_agent.<host>`, all formats together (DISCOVERY_FORMATS C-20 to C-23, U-T1, U-T8, §10)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.records.aidrecord import AidError, AidRecord
from proxy.discovery.records.dnsvalues import AddressRecord, Record, Svcb, Txt
from proxy.discovery.records.txt import AgentTxt, TxtKind, kind_of, read_agent_txt
from proxy.discovery.records.uaix1 import Uaix1, Uaix1Error

NOW = 1_780_000_000.0
HOST = "shop.example.com"
VECTORS = json.loads((Path(__file__).parent.parent / "samples/discovery/txt_vectors.json").read_bytes())
UAIX = f"v=uaix1; endpoint=https://{HOST}/.well-known/uaix-agent-access.json"
AID2 = "v=aid2;u=https://api.example.com/mcp;p=mcp"
AID1 = "v=aid1;u=https://api.example.com/mcp;p=mcp"


def read(*texts: str | bytes, secure: bool = False) -> AgentTxt:
    records = [Txt((text.encode() if isinstance(text, str) else text,)) for text in texts]
    return read_agent_txt(records, HOST, secure=secure, now=NOW)


def records_of(vector: dict[str, Any]) -> list[Txt]:
    if "rrs_hex" in vector:
        return [Txt(tuple(bytes.fromhex(string) for string in strings)) for strings in vector["rrs_hex"]]
    return [Txt(tuple(string.encode() for string in strings)) for strings in vector["rrs"]]


def outcomes(found: AgentTxt) -> dict[str, Any]:
    """The result in the words of the vectors."""
    said: dict[str, Any] = {}
    match found.uaix1:
        case Uaix1(endpoint, did):
            said["uaix"] = {"endpoint": endpoint and endpoint.uri, "did": did}
        case Uaix1Error(reason) if reason != "no_record":
            said["uaix_error"] = reason.value
    match found.aid:
        case AidRecord():
            said["aid"] = dict(found.aid.fields)
        case AidError() if found.aid.code != 1000:
            said["aid_error"] = found.aid.name
    return said


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_vectors(vector: dict[str, Any]) -> None:
    found = read_agent_txt(records_of(vector), HOST, secure=False, now=NOW)
    said = outcomes(found)
    expected = dict(vector["expect"])
    if expected.pop("none_or_error_not_crash", False):
        assert set(said) <= {"aid_error"}
        return
    if expected.pop("none", False):
        assert said == {}
        assert all(record.kind is TxtKind.FOREIGN for record in found.records)
        return
    diagnostic = expected.pop("diagnostic", None)
    if diagnostic is not None:
        assert isinstance(found.aid, AidError)
        assert "in lower case" in found.aid.detail
        assert "endpoint is no key" in found.aid.detail
    assert said.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, dict):
            assert {key: said[name].get(key) for key in value} == value
        else:
            assert said[name] == value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("v=uaix1", "uaix1"),
        ("V=uaix1;x", "uaix1"),
        ("v=uaix2", "foreign"),
        ("v=UAIX1", "foreign"),
        ("v=aid1;u=x", "aid1"),
        (" v = aid2 ;u=x", "aid2"),
        ("v=aid3;u=x", "aid-like"),
        ("v=AID1; endpoint=x", "aid-like"),
        ("v=aid", "aid-like"),
        ("v=aid2\ufffd", "aid-like"),
        ("u=x;v=aid2", "foreign"),
        ("v aid2", "foreign"),
        ("v=spf1 -all", "foreign"),
        ("v=aid-like", "aid-like"),
        ("v=foreign", "foreign"),
        ("", "foreign"),
    ],
)
def test_the_version_in_front_decides(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("texts", "listed"),
    [
        ([UAIX], [("uaix1", True, None)]),
        ([UAIX, AID2], [("uaix1", True, None), ("aid2", True, None)]),
        ([AID1, AID2], [("aid1", True, "superseded"), ("aid2", True, None)]),
        ([f"{AID2};e=2027-01-01T00:00:00Z"], [("aid2", True, "deprecated")]),
        ([f"{AID2};e=2020-01-01T00:00:00Z"], [("aid2", False, "ERR_INVALID_TXT")]),
        ([AID2, AID2.replace("api", "b")], [("aid2", False, "ERR_INVALID_TXT")] * 2),
        ([UAIX, f"{UAIX}x"], [("uaix1", False, "ambiguous")] * 2),
        ([f"{UAIX}; did=did:web:example.net"], [("uaix1", True, "did_ignored")]),
        (["v=uaix1; endpoint=https://cdn.example.net/m.json"], [("uaix1", True, "needs_proof")]),
        (["v=uaix1; endpoint"], [("uaix1", False, "malformed")]),
        (["v=uaix2"], [("foreign", False, "unknown_version")]),
        (["v=aid3"], [("aid-like", False, "ERR_INVALID_TXT")]),
        (["v=aid2;p=ftp;u=https://a.example.com/"], [("aid2", False, "ERR_UNSUPPORTED_PROTO")]),
        (["v=spf1 -all", ""], [("foreign", False, "foreign"), ("foreign", False, "empty")]),
        ([b"v=uaix1; endpoint=\xff"], [("uaix1", False, "not_utf_8")]),
        ([b"v=aid2;u=\xff"], [("aid2", False, "ERR_INVALID_TXT")]),
        ([b"\xff\xff"], [("foreign", False, "foreign")]),
    ],
)
def test_every_record_is_listed(texts: list[str | bytes], listed: list[tuple[str, bool, str | None]]) -> None:
    found = read(*texts).records
    assert [(one.kind, one.accepted, one.reason and one.reason.partition(":")[0]) for one in found] == listed
    assert all(one.reason is None or one.reason.endswith(".") for one in found)


def test_what_is_listed_says_the_values() -> None:
    uaix1, aid2 = read(f"{UAIX}; did=did:web:{HOST}", f"{AID2};s=Tools").records
    assert uaix1.value == {"endpoint": UAIX.partition("endpoint=")[2], "did": f"did:web:{HOST}"}
    assert aid2.value == {"v": "aid2", "uri": "https://api.example.com/mcp", "proto": "mcp", "desc": "Tools"}
    assert aid2.text == f"{AID2};s=Tools"
    assert read("v=spf1 -all").records[0].value == {}


def test_what_is_listed_is_short_and_plain() -> None:
    (long,) = read("v=spf1 \x1b[31m" + "x" * 65_000).records
    assert len(long.text) == 201
    assert "\x1b" not in long.text


@pytest.mark.parametrize(
    ("texts", "code"),
    [([UAIX], 1000), (["v=spf1 -all"], 1000), ([], 1000), ([UAIX, "v=aid9"], 1001), ([UAIX, b"v=aid2\xff"], 1001)],
)
def test_aid_is_absent_where_no_record_claims_to_be_aid(texts: list[str | bytes], code: int) -> None:
    aid = read(*texts).aid
    assert isinstance(aid, AidError)
    assert aid.code == code
    assert aid.allows_document is (code == 1000)


def test_one_partition_does_not_see_the_other() -> None:
    found = read(UAIX, "v=aid2;broken")
    assert isinstance(found.uaix1, Uaix1)
    assert isinstance(read("v=uaix1; broken", AID2).aid, AidRecord)


def test_dnssec_vouches_for_an_endpoint_elsewhere() -> None:
    text = "v=uaix1; endpoint=https://cdn.example.net/m.json; did=did:web:cdn.example.net"
    secure = read(text, secure=True).uaix1
    assert isinstance(secure, Uaix1)
    assert (secure.needs_proof, secure.is_did_ignored) == (False, False)


def test_other_types_in_the_answer_are_passed_over() -> None:
    records: list[Record] = [Svcb(1, "a.example.com", {}), AddressRecord("192.0.2.1"), Txt(())]
    found = read_agent_txt(records, HOST, secure=False, now=NOW)
    assert [record.text for record in found.records] == [""]


def test_many_records_are_all_listed() -> None:
    found = read(*[f"v=aid2;u=https://a{number}.example.com/;p=mcp" for number in range(2000)])
    assert len(found.records) == 2000
    assert isinstance(found.aid, AidError)


PREFIXES = st.sampled_from(
    [b"", b"v=uaix1;", b"v=aid2;", b"v=aid1;", b"v=aid", b"v=uaix", UAIX.encode(), AID2.encode()]
)


@given(st.lists(st.tuples(PREFIXES, st.binary(max_size=60)), max_size=5), st.booleans())
def test_no_octets_break_it(parts: list[tuple[bytes, bytes]], secure: bool) -> None:
    records = [Txt(strings) for strings in parts]
    found = read_agent_txt(records, HOST, secure=secure, now=NOW)
    assert len(found.records) == len(records)
    assert found == read_agent_txt(records, HOST, secure=secure, now=NOW)
