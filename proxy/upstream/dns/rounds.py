"""The resolvers asked in turn until one says what there is.

One that fails makes room for the next; those that kept silent are asked once more, since datagrams get lost.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address

import dns.flags
import dns.message
import dns.name
import dns.rdatatype

from proxy.upstream.dns.failure import DnsFailure, DnsReason
from proxy.upstream.dns.resolvers import Resolver, Transport
from proxy.upstream.dns.responses import check_rcode
from proxy.upstream.dns.settings import Dnssec, DnsSettings
from proxy.upstream.dns.transport import exchange

# What passes every network in one piece (DNS Flag Day 2020).
_UDP_PAYLOAD = 1232
_TIMES = 2
# Exchanges under way at once; each has a socket.
_AT_ONCE = 128


class Checking(StrEnum):
    """Who checks the signatures of an answer: nobody, the resolver (AD), or this proxy, who wants them all (CD)."""

    NOBODY = "nobody"
    RESOLVER = "resolver"
    PROXY = "proxy"


_FLAGS = {
    Checking.NOBODY: dns.flags.RD,
    Checking.RESOLVER: dns.flags.RD | dns.flags.AD,
    Checking.PROXY: dns.flags.RD | dns.flags.CD,
}


@dataclass(frozen=True, slots=True)
class Reply:
    """A response with RCODE NOERROR or NXDOMAIN, who gave it and who was to check it."""

    response: dns.message.Message
    resolver: Resolver
    checking: Checking


class Rounds:
    """Asks by `settings`. Raises DnsFailure and nothing else."""

    def __init__(self, settings: DnsSettings) -> None:
        self.settings = settings
        self._tls: ssl.SSLContext | None = None
        if settings.transport is Transport.TLS:
            self._tls = settings.tls or ssl.create_default_context()
        self._trusted = frozenset(ip_address(address) for address in settings.trust_ad_from)
        self._room = asyncio.Semaphore(_AT_ONCE)

    @property
    def relies_on_resolvers(self) -> bool:
        """Whether some resolver checks signatures on behalf of this proxy."""
        return any(self._usual(resolver) is Checking.RESOLVER for resolver in self.settings.resolvers)

    def deadline(self) -> float:
        """When a question asked now must be answered, in the event loop's time."""
        return asyncio.get_running_loop().time() + self.settings.timeout

    async def exchange(self, name: dns.name.Name, rdtype: dns.rdatatype.RdataType) -> dns.message.Message:
        """A response with every signature in it and nothing held back (DO and CD), for a validator."""
        return (await self.ask(name, rdtype, self.deadline(), Checking.PROXY)).response

    async def ask(
        self,
        name: dns.name.Name,
        rdtype: dns.rdatatype.RdataType,
        deadline: float,
        checking: Checking | None = None,
    ) -> Reply:
        """The first usable response by `deadline`; `checking` None leaves it to the settings."""
        failure = DnsFailure(DnsReason.UNREACHABLE, "There is no resolver to ask.")
        silent = self.settings.resolvers
        for _ in range(_TIMES):
            waiting, silent = silent, ()
            for resolver in waiting:
                try:
                    return await self._attempt(name, rdtype, resolver, deadline, checking or self._usual(resolver))
                except DnsFailure as latest:
                    failure = _more_telling(failure, latest)
                    if latest.reason is DnsReason.TIMEOUT:
                        silent += (resolver,)
        raise failure

    async def _attempt(
        self,
        name: dns.name.Name,
        rdtype: dns.rdatatype.RdataType,
        resolver: Resolver,
        deadline: float,
        checking: Checking,
    ) -> Reply:
        query = dns.message.make_query(
            name,
            rdtype,
            use_edns=0,
            want_dnssec=checking is not Checking.NOBODY,
            payload=_UDP_PAYLOAD,
            flags=_FLAGS[checking],
        )
        await self._enter(deadline)
        try:
            left = deadline - asyncio.get_running_loop().time()
            seconds = min(self.settings.attempt_timeout, left)
            response = await exchange(query, resolver, self.settings.transport, seconds, self._tls)
        finally:
            self._room.release()
        check_rcode(response)
        return Reply(response, resolver, checking)

    async def _enter(self, deadline: float) -> None:
        """Wait until another exchange may begin."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._room.acquire()
        except TimeoutError:
            raise DnsFailure(DnsReason.TIMEOUT, "Too many other questions were under way.") from None

    def _usual(self, resolver: Resolver) -> Checking:
        if self.settings.dnssec is Dnssec.OFF:
            return Checking.NOBODY
        return Checking.RESOLVER if ip_address(resolver.address) in self._trusted else Checking.PROXY


def _more_telling(failure: DnsFailure, latest: DnsFailure) -> DnsFailure:
    """Of two failures the latest, unless only the earlier is something that a resolver said."""
    silences = (DnsReason.TIMEOUT, DnsReason.UNREACHABLE)
    return failure if latest.reason in silences and failure.reason not in silences else latest
