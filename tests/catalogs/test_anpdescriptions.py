"""ANP descriptions as lists of URLs (DISCOVERY_FORMATS.md §8)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.catalogs.catalog import CatalogKind, NotACatalog
from tests.catalogs.documents import ONE, THREE, TWO, read

DOCUMENTS: dict[str, tuple[Any, list[tuple[Any, ...]]]] = {
    "AN-1 collection": (
        {"@type": "CollectionPage", "items": [{"@type": "ad:AgentDescription", "@id": ONE}, {"url": TWO}]},
        [("items", 0, "@id"), ("items", 1, "url")],
    ),
    "AN-1 both": (
        {"@type": ["x", "as:CollectionPage"], "items": [{"@id": ONE, "url": TWO}]},
        [
            ("items", 0, "@id"),
            ("items", 0, "url"),
        ],
    ),
    "URLs": ({"@type": "CollectionPage", "items": [ONE]}, [("items", 0)]),
    "description": (
        {"@type": "ad:AgentDescription", "interfaces": [{"type": "StructuredInterface", "url": ONE}]},
        [("interfaces", 0, "url")],
    ),
    "description without JSON-LD": (
        {"type": "AgentDescription", "interfaces": [{"url": ONE}]},
        [
            ("interfaces", 0, "url"),
        ],
    ),
    "interfaces and items": (
        {"type": "AgentDescription", "interfaces": [{"url": ONE}], "items": [{"url": THREE}]},
        [("items", 0, "url"), ("interfaces", 0, "url")],
    ),
    "odd items": ({"@type": "CollectionPage", "items": [5, None, [], {}, {"@id": 5}, ""], "interfaces": 5}, []),
}


@pytest.mark.parametrize(("value", "pointers"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_documents(value: object, pointers: list[tuple[Any, ...]]) -> None:
    catalog = read(value)
    assert catalog.kind is CatalogKind.ANP and catalog.media_type == "application/json"
    assert [entry.pointer for entry in catalog.entries] == pointers
    assert {entry.owner for entry in catalog.entries} <= {2}


@pytest.mark.parametrize("did", ["did:wba:example.com:a", None, 5, ""], ids=str)
def test_subjects(did: object) -> None:
    [entry] = read({"@type": "CollectionPage", "items": [{"@id": ONE, "name": "A", "did": did}]}).entries
    assert entry.subject == (did if isinstance(did, str) and did else ONE)


@pytest.mark.parametrize("where", ["root", "item"])
def test_signed(where: str) -> None:
    item: dict[str, Any] = {"@id": ONE}
    root = {"@type": "CollectionPage", "items": [item]}
    (root if where == "root" else item)["proof"] = {"proofValue": "x"}
    assert read(root).is_signed


REFUSED: dict[str, Any] = {
    "another type": {"@type": "ItemList", "items": [{"@id": ONE}]},
    "no type": {"items": [{"@id": ONE}]},
    "type of another kind": {"@type": 5, "items": []},
    "types of another kind": {"@type": [5, None], "items": []},
    "no list": {"@type": "CollectionPage", "items": {}},
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_what_is_none(value: object) -> None:
    with pytest.raises(NotACatalog):
        read(value)
