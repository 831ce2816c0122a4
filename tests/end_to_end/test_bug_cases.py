"""Bugs that other caches had, each reproduced through a real proxy and a TLS site on real sockets.

The number in a test's name is the case's. Lifetimes are a second, so the waits are too.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import signal
import sys
import zlib
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from proxy.failover import breaker
from proxy.http.dates import format_http_date
from proxy.server import enginesettings, keeping, service, wiring
from tests.end_to_end.running import Reply, Running, Wire, request, running
from tests.end_to_end.site import Asked, Site, not_modified, reply
from tests.simulators.wire import Authority
from tests.stores.samples import StoreSimulator

HOST = "site.example"
CARD_PATH = "/.well-known/agent-card.json"
CARD = b'{"name": "Agent", "url": "https://site.example/a2a"}'
OLD, NEW = b"the old", b"the new"
HTML = b"<!doctype html><title>Not found</title>"
_ROOT = Path(__file__).parents[2]
# A Date has whole seconds, so a second's lifetime is over somewhere within it.
OVER = 1.1


@dataclass(frozen=True)
class Setting:
    """A proxy before a site."""

    proxy: Running
    site: Site

    async def get(self, path: str, *lines: str, method: str = "GET") -> Reply:
        """`path` of the site through the gateway."""
        return await self.proxy.ask(request(method, f"/https/{HOST}{path}", *lines), method)

    async def timed(self, path: str) -> tuple[Reply, float]:
        """The answer and the seconds it took."""
        began = perf_counter()
        answer = await self.get(path)
        return answer, perf_counter() - began

    async def admin(self, method: str, path: str, *lines: str, order: object = None) -> Reply:
        """The admin port's answer."""
        body = b"" if order is None else json.dumps(order).encode()
        text = request(method, path, "Host: 127.0.0.1", f"Content-Length: {len(body)}", *lines, body=body)
        async with Wire.open(self.proxy.admin_port) as wire:
            return await wire.ask(text)

    async def gauge(self, name: str) -> float:
        """The sum of a metric's samples."""
        text = (await self.admin("GET", "/metrics")).body.decode()
        families = (family for family in text_string_to_metric_families(text) if family.name == name)
        return sum(sample.value for family in families for sample in family.samples)

    async def asked(self, path: str, count: int) -> None:
        """Wait until the site has got `count` requests for `path`."""
        async with asyncio.timeout(5):
            while len(self.site.to(path)) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def site(authority: Authority) -> AsyncIterator[Site]:
    async with Site(authority.server(HOST)) as site:
        yield site


@pytest.fixture
def upstream(authority: Authority, site: Site, tmp_path: Path) -> dict[str, Any]:
    """What leads a proxy to the site."""
    ca_file = str(authority.write(tmp_path / "ca.pem"))
    return {"upstream__ca_file": ca_file, "upstream__connect_to": [f"{HOST}:443:127.0.0.1:{site.port}"]}


@pytest.fixture
async def case(site: Site, upstream: dict[str, Any]) -> AsyncIterator[Setting]:
    async with running(**upstream) as proxy:
        yield Setting(proxy, site)


async def test_b01_stale_while_revalidate_serves_at_once_and_asks_once(case: Setting) -> None:
    async def slowly(asked: Asked) -> bytes:
        await asyncio.sleep(0.5)
        return reply(str(asked.number).encode(), "max-age=10, stale-while-revalidate=30")

    first = reply(b"1", "max-age=1, stale-while-revalidate=30")
    case.site.on("/a", lambda asked: first if asked.number == 1 else slowly(asked))
    assert (await case.get("/a")).body == b"1"
    await asyncio.sleep(OVER)
    for _ in range(3):
        stale, seconds = await case.timed("/a")
        assert (stale.body, seconds < 0.25) == (b"1", True)
        assert "hit; ttl=-" in (stale.get("cache-status") or "")
    await asyncio.sleep(0.7)
    assert (await case.get("/a")).body == b"2"
    assert len(case.site.to("/a")) == 2


