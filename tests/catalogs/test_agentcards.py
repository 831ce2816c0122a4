"""Lists of agent cards as lists of URLs (DISCOVERY_FORMATS.md §5.1)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.catalogs.catalog import CatalogKind
from tests.catalogs.documents import ONE, THREE, TWO, read, urls

CARD = {
    "name": "Agent",
    "url": ONE,
    "supportedInterfaces": [{"url": TWO, "protocolBinding": "JSONRPC"}],
    "additionalInterfaces": [{"url": THREE, "transport": "GRPC"}, 5, {}],
    "documentationUrl": "https://docs.example.com/",
    "provider": {"url": "https://example.com/"},
}

LISTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "list": ([CARD], (0,)),
    "agents": ({"agents": [CARD]}, ("agents", 0)),
    "cards": ({"cards": [CARD], "agents": "none"}, ("cards", 0)),
}


@pytest.mark.parametrize(("value", "path"), LISTS.values(), ids=LISTS)
def test_cards(value: object, path: tuple[Any, ...]) -> None:
    catalog = read(value)
    assert catalog.kind is CatalogKind.CARDS and catalog.media_type == "application/json"
    assert [(entry.url, entry.pointer) for entry in catalog.entries] == [
        (ONE, (*path, "url")),
        (TWO, (*path, "supportedInterfaces", 0, "url")),
        (THREE, (*path, "additionalInterfaces", 0, "url")),
    ]
    assert {entry.owner for entry in catalog.entries} == {len(path)}
    assert {entry.subject for entry in catalog.entries} == {"Agent at agents.example.com"}


@pytest.mark.parametrize("value", [[ONE, TWO], {"agents": [ONE, TWO]}], ids=["list", "agents"])
def test_urls(value: object) -> None:
    catalog = read(value)
    assert urls(catalog) == [ONE, TWO]
    assert [entry.subject for entry in catalog.entries] == [ONE, TWO]
    assert [entry.pointer[-1] for entry in catalog.entries] == [0, 1]


def test_both_members() -> None:
    assert urls(read({"cards": [ONE], "agents": [TWO]})) == [TWO, ONE]


SUBJECTS: dict[str, tuple[dict[str, Any], str]] = {
    "identifier": ({"name": "A", "identifier": "urn:x", "id": "y", "url": ONE}, "urn:x"),
    "id": ({"name": "A", "id": "y", "url": ONE}, "y"),
    "name and host": ({"name": "A", "url": "HTTPS://Agents.example.com/"}, "A at agents.example.com"),
    "name, and a URL without a host": ({"name": "A", "url": "x:y"}, "A at "),
    "no name": ({"identifier": "", "id": 5, "url": ONE}, ONE),
    "no text for a name": ({"name": [], "url": ONE}, ONE),
    "an interface alone": ({"name": "A", "supportedInterfaces": [{"url": ONE}]}, "A at agents.example.com"),
}


@pytest.mark.parametrize(("card", "subject"), SUBJECTS.values(), ids=SUBJECTS)
def test_subjects(card: dict[str, Any], subject: str) -> None:
    [entry] = read([card]).entries
    assert entry.subject == subject


@pytest.mark.parametrize("value", [[], {"agents": []}, {"cards": []}], ids=str)
def test_empty_lists(value: object) -> None:
    catalog = read(value)
    assert catalog.kind is CatalogKind.CARDS and catalog.entries == ()


@pytest.mark.parametrize("element", [5, None, [], {}, "", {"url": 5}, {"supportedInterfaces": {}}], ids=str)
def test_what_is_no_card_is_passed_over(element: object) -> None:
    assert urls(read([element, ONE])) == [ONE]


def test_a_card_with_a_name_and_no_url() -> None:
    assert read([{"name": "A", "url": None}]).entries == ()


@pytest.mark.parametrize("member", ["signatures", "signature", "proof"])
def test_signed(member: str) -> None:
    assert read([ONE, {**CARD, member: [{"protected": "x"}]}]).is_signed
    assert not read([ONE, {**CARD, member: []}]).is_signed
