"""Refreshes behind stale answers: one per key, bounded, backed off, lost to nobody (RFC 5861 §3; B01, B03, B41)."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from proxy.engine import refresh
from proxy.engine.collapse import Failed, FillEnd, NotStorable
from proxy.engine.outcome import Served
from proxy.engine.refresh import as_refresh
from proxy.engine.settings import EngineSettings
from proxy.http.problems import Problem, Slug
from proxy.ports import OriginFault
from tests.engine.samples import WINDOWS, parameters
from tests.simulators.engine import Simulation, engine, request


async def stale(settings: EngineSettings | None = None, fields: dict[str, str] | None = None) -> Simulation:
    """An engine with `/a` within its stale-while-revalidate."""
    e = engine(settings)
    e.origin.respond("/a", cache_control=WINDOWS, etag='"1"', body=b"old")
    await e.ask("/a", fields or {})
    e.clock += 20
    return e


async def test_b01_stale_at_once_one_conditional_request_and_then_the_new_copy() -> None:
    e = await stale()
    e.origin.respond("/a", cache_control=WINDOWS, etag='"2"', body=b"new")
    e.origin.hold()
    for _ in range(10):
        got = await e.ask("/a")
        assert (got.body, got.served, got.field("Age")) == (b"old", Served.SWR, "20")
        assert parameters(got.cache_status) == {"hit": True, "ttl": -10}
    await e.origin.arrived(2)
    await e.settle()
    assert [sent.field("If-None-Match") for sent in e.origin.requests] == [None, '"1"']
    assert e.refresher.inflight == 1
    e.origin.release()
    await e.refreshed()
    got = await e.ask("/a")
    assert (got.body, got.served) == (b"new", Served.FRESH)
    assert (e.refresher.inflight, e.noted.refreshes, len(e.origin.requests)) == (0, ["done"], 2)


async def test_a_304_makes_it_fresh_again() -> None:
    e = await stale()
    await e.ask("/a")
    await e.refreshed()
    got = await e.ask("/a")
    assert (got.body, got.served, got.field("Age")) == (b"old", Served.FRESH, "0")


async def test_a_stale_head_starts_a_get() -> None:
    e = await stale()
    got = await e.ask("/a", method="HEAD")
    await e.refreshed()
    assert got.served is Served.SWR and [sent.method for sent in e.origin.requests] == ["GET", "GET"]


FAILURES: dict[str, dict[str, Any]] = {
    "500": {"status": 500},
    "503 no-store": {"status": 503, "cache_control": "no-store"},
    "429": {"status": 429},
    "403 that wants to be kept": {"status": 403, "cache_control": "max-age=3600"},
    "cut": {"max_age": 60, "body": b"n", "cut": True},
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
async def test_a_failed_refresh_touches_no_client_and_backs_off(answer: dict[str, Any]) -> None:
    e = await stale(EngineSettings(refresh_backoff=5.0))
    e.origin.respond("/a", **answer)
    asked = []
    for _ in range(30):
        got = await e.ask("/a")
        await e.refreshed()
        assert (got.body, got.served) == (b"old", Served.SWR)
        asked.append(len(e.origin.requests))
        e.clock += 1
    assert asked[0] == asked[4] == 2 and asked[5] == asked[14] == 3 and asked[15] == asked[-1] == 4
    assert set(e.noted.refreshes) == {"failed"} and e.origin.leaked == []


async def test_success_ends_the_back_off() -> None:
    e = await stale()
    e.origin.fail()
    await e.ask("/a")
    await e.refreshed()
    e.origin.recover()
    e.clock += 5
    await e.ask("/a")
    await e.refreshed()
    assert (await e.ask("/a")).served is Served.FRESH
    assert e.noted.refreshes == ["failed", "done"]


async def test_b03_stale_if_error_hides_a_slow_failure_from_all_but_the_first() -> None:
    e = await stale()
    e.clock += 100
    e.origin.fail(OriginFault.TIMEOUT)
    first = await e.ask("/a")
    assert (first.served, parameters(first.cache_status)["fwd"]) == (Served.SIE, "stale")
    e.origin.hold()
    for _ in range(10):
        got = await e.ask("/a")
        assert (got.body, got.served, parameters(got.cache_status)["hit"]) == (b"old", Served.SIE, True)
    assert len(e.origin.requests) == 2
    e.clock += 5
    got = await e.ask("/a")
    assert got.served is Served.SIE
    await e.origin.arrived(3)
    e.origin.recover()
    e.origin.release()
    await e.refreshed()


async def test_b12_a_refresh_that_may_not_be_stored_ends_the_old_copy() -> None:
    e = await stale()
    e.origin.respond("/a", max_age=60, vary="*", body=b"new")
    assert (await e.ask("/a")).served is Served.SWR
    await e.refreshed()
    assert (await e.ask("/a")).body == b"new"
    assert len(e.origin.requests) == 3 and e.origin.leaked == []


async def test_b12_a_refresh_that_varies_by_cookie_is_for_nobody_else() -> None:
    e = await stale()
    e.origin.respond("/a", max_age=60, vary="Cookie", body=b"anonymous")
    assert (await e.ask("/a", {"Cookie": "a=1"})).served is Served.SWR
    await e.refreshed()
    e.origin.respond("/a", max_age=60, vary="Cookie", body=b"of a")
    assert (await e.ask("/a", {"Cookie": "a=1"})).body == b"of a"
    assert (await e.ask("/a")).body == b"anonymous"


async def test_a_refresh_carries_nothing_personal() -> None:
    personal = {
        "Authorization": "Bearer a",
        "Cookie": "a=1",
        "Cache-Control": "max-stale",
        "Pragma": "x",
        "If-Match": "*",
        "If-Unmodified-Since": "x",
        "Accept": "application/json",
    }
    sent = as_refresh(request("/a", personal, "HEAD"))
    assert (sent.method, sent.fields.lines) == ("GET", (("Accept", "application/json"),))
    e = await stale()
    await e.ask("/a", {"Authorization": "Bearer a", "Cookie": "a=1", "Range": "bytes=0-0", "If-None-Match": "*"})
    await e.refreshed()
    assert set(dict(e.origin.requests[1].request.fields)) == {"If-None-Match"}


async def test_b41_many_stale_keys_none_lost_never_more_than_the_cap() -> None:
    e = engine(EngineSettings(background_refreshes=8))
    paths = [f"/{n}" for n in range(500)]
    for path in paths:
        e.origin.respond(path, cache_control=WINDOWS, etag='"1"', body=b"old")
        await e.ask(path)
    e.clock += 20
    for path in paths:
        e.origin.respond(path, max_age=60, etag='"2"', body=b"new")
    e.origin.hold()
    for path in paths:
        assert (await e.ask(path)).served is Served.SWR
    await e.settle()
    assert e.refresher.inflight == 8 and len(e.origin.requests) == 508
    e.origin.release()
    while len(e.flights):
        gc.collect()
        assert e.refresher.inflight <= 8
        for _ in range(100):
            await asyncio.sleep(0)
    assert [(await e.ask(path)).body for path in paths] == [b"new"] * 500
    assert len(e.noted.refreshes) == 500 and len(e.origin.requests) == 1000


async def busy(settings: EngineSettings) -> Simulation:
    """An engine whose only place is taken by `/slow`, and `/a` within its stale-while-revalidate."""
    e = await stale(settings)
    e.origin.respond("/slow", cache_control=WINDOWS, body=b"slow")
    await e.ask("/slow")
    e.clock += 20
    e.origin.hold()
    await e.ask("/slow")
    await e.origin.arrived(3)
    return e


async def test_waiting_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh, "MAX_WAITING", 1)
    e = await busy(EngineSettings(background_refreshes=1))
    assert e.refresher.start(request("/1"), None, "1")
    assert not e.refresher.start(request("/2"), None, "2")
    e.origin.release()
    await e.refreshed()
    assert e.origin.paths[3:] == ["/1"]
    assert e.refresher.start(request("/2"), None, "2")
    await e.refreshed()


async def test_a_client_does_not_queue_behind_background_work() -> None:
    e = await busy(EngineSettings(background_refreshes=1))
    assert (await e.ask("/a")).served is Served.SWR
    await e.settle()
    e.clock += 90
    client = e.start("/a")
    await e.origin.arrived(4)
    follower = e.start("/a")
    await e.settle()
    e.origin.release()
    assert [(await each).served for each in (client, follower)] == [Served.REVALIDATED] * 2
    await e.refreshed()
    assert e.origin.paths == ["/a", "/slow", "/slow", "/a"] and e.refresher.inflight == 0


async def test_a_wait_longer_than_a_lease_is_still_one_refresh() -> None:
    e = await busy(EngineSettings(background_refreshes=1))
    for _ in range(3):
        assert (await e.ask("/a")).served is Served.SWR
        e.clock += 21
    e.origin.release()
    await e.refreshed()
    assert e.origin.paths[3:] == ["/a"]


async def test_a_wait_from_before_a_purge_is_given_up() -> None:
    e = await busy(EngineSettings(background_refreshes=1))
    await e.ask("/a")
    e.generations.mark(("uri:x",), e.clock(), soft=False)
    assert (await e.ask("/a")).served is Served.SWR
    e.origin.release()
    await e.refreshed()
    assert e.origin.paths[3:] == ["/a"]
    assert (await e.ask("/a")).served is Served.FRESH


async def test_a_cancelled_wait_gives_its_place_in_the_queue_back() -> None:
    e = await busy(EngineSettings(background_refreshes=1))
    await e.ask("/a")
    await e.settle()
    await e.flights.close(0.0)
    assert len(e.refresher._queued) == 0 and e.refresher.inflight == 0


async def test_nothing_starts_while_one_is_under_way_or_held_off() -> None:
    e = await stale()
    e.origin.hold()
    assert e.refresher.start(request("/b"), None, "b")
    assert not e.refresher.start(request("/b"), None, "b")
    e.origin.fail()
    assert e.refresher.start(request("/c"), None, "c")
    e.origin.release()
    await e.refreshed()
    assert not e.refresher.start(request("/c"), None, "c")


async def test_a_purge_in_between_starts_another() -> None:
    e = await stale()
    e.origin.hold()
    assert e.refresher.start(request("/b"), None, "b")
    e.generations.mark(("uri:x",), e.clock(), soft=False)
    assert e.refresher.start(request("/b"), None, "b")
    e.origin.release()
    await e.refreshed()


async def test_what_counts_as_failed() -> None:
    e = engine()
    problem = Failed(Problem(Slug.INTERNAL, ""), None, 0.0)
    ends: list[tuple[FillEnd, bool]] = [(problem, True)]
    for status, failed in ((200, False), (404, False), (403, True), (429, True)):
        e.origin.respond("/a", status, cache_control="no-store")
        ends.append((NotStorable(await e.gateway.handle(request("/a"))), failed))  # type: ignore[arg-type]
    assert [refresh.has_failed(end) for end, _ in ends] == [failed for _, failed in ends]
