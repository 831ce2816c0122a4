"""Catalogs from octets: which format they are in, and what is none."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.catalogs.applying import applied
from proxy.catalogs.catalog import MOST_ENTRIES, CatalogKind, NotACatalog
from proxy.catalogs.reading import read_catalog
from proxy.catalogs.reporting import report
from proxy.http.targets import parse_target
from proxy.relocation.records import LONGEST_URL
from tests.catalogs.documents import BASE, ONE, TWO, ai_catalog, ai_entry, gone, moved, read, standings

LINKS: list[Any] = [{"item": [{"href": TWO}]}]
BOTH = {"entries": [ai_entry(ONE)], "linkset": LINKS}

KINDS: dict[str, tuple[Any, str | None, CatalogKind]] = {
    "entries": (ai_catalog(), None, CatalogKind.AI_CATALOG),
    "entries as JSON": (ai_catalog(), "application/json", CatalogKind.AI_CATALOG),
    "entries as text": (ai_catalog(), "text/plain; charset=utf-8", CatalogKind.AI_CATALOG),
    "entries as a linkset": (ai_catalog(), "application/linkset+json", CatalogKind.AI_CATALOG),
    "both": (BOTH, None, CatalogKind.AI_CATALOG),
    "both, as a linkset": (BOTH, "Application/Linkset+JSON", CatalogKind.LINKSET),
    "cards beside what is none": ({"agents": 1, "cards": [ONE]}, None, CatalogKind.CARDS),
    "both, as a catalog": (BOTH, "application/ai-catalog+json", CatalogKind.AI_CATALOG),
    "both, as anything": (BOTH, "a/b", CatalogKind.AI_CATALOG),
    "both, as nothing": (BOTH, "nonsense", CatalogKind.AI_CATALOG),
    "linkset": ({"linkset": []}, None, CatalogKind.LINKSET),
    "servers": ({"servers": [{"server": {}}]}, None, CatalogKind.MCP_REGISTRY),
    "servers by their names": ({"servers": [5, {"name": "a"}]}, None, CatalogKind.MCP_REGISTRY),
    "no servers": ({"servers": []}, None, CatalogKind.MCP_REGISTRY),
    "agents": ({"agents": [ONE]}, None, CatalogKind.CARDS),
    "URLs": ([ONE], None, CatalogKind.CARDS),
}


@pytest.mark.parametrize(("value", "media_type", "kind"), KINDS.values(), ids=KINDS)
def test_kinds(value: object, media_type: str | None, kind: CatalogKind) -> None:
    assert read(value, media_type).kind is kind


MEDIA_TYPES = [
    (None, "application/ai-catalog+json"),
    ("application/ai-catalog+json", "application/ai-catalog+json"),
    (" application/ai-catalog+json;v=1 ", "application/ai-catalog+json;v=1"),
    ("application/json", "application/json"),
    ("application/vnd.example+json", "application/vnd.example+json"),
    ("application/json; charset=iso-8859-1", "application/json"),
    ("text/plain", "application/ai-catalog+json"),
    ("application/octet-stream", "application/ai-catalog+json"),
    ("nonsense", "application/ai-catalog+json"),
]


@pytest.mark.parametrize(("media_type", "expected"), MEDIA_TYPES, ids=str)
def test_media_types(media_type: str | None, expected: str) -> None:
    assert read(ai_catalog(), media_type).media_type == expected


REFUSED: dict[str, tuple[Any, str | None]] = {
    "HTML": (ai_catalog(), "text/html; charset=utf-8"),
    "XHTML": (ai_catalog(), "application/xhtml+xml"),
    "empty": (b"", None),
    "a web page": (b"<!doctype html><html></html>", None),
    "not UTF-8": (b'{"entries":["\xff"]}', None),
    "a name twice": (b'{"entries":[],"entries":[]}', None),
    "a name twice in an entry": (b'{"entries":[{"url":"https://a.example/","url":"https://b.example/"}]}', None),
    "deep": (b'{"entries":' + b"[" * 1000 + b"]" * 1000 + b"}", None),
    "text": ("catalog", None),
    "number": (5, None),
    "null": (None, None),
    "empty object": ({}, None),
    "an error": ({"error": {"code": 404}}, None),
    "entries of another kind": ({"entries": {"a": 1}}, None),
    "linkset of another kind": ({"linkset": {"item": []}}, None),
    "servers of another kind": ({"servers": {"a": 1}}, None),
    "OpenAPI": ({"openapi": "3.1.0", "servers": [{"url": "https://api.example.com/"}], "paths": {}}, None),
    "a card alone": ({"name": "A", "url": ONE}, None),
    "MCP configuration": ({"mcpServers": {"a": {"url": ONE}}}, None),
    "agents of another kind": ({"agents": [1, 2]}, None),
    "numbers": ([1, 2], None),
    "words": (["a", "b"], None),
    "lists": ([[ONE]], None),
}


@pytest.mark.parametrize(("value", "media_type"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_catalog(value: object, media_type: str | None) -> None:
    with pytest.raises(NotACatalog) as refused:
        read(value, media_type)
    assert refused.value.detail and str(refused.value) == refused.value.detail


def test_a_catalog_at_a_path_that_nothing_can_be_relative_to() -> None:
    body = json.dumps(ai_catalog(ai_entry("a"))).encode()
    with pytest.raises(NotACatalog):
        read_catalog(body, None, parse_target("https://example.com/" + "a" * LONGEST_URL))


def test_the_value() -> None:
    assert read(ai_catalog(host={"displayName": "É"})).value == ai_catalog(host={"displayName": "É"})


def test_50_000_urls_on_one_host() -> None:
    value = ai_catalog(*(ai_entry(f"https://example.com/{number}", str(number)) for number in range(MOST_ENTRIES)))
    catalog = read(value)
    assert len(catalog.entries) == MOST_ENTRIES and catalog.limit_note is None
    known = standings(catalog, gone("https://example.com/0"), moved("https://example.com/49999"))
    result = applied(catalog, known)
    assert (result.moved, result.gone) == (1, 1) and result.body is not None
    assert len(json.loads(result.body)["entries"]) == MOST_ENTRIES - 1
    assert len(report(BASE.uri, catalog, known)["entries"]) == MOST_ENTRIES


def test_more_are_not_read_and_stay() -> None:
    urls = [f"https://example.com/{number}" for number in range(MOST_ENTRIES + 2)]
    catalog = read(urls)
    assert len(catalog.entries) == MOST_ENTRIES
    assert catalog.limit_note is not None and str(MOST_ENTRIES) in catalog.limit_note
    result = applied(catalog, standings(catalog, gone(urls[0]), gone(urls[-1])))
    assert result.body is not None and json.loads(result.body) == urls[1:]


# One element over and over: what follows is to take time linear in it.
WORST: dict[str, tuple[str, str]] = {
    "entries": ('{"entries":[%s]}', json.dumps(ai_entry(ONE))),
    "the same tombstone": ('{"entries":[%s]}', '{"url":"https://gone.example.com/"}'),
    "URLs": ("[%s]", '"https://gone.example.com/"'),
    "relative URLs": ("[%s]", '"a://","' + "a/" * 1000 + '"'),
    "dot segments": ('{"entries":[%s]}', '{"url":"https://example.com' + "/.." * 600 + '"}'),
    "words": ('{"entries":[%s]}', '{"url":"https://example.com/' + "a.b@" * 55 + '%zz"}'),
    "remotes of one server": ('{"servers":[{"server":{"remotes":[%s]}}]}', '{"url":"https://gone.example.com/"}'),
    "targets of one context": ('{"linkset":[{"item":[%s]}]}', '{"href":"https://gone.example.com/"}'),
    "contexts": ('{"linkset":[%s]}', '{"item":[{"href":"https://gone.example.com/"}],"title":"' + "a" * 30 + '"}'),
    "nested": (
        '{"entries":[%s]}',
        '{"data":{"entries":[{"url":"https://gone.example.com/"},{"url":"https://moved.example.com/?version=1.0.0"}]}}',
    ),
    "trust manifests": ('{"entries":[{"trustManifests":[%s]}]}', '{"identity":"did:web:example.com"}'),
    "empty seals": (
        '{"jws":{"a":{"b":{"jws":1}}},"entries":[%s]}',
        '{"proof":[],"data":{"entries":[{"jws":null,"data":{"entries":[]}}],"x":[{"x":[{}]}]},"y":"'
        + "a" * 200
        + '"}',
    ),
    "queries": ('{"entries":[%s]}', '{"url":"HTTPS://example.com/x?a=%%41&eyJ=1"}'.replace("%%", "%")),
    "nested too deep": (
        '{"entries":[{"url":"https://gone.example.com/","data":{"entries":[{"data":{"entries":[{"data":{"entries":['
        "%s]}}]}}]}}]}",
        '{"url":"https://gone.example.com/","data":{"entries":["a"]}}',
    ),
    "values": ('{"entries":[%s]}', '"123456789abcd"'),
    "quotes": ('{"entries":[],"x":[%s]}', '"\\"[\\\\"'),
    "spaces": ('{"entries":[%s]}', " " * 1000 + "1"),
}


@pytest.mark.parametrize(("document", "element"), WORST.values(), ids=WORST)
def test_time_is_linear(document: str, element: str) -> None:
    body = (document % ",".join([element] * ((1 << 20) // (len(element) + 1)))).encode()
    began = time.process_time()
    catalog = read_catalog(body, None, BASE)
    known = standings(catalog, gone("https://gone.example.com/"), moved("https://moved.example.com/"))
    if not catalog.is_signed:
        applied(catalog, known)
    report(BASE.uri, catalog, known)
    assert time.process_time() - began < 5


LEAVES = st.none() | st.integers() | st.floats(allow_nan=False) | st.sampled_from([ONE, TWO, "", "x:y", "\ud800"])
NAMES = st.sampled_from(
    [
        *("entries", "linkset", "servers", "items", "agents", "cards", "url", "href", "data", "server", "remotes"),
        *("@id", "@type", "anchor", "links", "rel", "supportedInterfaces", "signature", "trustManifests", "host"),
        *("specVersion", "metadata", "nextCursor", "extensions", "digest", "type", "name", "_meta", "official"),
        "packages",
    ]
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=25
)


def _listed_in(kind: CatalogKind, body: bytes) -> list[str | None]:
    """The keys of what is left; none where so little is left that it is no longer of its kind."""
    try:
        catalog = read(body)
    except NotACatalog:
        return []
    return [entry.key for entry in catalog.entries if catalog.kind is kind]


@given(VALUES | st.dictionaries(NAMES, VALUES, max_size=4))
def test_any_value_is_read_and_edited_or_refused(value: object) -> None:
    try:
        catalog = read(value)
    except NotACatalog:
        return
    known = standings(catalog, gone(ONE), moved(TWO))
    report(BASE.uri, catalog, known)
    if not catalog.is_signed:
        body = applied(catalog, known).body
        assert not {ONE, TWO} & set(
            _listed_in(catalog.kind, catalog.source.text.encode() if body is None else body)
        )


@given(st.binary(max_size=80), st.none() | st.text(max_size=20))
def test_any_octets_are_read_or_refused(body: bytes, media_type: str | None) -> None:
    try:
        read_catalog(body, media_type, BASE)
    except NotACatalog:
        return
