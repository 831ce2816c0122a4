"""The published redirect vectors through the whole proxy: what a client gets to, and what is recorded then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.end_to_end.relocation.world import (
    CARD,
    HOST,
    HTML,
    WWW,
    World,
    ask,
    catalog,
    gateway,
    get,
    nothing_recorded,
    record_of,
    settled,
)
from tests.end_to_end.running import Reply, Running
from tests.end_to_end.site import reply
from tests.engine.discovery.documents import AID_AT, agent_card, sample

VECTORS: list[dict[str, Any]] = sample("redirect_vectors.json")
LOOPING_START = f"https://{HOST}/a"
AID = f"https://{HOST}{AID_AT}"
_MOST_STEPS = 8


def published(world: World, vector: dict[str, Any]) -> str:
    """Where the hops of a vector begin, once the sites answer them."""
    start = AID if vector.get("format") == "aid" else LOOPING_START if vector.get("loop") else CARD
    place = start
    is_page = vector.get("content_type") == "text/html"
    for number, (status, location) in enumerate(vector["hops"], 1):
        # The one vector without absolute locations has as many different places as it has hops.
        onwards = f"https://{HOST}/hop/{number}" if location == "1" else location
        if status == 200:
            body, media_type = (HTML, "text/html") if is_page else (card(), "application/json")
            world.has(place, body, media_type)
        elif onwards is None:
            world.answers(place, status, ("Link", '</choice.json>; rel="alternate"'), cache_control=None)
        else:
            world.answers(place, status, ("Location", onwards))
            place = onwards
    return start


def card() -> bytes:
    return json.dumps(agent_card()).encode()


def named(vector: dict[str, Any]) -> str:
    return str(vector["name"])


async def followed(proxy: Running, url: str) -> Reply:
    """The answer at the end of all redirects through the proxy, or the first that leads where nobody follows."""
    place = gateway(url)
    for _ in range(_MOST_STEPS):
        answer = await ask(proxy, place)
        location = answer.get("location") or ""
        if not location.startswith((f"/https/{HOST}/", f"/https/{WWW}/")):
            return answer
        place = location
    return answer


OF_LOCATIONS = [vector for vector in VECTORS if "record_location" in vector["expect"]]


@pytest.mark.parametrize("vector", OF_LOCATIONS, ids=named)
async def test_what_is_recorded(world: World, vector: dict[str, Any]) -> None:
    start, expected = published(world, vector), vector["expect"]["record_location"]
    async with world.proxy() as proxy:
        first = await followed(proxy, start)
        assert first.status == vector["expect"].get("serve", first.status)
        if expected is None:
            await nothing_recorded(proxy)
        elif expected == "pending_operator_or_identity_proof":
            record = await settled(proxy, start, "pending")
            assert record is not None and record["target"] == vector["hops"][0][1]
        else:
            record = await settled(proxy, start, "moved")
            assert record is not None and record["target"] == expected
            assert ("308" in record["history"][0]["note"]) == ("warn" in vector["expect"])
        world.forget()
        again = await get(proxy, start)
        is_from_record = "detail=moved" in (again.get("cache-status") or "")
        assert is_from_record == (expected is not None and expected.startswith("https:"))
        if is_from_record:
            assert (again.status, again.get("location"), world.all_asked) == (308, gateway(expected), [])


OF_ERRORS = [vector for vector in VECTORS if vector["expect"].get("error") not in (None, "ERR_FALLBACK_FAILED")]


@pytest.mark.parametrize("vector", OF_ERRORS, ids=named)
async def test_what_is_not_followed_is_not_recorded(world: World, vector: dict[str, Any]) -> None:
    start = published(world, vector)
    async with world.proxy() as proxy:
        for _ in range(2):
            assert (await get(proxy, start)).status == vector["hops"][0][0], "passed on as it is"
        read = await catalog(proxy, start)
        assert (read.status, json.loads(read.body)["reason"]) == (502, vector["expect"]["error"])
        await nothing_recorded(proxy)


async def test_410_is_a_tombstone_that_overrides_third_parties(world: World) -> None:
    [vector] = (vector for vector in VECTORS if vector["expect"].get("tombstone"))
    start = published(world, vector)
    async with world.proxy() as proxy:
        assert (await get(proxy, start)).status == 410
        record = await record_of(proxy, start)
        assert record is not None and (record["state"], record["status"]) == ("gone", 410)
        world.has("https://registry.example.org/list", {"specVersion": "1.0", "entries": [{"url": start}]})
        answer = await catalog(proxy, "https://registry.example.org/list")
        assert answer.get("discovery-overrides") == "1;moved=0;gone=1"


# Names of the other vectors, and what is answered for them.
OTHERS = {
    "404": 404,
    "200 html catch-all": 502,
    "401 at well-known": 401,
    "300 with Link alternates": 300,
    "AID well-known redirected": 301,
}


@pytest.mark.parametrize("vector", [vector for vector in VECTORS if vector["name"] in OTHERS], ids=named)
async def test_what_says_nothing_of_a_place(world: World, vector: dict[str, Any]) -> None:
    start = published(world, vector)
    async with world.proxy() as proxy:
        for _ in range(2):
            assert (await get(proxy, start)).status == OTHERS[vector["name"]]
        if vector["expect"].get("do_not_cache_shared"):
            assert len(world.asked(start)) == 2
        await nothing_recorded(proxy)


async def test_503_with_stale(world: World) -> None:
    [vector] = (vector for vector in VECTORS if vector["expect"].get("serve") == "stale_if_error")
    world.has(CARD, cache_control="max-age=0, stale-if-error=600")
    async with world.proxy() as proxy:
        assert (await get(proxy, CARD)).status == 200
        status = vector["hops"][0][0]
        world.on(CARD, lambda asked: reply(b"", "no-store", status=status))
        answer = await get(proxy, CARD)
        assert (answer.status, answer.body) == (200, card())
        await nothing_recorded(proxy)


def test_every_vector_is_driven() -> None:
    special = {"410", "503 with stale"}
    driven = {named(vector) for vector in (*OF_LOCATIONS, *OF_ERRORS)} | OTHERS.keys() | special
    assert driven == {named(vector) for vector in VECTORS}
