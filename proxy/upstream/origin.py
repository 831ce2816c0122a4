"""`ports.Origin` over aiohttp: HTTP/1.1 requests, upgrades and tunnels, bounded in time, size and address."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from typing import Final

import aiohappyeyeballs
from aiohttp import ClientSession, ClientTimeout, DummyCookieJar
from yarl import URL

from proxy.caching.freshness import Exchange
from proxy.http.messages import Request
from proxy.metering import current_meter
from proxy.ports import Body, ByteStream, Clock, Interim, Upgraded
from proxy.upstream.addresses import CheckedResolver
from proxy.upstream.connect_to import ConnectTo, connect_address
from proxy.upstream.exchange import Connector, OctetRequest, OctetResponse, Order, carrying
from proxy.upstream.faults import MAX_FIELDS, faults
from proxy.upstream.octets import RequestOctets, request_octets
from proxy.upstream.response import Deadline, StreamedResponse
from proxy.upstream.tunnel import SocketStream

# RFC 8305 §5: the delay after which the next address is tried beside the first.
_ATTEMPT_DELAY: Final = 0.25
_READ_AHEAD: Final = 64 * 1024
# RFC 9110 §9.2.2: what aiohttp may send a second time when a connection turns out to be closed. Methods are told
# apart by case (§9.1), which aiohttp does not do, so any other goes as POST as far as aiohttp is concerned.
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True)
class UpstreamLimits:
    """Bounds of every exchange, and where connections go. Times in seconds, sizes in bytes.

    `connect_timeout` is for a connection including the wait for a free one; `total_timeout` for everything up to
    the end of a body that is read whole, and for each silence in one that is streamed. `idle_timeout` is how long
    an unused connection is kept: less than servers do, or requests meet connections that are just being closed.
    `max_connections` are for one origin. `ca_file` replaces the system's certificate authorities.
    """

    connect_timeout: float = 3.0
    total_timeout: float = 10.0
    idle_timeout: float = 4.0
    max_header: int = 64 * 1024
    max_connections: int = 256
    ca_file: str | None = None
    connect_to: tuple[ConnectTo, ...] = ()


class AiohttpOrigin:
    """Implements `ports.Origin`. Made inside a running event loop; raises OSError for an unusable `ca_file`."""

    def __init__(self, limits: UpstreamLimits, resolver: CheckedResolver, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._resolver = resolver
        tls = ssl.create_default_context(cafile=limits.ca_file)
        tls.set_alpn_protocols(["http/1.1"])
        connector = Connector(
            resolver=self._resolver,
            ssl=tls,
            keepalive_timeout=limits.idle_timeout,
            limit=0,
            limit_per_host=limits.max_connections,
            happy_eyeballs_delay=_ATTEMPT_DELAY,
        )
        self._session = ClientSession(
            connector=connector,
            request_class=OctetRequest,
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            timeout=ClientTimeout(total=None, connect=limits.connect_timeout),
            read_bufsize=_READ_AHEAD,
            max_line_size=limits.max_header,
            max_field_size=limits.max_header,
            max_headers=MAX_FIELDS,
        )

    async def fetch(self, request: Request, body: Body = None, interim: Interim | None = None) -> StreamedResponse:
        """Send `request` and wait for the final head. Raises OriginUnavailable."""
        deadline = Deadline(self._limits.total_timeout)
        return await self._exchange(request, request_octets(request, body, deadline.extend), deadline, interim)

    async def upgrade(self, request: Request) -> Upgraded | StreamedResponse:
        """Send `request` with its Upgrade field; the switched connection, or the origin's other answer."""
        deadline = Deadline(self._limits.total_timeout)
        octets = request_octets(request, None, deadline.extend, upgrade=True)
        response = await self._exchange(request, octets, deadline, None, upgrade=True)
        return response.switched() if response.head.status == 101 else response

    async def connect(self, host: str, port: int) -> ByteStream:
        """A connection for a CONNECT tunnel; the host is canonical. Raises OriginUnavailable."""
        address = connect_address(self._limits.connect_to, host, port)
        with faults(f"The origin accepted no connection within {self._limits.connect_timeout:g} seconds."):
            async with asyncio.timeout(self._limits.connect_timeout):
                connected = await aiohappyeyeballs.start_connection(
                    await self._resolver.addresses(*address), happy_eyeballs_delay=_ATTEMPT_DELAY
                )
                return SocketStream(*await asyncio.open_connection(sock=connected, limit=_READ_AHEAD))

    async def close(self) -> None:
        """Close every connection except those of tunnels made by `connect`."""
        await self._session.close()

    async def _exchange(
        self,
        request: Request,
        octets: RequestOctets,
        deadline: Deadline,
        interim: Interim | None,
        *,
        upgrade: bool = False,
    ) -> StreamedResponse:
        target = request.target
        host, port = connect_address(self._limits.connect_to, target.host, target.port)
        order = Order(octets, self._limits.max_header, interim, upgrade, target.host, current_meter.get())
        sent_at = self._clock()
        with faults(
            f"The origin sent no response within {self._limits.total_timeout:g} seconds (upstream.total_timeout)."
        ):
            self._resolver.check_literal(host, port)
            async with deadline.running():
                response = await self._session.request(
                    request.method if request.method in _IDEMPOTENT and not request.is_action else "POST",
                    # For the connection only: `octets` has the request target.
                    URL.build(scheme=target.scheme, host=host, port=port, path="/"),
                    server_hostname=target.host,
                    data=octets.body,
                    allow_redirects=False,
                    middlewares=(carrying(order),),
                )
        assert isinstance(response, OctetResponse)
        return StreamedResponse(response, Exchange(sent_at, self._clock()), deadline, self._limits.total_timeout)
