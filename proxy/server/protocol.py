"""The server's connection: the framework's, with errors as problem details and tunnels that outlive a half-close.

Everything of the framework that is not public and that this project leans on stands in this module and in `wire`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import HttpProcessingError, InvalidURLError, LineTooLong
from aiohttp.web_protocol import RequestHandler, _ErrInfo

from proxy.http.problems import Problem, Slug
from proxy.server.wire import WireResponse, send
from proxy.upstream.tunnel import Unparsed

# Read from a client before the origin has taken it: enough to keep both sides busy.
_TUNNEL_BUFFER = 2**16
# The parser has no class of its own for it.
_TOO_MANY_FIELDS = "Too many headers received"

Report = Callable[[web.BaseRequest, Problem, BaseException | None], WireResponse]
"""Turns a failed request into its response, and logs it."""


class Connection(RequestHandler):
    """One client connection."""

    __slots__ = ("_report", "_tunnel", "_watch", "_when_lost")

    def __init__(self, manager: web.Server, report: Report, **options: Any) -> None:
        super().__init__(manager, loop=asyncio.get_running_loop(), access_log=None, **options)  # type: ignore[arg-type]
        self._report = report
        self._tunnel: Unparsed | None = None
        self._when_lost: Callable[[], None] | None = None
        self._watch: asyncio.TimerHandle | None = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what the parser refused, or what a handler let escape, with a problem; then close."""
        if isinstance(exc, ConnectionError):
            # The client has gone: there is nobody to answer, and nothing went wrong here.
            raise exc
        if status == 400:
            return self._report(request, _parse_problem(exc), None)
        return self._report(request, Problem(Slug.INTERNAL, "The request could not be handled."), exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of the client's. The parser leaves whoever reads a body waiting when it breaks in a later piece."""
        super().data_received(data)
        if not self._messages or not isinstance(self._messages[-1][0], _ErrInfo):
            return
        under_way = self._current_request
        for body in (*(payload for _, payload in self._messages), *([under_way.content] if under_way else [])):
            if not body.is_eof():
                body.set_exception(web.RequestPayloadError("malformed body"))
                body.feed_eof()

    @contextmanager
    def when_lost(self, callback: Callable[[], None]) -> Iterator[None]:
        """Inside the block, call `callback` as soon as the client goes away."""
        self._when_lost = callback
        try:
            yield
        finally:
            self._when_lost = None

    def connection_lost(self, exc: BaseException | None) -> None:
        """The client has gone: nothing is left to do for a task that only reads the rest of an unwanted body."""
        self._unwatch()
        if self._when_lost is not None:
            self._when_lost()
        lingering = None if self._request_in_progress else self._task_handler
        super().connection_lost(exc)
        if lingering is not None:
            lingering.cancel()

    def pause_writing(self) -> None:
        """The client reads more slowly than we write, or not at all."""
        super().pause_writing()
        self._watch_reading(sys.maxsize)

    def resume_writing(self) -> None:
        """The client has caught up."""
        super().resume_writing()
        self._unwatch()

    def _watch_reading(self, unread_before: int) -> None:
        """Ends the connection when the client takes nothing for as long as an idle connection is kept."""
        if self.transport is None:
            return
        unread = self.transport.get_write_buffer_size()
        if unread < unread_before:
            self._watch = self._loop.call_later(self.keepalive_timeout, self._watch_reading, unread)
        else:
            self.transport.abort()

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def open_tunnel(self) -> StreamReader:
        """From now on the client's bytes come out of the reader that is returned."""
        reader = StreamReader(self, _TUNNEL_BUFFER, loop=asyncio.get_running_loop())
        self._tunnel = Unparsed(reader)
        self.set_parser(self._tunnel)  # type: ignore[arg-type]
        return reader

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """In a tunnel one direction may end before the other."""
        if self._tunnel is None:
            return None
        self._tunnel.feed_eof()
        return True


def _parse_problem(error: BaseException | None) -> Problem:
    if isinstance(error, LineTooLong):
        detail = "The request line or a header field is longer than this proxy accepts (listen.max_header)."
        return Problem(Slug.TOO_LARGE, detail, at_status=431)
    if isinstance(error, HttpProcessingError) and error.message == _TOO_MANY_FIELDS:
        return Problem(Slug.TOO_LARGE, "The request has more header fields than this proxy accepts.", at_status=431)
    if isinstance(error, InvalidURLError):
        return Problem(Slug.BAD_TARGET, "The request target is no path, no absolute URI and no authority.")
    name = type(error).__name__ if isinstance(error, HttpProcessingError) else "malformed message"
    return Problem(Slug.BAD_REQUEST, f"The request is not well-formed HTTP/1.1 ({name}).")


class Server(web.Server):
    """Makes our connections."""

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        report: Report,
        **options: Any,
    ) -> None:
        super().__init__(handler, access_log=None)
        self._report = report
        self._options = options

    def __call__(self) -> RequestHandler:
        """A connection that has just been accepted."""
        return Connection(self, self._report, **self._options)


class ClientStream:
    """The client's end of a tunnel (`ports.ByteStream`)."""

    def __init__(self, request: web.BaseRequest, reader: StreamReader) -> None:
        self._request = request
        self._reader = reader

    async def read(self) -> bytes:
        """Some bytes; empty at the end."""
        return await self._reader.readany()

    async def write(self, data: bytes) -> None:
        """Send, waiting while the client reads slowly. Raises ConnectionError when it is gone."""
        await send(self._request, data)

    def write_eof(self) -> None:
        """End our direction where the transport can; a TLS connection cannot and is closed at the end."""
        transport = self._request.transport
        if transport is not None and transport.can_write_eof():
            transport.write_eof()

    def close(self) -> None:
        """End both directions."""
        if self._request.transport is not None:
            self._request.transport.close()
