"""Connections and bodies: what is used again, what is read how far, and what is let go of."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

import pytest

from proxy.caching.freshness import Exchange
from proxy.http.messages import ResponseHead
from proxy.ports import OriginFault, OriginUnavailable, Overflow
from proxy.upstream.origin import UpstreamLimits
from tests.simulators.wire import Ending, Parts, Reply, ScriptedOrigin
from tests.upstream.loopback import OK, client, failure, message, request_to

ABC = message(b"Content-Length: 3", body=b"abc")
COMPRESSED = gzip.compress(b"{}" * 200_000)

LENGTH = b"Content-Length: 3"
TRAILED = b"1;x=y\r\na\r\n2\r\nbc\r\n0\r\nT: 1\r\n\r\n"
CODED = b"Content-Encoding: gzip"
WHOLE: dict[str, tuple[str, bytes, bytes]] = {
    "length": ("GET", ABC, b"abc"),
    "chunked": ("GET", message(b"Transfer-Encoding: Chunked", body=TRAILED), b"abc"),
    "until the connection ends": ("GET", message(body=b"abc"), b"abc"),
    "HTTP/1.0": ("GET", message(status=b"HTTP/1.0 200 OK", body=b"abc"), b"abc"),
    "HEAD": ("HEAD", message(LENGTH), b""),
    "304": ("GET", message(LENGTH, status=b"HTTP/1.1 304 Not Modified"), b""),
    "204": ("GET", message(status=b"HTTP/1.1 204 No Content"), b""),
    "status 999": ("GET", message(LENGTH, status=b"HTTP/1.1 999 ", body=b"abc"), b"abc"),
    "redirect": ("GET", message(b"Location: /b", LENGTH, status=b"HTTP/1.1 302 F", body=b"abc"), b"abc"),
    "Upgrade offered": ("GET", message(b"Connection: Upgrade", b"Upgrade: h2", LENGTH, body=b"abc"), b"abc"),
    "coded": ("GET", message(CODED, b"Content-Length: %d" % len(COMPRESSED), body=COMPRESSED), COMPRESSED),
    "falsely called coded": ("GET", message(CODED, LENGTH, body=b"abc"), b"abc"),
    "bare LF": ("GET", b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", b"abc"),
}


@pytest.mark.parametrize(("method", "sent", "body"), WHOLE.values(), ids=WHOLE)
async def test_body_arrives_as_it_was_sent(method: str, sent: bytes, body: bytes) -> None:
    async with ScriptedOrigin([sent]) as origin, client() as upstream:
        response = await upstream.fetch(request_to(origin, method))
        assert await response.read(10_000_000) == body
        assert len(origin.requests) == 1
        response.close()


async def test_interim_responses_are_passed_on() -> None:
    statuses = (100, 102, 103, 104, 103)
    early = b"".join(message(b"Link: </%d>" % status, status=b"HTTP/1.1 %d E" % status) for status in statuses)
    heard: list[ResponseHead] = []
    async with ScriptedOrigin([early + OK]) as origin, client() as upstream:
        response = await upstream.fetch(request_to(origin), interim=heard.append)
        assert [(head.status, head.fields.get("link")) for head in heard] == [
            (102, "</102>"),
            (103, "</103>"),
            (103, "</103>"),
        ]
        assert await response.read(9) == b"hi"


async def test_interim_responses_are_dropped_when_nobody_listens() -> None:
    async with ScriptedOrigin([message(status=b"HTTP/1.1 103 E") + OK]) as origin, client() as upstream:
        assert await (await upstream.fetch(request_to(origin))).read(9) == b"hi"


async def test_exchange_tells_when() -> None:
    moments = iter((10.0, 12.5))
    async with ScriptedOrigin([OK]) as origin, client(clock=lambda: next(moments)) as upstream:
        response = await upstream.fetch(request_to(origin))
        assert response.exchange == Exchange(10.0, 12.5)


async def test_connection_is_used_again() -> None:
    async with ScriptedOrigin([OK, OK, OK]) as origin, client() as upstream:
        for _ in range(3):
            assert await (await upstream.fetch(request_to(origin))).read(9) == b"hi"
        assert (origin.connections, len(origin.requests)) == (1, 3)


async def test_no_cookie_is_kept() -> None:
    with_cookie = message(b"Set-Cookie: a=b", b"Content-Length: 0")
    async with ScriptedOrigin([with_cookie, with_cookie]) as origin, client() as upstream:
        for _ in range(2):
            await (await upstream.fetch(request_to(origin))).read(9)
        assert b"ookie" not in b"".join(origin.requests)


async def test_other_host_gets_another_connection() -> None:
    async with ScriptedOrigin([OK, OK]) as origin, client() as upstream:
        for host in ("127.0.0.1", "localhost"):
            await (await upstream.fetch(request_to(origin, host=host))).read(9)
        assert origin.connections == 2


IDLE_THEN_GONE: list[list[Reply]] = [[OK, (Ending.CLOSE,)], [OK]]
AGAIN = {"GET": b"hi", "PUT": b"hi", "POST": None, "PATCH": None, "get": None, "REPORT": None}


@pytest.mark.parametrize(("method", "body"), AGAIN.items(), ids=AGAIN)
async def test_only_idempotent_requests_are_sent_twice(method: str, body: bytes | None) -> None:
    async with ScriptedOrigin(*IDLE_THEN_GONE) as origin, client() as upstream:
        await (await upstream.fetch(request_to(origin))).read(9)
        if body is None:
            fault, _ = await failure(upstream, request_to(origin, method))
            assert fault == OriginFault.INVALID_RESPONSE
        else:
            assert await (await upstream.fetch(request_to(origin, method), b"abc")).read(9) == body
        assert len(origin.requests) == (3 if body else 2)


async def test_streamed_body_is_not_sent_twice() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"abc"

    async with ScriptedOrigin(*IDLE_THEN_GONE) as origin, client() as upstream:
        await (await upstream.fetch(request_to(origin))).read(9)
        with pytest.raises(OriginUnavailable):
            await upstream.fetch(request_to(origin, "PUT"), body())
        assert len(origin.requests) == 2


OVERFLOWS = {"at once": 0, "after some": 100_000, "just": 299_999}


@pytest.mark.parametrize("limit", OVERFLOWS.values(), ids=OVERFLOWS)
async def test_overflow_and_the_rest(limit: int) -> None:
    body = bytes(range(250)) * 1200
    sent = message(b"Content-Length: %d" % len(body), body=body)
    async with ScriptedOrigin([sent]) as origin, client() as upstream:
        response = await upstream.fetch(request_to(origin))
        overflow = await response.read(limit)
        assert isinstance(overflow, Overflow) and limit < len(overflow.read) <= limit + 200_000
        assert overflow.read + b"".join([chunk async for chunk in response.chunks()]) == body


async def test_body_of_the_limit_is_no_overflow() -> None:
    async with ScriptedOrigin([ABC]) as origin, client() as upstream:
        assert await (await upstream.fetch(request_to(origin))).read(3) == b"abc"


async def test_slow_reader_holds_the_origin_back() -> None:
    async with ScriptedOrigin([message(body=b"x" * 20_000_000)]) as origin, client() as upstream:
        response = await upstream.fetch(request_to(origin))
        await asyncio.sleep(0.02)
        assert response._response.content.total_bytes < 1_000_000
        response.close()


async def silence(fields: bytes, total_timeout: float) -> bytes:
    """What arrives when the origin falls silent for 0.3 seconds, counted against the limit."""
    gate = asyncio.Event()
    parts = (message(fields, body=b"a"), gate, b"b", Ending.STAY)
    async with ScriptedOrigin([parts]) as origin, client(UpstreamLimits(total_timeout=total_timeout)) as upstream:
        response = await upstream.fetch(request_to(origin))
        chunks = response.chunks()
        first = await anext(chunks)
        asyncio.get_running_loop().call_later(0.3, gate.set)
        second = await anext(chunks)
        await chunks.aclose()
        return first + second


async def test_events_may_be_silent() -> None:
    assert await silence(b"Content-Type: Text/Event-Stream;charset=utf-8", 0.2) == b"ab"


async def test_other_streams_may_be_slow_but_not_silent() -> None:
    assert await silence(b"Content-Type: text/plain", 5.0) == b"ab"
    with pytest.raises(OriginUnavailable, match=r"nothing more within 0\.2 seconds") as caught:
        await silence(b"Content-Type: text/plain", 0.2)
    assert caught.value.fault is OriginFault.TIMEOUT


async def test_stream_may_outlast_the_total() -> None:
    gates = [asyncio.Event() for _ in range(4)]
    parts = [part for gate in gates for part in (gate, b"x")]
    limits = UpstreamLimits(total_timeout=0.8)
    async with ScriptedOrigin([(message(), *parts)]) as origin, client(limits) as upstream:
        response = await upstream.fetch(request_to(origin))
        for number, gate in enumerate(gates):
            asyncio.get_running_loop().call_later(0.3 * number, gate.set)
        assert b"".join([chunk async for chunk in response.chunks()]) == b"x" * 4


async def test_large_upload_may_outlast_the_total() -> None:
    async def slowly() -> AsyncIterator[bytes]:
        for _ in range(4):
            await asyncio.sleep(0.3)
            yield b"x"

    async with ScriptedOrigin([OK]) as origin, client(UpstreamLimits(total_timeout=0.9)) as upstream:
        assert await (await upstream.fetch(request_to(origin, "POST"), slowly())).read(9) == b"hi"
        assert origin.requests[0].count(b"\r\nx\r\n") == 4


async def test_stalled_upload_times_out() -> None:
    async def stalled() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.Event().wait()

    async with ScriptedOrigin([OK]) as origin, client(UpstreamLimits(total_timeout=0.1)) as upstream:
        with pytest.raises(OriginUnavailable) as caught:
            await upstream.fetch(request_to(origin, "POST"), stalled())
        assert caught.value.fault is OriginFault.TIMEOUT


BROKEN_UPLOADS = {"too short": b"abc", "too long": b"abcde"}


@pytest.mark.parametrize("piece", BROKEN_UPLOADS.values(), ids=BROKEN_UPLOADS)
async def test_upload_of_another_length_than_stated_fails(piece: bytes) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield piece

    async with ScriptedOrigin([(Ending.STAY,)]) as origin, client() as upstream:
        with pytest.raises(OriginUnavailable, match="request to the origin failed"):
            await upstream.fetch(request_to(origin, "POST", fields=(("Content-Length", "4"),)), body())


async def test_answer_before_the_end_of_the_upload() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1000
            await asyncio.sleep(0.001)

    early = message(b"Content-Length: 3", status=b"HTTP/1.1 413 Too Large", body=b"abc")

    async def answer_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(early)
        while await reader.read(65536):
            pass
        writer.close()

    server = await asyncio.start_server(answer_at_once, "127.0.0.1", 0)
    async with ScriptedOrigin([OK]) as origin, client() as upstream, server:
        origin.port = server.sockets[0].getsockname()[1]
        response = await upstream.fetch(request_to(origin, "POST"), endless())
        assert (response.head.status, await response.read(9)) == (413, b"abc")


ONE_CONNECTION = UpstreamLimits(max_connections=1)


async def test_cancelled_fetch_lets_go_of_its_connection() -> None:
    arrived = asyncio.Event()

    def stay(_: bytes) -> Parts:
        arrived.set()
        return (Ending.STAY,)

    async with ScriptedOrigin([stay], [OK]) as origin, client(ONE_CONNECTION) as upstream:
        waiting = asyncio.get_running_loop().create_task(upstream.fetch(request_to(origin)))
        await arrived.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await (await upstream.fetch(request_to(origin))).read(9) == b"hi"


LEFT = {"closed": True, "stream abandoned": False}


@pytest.mark.parametrize("closed", LEFT.values(), ids=LEFT)
async def test_response_that_is_not_wanted_lets_go_of_its_connection(closed: bool) -> None:
    unfinished = (message(b"Content-Length: 9", body=b"abc"), Ending.STAY)
    async with ScriptedOrigin([unfinished], [OK]) as origin, client(ONE_CONNECTION) as upstream:
        response = await upstream.fetch(request_to(origin))
        if closed:
            response.close()
        else:
            chunks = response.chunks()
            await anext(chunks)
            await chunks.aclose()
        assert await (await upstream.fetch(request_to(origin))).read(9) == b"hi"
