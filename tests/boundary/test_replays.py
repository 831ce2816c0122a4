"""Requests under an Idempotency-Key, whatever their bodies and answers are like (CONTRACT §8)."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from proxy.engine.boundary.replays import MOST_BODY
from tests.end_to_end.running import Running, Wire, request, running, until
from tests.simulators.wire import Ending, ScriptedOrigin

HEAD: Final = b"HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n"
ANSWER: Final = HEAD + b"abcdef"


def posting(origin: ScriptedOrigin, key: str = "k", body: bytes = b"x", path: str = "/x") -> bytes:
    lines = (f"Idempotency-Key: {key}", f"Content-Length: {len(body)}")
    return request("POST", f"/http/127.0.0.1:{origin.port}{path}", *lines, body=body)


async def post(proxy: Running, octets: bytes) -> tuple[int, bytes, bool]:
    reply = await proxy.ask(octets, "POST")
    return reply.status, reply.body, reply.get("idempotent-replayed") == "true"


@pytest.mark.parametrize("size", [0, 1, MOST_BODY])
async def test_a_request_is_done_once(size: int) -> None:
    async with ScriptedOrigin([ANSWER]) as origin, running() as proxy:
        octets = posting(origin, body=b"a" * size)
        assert await post(proxy, octets) == (201, b"abcdef", False)
        assert await post(proxy, octets) == (201, b"abcdef", True)
        assert len(origin.requests) == 1


async def test_a_large_request_is_passed_on_as_it_comes() -> None:
    async with ScriptedOrigin([ANSWER]) as origin, running() as proxy:
        octets = posting(origin, body=b"a" * (MOST_BODY + 1))
        assert [(await post(proxy, octets))[2] for _ in range(2)] == [False, False]
        assert all(one.endswith(b"a" * (MOST_BODY + 1)) for one in origin.requests) and len(origin.requests) == 2


@pytest.mark.parametrize("status", [401, 403, 409, 429, 500, 503])
async def test_what_is_no_result_is_asked_again(status: int) -> None:
    answer = b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % status
    async with ScriptedOrigin([answer]) as origin, running() as proxy:
        for _ in range(2):
            assert await post(proxy, posting(origin)) == (status, b"", False)
        assert len(origin.requests) == 2


async def test_events_go_on_as_they_come() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    async with (
        ScriptedOrigin([(head + b"data: 1\n\n", Ending.STAY)]) as origin,
        running() as proxy,
        Wire.open(proxy.port) as wire,
    ):
        await wire.send(posting(origin))
        assert (await wire.head()).status == 200
        assert b"data: 1" in await asyncio.wait_for(wire.reader.readuntil(b"1\n\n"), 2)


async def test_a_slow_answer_goes_on_and_is_kept() -> None:
    """Its client reads it as it comes; who asks meanwhile waits for all of it."""
    goes_on = asyncio.Event()
    async with (
        ScriptedOrigin([(HEAD + b"abc", goes_on, b"def")]) as origin,
        running(upstream__total_timeout=5) as proxy,
        asyncio.TaskGroup() as together,
        Wire.open(proxy.port) as wire,
    ):
        await wire.send(posting(origin))
        assert (await wire.head()).status == 201
        assert await wire.reader.readexactly(3) == b"abc"
        other = together.create_task(post(proxy, posting(origin)))
        await asyncio.sleep(0.05)
        assert not other.done()
        goes_on.set()
        assert await wire.reader.readexactly(3) == b"def"
        assert await other == (201, b"abcdef", True)
        assert len(origin.requests) == 1


async def test_the_result_is_there_when_its_client_has_left() -> None:
    goes_on = asyncio.Event()
    async with ScriptedOrigin([(goes_on, ANSWER)]) as origin, running() as proxy:
        async with Wire.open(proxy.port) as wire:
            await wire.send(posting(origin))
            await until(lambda: bool(origin.requests))
        goes_on.set()
        assert await post(proxy, posting(origin)) == (201, b"abcdef", True)
        assert len(origin.requests) == 1


async def test_who_leaves_in_the_middle_holds_up_nobody() -> None:
    first = (HEAD + b"abc", Ending.STAY)
    async with ScriptedOrigin([first], [ANSWER]) as origin, running() as proxy:
        async with Wire.open(proxy.port) as wire:
            await wire.send(posting(origin))
            await wire.head()
        assert await post(proxy, posting(origin)) == (201, b"abcdef", False)


async def test_another_request_under_the_key() -> None:
    async with ScriptedOrigin([ANSWER]) as origin, running() as proxy:
        await post(proxy, posting(origin))
        for other in (posting(origin, body=b"y"), posting(origin, path="/y")):
            assert (await post(proxy, other))[0] == 422
        assert (await post(proxy, posting(origin, key="other", body=b"y")))[0] == 201
