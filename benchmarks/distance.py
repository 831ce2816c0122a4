"""A stretch of network between a client and a server on loopback: every octet takes half a round trip."""

from __future__ import annotations

import asyncio
from contextlib import suppress

_CHUNK = 64 * 1024


class Distance:
    """Listens on `port` and passes on to `to`; a connection takes one round trip to come about, as TCP's does."""

    def __init__(self, to: int, round_trip: float) -> None:
        self._to = to
        self._round_trip = round_trip
        self._server: asyncio.Server
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self) -> None:
        """Listen on a free port. Raises OSError."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and cut every connection."""
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._relay(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._round_trip)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        try:
            await asyncio.gather(self._carry(reader, far_writer), self._carry(far_reader, writer))
        finally:
            writer.close()
            far_writer.close()

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Octets in their order, each half a round trip late."""
        loop = asyncio.get_running_loop()
        with suppress(ConnectionError):
            while data := await source.read(_CHUNK):
                loop.call_later(self._round_trip / 2, sink.write, data)
        loop.call_later(self._round_trip / 2, sink.close)
