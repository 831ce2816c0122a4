"""What redirects and withdrawals come to: chains, loops, unusable places, copies that were stored before."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.end_to_end.relocation.world import (
    CARD,
    CATALOG,
    CATALOG_TYPE,
    HOST,
    JSON,
    NEVER_STALE,
    NEW,
    World,
    ai_catalog,
    ask,
    catalog,
    entry,
    feed,
    gateway,
    get,
    listed,
    moved,
    nothing_recorded,
    record_of,
    settled,
)
from tests.end_to_end.running import until
from tests.end_to_end.site import reply

A, B, C, D = (f"https://{HOST}/{name}.json" for name in "abcd")
CARD_NOW = reply(b'{"name": "Agent", "url": "https://example.com/a2a"}', NEVER_STALE, JSON)


async def test_ov_2_a_chain_is_compressed_to_its_permanent_run(world: World) -> None:
    world.answers(A, 308, ("Location", B))
    world.answers(B, 301, ("Location", C), cache_control="max-age=600")
    world.answers(C, 307, ("Location", D))
    world.has(D)
    async with world.proxy() as proxy:
        assert (await get(proxy, A)).get("location") == gateway(B), "the origin's own answer"
        record = await settled(proxy, A, "moved")
        assert record is not None and (record["target"], record["evidence"]["location"]) == (C, B)
        assert [row["url"] for row in await listed(proxy)] == [A], "nobody has asked for the places on the way"
        world.forget()
        answer = await get(proxy, A)
        assert (answer.get("location"), world.all_asked) == (gateway(C), [])
        lifetime = int((answer.get("cache-control") or "").removeprefix("max-age="))
        assert lifetime <= 600, "no longer than each of the hops"


async def test_the_end_of_a_move_that_is_gone(world: World) -> None:
    world.has(CATALOG, ai_catalog(entry(CARD, "card")), CATALOG_TYPE)
    async with world.proxy() as proxy:
        await moved(world, proxy)
        world.withdraws(NEW)
        assert (await get(proxy, NEW, "Cache-Control: no-cache")).status == 410
        assert (await get(proxy, CARD)).get("location") == gateway(NEW)
        answer = await catalog(proxy, CATALOG)
        assert (answer.get("discovery-overrides"), json.loads(answer.body)["entries"]) == ("1;moved=0;gone=1", [])


async def test_a_move_of_what_has_moved(world: World) -> None:
    async with world.proxy() as proxy:
        await moved(world, proxy, B, C)
        await moved(world, proxy, A, B)
        record = await record_of(proxy, A)
        answer = await get(proxy, A)
        assert record is not None and answer.get("location") == gateway(C)
        assert world.all_asked == []


async def test_ov_4_a_loop_that_comes_about_later(world: World) -> None:
    """Nobody is sent round in circles by records: the second half of the circle is none."""
    async with world.proxy() as proxy:
        await moved(world, proxy, A, B)
        world.answers(B, 308, ("Location", A))
        assert (await get(proxy, B, "Cache-Control: no-cache")).status == 308
        await settled(proxy, B, None)
        assert [row["url"] for row in await listed(proxy)] in ([A], [])
        assert len(world.all_asked) <= 6


async def test_ov_6_alternating_200_and_410(world: World) -> None:
    world.on(CARD, lambda asked: reply(b"", NEVER_STALE, status=410) if asked.number % 2 else CARD_NOW)
    async with world.proxy() as proxy:
        seen = [(await get(proxy, CARD)).status for _ in range(12)]
        assert set(seen) <= {200, 410} and seen[0] in (200, 410)
        assert len(world.asked(CARD)) <= 3 * len(seen), "nobody is asked again and again"
        assert len(await listed(proxy)) <= 1


async def test_a_chain_of_thirty_is_not_recorded(world: World) -> None:
    """OV-4, OV-10: more than five hops lead nowhere that is recorded, and nobody goes them all."""
    for number in range(30):
        world.moves(f"https://{HOST}/hop/{number}", f"https://{HOST}/hop/{number + 1}")
    async with world.proxy() as proxy:
        assert (await get(proxy, f"https://{HOST}/hop/0")).status == 308
        await settled(proxy, f"https://{HOST}/hop/0", None)
        await asyncio.sleep(0.1)
        assert len(world.all_asked) <= 10


# Location lines that no record may be made of.
UNUSABLE = {
    "itself": [CARD],
    "itself, otherwise spelt": [CARD.replace("agent-card", "%61gent-card")],
    "userinfo": [f"https://me:hunter22@{HOST}/x"],
    "a private address": ["https://10.0.0.5/x"],
    "loopback": ["https://127.0.0.1/x"],
    "metadata": ["https://169.254.169.254/x"],
    "localhost": ["https://localhost/x"],
    "javascript": ["javascript:alert(1)"],
    "plain http": [f"http://{HOST}/x"],
    "ftp": [f"ftp://{HOST}/x"],
    "none": [],
    "empty": [""],
    "two": [NEW, f"https://{HOST}/another"],
    "malformed": ["https://exa mple.com/x"],
    "very long": [f"https://{HOST}/{'x' * 5000}"],
}


@pytest.mark.parametrize("locations", UNUSABLE.values(), ids=UNUSABLE)
@pytest.mark.parametrize("status", [308, 301])
async def test_a_location_that_cannot_be_recorded(world: World, status: int, locations: list[str]) -> None:
    world.answers(CARD, status, *(("Location", location) for location in locations))
    async with world.proxy() as proxy:
        assert (await get(proxy, CARD)).status == status
        await nothing_recorded(proxy)
        assert b"hunter22" not in (await ask(proxy, "/v1/records/feed")).body


STALE = {
    "stale while it is refreshed": "max-age=0, stale-while-revalidate=600",
    "stale while the origin fails": "max-age=0, stale-if-error=600",
    "validated each time": "no-cache",
}


@pytest.mark.parametrize("cache_control", STALE.values(), ids=STALE)
@pytest.mark.parametrize("url", [CARD, A])
async def test_ov_6_no_copy_stands_in_for_what_is_gone(world: World, url: str, cache_control: str) -> None:
    world.has(url, cache_control=cache_control)
    async with world.proxy() as proxy:
        assert (await get(proxy, url)).status == 200
        world.withdraws(url)
        # The first one may still be the stale copy, as the origin has allowed it.
        assert (await get(proxy, url)).status in (200, 410)
        await settled(proxy, url, "gone")
        await world.sites[HOST].down()
        for line in ("Accept: */*", "Cache-Control: max-stale", "Cache-Control: only-if-cached"):
            assert (await get(proxy, url, line)).status == 410


async def test_ov_6_no_variant_stands_in_either(world: World) -> None:
    world.answers(A, 200, ("Vary", "Accept-Language"), JSON, body=b"{}")
    async with world.proxy() as proxy:
        for language in ("de", "en"):
            assert (await get(proxy, A, f"Accept-Language: {language}")).status == 200
        world.withdraws(A)
        assert (await get(proxy, A, "Accept-Language: fr")).status == 410
        for language in ("de", "en"):
            assert (await get(proxy, A, f"Accept-Language: {language}")).status == 410


async def test_head_is_heard_like_get(world: World) -> None:
    for url in (CARD, A):
        world.withdraws(url)
    async with world.proxy() as proxy:
        for url in (CARD, A):
            assert (await get(proxy, url, method="HEAD")).status == 410
            await settled(proxy, url, "gone")


async def test_a_head_that_says_otherwise_than_get_is_believed_by_nobody(world: World) -> None:
    world.on(A, lambda asked: reply(b"", status=410) if asked.method == "HEAD" else CARD_NOW)
    async with world.proxy() as proxy:
        assert (await get(proxy, A, method="HEAD")).status == 410
        await nothing_recorded(proxy)
        assert (await get(proxy, A)).status == 200


async def test_404_is_counted_and_no_tombstone(world: World) -> None:
    world.answers(A, 404, cache_control=NEVER_STALE)
    world.has(CATALOG, ai_catalog(entry(A, "a")), CATALOG_TYPE)
    async with world.proxy() as proxy:
        for _ in range(5):
            assert (await get(proxy, A)).status == 404
        await nothing_recorded(proxy)
        assert (await catalog(proxy, CATALOG)).get("discovery-overrides") == "0;moved=0;gone=0"
        body = world.has(A)
        answer = await get(proxy, A)
        assert (answer.status, answer.body) == (200, body)


async def test_a_page_for_people_revives_nothing(world: World) -> None:
    world.withdraws(CARD, cache_control="max-age=1")
    async with world.proxy(**world.on_disk) as proxy:
        assert (await get(proxy, CARD)).status == 410
    world.has(CARD, b"<!doctype html><title>Parked</title>", "text/html")
    world.forget()
    await asyncio.sleep(1.1)
    async with world.proxy(**world.on_disk) as proxy:
        assert (await get(proxy, CARD)).status == 410
        await until(lambda: bool(world.asked(CARD)))
        await asyncio.sleep(0.05)
        assert (await get(proxy, CARD)).status == 410


@pytest.mark.parametrize("cache_control", ["no-store", "max-age=0", "private"])
async def test_a_word_that_holds_no_time_costs_little(world: World, cache_control: str) -> None:
    world.moves(A, B, cache_control=cache_control)
    world.withdraws(C, cache_control=cache_control)
    async with world.proxy() as proxy:
        for _ in range(20):
            assert (await get(proxy, A)).status == 308
            assert (await get(proxy, C)).status == 410
        await settled(proxy, A, "moved")
        assert len(world.asked(A)) <= 22, "the clients' own requests, and hardly more"
        assert len(world.asked(B)) <= 2 and len(world.asked(C)) <= 3
        lines, _ = await feed(proxy)
        assert {(line["event"], line["url"]) for line in lines} == {("gone", C), ("moved", A)}


async def test_another_place_each_time(world: World) -> None:
    world.on(A, lambda asked: reply(b"", "no-store", ("Location", f"/new/{asked.number}.json"), status=308))
    async with world.proxy() as proxy:
        for _ in range(20):
            assert (await get(proxy, A)).status == 308
        await nothing_recorded(proxy)
        assert len(world.asked(A)) <= 3 * 20
        assert len(world.all_asked) <= 4 * 20
