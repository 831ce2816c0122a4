"""Catalogs of others, read from their own hosts, with what the origins of the listed URLs have said applied."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.end_to_end.relocation.world import (
    ABROAD,
    CARD,
    CATALOG,
    CATALOG_TYPE,
    HOST,
    HTML,
    NEVER_STALE,
    NEW,
    OTHER,
    REGISTRY,
    SECOND_CATALOG,
    World,
    ai_catalog,
    ask,
    catalog,
    entry,
    get,
    gone,
    id_of,
    listed,
    moved,
    settled,
    urls_in,
    verdicts,
)
from tests.end_to_end.running import Running
from tests.end_to_end.site import Asked, Site, reply
from tests.simulators.registry import Registry, name_of, url_of

KEPT = f"https://{HOST}/kept.json"
WITHDRAWN = f"https://{OTHER}/withdrawn.json"
LISTED = ai_catalog(
    entry(CARD, "card", tags=["a", "b"]),
    entry(WITHDRAWN, "withdrawn"),
    entry(KEPT, "kept", metadata={"weight": 1.10, "größe": 2**70}),
    host={"displayName": "Registry", "identifier": "did:web:registry.example.org"},
)
APPLIED = ai_catalog(
    entry(NEW, "card", tags=["a", "b"]),
    entry(KEPT, "kept", metadata={"weight": 1.10, "größe": 2**70}),
    host={"displayName": "Registry", "identifier": "did:web:registry.example.org"},
)


async def both_said(world: World, proxy: Running) -> None:
    """One origin has moved its card, another has withdrawn its."""
    await moved(world, proxy)
    await gone(world, proxy, WITHDRAWN)


def octets(document: object) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


async def test_moved_is_replaced_and_gone_is_removed(world: World) -> None:
    world.has(CATALOG, octets(LISTED), f"{CATALOG_TYPE}; charset=utf-8")
    async with world.proxy() as proxy:
        await both_said(world, proxy)
        answer = await catalog(proxy, CATALOG)
        assert (answer.status, answer.get("discovery-overrides")) == (200, "2;moved=1;gone=1")
        assert (answer.get("content-type") or "").partition(";")[0] == CATALOG_TYPE
        assert json.loads(answer.body) == APPLIED
        assert "größe".encode() in answer.body and str(2**70).encode() in answer.body and b"1.1" in answer.body
        assert world.all_asked == [CATALOG], "a catalog brings about no request to those it lists"
        assert (answer.get("cache-control"), answer.get("access-control-allow-origin")) == ("no-cache", "*")
        assert "fwd=uri-miss" in (answer.get("cache-status") or "")
        again = await catalog(proxy, CATALOG)
        assert again.body == answer.body and "hit" in (again.get("cache-status") or "")


async def test_an_untouched_catalog_is_passed_on_as_it_is(world: World) -> None:
    body = world.has(CATALOG, octets(LISTED), CATALOG_TYPE)
    async with world.proxy() as proxy:
        answer = await catalog(proxy, CATALOG)
        assert (answer.body, answer.get("discovery-overrides")) == (body, "0;moved=0;gone=0")


async def test_conditions_and_head(world: World) -> None:
    world.has(CATALOG, LISTED, CATALOG_TYPE)
    async with world.proxy() as proxy:
        first = await catalog(proxy, CATALOG)
        etag = f"If-None-Match: {first.get('etag')}"
        same = await catalog(proxy, CATALOG, etag)
        assert (same.status, same.body, same.get("etag")) == (304, b"", first.get("etag"))
        await both_said(world, proxy)
        after = await catalog(proxy, CATALOG, etag)
        assert after.status == 200 and after.get("etag") != first.get("etag"), "the catalog is the same, and not"
        head = await catalog(proxy, CATALOG, method="HEAD")
        assert (head.status, head.get("etag"), head.get("discovery-overrides")) == (
            200,
            after.get("etag"),
            "2;moved=1;gone=1",
        )
        assert head.get("content-length") == str(len(after.body))


MCP = {"type": "streamable-http", "url": CARD}
KINDS: dict[str, tuple[Any, str, Any]] = {
    "linkset": (
        {"linkset": [{"anchor": KEPT, "item": [{"href": CARD}, {"href": WITHDRAWN}, {"href": KEPT}]}]},
        "application/linkset+json",
        {"linkset": [{"anchor": KEPT, "item": [{"href": NEW}, {"href": KEPT}]}]},
    ),
    "MCP registry": (
        {
            "servers": [
                {"server": {"name": "com.example/a", "remotes": [MCP, {**MCP, "url": WITHDRAWN}]}},
                {"server": {"name": "com.example/b", "remotes": [{**MCP, "url": WITHDRAWN}]}},
            ],
            "metadata": {"count": 2, "nextCursor": "b"},
        },
        "application/json",
        {
            "servers": [{"server": {"name": "com.example/a", "remotes": [{**MCP, "url": NEW}]}}],
            "metadata": {"count": 2, "nextCursor": "b"},
        },
    ),
    "cards": (
        {"agents": [{"name": "A", "url": CARD}, {"name": "B", "url": WITHDRAWN}]},
        "application/json",
        {"agents": [{"name": "A", "url": NEW}]},
    ),
    "ARD 0.91": (
        {"@context": "https://ard.example/v0.91", "entries": [entry(CARD, "a"), entry(WITHDRAWN, "b")]},
        "application/ai-catalog+json",
        {"@context": "https://ard.example/v0.91", "entries": [entry(NEW, "a")]},
    ),
    "nested": (
        ai_catalog({"identifier": "urn:air:example.com:n", "type": CATALOG_TYPE, "data": LISTED}),
        CATALOG_TYPE,
        ai_catalog({"identifier": "urn:air:example.com:n", "type": CATALOG_TYPE, "data": APPLIED}),
    ),
}


@pytest.mark.parametrize(("document", "media_type", "expected"), KINDS.values(), ids=KINDS)
async def test_every_kind_in_its_own_form(world: World, document: Any, media_type: str, expected: Any) -> None:
    world.has(CATALOG, document, media_type)
    async with world.proxy() as proxy:
        await both_said(world, proxy)
        answer = await catalog(proxy, CATALOG)
        assert (answer.status, answer.get("content-type"), json.loads(answer.body)) == (200, media_type, expected)


async def test_a_signed_catalog_is_never_edited(world: World) -> None:
    signed = {**LISTED, "signature": {"signer": "did:web:registry.example.org", "jws": "eyJ..sig"}}
    world.has(CATALOG, signed, CATALOG_TYPE)
    async with world.proxy() as proxy:
        await both_said(world, proxy)
        for flags in ("", "&report=1"):
            answer = await catalog(proxy, CATALOG, flags=flags)
            told = json.loads(answer.body)
            assert (answer.get("content-type"), told["signed"], told["catalog"]) == (
                "application/json",
                True,
                CATALOG,
            )
            assert "signed" in told["note"]
            assert verdicts(answer) == {CARD: "superseded", WITHDRAWN: "removed", KEPT: "unconfirmed"}
            assert answer.get("discovery-overrides") == "2;moved=1;gone=1"


async def test_the_report(world: World) -> None:
    world.has(CATALOG, LISTED, CATALOG_TYPE)
    world.has(KEPT)
    world.moves(f"https://{HOST}/pending.json", ABROAD)
    pending = f"https://{HOST}/pending.json"
    world.has(CATALOG, {**LISTED, "entries": [*LISTED["entries"], entry(pending, "pending")]}, CATALOG_TYPE)
    async with world.proxy() as proxy:
        await both_said(world, proxy)
        await get(proxy, pending)
        await settled(proxy, pending, "pending")
        assert (await get(proxy, KEPT)).status == 200
        rows = {
            row["url"]: row
            for row in json.loads((await catalog(proxy, CATALOG, flags="&report=1")).body)["entries"]
        }
        assert {url: (row["verdict"], row["final_url"]) for url, row in rows.items()} == {
            CARD: ("superseded", NEW),
            WITHDRAWN: ("removed", None),
            KEPT: ("confirmed", KEPT),
            pending: ("pending", pending),
        }
        assert rows[CARD]["evidence"]["records"] == [id_of(CARD)] and rows[CARD]["evidence"]["source"] == "record"
        assert (rows[WITHDRAWN]["evidence"]["status"], rows[KEPT]["evidence"]["source"]) == (410, "cache")
        plain = await catalog(proxy, CATALOG)
        assert urls_in(plain) == [NEW, KEPT, pending], "a pending one is kept"


async def test_ov_6_a_tombstone_outlives_every_catalog_that_lists_it_again(world: World) -> None:
    """A registry that is never cached, is changed all the time and calls it active each time."""

    def relisting(asked: Asked) -> bytes:
        document = {**LISTED, "updatedAt": f"2026-11-30T00:{asked.number:02}:00Z"}
        return reply(json.dumps(document).encode(), "no-store", ("Content-Type", CATALOG_TYPE))

    world.on(CATALOG, relisting)
    async with world.proxy() as proxy:
        await both_said(world, proxy)
        for number in range(1, 21):
            answer = await catalog(proxy, CATALOG)
            assert (urls_in(answer), answer.get("discovery-overrides")) == ([NEW, KEPT], "2;moved=1;gone=1")
            assert f"00:{number:02}:00Z".encode() in answer.body
        assert world.all_asked == [CATALOG] * 20
        assert (await get(proxy, WITHDRAWN)).status == 410


async def test_a_catalog_behind_a_308(world: World) -> None:
    """Relative references are of the place where it was found; its own move is recorded as any other."""
    relative = ai_catalog(entry("listed.json", "listed"))
    place = f"https://{REGISTRY}/now/here/catalog.json"
    world.moves(CATALOG, place)
    world.has(place, relative, CATALOG_TYPE)
    async with world.proxy() as proxy:
        await gone(world, proxy, f"https://{REGISTRY}/now/here/listed.json")
        for _ in range(2):
            answer = await catalog(proxy, CATALOG)
            assert (answer.status, urls_in(answer), answer.get("discovery-overrides")) == (
                200,
                [],
                "1;moved=0;gone=1",
            )
        await settled(proxy, CATALOG, "moved")
        assert len(world.asked(CATALOG)) <= 2
        answer = await catalog(proxy, CATALOG)
        assert urls_in(answer) == []


async def test_a_catalog_that_is_gone(world: World) -> None:
    world.withdraws(CATALOG)
    async with world.proxy() as proxy:
        for _ in range(2):
            answer = await catalog(proxy, CATALOG)
            assert (answer.status, answer.slug) == (410, "gone")


NO_CATALOGS: dict[str, tuple[bytes, str]] = {
    "HTML": (HTML, "text/html"),
    "HTML that says it is JSON": (HTML, "application/json"),
    "nothing": (b"", "application/json"),
    "a card": (b'{"name": "Agent", "url": "https://example.com/a2a"}', "application/json"),
    "a name twice": (b'{"entries": [], "entries": []}', CATALOG_TYPE),
    "a list of numbers": (b"[1, 2, 3]", "application/json"),
    "cut short": (b'{"entries": [{"url": "https://exa', CATALOG_TYPE),
    "no UTF-8": (b'{"entries": ["\xff"]}', CATALOG_TYPE),
    "deep": (b'{"entries":' + b"[" * 100_000 + b"]" * 100_000 + b"}", CATALOG_TYPE),
}


@pytest.mark.parametrize(("body", "media_type"), NO_CATALOGS.values(), ids=NO_CATALOGS)
async def test_what_is_no_catalog(world: World, body: bytes, media_type: str) -> None:
    world.has(CATALOG, body, media_type)
    async with world.proxy() as proxy:
        for flags in ("", "&report=1", "&probe=1"):
            answer = await catalog(proxy, CATALOG, flags=flags)
            assert (answer.status, answer.slug) == (502, "not-a-document")
            assert "AI Catalogs" in json.loads(answer.body)["expected"]


async def test_an_origin_of_catalogs_that_is_down(world: World) -> None:
    await world.sites[REGISTRY].down()
    async with world.proxy() as proxy:
        answer = await catalog(proxy, CATALOG)
        assert (answer.status, answer.slug) == (504, "origin-unreachable")
        assert json.loads(answer.body)["attempts"][0]["url"] == CATALOG


@pytest.mark.parametrize("status", [401, 404, 429, 500, 503])
async def test_a_catalog_that_is_not_to_be_had(world: World, status: int) -> None:
    world.answers(CATALOG, status, cache_control="no-store")
    async with world.proxy() as proxy:
        answer = await catalog(proxy, CATALOG)
        assert answer.status in (404, 502, 503, 504) and answer.slug is not None
        assert str(status).encode() in answer.body


async def test_a_stale_catalog_while_its_origin_is_down_is_overruled_too(world: World) -> None:
    world.has(CATALOG, LISTED, CATALOG_TYPE, "max-age=0, stale-if-error=600")
    async with world.proxy() as proxy:
        await both_said(world, proxy)
        assert urls_in(await catalog(proxy, CATALOG)) == [NEW, KEPT]
        await world.sites[REGISTRY].down()
        answer = await catalog(proxy, CATALOG)
        assert (answer.status, urls_in(answer)) == (200, [NEW, KEPT])


BAD_QUESTIONS = {
    "no url": "",
    "two urls": f"url={quote(CATALOG)}&url={quote(SECOND_CATALOG)}",
    "unknown parameter": f"url={quote(CATALOG)}&limit=5",
    "a flag twice": f"url={quote(CATALOG)}&report=1&report=0",
    "a flag that is none": f"url={quote(CATALOG)}&report=yes",
    "plain http": f"url=http://{REGISTRY}/catalog.json",
    "userinfo": f"url=https://me:hunter22@{REGISTRY}/catalog.json",
    "no URL": "url=catalog.json",
    "javascript": "url=javascript:alert(1)",
}


@pytest.mark.parametrize("query", BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
async def test_a_bad_question(world: World, query: str) -> None:
    async with world.proxy() as proxy:
        answer = await ask(proxy, f"/v1/catalogs?{query}")
        # A URL with a secret is refused before it is looked at (CONTRACT §8).
        is_rejected = b'"code": "rejected"' in answer.body
        assert answer.status == 400 and (is_rejected or answer.slug in ("bad-request", "bad-target"))
        assert b"hunter22" not in answer.body and world.all_asked == []


async def test_the_proxy_itself_is_no_catalog(world: World) -> None:
    async with world.proxy() as proxy:
        answer = await catalog(proxy, f"https://127.0.0.1:{proxy.port}/v1/catalogs")
        assert (answer.status, answer.slug) == (403, "egress-denied")


async def test_a_secret_in_the_url_of_a_catalog_is_refused_and_not_told(
    world: World, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    secret = "s3cr3t-0123456789abcdef"
    url = f"{CATALOG}?access_token={secret}"
    world.has(url, LISTED, CATALOG_TYPE)
    async with world.proxy() as proxy:
        answer = await catalog(proxy, url, flags="&report=1")
        assert answer.status == 400 and secret.encode() not in answer.body
        assert world.all_asked == []
        merge = f"/v1/merge?url={quote(url, safe='')}&url={quote(SECOND_CATALOG, safe='')}"
        assert secret.encode() not in (await ask(proxy, merge)).body
    assert secret not in capsys.readouterr().out + caplog.text


async def test_all_pages_of_a_registry_and_one_of_them(world: World) -> None:
    registry = Registry(350)
    site = world.sites[REGISTRY]
    first = f"https://{REGISTRY}/v0.1/servers?limit=100"

    def page(asked: Asked) -> bytes:
        body = json.dumps(registry.page(asked.path.partition("?")[2])).encode()
        return reply(body, "max-age=300", ("Content-Type", "application/json"))

    for cursor in ("", "&cursor=from%3A100", "&cursor=from%3A200", "&cursor=from%3A300"):
        world.on(first + cursor, page)
    old = f"https://{HOST}/old/mcp"
    registry.move(name_of(7), CARD, 0)
    registry.move(name_of(333), WITHDRAWN, 0)
    registry.add("com.example/old", old, 0)
    async with world.proxy() as proxy:
        await both_said(world, proxy)
        answer = await catalog(proxy, first)
        told = json.loads(answer.body)
        assert (len(told["servers"]), told["metadata"]["nextCursor"]) == (100, "from:100")
        assert told["servers"][7]["server"]["remotes"][0]["url"] == NEW
        assert answer.get("discovery-overrides") == "1;moved=1;gone=0"
        answer = await catalog(proxy, f"{first}&cursor=from%3A300")
        assert answer.get("discovery-overrides") == "1;moved=0;gone=1"
        assert "com.example/old" in [row["server"]["name"] for row in json.loads(answer.body)["servers"]]
        answer = await catalog(proxy, first, flags="&report=1")
        found = verdicts(answer)
        assert len(found) == 351 and (found[CARD], found[WITHDRAWN]) == ("superseded", "removed")
        assert found[url_of(8)] == "unconfirmed" and json.loads(answer.body)["note"] is None
        assert len(site.asked) == 4, "each page once"


async def test_the_usage_of_catalogs_leaves_no_record(world: World) -> None:
    world.has(CATALOG, LISTED, CATALOG_TYPE, NEVER_STALE)
    async with world.proxy() as proxy, Site(None):
        await catalog(proxy, CATALOG)
        assert await listed(proxy) == []
