"""What all formats collect alike: entries up to a limit, and seals."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.catalogs.catalog import MOST_ENTRIES, Entry, Pointer
from proxy.catalogs.collecting import Collector, alone, element_of
from tests.catalogs.documents import BASE, ONE, read


def test_where_there_is_no_seal_none_is_looked_for() -> None:
    collector = Collector(BASE, has_seals=False)
    collector.look_for_seals({"signature": "x"})
    assert not collector.is_sealed
    collector = Collector(BASE)
    collector.look_for_seals({"signature": "x"})
    collector.look_for_seals({})
    assert collector.is_sealed


@pytest.mark.parametrize("name", ["hint", "updated_at"])
@pytest.mark.parametrize(
    ("stated", "kept"), [("x" * 64, "x" * 64), ("x" * 65, None), (5, None), (None, None), ([], None)], ids=repr
)
def test_claims(name: str, stated: object, kept: str | None) -> None:
    collector = Collector(BASE)
    collector.add(ONE, ("entries", 0, "url"), 2, None, **{name: stated})  # type: ignore[arg-type]
    assert getattr(collector.entries[0], name) == kept


@pytest.mark.parametrize("url", [None, 5, "", [ONE]], ids=repr)
def test_what_is_no_url_is_passed_over(url: object) -> None:
    collector = Collector(BASE)
    collector.add(url, ("entries", 0, "url"), 2, "x")
    assert collector.entries == []


@pytest.mark.parametrize(
    ("url", "subject", "expected"),
    [
        (ONE, "urn:x", "urn:x"),
        (ONE, "", ONE),
        ("HTTPS://Agents.example.com/one.json", None, ONE),
        ("http://a.example/", 5, "http://a.example/"),
    ],
)
def test_subjects(url: str, subject: object, expected: str) -> None:
    collector = Collector(BASE)
    collector.add(url, ("entries", 0, "url"), 2, subject)
    assert collector.entries[0].subject == expected


@pytest.mark.parametrize(
    ("reference", "name"), [("", BASE.uri), ("x", "https://catalogs.example.org/all/x"), ("urn:x", "urn:x")]
)
def test_names(reference: str, name: str) -> None:
    assert Collector(BASE).name_of(reference) == name


ELEMENTS: list[tuple[Pointer, Pointer]] = [
    ((3,), (3,)),
    ((3, "url"), (3,)),
    (("agents", 3), ("agents", 3)),
    (("entries", 3, "data", "entries", 4, "url"), ("entries", 3)),
]


@pytest.mark.parametrize(("pointer", "element"), ELEMENTS, ids=str)
def test_elements(pointer: Pointer, element: Pointer) -> None:
    assert element_of(pointer) == element


ALONE: list[tuple[Pointer, int, int]] = [
    ((3,), 1, 1),
    (("agents", 3), 2, 2),
    (("entries", 3, "url"), 2, 3),
    (("items", 3, "@id"), 2, 3),
    (("agents", 3, "supportedInterfaces", 0, "url"), 2, 4),
    (("servers", 3, "server", "remotes", 0, "url"), 2, 5),
    (("servers", 3, "server", "remotes", 0, "url"), 4, 5),
    (("linkset", 3, "item", "href"), 2, 3),
    (("linkset", 3, "href"), 2, 3),
]


@pytest.mark.parametrize(("pointer", "owner", "steps"), ALONE, ids=str)
def test_what_is_about_one_url_alone(pointer: Pointer, owner: int, steps: int) -> None:
    assert alone(Entry(ONE, ONE, "x", pointer, owner)) == pointer[:steps]


def cut(last: Any) -> list[Entry]:
    """What is collected of this element, which is the last that is read, and from where on nothing is."""
    before = 3
    urls = [f"https://h{number}.example/" for number in range(MOST_ENTRIES - before)]
    return list(read([*urls, last, ONE]).entries[MOST_ENTRIES - before :])


def test_an_element_that_is_not_read_whole_owns_only_what_is_about_its_urls() -> None:
    interfaces = [{"url": f"https://i{number}.example/"} for number in range(4)]
    element = MOST_ENTRIES - 3
    assert [(entry.pointer, entry.owner) for entry in cut({"url": ONE, "supportedInterfaces": interfaces})] == [
        ((element, "url"), 2),
        ((element, "supportedInterfaces", 0, "url"), 3),
        ((element, "supportedInterfaces", 1, "url"), 3),
    ]


def test_nothing_is_read_after_it() -> None:
    catalog = read([{"url": ONE}] * (MOST_ENTRIES + 5))
    assert len(catalog.entries) == MOST_ENTRIES and catalog.limit_note is not None
    assert {entry.owner for entry in catalog.entries} == {1}


def test_one_element_with_more_than_is_read() -> None:
    server = {"name": "a", "remotes": [{"url": ONE}] * (MOST_ENTRIES + 1)}
    catalog = read({"servers": [{"server": server}]})
    assert {entry.owner for entry in catalog.entries} == {len(("servers", 0, "server", "remotes", 0))}


def test_what_is_read_whole_in_an_element_that_is_not() -> None:
    inner = [{"url": ONE, "data": {"entries": [{"url": ONE}]}}, {"url": ONE}]
    value = {"entries": [{"url": ONE}] * (MOST_ENTRIES - 4) + [{"url": ONE, "data": {"entries": [*inner, *inner]}}]}
    whole, also_whole, last = ("entries", MOST_ENTRIES - 4, "data", "entries", 0), 8, read(value).entries[-4:]
    assert [(entry.pointer[:5], entry.owner) for entry in last[1:3]] == [(whole, 5), (whole, also_whole)]
    assert last[0].owner == 3 and last[3].owner == 5


def test_one_that_is_read_whole_is_as_any_other() -> None:
    interfaces = [{"url": f"https://i{number}.example/"} for number in range(2)]
    assert [entry.owner for entry in cut({"url": ONE, "supportedInterfaces": interfaces})] == [1, 1, 1]
