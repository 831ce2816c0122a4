"""One request and its response on a connection of aiohttp's.

aiohttp keeps the connections, writes the body and parses the response. What it does otherwise than a proxy needs is
one method each: it upper-cases methods, drops an empty query and writes fields as UTF-8 (`OctetRequest.send`); it
swallows interim responses (`OctetResponse.start`); it leaves a reader waiting, or tells it that all is well, when a
body breaks off in certain ways (`BrokenBodies.connection_lost`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from aiohttp import (
    ClientHandlerType,
    ClientMiddlewareType,
    ClientPayloadError,
    ClientRequest,
    ClientResponse,
    StreamReader,
    TCPConnector,
)
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import RawResponseMessage, StreamWriter

from proxy.http.messages import ResponseHead
from proxy.metering import Meter
from proxy.ports import Interim
from proxy.upstream.faults import invalid_response
from proxy.upstream.octets import RequestOctets, response_head

# 100 is for whoever waits to send a body, 101 is final; RFC 9110 §15.2 lets any other be dropped.
_PASSED_ON: Final = frozenset({102, 103})


@dataclass(frozen=True, slots=True)
class Order:
    """What one exchange is to do; travels with aiohttp's request. `meter` counts for `host`."""

    octets: RequestOctets
    max_head_bytes: int
    interim: Interim | None
    upgrade: bool
    host: str
    meter: Meter | None


def carrying(order: Order) -> ClientMiddlewareType:
    """A middleware that gives each attempt of aiohttp's at the request its order."""

    async def carry(request: ClientRequest, send: ClientHandlerType) -> ClientResponse:
        assert isinstance(request, OctetRequest)
        request.order = order
        return await send(request)

    return carry


class OctetRequest(ClientRequest):
    """A request whose head is written octet for octet. The fields that aiohttp has made up are not sent."""

    order: Order

    async def send(self, conn: Connection) -> ClientResponse:
        """Write head and body; the body goes on while the response is awaited."""
        protocol = conn.protocol
        assert isinstance(protocol, MeteredProtocol)
        writer = StreamWriter(protocol, self.loop)
        await writer.write(self.order.octets.head, drain=False)
        protocol.meter = self.order.meter
        if protocol.meter is not None:
            protocol.meter.http_sent(self.order.host, len(self.order.octets.head))
        upload = None
        if self.order.octets.body is not None:
            if self.order.octets.is_chunked:
                writer.enable_chunking()
            upload = self._writer = self.loop.create_task(self.write_bytes(writer, conn))
        response = OctetResponse(
            self.method,
            self.original_url,
            writer=upload,
            continue100=None,
            timer=self._timer,
            request_info=self.request_info,
            traces=[],
            loop=self.loop,
            session=self.session,
            stream_writer=writer,
        )
        response.order = self.order
        return response


class OctetResponse(ClientResponse):
    """A response with its head as received (`head`)."""

    order: Order
    head: ResponseHead

    async def start(self, connection: Connection) -> ClientResponse:
        """Wait for the final head. Raises OriginUnavailable or HttpProcessingError when there is none to be had."""
        self._closed = False
        self._connection = connection
        protocol = connection.protocol
        assert protocol is not None
        message, payload = await self._final_message(protocol)
        if message.code == 101 and not (self.order.upgrade and protocol.upgraded):
            raise invalid_response("The origin switched protocols unasked.")
        self.head = response_head(message, self.order.max_head_bytes)
        self.status = message.code
        self.reason = message.reason
        self._headers = message.headers
        self.content = payload
        payload.on_eof(self._response_eof)
        return self

    async def _final_message(self, protocol: ResponseHandler) -> tuple[RawResponseMessage, StreamReader]:
        while True:
            message, payload = await protocol.read()
            if not 100 <= message.code < 200 or message.code == 101:
                return message, payload
            if self.order.interim is not None and message.code in _PASSED_ON:
                self.order.interim(response_head(message, self.order.max_head_bytes))


class MeteredProtocol(ResponseHandler):
    """A connection that counts what arrives for the exchange it carries: HTTP/1.1, so one at a time."""

    meter: Meter | None = None

    def data_received(self, data: bytes) -> None:
        """Octets above TLS."""
        if self.meter is not None:
            self.meter.received(len(data))
        super().data_received(data)


class BrokenBodies(MeteredProtocol):
    """Tells the reader of a body that it broke off where aiohttp's parser is silent about it.

    That is after a parse error in a later segment (the reader would wait for ever), and when a body that ends with
    the connection (RFC 9112 §6.3) was ended by an error or by ourselves (the reader would take it for complete).
    """

    _origin_has_ended = False

    def eof_received(self) -> None:
        """The origin has sent everything."""
        self._origin_has_ended = True
        super().eof_received()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The connection is gone, in order when `exc` is None."""
        payload = self._payload
        was_open = payload is not None and not payload.is_eof()
        super().connection_lost(exc)
        if payload is None or not was_open or payload.exception() is not None:
            return
        if not payload.is_eof():
            payload.set_exception(self.exception() or ClientPayloadError())
        elif exc is not None or not self._origin_has_ended:
            payload.set_exception(ClientPayloadError())


class Connector(TCPConnector):
    """aiohttp's pool, over connections that report broken bodies."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = cast("partial[ResponseHandler]", partial(BrokenBodies, loop=self._loop))
