"""API catalogs as linksets (LS-1 to LS-4)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.gate import NotADocument
from proxy.discovery.listings.linkset import MOST_CONTEXTS, MOST_LINKS, Link, Linkset
from proxy.http.targets import parse_target
from tests.discovery.reading import parse_linkset

BASE = parse_target("https://example.com/.well-known/api-catalog")


def linkset(*contexts: object, **members: object) -> bytes:
    return json.dumps({"linkset": list(contexts), **members}).encode()


def read(body: bytes) -> Linkset:
    found = parse_linkset(body, BASE)
    assert isinstance(found, Linkset), found
    return found


def rules(found: Linkset) -> list[str]:
    return [f"{finding.rule} {finding.path}" + "?" * finding.is_warning for finding in found.findings]


def uris(found: Linkset) -> list[tuple[str, str | None]]:
    return [(link.rel, link.target.uri if link.target else None) for link in found.links]


def test_good_linkset() -> None:
    found = read(
        linkset(
            {
                "anchor": "https://example.com/api/",
                "Service-Desc": [{"href": "/openapi.json", "type": "application/json", "title": "Shop"}],
                "status": [
                    {"href": "https://status.example.net/", "title*": [{"value": "Läuft", "language": "de"}]}
                ],
            },
            {"item": [{"href": "b"}, {"href": "c"}]},
        )
    )
    assert found.findings == ()
    description, status, first, second = found.links
    assert description == Link(
        anchor="https://example.com/api/",
        is_claim=False,
        rel="service-desc",
        href="/openapi.json",
        target=parse_target("https://example.com/openapi.json"),
        type="application/json",
        title="Shop",
        path="/linkset/0/Service-Desc/0",
    )
    assert (status.title, status.type) == ("Läuft", None)
    assert (first.anchor, first.is_claim, first.path) == (None, False, "/linkset/1/item/0")
    assert second.target == parse_target("https://example.com/.well-known/c")


AT = "/linkset/0"
DESC = "https://example.com/d"

SHAPES: list[tuple[str, Any, list[tuple[str, str | None]], list[str]]] = [
    ("LS-1 list", {"service-desc": [{"href": "/d"}]}, [("service-desc", DESC)], []),
    ("LS-1 no targets", {"service-desc": []}, [], []),
    ("LS-1 nothing", {}, [], []),
    ("LS-1 one target", {"service-desc": {"href": "/d"}}, [("service-desc", DESC)], [f"LS-1 {AT}/service-desc"]),
    ("LS-1 text", {"service-desc": "/d"}, [], [f"LS-1 {AT}/service-desc"]),
    ("LS-1 null", {"service-desc": None}, [], [f"LS-1 {AT}/service-desc"]),
    ("LS-1 list of texts", {"item": ["/d", {"href": "/d"}]}, [("item", DESC)], [f"LS-1 {AT}/item/0"]),
    ("LS-1 no href", {"item": [{}]}, [], [f"LS-1 {AT}/item/0/href"]),
    ("LS-1 href a number", {"item": [{"href": 5}]}, [], [f"LS-1 {AT}/item/0/href"]),
    ("LS-1 one target, no href", {"item": {}}, [], [f"LS-1 {AT}/item", f"LS-1 {AT}/item/href"]),
    ("LS-1 type a list", {"item": [{"href": "/d", "type": []}]}, [("item", DESC)], [f"LS-1 {AT}/item/0/type"]),
    ("LS-1 context a text", "x", [], [f"LS-1 {AT}"]),
    ("LS-1 context null", None, [], [f"LS-1 {AT}"]),
    ("LS-1 anchor a number", {"anchor": 5, "item": [{"href": "/d"}]}, [("item", DESC)], [f"LS-1 {AT}/anchor"]),
    ("LS-2 flat", {"anchor": "/", "rel": "item", "href": "/d"}, [("item", DESC)], [f"LS-2 {AT}"]),
    ("LS-2 flat, two relations", {"rel": "a b a", "href": "/d"}, [("a", DESC), ("b", DESC)], [f"LS-2 {AT}"]),
    ("LS-2 flat, no href", {"rel": "item"}, [], [f"LS-2 {AT}", f"LS-1 {AT}/href"]),
    ("LS-2 links", {"links": [{"rel": "item", "href": "/d"}]}, [("item", DESC)], [f"LS-2 {AT}/links"]),
    ("LS-2 links, rel a number", {"links": [{"rel": 5, "href": "/d"}]}, [("links", DESC)], [f"LS-2 {AT}/links"]),
    ("LS-2 a relation called links", {"links": [{"href": "/d"}]}, [("links", DESC)], []),
    ("LS-3 own origin", {"anchor": "/api", "item": [{"href": "/d"}]}, [("item", DESC)], []),
    (
        "LS-3 other origin",
        {"anchor": "https://api.example.com/", "item": [{"href": "/d"}]},
        [("item", DESC)],
        [f"LS-3 {AT}/anchor?"],
    ),
    ("LS-3 urn", {"anchor": "urn:x", "item": [{"href": "/d"}]}, [("item", DESC)], [f"LS-3 {AT}/anchor?"]),
    ("LS-4 http", {"item": [{"href": "http://example.com/"}]}, [("item", None)], [f"LS-4 {AT}/item/0/href"]),
    ("LS-4 private", {"item": [{"href": "https://10.1.2.3/"}]}, [("item", None)], [f"LS-4 {AT}/item/0/href"]),
    (
        "LS-4 mailto",
        {"author": [{"href": "mailto:a@example.com"}]},
        [("author", None)],
        [f"LS-4 {AT}/author/0/href"],
    ),
    ("title of no use", {"item": [{"href": "/d", "title": 5, "title*": [5]}]}, [("item", DESC)], []),
    ("title* of no use", {"item": [{"href": "/d", "title*": [{"value": {}}]}]}, [("item", DESC)], []),
    ("title* empty", {"item": [{"href": "/d", "title*": []}]}, [("item", DESC)], []),
]


@pytest.mark.parametrize(("name", "context", "links", "expected"), SHAPES, ids=[row[0] for row in SHAPES])
def test_one_context(name: str, context: Any, links: list[tuple[str, str | None]], expected: list[str]) -> None:
    found = read(linkset(context))
    assert (uris(found), rules(found)) == (links, expected), name


def test_no_title_where_there_is_none_of_use() -> None:
    found = read(linkset({"item": [{"href": "/d", "title*": [{"value": 5}]}, {"href": "/d", "title": ["x"]}]}))
    assert [link.title for link in found.links] == [None, None]


def test_claims_are_marked() -> None:
    context = {"anchor": "https://api.example.net/", "item": [{"href": "/d"}]}
    assert [link.is_claim for link in read(linkset(context)).links] == [True]
    unplaced = parse_linkset(linkset(context), None)
    assert isinstance(unplaced, Linkset)
    assert ([link.is_claim for link in unplaced.links], unplaced.findings) == ([False], ())


def test_more_members_at_the_root_are_flagged() -> None:
    found = read(linkset({"item": [{"href": "/d"}]}, _comment="x"))
    assert (uris(found), rules(found)) == ([("item", DESC)], ["LS-2 "])


def test_nested_catalogs_are_listed_once() -> None:
    nested = [{"href": "/a"}, {"href": "http://example.com/b"}, {"href": "https://example.com/a#x"}, {"href": "/c"}]
    found = read(linkset({"API-Catalog": nested, "item": [{"href": "/d"}]}))
    assert [target.path for target in found.nested] == ["/a", "/c"]


NOT_A_LINKSET = [
    b"",
    b"<html>",
    b"[]",
    b"{}",
    b'{"linkset": {}}',
    b'{"linkset": ["\xe9"]}',
    b'{"linkset": [',
    b"null",
]


@pytest.mark.parametrize("body", NOT_A_LINKSET, ids=repr)
def test_anything_else_is_absent(body: bytes) -> None:
    assert isinstance(parse_linkset(body, BASE), NotADocument)


def test_links_are_bounded() -> None:
    assert rules(read(linkset({"item": [{"href": "/d"}] * MOST_LINKS}))) == []
    found = read(linkset(*[{"item": [{"href": "/d"}]}] * (MOST_LINKS + 1)))
    assert (len(found.links), rules(found)) == (MOST_LINKS, ["LS-1 /linkset?"])


@pytest.mark.parametrize("member", [5, [], {"href": 5}, [{"href": 5}], [5]], ids=str)
def test_what_is_no_link_counts_as_one(member: object) -> None:
    context = {f"r{number}": member for number in range(MOST_LINKS - 1)}
    assert uris(read(linkset(context, {"item": [{"href": "/d"}]}))) == [("item", DESC)]
    assert uris(read(linkset({**context, "more": member}, {"item": [{"href": "/d"}]}))) == []
    assert uris(read(linkset({**context, "more": member, "even": member, "item": [{"href": "/d"}]}))) == []


def test_contexts_are_bounded() -> None:
    found = read(linkset(*[{}] * MOST_CONTEXTS, {"item": [{"href": "/d"}]}))
    assert (found.links, rules(found)) == ((), ["LS-1 /linkset?"])


def test_relations_of_one_link_are_bounded() -> None:
    found = read(linkset({"rel": " ".join(f"R{number}" for number in range(20)), "href": "/d"}))
    assert [link.rel for link in found.links] == [f"r{number}" for number in range(16)]


def test_a_long_name_is_not_repeated_for_each_link() -> None:
    found = read(linkset({"A" * 100_000: [{"href": "/d"}] * 1000}))
    assert len(found.links) == 1000
    assert {link.rel for link in found.links} == {"a" * 100_000}
    assert len({id(link.rel) for link in found.links}) == 1
    assert max(len(link.path) for link in found.links) < 300


def test_the_last_of_repeated_names_counts() -> None:
    body = b'{"linkset": [{"item": [{"href": "/x"}], "item": [{"href": "/d"}]}]}'
    assert uris(read(body)) == [("item", DESC)]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["anchor", "href", "rel", "links", "item", "title*", "type"]), inner)
    ),
    max_leaves=15,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(VALUES, max_size=4), st.sampled_from([BASE, None]))
def test_any_values_are_read(contexts: list[Any], base: Any) -> None:
    assert isinstance(parse_linkset(linkset(*contexts), base), Linkset)


@given(st.binary(max_size=80))
def test_any_bytes_are_read(body: bytes) -> None:
    parse_linkset(body, BASE)
    parse_linkset(b'{"linkset": [' + body + b"]}", BASE)
