"""Seals: which objects are signed, and how far around the URLs of a catalog they are looked for."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from proxy.catalogs.seals import SEALED, has_seal, is_sealed
from tests.catalogs.documents import ONE, TWO, ai_catalog, ai_entry, mcp_item, read

SHAPES: list[Any] = ["x", 5, {"signature": "x"}, {"identity": "did:web:example.com"}, [{"jws": "x"}], [0], True]
EMPTY: list[Any] = ["", {}, [], None, False]


@pytest.mark.parametrize("value", SHAPES, ids=str)
@pytest.mark.parametrize("name", sorted(SEALED))
def test_whatever_its_shape(name: str, value: Any) -> None:
    assert has_seal({"url": ONE, name: value})
    assert read(ai_catalog(ai_entry(ONE, **{name: value}))).is_signed


@pytest.mark.parametrize("value", EMPTY, ids=str)
@pytest.mark.parametrize("name", sorted(SEALED))
def test_an_empty_one_seals_nothing(name: str, value: Any) -> None:
    assert not has_seal({"url": ONE, name: value})
    assert not read(ai_catalog(ai_entry(ONE, **{name: value}))).is_signed


@pytest.mark.parametrize("name", ["Signature", "signed", "signature_url", "proofread", "trust", "digest"])
def test_other_names(name: str) -> None:
    assert not has_seal({name: "x"})


SEAL = {"signature": "x"}
WITHIN: dict[str, tuple[dict[str, Any], bool]] = {
    "itself": (SEAL, True),
    "in it": ({"a": SEAL}, True),
    "in a list in it": ({"a": [5, SEAL]}, True),
    "in an object in it": ({"a": {"b": SEAL}}, True),
    "in a list of an element": ({"a": [{"b": [SEAL]}]}, True),
    "further in": ({"a": {"b": {"c": SEAL}}}, False),
    "in a list of lists": ({"a": [[SEAL]]}, False),
    "nowhere": ({"a": [{"b": "signature"}], "c": {}}, False),
    "empty": ({}, False),
}


@pytest.mark.parametrize(("members", "expected"), WITHIN.values(), ids=WITHIN)
def test_how_far_it_is_looked_for(members: dict[str, Any], expected: bool) -> None:
    assert is_sealed(members) is expected


CARD: dict[str, Any] = {"name": "A", "url": ONE, "supportedInterfaces": [{"url": TWO}], "provider": {}}
INLINE = {"type": "application/a2a-agent-card+json", "data": CARD}
SERVERS = {"servers": [mcp_item(ONE, repository={})], "metadata": {"count": 1}}
LINKS = {"linkset": [{"anchor": "x", "item": [{"href": ONE}]}]}
ANP = {"@type": "CollectionPage", "items": [{"@id": ONE, "owner": {}}]}
NESTED = ai_catalog({"data": ai_catalog({"data": ai_catalog(ai_entry(ONE, publisher={}))})})

# A catalog, and from where in it a URL that could be edited is seen.
PLACES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "AI Catalog": (NESTED, lambda value: value),
    "host": (ai_catalog(ai_entry(ONE), host={}), lambda value: value["host"]),
    "metadata": (ai_catalog(ai_entry(ONE), metadata={}), lambda value: value["metadata"]),
    "entry": (ai_catalog(ai_entry(TWO), ai_entry(ONE)), lambda value: value["entries"][1]),
    "publisher": (ai_catalog(ai_entry(ONE, publisher={})), lambda value: value["entries"][0]["publisher"]),
    "nested catalog": (NESTED, lambda value: value["entries"][0]["data"]),
    "nested entry": (NESTED, lambda value: value["entries"][0]["data"]["entries"][0]),
    "nested publisher": (
        NESTED,
        lambda value: value["entries"][0]["data"]["entries"][0]["data"]["entries"][0]["publisher"],
    ),
    "card in an entry": (ai_catalog(INLINE), lambda value: value["entries"][0]["data"]),
    "its interface": (ai_catalog(INLINE), lambda value: value["entries"][0]["data"]["supportedInterfaces"][0]),
    "links in an entry": (ai_catalog({"data": LINKS}), lambda value: value["entries"][0]["data"]["linkset"][0]),
    "one of them": (
        ai_catalog({"data": LINKS}),
        lambda value: value["entries"][0]["data"]["linkset"][0]["item"][0],
    ),
    "registry page": (SERVERS, lambda value: value),
    "metadata of a page": (SERVERS, lambda value: value["metadata"]),
    "item": (SERVERS, lambda value: value["servers"][0]),
    "server": (SERVERS, lambda value: value["servers"][0]["server"]),
    "repository": (SERVERS, lambda value: value["servers"][0]["server"]["repository"]),
    "remote": (SERVERS, lambda value: value["servers"][0]["server"]["remotes"][0]),
    "what the registry adds": (SERVERS, lambda value: next(iter(value["servers"][0]["_meta"].values()))),
    "linkset": (LINKS, lambda value: value),
    "context": (LINKS, lambda value: value["linkset"][0]),
    "target": (LINKS, lambda value: value["linkset"][0]["item"][0]),
    "ANP collection": (ANP, lambda value: value),
    "ANP item": (ANP, lambda value: value["items"][0]),
    "beside an ANP item": (ANP, lambda value: value["items"][0]["owner"]),
    "list of cards": ({"agents": [CARD]}, lambda value: value),
    "card": ({"agents": [CARD]}, lambda value: value["agents"][0]),
    "card of a mere list": ([ONE, CARD], lambda value: value[1]),
    "interface": ([CARD], lambda value: value[0]["supportedInterfaces"][0]),
    "provider": ([CARD], lambda value: value[0]["provider"]),
}


@pytest.mark.parametrize("name", ["jws", "signatures"])
@pytest.mark.parametrize(("value", "place"), PLACES.values(), ids=PLACES)
def test_where_a_seal_is_seen(value: Any, place: Callable[[Any], Any], name: str) -> None:
    assert not read(value).is_signed
    sealed = deepcopy(value)
    place(sealed)[name] = "x"
    assert read(sealed).is_signed


def test_what_is_no_seal_of_the_catalog() -> None:
    schema = {"type": "object", "properties": {"signature": {"type": "string"}}}
    card = {"remotes": [{"url": ONE}], "tools": [{"name": "check", "inputSchema": schema}]}
    catalog = read(ai_catalog({"type": "application/mcp-server-card+json", "data": card}))
    assert len(catalog.entries) == 1 and not catalog.is_signed


def test_a_name_written_in_escapes() -> None:
    assert read(b'{"entries":[{"url":"https://a.example/","\\u0070roof":"x"}]}').is_signed
