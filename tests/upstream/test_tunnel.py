"""Switched connections and tunnels: every byte both ways, at the pace of the slower side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.targets import Target
from proxy.ports import ByteStream, OriginFault, OriginUnavailable, Upgraded
from proxy.upstream.connect_to import ConnectTo
from proxy.upstream.origin import AiohttpOrigin, UpstreamLimits
from proxy.upstream.tunnel import SocketStream, UpgradedStream
from tests.simulators.wire import Authority, Ending, ScriptedOrigin, set_reset_on_close
from tests.upstream.loopback import OK, client, message, request_to

SWITCH = message(b"Connection: upgrade", b"Upgrade: echo", status=b"HTTP/1.1 101 Switching")
ASKING = (("Upgrade", "echo"), ("Sec-WebSocket-Key", "a"), ("sec-websocket-x", "b"))

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(peer: Peer) -> AsyncIterator[int]:
    async with await asyncio.start_server(peer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers every byte, and the end with the end."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write(b"end")
    writer.close()


async def switching_echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(SWITCH + b"first")
    await echo(reader, writer)


async def switched(upstream: AiohttpOrigin, port: int) -> ByteStream:
    request = Request("GET", Target("http", "127.0.0.1", port, "/", None), Fields(ASKING))
    answer = await upstream.upgrade(request)
    assert isinstance(answer, Upgraded)
    return answer.stream


async def connected(upstream: AiohttpOrigin, port: int) -> ByteStream:
    return await upstream.connect("127.0.0.1", port)


async def read_to_end(stream: ByteStream) -> bytes:
    data = b""
    while chunk := await stream.read():
        data += chunk
    return data


KINDS = {"switched": (switched, switching_echo, b"first"), "connected": (connected, echo, b"")}
Opening = Callable[[AiohttpOrigin, int], Awaitable[ByteStream]]


@pytest.mark.parametrize(("opening", "peer", "greeting"), KINDS.values(), ids=KINDS)
async def test_bytes_both_ways(opening: Opening, peer: Peer, greeting: bytes) -> None:
    async with listening(peer) as port, client() as upstream:
        stream = await opening(upstream, port)
        sent = bytes(range(256)) * 4000
        reading = asyncio.get_running_loop().create_task(read_to_end(stream))
        for start in range(0, len(sent), 50_000):
            await stream.write(sent[start : start + 50_000])
        stream.write_eof()
        assert await reading == greeting + sent + b"end"
        assert await stream.read() == b""
        stream.close()


SLOW = {"switched": switched, "connected": connected}


@pytest.mark.parametrize("opening", SLOW.values(), ids=SLOW)
async def test_slow_peer_holds_the_writer_back(opening: Opening) -> None:
    gone = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if opening is switched:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(SWITCH)
        await gone.wait()
        writer.close()

    async with listening(slow) as port, client() as upstream:
        stream = await opening(upstream, port)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                while True:
                    await stream.write(b"x" * 1_000_000)
        gone.set()
        stream.close()


@pytest.mark.parametrize("opening", SLOW.values(), ids=SLOW)
async def test_slow_reader_holds_the_peer_back(opening: Opening) -> None:
    sent = 0
    stuck = asyncio.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        if opening is switched:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(SWITCH)
        try:
            while True:
                writer.write(b"x" * 1_000_000)
                async with asyncio.timeout(0.1):
                    await writer.drain()
                sent += 1
        except TimeoutError:
            stuck.set()
        writer.transport.abort()

    async with listening(flood) as port, client() as upstream:
        stream = await opening(upstream, port)
        await stuck.wait()
        assert sent < 50
        stream.close()


@pytest.mark.parametrize("opening", SLOW.values(), ids=SLOW)
async def test_writing_to_a_lost_connection(opening: Opening) -> None:
    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if opening is switched:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(SWITCH)
        writer.close()

    async with listening(leave) as port, client() as upstream:
        stream = await opening(upstream, port)
        assert await stream.read() == b""
        with pytest.raises(OSError):
            for _ in range(100):
                await stream.write(b"x" * 10_000)
                await asyncio.sleep(0)
        stream.write_eof()
        stream.close()


@pytest.mark.parametrize("opening", SLOW.values(), ids=SLOW)
@pytest.mark.parametrize("waiting", [True, False], ids=["reader waits", "reader comes later"])
async def test_lost_connection_is_not_taken_for_its_end(opening: Opening, waiting: bool) -> None:
    gate = asyncio.Event()

    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if opening is switched:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(SWITCH)
        await gate.wait()
        set_reset_on_close(writer)
        writer.transport.abort()

    async with listening(reset) as port, client() as upstream:
        stream = await opening(upstream, port)
        asyncio.get_running_loop().call_soon(gate.set)
        if not waiting:
            await asyncio.sleep(0.02)
        with pytest.raises(OSError):
            await stream.read()
        stream.close()


async def test_upgrade_sends_the_request_s_fields() -> None:
    async with ScriptedOrigin([(SWITCH, Ending.STAY)]) as origin, client() as upstream:
        answer = await upstream.upgrade(request_to(origin, fields=ASKING))
        assert isinstance(answer, Upgraded)
        assert (answer.head.status, answer.head.fields.get("upgrade")) == (101, "echo")
        lines = origin.requests[0].decode().split("\r\n")
        assert lines[2:] == [*(f"{name}: {value}" for name, value in ASKING), "Connection: Upgrade", "", ""]
        answer.stream.close()


async def test_upgrade_refused() -> None:
    async with ScriptedOrigin([OK, OK]) as origin, client() as upstream:
        answer = await upstream.upgrade(request_to(origin, fields=ASKING))
        assert not isinstance(answer, Upgraded)
        assert (answer.head.status, await answer.read(9)) == (200, b"hi")
        await upstream.fetch(request_to(origin))
        assert origin.connections == 1


async def test_switched_connection_that_ends_before_it_is_taken_over() -> None:
    async with ScriptedOrigin([SWITCH + b"last words"]) as origin, client() as upstream:
        answer = await upstream.upgrade(request_to(origin, fields=ASKING))
        assert isinstance(answer, Upgraded)
        assert await read_to_end(answer.stream) == b"last words"
        assert isinstance(answer.stream, UpgradedStream)
        assert await UpgradedStream(answer.stream._switched).read() == b""
        answer.stream.close()


async def test_upgrade_not_agreed() -> None:
    async with ScriptedOrigin([message(status=b"HTTP/1.1 101 S")]) as origin, client() as upstream:
        with pytest.raises(OriginUnavailable) as caught:
            await upstream.upgrade(request_to(origin, fields=ASKING))
        assert caught.value.fault is OriginFault.INVALID_RESPONSE


async def test_switched_connection_counts_until_it_is_closed() -> None:
    limits = UpstreamLimits(max_connections=1, connect_timeout=0.2)
    async with ScriptedOrigin([(SWITCH, Ending.STAY)], [OK]) as origin, client(limits) as upstream:
        answer = await upstream.upgrade(request_to(origin, fields=ASKING))
        assert isinstance(answer, Upgraded)
        with pytest.raises(OriginUnavailable):
            await upstream.fetch(request_to(origin))
        answer.stream.close()
        assert await (await upstream.fetch(request_to(origin))).read(9) == b"hi"


async def test_under_tls_the_end_of_one_direction_is_the_end(tmp_path: Path) -> None:
    authority = Authority()
    limits = UpstreamLimits(ca_file=str(authority.write(tmp_path / "ca.pem")))
    script = [(SWITCH, b"hi", Ending.STAY)]
    async with ScriptedOrigin(script, tls=authority.server("127.0.0.1")) as origin, client(limits) as upstream:
        answer = await upstream.upgrade(request_to(origin, scheme="https", fields=ASKING))
        assert isinstance(answer, Upgraded)
        assert await answer.stream.read() == b"hi"
        answer.stream.write_eof()
        assert await answer.stream.read() == b""


async def test_connect_failures() -> None:
    async with listening(echo) as port:
        pass
    limits = UpstreamLimits(connect_to=(ConnectTo("example.com", 443, "127.0.0.1", port),))
    async with client(limits) as upstream:
        for host, number, detail in (
            ("127.0.0.1", port, "The origin refused the connection: nothing listens on its port."),
            ("example.com", 443, "The origin refused the connection: nothing listens on its port."),
            (
                "host.invalid",
                443,
                "The origin's host name does not resolve. Check its spelling and the proxy's resolver.",
            ),
        ):
            with pytest.raises(OriginUnavailable) as caught:
                await upstream.connect(host, number)
            assert (caught.value.fault, caught.value.detail) == (OriginFault.UNREACHABLE, detail)


async def websocket_echo(request: web.Request) -> web.WebSocketResponse:
    answer = web.WebSocketResponse(protocols=("agent",))
    await answer.prepare(request)
    async for frame in answer:
        await answer.send_bytes(frame.data * 2)
    return answer


async def copy(source: ByteStream, sink: ByteStream) -> None:
    while data := await source.read():
        await sink.write(data)
    sink.write_eof()


@asynccontextmanager
async def relay(upstream: AiohttpOrigin, port: int) -> AsyncIterator[int]:
    """Just enough of a proxy to take one WebSocket client to the origin on `port`."""
    ended = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = Fields(tuple(line.split(": ", 1)) for line in head[1:-2]).without(("connection",))  # type: ignore[misc]
        target = Target("http", "127.0.0.1", port, head[0].split(" ")[1], None)
        answer = await upstream.upgrade(Request("GET", target, fields))
        assert isinstance(answer, Upgraded)
        lines = "".join(f"{name}: {value}\r\n" for name, value in answer.head.fields)
        writer.write(f"HTTP/1.1 101 {answer.head.reason}\r\n{lines}\r\n".encode("latin-1"))
        near = SocketStream(reader, writer)
        await asyncio.gather(copy(near, answer.stream), copy(answer.stream, near))
        near.close()
        answer.stream.close()
        ended.set()

    async with listening(accept) as relay_port:
        yield relay_port
        await ended.wait()


async def test_websocket_through_a_relay() -> None:
    app = web.Application()
    app.router.add_get("/ws", websocket_echo)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    async with (
        client() as upstream,
        relay(upstream, port) as relay_port,
        aiohttp.ClientSession() as session,
        session.ws_connect(f"http://127.0.0.1:{relay_port}/ws", protocols=("agent",)) as websocket,
    ):
        assert websocket.protocol == "agent"
        for size in (1, 1000, 300_000):
            await websocket.send_bytes(b"x" * size)
            assert (await websocket.receive()).data == b"x" * size * 2
    await runner.cleanup()
