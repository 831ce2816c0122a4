"""Catalogs in three dialects (CAT-1 to CAT-10; of SIG-*, only that a signature is there)."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.gate import GateReason, NotADocument
from proxy.discovery.listings.catalog import (
    MOST_ENTRIES,
    Catalog,
    Dialect,
    OpaqueCatalog,
    inline_verdict,
    parse_catalog,
    read_catalog,
)
from proxy.discovery.listings.catalogentries import Entry
from proxy.discovery.listings.digests import DataVerdict
from proxy.discovery.listings.mediatypes import EntryKind
from proxy.http.targets import parse_target

BASE = parse_target("https://example.com/.well-known/ai-catalog.json")
DIGEST = "sha256:" + "0a" * 32
ENTRY = {
    "identifier": "urn:air:example.com:mcp:shop",
    "displayName": "Shop tools",
    "type": "application/mcp-server-card+json",
    "url": "https://mcp.example.com/mcp/server-card",
}


def catalog(*entries: object, **members: object) -> bytes:
    return json.dumps({"specVersion": "1.0", **members, "entries": list(entries)}).encode()


def read(body: bytes, host: str = "example.com") -> Catalog:
    found = parse_catalog(body, parse_target(f"https://{host}/.well-known/ai-catalog.json"))
    assert isinstance(found, Catalog), found
    return found


def rules(found: Catalog) -> list[str]:
    return [f"{finding.rule} {finding.path}" + "?" * finding.is_warning for finding in found.findings]


def test_good_catalog() -> None:
    found = read(
        catalog({**ENTRY, "version": "2", "description": "Buys.", "publisher": {"identifier": "did:web:x"}})
    )
    assert found == Catalog(
        Dialect.ARD_0_9,
        "1.0",
        (
            Entry(
                identifier="urn:air:example.com:mcp:shop",
                version="2",
                display_name="Shop tools",
                description="Buys.",
                kind=EntryKind.MCP_SERVER_CARD,
                type="application/mcp-server-card+json",
                type_parameters=(),
                url=parse_target("https://mcp.example.com/mcp/server-card"),
                data=None,
                digest=None,
                publisher="did:web:x",
                is_signed=False,
                path="/entries/0",
                listed_by=BASE,
            ),
        ),
        is_signed=False,
        has_repeated_names=False,
        findings=(),
    )


NOT_A_CATALOG = [
    b"",
    b"<html>",
    b"[]",
    b"{}",
    b'{"entries": {}}',
    b'{"entries": null}',
    b'{"entries": ["\xe9"]}',
    b"{",
]


@pytest.mark.parametrize("body", NOT_A_CATALOG, ids=repr)
def test_anything_without_a_list_of_entries_is_absent(body: bytes) -> None:
    assert isinstance(parse_catalog(body, BASE), NotADocument)


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, {"entries": "x"}], ids=repr)
def test_data_that_is_no_catalog_is_absent(value: object) -> None:
    found = read_catalog(value, BASE)
    assert isinstance(found, NotADocument) and found.reason is GateReason.MEMBERS_MISSING


def test_no_entries_are_a_catalog() -> None:
    assert read(catalog()).entries == ()


DIALECTS: list[tuple[str, dict[str, Any], dict[str, Any], Dialect]] = [
    ("specVersion 1.0", {}, {}, Dialect.ARD_0_9),
    (
        "specVersion 1.0 with trustManifest",
        {"metadata": {}},
        {"trustManifest": {}, "metadata": {}},
        Dialect.ARD_0_9,
    ),
    ("JSON-LD context", {"specVersion": None, "@context": "https://example.com/c"}, {}, Dialect.ARD_0_91),
    ("specVersion 0.91", {"specVersion": "0.91"}, {}, Dialect.ARD_0_91),
    ("no version", {"specVersion": None}, {}, Dialect.ARD_0_91),
    ("open schema", {"specVersion": "0.91", "extensions": {}}, {}, Dialect.ARD_0_91),
    ("mediaType", {}, {"mediaType": "a/b", "type": None}, Dialect.AI_CATALOG),
    ("trustManifests", {}, {"trustManifests": []}, Dialect.AI_CATALOG),
    ("extensions", {"extensions": {}}, {}, Dialect.AI_CATALOG),
    ("extensions of an entry", {"specVersion": None}, {"extensions": {}}, Dialect.AI_CATALOG),
    ("signature", {"signature": {"jws": "x"}}, {}, Dialect.AI_CATALOG),
    ("release candidate", {"specVersion": "0.9"}, {}, Dialect.AI_CATALOG),
]


@pytest.mark.parametrize(("name", "root", "entry", "dialect"), DIALECTS, ids=[row[0] for row in DIALECTS])
def test_dialects(name: str, root: dict[str, Any], entry: dict[str, Any], dialect: Dialect) -> None:
    found = read(catalog({**ENTRY, **entry}, **root))
    assert (found.dialect, len(found.entries)) == (dialect, 1), name


VERSIONS: list[tuple[object, str | None, list[str]]] = [
    ("1.0", "1.0", []),
    ("0.9", "0.9", []),
    ("0.91", "0.91", []),
    ("1.17", "1.17", []),
    (None, None, []),
    ("1", "1", ["CAT-8 /specVersion"]),
    ("1.0.0", "1.0.0", ["CAT-8 /specVersion"]),
    ("draft", "draft", ["CAT-8 /specVersion"]),
    ("v2.0", "v2.0", ["CAT-8 /specVersion"]),
    ("-2.0", "-2.0", ["CAT-8 /specVersion"]),
    ("\u0662.0", "\u0662.0", ["CAT-8 /specVersion"]),
    ("", None, ["CAT-8 /specVersion"]),
    (True, None, ["CAT-8 /specVersion"]),
    ([2], None, ["CAT-8 /specVersion"]),
    ({}, None, ["CAT-8 /specVersion"]),
    ("x" * 100_000, "x" * 32, ["CAT-8 /specVersion"]),
    (1e300, "1e+300", ["CAT-8 /specVersion"]),
    # Written as a number it shows its version and still breaks the format.
    (1, "1", ["CAT-8 /specVersion"]),
]


@pytest.mark.parametrize(("stated", "version", "expected"), VERSIONS, ids=[repr(row[0])[:20] for row in VERSIONS])
def test_versions_that_are_read(stated: object, version: str | None, expected: list[str]) -> None:
    found = read(catalog(ENTRY, specVersion=stated))
    assert (found.spec_version, rules(found), len(found.entries)) == (version, expected, 1)


@pytest.mark.parametrize("stated", ["2.0", "10.1", "2", "2.0.1", 2, 3.5, "9" * 50], ids=repr)
def test_a_higher_major_version_is_not_interpreted(stated: object) -> None:
    found = parse_catalog(catalog(ENTRY, 5, specVersion=stated), BASE)
    assert isinstance(found, OpaqueCatalog)
    assert (found.finding.rule, found.finding.path) == ("CAT-8", "/specVersion")


AT = "/entries/0"

# Members that replace those of ENTRY; whether the entry is kept; the findings.
CASES: list[tuple[str, dict[str, Any], bool, list[str]]] = [
    ("CAT-2 other urn", {"identifier": "urn:ai:example.com:x"}, True, [f"CAT-2 {AT}/identifier?"]),
    ("CAT-2 plain text", {"identifier": "shop"}, True, [f"CAT-2 {AT}/identifier?"]),
    ("CAT-2 slash", {"identifier": "urn:air:example.com:a/b"}, True, [f"CAT-2 {AT}/identifier?"]),
    ("CAT-2 no name", {"identifier": "urn:air:example.com"}, True, [f"CAT-2 {AT}/identifier?"]),
    ("CAT-2 null", {"identifier": None}, False, [f"CAT-2 {AT}/identifier"]),
    ("CAT-2 empty", {"identifier": ""}, False, [f"CAT-2 {AT}/identifier"]),
    ("CAT-2 number", {"identifier": 5}, False, [f"CAT-2 {AT}/identifier"]),
    ("CAT-3 both", {"data": {}}, False, [f"CAT-3 {AT}"]),
    ("CAT-3 both, data false", {"data": False}, False, [f"CAT-3 {AT}"]),
    ("CAT-3 data null", {"data": None}, True, []),
    ("CAT-3 data only", {"url": None, "data": {"a": 1}}, True, []),
    ("CAT-3 neither", {"url": None}, False, [f"CAT-3 {AT}"]),
    ("CAT-3 neither, data null", {"url": None, "data": None}, False, [f"CAT-3 {AT}"]),
    ("CAT-3 http", {"url": "http://example.com/"}, False, [f"CAT-3 {AT}/url"]),
    ("CAT-3 userinfo", {"url": "https://a:b@example.com/"}, False, [f"CAT-3 {AT}/url"]),
    ("CAT-3 private", {"url": "https://192.168.0.1/"}, False, [f"CAT-3 {AT}/url"]),
    ("CAT-3 number", {"url": 5}, False, [f"CAT-3 {AT}/url"]),
    ("CAT-3 list", {"url": ["https://example.com/"]}, False, [f"CAT-3 {AT}/url"]),
    ("CAT-3 long", {"url": "https://example.com/" + "x" * 10_000}, False, [f"CAT-3 {AT}/url"]),
    ("CAT-3 relative", {"url": "/card.json"}, True, []),
    ("CAT-4 version number", {"version": 1}, True, [f"CAT-4 {AT}/version"]),
    ("CAT-5 parameters", {"type": "application/openapi+json;version=3.1"}, True, []),
    ("CAT-5 both spellings alike", {"mediaType": ENTRY["type"]}, True, []),
    ("CAT-5 both spellings", {"mediaType": "text/plain"}, True, [f"CAT-5 {AT}/mediaType"]),
    ("CAT-5 only mediaType", {"type": None, "mediaType": "text/plain"}, True, []),
    ("CAT-5 none", {"type": None}, True, [f"CAT-5 {AT}/mediaType"]),
    ("CAT-5 no media type", {"type": "mcp"}, True, [f"CAT-5 {AT}/type"]),
    ("CAT-5 number", {"type": 5}, True, [f"CAT-5 {AT}/type"]),
    ("CAT-6 legacy", {"type": "application/ai-skill"}, True, [f"CAT-6 {AT}/type?"]),
    ("CAT-6 unknown", {"type": "application/x-other"}, True, []),
    ("CAT-9 digest", {"digest": DIGEST}, True, []),
    ("CAT-9 weak", {"digest": "sha1:" + "0a" * 20}, True, [f"CAT-9 {AT}/digest"]),
    ("CAT-9 malformed", {"digest": "0a" * 32}, True, [f"CAT-9 {AT}/digest"]),
    ("CAT-9 number", {"digest": 5}, True, [f"CAT-9 {AT}/digest"]),
    ("CAT-10 aligned did", {"trustManifest": {"identity": "did:web:Example.com"}}, True, []),
    ("CAT-10 aligned URL", {"trustManifests": [{"contributor": "https://example.com/a"}]}, True, []),
    ("CAT-10 did", {"trustManifest": {"identity": "did:web:docs.example.com"}}, True, [f"CAT-10 {AT}?"]),
    ("CAT-10 URL", {"trustManifests": [5, {"contributor": "https://example.net"}]}, True, [f"CAT-10 {AT}?"]),
    ("CAT-10 no host in it", {"trustManifest": {"identity": ENTRY["identifier"]}}, True, []),
    ("CAT-10 identity a number", {"trustManifest": {"identity": 5}, "trustManifests": {}}, True, []),
    ("CAT-1 name a number", {"displayName": 5}, True, [f"CAT-1 {AT}/displayName"]),
    ("CAT-1 description empty", {"description": ""}, True, [f"CAT-1 {AT}/description"]),
    ("CAT-1 publisher a text", {"publisher": "x"}, True, [f"CAT-1 {AT}/publisher"]),
    ("CAT-1 publisher without id", {"publisher": {"identifier": 5}}, True, [f"CAT-1 {AT}/publisher/identifier"]),
    ("no display name", {"displayName": None}, True, []),
    ("unknown members", {"x": {"y": [1]}, "tags": 5, "metadata": []}, True, []),
]


@pytest.mark.parametrize(("name", "changes", "is_kept", "expected"), CASES, ids=[row[0] for row in CASES])
def test_one_entry(name: str, changes: dict[str, Any], is_kept: bool, expected: list[str]) -> None:
    found = read(catalog({**ENTRY, **changes}, {**ENTRY, "identifier": "urn:air:example.com:other"}))
    assert [len(found.entries) - 1, *rules(found)] == [int(is_kept), *expected], name


@pytest.mark.parametrize("value", [None, 5, "x", [], True], ids=repr)
def test_an_entry_that_is_no_object_is_dropped(value: object) -> None:
    found = read(catalog(value, ENTRY))
    assert [entry.path for entry in found.entries] == ["/entries/1"]
    assert rules(found) == ["CAT-1 /entries/0"]


def test_what_entries_hold() -> None:
    found = read(
        catalog(
            {**ENTRY, "type": 'Text/Markdown; Profile="urn:air:agent-skills"', "digest": DIGEST},
            {"identifier": "b", "type": "application/ai-catalog+json", "data": {"entries": []}},
        )
    )
    skill, nested = found.entries
    assert (skill.type, skill.type_parameters) == ("text/markdown", (("profile", "urn:air:agent-skills"),))
    assert (skill.kind, str(skill.digest), skill.data) == (EntryKind.SKILL, DIGEST, None)
    assert (nested.kind, nested.url, nested.data) == (EntryKind.CATALOG, None, {"entries": []})


def test_the_first_of_an_identifier_and_version_is_kept() -> None:
    other = {**ENTRY, "url": "https://example.com/other"}
    found = read(catalog(ENTRY, other, {**other, "version": "2"}, {**ENTRY, "version": "2"}))
    assert [entry.path for entry in found.entries] == ["/entries/0", "/entries/2"]
    assert rules(found) == ["CAT-4 /entries/1", "CAT-4 /entries/3"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("example.com", []),
        ("docs.example.com", ["CAT-10 /entries?"]),
        ("directory.example.net", ["CAT-10 /entries?"]),
    ],
)
def test_one_warning_for_all_entries_of_other_publishers(host: str, expected: list[str]) -> None:
    found = read(catalog(ENTRY, {**ENTRY, "version": "2"}), host)
    assert rules(found) == expected
    assert all("2 entries" in finding.detail for finding in found.findings)


def test_without_a_place_nothing_is_compared_with_it() -> None:
    found = parse_catalog(catalog({**ENTRY, "url": "card.json"}), None)
    assert isinstance(found, Catalog)
    assert (found.findings, found.entries[0].listed_by) == ((), None)


SIGNED: list[tuple[str, dict[str, Any], dict[str, Any], bool, bool]] = [
    ("catalog", {"signature": {"jws": "a..b"}}, {}, True, False),
    ("catalog, as text", {"signature": "a..b"}, {}, True, False),
    ("catalog, empty", {"signature": {}}, {}, False, False),
    ("catalog, number", {"signature": 1}, {}, False, False),
    ("entry", {}, {"trustManifest": {"signature": "a..b"}}, False, True),
    ("entry, several", {}, {"trustManifests": [{}, {"signature": {"jws": "a..b"}}]}, False, True),
    ("entry, unsigned", {}, {"trustManifest": {"attestations": []}, "trustManifests": [7]}, False, False),
]


@pytest.mark.parametrize(
    ("name", "root", "entry", "of_catalog", "of_entry"), SIGNED, ids=[row[0] for row in SIGNED]
)
def test_signatures_are_recognised(
    name: str, root: dict[str, Any], entry: dict[str, Any], of_catalog: bool, of_entry: bool
) -> None:
    found = read(catalog({**ENTRY, **entry}, **root))
    assert (found.is_signed, found.entries[0].is_signed) == (of_catalog, of_entry), name


def test_collections_are_flagged() -> None:
    found = read(catalog(ENTRY, collections=[{"url": "https://example.com/c"}]))
    assert (len(found.entries), rules(found)) == (1, ["CAT-7 /collections?"])


DATA = {"b": 1, "a": "é"}
DATA_DIGEST = "sha256:" + hashlib.sha256('{"a":"é","b":1}'.encode()).hexdigest()

INLINE: list[tuple[str, dict[str, Any], DataVerdict | None]] = [
    ("matches", {"data": DATA, "digest": DATA_DIGEST}, DataVerdict.MATCHES),
    ("differs", {"data": {**DATA, "b": 2}, "digest": DATA_DIGEST}, DataVerdict.DIFFERS),
    ("not canonical", {"data": {"a": 2**60}, "digest": DATA_DIGEST}, DataVerdict.NOT_CANONICAL),
    ("no digest", {"data": DATA}, None),
    ("at a URL", {"url": "https://example.com/", "digest": DATA_DIGEST}, None),
]


@pytest.mark.parametrize(("name", "members", "verdict"), INLINE, ids=[row[0] for row in INLINE])
def test_digests_of_data(name: str, members: dict[str, Any], verdict: DataVerdict | None) -> None:
    found = read(catalog({"identifier": "a", "type": "a/b", **members}))
    assert inline_verdict(found, found.entries[0]) is verdict, name


def test_repeated_names_void_every_digest() -> None:
    body = catalog({"identifier": "a", "type": "a/b", "data": DATA, "digest": DATA_DIGEST})
    found = read(body.replace(b'"b": 1', b'"b": 2, "b": 1'))
    assert found.has_repeated_names
    assert found.entries[0].data == DATA
    assert inline_verdict(found, found.entries[0]) is DataVerdict.NOT_CANONICAL


def entry(identifier: str, path: str, **members: Any) -> dict[str, Any]:
    return {"identifier": identifier, "type": "a/b", "url": f"https://example.com/{path}", **members}


def test_100_000_entries_end_at_the_limit() -> None:
    found = read(catalog(*(entry(f"urn:air:example.com:a{number}", "x") for number in range(100_000))))
    assert len(found.entries) == MOST_ENTRIES
    assert rules(found) == ["CAT-7 /entries?"]


def test_as_many_entries_as_allowed() -> None:
    assert rules(read(catalog(*(entry(f"urn:air:example.com:a{n}", "x") for n in range(MOST_ENTRIES))))) == []


def test_20_megabytes_are_read() -> None:
    found = read(
        catalog(*({**ENTRY, "version": str(number), "description": "x" * 200_000} for number in range(100)))
    )
    assert len(found.entries) == 100


def test_findings_are_bounded() -> None:
    assert len(read(catalog(*[{}] * 20_000)).findings) == 101


def test_100_000_empty_entries_are_more_than_is_parsed() -> None:
    refused = parse_catalog(catalog(*[{}] * 100_000), BASE)
    assert isinstance(refused, NotADocument) and refused.reason is GateReason.TOO_MANY


def test_catalogs_nested_in_data() -> None:
    value: dict[str, Any] = {"entries": []}
    for _ in range(10):
        value = {"entries": [{"identifier": "a", "type": "application/ai-catalog+json", "data": value}]}
    found: object = parse_catalog(json.dumps(value).encode(), BASE)
    for _ in range(10):
        assert isinstance(found, Catalog)
        [nested] = found.entries
        assert nested.kind is EntryKind.CATALOG
        found = read_catalog(nested.data, nested.listed_by)
    assert isinstance(found, Catalog) and found.entries == ()


def test_too_deep_is_absent() -> None:
    found = parse_catalog(b'{"entries": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}", BASE)
    assert isinstance(found, NotADocument) and found.reason is GateReason.TOO_DEEP


SECRET = "s3cr3t\n"


def test_findings_repeat_nothing_of_the_document() -> None:
    hostile = {name: f"{SECRET}{name}" for name in (*ENTRY, "mediaType", "digest", "trustManifest")}
    found = read(catalog(hostile, {**hostile, "url": 5}, {**hostile, SECRET: 1, "url": None}, specVersion=SECRET))
    assert found.findings
    assert "s3cr3t" not in repr(found.findings)


NAMES = [
    *ENTRY,
    "data",
    "mediaType",
    "digest",
    "version",
    "publisher",
    "trustManifest",
    "trustManifests",
    "signature",
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=15,
)
MEMBERS = st.sampled_from(["specVersion", "@context", "signature", "extensions", "collections", "host", "metadata"])


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(MEMBERS, VALUES), st.lists(VALUES | st.just(ENTRY), max_size=4))
def test_any_values_are_read(root: dict[str, Any], entries: list[Any]) -> None:
    found = parse_catalog(json.dumps({**root, "entries": entries}).encode(), BASE)
    assert isinstance(found, Catalog | OpaqueCatalog)
    if isinstance(found, Catalog):
        assert all((entry.url is None) is not (entry.data is None) for entry in found.entries)


@given(st.binary(max_size=80))
def test_any_bytes_are_read(body: bytes) -> None:
    parse_catalog(body, BASE)
    parse_catalog(b'{"entries": [' + body + b"]}", BASE)
