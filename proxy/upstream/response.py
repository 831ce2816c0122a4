"""A response whose head has arrived and whose body is still on its way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from proxy.caching.freshness import Exchange
from proxy.http.messages import ResponseHead
from proxy.ports import Overflow, Upgraded
from proxy.upstream.exchange import OctetResponse
from proxy.upstream.faults import faults
from proxy.upstream.tunnel import UpgradedStream


class Deadline:
    """The moment until which several steps have to be done together."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._moment = self._loop.time() + seconds
        self._timeout: asyncio.Timeout | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Raises TimeoutError when the moment comes before the end of the block."""
        try:
            async with asyncio.timeout_at(self._moment) as self._timeout:
                yield
        finally:
            self._timeout = None

    def extend(self) -> None:
        """Begin anew: a piece of the request has been sent, and a large one may take its time."""
        self._moment = self._loop.time() + self._seconds
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(self._moment)


class StreamedResponse:
    """Implements `ports.OriginResponse`."""

    def __init__(
        self, response: OctetResponse, exchange: Exchange, deadline: Deadline, silence_seconds: float
    ) -> None:
        self._response = response
        self._exchange = exchange
        self._deadline = deadline
        self._silence_seconds = silence_seconds

    @property
    def head(self) -> ResponseHead:
        """All fields as received, hop-by-hop ones included."""
        return self._response.head

    @property
    def exchange(self) -> Exchange:
        """When the request was sent and the head received."""
        return self._exchange

    async def read(self, max_bytes: int) -> bytes | Overflow:
        """The whole body, within the time left for the exchange, or what came until it grew past `max_bytes`.

        Raises OriginUnavailable when it is cut short or overdue.
        """
        body = bytearray()
        with self._closed_by_failure(), faults("The body did not arrive in time (upstream.total_timeout)."):
            async with self._deadline.running():
                while chunk := await self._next_chunk():
                    body += chunk
                    if len(body) > max_bytes:
                        return Overflow(bytes(body))
        return bytes(body)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body, or what of it has not been read. Raises OriginUnavailable when it is cut short or falls silent.

        A stream of events may be silent for as long as it likes. The connection is let go of when the iterator is
        closed before the end.
        """
        overdue = f"The origin sent nothing more within {self._silence_seconds:g} seconds (upstream.total_timeout)."
        silence = None if _is_event_stream(self.head) else self._silence_seconds
        with self._closed_by_failure():
            while True:
                with faults(overdue):
                    async with asyncio.timeout(silence):
                        chunk = await self._next_chunk()
                if not chunk:
                    return
                yield chunk

    def close(self) -> None:
        """Let go of the connection; harmless when the body was read to its end."""
        self._response.close()

    def switched(self) -> Upgraded:
        """The connection, for a 101."""
        return Upgraded(self.head, UpgradedStream(self._response))

    async def _next_chunk(self) -> bytes:
        """What has arrived, at least one byte; empty at the end."""
        content = self._response.content
        chunk = await content.readany()
        # A reader that was already waiting is told of the end only.
        if not chunk and (error := content.exception()) is not None:
            raise error
        return chunk

    @contextmanager
    def _closed_by_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise


def _is_event_stream(head: ResponseHead) -> bool:
    return (head.fields.get("content-type") or "").lower().startswith("text/event-stream")
