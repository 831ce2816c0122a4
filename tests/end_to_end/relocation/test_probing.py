"""Asking the origins of what catalogs list: politely, once, bounded, and with nothing of a client's."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from urllib.parse import quote

import pytest

from tests.end_to_end.relocation.world import (
    ABROAD,
    CARD,
    CATALOG,
    CATALOG_TYPE,
    HOST,
    HTML,
    JSON,
    NEW,
    OTHER,
    SECOND_CATALOG,
    WWW,
    World,
    ai_catalog,
    ask,
    catalog,
    entry,
    get,
    gone,
    listed,
    moved,
    record_of,
    settled,
    urls_in,
    verdicts,
)
from tests.end_to_end.running import Reply, Running, Wire, request
from tests.end_to_end.site import Asked, Site, reply

LIVELY = (HOST, WWW, OTHER)
_CARD = b'{"name": "Agent", "url": "https://example.com/a2a"}'


class Busy:
    """Answers that take a moment; `most` is how many were under way at once, of each host."""

    def __init__(self, seconds: float = 0.02) -> None:
        self.most: Counter[str] = Counter()
        self._seconds = seconds
        self._now: Counter[str] = Counter()

    async def answer(self, asked: Asked) -> bytes:
        host = asked.fields.get("host") or ""
        self._now[host] += 1
        self.most[host] = max(self.most[host], self._now[host])
        await asyncio.sleep(self._seconds)
        self._now[host] -= 1
        return reply(_CARD, "max-age=60", JSON)


def many(host: str, count: int) -> list[str]:
    return [f"https://{host}/agents/{number}.json" for number in range(count)]


def listing(urls: list[str]) -> dict[str, object]:
    return ai_catalog(*(entry(url, f"n{number}") for number, url in enumerate(urls)))


async def test_what_probing_finds_out(world: World) -> None:
    answers = {name: f"https://{HOST}/{name}.json" for name in ("found", "moved", "gone", "page", "temporary")}
    failing = {status: f"https://{OTHER}/{status}.json" for status in (401, 404, 429, 500)}
    world.has(answers["found"])
    world.moves(answers["moved"], NEW)
    world.withdraws(answers["gone"])
    world.has(answers["page"], HTML, "text/html")
    world.answers(answers["temporary"], 302, ("Location", "/found.json"))
    for status, url in failing.items():
        world.answers(url, status)
    world.has(CATALOG, listing([*answers.values(), *failing.values()]), CATALOG_TYPE)
    async with world.proxy() as proxy:
        assert set(verdicts(await catalog(proxy, CATALOG, flags="&report=1")).values()) == {"unconfirmed"}
        assert world.all_asked == [CATALOG], "nobody is asked who need not be"
        told = verdicts(await catalog(proxy, CATALOG, flags="&report=1&probe=1"))
        assert told.pop(answers["moved"]) in ("pending", "superseded")
        assert told == {
            answers["found"]: "confirmed",
            answers["gone"]: "removed",
            answers["page"]: "unconfirmed",
            answers["temporary"]: "unconfirmed",
            **dict.fromkeys(failing.values(), "unconfirmed"),
        }
        await settled(proxy, answers["moved"], "moved")
        answer = await catalog(proxy, CATALOG)
        assert answer.get("discovery-overrides") == "2;moved=1;gone=1"
        assert {row["url"] for row in await listed(proxy)} == {answers["moved"], answers["gone"]}


async def test_at_most_two_at_once_and_one_name(world: World) -> None:
    busy = Busy()
    urls = [url for host in LIVELY for url in many(host, 12)]
    for url in urls:
        world.on(url, busy.answer)
    world.has(CATALOG, listing(urls), CATALOG_TYPE)
    private = ("Cookie: session=1", "Authorization: Bearer abcdefgh", "User-Agent: somebody/1", "X-Mine: 1")
    async with world.proxy() as proxy:
        answers = await asyncio.gather(
            *(catalog(proxy, CATALOG, *private, flags="&report=1&probe=1") for _ in range(4))
        )
        for answer in answers:
            assert set(verdicts(answer).values()) == {"confirmed"}
    asked = [asked for host in LIVELY for asked in world.sites[host].asked]
    assert len(asked) == len(urls), "each of them once, whoever wants to know"
    assert busy.most.keys() == set(LIVELY) and max(busy.most.values()) <= 2
    assert len({one.fields.get("user-agent") for one in asked}) == 1
    assert "discovery-proxy" in (asked[0].fields.get("user-agent") or "")
    for name in ("cookie", "authorization", "x-mine"):
        assert {one.fields.get(name) for one in asked} == {None}
    assert {one.method for one in asked} == {"GET"}


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_as_many_hosts_at_once_as_are_configured(world: World, concurrency: int) -> None:
    hosts_at_once: list[int] = []
    under_way: Counter[str] = Counter()

    async def answer(asked: Asked) -> bytes:
        host = asked.fields.get("host") or ""
        under_way[host] += 1
        hosts_at_once.append(sum(1 for count in under_way.values() if count))
        await asyncio.sleep(0.03)
        under_way[host] -= 1
        return reply(_CARD, "max-age=60", JSON)

    urls = [url for host in LIVELY for url in many(host, 4)]
    for url in urls:
        world.on(url, answer)
    world.has(CATALOG, listing(urls), CATALOG_TYPE)
    async with world.proxy(catalogs__probe_concurrency=concurrency) as proxy:
        await catalog(proxy, CATALOG, flags="&probe=1")
    assert max(hosts_at_once) == concurrency


async def test_fifty_thousand_urls_of_one_host(world: World) -> None:
    urls = many(HOST, 50_000)
    site = world.sites[HOST]
    for url in urls:
        world.on(url, lambda asked: reply(_CARD, "max-age=60", JSON))
    world.has(f"https://{OTHER}/other.json")
    world.has(CATALOG, listing([*urls[:-1], f"https://{OTHER}/other.json"]), CATALOG_TYPE)
    world.has(NEW)
    loop = asyncio.get_running_loop()
    async with world.proxy(upstream__total_timeout=5) as proxy:
        assert (await get(proxy, NEW)).status == 200
        site.asked.clear()
        began = loop.time()
        reading = loop.create_task(probed(proxy))
        slowest = 0.0
        while not reading.done():
            before = loop.time()
            assert (await get(proxy, NEW)).status == 200
            slowest = max(slowest, loop.time() - before)
            await asyncio.sleep(0.01)
        told = Counter(verdicts(await reading).values())
        assert loop.time() - began < 20
        assert len(site.asked) + len(world.sites[OTHER].asked) <= 200
        assert len(world.sites[OTHER].asked) == 1, "a long list leaves room for others"
        assert 100 < told["confirmed"] <= 200 and told["confirmed"] + told["unconfirmed"] == 50_000
        assert slowest < 2, "others are answered meanwhile"


async def probed(proxy: Running) -> Reply:
    async with Wire.open(proxy.port) as wire:
        await wire.send(request("GET", f"/v1/catalogs?url={quote(CATALOG, safe='')}&report=1&probe=1"))
        async with asyncio.timeout(25):
            head = await wire.head()
            body = await wire.reader.readexactly(int(head.get("content-length") or 0))
    return Reply(head.status, head.lines, body, True)


async def test_an_origin_that_hangs_holds_up_nobody_else(world: World) -> None:
    never = asyncio.Event()

    async def hanging(asked: Asked) -> bytes:
        await never.wait()
        return b""

    for url in many(HOST, 10):
        world.on(url, hanging)
    world.has(f"https://{OTHER}/fine.json")
    world.has(CATALOG, listing([*many(HOST, 10), f"https://{OTHER}/fine.json"]), CATALOG_TYPE)
    # Each takes as long as an origin is waited for.
    async with world.proxy(upstream__total_timeout=0.2) as proxy:
        told = verdicts(await catalog(proxy, CATALOG, flags="&report=1&probe=1"))
        assert told.pop(f"https://{OTHER}/fine.json") == "confirmed"
        assert set(told.values()) == {"unconfirmed"}
        assert await listed(proxy) == []


async def test_what_may_not_be_asked_is_neither_asked_nor_removed(world: World) -> None:
    async with Site(world.authority.server("127.0.0.1")) as inside:
        inside.on("/x", lambda asked: reply(b"", "max-age=60", status=410))
        urls = [
            f"https://127.0.0.1:{inside.port}/x",
            f"http://127.0.0.1:{inside.port}/x",
            f"https://localhost:{inside.port}/x",
            f"https://me:hunter22@{HOST}/x",
            f"http://{HOST}/x",
            "javascript:alert(1)",
            "https://169.254.169.254/latest/meta-data",
            "https://10.0.0.5/x",
            f"https://{HOST}/x?access_token=s3cr3t-0123456789abcdef",
            "https:///x",
            f"wss://{HOST}/x",
        ]
        body = world.has(CATALOG, listing(urls), CATALOG_TYPE)
        async with world.proxy() as proxy:
            answer = await catalog(proxy, CATALOG, flags="&probe=1")
            assert (answer.body, answer.get("discovery-overrides")) == (body, "0;moved=0;gone=0")
            answer = await catalog(proxy, CATALOG, flags="&report=1&probe=1")
            assert {row["verdict"] for row in json.loads(answer.body)["entries"]} == {"unconfirmed"}
            assert b"hunter22" not in answer.body and b"s3cr3t" not in answer.body
            assert inside.asked == [] and world.all_asked == [CATALOG]
            assert await listed(proxy) == []


async def test_what_was_learnt_by_probing_is_recorded_before_it_is_told(world: World) -> None:
    world.withdraws(CARD)
    world.has(CATALOG, listing([CARD]), CATALOG_TYPE)
    async with world.proxy(**world.on_disk) as proxy:
        world.ledger_file.rename(world.ledger_file.with_name("elsewhere"))
        answer = await catalog(proxy, CATALOG, flags="&probe=1")
        assert (answer.status, answer.slug) == (503, "internal")
        world.ledger_file.with_name("elsewhere").rename(world.ledger_file)


async def merge(proxy: Running, *urls: str) -> Reply:
    return await ask(proxy, "/v1/merge?" + "&".join(f"url={quote(url, safe='')}" for url in urls))


async def test_ov_8_the_origins_decide_between_two_catalogs(world: World) -> None:
    stale, true = f"https://{HOST}/stale.json", f"https://{HOST}/true.json"
    claims = entry(CARD, "moved"), entry(stale, "disputed"), entry(ABROAD, "only")
    world.has(CATALOG, ai_catalog(*claims), CATALOG_TYPE)
    world.has(SECOND_CATALOG, ai_catalog(entry(NEW, "moved"), entry(true, "disputed")), CATALOG_TYPE)
    world.withdraws(stale)
    world.has(true)
    async with world.proxy() as proxy:
        await moved(world, proxy)
        answer = await merge(proxy, CATALOG, SECOND_CATALOG)
        told = json.loads(answer.body)
        rows = {row["subject"].rpartition(":")[2]: row for row in told["entries"]}
        assert {name: (row["final_url"], row["verdict"]) for name, row in rows.items()} == {
            "moved": (NEW, "confirmed"),
            "disputed": (true, "confirmed"),
            "only": (ABROAD, "unconfirmed"),
        }
        assert rows["moved"]["sources"] == [CATALOG, SECOND_CATALOG]
        assert (rows["disputed"]["sources"], rows["only"]["sources"]) == ([SECOND_CATALOG], [CATALOG])
        assert [(row["url"], row["verdict"]) for row in told["overruled"]] == [(stale, "removed")]
        assert not any("conflict" in row for row in told["entries"])
        assert world.asked(ABROAD) == [], "nobody is asked whom no two disagree about"
        record = await record_of(proxy, stale)
        assert record is not None and record["state"] == "gone", "what the origin said meanwhile is recorded"
        assert (await merge(proxy, SECOND_CATALOG, CATALOG)).status == 200


async def test_ov_8_both_stay_while_the_origin_is_down(world: World) -> None:
    one, two = f"https://{HOST}/one.json", f"https://{HOST}/two.json"
    world.has(CATALOG, ai_catalog(entry(one, "disputed")), CATALOG_TYPE)
    world.has(SECOND_CATALOG, ai_catalog(entry(two, "disputed")), CATALOG_TYPE)
    await world.sites[HOST].down()
    async with world.proxy() as proxy:
        told = json.loads((await merge(proxy, CATALOG, SECOND_CATALOG)).body)
        assert {(row["url"], row["verdict"], row["conflict"]) for row in told["entries"]} == {
            (one, "unconfirmed", True),
            (two, "unconfirmed", True),
        }
        assert await listed(proxy) == []


async def test_a_merge_with_one_that_cannot_be_read(world: World) -> None:
    world.has(CATALOG, ai_catalog(entry(CARD, "card")), CATALOG_TYPE)
    world.has(SECOND_CATALOG, HTML, "text/html")
    async with world.proxy() as proxy:
        await gone(world, proxy)
        told = json.loads((await merge(proxy, CATALOG, SECOND_CATALOG)).body)
        assert [(one["catalog"], one["reason"]) for one in told["unread"]] == [(SECOND_CATALOG, "not-a-document")]
        assert [(row["url"], row["verdict"]) for row in told["entries"]] == [(CARD, "removed")]
        world.has(CATALOG, HTML, "text/html")
        await proxy.purge()
        answer = await merge(proxy, CATALOG, SECOND_CATALOG)
        assert (answer.status, answer.slug) == (502, "not-a-document")
        for urls in ((CATALOG,), (CATALOG, CATALOG), (CATALOG,) * 9):
            assert (await merge(proxy, *urls)).slug == "bad-request"


async def test_a_catalog_that_another_lists_stays_as_it_is(world: World) -> None:
    """An entry that is a catalog itself is an entry like another: it is not gone into."""
    world.has(CATALOG, ai_catalog(entry(SECOND_CATALOG, "more", type=CATALOG_TYPE)), CATALOG_TYPE)
    async with world.proxy() as proxy:
        await gone(world, proxy, SECOND_CATALOG)
        answer = await catalog(proxy, CATALOG)
        assert (urls_in(answer), answer.get("discovery-overrides")) == ([], "1;moved=0;gone=1")
