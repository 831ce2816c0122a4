"""Responses written as bytes of our own making.

The framework's response classes add fields of theirs (Content-Type, Server) and encode as UTF-8. A proxy passes on
what it got, octet for octet, so the head is serialised here and the framework only keeps the connection.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from http import HTTPStatus

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from proxy.http.fields import Fields
from proxy.http.messages import ResponseHead
from proxy.http.problems import MEDIA_TYPE, Problem

_HTTP_11 = (1, 1)


def may_have_body(method: str, status: int) -> bool:
    """RFC 9112 §6.3: the responses that end with their head."""
    return method != "HEAD" and status >= 200 and status not in (204, 304)


def serialise_head(head: ResponseHead) -> bytes:
    """Status line, field lines and the empty line, as octets."""
    lines = [f"HTTP/1.1 {head.status} {head.reason}\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in head.fields]
    lines.append("\r\n")
    return "".join(lines).encode("latin-1", "replace")


class WireResponse(web.StreamResponse):
    """A response whose bytes are ready, or already sent. The framework reads `status` and `keep_alive` of it."""

    def __init__(self, status: int, data: bytes, *, keep_alive: bool) -> None:
        super().__init__(status=status)
        self._data = data
        self._keep_alive = keep_alive
        self._to: web.BaseRequest | None = None

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Nothing to prepare: the head is in the data."""
        self._to = request
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Send everything at once."""
        if self._data and self._to is not None:
            await send(self._to, self._data)
        self._data = b""
        self._to = None


async def send(request: web.BaseRequest, data: bytes) -> None:
    """Write and wait while the client reads slowly. Raises ConnectionError when it is gone."""
    transport = request.transport
    if transport is None or transport.is_closing():
        raise ConnectionResetError("The client has gone.")
    transport.write(data)
    await request.writer.drain()


def complete(request: web.BaseRequest, head: ResponseHead, body: bytes, *, keep_alive: bool) -> WireResponse:
    """A response with its whole body; Content-Length is computed, whatever `head` said."""
    fields = head.fields.without(("content-length",))
    if head.status >= 200 and head.status not in (204, 304):
        fields = fields.plus(("Content-Length", str(len(body))))
    data = serialise_head(ResponseHead(head.status, head.reason, _with_connection(request, fields, keep_alive)))
    if may_have_body(request.method, head.status):
        data += body
    return WireResponse(head.status, data, keep_alive=keep_alive)


def report_problem(request: web.BaseRequest, problem: Problem, _: BaseException | None) -> WireResponse:
    """The response to a request that never became one; the connection ends with it."""
    lines = (("Content-Type", MEDIA_TYPE), ("Cache-Control", "no-store"))
    head = ResponseHead(problem.status, HTTPStatus(problem.status).phrase, Fields(lines))
    return complete(request, head, problem.body(uuid.uuid4().hex), keep_alive=False)


def _with_connection(request: web.BaseRequest, fields: Fields, keep_alive: bool) -> Fields:
    if keep_alive and request.version < _HTTP_11:
        return fields.plus(("Connection", "keep-alive"))
    return fields if keep_alive else fields.plus(("Connection", "close"))


async def stream(
    request: web.BaseRequest, head: ResponseHead, body: AsyncIterator[bytes]
) -> tuple[WireResponse, int]:
    """Send `head` and then `body` as it comes; the response and how many body bytes went out.

    Framed by Content-Length where the head has one, else in chunks, else by closing. Whatever `body` raises passes
    through after the connection was cut, so that nobody takes the part for the whole.
    """
    has_body = may_have_body(request.method, head.status)
    length = head.fields.get("content-length")
    chunked = has_body and length is None and request.version >= _HTTP_11
    keep_alive = bool(request.keep_alive) and (chunked or length is not None or not has_body)
    fields = head.fields.plus(("Transfer-Encoding", "chunked")) if chunked else head.fields
    fields = _with_connection(request, fields, keep_alive)
    await send(request, serialise_head(ResponseHead(head.status, head.reason, fields)))
    try:
        sent = await _send_body(request, body, chunked=chunked) if has_body else 0
    except BaseException:
        cut(request)
        raise
    return WireResponse(head.status, b"", keep_alive=keep_alive), sent


async def _send_body(request: web.BaseRequest, body: AsyncIterator[bytes], *, chunked: bool) -> int:
    sent = 0
    async for data in body:
        if data:
            await send(request, b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)
            sent += len(data)
    if chunked:
        await send(request, b"0\r\n\r\n")
    return sent


def cut(request: web.BaseRequest) -> None:
    """Reset the connection: what was sent must not pass for a whole message."""
    if request.transport is not None:
        request.transport.abort()
