"""What is told of the records: the list, one of them with its history, and the feed of what changes."""

from __future__ import annotations

import asyncio
import json

from tests.end_to_end.relocation.world import (
    CARD,
    HOST,
    NEW,
    World,
    ask,
    feed,
    gone,
    id_of,
    listed,
    moved,
    record_of,
)


async def test_the_lists_and_one_record_with_its_history(world: World) -> None:
    async with world.proxy() as proxy:
        await moved(world, proxy)
        await gone(world, proxy, f"https://{HOST}/gone.json")
        assert {row["url"] for row in await listed(proxy)} == {CARD, f"https://{HOST}/gone.json"}
        assert [row["url"] for row in await listed(proxy, f"?host={HOST}&state=moved")] == [CARD]
        assert await listed(proxy, "?host=other.example.net") == []
        record = await record_of(proxy, CARD)
        assert record is not None and record["id"] == id_of(CARD) and record["evidence"]["host"] == HOST
        assert [(seen["status"], seen["state"], seen["host"]) for seen in record["history"]] == [
            (308, "pending", HOST),
            (308, "moved", HOST),
        ]
        first = json.loads((await ask(proxy, "/v1/records?limit=1")).body)
        second = json.loads((await ask(proxy, f"/v1/records?limit=1&cursor={first['next']}")).body)
        assert (len(first["records"]), len(second["records"]), second["next"]) == (1, 1, None)


async def test_the_feed(world: World) -> None:
    async with world.proxy() as proxy:
        assert (await feed(proxy))[0] == []
        await moved(world, proxy)
        lines, onwards = await feed(proxy)
        assert [(line["event"], line["url"], line["target"]) for line in lines] == [("moved", CARD, NEW)]
        assert (await ask(proxy, onwards)).body == b""
        waiting = asyncio.get_running_loop().create_task(ask(proxy, f"{onwards}&wait=4"))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await gone(world, proxy, f"https://{HOST}/gone.json")
        [line] = map(json.loads, (await waiting).body.splitlines())
        assert (line["event"], line["status"]) == ("gone", 410) and line["cursor"] > lines[-1]["cursor"]


async def test_a_wait_without_news_ends(world: World) -> None:
    async with world.proxy() as proxy:
        began = asyncio.get_running_loop().time()
        assert (await feed(proxy, "?wait=1"))[0] == []
        assert 0.9 < asyncio.get_running_loop().time() - began < 3


async def test_who_waits_is_let_go_when_the_proxy_stops(world: World) -> None:
    async with world.proxy(listen__drain_timeout=5) as proxy:
        waiting = asyncio.get_running_loop().create_task(ask(proxy, "/v1/records/feed?wait=30"))
        await asyncio.sleep(0.2)
        began = asyncio.get_running_loop().time()
        await proxy.service.stop()
        assert asyncio.get_running_loop().time() - began < 2
        assert (await waiting).status == 200
