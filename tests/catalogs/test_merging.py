"""Catalogs that are merged: where they disagree the origins decide (OV-8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proxy.catalogs.merging import merged
from proxy.catalogs.verdicts import Sighting
from proxy.relocation.records import Record, State
from tests.catalogs.documents import (
    NEW,
    ONE,
    THREE,
    TWO,
    ai_catalog,
    ai_entry,
    gone,
    mcp_item,
    moved,
    read,
    standings,
)
from tests.relocation.origin import NOW

FIRST, SECOND, THIRD = "https://a.example/c", "https://b.example/c", "https://c.example/c"
HERE = Sighting(200, NOW, True, "probe")
DOWN = Sighting(0, NOW, False, "probe")


def together(values: list[Any], *records: Record, sightings: dict[str, Sighting] | None = None) -> dict[str, Any]:
    catalogs = [read(value) for value in values]
    known = {}
    for catalog in catalogs:
        known |= standings(catalog, *records, sightings=sightings)
    told = merged(list(zip((FIRST, SECOND, THIRD), catalogs, strict=False)), known)
    json.dumps(told)
    return told


def brief(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            row["url"],
            row["final_url"],
            row["verdict"],
            "".join(url[8] for url in row["sources"]),
            row.get("conflict", False),
        )
        for row in rows
    ]


A1, A2, A3 = ai_catalog(ai_entry(ONE)), ai_catalog(ai_entry(TWO)), ai_catalog(ai_entry(THREE))
BOTH = ai_catalog(ai_entry(ONE), ai_entry(TWO))

Row = tuple[Any, ...]
# Catalogs, the ledger, what else was seen; the rows that stand, and those that are overruled.
CASES: dict[str, tuple[list[Any], list[Record], dict[str, Sighting], list[Row], list[Row]]] = {
    "OV-8 they agree": ([A1, A1], [], {}, [(ONE, ONE, "unconfirmed", "ab", False)], []),
    "OV-8 confirmed beats unconfirmed": (
        [A1, A2],
        [],
        {TWO: HERE, ONE: DOWN},
        [(TWO, TWO, "confirmed", "b", False)],
        [(ONE, ONE, "unconfirmed", "a", False)],
    ),
    "OV-8 superseded beats unconfirmed": (
        [A1, A2],
        [moved(ONE)],
        {},
        [(ONE, NEW, "superseded", "a", False)],
        [(TWO, TWO, "unconfirmed", "b", False)],
    ),
    "OV-8 superseded beats pending": (
        [A1, A2],
        [moved(ONE), moved(TWO, THREE, state=State.PENDING)],
        {},
        [(ONE, NEW, "superseded", "a", False)],
        [(TWO, TWO, "pending", "b", False)],
    ),
    "OV-8 removed loses": (
        [A1, A2],
        [gone(ONE)],
        {},
        [(TWO, TWO, "unconfirmed", "b", False)],
        [(ONE, None, "removed", "a", False)],
    ),
    "OV-8 the origins are down": (
        [A1, A2],
        [],
        {ONE: DOWN, TWO: DOWN},
        [(ONE, ONE, "unconfirmed", "a", True), (TWO, TWO, "unconfirmed", "b", True)],
        [],
    ),
    "OV-8 both are confirmed": (
        [A1, A2],
        [],
        {ONE: HERE, TWO: HERE},
        [(ONE, ONE, "confirmed", "a", True), (TWO, TWO, "confirmed", "b", True)],
        [],
    ),
    "OV-8 one moved to where the other is": (
        [A1, A2],
        [moved(ONE, TWO)],
        {},
        [(ONE, TWO, "superseded", "ab", False)],
        [],
    ),
    "OV-8 the other way round": (
        [A2, A1],
        [moved(ONE, TWO)],
        {TWO: HERE},
        [(TWO, TWO, "confirmed", "ab", False)],
        [],
    ),
    "OV-8 one moved to where the other is confirmed": (
        [A1, A2],
        [moved(ONE, TWO)],
        {TWO: HERE},
        [(TWO, TWO, "confirmed", "ab", False)],
        [],
    ),
    "OV-8 all is gone": (
        [A1, A2],
        [gone(ONE), gone(TWO)],
        {},
        [(ONE, None, "removed", "a", False), (TWO, None, "removed", "b", False)],
        [],
    ),
    "OV-8 two against one": (
        [A1, A1, A2],
        [],
        {},
        [(ONE, ONE, "unconfirmed", "ab", True), (TWO, TWO, "unconfirmed", "c", True)],
        [],
    ),
    "OV-8 three": (
        [A1, A2, A3],
        [gone(ONE)],
        {THREE: HERE},
        [(THREE, THREE, "confirmed", "c", False)],
        [(ONE, None, "removed", "a", False), (TWO, TWO, "unconfirmed", "b", False)],
    ),
    "more URLs are no dispute": (
        [A1, BOTH],
        [],
        {ONE: HERE},
        [(ONE, ONE, "confirmed", "ab", False), (TWO, TWO, "unconfirmed", "b", False)],
        [],
    ),
    "several URLs of one catalog are none": (
        [BOTH],
        [gone(ONE)],
        {},
        [(TWO, TWO, "unconfirmed", "a", False)],
        [(ONE, None, "removed", "a", False)],
    ),
    "other subjects": (
        [A1, ai_catalog(ai_entry(TWO, "two"))],
        [],
        {ONE: HERE},
        [(ONE, ONE, "confirmed", "a", False), (TWO, TWO, "unconfirmed", "b", False)],
        [],
    ),
    "URLs that no record can be of": (
        [ai_catalog(ai_entry("http://x.example/")), A1],
        [],
        {},
        [
            ("http://x.example/", "http://x.example/", "unconfirmed", "a", True),
            (ONE, ONE, "unconfirmed", "b", True),
        ],
        [],
    ),
}


@pytest.mark.parametrize(("values", "records", "sightings", "stand", "overruled"), CASES.values(), ids=CASES)
def test_cases(
    values: list[Any], records: list[Record], sightings: dict[str, Sighting], stand: list[Row], overruled: list[Row]
) -> None:
    told = together(values, *records, sightings=sightings)
    assert brief(told["entries"]) == stand
    assert brief(told["overruled"]) == overruled


CARD = {"name": "A", "url": ONE}
SAME: dict[str, tuple[Any, Any, str]] = {
    "AI Catalog, by identifier": (A1, A2, "urn:air:example.com:one"),
    "MCP, by name": ({"servers": [mcp_item(ONE)]}, {"servers": [mcp_item(TWO)]}, "com.example/one"),
    "cards, by name and host": ([CARD], {"agents": [{**CARD, "url": TWO}]}, "A at agents.example.com"),
    "cards, by identifier": ([{"id": "x", "url": ONE}], [{"id": "x", "url": TWO}], "x"),
    "linksets, by anchor and relation": (
        {"linkset": [{"anchor": "https://api.example.com", "item": [{"href": ONE}]}]},
        {"linkset": [{"anchor": "https://api.example.com/", "Item": [{"href": TWO}]}]},
        "https://api.example.com/ item",
    ),
    "ANP, by DID": (
        {"@type": "CollectionPage", "items": [{"did": "did:x:y", "@id": ONE}]},
        {"@type": "CollectionPage", "items": [{"did": "did:x:y", "@id": TWO}]},
        "did:x:y",
    ),
}


@pytest.mark.parametrize(("one", "other", "subject"), SAME.values(), ids=SAME)
def test_ov_8_subjects(one: object, other: object, subject: str) -> None:
    told = together([one, other], gone(ONE))
    assert [(row["subject"], row["url"]) for row in told["entries"]] == [(subject, TWO)]
    assert [(row["subject"], row["url"]) for row in told["overruled"]] == [(subject, ONE)]


def test_the_catalogs_are_told() -> None:
    told = together([A1, {"servers": [], "signature": "x"}])
    assert told["catalogs"] == [
        {"catalog": FIRST, "kind": "ai-catalog", "signed": False, "entries": 1},
        {"catalog": SECOND, "kind": "mcp-registry", "signed": True, "entries": 0},
    ]


def test_many_urls_of_one_subject() -> None:
    one = ai_catalog(*(ai_entry(f"https://a.example/{number}") for number in range(20_000)))
    other = ai_catalog(*(ai_entry(f"https://b.example/{number}") for number in range(20_000)))
    told = together([one, other], sightings={"https://a.example/7": HERE})
    assert len(told["entries"]) == 20_000 and len(told["overruled"]) == 20_000
