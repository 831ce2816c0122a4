"""Pages of an MCP registry as lists of URLs (DISCOVERY_FORMATS.md §4.4)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.catalogs.catalog import CatalogKind
from tests.catalogs.documents import ONE, TWO, mcp_item, read, urls


def page(*items: object, **metadata: Any) -> dict[str, Any]:
    return {"servers": list(items), "metadata": {"count": len(items), **metadata}}


def test_a_page() -> None:
    catalog = read(page(mcp_item(ONE, TWO), mcp_item(TWO, name="com.example/two"), nextCursor="abc"))
    assert catalog.kind is CatalogKind.MCP_REGISTRY and catalog.media_type == "application/json"
    assert catalog.next_cursor == "abc"
    assert [(entry.subject, entry.pointer, entry.owner) for entry in catalog.entries] == [
        ("com.example/one", ("servers", 0, "server", "remotes", 0, "url"), 2),
        ("com.example/one", ("servers", 0, "server", "remotes", 1, "url"), 2),
        ("com.example/two", ("servers", 1, "server", "remotes", 0, "url"), 2),
    ]


@pytest.mark.parametrize("status", ["active", "deprecated", "deleted"])
def test_the_status_is_a_hint(status: str) -> None:
    [entry] = read(page(mcp_item(ONE, status=status))).entries
    assert (entry.hint, entry.updated_at, entry.key) == (status, "2026-11-01T00:00:00Z", ONE)


HINTS: dict[str, tuple[Any, str | None]] = {
    "short name": ({"server": {"name": "a"}, "_meta": {"official": {"status": "active"}}}, "active"),
    "in the server": ({"server": {"name": "a", "status": "deprecated"}}, "deprecated"),
    "no object": ({"server": {"name": "a"}, "_meta": {"official": "active"}}, None),
    "meta of another kind": ({"server": {"name": "a"}, "_meta": ["active"]}, None),
    "no text": ({"server": {"name": "a", "status": 5}}, None),
}


@pytest.mark.parametrize(("item", "hint"), HINTS.values(), ids=HINTS)
def test_hints(item: dict[str, Any], hint: str | None) -> None:
    item["server"]["remotes"] = [{"url": ONE}]
    [entry] = read(page(item)).entries
    assert (entry.hint, entry.updated_at) == (hint, None)


LATEST: dict[str, tuple[object, bool]] = {
    "the latest": ({"isLatest": True}, False),
    "an older one": ({"isLatest": False}, True),
    "under the older name": ({"is_latest": False}, True),
    "not said": ({}, False),
    "of another kind": ({"isLatest": "false"}, False),
    "null": ({"isLatest": None}, False),
}


@pytest.mark.parametrize(("official", "is_older"), LATEST.values(), ids=LATEST)
def test_versions(official: object, is_older: bool) -> None:
    item = {"server": {"name": "a", "remotes": [{"url": ONE}]}, "_meta": {"official": official}}
    [entry] = read(page(item)).entries
    assert entry.is_older is is_older


def test_the_layout_without_wrappers() -> None:
    [entry] = read({"servers": [{"name": "a", "remotes": [{"url": ONE}]}]}).entries
    assert (entry.subject, entry.pointer, entry.owner) == ("a", ("servers", 0, "remotes", 0, "url"), 2)


def test_packages_are_not_read_and_outlive_the_remotes() -> None:
    packages = [{"registryType": "npm", "identifier": "@x/y", "transport": {"url": "https://x.example/"}}]
    [entry] = read(page(mcp_item(ONE, packages=packages))).entries
    assert entry.pointer[: entry.owner] == ("servers", 0, "server", "remotes")


CURSORS: dict[str, tuple[Any, str | None]] = {
    "none": ({}, None),
    "null": ({"nextCursor": None}, None),
    "empty": ({"nextCursor": ""}, None),
    "older name": ({"next_cursor": "x"}, "x"),
    "a number": ({"nextCursor": 5}, None),
}


@pytest.mark.parametrize(("metadata", "cursor"), CURSORS.values(), ids=CURSORS)
def test_cursors(metadata: dict[str, Any], cursor: str | None) -> None:
    assert read(page(mcp_item(ONE), **metadata)).next_cursor == cursor


@pytest.mark.parametrize("metadata", [None, 5, [], "x"], ids=str)
def test_metadata_of_another_kind(metadata: object) -> None:
    assert read({"servers": [], "metadata": metadata}).next_cursor is None


ODD = [5, None, [], {}, {"server": 5}, {"server": {"remotes": {}}}, {"server": {"remotes": [5, None, {"url": 5}]}}]


@pytest.mark.parametrize("item", ODD, ids=str)
def test_what_is_no_server_is_passed_over(item: object) -> None:
    assert urls(read(page(item, mcp_item(ONE)))) == [ONE]


@pytest.mark.parametrize("where", ["root", "item", "server"])
def test_signed(where: str) -> None:
    item = mcp_item(ONE)
    value = page(item)
    {"root": value, "item": item, "server": item["server"]}[where]["proof"] = "x"
    assert read(value).is_signed
