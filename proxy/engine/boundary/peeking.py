"""Looking at the beginning of a body that goes on to the client: no longer than a no-op would take to come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

from proxy.caching.freshness import Exchange
from proxy.http.messages import ResponseHead
from proxy.ports import OriginResponse, Overflow

_PATIENCE: Final = 1.0


class Peeked:
    """Implements `ports.OriginResponse`: a response of which something has been read.

    Its chunks come from the iterator that was begun, since to leave that one would be to leave the connection.
    """

    def __init__(self, response: OriginResponse) -> None:
        self._response = response
        self._chunks = response.chunks()
        self._next: asyncio.Task[bytes] | None = None

    @property
    def head(self) -> ResponseHead:
        """All fields as received."""
        return self._response.head

    @property
    def exchange(self) -> Exchange:
        """When the request was sent and the head received."""
        return self._response.exchange

    async def peek(self, limit: int) -> tuple[bytes, bool]:
        """What there is of the body up to about `limit` bytes, within about a second, and whether that is all.

        Raises OriginUnavailable.
        """
        read = bytearray()
        ends_at = asyncio.get_running_loop().time() + _PATIENCE
        while len(read) <= limit:
            self._next = asyncio.create_task(self._following())  # noqa: TID251 - kept until it is taken
            done, _ = await asyncio.wait({self._next}, timeout=ends_at - asyncio.get_running_loop().time())
            if not done:
                return bytes(read), False
            chunk = await self._taken()
            if not chunk:
                return bytes(read), True
            read += chunk
        return bytes(read), False

    async def read(self, max_bytes: int) -> bytes | Overflow:
        """What is left of the body, or an Overflow. Raises OriginUnavailable."""
        read = bytearray()
        async for chunk in self.chunks():
            read += chunk
            if len(read) > max_bytes:
                return Overflow(bytes(read))
        return bytes(read)

    async def chunks(self) -> AsyncIterator[bytes]:
        """What is left of the body. Raises OriginUnavailable."""
        if self._next is not None:
            chunk = await self._taken()
            if not chunk:
                return
            yield chunk
        async for chunk in self._chunks:
            yield chunk

    def close(self) -> None:
        """Let go of the connection."""
        if self._next is not None:
            self._next.cancel()
        self._response.close()

    async def _taken(self) -> bytes:
        assert self._next is not None
        following, self._next = self._next, None
        return await following

    async def _following(self) -> bytes:
        """The next piece; empty at the end."""
        with suppress(StopAsyncIteration):
            return await anext(self._chunks)
        return b""
