"""One exchange with one resolver: a query out, the response that belongs to it back.

Invariants: every query has a random id and, by the system, a random source port; a datagram from elsewhere, or one
that answers something else, is passed over; what goes over the wire is counted where it is written and read.
"""

from __future__ import annotations

import asyncio
import ssl

import dns.message

from proxy.metering import current_meter
from proxy.upstream.dns.failure import DnsFailure, DnsReason
from proxy.upstream.dns.resolvers import Resolver, Transport
from proxy.upstream.dns.responses import is_truncated, read_response


async def exchange(
    query: dns.message.Message,
    resolver: Resolver,
    transport: Transport,
    seconds: float,
    tls: ssl.SSLContext | None = None,
) -> dns.message.Message:
    """The response of `resolver` to `query` within `seconds`, over a stream when it is too long for UDP.

    `tls` is needed over TLS. Raises DnsFailure and nothing else; any RCODE is a response.
    """
    conversation = _Conversation(query, resolver, tls)
    try:
        async with asyncio.timeout(seconds):
            if transport is Transport.UDP:
                response = await conversation.over_udp()
                if not is_truncated(response):
                    return response
            return await conversation.over_stream()
    except TimeoutError:
        raise conversation.passed_over or DnsFailure(
            DnsReason.TIMEOUT, "The resolver did not answer in time."
        ) from None
    except ssl.SSLError:
        raise DnsFailure(DnsReason.UNREACHABLE, "The TLS session with the resolver failed.") from None
    except OSError:
        raise DnsFailure(DnsReason.UNREACHABLE, "The resolver cannot be reached.") from None


class _Conversation:
    """What is said to one resolver about one query; `passed_over` tells of an answer to something else."""

    def __init__(self, query: dns.message.Message, resolver: Resolver, tls: ssl.SSLContext | None) -> None:
        self._query = query
        self._octets = query.to_wire()
        self._resolver = resolver
        self._tls = tls
        self.passed_over: DnsFailure | None = None

    async def over_udp(self) -> dns.message.Message:
        transport, datagrams = await asyncio.get_running_loop().create_datagram_endpoint(
            _Datagrams, remote_addr=(self._resolver.address, self._resolver.port)
        )
        try:
            transport.sendto(self._octets)
            self._sent()
            while True:
                octets = await datagrams.next()
                _received(len(octets))
                try:
                    return read_response(octets, self._query)
                except DnsFailure as failure:
                    if failure.reason is not DnsReason.OTHER_QUESTION:
                        raise
                    self.passed_over = failure
        finally:
            transport.abort()

    async def over_stream(self) -> dns.message.Message:
        """Over TCP or TLS (RFC 7766, RFC 7858): each message after its length."""
        name = (self._resolver.tls_name or self._resolver.address) if self._tls else None
        reader, writer = await asyncio.open_connection(
            self._resolver.address, self._resolver.port, ssl=self._tls, server_hostname=name
        )
        try:
            writer.write(len(self._octets).to_bytes(2, "big") + self._octets)
            await writer.drain()
            self._sent()
            response = read_response(await _next_message(reader), self._query)
        finally:
            writer.transport.abort()
        if is_truncated(response):
            raise DnsFailure(DnsReason.TRUNCATED, "The resolver's answer is cut short even over a stream.")
        return response

    def _sent(self) -> None:
        meter = current_meter.get()
        if meter is not None:
            meter.dns_sent(len(self._octets))


def _received(octets: int) -> None:
    meter = current_meter.get()
    if meter is not None:
        meter.received(octets)


async def _next_message(reader: asyncio.StreamReader) -> bytes:
    try:
        length = int.from_bytes(await reader.readexactly(2), "big")
    except asyncio.IncompleteReadError:
        raise DnsFailure(DnsReason.UNREACHABLE, "The resolver closed the connection unanswered.") from None
    try:
        octets = await reader.readexactly(length)
    except asyncio.IncompleteReadError as end:
        _received(len(end.partial))
        raise DnsFailure(DnsReason.TRUNCATED, "The connection ended in the middle of the answer.") from None
    _received(length)
    return octets


class _Datagrams(asyncio.DatagramProtocol):
    """What arrives at a connected socket: the system lets through only datagrams of its peer."""

    def __init__(self) -> None:
        self._arrived: asyncio.Queue[bytes | Exception] = asyncio.Queue()

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._arrived.put_nowait(data)

    def error_received(self, exc: Exception) -> None:
        self._arrived.put_nowait(exc)

    async def next(self) -> bytes:
        """The next datagram. Raises OSError when the peer's system says that nobody is there."""
        event = await self._arrived.get()
        if isinstance(event, Exception):
            raise event
        return event
