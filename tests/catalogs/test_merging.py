"""Catalogs that are merged: where they disagree the origins decide (OV-8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proxy.catalogs.merging import merged
from proxy.relocation.records import Record, State
from proxy.relocation.sightings import Sighting, Source
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
HERE = Sighting(200, NOW, True, Source.PROBE)
DOWN = Sighting(0, NOW, False, Source.PROBE)
FAILS = Sighting(503, NOW, False, Source.PROBE)
OTHER_KIND = Sighting(200, NOW, False, Source.PROBE)


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
    "OV-8 an origin that is down is ousted by no other one": (
        [A1, ai_catalog(ai_entry("https://evil.example/x"))],
        [],
        {ONE: FAILS, "https://evil.example/x": HERE},
        [
            ("https://evil.example/x", "https://evil.example/x", "confirmed", "b", True),
            (ONE, ONE, "unconfirmed", "a", True),
        ],
        [],
    ),
    "OV-8 nor is one that has something else": (
        [A1, A2],
        [],
        {ONE: OTHER_KIND, TWO: HERE},
        [(TWO, TWO, "confirmed", "b", True), (ONE, ONE, "unconfirmed", "a", True)],
        [],
    ),
    "OV-8 superseded before unconfirmed": (
        [A2, A1],
        [moved(ONE)],
        {},
        [(ONE, NEW, "superseded", "b", True), (TWO, TWO, "unconfirmed", "a", True)],
        [],
    ),
    "OV-8 pending between the two": (
        [A3, A2, A1],
        [moved(ONE), moved(TWO, "https://far.example/", state=State.PENDING)],
        {THREE: FAILS},
        [
            (ONE, NEW, "superseded", "c", True),
            (TWO, TWO, "pending", "b", True),
            (THREE, THREE, "unconfirmed", "a", True),
        ],
        [],
    ),
    "OV-8 what cannot be reached is last": (
        [A1, A2, A3],
        [],
        {ONE: DOWN, TWO: FAILS},
        [
            (THREE, THREE, "unconfirmed", "c", True),
            (ONE, ONE, "unconfirmed", "a", True),
            (TWO, TWO, "unconfirmed", "b", True),
        ],
        [],
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
        [(THREE, THREE, "confirmed", "c", True), (TWO, TWO, "unconfirmed", "b", True)],
        [(ONE, None, "removed", "a", False)],
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
    assert len(told["entries"]) == 40_000 and told["overruled"] == []
    assert told["entries"][0]["url"] == "https://a.example/7" and all(row["conflict"] for row in told["entries"])


def versions(*listed: tuple[str, object]) -> dict[str, Any]:
    """A page of a registry with a server in several versions: where each is, and whether it is the latest."""
    items = [mcp_item(url) for url, _ in listed]
    for item, (_, is_latest) in zip(items, listed, strict=True):
        item["_meta"]["io.modelcontextprotocol.registry/official"]["isLatest"] = is_latest
    return {"servers": items}


VERSIONS: dict[str, tuple[list[Any], list[Record], dict[str, Sighting], list[str], list[str]]] = {
    "older ones after the latest": (
        [versions((ONE, False), (TWO, False), (THREE, True))],
        [],
        {},
        [THREE, ONE, TWO],
        [],
    ),
    "at the same place they are one": ([versions((ONE, False), (TWO, False), (ONE, True))], [], {}, [ONE, TWO], []),
    "what is not said is no older one": (
        [versions((ONE, False), (TWO, None), (THREE, "no"))],
        [],
        {},
        [TWO, THREE, ONE],
        [],
    ),
    "an origin says more than a registry": (
        [versions((ONE, False), (TWO, True))],
        [],
        {ONE: HERE},
        [ONE, TWO],
        [],
    ),
    "nothing is removed for it": ([versions((ONE, False))], [], {}, [ONE], []),
    "OV-6 by its origin it is": ([versions((ONE, False), (TWO, True))], [gone(ONE)], {}, [TWO], [ONE]),
}


@pytest.mark.parametrize(("values", "records", "sightings", "stand", "overruled"), VERSIONS.values(), ids=VERSIONS)
def test_versions_of_one_server(
    values: list[Any], records: list[Record], sightings: dict[str, Sighting], stand: list[str], overruled: list[str]
) -> None:
    told = together(values, *records, sightings=sightings)
    assert [row["url"] for row in told["entries"]] == stand
    assert [row["url"] for row in told["overruled"]] == overruled
