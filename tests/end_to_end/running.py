"""A whole proxy in the test's event loop, and a client that talks to it in octets.

async with running() as proxy, Wire.open(proxy.port) as wire:
    reply = await wire.ask(b"GET / HTTP/1.1\\r\\nHost: proxy\\r\\n\\r\\n")
    assert reply.status == 200
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from proxy.config import load
from proxy.server.service import Service

PATIENCE = 5.0
"""Seconds after which a test takes the other side for hung."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: its lines as received, and its body without framing."""

    status: int
    lines: tuple[tuple[str, str], ...]
    body: bytes
    is_complete: bool

    def get(self, name: str) -> str | None:
        """The combined value of a field."""
        values = self.get_all(name)
        return ", ".join(values) if values else None

    def get_all(self, name: str) -> list[str]:
        """The value of each line of a field."""
        return [value for given, value in self.lines if given.lower() == name.lower()]

    @property
    def slug(self) -> str | None:
        """Which problem the body tells of, None when it is no problem document."""
        if self.get("content-type") != "application/problem+json":
            return None
        problem = json.loads(self.body)
        assert self.get("date") is not None
        assert problem["status"] == self.status and problem["title"] and problem["detail"] and problem["instance"]
        return str(problem["type"]).removeprefix("urn:discovery-proxy:problem:")


class Wire:
    """One client connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    @asynccontextmanager
    async def open(cls, port: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[Wire]:
        """A connection to a port of loopback."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20, ssl=tls)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()

    async def send(self, data: bytes) -> None:
        """Send octets; a peer that has closed meanwhile is no fault of the test."""
        try:
            self.writer.write(data)
            await self.writer.drain()
        except ConnectionError:
            pass

    async def ask(self, data: bytes, method: str = "GET") -> Reply:
        """Send a request and read the final response to it."""
        await self.send(data)
        return await self.reply(method)

    async def reply(self, method: str = "GET") -> Reply:
        """The next final response."""
        async with asyncio.timeout(PATIENCE):
            while (reply := await self._message(method)).status < 200 and reply.status != 101:
                pass
            return reply

    async def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    async def head(self) -> Reply:
        """The next head, interim ones included; the body stays unread."""
        async with asyncio.timeout(PATIENCE):
            text = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status_line, *lines = text.removesuffix("\r\n\r\n").split("\r\n")
        fields = tuple((name, value) for name, _, value in (line.partition(": ") for line in lines))
        return Reply(int(status_line.split(" ", 2)[1]), fields, b"", False)

    async def _message(self, method: str) -> Reply:
        head = await self.head()
        if method == "HEAD" or head.status < 200 or head.status in (204, 304):
            return Reply(head.status, head.lines, b"", True)
        body, is_complete = await self._body(head)
        return Reply(head.status, head.lines, body, is_complete)

    async def _body(self, head: Reply) -> tuple[bytes, bool]:
        body = b""
        try:
            if head.get("transfer-encoding") == "chunked":
                while size := int(await self.reader.readuntil(b"\r\n"), 16):
                    body += (await self.reader.readexactly(size + 2))[:-2]
                await self.reader.readexactly(2)
            elif (length := head.get("content-length")) is not None:
                body = await self.reader.readexactly(int(length))
            else:
                body = await self.reader.read()
        except asyncio.IncompleteReadError as error:
            return body + error.partial, False
        except (ConnectionError, ValueError):
            return body, False
        return body, True


@dataclass(frozen=True, slots=True)
class Running:
    """A proxy that serves."""

    service: Service
    port: int
    admin_port: int

    async def ask(self, data: bytes, method: str = "GET") -> Reply:
        """Send a request on a connection of its own and read the response."""
        async with Wire.open(self.port) as wire:
            return await wire.ask(data, method)

    async def get(self, request_target: str, *lines: str) -> Reply:
        """GET on a connection of its own."""
        return await self.ask(request("GET", request_target, *lines))

    async def purge(self) -> None:
        """Forget everything."""
        order = b'{"all": true}'
        lines = ("Host: 127.0.0.1", f"Content-Length: {len(order)}")
        async with Wire.open(self.admin_port) as wire:
            assert (await wire.ask(request("POST", "/admin/purge", *lines, body=order))).status == 200

    async def admin(self, request_target: str) -> Any:
        """What the admin port answers to a GET."""
        async with Wire.open(self.admin_port) as wire:
            return json.loads((await wire.ask(request("GET", request_target, "Host: 127.0.0.1"))).body)


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what gives no sign of its own."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def request(method: str, request_target: str, *lines: str, body: bytes = b"") -> bytes:
    """A request in octets, with `Host: proxy` unless `lines` say otherwise."""
    host = () if any(line.lower().startswith("host") for line in lines) else ("Host: proxy",)
    return "\r\n".join([f"{method} {request_target} HTTP/1.1", *host, *lines, "", ""]).encode("latin-1") + body


@asynccontextmanager
async def running(**sections: object) -> AsyncIterator[Running]:
    """A proxy on free ports with its store in memory; `sections` are laid over that, keys by double underscore."""
    flags = {
        "listen.port": 0,
        "admin.port": 0,
        "store.url": "memory://",
        "upstream.connect_timeout": 1,
        "upstream.total_timeout": 1,
        "listen.drain_timeout": 1,
        **{name.replace("__", "."): value for name, value in sections.items()},
    }
    service = Service(load(None, {}, flags))
    await service.start()
    try:
        yield Running(service, _port(service.data_address), _port(service.admin_address))
    finally:
        await service.stop()


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
