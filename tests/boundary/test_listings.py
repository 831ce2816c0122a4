"""Which hosts are listed, and by what: manifests through the cache, each copy parsed once; outages open nothing."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from proxy.capability.covering import RouteIndex
from proxy.engine.boundary import listings
from tests.boundary.test_data_path import KEY, MANIFEST, ORDERS, manifest, post
from tests.end_to_end.relocation.world import HOST, OTHER, World, ask, get
from tests.end_to_end.site import Asked

AT_OTHER: Final = f"https://{OTHER}/.well-known/uaix-agent-access.json"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path) as world:
        world.has(MANIFEST, manifest())
        world.answers(ORDERS, 200, cache_control=None)
        world.answers(f"https://{OTHER}/orders", 200, cache_control=None)
        yield world


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many routes each index had that was made."""
    made: list[int] = []

    def index(routes: Any, fold: Any = None) -> RouteIndex:
        routes = list(routes)
        made.append(len(routes))
        return RouteIndex(routes, fold)

    monkeypatch.setattr(listings, "RouteIndex", index)
    yield made


async def test_a_copy_is_parsed_once(world: World, built: list[int]) -> None:
    async with world.proxy() as proxy:
        for number in range(5):
            assert (await post(proxy, f"{ORDERS}/{number}", KEY)).status == 403
            await get(proxy, f"https://{HOST}/about.html")
        assert built == [5]
        assert len(world.asked(MANIFEST)) == 1


async def test_a_new_edition_counts(world: World) -> None:
    """What the next answer of the origin says holds from then on."""
    world.has(MANIFEST, {**manifest(), "routes": []}, cache_control="max-age=0")
    async with world.proxy() as proxy:
        held = await post(proxy, ORDERS, KEY, "Accept: application/problem+json")
        assert json.loads(held.body)["rule"] == "D3"
        world.has(MANIFEST, manifest(), cache_control="max-age=0")
        held = await post(proxy, f"{ORDERS}?x", KEY, "Accept: application/problem+json")
        assert json.loads(held.body)["rule"] == "D2"
        world.answers(MANIFEST, 404, cache_control=None)
        other = await post(proxy, f"https://{HOST}/others", KEY)
        assert other.status == 404  # not listed any more: it is passed on


async def test_an_outage_opens_nothing(world: World) -> None:
    world.has(MANIFEST, manifest(), cache_control="max-age=0, must-revalidate")
    async with world.proxy() as proxy:
        assert (await post(proxy, ORDERS, KEY)).status == 403
        world.answers(MANIFEST, 503, cache_control=None)
        assert (await post(proxy, f"https://{HOST}/pay", KEY)).status == 403
        assert world.asked(f"https://{HOST}/pay") == []


async def test_a_manifest_that_never_comes_holds_nobody_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "_PATIENCE", 0.1)

    async def never(asked: Asked) -> bytes:
        await asyncio.sleep(30)
        return b""

    world.on(AT_OTHER, never)
    async with world.proxy(upstream__total_timeout=20) as proxy:
        for _ in range(2):
            assert (await post(proxy, f"https://{OTHER}/orders")).status == 200
        assert len(world.asked(AT_OTHER)) == 1


ODD: Final[dict[str, tuple[int, bytes]]] = {
    "refused": (403, b""),
    "too many": (429, b""),
    "a page": (200, b"<html>"),
    "another schema": (200, b'{"profileId": "x.v9"}'),
    "another host": (200, json.dumps(manifest("elsewhere.example.org")).encode()),
}


@pytest.mark.parametrize(("status", "body"), ODD.values(), ids=ODD)
async def test_only_the_origin_s_own_word_ends_a_listing(world: World, status: int, body: bytes) -> None:
    """What else is there in place of the manifest opens nothing."""
    world.has(MANIFEST, manifest(), cache_control="max-age=0")
    async with world.proxy() as proxy:
        assert (await post(proxy, f"https://{HOST}/a", KEY)).status == 403
        world.answers(MANIFEST, status, ("Content-Type", "application/json"), body=body, cache_control=None)
        assert [(await post(proxy, f"https://{HOST}/{n}", KEY)).status for n in range(3)] == [403, 403, 403]
        assert (await get(proxy, f"https://{HOST}/start")).status == 403


async def test_a_flaw_of_a_route_does_not_open_it(world: World) -> None:
    route = {"method": "GET", "highestSupportedPath": "/start", "sideEffecting": True}
    routes = [{**route, "humanReviewUrl": "http://x.example.org/"}]
    world.has(MANIFEST, {**manifest(), "routes": routes})
    async with world.proxy() as proxy:
        await get(proxy, MANIFEST)
        assert (await get(proxy, f"https://{HOST}/start")).status == 403


UNUSABLE: dict[str, object] = {
    "not JSON": b"<html>",
    "a list": [],
    "another profile": {**manifest(), "profileId": "x.v9"},
    "another host": manifest("elsewhere.example.org"),
    "no routes": {name: value for name, value in manifest().items() if name != "routes"},
    "not public": {**manifest(), "site": {"url": "https://localhost/"}},
}


@pytest.mark.parametrize("document", UNUSABLE.values(), ids=UNUSABLE)
async def test_what_is_no_valid_manifest(world: World, document: object) -> None:
    """D3: such a host counts as unlisted, and works."""
    world.has(MANIFEST, document)
    async with world.proxy() as proxy:
        assert (await post(proxy, ORDERS)).status == 200


async def test_a_coded_manifest(world: World) -> None:
    body = gzip.compress(json.dumps(manifest()).encode())
    fields = (("Content-Type", "application/json"), ("Content-Encoding", "gzip"))
    world.answers(MANIFEST, 200, *fields, body=body)
    async with world.proxy() as proxy:
        assert (await post(proxy, ORDERS, KEY)).status == 403


async def test_plain_http_is_no_way_around(world: World) -> None:
    async with world.proxy() as proxy:
        held = await post(proxy, f"http://{HOST}/orders", KEY)
        assert held.status == 403
        again = await post(proxy, ORDERS, KEY)
        assert "no-op-D2" in (again.get("cache-status") or "")


async def test_reads_ask_for_nothing(world: World) -> None:
    """A read of an ordinary page causes no request of the proxy's own."""
    world.has(f"https://{OTHER}/page", b"<p>hello", "text/html")
    async with world.proxy() as proxy:
        assert (await get(proxy, f"https://{OTHER}/page")).status == 200
        assert world.asked(AT_OTHER) == []


async def test_many_routes(world: World) -> None:
    """What lies beyond the routes that are read has no record, and is held."""
    routes = [{"method": "POST", "highestSupportedPath": f"/r/{number}/{{id}}"} for number in range(10_000)]
    world.has(MANIFEST, {**manifest(), "routes": routes})
    async with world.proxy() as proxy:
        for path in ("/r/1/x", "/r/9999/x"):
            assert (await post(proxy, f"https://{HOST}{path}", KEY)).status == 403


async def test_a_host_by_address(world: World) -> None:
    """Nothing without a public name is asked for a manifest."""
    async with world.proxy() as proxy:
        answer = await ask(proxy, "/https/127.0.0.1:1/x", method="POST", body=b"{}")
        assert answer.status == 504
