"""kill -9 once the client has the answer: the next process answers the same, and asks nobody."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.end_to_end.relocation.world import (
    AN_HOUR,
    CARD,
    CATALOG,
    CATALOG_TYPE,
    HOST,
    JSON,
    NEW,
    World,
    ai_catalog,
    catalog,
    entry,
    feed,
    gateway,
    get,
    listed,
    moved,
    order,
    record_of,
    settled,
    urls_in,
)
from tests.end_to_end.running import until
from tests.end_to_end.site import Asked, reply
from tests.end_to_end.test_process import Child, child
from tests.stores.ledgers import GONE as OLD_GONE
from tests.stores.ledgers import MOVED as OLD_MOVED
from tests.stores.test_ledger_changes import of_schema_1, version_of

WITHDRAWN = f"https://{HOST}/withdrawn.json"
LISTED = ai_catalog(entry(CARD, "card"), entry(WITHDRAWN, "withdrawn"))


async def kill(proxy: Child) -> None:
    """As a power cut would."""
    proxy.process.kill()
    await proxy.ended()


async def same_as_before(world: World, proxy: Child) -> None:
    """What was recorded is answered, and the origin is asked nothing."""
    answer = await get(proxy, CARD)
    assert (answer.status, answer.get("location")) == (308, gateway(NEW))
    answer = await get(proxy, WITHDRAWN)
    assert (answer.slug, json.loads(answer.body)["successor"]) == ("gone", NEW)
    answer = await catalog(proxy, CATALOG)
    assert (urls_in(answer), answer.get("discovery-overrides")) == ([NEW], "2;moved=1;gone=1")
    assert [asked for asked in world.all_asked if asked.startswith(f"https://{HOST}/")] == []


async def test_kill_9_loses_nothing_that_a_client_has_seen(world: World, config: Path) -> None:
    world.has(CATALOG, LISTED, CATALOG_TYPE)
    async with child(config, **world.document()) as proxy:
        await moved(world, proxy)
        world.withdraws(WITHDRAWN, ("Link", f'<{NEW}>; rel="successor-version"'))
        assert (await get(proxy, WITHDRAWN)).status == 410
        await kill(proxy)
    world.forget()
    async with child(config, **world.document()) as proxy:
        await same_as_before(world, proxy)
        records = await listed(proxy)
        lines, _ = await feed(proxy)
        assert [(line["event"], line["url"]) for line in lines] == [("moved", CARD), ("gone", WITHDRAWN)]
        # A purge is of copies: what an origin has said is none (contract §7).
        for purged in ({"all": True}, {"host": HOST}, {"url": CARD}):
            assert (await order(proxy, "/admin/purge", json.dumps(purged).encode())).status == 200
        assert await listed(proxy) == records
        await same_as_before(world, proxy)
        await kill(proxy)
    for site in world.sites.values():
        await site.down()
    async with child(config, **world.document()) as proxy:
        assert (await get(proxy, CARD)).status == 308
        assert (await get(proxy, WITHDRAWN)).status == 410
        assert await listed(proxy) == records


async def test_what_was_pending_is_gone_into_by_the_next_process(world: World, config: Path) -> None:
    gate = asyncio.Event()

    async def late(asked: Asked) -> bytes:
        await gate.wait()
        return reply(b'{"name": "Agent", "url": "https://example.com/a2a"}', AN_HOUR, JSON)

    world.answers(CARD, 308, ("Location", NEW))
    world.on(NEW, late)
    async with child(config, **world.document()) as proxy:
        assert (await get(proxy, CARD)).status == 308
        await kill(proxy)
    async with child(config, **world.document()) as proxy:
        record = await record_of(proxy, CARD)
        assert record is not None and record["state"] == "pending"
        gate.set()
        # Nobody asks for it meanwhile.
        await settled(proxy, CARD, "moved")
        assert len(world.asked(CARD)) == 2, "the client's request, and one with nothing of a client's"


async def test_kill_9_among_many(world: World, config: Path) -> None:
    urls = [f"https://{HOST}/withdrawn/{number}.json" for number in range(300)]
    seen: list[str] = []
    for url in urls:
        world.withdraws(url)

    async def ask_each(proxy: Child, asked: list[str]) -> None:
        for url in asked:
            if (await get(proxy, url)).status == 410:
                seen.append(url)

    async with child(config, **world.document()) as proxy:
        asking = [asyncio.get_running_loop().create_task(ask_each(proxy, urls[n::10])) for n in range(10)]
        await until(lambda: len(seen) > 60)
        await kill(proxy)
        await asyncio.gather(*asking, return_exceptions=True)
    async with world.proxy(**world.on_disk) as successor:
        recorded = {row["url"] for row in await listed(successor, "?state=gone&limit=1000")}
        assert set(seen) <= recorded and len(seen) < len(urls)


async def test_ov_5_and_ov_6_a_document_again_ends_what_is_recorded(world: World) -> None:
    world.moves(CARD, NEW, cache_control="max-age=1")
    world.withdraws(WITHDRAWN, cache_control="max-age=1")
    world.has(CATALOG, LISTED, CATALOG_TYPE)
    async with world.proxy(**world.on_disk) as proxy:
        assert (await get(proxy, CARD)).status == 308
        await settled(proxy, CARD, "moved")
        assert (await get(proxy, WITHDRAWN)).status == 410
    body = world.has(CARD)
    world.has(WITHDRAWN)
    await asyncio.sleep(1.1)
    async with world.proxy(**world.on_disk) as proxy:
        for url in (CARD, WITHDRAWN):
            await settled(proxy, url, None)
            answer = await get(proxy, url)
            assert (answer.status, answer.body) == (200, body)
        answer = await catalog(proxy, CATALOG)
        assert (urls_in(answer), answer.get("discovery-overrides")) == ([CARD, WITHDRAWN], "0;moved=0;gone=0")
        lines, _ = await feed(proxy)
        assert {(line["event"], line["url"], line["status"]) for line in lines} == {
            ("withdrawn", CARD, 200),
            ("withdrawn", WITHDRAWN, 200),
        }


async def test_ov_6_an_outage_ends_nothing(world: World) -> None:
    world.withdraws(WITHDRAWN, cache_control="max-age=1")
    async with world.proxy(**world.on_disk) as proxy:
        assert (await get(proxy, WITHDRAWN)).status == 410
    world.on(WITHDRAWN, lambda asked: reply(b"", status=503))
    await asyncio.sleep(1.1)
    world.forget()
    async with world.proxy(**world.on_disk) as proxy:
        assert (await get(proxy, WITHDRAWN)).status == 410
        await until(lambda: bool(world.asked(WITHDRAWN)))
        await asyncio.sleep(0.1)
        for _ in range(5):
            assert (await get(proxy, WITHDRAWN)).status == 410
        record = await record_of(proxy, WITHDRAWN)
        assert record is not None and (record["state"], record["evidence"]["failures"]) == ("gone", 1)
        assert len(world.asked(WITHDRAWN)) == 1, "put off for a minute"


async def test_a_file_of_schema_1_is_upgraded_at_the_start(world: World) -> None:
    of_schema_1(world.ledger_file)
    async with world.proxy(**world.on_disk) as proxy:
        assert await proxy.admin("/readyz") == {"status": "ready", "reasons": []}
        for old in (OLD_MOVED, OLD_GONE):
            record = await record_of(proxy, old.url)
            assert record is not None and (record["state"], record["target"]) == (old.state.value, old.target)
        lines, _ = await feed(proxy)
        assert [line["cursor"] for line in lines] == [1, 2, 3, 4]
        await moved(world, proxy)
        assert (await feed(proxy, "?cursor=4"))[0][0]["url"] == CARD
    assert version_of(world.ledger_file) == 2


async def test_a_file_of_a_schema_that_is_not_known_is_left_alone(world: World) -> None:
    of_schema_1(world.ledger_file)
    with closing(sqlite3.connect(world.ledger_file)) as file, file:
        file.execute("PRAGMA user_version=99")
    before = world.ledger_file.read_bytes()
    world.withdraws(WITHDRAWN)
    async with world.proxy(**world.on_disk) as proxy:
        assert (await proxy.admin("/readyz"))["reasons"] == ["ledger-damaged"]
        answer = await get(proxy, WITHDRAWN)
        assert (answer.status, answer.slug) == (503, "internal"), "never passed on unrecorded"
    assert world.ledger_file.read_bytes() == before
