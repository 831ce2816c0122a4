"""AI catalogs of all dialects as lists of URLs (DISCOVERY_FORMATS.md §4.1)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.catalogs.aicatalogs import MOST_DEPTH
from proxy.catalogs.catalog import CatalogKind
from tests.catalogs.documents import ONE, THREE, TWO, ai_catalog, ai_entry, read, urls

CARD = {
    "name": "A",
    "url": ONE,
    "supportedInterfaces": [{"url": TWO, "protocolBinding": "GRPC"}, {"url": THREE}],
}
A2A, MCP = "application/a2a-agent-card+json", "application/mcp-server-card+json"

DIALECTS = {
    "ARD 0.9": {"specVersion": "1.0", "entries": [ai_entry(ONE, metadata={})]},
    "ARD 0.91": {"@context": "https://ard.example/", "entries": [ai_entry(ONE)]},
    "AI Catalog": {"specVersion": "0.9", "entries": [{"identifier": "x", "mediaType": "a/b", "url": ONE}]},
    "without a version": {"entries": [{"url": ONE}]},
    "version as a number": {"specVersion": 1.0, "entries": [{"url": ONE}]},
    "version of another kind": {"specVersion": ["2.0"], "entries": [{"url": ONE}]},
    "version without digits": {"specVersion": "v2", "entries": [{"url": ONE}]},
}


@pytest.mark.parametrize("value", DIALECTS.values(), ids=DIALECTS)
def test_dialects(value: object) -> None:
    catalog = read(value)
    assert catalog.kind is CatalogKind.AI_CATALOG and urls(catalog) == [ONE]
    assert catalog.media_type == "application/ai-catalog+json"
    assert not catalog.is_signed and catalog.limit_note is None


def test_an_entry() -> None:
    lifecycle = {"https://ai-catalog.org/extensions/lifecycle": {"status": "deprecated"}}
    [entry] = read(ai_catalog(ai_entry(ONE, updatedAt="2026-01-01T00:00:00Z", extensions=lifecycle))).entries
    assert (entry.url, entry.key, entry.subject) == (ONE, ONE, "urn:air:example.com:one")
    assert (entry.pointer, entry.owner) == (("entries", 0, "url"), 2)
    assert (entry.hint, entry.updated_at, entry.no_key) == ("deprecated", "2026-01-01T00:00:00Z", None)


HINTS: dict[str, tuple[Any, str | None]] = {
    "text": ({"https://ai-catalog.org/extensions/lifecycle": "active"}, "active"),
    "other extensions": ({"x": 1}, None),
    "no object": ([], None),
    "no text": ({"https://ai-catalog.org/extensions/lifecycle": {"status": 5}}, None),
    "long": ({"https://ai-catalog.org/extensions/lifecycle": "x" * 65}, None),
}


@pytest.mark.parametrize(("extensions", "hint"), HINTS.values(), ids=HINTS)
def test_hints(extensions: object, hint: str | None) -> None:
    [entry] = read(ai_catalog(ai_entry(ONE, extensions=extensions, updatedAt=7))).entries
    assert (entry.hint, entry.updated_at) == (hint, None)


@pytest.mark.parametrize("version", ["2.0", "2", "10.1", 2, 3.5, "9999999999999.0"])
def test_cat_8_a_later_major_version_is_not_read(version: object) -> None:
    catalog = read(ai_catalog(ai_entry(ONE), specVersion=version))
    assert catalog.entries == () and catalog.limit_note is not None and "CAT-8" in catalog.limit_note


def inline(data: object, **members: Any) -> dict[str, Any]:
    return ai_catalog({"identifier": "urn:air:example.com:one", "data": data, **members})


DATA: dict[str, tuple[Any, dict[str, Any], list[tuple[Any, ...]]]] = {
    "catalog": (ai_catalog(ai_entry(ONE)), {}, [("entries", 0, "url")]),
    "card, by its type": ({"name": "A", "url": ONE}, {"type": f"{A2A}; v=1"}, [("url",)]),
    "card, by its older type member": ({"url": ONE}, {"mediaType": A2A}, [("url",)]),
    "card, by what it is": (
        CARD,
        {},
        [("url",), ("supportedInterfaces", 0, "url"), ("supportedInterfaces", 1, "url")],
    ),
    "MCP server card": ({"remotes": [{"url": ONE}, {}, 5]}, {"type": MCP}, [("remotes", 0, "url")]),
    "API catalog": ({"linkset": [{"item": [{"href": ONE}]}]}, {}, [("linkset", 0, "item", 0, "href")]),
    "of another type": ({"url": ONE}, {"type": "text/markdown"}, []),
    "of no type": ({"url": ONE}, {"type": 5}, []),
    "of a malformed type": ({"url": ONE}, {"type": ";"}, []),
    "a text": (ONE, {"type": A2A}, []),
    "null": (None, {}, []),
}


@pytest.mark.parametrize(("data", "members", "pointers"), DATA.values(), ids=DATA)
def test_data(data: object, members: dict[str, Any], pointers: list[tuple[Any, ...]]) -> None:
    catalog = read(inline(data, **members))
    assert [entry.pointer for entry in catalog.entries] == [("entries", 0, "data", *steps) for steps in pointers]
    assert not catalog.is_signed


def test_the_subject_of_data_is_that_of_its_entry() -> None:
    assert {entry.subject for entry in read(inline(CARD)).entries} == {"urn:air:example.com:one"}


def nested(depth: int) -> dict[str, Any]:
    value = ai_catalog(ai_entry(ONE, f"at-{depth}"))
    for level in range(depth - 1, 0, -1):
        value = ai_catalog(ai_entry(TWO, f"at-{level}"), {"identifier": "urn:air:example.com:n", "data": value})
    return value


def test_cat_7_nested_catalogs() -> None:
    catalog = read(nested(MOST_DEPTH))
    assert [entry.subject for entry in catalog.entries] == [f"urn:air:example.com:at-{n}" for n in (1, 2, 3, 4)]
    assert [entry.owner for entry in catalog.entries] == [2, 5, 8, 11]
    assert catalog.limit_note is None


def test_cat_7_nested_deeper_they_are_not_read() -> None:
    catalog = read(nested(MOST_DEPTH + 1))
    assert len(catalog.entries) == MOST_DEPTH
    assert catalog.limit_note is not None and "CAT-7" in catalog.limit_note


SEALED = {
    "signature": ai_catalog(ai_entry(ONE), signature={"jws": "x"}),
    "proof": ai_catalog(ai_entry(ONE), proof={"proofValue": "x"}),
    "signature of another kind": ai_catalog(ai_entry(ONE), signature=5),
    "trust manifest of the catalog": ai_catalog(ai_entry(ONE), trustManifest={"signature": {"jws": "x"}}),
    "trust manifest of the host": ai_catalog(host={"trustManifest": {"signature": "x"}}),
    "signature in an entry": ai_catalog(ai_entry(ONE, signature="x")),
    "trust manifest in an entry": ai_catalog(ai_entry(ONE), ai_entry(TWO, trustManifest={"signature": "x"})),
    "one of several": ai_catalog(ai_entry(ONE, trustManifests=[{}, 5, {"signature": "x"}])),
    "manifests of another kind": ai_catalog(ai_entry(ONE, trustManifests={"signature": "x"}, trustManifest="x")),
    "nested catalog": inline(ai_catalog(signature="x")),
    "entry of a nested catalog": inline(ai_catalog(ai_entry(ONE, proof="x"))),
    "card": inline({**CARD, "signatures": [{"protected": "x"}]}),
    "data under a digest": inline(CARD, digest="sha256:00"),
    "of a later version": ai_catalog(specVersion="2.0", signature="x"),
}


@pytest.mark.parametrize("value", SEALED.values(), ids=SEALED)
def test_signed(value: object) -> None:
    assert read(value).is_signed


UNSEALED = {
    "empty signature": ai_catalog(ai_entry(ONE), signature={}),
    "null": ai_catalog(ai_entry(ONE), signature=None, proof=None),
    "manifest without one": ai_catalog(ai_entry(ONE, trustManifest={"identity": "did:web:example.com"})),
    "manifests without one": ai_catalog(ai_entry(ONE, trustManifests=[{"attestations": []}])),
    "no manifest": ai_catalog(ai_entry(ONE, trustManifest={}, trustManifests=[])),
    "no signatures": inline({**CARD, "signatures": []}),
    "digest of what is elsewhere": ai_catalog(ai_entry(ONE, digest="sha256:00")),
    "digest of data without URLs": inline({"text": "x"}, digest="sha256:00"),
}


@pytest.mark.parametrize("value", UNSEALED.values(), ids=UNSEALED)
def test_not_signed(value: object) -> None:
    assert not read(value).is_signed


ODD = [
    5,
    None,
    "x",
    [],
    {},
    {"url": None},
    {"url": 5},
    {"url": ""},
    {"url": [ONE]},
    {"data": 5},
    {"url": {"data": {}}},
]


@pytest.mark.parametrize("entry", ODD, ids=str)
def test_what_is_no_entry_is_passed_over(entry: object) -> None:
    assert urls(read(ai_catalog(entry, ai_entry(ONE)))) == [ONE]


@pytest.mark.parametrize("identifier", [None, 5, "", [], {}], ids=str)
def test_without_an_identifier_a_url_is_its_own_subject(identifier: object) -> None:
    first, second = read(ai_catalog({"identifier": identifier, "url": "/a"}, {"url": "http://x.example"})).entries
    assert first.subject == "https://catalogs.example.org/a"
    assert (second.subject, second.key) == ("http://x.example", None)
