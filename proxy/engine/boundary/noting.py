"""A body that is passed on as it comes, and kept when it has come whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from proxy.caching.freshness import Exchange
from proxy.http.messages import ResponseHead
from proxy.ports import OriginResponse, Overflow

Ended = Callable[[bytes | None], None]
"""Told once how it ended: with the whole body, or None where there is none to keep."""


class Noted:
    """Implements `ports.OriginResponse`: a response of which `read` has been read, and whose rest is noted.

    More than `limit` bytes are passed on all the same, and not kept.
    """

    def __init__(self, response: OriginResponse, read: bytes, limit: int, ended: Ended) -> None:
        self._response = response
        self._body = bytearray(read)
        self._limit = limit
        self._ended: Ended | None = ended

    @property
    def head(self) -> ResponseHead:
        """All fields as received."""
        return self._response.head

    @property
    def exchange(self) -> Exchange:
        """When the request was sent and the head received."""
        return self._response.exchange

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
        async for chunk in self._response.chunks():
            if len(self._body) <= self._limit:
                self._body += chunk
            yield chunk
        self._end(bytes(self._body) if len(self._body) <= self._limit else None)

    def close(self) -> None:
        """Let go of the connection."""
        self._end(None)
        self._response.close()

    def _end(self, body: bytes | None) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(body)
