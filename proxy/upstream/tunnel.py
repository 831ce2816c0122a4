"""Raw bytes both ways: over a socket of our own, or over a connection that an origin has switched."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from aiohttp import ClientPayloadError, ClientResponse, StreamReader
from aiohttp.http import StreamWriter

_CHUNK: Final = 64 * 1024


class SocketStream:
    """A `ports.ByteStream` over a socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """Some bytes, empty at the end. Raises OSError when the connection is lost."""
        return await self._reader.read(_CHUNK)

    async def write(self, data: bytes) -> None:
        """Send `data`, waiting while the peer reads slowly. Raises OSError when the connection is lost."""
        self._writer.write(data)
        await self._writer.drain()

    def write_eof(self) -> None:
        """Nothing more follows from this side."""
        if not self._writer.is_closing():
            self._writer.write_eof()

    def close(self) -> None:
        """End both directions."""
        self._writer.close()


class Unparsed:
    """What aiohttp's connections take for a parser once they are switched: every byte goes to `reader` as it is."""

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Bytes of the peer's; there is never an end of a message and nothing is left over."""
        self._reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        """The peer has ended its direction."""
        self._reader.feed_eof()


class UpgradedStream:
    """A `ports.ByteStream` over a connection taken from aiohttp after a 101.

    It gives the connection back to be closed, never to be used again. An origin that ends its direction ends both.
    """

    def __init__(self, switched: ClientResponse) -> None:
        connection, loop = switched.connection, asyncio.get_running_loop()
        assert connection is not None and connection.protocol is not None
        protocol = connection.protocol
        # Kept for its own sake too: a response that nobody holds lets go of its connection.
        self._switched = switched
        self._transport = connection.transport
        self._reader = StreamReader(protocol, _CHUNK, loop=loop)
        self._writer = StreamWriter(protocol, loop)
        # Hands over what came behind the 101, too.
        protocol.set_parser(Unparsed(self._reader), self._reader)
        if not protocol.connected:
            self._reader.feed_eof()

    async def read(self) -> bytes:
        """Some bytes, empty at the end. Raises OSError when the connection is lost."""
        with suppress(ClientPayloadError):
            data = await self._reader.readany()
            if data or self._reader.exception() is None:
                return data
        raise ConnectionResetError("connection lost")

    async def write(self, data: bytes) -> None:
        """Send `data`, waiting while the origin reads slowly. Raises OSError when the connection is lost."""
        await self._writer.write(data, drain=False)
        await self._writer.drain()

    def write_eof(self) -> None:
        """Nothing more follows from this side. Under TLS, which cannot be half closed here, it ends both."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self.close()

    def close(self) -> None:
        """End both directions."""
        self._switched.close()
        self._reader.feed_eof()
