"""OV-1: nobody but the origin itself, over TLS for its very name, has a say in where its documents are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from ssl import SSLContext

import pytest

from tests.end_to_end.relocation.world import (
    AN_HOUR,
    CARD,
    CATALOG,
    CATALOG_TYPE,
    HOST,
    JSON,
    NEVER_STALE,
    NEW,
    WWW,
    World,
    ai_catalog,
    catalog,
    entry,
    get,
    gone,
    listed,
    moved,
    nothing_recorded,
    order,
    record_of,
    settled,
)
from tests.end_to_end.site import Asked, Site, reply
from tests.end_to_end.trust import world as trust
from tests.simulators.wire import Authority

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
# What somebody else than the origin can show of its name.
CERTIFICATES: dict[str, Callable[[Authority], SSLContext]] = {
    "for another name": lambda authority: authority.server("impostor.example.com"),
    "expired": lambda authority: authority.server(HOST, not_after=LONG_AGO),
    "of an authority that nobody knows": lambda _: Authority().server(HOST),
}
LASTING = pytest.mark.parametrize("status", [301, 308, 410])


def lasting(status: int) -> bytes:
    return reply(b"", AN_HOUR, ("Location", NEW), status=status)


@LASTING
@pytest.mark.parametrize("shown", CERTIFICATES.values(), ids=CERTIFICATES)
async def test_ov_1_a_certificate_that_is_not_good(
    tmp_path: Path, shown: Callable[[Authority], SSLContext], status: int
) -> None:
    world = World(tmp_path)
    world.sites[HOST] = Site(shown(world.authority))
    world.on(CARD, lambda asked: lasting(status))
    async with world, world.proxy() as proxy:
        answer = await get(proxy, CARD)
        assert (answer.status, answer.slug) == (504, "origin-unreachable")
        world.has(CATALOG, ai_catalog(entry(CARD, "card")), CATALOG_TYPE)
        answer = await catalog(proxy, CATALOG, flags="&probe=1&report=1")
        [row] = json.loads(answer.body)["entries"]
        assert (row["verdict"], row["evidence"]["source"]) == ("unconfirmed", "probe")
        assert world.all_asked == [CATALOG], "nothing is sent to whoever shows that"
        await nothing_recorded(proxy)


@pytest.mark.parametrize("shown", CERTIFICATES.values(), ids=CERTIFICATES)
async def test_ov_1_an_impostor_ends_no_record(
    world: World, shown: Callable[[Authority], SSLContext], tmp_path: Path
) -> None:
    async with world.proxy(**world.on_disk) as proxy:
        before = await gone(world, proxy)
    await world.sites[HOST].down()
    world.sites[HOST] = impostor = Site(shown(world.authority))
    world.has(CARD)
    async with impostor, world.proxy(**world.on_disk) as proxy:
        assert (await order(proxy, "/admin/refresh", json.dumps({"url": CARD}).encode())).status == 200
        await asyncio.sleep(0.1)
        assert (await get(proxy, CARD)).status == 410
        assert (await get(proxy, CARD, "Cache-Control: no-cache")).status == 410
        assert await record_of(proxy, CARD) == before


@LASTING
async def test_ov_1_a_mirror(tmp_path: Path, status: int) -> None:
    async with trust.World(tmp_path) as world, world.proxy(upstream__total_timeout=1) as proxy:
        body = await world.known(proxy, world.mirrored(trust.signed_manifest(*trust.MIRRORS)))
        for site in (world.first, world.second):
            site.on(trust.COPY_PATH, lambda asked: reply(b"", None, ("Location", "/elsewhere.json"), status=status))
        answer = await trust.ask_manifest(proxy)
        assert (answer.status, answer.slug) == (504, "no-trusted-copy")
        assert world.asked_mirrors
        await nothing_recorded(proxy)
        await world.origin.up()
        await proxy.purge()
        answer = await trust.ask_manifest(proxy)
        assert (answer.status, answer.body) == (200, body)


@LASTING
async def test_ov_1_plain_http(world: World, status: int) -> None:
    async with Site(None) as site:
        site.on(CARD.removeprefix(f"https://{HOST}"), lambda asked: lasting(status))
        plain = f"{HOST}:80:127.0.0.1:{site.port}"
        async with world.proxy(upstream__connect_to=[plain, *sections_of(world)]) as proxy:
            for _ in range(2):
                assert (await get(proxy, CARD.replace("https:", "http:"))).status == status
            await nothing_recorded(proxy)
            world.has(CARD)
            assert (await get(proxy, CARD)).status == 200


def sections_of(world: World) -> list[str]:
    rules = world.sections["upstream__connect_to"]
    assert isinstance(rules, list)
    return rules


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_ov_1_gone_behind_a_redirect_is_gone_there_alone(world: World, status: int) -> None:
    elsewhere = f"https://{WWW}/card.json"
    world.answers(CARD, status, ("Location", elsewhere))
    world.withdraws(elsewhere)
    async with world.proxy() as proxy:
        assert (await get(proxy, CARD)).status == status
        assert (await get(proxy, elsewhere)).status == 410
        # Who reads on behalf of others follows the way to its end.
        assert (await catalog(proxy, CARD)).status in (404, 410)
        await settled(proxy, CARD, None)
        assert [(row["url"], row["state"]) for row in await listed(proxy)] == [(elsewhere, "gone")]
        assert (await get(proxy, CARD)).status == status


FOR_ONE_CLIENT = {
    "a cookie": "Cookie: session=1",
    "credentials": "Authorization: Bearer abcdefgh",
    "a field of its own": "X-Preview: 1",
    "a language": "Accept-Language: xx",
}


@LASTING
@pytest.mark.parametrize("line", FOR_ONE_CLIENT.values(), ids=FOR_ONE_CLIENT)
async def test_ov_1_what_only_one_client_is_told(world: World, line: str, status: int) -> None:
    name, _, value = line.partition(": ")

    def answer(asked: Asked) -> bytes:
        if asked.fields.get(name) == value:
            return reply(b"", "no-store", ("Location", NEW), status=status)
        return reply(b'{"name": "Agent", "url": "https://example.com/a2a"}', NEVER_STALE, JSON)

    world.on(CARD, answer)
    async with world.proxy() as proxy:
        assert (await get(proxy, CARD, line)).status == status
        await nothing_recorded(proxy)
        assert (await get(proxy, CARD)).status == 200
        first, *others = (asked.fields.get(name) for asked in world.asked(CARD))
        assert first == value and set(others) == {None}


async def test_ov_1_what_one_client_is_told_ends_no_record(world: World) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.fields.get("cookie") is not None:
            return reply(b'{"name": "Agent", "url": "https://example.com/a2a"}', NEVER_STALE, JSON)
        return lasting(308)

    async with world.proxy() as proxy:
        before = await moved(world, proxy)
        world.on(CARD, answer)
        assert (await get(proxy, CARD, "Cookie: session=1", "Cache-Control: no-cache")).status == 200
        after = await record_of(proxy, CARD)
        assert after is not None and (after["state"], after["target"]) == (before["state"], before["target"])
        assert (await get(proxy, CARD)).status == 308


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
@LASTING
async def test_ov_1_what_is_said_to_another_method(world: World, status: int, method: str) -> None:
    world.on(CARD, lambda asked: reply(b"{}", AN_HOUR, JSON) if asked.method == "GET" else lasting(status))
    async with world.proxy() as proxy:
        assert (await get(proxy, CARD, method=method)).status == status
        await nothing_recorded(proxy)


async def test_ov_1_what_a_catalog_says_of_others(world: World) -> None:
    """Its own 410 is of itself, and that it lists something as deleted is a hint."""
    world.has(CARD)
    listing = {
        "servers": [
            {
                "server": {"name": "com.example/one", "remotes": [{"type": "sse", "url": CARD}]},
                "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deleted"}},
            }
        ],
        "metadata": {"count": 1},
    }
    world.has(CATALOG, listing, cache_control=NEVER_STALE)
    async with world.proxy() as proxy:
        answer = await catalog(proxy, CATALOG)
        assert (answer.get("discovery-overrides"), json.loads(answer.body)) == ("0;moved=0;gone=0", listing)
        await nothing_recorded(proxy)
        world.withdraws(CATALOG)
        assert (await catalog(proxy, CATALOG)).status == 410
        assert [row["url"] for row in await listed(proxy)] == [CATALOG]
        assert (await get(proxy, CARD)).status == 200
