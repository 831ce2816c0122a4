"""Collections of agent descriptions (AN-1)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.gate import NotADocument
from proxy.discovery.listings.anp import MOST_ITEMS, WELL_KNOWN, CollectionPage, parse_collection_page
from proxy.discovery.notes import MOST_FINDINGS
from proxy.http.targets import parse_target

BASE = parse_target(f"https://example.com{WELL_KNOWN}")
AGENT: dict[str, Any] = {
    "@type": "ad:AgentDescription",
    "name": "Assistant",
    "@id": "https://example.com/agents/assistant/ad.json",
}
PAGE: dict[str, Any] = {
    "@context": {"ad": "https://agent-network-protocol.com/ad#"},
    "@type": "CollectionPage",
    "url": BASE.uri,
    "items": [AGENT],
    "next": f"{BASE.uri}?page=2",
}


def page(**members: Any) -> CollectionPage:
    found = parse_collection_page(json.dumps({**PAGE, **members}).encode(), BASE)
    assert isinstance(found, CollectionPage)
    return found


def test_a_page() -> None:
    found = page()
    assert [(item.url.uri, item.name) for item in found.items] == [(AGENT["@id"], "Assistant")]
    assert found.next is not None and found.next.uri == f"{BASE.uri}?page=2"
    assert found.findings == ()


@pytest.mark.parametrize(
    ("item", "url", "name"),
    [
        ({**AGENT, "@id": "/a/ad.json"}, "https://example.com/a/ad.json", "Assistant"),
        ({**AGENT, "@id": "https://other.example.net/ad.json"}, "https://other.example.net/ad.json", "Assistant"),
        ({**AGENT, "name": None}, AGENT["@id"], None),
        ({**AGENT, "name": ["A"]}, AGENT["@id"], None),
        ({**AGENT, "name": ""}, AGENT["@id"], None),
        ({**AGENT, "@type": "AgentDescription"}, AGENT["@id"], "Assistant"),
        ({**AGENT, "@type": ["Thing", "ad:AgentDescription"]}, AGENT["@id"], "Assistant"),
    ],
    ids=str,
)
def test_items(item: dict[str, Any], url: str, name: str | None) -> None:
    found = page(items=[item, item])
    assert [(listed.url.uri, listed.name) for listed in found.items] == [(url, name)]
    assert found.findings == ()


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ("https://example.com/ad.json", "/items/0"),
        (None, "/items/0"),
        ({"@id": AGENT["@id"]}, "/items/0"),
        ({**AGENT, "@type": "CollectionPage"}, "/items/0"),
        ({**AGENT, "@type": 5}, "/items/0"),
        ({**AGENT, "@id": None}, "/items/0/@id"),
        ({**AGENT, "@id": ""}, "/items/0/@id"),
        ({**AGENT, "@id": 5}, "/items/0/@id"),
        ({**AGENT, "@id": "#assistant"}, "/items/0/@id"),
        ({**AGENT, "@id": "did:wba:example.com"}, "/items/0/@id"),
        ({**AGENT, "@id": "http://example.com/ad.json"}, "/items/0/@id"),
        ({**AGENT, "@id": "https://192.168.1.1/ad.json"}, "/items/0/@id"),
    ],
    ids=str,
)
def test_items_that_lead_nowhere(item: object, path: str) -> None:
    found = page(items=[item, AGENT])
    assert len(found.items) == 1
    assert [(finding.rule, finding.path) for finding in found.findings] == [("AN-1", path)]


@pytest.mark.parametrize(
    ("reference", "following"),
    [("?page=3", f"{BASE.uri}?page=3"), ("/p3", "https://example.com/p3"), ("https://EXAMPLE.com:443/p", "https://example.com/p")],
)  # fmt: skip
def test_next(reference: str, following: str) -> None:
    found = page(next=reference)
    assert found.next is not None and found.next.uri == following and found.findings == ()


@pytest.mark.parametrize(
    "reference",
    [
        "https://www.example.com/p2",
        "https://example.com:8443/p2",
        "http://example.com/p2",
        "https://127.0.0.1/p2",
        "#",
        BASE.uri,
        "",
        5,
        {"@id": "/p2"},
        ["/p2"],
    ],
    ids=str,
)
def test_next_that_is_not_followed(reference: object) -> None:
    found = page(next=reference)
    assert found.next is None
    assert [(finding.rule, finding.path) for finding in found.findings] == [("AN-1", "/next")]


def test_no_next() -> None:
    assert page(next=None).next is None and page(next=None).findings == ()


def test_of_very_many_items_the_first_are_read() -> None:
    items = [{**AGENT, "@id": f"/agents/{n}/ad.json"} for n in range(MOST_ITEMS + 5000)]
    found = page(items=items)
    assert len(found.items) == MOST_ITEMS
    assert [finding.path for finding in found.findings] == ["/items"]
    assert len(page(items=[None] * 100_000).findings) == MOST_FINDINGS + 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not-json"),
        (b"<html></html>", "not-json"),
        (b"\xff\xfe", "not-utf-8"),
        (b"[" * 100_000, "too-deep"),
        (b"[]", "not-an-object"),
        (b"null", "not-an-object"),
        (b"{}", "members-missing"),
        (b'{"items": []}', "members-missing"),
        (b'{"@type": "CollectionPage"}', "members-missing"),
        (b'{"@type": "CollectionPage", "items": {}}', "members-missing"),
        (b'{"@type": ["Page"], "items": []}', "members-missing"),
    ],
)
def test_what_is_no_page(body: bytes, reason: str) -> None:
    found = parse_collection_page(body, BASE)
    assert isinstance(found, NotADocument) and found.reason == reason


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["@id", "@type", "name", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["@context", "url", "items", "next"]), ANYTHING))
@settings(max_examples=200, deadline=None)
def test_members_of_any_type(members: dict[str, Any]) -> None:
    body = json.dumps({**PAGE, **members}).encode()
    assert isinstance(parse_collection_page(body, BASE), CollectionPage | NotADocument)


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_no_bytes_raise(body: bytes) -> None:
    assert isinstance(parse_collection_page(body, BASE), CollectionPage | NotADocument)
