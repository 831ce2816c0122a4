"""Catalogs over HTTP: edited, reported and merged; conditions, problems, and what is never edited."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote, urlencode

import jsonschema
import pytest

from proxy.discovery.classes import DocumentClass
from proxy.engine.outcome import Complete, Refusal, Served
from proxy.http.fields import Fields
from proxy.http.problems import Problem, Slug
from proxy.ports import OriginFault
from proxy.server import catalogpages
from proxy.server.catalogpages import CATALOGS, MERGE, CatalogPages
from proxy.server.own import Asked
from proxy.server.schema import openapi
from tests.engine.catalogs.scene import CATALOG, REGISTRY, TYPE, Scene, catalog, entry, gone, moved, pending
from tests.simulators.registry import PATH, Registry, name_of, url_of

A, B, C, D = (f"https://{host}.example.com/card.json" for host in "abcd")
NEW = "https://new.example.com/card.json"
OTHER = "https://other.example.net/catalog.json"
THREE = catalog(entry("a", A), entry("b", B), entry("c", C))


@dataclass
class Pages:
    """The pages, and everything around them."""

    scene: Scene = field(default_factory=Scene)
    pages: CatalogPages = field(init=False)

    def __post_init__(self) -> None:
        scene = self.scene
        self.pages = CatalogPages(scene.reader, scene.judgement, scene.sim.clock)

    async def ask(
        self, path: str, query: str, fields: Mapping[str, str] | None = None
    ) -> Complete | Refusal | Problem:
        return await self.pages.answer(Asked(path, query, Fields((fields or {}).items())))

    async def get(self, url: str = CATALOG, more: str = "", fields: Mapping[str, str] | None = None) -> Complete:
        answer = await self.ask(CATALOGS, f"url={quote(url, safe='')}{more}", fields)
        assert isinstance(answer, Complete), answer
        return answer

    async def report(self, url: str = CATALOG, more: str = "") -> dict[str, Any]:
        answer = await self.get(url, f"&report=1{more}")
        assert answer.head.fields.get("content-type") == "application/json"
        return described(answer, "CatalogReport")

    async def merge(self, *urls: str) -> dict[str, Any]:
        answer = await self.ask(MERGE, urlencode([("url", url) for url in urls]))
        assert isinstance(answer, Complete), answer
        return described(answer, "MergedCatalogs")

    async def problem(self, path: str, query: str) -> Problem:
        answer = await self.ask(path, query)
        return answer.problem if isinstance(answer, Refusal) else _problem(answer)


def _problem(answer: Complete | Problem) -> Problem:
    assert isinstance(answer, Problem), answer
    return answer


def described(answer: Complete, name: str) -> dict[str, Any]:
    """A JSON answer, which is as the description says."""
    told: dict[str, Any] = json.loads(answer.body)
    jsonschema.Draft202012Validator({"$ref": f"#/components/schemas/{name}", **openapi()}).validate(told)
    return told


def overrides(answer: Complete) -> str | None:
    return answer.head.fields.get("discovery-overrides")


def urls_of(answer: Complete) -> list[str]:
    return [one["url"] for one in json.loads(answer.body)["entries"]]


class TestEdited:
    async def test_moved_replaced_and_gone_removed(self) -> None:
        p = Pages()
        p.scene.publish(THREE)
        await p.scene.put(moved(A, NEW), gone(B))
        answer = await p.get()
        assert urls_of(answer) == [NEW, C]
        assert (overrides(answer), answer.head.fields.get("content-type")) == ("2;moved=1;gone=1", TYPE)

    async def test_pending_is_kept(self) -> None:
        p = Pages()
        p.scene.publish(THREE)
        await p.scene.put(pending(A, NEW))
        answer = await p.get()
        assert answer.body == THREE and overrides(answer) == "0;moved=0;gone=0"

    async def test_untouched_octet_for_octet(self) -> None:
        p = Pages()
        odd = (
            b'\xef\xbb\xbf{ "x":1.10,"entries" :[ {"identifier":"urn:air:e.com:a","url":"' + A.encode() + b'"} ]}\n'
        )
        p.scene.publish(odd)
        answer = await p.get()
        assert answer.body == odd and overrides(answer) == "0;moved=0;gone=0"

    async def test_a_tombstone_outlives_every_listing(self) -> None:
        """OV-6"""
        p = Pages()
        await p.scene.put(gone(A))
        for number in range(3):
            p.scene.publish(catalog(entry("a", A), entry(str(number), C)), cache_control="no-store")
            p.scene.sim.clock += 60
            assert urls_of(await p.get()) == [C]

    async def test_a_page_of_a_registry_leads_on(self) -> None:
        p = Pages()
        p.scene.publish_registry(Registry(250))
        await p.scene.put(gone(url_of(5)))
        answer = await p.get(REGISTRY)
        told = json.loads(answer.body)
        assert (len(told["servers"]), told["metadata"]["nextCursor"]) == (99, "from:100")
        assert len(p.scene.sim.origin.requests) == 1

    async def test_probed(self) -> None:
        p = Pages()
        p.scene.publish(THREE)
        p.scene.origins.says(gone(A))
        assert urls_of(await p.get(more="&probe=0")) == [A, B, C]
        assert p.scene.origins.asked == []
        assert urls_of(await p.get(more="&probe=1")) == [B, C]
        assert set(p.scene.origins.asked) == {A, B, C}


class TestSigned:
    SIGNED = catalog(entry("a", A), entry("b", B), signature={"jws": "e30..AA"})

    async def test_is_reported_and_not_edited(self) -> None:
        p = Pages()
        p.scene.publish(self.SIGNED)
        await p.scene.put(gone(A), moved(B, NEW))
        answer = await p.get()
        told = described(answer, "CatalogReport")
        assert (told["signed"], told["catalog"]) == (True, CATALOG)
        assert "signed" in told["note"]
        assert [(one["url"], one["verdict"]) for one in told["entries"]] == [(A, "removed"), (B, "superseded")]
        assert (overrides(answer), answer.head.fields.get("content-type")) == (
            "2;moved=1;gone=1",
            "application/json",
        )

    async def test_also_where_nothing_would_change(self) -> None:
        p = Pages()
        p.scene.publish(self.SIGNED)
        assert described(await p.get(), "CatalogReport")["signed"] is True


class TestReport:
    async def test_each_entry_with_its_evidence(self) -> None:
        p = Pages()
        p.scene.publish(catalog(entry("a", A), entry("b", B), entry("c", C), entry("d", "http://d.example.com/")))
        await p.scene.put(moved(A, NEW), gone(B))
        told = await p.report()
        assert [(one["url"], one["final_url"], one["verdict"]) for one in told["entries"]] == [
            (A, NEW, "superseded"),
            (B, None, "removed"),
            (C, C, "unconfirmed"),
            ("http://d.example.com/", told["entries"][3]["final_url"], "unconfirmed"),
        ]
        assert told["entries"][0]["evidence"]["source"] == "record"
        assert (told["signed"], told["note"]) == (False, None)

    async def test_all_pages_of_a_registry(self) -> None:
        p = Pages()
        p.scene.publish_registry(Registry(250))
        await p.scene.put(gone(url_of(249)))
        told = await p.report(REGISTRY)
        assert len(told["entries"]) == 250 and told["entries"][249]["verdict"] == "removed"

    async def test_what_could_not_be_read_is_told(self) -> None:
        p = Pages()
        p.scene.publish_registry(Registry(250))
        p.scene.publish(b"", f"{REGISTRY}&cursor=from%3A200", status=503)
        told = await p.report(REGISTRY)
        assert len(told["entries"]) == 200 and told["note"].startswith("Page 3 cannot be read")

    async def test_probed(self) -> None:
        p = Pages()
        p.scene.publish(THREE)
        p.scene.origins.serves(A)
        p.scene.origins.says(gone(B))
        told = await p.report(more="&probe=1")
        assert [one["verdict"] for one in told["entries"]] == ["confirmed", "removed", "unconfirmed"]


class TestHow:
    """What goes with the answer."""

    async def test_the_fields(self) -> None:
        p = Pages()
        p.scene.publish(THREE)
        answer = await p.get()
        fields = answer.head.fields
        assert (fields.get("cache-control"), fields.get("content-location")) == ("no-cache", None)
        assert fields.get("access-control-allow-origin") == "*" and fields.get("via")
        assert "Discovery-Overrides" in (fields.get("access-control-expose-headers") or "")
        assert "fwd=uri-miss" in (fields.get("cache-status") or "") and answer.outcome.served is Served.MISS
        again = await p.get()
        assert "hit" in (again.head.fields.get("cache-status") or "") and again.outcome.served is Served.FRESH
        assert "ttl=300" in (again.head.fields.get("cache-status") or "")

    async def test_a_catalog_that_was_validated(self) -> None:
        p = Pages()
        p.scene.publish(THREE, cache_control="no-cache", etag='"1"')
        await p.get()
        answer = await p.get()
        assert "fwd=stale; fwd-status=304" in (answer.head.fields.get("cache-status") or "")

    async def test_conditions(self) -> None:
        p = Pages()
        p.scene.publish(THREE)
        etag = (await p.get()).head.fields.get("etag") or ""
        assert etag.startswith('"') and len(etag) == 34
        same = await p.get(fields={"If-None-Match": f'"x", {etag}'})
        assert (same.head.status, same.body, same.head.fields.get("etag")) == (304, b"", etag)
        assert same.head.fields.get("content-type") is None and overrides(same) == "0;moved=0;gone=0"
        await p.scene.put(gone(A))
        changed = await p.get(fields={"If-None-Match": etag})
        assert changed.head.status == 200 and changed.head.fields.get("etag") != etag

    async def test_nothing_of_the_client_goes_on(self) -> None:
        p = Pages()
        p.scene.publish(THREE)
        await p.get(fields={"Authorization": "Bearer x", "Cookie": "a=b", "Cache-Control": "no-cache"})
        (sent,) = p.scene.sim.origin.requests
        assert not {name.lower() for name, _ in sent.request.fields} & {"authorization", "cookie", "cache-control"}


ENCODED = quote(CATALOG, safe="")
BAD: dict[str, tuple[str, str, Slug]] = {
    "no catalog": (CATALOGS, "", Slug.BAD_REQUEST),
    "two catalogs": (CATALOGS, f"url={ENCODED}&url={ENCODED}", Slug.BAD_REQUEST),
    "an unknown parameter": (CATALOGS, f"url={ENCODED}&depth=1", Slug.BAD_REQUEST),
    "a query that is not encoded": (CATALOGS, "url=https://a.example/x?limit=1&cursor=2", Slug.BAD_REQUEST),
    "report twice": (CATALOGS, f"url={ENCODED}&report=1&report=1", Slug.BAD_REQUEST),
    "probe of another value": (CATALOGS, f"url={ENCODED}&probe=yes", Slug.BAD_REQUEST),
    "report of no value": (CATALOGS, f"url={ENCODED}&report=", Slug.BAD_REQUEST),
    "many parameters": (CATALOGS, "&".join(["url=x"] * 500), Slug.BAD_REQUEST),
    "no URL": (CATALOGS, "url=catalog.json", Slug.BAD_TARGET),
    "an empty one": (CATALOGS, "url=", Slug.BAD_TARGET),
    "over http": (CATALOGS, "url=http%3A%2F%2Fa.example%2F", Slug.BAD_TARGET),
    "with userinfo": (CATALOGS, "url=https%3A%2F%2Fu%3Ap%40a.example%2F", Slug.BAD_TARGET),
    "with a fragment": (CATALOGS, "url=https%3A%2F%2Fa.example%2F%23x", Slug.BAD_TARGET),
    "no octets of UTF-8": (CATALOGS, "url=https%3A%2F%2Fa.example%2F%FF", Slug.BAD_TARGET),
    "merging nothing": (MERGE, "", Slug.BAD_REQUEST),
    "merging one": (MERGE, f"url={ENCODED}", Slug.BAD_REQUEST),
    "merging nine": (MERGE, "&".join(f"url=https://{n}.example/" for n in range(9)), Slug.BAD_REQUEST),
    "merging one twice": (MERGE, f"url={ENCODED}&url={ENCODED}", Slug.BAD_REQUEST),
    "merging with another parameter": (MERGE, f"url={ENCODED}&url=https://a.example/&report=1", Slug.BAD_REQUEST),
    "merging what is no URL": (MERGE, f"url={ENCODED}&url=x", Slug.BAD_TARGET),
}


class TestRefused:
    @pytest.mark.parametrize(("path", "query", "slug"), BAD.values(), ids=BAD)
    async def test_bad_requests(self, path: str, query: str, slug: Slug) -> None:
        p = Pages()
        problem = await p.problem(path, query)
        assert (problem.slug, problem.status) == (slug, 400)
        assert problem.detail and p.scene.sim.origin.requests == []

    async def test_no_catalog_there(self) -> None:
        p = Pages()
        p.scene.publish(b"<html>", content_type="text/html")
        problem = await p.problem(CATALOGS, f"url={ENCODED}")
        assert (problem.slug, problem.status) == (Slug.NOT_A_DOCUMENT, 502)
        assert "What can be read" in problem.detail

    async def test_an_origin_that_is_down(self) -> None:
        p = Pages()
        p.scene.sim.origin.fail(OriginFault.UNREACHABLE)
        answer = await p.ask(CATALOGS, f"url={ENCODED}")
        assert isinstance(answer, Refusal)
        assert (answer.problem.slug, answer.problem.status) == (Slug.ORIGIN_UNREACHABLE, 504)
        assert answer.outcome.cache_status and answer.problem.members["attempts"]

    @pytest.mark.parametrize("damaged", [False, True], ids=["no ledger", "a damaged record"])
    @pytest.mark.parametrize("more", ["", "&report=1", "&probe=1"])
    async def test_never_unchecked(self, damaged: bool, more: str) -> None:
        p = Pages()
        p.scene.publish(THREE)
        p.scene.records.fail(damaged=damaged)
        problem = await p.problem(CATALOGS, f"url={ENCODED}{more}")
        assert (problem.slug, problem.status) == (Slug.INTERNAL, 503)
        problem = await p.problem(MERGE, f"url={ENCODED}&url={quote(CATALOG + '?2', safe='')}")
        assert (problem.slug, problem.status) == (Slug.INTERNAL, 503)

    async def test_too_many_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(catalogpages, "_MOST_UNDER_WAY", 2)
        p = Pages()
        p.scene.publish(THREE)
        p.scene.sim.origin.hold()
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(p.get()) for _ in range(2)]
        await p.scene.sim.origin.arrived(1)
        problem = await p.problem(CATALOGS, f"url={ENCODED}")
        assert (problem.slug, problem.status) == (Slug.OVERLOADED, 503)
        p.scene.sim.origin.release()
        assert [answer.head.status for answer in await asyncio.gather(*tasks)] == [200, 200]
        assert (await p.get()).head.status == 200

    async def test_too_many_at_one_host(self) -> None:
        p = Pages()
        for number in range(6):
            p.scene.publish(THREE, f"{CATALOG}?{number}")
        p.scene.publish(THREE, OTHER)
        p.scene.sim.origin.hang("/catalog.json?0")
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(p.get(f"{CATALOG}?0")) for _ in range(4)]
        await p.scene.sim.origin.arrived(1)
        for path, query in (
            (CATALOGS, f"url={quote(f'{CATALOG}?1', safe='')}"),
            (MERGE, urlencode([("url", OTHER), ("url", f"{CATALOG}?1")])),
        ):
            problem = await p.problem(path, query)
            assert (problem.slug, problem.status) == (Slug.OVERLOADED, 503)
        assert (await p.get(OTHER)).head.status == 200, "others have nothing to do with it"
        p.scene.sim.origin.unhang("/catalog.json?0")
        await asyncio.gather(*tasks)
        told = await p.merge(*(f"{CATALOG}?{number}" for number in range(6)))
        assert len(told["catalogs"]) == 6, "whoever merges catalogs of one host waits for it once"

    async def test_who_gives_up_leaves_room(self) -> None:
        p = Pages()
        p.scene.publish(THREE)
        p.scene.sim.origin.hold()
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(p.get()) for _ in range(4)]
        await p.scene.sim.origin.arrived(1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        p.scene.sim.origin.release()
        assert (await p.get()).head.status == 200


class TestInTime:
    """Reading and judging end together, whatever origins do."""

    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(catalogpages, "_SECONDS", 0.3)
        monkeypatch.setattr(catalogpages, "_FOR_ASKING", 0.15)

    async def test_pages_without_end(self) -> None:
        p, slow = Pages(), f"{PATH}?limit=100&cursor=from%3A200"
        p.scene.publish_registry(Registry(1000))
        p.scene.sim.origin.hang(slow)
        began = asyncio.get_running_loop().time()
        told = await p.report(REGISTRY)
        assert asyncio.get_running_loop().time() - began < 2
        assert len(told["entries"]) == 200 and told["note"].startswith("The time is over: page 3")

    @pytest.mark.parametrize("more", ["", "&report=1", "&probe=1"])
    async def test_one_that_does_not_come(self, more: str) -> None:
        p = Pages()
        p.scene.publish(THREE)
        p.scene.sim.origin.hang("/catalog.json")
        problem = await p.problem(CATALOGS, f"url={ENCODED}{more}")
        assert (problem.slug, problem.status) == (Slug.ORIGIN_TIMEOUT, 504)

    async def test_what_is_left_is_for_asking(self) -> None:
        p = Pages()
        p.scene.publish_registry(Registry(1000))
        p.scene.sim.origin.hang(f"{PATH}?limit=100&cursor=from%3A100")
        p.scene.origins.serves(*map(url_of, range(100)))
        told = await p.report(REGISTRY, "&probe=1")
        assert {one["verdict"] for one in told["entries"]} == {"confirmed"}

    async def test_origins_that_do_not_answer(self) -> None:
        p = Pages()
        p.scene.publish(THREE)
        p.scene.origins.hanging = {f"{host}.example.com" for host in "abc"}
        began = asyncio.get_running_loop().time()
        told = await p.report(more="&probe=1")
        assert asyncio.get_running_loop().time() - began < 2
        assert {one["evidence"]["reason"] for one in told["entries"]} == {"not-probed"}

    async def test_merging_with_one_that_does_not_come(self) -> None:
        p = Pages()
        p.scene.publish(catalog(entry("a", A)))
        p.scene.publish(catalog(entry("a", B)), f"{CATALOG}?2")
        p.scene.publish(THREE, OTHER)
        p.scene.sim.origin.hang("/catalog.json?2")
        p.scene.publish(catalog(entry("a", B)), "https://third.example.net/c.json")
        p.scene.origins.serves(B)
        told = await p.merge(CATALOG, f"{CATALOG}?2", "https://third.example.net/c.json")
        assert [one["reason"] for one in told["unread"]] == ["origin-timeout"]
        assert [(one["url"], one["verdict"]) for one in told["entries"]] == [(B, "confirmed"), (A, "unconfirmed")]


async def test_long_ones_let_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set[int]()
    for name in ("applied", "report", "merged"):
        done = getattr(catalogpages, name)

        def watched(*given: Any, done: Any = done) -> Any:
            threads.add(threading.get_ident())
            return done(*given)

        monkeypatch.setattr(catalogpages, name, watched)
    p = Pages()
    p.scene.publish(THREE)
    p.scene.publish(catalog(*(entry(str(n), f"https://a.example.com/{n}") for n in range(1000))), OTHER)
    p.scene.publish_registry(Registry(1000))
    await p.get()
    await p.report()
    assert threads == {threading.get_ident()}
    threads.clear()
    await p.get(OTHER)
    await p.report(OTHER)
    await p.report(REGISTRY)
    await p.merge(CATALOG, OTHER)
    assert threads and threading.get_ident() not in threads


class TestMerged:
    async def test_by_subject(self) -> None:
        p = Pages()
        p.scene.publish(catalog(entry("a", A), entry("b", B)))
        p.scene.publish(catalog(entry("b", B), entry("c", C)), OTHER)
        await p.scene.put(gone(C))
        told = await p.merge(CATALOG, OTHER)
        found = {one["url"]: (one["sources"], one["verdict"]) for one in told["entries"]}
        assert found[A] == ([CATALOG], "unconfirmed")
        assert found[B] == ([CATALOG, OTHER], "unconfirmed")
        assert found.get(C, ([OTHER], "removed")) == ([OTHER], "removed")
        assert p.scene.origins.asked == []

    async def test_where_they_disagree_the_origins_decide(self) -> None:
        """OV-8"""
        p = Pages()
        p.scene.publish(catalog(entry("a", A), entry("a", "http://a.example.com/"), entry("x", D)))
        p.scene.publish(catalog(entry("a", NEW)), OTHER)
        p.scene.origins.serves(NEW)
        told = await p.merge(CATALOG, OTHER)
        assert sorted(p.scene.origins.asked) == sorted([A, NEW])
        claims = [one for one in told["entries"] if one["url"] in (A, NEW)]
        assert [(one["url"], one["verdict"], one["conflict"]) for one in claims] == [
            (NEW, "confirmed", True),
            (A, "unconfirmed", True),
        ]
        assert told["overruled"] == []

    async def test_what_an_origin_has_withdrawn_is_overruled(self) -> None:
        """OV-8"""
        p = Pages()
        p.scene.publish(catalog(entry("a", A)))
        p.scene.publish(catalog(entry("a", NEW)), OTHER)
        p.scene.origins.says(gone(A))
        told = await p.merge(CATALOG, OTHER)
        assert [(one["url"], one.get("conflict")) for one in told["entries"]] == [(NEW, None)]
        assert [(one["url"], one["verdict"]) for one in told["overruled"]] == [(A, "removed")]

    async def test_for_what_is_listed(self) -> None:
        p = Pages()
        p.scene.publish(catalog(entry("a", A)))
        p.scene.publish(catalog(entry("a", NEW, type="application/json")), OTHER)
        await p.merge(CATALOG, OTHER)
        assert p.scene.origins.claims == {A: DocumentClass.AGENT_CARD, NEW: None}

    async def test_where_no_origin_answers_both_stay(self) -> None:
        """OV-8"""
        p = Pages()
        p.scene.publish(catalog(entry("a", A)))
        p.scene.publish(catalog(entry("a", NEW)), OTHER)
        told = await p.merge(CATALOG, OTHER)
        assert {(one["url"], one["verdict"], one["conflict"]) for one in told["entries"]} == {
            (A, "unconfirmed", True),
            (NEW, "unconfirmed", True),
        }

    async def test_one_that_cannot_be_read(self) -> None:
        p = Pages()
        p.scene.publish(THREE)
        p.scene.publish(b"", OTHER, status=503)
        told = await p.merge(CATALOG, OTHER)
        assert len(told["entries"]) == 3
        assert [(one["catalog"], one["reason"]) for one in told["unread"]] == [(OTHER, "origin-unreachable")]

    async def test_none_that_can_be_read(self) -> None:
        p = Pages()
        p.scene.sim.origin.fail()
        problem = await p.problem(MERGE, urlencode([("url", CATALOG), ("url", OTHER)]))
        assert problem.slug is Slug.ORIGIN_UNREACHABLE

    async def test_all_pages_of_a_registry(self) -> None:
        p = Pages()
        p.scene.publish_registry(Registry(150))
        p.scene.publish(THREE)
        told = await p.merge(CATALOG, REGISTRY)
        assert len(told["entries"]) == 153
        assert any(one["subject"] == name_of(149) for one in told["entries"])

    async def test_no_more_than_are_allowed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(catalogpages, "MOST_ENTRIES", 4)
        p = Pages()
        p.scene.publish(THREE)
        p.scene.publish(THREE, OTHER)
        problem = await p.problem(MERGE, urlencode([("url", CATALOG), ("url", OTHER)]))
        assert (problem.slug, problem.members["limit"]) == (Slug.TOO_LARGE, 4)


def test_described() -> None:
    paths = cast(dict[str, Any], openapi()["paths"])
    for path in (CATALOGS, MERGE):
        responses = paths[path]["get"]["responses"]
        for status in ("200", "304"):
            assert {"Discovery-Overrides", "ETag"} <= set(responses[status]["headers"])
