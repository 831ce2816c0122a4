"""Reading catalogs: what is asked, what is followed, what is a catalog, and where paging ends."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from typing import Any

import pytest

from proxy.catalogs.catalog import Catalog, CatalogKind
from proxy.engine.catalogs import reading
from proxy.engine.catalogs.reading import CatalogRead, with_parameter
from proxy.engine.outcome import Refusal, Served
from proxy.http.fields import Fields
from proxy.http.messages import Realm, Request
from proxy.http.problems import Slug
from proxy.http.targets import Target, parse_target
from proxy.ports import OriginFault
from tests.engine.catalogs.scene import CATALOG, REGISTRY, Scene, catalog, entry
from tests.simulators.clock import START
from tests.simulators.origin import Reply
from tests.simulators.registry import PATH, Registry

ONE = catalog(entry("a", "https://a.example.com/card.json"))
HTML = b"<!doctype html><title>Catalog</title>"
SITE = "https://registry.example.org"


async def read(scene: Scene, url: str = CATALOG) -> CatalogRead:
    got = await scene.read(url)
    assert isinstance(got, CatalogRead)
    return got


async def refused(scene: Scene, url: str = CATALOG) -> Refusal:
    got = await scene.read(url)
    assert isinstance(got, Refusal)
    return got


def soon() -> float:
    return asyncio.get_running_loop().time() + 0.1


def page(*urls: str, cursor: object = None) -> bytes:
    servers = [
        {"server": {"name": f"com.example/{url}", "version": "1", "remotes": [{"url": url}]}} for url in urls
    ]
    return json.dumps({"servers": servers, "metadata": {"nextCursor": cursor}}).encode()


class TestAsking:
    async def test_as_ourselves(self) -> None:
        scene = Scene()
        scene.publish(ONE)
        await read(scene)
        (sent,) = scene.sim.origin.requests
        assert (sent.field("User-Agent"), sent.method) == ("discovery-proxy/test", "GET")
        assert "application/ai-catalog+json" in (sent.field("Accept") or "")
        names = {name.lower() for name, _ in sent.request.fields}
        assert not names & {"authorization", "cookie", "referer", "cache-control", "forwarded"}
        assert (sent.request.realm, sent.request.is_ours) == (Realm.ANY, True)

    async def test_through_the_cache(self) -> None:
        scene = Scene()
        scene.publish(ONE)
        first, second = await read(scene), await read(scene)
        assert (first.outcomes[0].served, second.outcomes[0].served) == (Served.MISS, Served.FRESH)
        assert len(scene.sim.origin.requests) == 1

    async def test_as_of_is_when_the_origin_said_so(self) -> None:
        scene = Scene()
        scene.publish(ONE)
        await read(scene)
        scene.sim.clock += 100
        assert (await read(scene)).as_of == START

    async def test_the_octets_are_kept(self) -> None:
        scene = Scene()
        scene.publish(ONE)
        got = await read(scene)
        assert got.body == ONE and got.catalog.kind is CatalogKind.AI_CATALOG
        assert [one.url for one in got.catalog.entries] == ["https://a.example.com/card.json"]

    async def test_content_coding_is_undone(self) -> None:
        scene = Scene()
        scene.publish(gzip.compress(ONE), fields=[("Content-Encoding", "gzip")])
        assert (await read(scene)).body == ONE

    async def test_larger_than_what_is_cached(self) -> None:
        scene = Scene()
        body = catalog(entry("a", "https://a.example.com/card.json", description="x" * 5 * 2**20))
        scene.publish(body)
        assert (await read(scene)).body == body
        assert scene.sim.origin.leaked == []

    async def test_a_long_one_lets_others_have_their_turn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        scene, threads = Scene(), set[int]()
        reading_one = reading.read_catalog

        def watched(body: bytes, media_type: str | None, url: Target) -> Catalog:
            threads.add(threading.get_ident())
            return reading_one(body, media_type, url)

        monkeypatch.setattr(reading, "read_catalog", watched)
        scene.publish(ONE)
        await read(scene)
        assert threads == {threading.get_ident()}
        scene.publish(catalog(*(entry(str(n), f"https://a.example.com/{n}") for n in range(1000))), f"{CATALOG}?2")
        scene.publish(gzip.compress(ONE), f"{CATALOG}?3", fields=[("Content-Encoding", "gzip")])
        for number, entries in ((2, 1000), (3, 1)):
            threads.clear()
            assert len((await read(scene, f"{CATALOG}?{number}")).catalog.entries) == entries
            assert len(threads) == 1 and threading.get_ident() not in threads


class TestRedirects:
    async def test_followed(self) -> None:
        scene = Scene()
        scene.publish(b"", status=302, fields=[("Location", "https://www.example.net/c/list.json")])
        scene.publish(catalog(entry("a", "card.json")), "https://www.example.net/c/list.json")
        got = await read(scene)
        assert got.catalog.entries[0].key == "https://www.example.net/c/card.json"
        assert [sent.request.realm for sent in scene.sim.origin.requests] == [Realm.ANY, Realm.PUBLIC]

    async def test_within_the_origin_goes_wherever_that_is(self) -> None:
        scene = Scene()
        scene.publish(b"", status=307, fields=[("Location", "/list.json")])
        scene.publish(ONE, "https://catalog.example.org/list.json")
        await read(scene)
        realms = {sent.request.realm for sent in scene.sim.origin.requests if sent.path == "/list.json"}
        assert realms == {Realm.ANY}

    @pytest.mark.parametrize(
        "location",
        [None, "http://catalog.example.org/list.json", "https://127.0.0.1/list.json", CATALOG, "javascript:x"],
        ids=["none", "to http", "to loopback", "to itself", "to no URL of HTTP"],
    )
    async def test_not_followed(self, location: str | None) -> None:
        scene = Scene()
        scene.publish(b"", status=302, fields=[] if location is None else [("Location", location)])
        refusal = await refused(scene)
        assert refusal.problem.slug is Slug.ORIGIN_INVALID_RESPONSE and refusal.problem.members["reason"]

    async def test_not_without_end(self) -> None:
        scene = Scene()
        for step in range(8):
            url = CATALOG if step == 0 else f"https://catalog.example.org/{step}"
            scene.publish(b"", url, status=302, fields=[("Location", f"/{step + 1}")])
        assert (await refused(scene)).problem.members["reason"] == "too_many_redirects"
        assert len(scene.sim.origin.requests) == 6


NOT_READ: dict[str, tuple[dict[str, Any], Slug, int]] = {
    "a page": ({"body": HTML, "content_type": "text/html"}, Slug.NOT_A_DOCUMENT, 502),
    "another document": ({"body": b'{"name": "x"}'}, Slug.NOT_A_DOCUMENT, 502),
    "not JSON": ({"body": b"{"}, Slug.NOT_A_DOCUMENT, 502),
    "nothing": ({"body": b""}, Slug.NOT_A_DOCUMENT, 502),
    "not found": ({"body": ONE, "status": 404}, Slug.NOT_FOUND, 404),
    "not for us": ({"body": ONE, "status": 403}, Slug.NOT_A_DOCUMENT, 502),
    "an error of the origin": ({"body": ONE, "status": 500}, Slug.ORIGIN_UNREACHABLE, 504),
    "gone": ({"body": ONE, "status": 410}, Slug.GONE, 410),
    "of another coding": (
        {"body": ONE, "fields": [("Content-Encoding", "br")]},
        Slug.NOT_A_DOCUMENT,
        502,
    ),
    "cut short": ({"body": ONE, "cut": True}, Slug.ORIGIN_INVALID_RESPONSE, 502),
    "larger than is allowed": ({"body": b"[" + b" " * 16 * 2**20 + b"]"}, Slug.TOO_LARGE, 502),
    "larger once decoded": (
        {"body": gzip.compress(b"[" + b" " * 16 * 2**20 + b"]"), "fields": [("Content-Encoding", "gzip")]},
        Slug.TOO_LARGE,
        502,
    ),
    "cut short after much": ({"body": b" " * 5 * 2**20, "cut": True}, Slug.ORIGIN_INVALID_RESPONSE, 502),
}


@pytest.mark.parametrize(("how", "slug", "status"), NOT_READ.values(), ids=NOT_READ)
async def test_what_is_no_catalog(how: dict[str, Any], slug: Slug, status: int) -> None:
    scene = Scene()
    scene.publish(**how)
    refusal = await refused(scene)
    assert (refusal.problem.slug, refusal.problem.status) == (slug, status)
    assert scene.sim.origin.leaked == []


async def test_one_that_does_not_come_in_time() -> None:
    scene = Scene()
    scene.publish(ONE)
    scene.sim.origin.hang("/catalog.json")
    target = parse_target(CATALOG)
    for ask in (scene.reader.read(target, soon()), scene.reader.read_all(target, None, soon())):
        got = await ask
        assert isinstance(got, Refusal)
        assert (got.problem.slug, got.problem.status) == (Slug.ORIGIN_TIMEOUT, 504)
        assert got.outcome.cache_status


async def test_what_was_expected_is_told() -> None:
    scene = Scene()
    scene.publish(b"{}")
    problem = (await refused(scene)).problem
    assert "linkset" in str(problem.members["expected"]) and "What can be read" in problem.detail


async def test_an_origin_that_is_down_is_the_gateways_own_problem() -> None:
    scene = Scene()
    scene.sim.origin.fail(OriginFault.TIMEOUT)
    refusal = await refused(scene)
    assert (refusal.problem.slug, refusal.problem.status) == (Slug.ORIGIN_TIMEOUT, 504)
    assert refusal.problem.members["attempts"]


class TestPages:
    async def test_all_of_them(self) -> None:
        scene, registry = Scene(), Registry(250)
        scene.publish_registry(registry)
        got = await scene.read_all()
        assert [one.subject for one in got.catalog.entries] == list(registry.servers)
        assert (len(got.outcomes), got.note, got.fault, got.catalog.next_cursor) == (3, None, None, None)

    async def test_further_ones_are_as_long_as_they_can_be(self) -> None:
        """A registry whose URL names no limit gives thirty at a time, which would end at six thousand."""
        scene, registry = Scene(), Registry(10_000)
        scene.sim.origin.answer(f"{SITE}{PATH}", registry.reply)
        for start in range(30, 10_100, 100):
            scene.sim.origin.answer(f"{SITE}{PATH}?limit=100&cursor=from%3A{start}", registry.reply)
        got = await scene.read_all(f"{SITE}{PATH}")
        assert (len(got.catalog.entries), len(got.outcomes), got.note) == (10_000, 101, None)

    @pytest.mark.parametrize("query", ["limit=7", "a=b&l%69mit=7"])
    async def test_as_long_as_their_url_says(self, query: str) -> None:
        scene = Scene()
        scene.publish(page("https://1.example.com/", cursor="a"), f"{SITE}{PATH}?{query}")
        scene.publish(page("https://2.example.com/"), f"{SITE}{PATH}?{query}&cursor=a")
        assert len((await scene.read_all(f"{SITE}{PATH}?{query}")).catalog.entries) == 2

    async def test_until_the_time_is_over(self) -> None:
        scene = Scene()
        scene.publish_registry(Registry(1000))
        scene.sim.origin.hang(f"{PATH}?limit=100&cursor=from%3A300")
        read = await scene.reader.read_all(parse_target(REGISTRY), None, soon())
        assert isinstance(read, CatalogRead)
        assert (len(read.catalog.entries), read.fault) == (300, None)
        assert read.note == "The time is over: page 4 and those after it are not read."

    async def test_pages_that_are_at_hand_take_their_time_too(self) -> None:
        scene = Scene()
        scene.publish_registry(Registry(1000))
        await scene.read_all()
        read = await scene.reader.read_all(parse_target(REGISTRY), None, asyncio.get_running_loop().time())
        assert isinstance(read, CatalogRead) and len(read.catalog.entries) == 100
        assert "The time is over: page 2" in (read.note or "")

    async def test_of_a_single_one_only_that(self) -> None:
        scene, registry = Scene(), Registry(250)
        scene.publish_registry(registry)
        got = await read(scene, REGISTRY)
        assert (len(got.catalog.entries), got.catalog.next_cursor) == (100, "from:100")
        assert len(registry.asked) == 1

    async def test_what_has_changed(self) -> None:
        scene, registry = Scene(), Registry(250)
        registry.add("com.example/new", "https://new.example.com/mcp", at=START)
        scene.publish_registry(registry, since=["2027-01-15T07:55:00Z"])
        got = await scene.read_all(since=START - 300)
        assert [one.subject for one in got.catalog.entries] == ["com.example/new"]
        assert registry.asked == [{"limit": "100", "updated_since": "2027-01-15T07:55:00Z"}]

    async def test_other_catalogs_have_one(self) -> None:
        scene = Scene()
        scene.publish(ONE)
        assert len((await scene.read_all(CATALOG)).outcomes) == 1

    @pytest.mark.parametrize("cursor", ["a", "b"], ids=["itself", "the one before"])
    async def test_a_circle_ends(self, cursor: str) -> None:
        scene = Scene()
        url = f"{SITE}{PATH}"
        scene.publish(page("https://1.example.com/", cursor="a"), url)
        scene.publish(page("https://2.example.com/", cursor="b"), f"{url}?limit=100&cursor=a")
        scene.publish(page("https://3.example.com/", cursor=cursor), f"{url}?limit=100&cursor=b")
        got = await scene.read_all(url)
        assert len(got.catalog.entries) == 3 and "earlier page" in (got.note or "")
        assert len(scene.sim.origin.requests) == 3

    async def test_a_page_that_cannot_be_read(self) -> None:
        scene = Scene()
        url = f"{SITE}{PATH}"
        scene.publish(page("https://1.example.com/", cursor="a b/ü"), url)
        scene.publish(b"", f"{url}?limit=100&cursor=a%20b%2F%C3%BC", status=503)
        got = await scene.read_all(url)
        assert len(got.catalog.entries) == 1
        assert (got.note or "").startswith("Page 2 cannot be read")
        assert got.fault is not None and got.fault.problem.slug is Slug.ORIGIN_UNREACHABLE

    async def test_a_first_page_that_cannot_be_read(self) -> None:
        scene = Scene()
        assert isinstance(await scene.reader.read_all(parse_target(REGISTRY)), Refusal)

    async def test_no_more_than_are_allowed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "MOST_PAGES", 3)
        scene = Scene()
        scene.publish_registry(Registry(1000))
        got = await scene.read_all()
        assert (len(got.catalog.entries), len(got.outcomes)) == (300, 3)
        assert "more than 3 pages" in (got.note or "")

    async def test_no_more_entries_than_are_allowed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "MOST_OF_PAGES", 250)
        scene = Scene()
        scene.publish_registry(Registry(1000))
        got = await scene.read_all()
        assert (len(got.catalog.entries), len(got.outcomes)) == (250, 3)
        assert "more than 250 entries" in (got.note or "")

    async def test_a_cursor_without_end(self) -> None:
        scene = Scene()
        scene.publish(page("https://1.example.com/", cursor="x" * 5000), f"{SITE}{PATH}")
        got = await scene.read_all(f"{SITE}{PATH}")
        assert "longer than" in (got.note or "") and len(scene.sim.origin.requests) == 1

    async def test_a_cursor_that_is_no_unicode(self) -> None:
        scene = Scene()
        scene.publish(page("https://1.example.com/").replace(b"null", b'"\\ud800"'), f"{SITE}{PATH}")
        got = await scene.read_all(f"{SITE}{PATH}")
        assert len(scene.sim.origin.requests) <= 2 and len(got.catalog.entries) == 1


PARAMETERS = {
    "none before": ("https://x.example/a", "https://x.example/a?cursor=1%2F2"),
    "others before": ("https://x.example/a?limit=5&b=%20", "https://x.example/a?limit=5&b=%20&cursor=1%2F2"),
    "replaced": ("https://x.example/a?cursor=0&limit=5", "https://x.example/a?limit=5&cursor=1%2F2"),
    "replaced under another spelling": ("https://x.example/a?c%75rsor=0", "https://x.example/a?cursor=1%2F2"),
    "empty query": ("https://x.example/a?", "https://x.example/a?cursor=1%2F2"),
}


@pytest.mark.parametrize(("before", "after"), PARAMETERS.values(), ids=PARAMETERS)
def test_a_parameter(before: str, after: str) -> None:
    assert with_parameter(parse_target(before), "cursor", "1/2").uri == after


async def test_a_registry_that_redirects_each_page_to_the_first() -> None:
    """Its pages are read as it names them, and what repeats ends."""
    scene = Scene()

    def away(request: Request) -> Reply:
        return Reply(308, Fields((("Location", "https://new.example.net/servers"), ("Cache-Control", "no-store"))))

    scene.sim.origin.answer(f"{SITE}{PATH}", away)
    scene.sim.origin.answer(f"{SITE}{PATH}?limit=100&cursor=a", away)
    scene.publish(page("https://1.example.com/", cursor="a"), "https://new.example.net/servers")
    got = await scene.read_all(f"{SITE}{PATH}")
    assert "earlier page" in (got.note or "")
    sent = [sent for sent in scene.sim.origin.requests if "ai-catalog" in (sent.field("Accept") or "")]
    assert [one.path for one in sent if one.request.target.host == "new.example.net"] == ["/servers"]
