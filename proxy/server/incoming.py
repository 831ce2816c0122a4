"""A client's request as it was received, and what of it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web

from proxy.caching.directives import SURROGATE
from proxy.caching.serving import VIA
from proxy.http.fields import Fields, end_to_end, split_list
from proxy.http.messages import ResponseHead, forwardable
from proxy.http.problems import Problem, Slug
from proxy.http.targets import Target
from proxy.ports import Interim
from proxy.server.forms import Form
from proxy.server.rewriting import in_gateway_form
from proxy.server.wire import send, serialise_head

_HTTP_11 = (1, 1)
# For a body that is read whole.
_BODY_SECONDS = 10.0
_VERSIONS = ((1, 0), _HTTP_11)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Interim responses that a client has not read yet; the next ones are dropped.
_INTERIM_BUFFER = 2**16
# Edge Architecture 1.0 §3.2: tells a site's origin how it can target this cache.
_CAPABILITY = ("Surrogate-Capability", f'{SURROGATE}="Surrogate/1.0"')


class Incoming:
    """One request. `is_malformed` once its body has turned out not to be well-formed."""

    def __init__(self, http: web.BaseRequest) -> None:
        self._http = http
        self.fields = Fields((name.decode("latin-1"), value.decode("latin-1")) for name, value in http.raw_headers)
        self.is_malformed = False

    def problem(self) -> Problem | None:
        """Why a request that the framework's parser let pass is refused all the same; None when it is not.

        Another recipient could read its framing otherwise (RFC 9112 §6.1), or it may go no further.
        """
        if self._http.version not in _VERSIONS:
            return Problem(Slug.NOT_IMPLEMENTED, "This proxy speaks HTTP/1.1 and HTTP/1.0.", at_status=505)
        if self._forwards_left() == 0:
            detail = "Max-Forwards ends this request here, and the proxy has no OPTIONS or TRACE of its own."
            return Problem(Slug.NOT_IMPLEMENTED, detail)
        coding = self.fields.get("transfer-encoding")
        if coding is not None and self._http.version < _HTTP_11:
            return Problem(Slug.BAD_REQUEST, "HTTP/1.0 has no Transfer-Encoding.")
        if coding is not None and coding.lower() != "chunked":
            return Problem(Slug.NOT_IMPLEMENTED, "The only transfer coding that this proxy undoes is chunked.")
        return None

    @property
    def address(self) -> str:
        """The address of the peer; "" where the connection has none."""
        transport = self._http.transport
        peer = None if transport is None else transport.get_extra_info("peername")
        return str(peer[0]) if isinstance(peer, tuple) else ""

    @property
    def certificate(self) -> bytes | None:
        """The peer's certificate in DER, which TLS has verified; None without one."""
        transport = self._http.transport
        tls = None if transport is None else transport.get_extra_info("ssl_object")
        return None if tls is None else tls.getpeercert(binary_form=True)

    def forwardable(self, form: Form, withheld: str | None = None) -> Fields:
        """The fields that go on: an Upgrade is kept, hop-by-hop though it is; Expect is ours to meet.

        `withheld` is one more that does not.
        """
        ours = ("expect",) if withheld is None else ("expect", withheld)
        fields = forwardable(self.fields).without(ours).plus(("Via", VIA))
        left = self._forwards_left()
        if left is not None:
            fields = fields.with_value("Max-Forwards", str(left - 1))
        if form is Form.SITE:
            fields = fields.plus(_CAPABILITY)
        return fields.plus(("Upgrade", "websocket")) if self._is_upgrade() else fields

    def _forwards_left(self) -> int | None:
        """How often the request may still be passed on (RFC 9110 §7.6.2); None for as often as it takes."""
        if self._http.method not in ("OPTIONS", "TRACE"):
            return None
        value = self.fields.get("max-forwards") or ""
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None

    def _is_upgrade(self) -> bool:
        """Whether it asks for WebSocket: under any other protocol, HTTP/2 above all, requests would pass unseen."""
        connection = split_list(self.fields.get("connection") or "")
        return (
            self._http.method == "GET"
            and self._http.version >= _HTTP_11
            and "upgrade" in map(str.lower, connection)
            and (self.fields.get("upgrade") or "").lower() == "websocket"
        )

    def body(self) -> AsyncIterator[bytes] | None:
        """The request body: None when there is none, else an iterator that first asks the client to go on."""
        length = self.fields.get("content-length")
        if "transfer-encoding" not in self.fields and (length is None or length.strip() == "0"):
            return None
        return self._read_body()

    async def read(self, limit: int) -> bytes:
        """The whole body, or as much of it as shows that it is larger than `limit`. Raises TimeoutError."""
        read, body = bytearray(), self.body()
        if body is None:
            return b""
        async with asyncio.timeout(_BODY_SECONDS):
            async for data in body:
                read += data
                if len(read) > limit:
                    break
        return bytes(read)

    async def _read_body(self) -> AsyncIterator[bytes]:
        if "100-continue" in (self.fields.get("expect") or "").lower():
            await send(self._http, _CONTINUE)
        try:
            async for data in self._http.content.iter_any():
                yield data
        except web.RequestPayloadError:
            self.is_malformed = True
            raise

    def interim(self, target: Target, form: Form) -> Interim | None:
        """What passes 1xx responses on to the client; HTTP/1.0 knows none (RFC 9110 §15.2)."""
        transport = self._http.transport
        if transport is None or self._http.version < _HTTP_11:
            return None

        def pass_on(head: ResponseHead) -> None:
            # Nothing here waits for a slow client, and an origin may send them without end.
            if transport.is_closing() or transport.get_write_buffer_size() > _INTERIM_BUFFER:
                return
            passed = ResponseHead(head.status, head.reason, end_to_end(head.fields))
            transport.write(serialise_head(in_gateway_form(target, passed) if form is Form.GATEWAY else passed))

        return pass_on
