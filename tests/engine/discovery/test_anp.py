"""ANP agent descriptions in a discovery: only where the operator wants them, page by page (AN-1)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.engine.discovery.discoverer import DiscoverySettings
from tests.engine.discovery.documents import HTML, SITE
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood

START = "/.well-known/agent-descriptions"
CONTEXT = "https://schema.org/"


def page(*names: str, following: object = None, **members: object) -> dict[str, object]:
    items = [{"@type": "ad:AgentDescription", "name": name, "@id": f"{SITE}/{name}/ad.json"} for name in names]
    more = {} if following is None else {"next": following}
    return {"@context": {"@vocab": CONTEXT}, "@type": "CollectionPage", "items": items, **more, **members}


def wanting() -> Neighbourhood:
    return neighbourhood(DiscoverySettings(anp=True))


def names(answer: Described) -> list[str]:
    return [one["url"].split("/")[3] for one in answer["endpoints"] if one["protocol"] == "anp"]


async def test_it_is_not_asked_for_by_itself() -> None:
    n = neighbourhood()
    n.publish(START, page("shop"))
    assert (await n.discover()).endpoints == set()
    assert START not in n.paths


async def test_where_it_is_wanted_each_agent_is_an_endpoint() -> None:
    n = wanting()
    n.publish(START, page("shop", "help"), content_type="application/ld+json")
    answer = await n.discover()
    assert answer.endpoints == {
        ("anp", f"{SITE}/shop/ad.json", "agent-descriptions", "hint"),
        ("anp", f"{SITE}/help/ad.json", "agent-descriptions", "hint"),
    }
    assert answer.document(START)["found"] is True


async def test_descriptions_and_contexts_are_not_fetched() -> None:
    n = wanting()
    n.publish(START, page("shop"))
    answer = await n.discover()
    assert "/shop/ad.json" not in n.paths and n.asked("schema.org") == []
    assert answer["overhead"]["central_services"] == 0


@pytest.mark.parametrize("level", ["L0", "L1", "L2"])
async def test_clients_that_only_read_are_told_of_none(level: str) -> None:
    n = wanting()
    n.publish(START, page("shop"))
    await n.discover(level=level)
    assert START not in n.paths


@pytest.mark.parametrize("count", [1, 2, 5, 20])
async def test_pages_are_followed(count: int) -> None:
    n = wanting()
    for number in range(count):
        following = f"{START}?page={number + 1}" if number + 1 < count else None
        n.publish(START if number == 0 else f"{START}?page={number}", page(f"a{number}", following=following))
    assert names(await n.discover()) == [f"a{number}" for number in range(count)]


async def test_no_more_than_twenty() -> None:
    n = wanting()
    for number in range(30):
        place = START if number == 0 else f"{START}?page={number}"
        n.publish(place, page(f"a{number}", following=f"{START}?page={number + 1}"))
    answer = await n.discover()
    assert names(answer) == [f"a{number}" for number in range(20)]
    assert answer.step("anp", "?page=20")["outcome"] == "skipped"


@pytest.mark.parametrize("length", [1, 2, 3])
async def test_circles(length: int) -> None:
    n = wanting()
    places = [START, f"{START}?page=1", f"{START}?page=2"][:length]
    for number, place in enumerate(places):
        n.publish(place, page(f"a{number}", following=places[(number + 1) % length]))
    answer = await n.discover()
    assert names(answer) == [f"a{number}" for number in range(length)]
    assert [n.paths.count(place) for place in places] == [1] * length


@pytest.mark.parametrize(
    "following",
    [
        "https://example.net/more",
        "http://example.com/more",
        "https://10.0.0.1/more",
        "https://www.example.com/more",
        7,
    ],
)
async def test_the_next_page_is_on_the_same_origin(following: object) -> None:
    n = wanting()
    n.publish(START, page("shop", following=following))
    answer = await n.discover()
    assert names(answer) == ["shop"]
    assert "/more" not in n.paths
    assert "AN-1" in {one["rule"] for one in answer.document(START)["lint"]}


async def test_a_page_that_is_missing_ends_it() -> None:
    n = wanting()
    n.publish(START, page("shop", following="/more"))
    answer = await n.discover()
    assert names(answer) == ["shop"]
    assert answer.document("/more")["found"] is False


@pytest.mark.parametrize(
    ("body", "how"),
    [
        (HTML, {"content_type": "text/html"}),
        (b"", {}),
        (b"[]", {}),
        ({"items": []}, {}),
        ({"@type": "Thing", "items": []}, {}),
        (page(items={}), {}),
        (page("shop"), {"status": 404}),
        (page("shop"), {"status": 401}),
        (page("shop"), {"status": 500}),
    ],
    ids=["HTML", "empty", "list", "no type", "another type", "items no list", "404", "401", "500"],
)
async def test_what_is_no_collection(body: object, how: dict[str, Any]) -> None:
    n = wanting()
    n.publish(START, body, **how)
    answer = await n.discover()
    assert (answer.endpoints, answer.document(START)["found"]) == (set(), False)


@pytest.mark.parametrize(
    "item",
    [
        None,
        {"@type": "Thing", "@id": f"{SITE}/x"},
        {"@type": "ad:AgentDescription"},
        {"@type": "ad:AgentDescription", "@id": "http://example.com/x"},
        {"@type": "ad:AgentDescription", "@id": "https://127.0.0.1/x"},
        {"@type": "ad:AgentDescription", "@id": START},
    ],
    ids=["null", "another type", "no place", "http", "loopback", "the page itself"],
)
async def test_an_item_that_is_none_leaves_the_others(item: object) -> None:
    good = {"@type": "AgentDescription", "@id": f"{SITE}/good/ad.json"}
    n = wanting()
    n.publish(START, page(items=[item, good]))
    answer = await n.discover()
    assert names(answer) == ["good"]
    assert "AN-1" in {one["rule"] for one in answer.document(START)["lint"]}