async def test_b02_a_failed_refresh_leaves_the_stale_copy(case: Setting) -> None:
    fresh = reply(OLD, "max-age=0, stale-if-error=60", ("ETag", '"1"'))
    case.site.on("/a", lambda asked: fresh if asked.number == 1 else reply(b"oops", "no-store", status=500))
    await case.get("/a")
    failed = await case.get("/a")
    assert (failed.status, failed.body) == (200, OLD)
    await asyncio.sleep(OVER)
    await case.site.down()
    refused = await case.get("/a")
    assert (refused.status, refused.body) == (200, OLD)
    assert int(refused.get("age") or 0) > int(failed.get("age") or 0)
    assert "stale-if-error" in (refused.get("cache-status") or "")


async def test_b03_only_the_first_waits_for_a_failing_origin(case: Setting) -> None:
    async def busy() -> bytes:
        await asyncio.sleep(0.4)
        return reply(b"", status=503)

    fresh = reply(OLD, "max-age=0, stale-if-error=60")
    case.site.on("/a", lambda asked: fresh if asked.number == 1 else busy())
    await case.get("/a")
    times = [(await case.timed("/a"))[1] for _ in range(10)]
    assert sum(seconds > 0.2 for seconds in times) <= 2, times
    assert len(case.site.to("/a")) <= 3


