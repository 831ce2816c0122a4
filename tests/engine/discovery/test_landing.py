"""The landing page's Link field in a discovery: asked for by HEAD, kept, and validated (LK-1, LK-3)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.caching.generations import EVERYTHING
from proxy.discovery.classes import DocumentClass
from proxy.engine.discovery.landing import Landing
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.reading import Reading
from proxy.http.messages import Request
from proxy.http.targets import parse_target
from proxy.ports import OriginFault
from tests.engine.discovery.documents import APIS_AT, CATALOG_AT, HTML, catalog, linkset
from tests.simulators.discovery import Neighbourhood, neighbourhood
from tests.simulators.origin import Reply

ROOT = parse_target("https://example.com/")
LINK = ("Link", '</o.json>; rel="service-desc"')
PAGE: dict[str, Any] = {"content_type": "text/html", "fields": [LINK]}
OPENAPI = ("openapi", "https://example.com/o.json", "link", "origin-tls")


def linked(*fields: tuple[str, str]) -> dict[str, Any]:
    """A page with a link and these fields."""
    return {"content_type": "text/html", "fields": [LINK, *fields]}


def landing(n: Neighbourhood) -> Landing:
    e = n.engine
    reader = Reader(e.gateway, e.rules, e.generations, e.clock, "an-agent", 30.0)
    return Landing(reader, e.generations, e.clock, 30.0)


async def head(page: Landing) -> Reading:
    return await page.head(ROOT, stored_only=False)


def heads(n: Neighbourhood) -> list[str]:
    return [sent.method for sent in n.engine.origin.requests if sent.path == "/"]


class TestKeeping:
    @pytest.mark.parametrize(
        ("how", "seconds"),
        [
            ({"max_age": 90, **PAGE}, 90),
            ({"cache_control": "s-maxage=50, max-age=90", **PAGE}, 50),
            (PAGE, 3600),
            ({"cache_control": "public", **PAGE}, 3600),
            ({"max_age": 0, **PAGE}, 0),
            ({"cache_control": "no-store", **PAGE}, 0),
            ({"cache_control": "private, max-age=90", **PAGE}, 0),
            ({"cache_control": "no-cache, max-age=90", **PAGE}, 0),
            (linked(("Cache-Control", "max-age=90"), ("Age", "40")), 50),
            (linked(("Cache-Control", "max-age=90"), ("Age", "90")), 0),
            (linked(("Expires", "Fri, 15 Jan 2027 08:02:00 GMT")), 120),
            (linked(("Expires", "Fri, 15 Jan 2027 07:59:59 GMT")), 0),
            (linked(("Expires", "0")), 0),
            (linked(("Expires", "Fri, 15 Jan 2027 08:02:00 GMT"), ("Cache-Control", "max-age=90")), 90),
            (linked(("Cache-Control", "max-age=90"), ("Vary", "*")), 0),
            (linked(("Cache-Control", "max-age=90"), ("Vary", "Accept")), 90),
            ({"max_age": 90, "content_type": "text/html"}, 30),
            ({"status": 404}, 30),
            ({"status": 405}, 30),
            ({"status": 401}, 30),
            ({"status": 403, "max_age": 600}, 30),
            ({"status": 503}, 0),
        ],
        ids=str,
    )
    async def test_for_how_long(self, how: dict[str, Any], seconds: int) -> None:
        n = neighbourhood()
        n.engine.origin.respond("/", **how)
        page = landing(n)
        await head(page)
        if seconds:
            n.engine.clock += seconds - 1
            assert (await head(page)).cache == "hit" and heads(n) == ["HEAD"]
            n.engine.clock += 1
        await head(page)
        assert heads(n) == ["HEAD", "HEAD"]

    async def test_an_unchanged_page_is_validated(self) -> None:
        n = neighbourhood()
        modified = "Fri, 15 Jan 2027 07:00:00 GMT"
        n.engine.origin.respond("/", max_age=60, etag='"1"', last_modified=modified, **PAGE)
        page = landing(n)
        first = await head(page)
        n.engine.clock += 61
        again = await head(page)
        sent = n.engine.origin.requests[1]
        assert (sent.field("If-None-Match"), sent.field("If-Modified-Since")) == ('"1"', modified)
        assert (again.cache, again.fields.get("link")) == ("revalidated", first.fields.get("link"))
        assert again.fresh_until == n.engine.clock() + 60

    async def test_a_changed_one_takes_its_place(self) -> None:
        n = neighbourhood()
        n.engine.origin.respond("/", max_age=60, etag='"1"', **PAGE)
        page = landing(n)
        await head(page)
        n.engine.origin.respond("/", max_age=60, etag='"2"', fields=[("Link", '</n>; rel="ard"')])
        n.engine.clock += 61
        assert (await head(page)).fields.get("link") == '</n>; rel="ard"'

    async def test_a_purge_forgets(self) -> None:
        n = neighbourhood()
        n.engine.origin.respond("/", max_age=600, etag='"1"', **PAGE)
        page = landing(n)
        await head(page)
        n.engine.generations.mark((EVERYTHING,), n.engine.clock(), soft=False)
        await head(page)
        assert n.engine.origin.requests[1].field("If-None-Match") is None

    async def test_no_more_than_so_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("proxy.engine.discovery.landing._ROOM", 2 * 1200)
        n = neighbourhood()
        n.engine.origin.respond("/", max_age=600, **PAGE)
        page = landing(n)
        for host in ("a", "b", "c", "a"):
            await page.head(parse_target(f"https://{host}.example.com/"), stored_only=False)
        assert len(heads(n)) == 4

    async def test_where_a_redirect_leads_may_change_before_the_page_does(self) -> None:
        n = neighbourhood()
        n.engine.origin.respond("https://example.com/", 307, fields=[("Location", "https://www.example.com/")])
        n.engine.origin.respond("https://www.example.com/", max_age=3000, etag='"1"', **PAGE)
        page = landing(n)
        reading = await head(page)
        assert (reading.url, reading.fresh_until) == ("https://www.example.com/", n.engine.clock() + 30)

    async def test_nothing_of_it_answers_a_get(self) -> None:
        n = neighbourhood()
        n.engine.origin.respond("/", max_age=600, body=HTML, **PAGE)
        await head(landing(n))
        assert (await n.engine.ask("/")).body == HTML
        assert n.engine.store.peek(ROOT.uri)[0].body == HTML

    async def test_of_a_host_that_is_down_nothing_is_asked(self) -> None:
        n = neighbourhood()
        reading = await landing(n).head(ROOT, stored_only=True)
        assert (reading.is_found, reading.reason, n.paths) == (False, "origin-unreachable", [])


LINKS = [
    (f'<{CATALOG_AT}>; rel="ai-catalog"', CATALOG_AT),
    ('</c.json>; rel="ai-catalog"', "/c.json"),
    ("</c.json>; rel=ard", "/c.json"),
    ('</c.json>; rel="alternate ard"', "/c.json"),
    ('</c.json>; REL="AI-CATALOG"; type="application/json"', "/c.json"),
    ('<c.json>; rel="ard", </d.json>; rel="ard"', "/d.json"),
    ('<https://docs.example.com/c.json>; rel="ard"', "/c.json"),
    ('</a>; rel="api-catalog"', "/a"),
    ('</c.json>; rel="ard"; anchor="https://other.example.net/"', None),
    ('<http://example.com/c.json>; rel="ard"', None),
    ('<https://10.0.0.5/c.json>; rel="ard"', None),
    ('</c.json>; rel="stylesheet"', None),
    ("</c.json", None),
    (";;;,,<>", None),
    ("<" * 5000, None),
]


class TestLeads:
    """LK-1: what the field leads to is read, where it may be."""

    @pytest.mark.parametrize(("value", "path"), LINKS)
    async def test_links(self, value: str, path: str | None) -> None:
        n = neighbourhood()
        n.engine.origin.respond("/", max_age=60, fields=[("Link", value)])
        n.publish("/c.json", catalog())
        n.publish("/a", linkset("/o.json"))
        found = await n.discover()
        if path is None:
            assert not {"/c.json", "/d.json", "/a"} & set(n.paths)
            assert n.asked("10.0.0.5") == n.asked("other.example.net") == []
        else:
            assert path in n.paths
        assert found["outcome"] == ("found" if path in ("/c.json", "/d.json", "/a") else "not-found")

    async def test_a_catalog_at_its_own_place_is_read_once(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog())
        n.engine.origin.respond("/", max_age=60, fields=[("Link", f'<{CATALOG_AT}>; rel="ai-catalog"')])
        await n.discover()
        assert n.paths.count(CATALOG_AT) == 1

    async def test_a_description_is_located_and_not_fetched(self) -> None:
        n = neighbourhood()
        n.engine.origin.respond("/", max_age=60, **PAGE)
        found = await n.discover()
        assert found.endpoints == {OPENAPI} and "/o.json" not in n.paths

    async def test_it_is_asked_for_once_by_head(self) -> None:
        n = neighbourhood()
        n.engine.origin.respond("/", max_age=60, **PAGE)
        found = await n.discover()
        assert heads(n)[0] == "HEAD" and heads(n).count("HEAD") == 1
        assert found.step("link")["outcome"] == "found"

    async def test_a_page_is_fetched_only_where_nothing_else_was_found(self) -> None:
        for has_apis in (True, False):
            n = neighbourhood()
            n.engine.origin.respond("/", max_age=60, body=HTML, content_type="text/html")
            n.publish("/llms.txt", b"# Site\n", content_type="text/plain")
            if has_apis:
                n.publish(APIS_AT, linkset("/o.json"))
            await n.discover()
            assert heads(n) == (["HEAD"] if has_apis else ["HEAD", "GET"])

    @pytest.mark.parametrize("status", [405, 401, 500, 404])
    async def test_head_is_not_to_everybodys_liking(self, status: int) -> None:
        n = neighbourhood()

        def answer(request: Request) -> Reply:
            return Reply(status) if request.method == "HEAD" else Reply(200, body=HTML)

        n.engine.origin.answer("/", answer)
        found = await n.discover()
        assert found.step("link")["outcome"] == ("failed" if status == 500 else "absent")
        assert n.engine.origin.leaked == []

    async def test_an_address_inside(self) -> None:
        n = neighbourhood()
        n.engine.origin.respond("/", 302, fields=[("Location", "https://10.0.0.5/")])
        found = await n.discover()
        assert (found["outcome"], found.step("link")["outcome"]) == ("not-found", "refused")

    async def test_no_answer(self) -> None:
        n = neighbourhood()
        n.engine.origin.fail(OriginFault.TIMEOUT)
        assert (await n.discover()).step("link")["outcome"] == "failed"


async def test_a_head_is_read_as_the_class_it_is_asked_for() -> None:
    n = neighbourhood()
    n.engine.origin.respond("/", body=b"x" * 999, **PAGE)
    reading = await head(landing(n))
    assert (reading.document_class, reading.body, reading.is_found) == (DocumentClass.OTHER, b"", True)
    assert n.engine.origin.leaked == []
