"""API catalogs as lists of URLs (RFC 9727, RFC 9264)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.catalogs.catalog import CatalogKind
from tests.catalogs.documents import BASE, ONE, THREE, TWO, read, urls

ANCHOR = "https://api.example.com/"

CONTEXTS: dict[str, tuple[Any, list[tuple[str, str, tuple[Any, ...]]]]] = {
    "LS-1 every target of every relation": (
        {
            "anchor": ANCHOR,
            "service-desc": [{"href": ONE, "type": "application/json"}],
            "Item": [{"href": TWO}, {"href": THREE}],
        },
        [
            (ONE, f"{ANCHOR} service-desc", ("service-desc", 0, "href")),
            (TWO, f"{ANCHOR} item", ("Item", 0, "href")),
            (THREE, f"{ANCHOR} item", ("Item", 1, "href")),
        ],
    ),
    "LS-1 without an anchor": ({"item": [{"href": ONE}]}, [(ONE, f"{BASE.uri} item", ("item", 0, "href"))]),
    "anchor of another kind": (
        {"anchor": 5, "item": [{"href": ONE}]},
        [(ONE, f"{BASE.uri} item", ("item", 0, "href"))],
    ),
    "anchors in one form": (
        {"anchor": "HTTPS://API.example.com:443", "item": [{"href": ONE}]},
        [(ONE, f"{ANCHOR} item", ("item", 0, "href"))],
    ),
    "anchor that is no URL": (
        {"anchor": "urn:x", "item": [{"href": ONE}]},
        [(ONE, "urn:x item", ("item", 0, "href"))],
    ),
    "LS-2 flat": (
        {"anchor": ANCHOR, "rel": "Item", "href": ONE},
        [(ONE, f"{ANCHOR} item", ("href",))],
    ),
    "LS-2 links": (
        {"links": [{"rel": "item", "href": ONE}, {"href": TWO}]},
        [
            (ONE, f"{BASE.uri} item", ("links", 0, "href")),
            (TWO, f"{BASE.uri} links", ("links", 1, "href")),
        ],
    ),
    "LS-2 one target and no list": ({"item": {"href": ONE}}, [(ONE, f"{BASE.uri} item", ("item", "href"))]),
    "LS-3 nested": (
        {"api-catalog": [{"href": ONE}]},
        [(ONE, f"{BASE.uri} api-catalog", ("api-catalog", 0, "href"))],
    ),
    "other members": ({"item": [{"href": 5}, 5, None, {}], "x": "y", "z": None}, []),
}


@pytest.mark.parametrize(("context", "expected"), CONTEXTS.values(), ids=CONTEXTS)
def test_contexts(context: object, expected: list[tuple[str, str, tuple[Any, ...]]]) -> None:
    catalog = read({"linkset": [5, context]})
    assert catalog.kind is CatalogKind.LINKSET
    found = [(entry.url, entry.subject, entry.pointer[2:]) for entry in catalog.entries]
    assert found == expected
    assert {entry.pointer[:2] for entry in catalog.entries} <= {("linkset", 1)}
    assert {entry.owner for entry in catalog.entries} <= {2}


def test_relative_targets() -> None:
    catalog = read({"linkset": [{"item": [{"href": "one.json"}]}]})
    assert urls(catalog) == ["one.json"]
    assert catalog.entries[0].key == "https://catalogs.example.org/all/one.json"


@pytest.mark.parametrize("where", ["root", "context"])
def test_signed(where: str) -> None:
    context: dict[str, Any] = {"item": [{"href": ONE}]}
    root: dict[str, Any] = {"linkset": [context]}
    (root if where == "root" else context)["signature"] = "x"
    assert read(root).is_signed


@pytest.mark.parametrize(
    ("media_type", "expected"),
    [
        ('application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',) * 2,
        ("application/json", "application/json"),
        ("text/plain", "application/linkset+json"),
        (None, "application/linkset+json"),
    ],
    ids=str,
)
def test_its_own_media_type(media_type: str | None, expected: str) -> None:
    assert read({"linkset": []}, media_type).media_type == expected
