"""Connections to a server on loopback that keep alive and take one request at a time."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import cast

from benchmarks.documents import REQUEST_LINES
from proxy.http.targets import gateway_form, parse_target


@dataclass(frozen=True, slots=True)
class Reply:
    """A response; `received_at` is when its last byte was read, in seconds of `time.perf_counter`."""

    status: int
    head: str
    body: bytes
    received_at: float

    def get(self, name: str) -> str:
        """The value of the first line of a field, "" when there is none."""
        lines = (line.partition(": ") for line in self.head.split("\r\n"))
        return next((value for given, _, value in lines if given.lower() == name.lower()), "")

    def __str__(self) -> str:
        """What it says of itself, for a message about an answer that was not expected."""
        return f"{self.status}, Cache-Status: {self.get('cache-status') or 'none'}"


class Connection(asyncio.Protocol):
    """Reads responses that are framed by Content-Length, as all are here."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._data = b""
        self._reply: asyncio.Future[Reply] | None = None

    @classmethod
    async def open(cls, port: int) -> Connection:
        """A connection to a port of loopback. Raises OSError."""
        _, connection = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return connection

    def ask(self, request: bytes) -> asyncio.Future[Reply]:
        """Send a request now; the reply ends in ConnectionError when the server closes before it."""
        assert self._reply is None, "one request at a time"
        self._reply = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._reply

    def close(self) -> None:
        """Close it."""
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The loop's call."""
        # uvloop's transports have the interface but not the base class.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """The loop's call."""
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end:
            return
        reply = Reply(int(head[9:12]), head.decode("latin-1"), body, time.perf_counter())
        if len(body) < int(reply.get("content-length")):
            return
        waiting, self._reply, self._data = self._reply, None, b""
        if waiting is not None:
            waiting.set_result(reply)

    def connection_lost(self, error: Exception | None) -> None:
        """The loop's call."""
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error or ConnectionError("closed before the response"))


def through_proxy(origin_port: int, path: str) -> bytes:
    """An agent's request, in gateway form, for a document of an origin on loopback."""
    target = gateway_form(parse_target(f"http://127.0.0.1:{origin_port}{path}"))
    lines = [f"GET {target} HTTP/1.1", "Host: proxy", *(f"{name}: {value}" for name, value in REQUEST_LINES)]
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def plain(path: str) -> bytes:
    """A request to a server itself."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode("ascii")


async def fetch(port: int, request: bytes) -> Reply:
    """One reply on a connection of its own."""
    connection = await Connection.open(port)
    try:
        return await connection.ask(request)
    finally:
        connection.close()
