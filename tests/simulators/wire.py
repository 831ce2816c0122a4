"""A scripted origin on a loopback socket: it sends exactly the bytes of its script and keeps what it read.

    async with ScriptedOrigin([b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi"]) as origin:
        ...  # talk to 127.0.0.1:{origin.port}
        assert origin.requests[0].startswith(b"GET / HTTP/1.1\\r\\n")

The script has one entry a connection, in the order in which they are accepted; later connections get the last entry
again. An entry is a list of replies, one a request. A reply is

- bytes, sent as one write;
- a tuple of parts sent one after another: bytes, an `asyncio.Event` that is waited for first, or an `Ending`;
- a function from the request's bytes to one of the two above.

When the replies are used up the connection is closed, unless the last part was `Ending.STAY`.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import struct
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

import trustme


class Ending(Enum):
    """What happens to the connection after the parts before it."""

    CLOSE = "closed in order"
    RESET = "reset (RST)"
    STAY = "kept open and silent until the client or the test ends it"


Parts = tuple[bytes | asyncio.Event | Ending, ...]
Reply = bytes | Parts | Callable[[bytes], bytes | Parts]


class ScriptedOrigin:
    """See the module's text. `requests` holds each request as received, `connections` how many were accepted."""

    def __init__(
        self, *script: Sequence[Reply], tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
    ) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.host = host
        self.port = 0
        self._script = script
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self.host, 0, ssl=self._tls, limit=2**20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        replies = self._script[min(self.connections, len(self._script) - 1)]
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._converse(replies, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(
        self, replies: Sequence[Reply], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            for reply in replies:
                request = await read_message(reader)
                self.requests.append(request)
                parts = reply(request) if callable(reply) else reply
                await _send((parts,) if isinstance(parts, bytes) else parts, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _send(parts: Parts, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    for part in parts:
        match part:
            case asyncio.Event():
                await part.wait()
            case Ending.CLOSE:
                writer.close()
            case Ending.RESET:
                # Aborting discards what is not sent yet, which on loopback is nothing after a drain.
                set_reset_on_close(writer)
                writer.transport.abort()
            case Ending.STAY:
                await reader.read()
            case bytes():
                writer.write(part)
                await writer.drain()


def set_reset_on_close(writer: asyncio.StreamWriter) -> None:
    """Let the end of the connection be a reset (RST)."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """One HTTP/1.1 request, head and body as received; raises IncompleteReadError when the client leaves."""
    head = await reader.readuntil(b"\r\n\r\n")
    if re.search(rb"(?im)^transfer-encoding:\s*chunked\r$", head):
        return head + await _read_chunked(reader)
    length = re.search(rb"(?im)^content-length:\s*([0-9]+)\r$", head)
    return head + (await reader.readexactly(int(length[1])) if length else b"")


async def _read_chunked(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        size = await reader.readuntil(b"\r\n")
        body += size + await reader.readexactly(int(size, 16) + 2)
        if int(size, 16) == 0:
            return body


class Authority:
    """A certificate authority for the length of a test run."""

    def __init__(self) -> None:
        self._ca = trustme.CA()

    def write(self, path: Path) -> Path:
        """Write the authority's certificate as PEM and return `path`."""
        self._ca.cert_pem.write_to_path(str(path))
        return path

    def server(self, *names: str, not_after: datetime | None = None) -> ssl.SSLContext:
        """A server's context with a certificate for `names` (hosts or addresses)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names, not_after=not_after).configure_cert(context)
        return context
