"""What an operator decides of records and is told of them: the admin port, the `records` command, `explain`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.end_to_end.relocation.world import (
    ABROAD,
    CARD,
    CATALOG,
    CATALOG_TYPE,
    HOST,
    NEW,
    OTHER,
    AnyProxy,
    World,
    ai_catalog,
    ask,
    catalog,
    entry,
    feed,
    gateway,
    get,
    gone,
    id_of,
    listed,
    moved,
    order,
    record_of,
    settled,
    urls_in,
)
from tests.end_to_end.test_process import child, ran


async def pending(world: World, proxy: AnyProxy) -> None:
    """A card has moved to another domain, where nothing proves that it is the same publisher's."""
    world.moves(CARD, ABROAD)
    assert (await get(proxy, CARD)).status == 308
    await settled(proxy, CARD, "pending")
    world.forget()


async def decide(proxy: AnyProxy, decision: str, url: str) -> tuple[int, dict[str, object]]:
    answer = await order(proxy, f"/admin/records/{id_of(url)}/{decision}")
    return answer.status, json.loads(answer.body)


async def test_ov_3_a_pending_move_is_confirmed(world: World) -> None:
    world.has(CATALOG, ai_catalog(entry(CARD, "card")), CATALOG_TYPE)
    async with world.proxy(**world.on_disk) as proxy:
        await pending(world, proxy)
        assert urls_in(await catalog(proxy, CATALOG)) == [CARD]
        status, told = await decide(proxy, "confirm", CARD)
        assert (status, told["state"], told["target"]) == (200, "moved", ABROAD)
        answer = await get(proxy, CARD)
        assert (answer.status, answer.get("location")) == (308, gateway(ABROAD))
        assert "detail=moved" in (answer.get("cache-status") or "")
        answer = await catalog(proxy, CATALOG)
        assert (urls_in(answer), answer.get("discovery-overrides")) == ([ABROAD], "1;moved=1;gone=0")
        assert (await decide(proxy, "confirm", CARD))[0] == 409
    async with world.proxy(**world.on_disk) as proxy:
        record = await record_of(proxy, CARD)
        assert record is not None and record["evidence"]["proof"] == "operator"
        assert "operator" in record["history"][-1]["note"]


async def test_a_record_is_withdrawn(world: World) -> None:
    world.has(CATALOG, ai_catalog(entry(CARD, "card")), CATALOG_TYPE)
    async with world.proxy() as proxy:
        await gone(world, proxy)
        status, told = await decide(proxy, "withdraw", CARD)
        withdrawn = told["withdrawn"]
        assert status == 200 and isinstance(withdrawn, dict) and withdrawn["url"] == CARD
        assert await listed(proxy) == []
        lines, _ = await feed(proxy)
        assert [(line["event"], line["state"]) for line in lines] == [("withdrawn", None)]
        assert "operator" in lines[0]["note"]
        answer = await catalog(proxy, CATALOG)
        assert (urls_in(answer), answer.get("discovery-overrides")) == ([CARD], "0;moved=0;gone=0")
        assert (await decide(proxy, "withdraw", CARD))[0] == 404
        assert (await order(proxy, "/admin/records/nonsense/withdraw")).slug == "bad-request"
        # What the origin says from then on is recorded anew.
        assert (await get(proxy, CARD, "Cache-Control: no-cache")).status == 410
        await settled(proxy, CARD, "gone")


@pytest.mark.parametrize("status", [308, 410])
async def test_after_a_withdrawal_the_origin_is_asked(world: World, status: int) -> None:
    """A record that was wrong is taken away so that the origin is heard again, and not what was stored of it."""
    async with world.proxy() as proxy:
        await (moved if status == 308 else gone)(world, proxy)
        body = world.has(CARD)
        assert (await decide(proxy, "withdraw", CARD))[0] == 200
        answer = await get(proxy, CARD)
        assert (answer.status, answer.body) == (200, body)


async def test_explain_shows_the_record(world: World) -> None:
    async with world.proxy() as proxy:
        explain = f"/admin/explain?url={quote(CARD, safe='')}"
        assert (await proxy.admin(explain))["relocation"] is None
        await gone(world, proxy)
        told = await proxy.admin(explain)
        assert (told["relocation"]["state"], told["relocation"]["id"]) == ("gone", id_of(CARD))
        # Of the same mind as what is answered then.
        assert told["decision"]["answer"] not in ("hit", "miss")
        assert (await get(proxy, CARD)).slug == "gone"


async def test_a_refresh_asks_the_origin_of_a_record(world: World) -> None:
    async with world.proxy() as proxy:
        await gone(world, proxy)
        body = world.has(CARD)
        assert (await order(proxy, "/admin/refresh", json.dumps({"url": CARD}).encode())).status == 200
        await settled(proxy, CARD, None)
        answer = await get(proxy, CARD)
        assert (answer.status, answer.body) == (200, body)


async def test_the_records_command(world: World, config: Path) -> None:
    async with child(config, **world.document()) as proxy:
        await moved(world, proxy)
        via = ("--via", f"http://127.0.0.1:{proxy.port}")
        (code, output, errors), nothing, whole = await asyncio.gather(
            ran("records", HOST, *via),
            ran("records", OTHER, *via),
            ran("records", "--url", CARD, "--json", *via),
        )
        assert (code, errors) == (0, "")
        assert output.startswith(f"moved  {CARD} -> {NEW}")
        history = [line.split()[2] for line in output.partition("  history\n")[2].splitlines()]
        assert history == ["pending", "moved"]
        assert nothing == (1, f"no records of {OTHER}\n", "")
        [record] = json.loads(whole[1])["records"]
        assert (whole[0], record["id"]) == (0, id_of(CARD)) and len(record["history"]) == 2
        admin = ("--via", f"http://127.0.0.1:{proxy.admin_port}")
        code, output, errors = await ran("records", "--withdraw", id_of(CARD), *admin)
        assert (code, output, errors) == (0, f"withdrawn: {CARD}\n", "")
        assert await listed(proxy) == []


async def test_other_methods_are_not_answered(world: World) -> None:
    async with world.proxy() as proxy:
        await gone(world, proxy)
        for path in ("/v1/records", f"/v1/records/{id_of(CARD)}", "/v1/catalogs", "/v1/merge", "/v1/records/feed"):
            answer = await ask(proxy, path, method="POST", body=b"{}")
            assert (answer.status, answer.get("allow")) == (405, "GET, HEAD")
        assert (await ask(proxy, f"/admin/records/{id_of(CARD)}/withdraw", method="POST", body=b"{}")).status == 404
        assert len(await listed(proxy)) == 1, "orders are for the admin port alone"
