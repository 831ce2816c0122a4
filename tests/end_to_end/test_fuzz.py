"""Messages with random damage, from clients and from origins, through a whole proxy.

Whatever comes, the client is answered or its connection is closed within two seconds, nothing is logged as a fault,
and the next request is served. The proxy lives in a thread with a loop of its own, because examples are not async.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import TypeVar
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.end_to_end.running import Running, Wire, request, running
from tests.simulators.wire import ScriptedOrigin

_TIME_TO_ANSWER = 2.0
# After this a request that has no answer yet counts as incomplete, and the client ends its direction.
_TIME_TO_WAIT = 0.05

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: max-age=60\r\n\r\nhi"
_RESULT = TypeVar("_RESULT")

_PIECES = r"""
\r\n \n \r \0 \t : / % %2e .. ? # @ [ ] , " < \xff \xc3\xbc HTTP/1.1 HTTP/1.0 GET CONNECT 0\r\n\r\n -1 +1 0x1
"""
_LINES = """
Content-Length: 3
Transfer-Encoding: chunked
Connection: close
Connection: Upgrade
Upgrade: websocket
Host: x
Expect: 100-continue
Range: bytes=0-0
Vary: *
HTTP/1.1 103 Early Hints
HTTP/1.1 304 Not Modified
Location: //a
Link: <,>;
Cache-Control: max-age=1, ,=
Age: 99999999999
Content-Encoding: gzip
ETag: "
"""
_DICTIONARY = (
    b" ",
    b"9" * 20,
    *(piece.encode().decode("unicode_escape").encode("latin-1") for piece in _PIECES.split()),
    *(line.encode() + b"\r\n" for line in _LINES.split("\n")),
)

_REQUESTS = (
    request("GET", "/http/127.0.0.1:PORT/a?b=c", "Accept: */*", "Cookie: d=e", 'If-None-Match: "x"'),
    request("POST", "http://127.0.0.1:PORT/a", "Content-Length: 5", body=b"hello"),
    request("PUT", "/http/127.0.0.1:PORT/a", "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n0\r\n\r\n"),
    request("CONNECT", "127.0.0.1:443"),
    request(
        "GET", "/http/127.0.0.1:PORT/ws", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"
    ),
    request("GET", "/", "Connection: keep-alive")
    + request("HEAD", "/http/127.0.0.1:PORT/.well-known/agent-card.json"),
)

_RESPONSES = (
    b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nETag: "a"\r\nVary: Accept\r\n\r\nhello',
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=60\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: https://a.example/x\r\nContent-Length: 0\r\nLink: </b>; rel=c\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone",
    b"HTTP/1.0 200 OK\r\nDate: Mon, 30 Nov 2026 11:35:06 GMT\r\nExpires: 0\r\nAge: 5\r\n\r\nuntil the end",
    b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5\r\n\r\nhello",
)


def _damaged(texts: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    """One of the texts with up to four places overwritten, cut, doubled or filled."""
    piece = st.one_of(st.sampled_from(_DICTIONARY), st.binary(max_size=4))
    damage = st.tuples(st.integers(0, 400), st.sampled_from((0, 1, 2, 8, 40)), st.one_of(piece, st.none()))
    return st.builds(_damage, st.sampled_from(texts), st.lists(damage, min_size=1, max_size=4))


def _damage(text: bytes, places: list[tuple[int, int, bytes | None]]) -> bytes:
    for place, length, piece in places:
        start = place % (len(text) + 1)
        struck = text[start : start + length]
        text = text[:start] + (struck * 2 if piece is None else piece) + text[start + length :]
    return text


class _Thread:
    """A loop in a thread, with a proxy and an origin in it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.reply = _OK
        self.proxy: Running
        self.origin: ScriptedOrigin
        self._stack = AsyncExitStack()

    def run(self, work: Coroutine[None, None, _RESULT]) -> _RESULT:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    async def open(self) -> None:
        self.origin = await self._stack.enter_async_context(ScriptedOrigin([lambda _: self.reply]))
        self.proxy = await self._stack.enter_async_context(running(upstream__total_timeout=0.5))

    async def close(self) -> None:
        await self._stack.aclose()

    async def ask(self, octets: bytes) -> bytes:
        """What comes back until the proxy is silent or closes; once the client has ended its direction it must."""
        async with Wire.open(self.proxy.port) as wire:
            await wire.send(octets.replace(b"PORT", b"%d" % self.origin.port))
            answer = b""
            try:
                async with asyncio.timeout(_TIME_TO_WAIT):
                    answer = await wire.reader.read(2**16)
            except (TimeoutError, ConnectionError):
                pass
            if wire.writer.can_write_eof():
                wire.writer.write_eof()
            async with asyncio.timeout(_TIME_TO_ANSWER):
                return answer + await wire.rest()

    async def healthy(self) -> bytes:
        self.reply = _OK
        return (await self.proxy.get(f"/http/127.0.0.1:{self.origin.port}/health")).body


@pytest.fixture(scope="module")
def thread() -> Iterator[_Thread]:
    started = _Thread()
    started.thread.start()
    started.run(started.open())
    yield started
    started.run(started.close())
    started.loop.call_soon_threadsafe(started.loop.stop)
    started.thread.join()
    started.loop.close()


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    loud = [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR or record.exc_info]
    assert not loud, [(record.getMessage(), record.exc_info) for record in loud]


_BOUNDED = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@_BOUNDED
@given(octets=_damaged(_REQUESTS))
def test_damaged_request_is_answered_or_ended(thread: _Thread, octets: bytes) -> None:
    answer = thread.run(thread.ask(octets))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
    assert b"Traceback" not in answer
    assert thread.run(thread.healthy()) == b"hi"


@_BOUNDED
@given(octets=_damaged(_RESPONSES))
def test_damaged_response_is_answered_or_ended(thread: _Thread, octets: bytes) -> None:
    thread.reply = octets
    answer = thread.run(thread.ask(request("GET", f"/http/127.0.0.1:PORT/{crc32(octets)}")))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
    assert b"Traceback" not in answer
    assert thread.run(thread.healthy()) == b"hi"
