"""What catalogs claim of URLs: documents of a class, and nothing of endpoints."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.catalogs.claims import claims_of, class_of_type
from proxy.discovery.classes import DocumentClass
from proxy.discovery.listings.mediatypes import LONGEST_TYPE
from tests.catalogs.documents import ONE, THREE, TWO, ai_catalog, ai_entry, mcp_item, read

A2A, MCP = "application/a2a-agent-card+json", "application/mcp-server-card+json"
CARD = {"name": "A", "url": ONE, "supportedInterfaces": [{"url": TWO}]}

TYPES: dict[str, tuple[object, DocumentClass | None]] = {
    "an agent card": (A2A, DocumentClass.AGENT_CARD),
    "a server card": (MCP, DocumentClass.MCP_SERVER_CARD),
    "a catalog": ("application/ai-catalog+json", DocumentClass.AI_CATALOG),
    "a linkset": ("application/linkset+json", DocumentClass.API_CATALOG),
    "OpenAPI": ("application/openapi+json", DocumentClass.OPENAPI),
    "OpenAPI under its own name": ("application/vnd.oai.openapi;version=3.1", DocumentClass.OPENAPI),
    "an index of skills": ("application/agent-skills+json", DocumentClass.AGENT_SKILLS),
    "in capitals, with parameters": ("Application/A2A-Agent-Card+JSON ; v=1", DocumentClass.AGENT_CARD),
    "a skill": ("application/agent-skills+md", None),
    "a skill of old": ("text/markdown", None),
    "a plugin": ("application/agent-plugins+zip", None),
    "a registry, which is asked": ("application/ai-registry+json", None),
    "JSON of any kind": ("application/json", None),
    "no type": ("agent card", None),
    "an empty one": ("", None),
    "an endless one": (f"{A2A};a={'x' * LONGEST_TYPE}", None),
    **{f"of another kind: {value!r}": (value, None) for value in (None, 5, [A2A], {"type": A2A})},
}


@pytest.mark.parametrize(("stated", "expected"), TYPES.values(), ids=TYPES)
def test_media_types(stated: object, expected: DocumentClass | None) -> None:
    assert class_of_type(stated) is expected


@given(st.text() | st.sampled_from([A2A, MCP]).flatmap(lambda known: st.text().map(lambda more: known + more)))
def test_any_text(stated: str) -> None:
    assert class_of_type(stated) in {None, *DocumentClass}


LISTED: dict[str, tuple[Any, list[tuple[str, DocumentClass | None]]]] = {
    "an entry's type": (ai_catalog(ai_entry(ONE, type=A2A)), [(ONE, DocumentClass.AGENT_CARD)]),
    "an entry's media type": (
        ai_catalog({"identifier": "x", "mediaType": MCP, "url": ONE}),
        [(ONE, DocumentClass.MCP_SERVER_CARD)],
    ),
    "an entry that says little": (ai_catalog(ai_entry(ONE)), [(ONE, None)]),
    "the interfaces of a card that an entry holds": (
        ai_catalog({"identifier": "x", "type": A2A, "data": CARD}),
        [(ONE, None), (TWO, None)],
    ),
    "the remotes of a server card that one holds": (
        ai_catalog({"identifier": "x", "type": MCP, "data": {"remotes": [{"url": ONE}]}}),
        [(ONE, None)],
    ),
    "entries of a catalog that one holds": (
        ai_catalog({"identifier": "x", "data": ai_catalog(ai_entry(ONE, type=A2A))}),
        [(ONE, DocumentClass.AGENT_CARD)],
    ),
    "a link's type": (
        {"linkset": [{"service-desc": [{"href": ONE, "type": "application/vnd.oai.openapi+json"}, {"href": TWO}]}]},
        [(ONE, DocumentClass.OPENAPI), (TWO, None)],
    ),
    "a link to a catalog of APIs": (
        {
            "linkset": [
                {"API-Catalog": [{"href": ONE}, {"href": TWO, "type": "text/html"}], "item": [{"href": THREE}]}
            ]
        },
        [(ONE, DocumentClass.API_CATALOG), (TWO, None), (THREE, None)],
    ),
    "the remotes of a server": ({"servers": [mcp_item(ONE)]}, [(ONE, None)]),
    "the interfaces of a card": ([CARD], [(ONE, None), (TWO, None)]),
    "a card's own URL": ({"cards": [ONE]}, [(ONE, DocumentClass.AGENT_CARD)]),
    "descriptions of ANP": ({"@type": "CollectionPage", "items": [{"@id": ONE}]}, [(ONE, None)]),
}


@pytest.mark.parametrize(("value", "expected"), LISTED.values(), ids=LISTED)
def test_what_is_claimed(value: object, expected: list[tuple[str, DocumentClass | None]]) -> None:
    assert [(entry.url, entry.claimed) for entry in read(value).entries] == expected


def test_of_all_entries() -> None:
    listed = [
        ai_entry(ONE, type=A2A),
        ai_entry(ONE),
        ai_entry(TWO, type=A2A),
        ai_entry(TWO, type=MCP),
        ai_entry(TWO, type=A2A),
        ai_entry(THREE),
        ai_entry("http://x.example/", type=A2A),
    ]
    assert claims_of(read(ai_catalog(*listed)).entries) == {ONE: DocumentClass.AGENT_CARD}
    assert claims_of(read(ai_catalog(listed[0])).entries) == {ONE: DocumentClass.AGENT_CARD}
    assert claims_of(()) == {}
