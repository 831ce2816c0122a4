"""What is passed on: unsafe methods and what they invalidate, HEAD, upgrades, faults (RFC 9111 §4.3.5, §4.4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from proxy.caching.generations import Mark
from proxy.engine.outcome import Served, Switched
from proxy.http.fields import Fields
from proxy.http.messages import ResponseHead
from proxy.ports import OriginFault, StoreUnavailable, Upgraded
from proxy.stores.generations import MemoryGenerations
from tests.engine.samples import parameters
from tests.simulators.engine import SITE, Simulation, engine, request
from tests.simulators.origin import Reply


async def holding(*paths: str, **options: Any) -> Simulation:
    """An engine that holds each path for a minute."""
    e = engine(**options)
    for path in paths:
        e.origin.respond(path, max_age=60, body=b"old")
        await e.ask(path)
    return e


UNSAFE = {
    "POST 200": ("POST", Reply(200), True),
    "PUT 201": ("PUT", Reply(201), True),
    "DELETE 204": ("DELETE", Reply(204), True),
    "PATCH 200": ("PATCH", Reply(200), True),
    "unknown method": ("FROB", Reply(200), True),
    "method names have case": ("get", Reply(200), True),
    "POST 303": ("POST", Reply(303, Fields([("Location", "/b")])), True),
    "POST 404": ("POST", Reply(404), False),
    "POST 500": ("POST", Reply(500), False),
    "OPTIONS 200": ("OPTIONS", Reply(200), False),
    "TRACE 200": ("TRACE", Reply(200), False),
}


@pytest.mark.parametrize(("method", "reply", "invalidates"), UNSAFE.values(), ids=UNSAFE)
async def test_which_requests_invalidate(method: str, reply: Reply, invalidates: bool) -> None:
    e = await holding("/a")
    e.origin.answer("/a", lambda _: reply)
    got = await e.ask("/a", method=method)
    assert (got.status, got.served) == (reply.status, Served.BYPASS)
    assert parameters(got.cache_status) == {"fwd": "method", "fwd-status": reply.status}
    e.origin.respond("/a", max_age=60, body=b"new")
    assert (await e.ask("/a")).body == (b"new" if invalidates else b"old")


REFERENCES = {
    "Location": ("Location", "/b", True),
    "Content-Location": ("Content-Location", f"{SITE}/b", True),
    "relative": ("Location", "b", True),
    "another origin": ("Location", "https://other.example/b", False),
    "another scheme": ("Location", "http://example.com/b", False),
    "nonsense": ("Location", "http://[", False),
    "other fields": ("Link", "</b>", False),
}


@pytest.mark.parametrize(("name", "reference", "invalidates"), REFERENCES.values(), ids=REFERENCES)
async def test_what_else_is_invalidated(name: str, reference: str, invalidates: bool) -> None:
    paths = ("/a", "/b", "https://other.example/b", "http://example.com/b")
    e = await holding(*paths)
    e.origin.answer("/a", lambda _: Reply(200, Fields([(name, reference)])))
    await e.ask("/a", method="POST")
    assert len(e.memory) == (2 if invalidates else 3)
    assert ((await e.ask("/b")).served is Served.FRESH) is not invalidates


async def test_the_old_is_gone_before_the_answer_is_given() -> None:
    e = await holding("/a")
    e.origin.respond("/a", body=b"done")
    answer = await e.gateway.handle(request("/a", method="POST"))
    assert e.store.peek(f"{SITE}/a") == ()
    assert answer.outcome.served is Served.BYPASS


@pytest.mark.parametrize("fields", [{}, {"Authorization": "Bearer a"}], ids=["shared fill", "fill on its own"])
async def test_a_fill_under_way_during_an_unsafe_request_is_not_stored(fields: dict[str, str]) -> None:
    e = engine()
    e.origin.respond("/a", cache_control="public, max-age=60", body=b"old")
    e.origin.hold()
    before = e.start("/a", fields)
    await e.origin.arrived(1)
    held = e.origin.leave_held()
    await e.ask("/a", method="POST")
    e.origin.respond("/a", cache_control="public, max-age=60", body=b"new")
    held.set()
    assert (await before).body == b"new"
    assert (await e.ask("/a", fields)).body == b"new"


async def test_what_is_stored_nowhere_costs_no_mark() -> None:
    e = engine()
    e.origin.respond("/a")
    await e.ask("/a", method="POST")
    assert len(e.generations.marks) == 0


class Unwritable(MemoryGenerations):
    def mark(self, scopes: tuple[str, ...], now: float, *, soft: bool) -> None:
        super().mark(scopes, now, soft=soft)
        raise StoreUnavailable("simulated")

    @property
    def marks(self) -> Mapping[str, Mark]:
        return super().marks


async def test_b34_marks_that_cannot_be_written_fail_no_request_and_still_hold() -> None:
    e = await holding("/a", generations=Unwritable())
    assert (await e.ask("/a", method="POST")).status == 200
    e.origin.respond("/a", max_age=60, body=b"new")
    assert (await e.ask("/a")).body == b"new"


async def test_an_answer_whose_effects_cannot_be_noted_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    e = await holding("/a")

    async def hangs(key: str) -> int:
        await asyncio.Event().wait()
        return 0

    monkeypatch.setattr(e.store, "may_hold", hangs)
    client = e.start("/a", method="POST")
    await e.origin.arrived(2)
    await e.settle()
    client.cancel()
    await e.settle()
    assert client.cancelled() and e.origin.responses[1].closed


async def pieces() -> AsyncIterator[bytes]:
    for piece in (b"a", b"b", b""):
        yield piece


@pytest.mark.parametrize("body", [b"ab", None, pieces], ids=["whole", "none", "streamed"])
async def test_bodies_are_passed_on(body: Any) -> None:
    e = engine()
    e.origin.respond("/a")
    await e.ask("/a", method="PUT", body=body() if callable(body) else body)
    assert e.origin.requests[0].body == (None if body is None else b"ab")


async def test_interim_responses_are_passed_on() -> None:
    e = engine()
    told: list[ResponseHead] = []
    e.origin.answer("/a", lambda _: Reply(interim=(ResponseHead(102, "Processing", Fields()),)))
    await e.ask("/a", method="POST", interim=told.append)
    assert [head.status for head in told] == [102]


@pytest.mark.parametrize("fault", OriginFault)
async def test_faults_are_problems_and_invalidate_nothing(fault: OriginFault) -> None:
    e = await holding("/a")
    e.origin.fail(fault)
    got = await e.ask("/a", method="POST")
    assert (got.outcome.detail, got.served) == (fault.value, Served.ERROR)
    assert e.noted.upstreams[-1] == ("pass", fault.value)
    assert (await e.ask("/a")).served is Served.FRESH


async def test_an_unsafe_request_never_waits_nor_is_repeated() -> None:
    e = engine()
    e.origin.respond("/a")
    e.origin.hold()
    clients = [e.start("/a", method="POST") for _ in range(3)]
    await e.origin.arrived(3)
    e.origin.release()
    await asyncio.gather(*clients)
    assert len(e.origin.requests) == 3


HEADS: dict[str, tuple[dict[str, Any], bool]] = {
    "same": ({"etag": '"1"', "body": b"old"}, True),
    "another entity tag": ({"etag": '"2"', "body": b"old"}, False),
    "another length": ({"etag": '"1"', "body": b"longer"}, False),
    "404": ({"status": 404, "etag": '"2"'}, True),
}


@pytest.mark.parametrize(("now", "stays"), HEADS.values(), ids=HEADS)
async def test_a_head_marks_stale_what_has_changed_and_refreshes_nothing(now: dict[str, Any], stays: bool) -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, etag='"1"', body=b"old")
    await e.ask("/a")
    e.clock += 20
    e.origin.respond("/a", **now)
    got = await e.ask("/a", {"Cache-Control": "no-cache"}, method="HEAD")
    assert (got.body, parameters(got.cache_status)["fwd"]) == (b"", "request")
    after = await e.ask("/a")
    assert (after.served is Served.FRESH) is stays
    if stays:
        assert after.field("Age") == "20"


async def test_b15_a_head_creates_nothing() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"one")
    head = await e.ask("/a", method="HEAD")
    assert (head.status, head.body, head.field("Content-Length"), len(e.memory)) == (200, b"", "3", 0)
    assert (await e.ask("/a")).body == b"one"
    head = await e.ask("/a", method="HEAD")
    assert (head.served, len(e.origin.requests)) == (Served.FRESH, 2)


class Stream:
    async def read(self) -> bytes:
        return b""

    async def write(self, data: bytes) -> None:
        pass

    def write_eof(self) -> None:
        pass

    def close(self) -> None:
        pass


UPGRADE = {"Upgrade": "websocket", "Sec-WebSocket-Key": "x"}


async def test_an_upgrade_that_is_agreed_to() -> None:
    e = engine()
    agreed = Upgraded(ResponseHead(101, "Switching Protocols", Fields([("Upgrade", "websocket")])), Stream())
    e.origin.upgraded = agreed
    answer = await e.gateway.handle(request("/a", UPGRADE))
    assert isinstance(answer, Switched) and answer.upgraded is agreed
    assert (answer.outcome.status, answer.outcome.served) == (101, Served.BYPASS)
    assert e.origin.requests[0].field("Upgrade") == "websocket"


async def test_an_upgrade_that_is_answered_otherwise() -> None:
    e = engine()
    e.origin.respond("/a", 426, body=b"no")
    got = await e.ask("/a", UPGRADE)
    assert (got.status, got.body, parameters(got.cache_status)["fwd"]) == (426, b"no", "bypass")


async def test_an_upgrade_that_fails() -> None:
    e = engine()
    e.origin.fail(OriginFault.TIMEOUT)
    assert (await e.ask("/a", UPGRADE)).status == 504
