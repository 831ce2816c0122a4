"""What an origin says for good: recorded before it is passed on, then answered in its place, in every form."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import urljoin

import pytest

from tests.end_to_end.relocation.world import (
    AN_HOUR,
    CARD,
    HOST,
    JSON,
    NEVER_STALE,
    NEW,
    WWW,
    World,
    ask,
    gateway,
    get,
    gone,
    moved,
    record_of,
    settled,
)
from tests.end_to_end.running import Reply, Running
from tests.end_to_end.site import Asked, reply

AGENTS = "agents.corp.example"
SITES = [{"hosts": [AGENTS], "origin": f"https://{HOST}"}]
CARD_AT, NEW_AT = (url.removeprefix(f"https://{HOST}") for url in (CARD, NEW))
CARD_NOW = reply(b'{"name": "Agent", "url": "https://example.com/a2a"}', NEVER_STALE, JSON)
CARD_REPLY = reply(b'{"name": "Agent", "url": "https://example.com/a2a"}', AN_HOUR, JSON)
# How the card is asked for, with what Host, its URL as the client has it, and where the client is led to.
FORMS = {
    "gateway": (gateway(CARD), "Host: proxy", f"http://proxy{gateway(CARD)}", f"http://proxy{gateway(NEW)}"),
    "forward": (CARD, f"Host: {HOST}", CARD, NEW),
    "site": (CARD_AT, f"Host: {AGENTS}", f"http://{AGENTS}{CARD_AT}", f"http://{AGENTS}{NEW_AT}"),
    "site, absolute": (
        f"http://{AGENTS}{CARD_AT}",
        f"Host: {AGENTS}",
        f"http://{AGENTS}{CARD_AT}",
        f"http://{AGENTS}{NEW_AT}",
    ),
}
in_each_form = pytest.mark.parametrize(("request_target", "host", "base", "place"), FORMS.values(), ids=FORMS)


@in_each_form
async def test_308_from_the_record(world: World, request_target: str, host: str, base: str, place: str) -> None:
    async with world.proxy(sites=SITES) as proxy:
        await moved(world, proxy)
        answer = await ask(proxy, request_target, host)
        assert (answer.status, urljoin(base, answer.get("location")), answer.body) == (308, place, b"")
        assert (answer.get("cache-status") or "").endswith("detail=moved")
        lifetime = int((answer.get("cache-control") or "").removeprefix("max-age="))
        assert 3500 < lifetime <= 3600
        assert world.all_asked == []


@in_each_form
async def test_recorded_before_it_is_passed_on(
    world: World, request_target: str, host: str, base: str, place: str
) -> None:
    gate = asyncio.Event()

    async def late(asked: Asked) -> bytes:
        await gate.wait()
        return CARD_REPLY

    world.answers(CARD, 308, ("Location", NEW_AT))
    world.on(NEW, late)
    async with world.proxy(sites=SITES, upstream__total_timeout=5) as proxy:
        first = await ask(proxy, request_target, host)
        assert (first.status, urljoin(base, first.get("location"))) == (308, place)
        record = await record_of(proxy, CARD)
        assert record is not None and (record["state"], record["target"]) == ("pending", NEW)
        again = await ask(proxy, request_target, host)
        assert "detail=moved" not in (again.get("cache-status") or ""), "not before a document is there"
        gate.set()
        record = await settled(proxy, CARD, "moved")
        assert record is not None and record["evidence"]["proof"] == "same-site"


async def test_a_move_to_another_host_leads_there_in_every_form(world: World) -> None:
    elsewhere = f"https://{WWW}/card.json"
    async with world.proxy(sites=SITES) as proxy:
        await moved(world, proxy, CARD, elsewhere)
        for form, (request_target, host, _, _) in FORMS.items():
            answer = await ask(proxy, request_target, host)
            assert answer.get("location") == (gateway(elsewhere) if form == "gateway" else elsewhere)
        assert world.all_asked == []


@in_each_form
async def test_a_path_that_looks_like_a_host_is_none(
    world: World, request_target: str, host: str, base: str, place: str
) -> None:
    new = f"https://{HOST}//evil.example/card.json"
    async with world.proxy(sites=SITES) as proxy:
        await moved(world, proxy, CARD, new)
        answer = await ask(proxy, request_target, host)
        assert answer.status == 308
        own = place.removesuffix(NEW_AT) + "//evil.example/card.json"
        assert urljoin(base, answer.get("location")) in (own, new), "nowhere near evil.example"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
async def test_method_and_body_are_kept(world: World, method: str) -> None:
    body = b"" if method in ("HEAD", "OPTIONS") else b'{"jsonrpc": "2.0"}'
    async with world.proxy() as proxy:
        await moved(world, proxy)
        world.on(NEW, lambda asked: reply(b"", "no-store", ("X-Asked", f"{asked.method} {asked.body.decode()}")))
        first = await ask(proxy, gateway(CARD), method=method, body=body)
        assert (first.status, first.get("location"), world.all_asked) == (308, gateway(NEW), [])
        # What a client does then by RFC 9110 §15.4.9: the same request to the new place.
        second = await ask(proxy, first.get("location") or "", method=method, body=body)
        assert second.status == 200
        if method != "HEAD":
            assert second.get("x-asked") == f"{method} {body.decode()}".strip()


async def test_410_from_the_record(world: World) -> None:
    successor = f"https://{HOST}/successor.json"
    problem = json.dumps({"code": 410, "url": "/successor.json"}).encode()
    world.withdraws(CARD, JSON, body=problem)
    async with world.proxy(sites=SITES) as proxy:
        first = await get(proxy, CARD)
        assert (first.status, first.body) == (410, problem), "the origin's own answer"
        world.forget()
        for request_target, host, _, _ in FORMS.values():
            answer = await ask(proxy, request_target, host)
            told = json.loads(answer.body)
            assert (answer.slug, told["status"], told["successor"]) == ("gone", 410, successor)
            assert told["since"] <= told["checked"] and told["since"].endswith("Z")
        for method in ("HEAD", "POST", "DELETE"):
            assert (await get(proxy, CARD, method=method)).status == 410
        assert world.all_asked == [], "OV-7: the successor is offered, and not followed"


SPELLINGS = {
    "percent-encoded": gateway(CARD).replace("agent-card", "%61gent-card"),
    "lower-case percent": gateway(CARD).replace("agent-card", "agent%2dcard"),
    "host in capitals": gateway(CARD).replace(HOST, HOST.upper()),
    "default port": gateway(CARD).replace(HOST, f"{HOST}:443"),
}


@pytest.mark.parametrize("request_target", SPELLINGS.values(), ids=SPELLINGS)
async def test_another_spelling_of_a_recorded_url(world: World, request_target: str) -> None:
    async with world.proxy() as proxy:
        await gone(world, proxy)
        assert ((await ask(proxy, request_target)).status, world.all_asked) == (410, [])


async def test_another_url_is_not_meant(world: World) -> None:
    world.has(f"{CARD}?tenant=b")
    async with world.proxy() as proxy:
        await gone(world, proxy)
        assert (await get(proxy, f"{CARD}?tenant=b")).status == 200


async def test_who_insists_on_the_origin_hears_it(world: World) -> None:
    async with world.proxy() as proxy:
        await moved(world, proxy)
        answer = await get(proxy, CARD, "Cache-Control: no-cache")
        assert (answer.status, len(world.asked(CARD))) == (308, 1)
        await gone(world, proxy, f"https://{HOST}/gone.json")
        assert (await get(proxy, f"https://{HOST}/gone.json", "Cache-Control: no-cache")).status == 410


async def asks_at_once(proxy: Running, count: int) -> list[Reply]:
    return await asyncio.gather(*(get(proxy, CARD) for _ in range(count)))


@pytest.mark.parametrize("status", [308, 410])
async def test_many_at_once_are_all_answered_and_one_record_is_made(world: World, status: int) -> None:
    async def answer(asked: Asked) -> bytes:
        await asyncio.sleep(0.05)
        return reply(b"", AN_HOUR, ("Location", NEW), status=status)

    world.has(NEW)
    world.on(CARD, answer)
    async with world.proxy() as proxy:
        assert {reply.status for reply in await asks_at_once(proxy, 50)} == {status}
        await settled(proxy, CARD, "moved" if status == 308 else "gone")
        assert len(world.asked(CARD)) <= 3