async def test_b04_a_refresh_that_hangs_blocks_its_key_for_a_while_only(
    site: Site, upstream: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never() -> bytes:
        await asyncio.Event().wait()
        return b""

    monkeypatch.setattr(enginesettings, "_LEASE_MARGIN", 0.1)
    bounds = {"upstream__connect_timeout": 0.2, "upstream__total_timeout": 30, "cache__refresh_backoff": 0.2}
    async with running(**upstream, **bounds) as proxy:
        case = Setting(proxy, site)
        case.site.on(
            "/a",
            lambda asked: never() if asked.number == 2 else reply(OLD, "max-age=0, stale-while-revalidate=60"),
        )
        await case.get("/a")
        await case.get("/a")
        await case.asked("/a", 2)
        # The worker dies: what it was doing never ends, and only its lease can.
        [flight] = proxy.service._kept.flights._under_way
        assert 29 < flight.expires_at - wiring.wall_clock() < 31
        await case.get("/a")
        assert len(site.to("/a")) == 2
        flight.expires_at = 0.0
        assert (await case.get("/a")).body == OLD
        await case.asked("/a", 3)
        assert flight.task is not None and flight.task.cancel()


async def test_b05_an_expired_negative_answer_is_not_joined(case: Setting) -> None:
    missing, found = reply(b"", "max-age=1", status=404), reply(CARD, "max-age=60")
    case.site.on(CARD_PATH, lambda asked: missing if asked.number == 1 else found)
    assert (await case.get(CARD_PATH)).status == 404
    await asyncio.sleep(OVER)
    answers = await asyncio.gather(*(case.get(CARD_PATH) for _ in range(5)))
    assert {answer.status for answer in answers} == {200}
    assert len(case.site.to(CARD_PATH)) == 2


@pytest.mark.parametrize("word", ["must-revalidate", "proxy-revalidate", "s-maxage=0"])
async def test_b06_what_must_be_revalidated_is_not_served_stale(
    site: Site, upstream: dict[str, Any], word: str
) -> None:
    async with running(**upstream, cache__outage_stale=600) as proxy:
        case = Setting(proxy, site)
        lasts = f"max-age=0, {word}, stale-while-revalidate=60, stale-if-error=60"
        case.site.on("/a", lambda _: reply(OLD, lasts, ("ETag", '"1"')))
        await case.get("/a")
        await case.site.down()
        answer = await case.get("/a")
        assert (answer.status, answer.slug) == (504, "origin-unreachable")
        assert (await case.get("/a", method="HEAD")).status == 504


async def test_b07_freshness_counts_from_the_validating_exchange(case: Setting) -> None:
    now = not_modified(("ETag", '"1"'), ("Cache-Control", "max-age=3"))
    hour_ago = format_http_date(wiring.wall_clock() - 3600)
    old = reply(OLD, "max-age=3", ("ETag", '"1"'), ("Date", hour_ago))
    case.site.on("/a", lambda asked: old if asked.number == 1 else now)
    await case.get("/a")
    validated = await case.get("/a")
    assert (validated.status, validated.body) == (200, OLD)
    assert int(validated.get("age") or 0) <= 1
    assert "; hit; ttl=" in ((await case.get("/a")).get("cache-status") or "")
    assert len(case.site.to("/a")) == 2


async def test_b08_a_full_answer_to_a_validation_replaces(case: Setting) -> None:
    old, new = reply(OLD, "max-age=0", ("ETag", '"1"')), reply(NEW, "max-age=10", ("ETag", '"2"'))
    case.site.on("/a", lambda asked: old if asked.number == 1 else new)
    assert [(await case.get("/a")).body for _ in range(3)] == [OLD, NEW, NEW]
    assert len(case.site.to("/a")) == 2


@pytest.mark.parametrize("tag", ['"1"', 'W/"1"', '"W/1"', 'W/"a, b"'])
async def test_b09_the_stored_validator_goes_on_the_wire(case: Setting, tag: str) -> None:
    windows = "max-age=0, stale-while-revalidate=60"
    case.site.on("/a", lambda _: reply(OLD, windows, ("ETag", tag)))
    await case.get("/a")
    await case.get("/a", 'If-None-Match: "mine"')
    await case.asked("/a", 2)
    assert [asked.fields.get("if-none-match") for asked in case.site.to("/a")] == [None, tag]


async def test_b10_every_named_field_selects_and_any_never_matches(case: Setting) -> None:
    def by_service(asked: Asked) -> bytes:
        return reply((asked.fields.get("service") or "").encode(), "max-age=60", ("Vary", "Service"))

    case.site.on("/a", by_service)
    case.site.on("/any", lambda asked: reply(str(asked.number).encode(), "max-age=60", ("Vary", "*")))
    for _ in range(2):
        assert [(await case.get("/a", f"Service: {name}")).body for name in "xy"] == [b"x", b"y"]
    assert len(case.site.to("/a")) == 2
    assert [(await case.get("/any")).body for _ in range(3)] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("path", ["/a", CARD_PATH])
async def test_b11_equal_accept_encodings_are_few_variants(case: Setting, path: str) -> None:
    case.site.on(path, lambda _: reply(CARD, "max-age=60", ("Vary", "Accept-Encoding")))
    weights = ("", ";q=1.0", ";q=0.5")
    orders = [order for order in permutations(("gzip", "br", "zstd")) for _ in weights]
    for n, order in enumerate(orders):
        codings = (", " if n % 2 else ",").join(f"{coding}{weights[n % 3]}" for coding in order)
        assert (await case.get(path, f"Accept-Encoding: {codings}")).body == CARD
    assert len(case.site.to(path)) <= 3


@pytest.mark.parametrize("word", ["Vary: *", "Vary: Cookie", "Cache-Control: private"])
async def test_b12_a_refresh_for_nobody_else_ends_the_shared_copy(case: Setting, word: str) -> None:
    name, _, value = word.partition(": ")
    shared = reply(OLD, "max-age=0, stale-while-revalidate=60")
    case.site.on("/a", lambda asked: shared if asked.number == 1 else reply(NEW, None, (name, value)))
    await case.get("/a")
    assert (await case.get("/a", "Cookie: a=1")).body == OLD
    await case.asked("/a", 2)
    assert (await case.get("/a", "Cookie: a=1")).body == NEW
    assert len(case.site.to("/a")) == 3


async def test_b13_entity_tags_compare_weakly_in_lists_and_by_any(case: Setting) -> None:
    case.site.on("/a", lambda _: reply(OLD, "max-age=60", ("ETag", '"a"')))
    await case.get("/a")
    for condition in ('"a"', 'W/"a"', '"x", "a"', "*"):
        assert (await case.get("/a", f"If-None-Match: {condition}")).status == 304, condition
    for condition in ('"a-gzip"', '"b"', "a"):
        assert (await case.get("/a", f"If-None-Match: {condition}")).status == 200, condition
    assert len(case.site.to("/a")) == 1


LARGE = b'{"name": "Agent", "url": "x", "pad": "' + bytes(range(65, 91)) * 10_000 + b'"}'
CODED = {
    "gzip": ("gzip", gzip.compress(CARD)),
    "large": ("gzip", gzip.compress(LARGE, 0)),
    "chained": ("deflate, gzip", gzip.compress(zlib.compress(LARGE))),
}


@pytest.mark.parametrize(("coding", "body"), CODED.values(), ids=CODED)
async def test_b14_coded_bytes_pass_untouched(case: Setting, coding: str, body: bytes) -> None:
    case.site.on(CARD_PATH, lambda _: reply(body, "max-age=60", ("Content-Encoding", coding)))
    case.site.on("/raw", lambda _: reply(body, "no-store", ("Content-Encoding", coding)))
    for path in (CARD_PATH, CARD_PATH, "/raw"):
        answer = await case.get(path, "Accept-Encoding: gzip, deflate")
        assert (answer.body, answer.get("content-encoding")) == (body, coding)
        assert answer.get("content-length") == str(len(body))
    assert len(case.site.to(CARD_PATH)) == 1


async def test_b15_head_never_stands_in_for_get(case: Setting) -> None:
    def answer(asked: Asked) -> bytes:
        whole = reply(OLD, "max-age=60", ("ETag", '"1"'))
        return whole if asked.method == "GET" else whole.removesuffix(OLD)

    case.site.on("/a", answer)
    head = await case.get("/a", method="HEAD")
    assert (head.status, head.get("content-length")) == (200, str(len(OLD)))
    assert (await case.get("/a")).body == OLD
    get, head = await case.get("/a"), await case.get("/a", method="HEAD")
    hidden = {"age", "date"}
    assert [line for line in head.lines if line[0].lower() not in hidden] == [
        line for line in get.lines if line[0].lower() not in hidden
    ]
    assert [asked.method for asked in case.site.to("/a")] == ["HEAD", "GET"]


async def test_b16_a_part_is_never_the_whole(case: Setting) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.fields.get("range") is None:
            return reply(b"0123456789", "max-age=60")
        return reply(b"234", "max-age=60", ("Content-Range", "bytes 2-4/10"), status=206)

    case.site.on("/a", answer)
    assert (await case.get("/a", "Range: bytes=2-4")).body == b"234"
    assert (await case.get("/a")).body == b"0123456789"
    part = await case.get("/a", "Range: bytes=2-4")
    assert (part.status, part.body, part.get("content-range")) == (206, b"234", "bytes 2-4/10")
    assert len(case.site.to("/a")) == 2


RANGES = {
    "bytes=": 200,
    "bytes=9-1": 200,
    "bytes=999999-": 416,
    "bytes=x-y": 200,
    "bytes=" + ",".join(["0-0"] * 200): 200,
    "lines=1-2": 200,
}


@pytest.mark.parametrize(("ranges", "status"), RANGES.items(), ids=[name[:20] for name in RANGES])
async def test_b17_odd_ranges(case: Setting, ranges: str, status: int) -> None:
    body = gzip.compress(b"0123456789")
    case.site.on("/a", lambda _: reply(body, "max-age=60", ("ETag", '"1"'), ("Content-Encoding", "gzip")))
    await case.get("/a")
    answer = await case.get("/a", f"Range: {ranges}")
    assert (answer.status, answer.body) == (status, body if status == 200 else b"")
    if status == 416:
        assert (answer.get("content-range"), answer.get("content-encoding")) == (f"bytes */{len(body)}", None)
    assert (await case.get("/a", 'If-None-Match: "1"')).get("content-encoding") is None


async def test_b18_a_308_is_kept_and_changes_no_method(case: Setting) -> None:
    moved = (("Location", "/new"), ("Last-Modified", "Fri, 01 Jan 2021 08:00:00 GMT"))
    case.site.on("/old", lambda _: reply(b"", None, *moved, status=308))
    case.site.on("/new", lambda asked: reply(f"{asked.method} {asked.body.decode()}".encode(), "no-store"))
    for _ in range(2):
        answer = await case.get("/old")
        assert (answer.status, answer.get("location")) == (308, f"/https/{HOST}/new")
    # Once for the client, and once for everybody, since its word is recorded.
    assert len(case.site.to("/old")) == 2
    url = f"http://127.0.0.1:{case.proxy.port}/https/{HOST}/old"
    async with aiohttp.ClientSession() as session, session.post(url, data=b"order") as posted:
        assert await posted.text() == "POST order"


async def test_b27_a_host_has_one_spelling_and_one_verdict(case: Setting) -> None:
    case.site.on("/a", lambda _: reply(OLD, "max-age=60"))
    for spelling in ("site.example", "SITE.example.", "sit%65.example", "site.example:443"):
        assert (await case.proxy.get(f"/https/{spelling}/a")).body == OLD, spelling
        forward = await case.proxy.get(f"https://{spelling}/a", f"Host: {spelling}")
        assert forward.body == OLD, spelling
    assert len(case.site.to("/a")) == 1
    full_width = ("%ef%bd%93ite.example", "%ef%bc%91%ef%bc%92%ef%bc%97.0.0.1")
    for ambiguous in ("[site.example]", *full_width, "0x7f.1", "2130706433", "017700000001", "u@site.example"):
        answer = await case.proxy.get(f"/https/{ambiguous}/a")
        assert (answer.status, answer.slug) == (400, "bad-target"), ambiguous


async def test_b33_an_unquoted_entity_tag_still_validates(case: Setting) -> None:
    case.site.on("/a", lambda asked: not_modified(("ETag", "abc")) if asked.number > 1 else first)
    first = reply(OLD, "max-age=0", ("ETag", "abc"))
    await case.get("/a")
    answer = await case.get("/a", 'If-None-Match: "abc"')
    assert (answer.status, answer.body, answer.get("etag")) == (200, OLD, "abc")
    assert case.site.to("/a")[1].fields.get("if-none-match") == "abc"


async def is_degraded(case: Setting) -> bool:
    answer = await case.admin("GET", "/readyz")
    assert answer.status == 200
    return bool(json.loads(answer.body)["status"] == "degraded")


async def slowest_of(case: Setting, count: int) -> float:
    times = []
    for n in range(count):
        answer, seconds = await case.timed(f"/p{n}")
        assert (answer.status, answer.body) == (200, OLD)
        times.append(seconds)
    return sorted(times)[-2]


@pytest.mark.parametrize("how", ["hangs", "fails"])
async def test_b34_a_store_that_hangs_or_fails_delays_nobody_for_long(
    site: Site, upstream: dict[str, Any], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    store = StoreSimulator()
    monkeypatch.setattr(keeping, "open_sqlite", lambda *_: store)
    monkeypatch.setattr(breaker, "FIRST_PAUSE", 0.2)
    monkeypatch.setattr(breaker, "LONGEST_PAUSE", 0.2)
    if how == "hangs":
        store.gate.clear()
    else:
        store.error = OSError("simulated")
    database = f"sqlite:///{upstream['upstream__ca_file']}.db"
    async with running(**upstream, store__url=database) as proxy:
        case = Setting(proxy, site)
        for n in range(40):
            site.on(f"/p{n}", lambda _: reply(OLD, "max-age=60"))
        assert await slowest_of(case, 20) < 0.25
        assert await is_degraded(case)
        assert await case.gauge("discovery_proxy_store_degraded") == 1
        assert await slowest_of(case, 20) < 0.09
        store.gate.set()
        store.error = None
        await asyncio.sleep(0.5)
        await case.get("/p30")
        await asyncio.sleep(0.2)
        assert not await is_degraded(case)
        assert f"https://{HOST}/p30" in store.held


async def test_b34_a_path_that_cannot_be_written_is_used_when_it_can(
    site: Site, upstream: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(breaker, "FIRST_PAUSE", 0.2)
    monkeypatch.setattr(breaker, "LONGEST_PAUSE", 0.2)
    monkeypatch.setattr(service, "TEND_SECONDS", 0.1)
    folder = tmp_path / "folder"
    folder.write_text("a file where the folder should be")
    async with running(**upstream, store__url=f"sqlite:///{folder}/cache.db") as proxy:
        case = Setting(proxy, site)
        site.on("/a", lambda asked: reply(str(asked.number).encode(), "max-age=60"))
        assert (await case.get("/a")).body == (await case.get("/a")).body == b"1"
        assert (await case.get("/a", method="POST")).status == 200
        assert (await case.get("/a")).body == b"3"
        for n in range(5):
            await case.get(f"/p{n}")
        assert await is_degraded(case)
        folder.unlink()
        await asyncio.sleep(0.5)
        await case.get("/p9")
        await asyncio.sleep(0.3)
        assert not await is_degraded(case) and (folder / "cache.db").exists()


async def test_b35_unique_urls_and_empty_tags_cost_what_the_budget_says(
    site: Site, upstream: dict[str, Any]
) -> None:
    async with running(**upstream, memory__max_bytes=2**20) as proxy:
        case = Setting(proxy, site)
        site.on("/a", lambda _: reply(OLD, "max-age=60", ("Surrogate-Key", ""), ("Cache-Tag", " , ")))
        for n in range(1500):
            site.on(f"/u{n}", lambda _: reply(b"x" * 1000, "max-age=60", ("Surrogate-Key", "")))

        async def some(start: int) -> None:
            async with Wire.open(proxy.port) as wire:
                for n in range(start, 1500, 10):
                    await wire.ask(request("GET", f"/https/{HOST}/u{n}"))

        await asyncio.gather(*map(some, range(10)))
        assert 2**19 < await case.gauge("discovery_proxy_cache_bytes") <= 2**20
        assert 0 < await case.gauge("discovery_proxy_cache_entries") < 1024
        await case.get("/a")
        for lines in (["Surrogate-Key: "], ["Surrogate-Key:  "]):
            assert (await case.admin("PURGE", f"/https/{HOST}/a", *lines)).status == 400
        assert (await case.admin("POST", "/admin/purge", order={"tag": ""})).status == 400
        assert "; hit;" in ((await case.get("/a")).get("cache-status") or "")


async def test_b36_a_tag_purge_takes_the_stale_copy_too(case: Setting) -> None:
    windows = "max-age=0, stale-while-revalidate=60, stale-if-error=60"
    case.site.on("/a", lambda _: reply(OLD, windows, ("Surrogate-Key", "t"), ("Vary", "Accept-Language")))
    for language in ("de", "fr"):
        await case.get("/a", f"Accept-Language: {language}")
    purged = await case.admin("POST", "/admin/purge", order={"tag": "t"})
    assert json.loads(purged.body) == {"purged": 2}
    await case.site.down()
    for language in ("de", "fr"):
        answer = await case.get("/a", f"Accept-Language: {language}")
        assert answer.status in (502, 503, 504) and OLD not in answer.body


async def test_b37_a_404_hides_a_publication_for_its_cap_only(site: Site, upstream: dict[str, Any]) -> None:
    async with running(**upstream, cache__negative_ttl=1) as proxy:
        case = Setting(proxy, site)
        paths = (CARD_PATH, "/.well-known/did.json")
        for path in paths:
            site.on(path, lambda _: reply(b"", "max-age=86400", status=404))
            assert (await case.get(path)).status == 404
        site.on(paths[0], lambda _: reply(CARD, "max-age=60"))
        site.on(paths[1], lambda _: reply(b'{"id": "did:web:site.example"}', "max-age=60"))
        await case.admin("POST", "/admin/refresh", order={"url": f"https://{HOST}{paths[1]}"})
        await case.asked(paths[1], 2)
        assert (await case.get(paths[1])).status == 200
        await asyncio.sleep(OVER)
        assert (await case.get(paths[0])).status == 200


HEADERS = {
    "9 KiB in one field": [("Link", "<https://site.example/x>; title=" + "a" * 9 * 1024)],
    "40 KiB in all": [(f"X-{n}", "b" * 4096) for n in range(10)],
    "200 fields": [(f"X-{n}", "c") for n in range(200)],
}


@pytest.mark.parametrize("fields", HEADERS.values(), ids=HEADERS)
async def test_b38_large_heads_pass(case: Setting, fields: list[tuple[str, str]]) -> None:
    case.site.on("/a", lambda _: reply(OLD, "max-age=60", *fields))
    for _ in range(2):
        answer = await case.get("/a")
        assert answer.status == 200
        assert set(fields) - {("Link", fields[0][1])} <= set(answer.lines)
        assert sum(len(value) for _, value in answer.lines) >= sum(len(value) for _, value in fields)


@pytest.mark.parametrize(
    "fields", [[("X-Long", "x" * 70_000)], [(f"X-{n}", "y" * 4096) for n in range(20)]], ids=["one", "all"]
)
async def test_b38_heads_past_the_limit_are_502_with_a_reason(case: Setting, fields: list[tuple[str, str]]) -> None:
    case.site.on("/a", lambda _: reply(OLD, "max-age=60", *fields))
    answer = await case.get("/a")
    assert (answer.status, answer.slug) == (502, "origin-invalid-response")


async def test_b38_an_update_past_the_limit_is_fetched_whole(case: Setting) -> None:
    first = reply(OLD, "max-age=0", ("ETag", '"1"'), *((f"X-{n}", "a" * 4096) for n in range(10)))
    update = not_modified(("ETag", '"1"'), *((f"Y-{n}", "b" * 4096) for n in range(10)))
    case.site.on("/a", lambda asked: [b"", first, update, reply(NEW, "max-age=60")][asked.number])
    assert [(await case.get("/a")).body for _ in range(3)] == [OLD, NEW, NEW]
    assert [asked.fields.get("if-none-match") for asked in case.site.to("/a")] == [None, '"1"', None]


async def test_b39_what_is_not_in_the_key_does_not_reach_the_origin(case: Setting) -> None:
    case.site.on("/a", lambda asked: reply(repr(asked.fields.lines).encode(), "max-age=60"))
    poison = ("X-Forwarded-Host: evil", "X-Forwarded-Proto: evil", "Forwarded: host=evil", "X-Original-URL: /evil")
    assert b"evil" not in (await case.get("/a", *poison)).body
    await case.proxy.get(f"/https/{HOST}/b", "Host: evil")
    assert case.site.to("/b")[0].fields.get_all("host") == (HOST,)
    assert b"evil" not in (await case.get("/a")).body


async def test_b40_credentials_and_cookies_are_not_replayed(case: Setting) -> None:
    def personal(asked: Asked) -> bytes:
        return reply((asked.fields.get("authorization") or "nobody").encode(), "max-age=60")

    case.site.on("/a", personal)
    case.site.on("/c", lambda _: reply(OLD, "max-age=60", ("Set-Cookie", "a=1")))
    tokens = [(await case.get("/a", f"Authorization: Bearer {token}")).body for token in "xyx"]
    assert tokens == [b"Bearer x", b"Bearer y", b"Bearer x"]
    assert (await case.get("/a")).body == b"nobody"
    assert [(await case.get("/c")).get("set-cookie") for _ in range(2)] == ["a=1", None]
    assert len(case.site.to("/c")) == 1


async def test_b41_many_refreshes_at_once_are_bounded_and_none_is_lost(
    site: Site, upstream: dict[str, Any]
) -> None:
    running_now: list[int] = [0, 0]

    async def slowly() -> bytes:
        running_now[0] += 1
        running_now[1] = max(running_now)
        await asyncio.sleep(0.005)
        running_now[0] -= 1
        return reply(NEW, "max-age=60")

    async with running(**upstream, cache__background_refreshes=8) as proxy:
        case = Setting(proxy, site)
        paths = [f"/{n}" for n in range(500)]
        stale = reply(OLD, "max-age=0, stale-while-revalidate=60")
        for path in paths:
            site.on(path, lambda asked: stale if asked.number == 1 else slowly())

        async def all_once() -> set[bytes]:
            async with Wire.open(proxy.port) as wire:
                return {(await wire.ask(request("GET", f"/https/{HOST}{path}"))).body for path in paths}

        assert await all_once() == {OLD}
        running_now[:] = [0, 0]
        assert await all_once() == {OLD}
        async with asyncio.timeout(20):
            while len(site.asked) < 1000:
                gc.collect()
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.2)
        assert await all_once() == {NEW}
        assert 1 < running_now[1] <= 8 and len(site.asked) == 1000
        assert await case.gauge("discovery_proxy_background_refresh_inflight") == 0


AGES = {
    "malformed Date": ("Date", "Sat, 01 Oct 2022 7:19:16 GMT"),
    "future Date": ("Date", "Fri, 15 Jan 2100 08:00:00 GMT"),
    "negative Age": ("Age", "-5"),
    "list of Ages": ("Age", "1, 2"),
}


@pytest.mark.parametrize("field", AGES.values(), ids=AGES)
async def test_b42_no_field_makes_a_negative_age_or_lifetime(case: Setting, field: tuple[str, str]) -> None:
    case.site.on("/a", lambda _: reply(OLD, "max-age=60", field))
    await case.get("/a")
    answer = await case.get("/a")
    assert 0 <= int(answer.get("age") or "") <= 2
    status = answer.get("cache-status") or ""
    assert "; hit; ttl=5" in status or "; hit; ttl=60" in status


class Child:
    """A proxy in a process of its own, over an SQLite file."""

    def __init__(self, process: Process, proxy: Running) -> None:
        self.process = process
        self.proxy = proxy

    async def kill(self) -> None:
        """As a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


@asynccontextmanager
async def child(folder: Path, upstream: dict[str, Any]) -> AsyncIterator[tuple[Child, dict[str, int]]]:
    sections = {name.partition("__")[2]: value for name, value in upstream.items()}
    document = {
        "listen": {"port": 0},
        "admin": {"port": 0},
        "store": {"url": f"sqlite:///{folder}/cache.db"},
        "upstream": sections,
    }
    config = folder / "proxy.yaml"
    config.write_text(yaml.safe_dump(document))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "proxy", "serve", "--config", str(config), stdout=PIPE, stderr=DEVNULL, cwd=_ROOT
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(15):
            while (entry := json.loads(await process.stdout.readline()))["msg"] != "serving":
                pass
        ports = {name: int(entry[name].rpartition(":")[2]) for name in ("data", "admin")}
        yield Child(process, Running(None, ports["data"], ports["admin"])), ports  # type: ignore[arg-type]
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_b04_b36_after_a_kill_what_was_stored_is_there_and_what_was_purged_is_not(
    site: Site, upstream: dict[str, Any], tmp_path: Path
) -> None:
    async def hangs() -> bytes:
        await asyncio.Event().wait()
        return b""

    for path in ("/kept", "/purged", "/tagged", "/posted"):
        site.on(
            path, lambda _: reply(OLD, "max-age=600", ("Cache-Tag", "t") if _.path == "/tagged" else ("X", "y"))
        )
    windows = reply(OLD, "max-age=0, stale-while-revalidate=600")
    site.on("/refreshed", lambda asked: hangs() if asked.number == 2 else windows)
    paths = ("/kept", "/purged", "/tagged", "/posted", "/refreshed")
    async with child(tmp_path, upstream) as (first, _):
        case = Setting(first.proxy, site)
        for path in paths:
            assert (await case.get(path)).body == OLD
        await asyncio.sleep(1)
        assert (await case.get("/refreshed")).body == OLD
        await case.asked("/refreshed", 2)
        order = {"url": f"https://{HOST}/purged"}
        assert (await case.admin("POST", "/admin/purge", order=order)).status == 200
        assert (await case.admin("POST", "/admin/purge", order={"tag": "t"})).status == 200
        assert (await case.get("/posted", method="POST")).status == 200
        await first.kill()
    async with child(tmp_path, upstream) as (second, _):
        case = Setting(second.proxy, site)
        assert (await case.get("/refreshed")).body == OLD
        await case.asked("/refreshed", 3)
        await site.down()
        got = {path: (await case.get(path)).status for path in paths}
        assert got == {"/kept": 200, "/purged": 504, "/tagged": 504, "/posted": 504, "/refreshed": 200}
