"""A scripted name server on a loopback port, over UDP and TCP, or over TLS.

    replies = {("_agent.example.com", "TXT"): records('_agent.example.com. 300 IN TXT "v=uaix1"')}
    async with ScriptedNameserver(replies) as server:
        ...  # ask 127.0.0.1:{server.port}
        assert server.count("_agent.example.com", "TXT") == 1

A reply is a function from the query and the transport ("udp" or "tcp", also over TLS) to the messages to send, in
octets; none is silence. `records` makes one from lines of a zone file. A question without a reply gets NXDOMAIN.
What is too long for the query's UDP payload goes out truncated, as it would from a real server.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

Query = dns.message.Message
Reply = Callable[[Query, str], Sequence[bytes]]
SOA = "example.com. 900 IN SOA ns.example.com. host.example.com. 1 7200 900 1209600 120"


def rrsets(*lines: str) -> list[dns.rrset.RRset]:
    """The RRsets of zone file lines that give owner, TTL, class and type in full, in their order."""
    sets: dict[tuple[str, str], dns.rrset.RRset] = {}
    for line in lines:
        owner, ttl, rdclass, rdtype, rdata = line.split(maxsplit=4)
        [added] = line_set = dns.rrset.from_text(owner, int(ttl), rdclass, rdtype, rdata)
        sets.setdefault((owner.lower(), rdtype), line_set).add(added, int(ttl))
    return list(sets.values())


def records(*lines: str, authority: Sequence[str] = (), rcode: int = dns.rcode.NOERROR, flags: int = 0) -> Reply:
    """Always the records of the zone file `lines`; `flags` come on top of QR and RA."""
    answer, proof = rrsets(*lines), rrsets(*authority)

    def reply(query: Query, transport: str) -> Sequence[bytes]:
        response = dns.message.make_response(query, recursion_available=True)
        response.flags |= flags
        response.set_rcode(dns.rcode.Rcode(rcode))
        response.answer, response.authority = answer, proof
        return [_fitting(response, query, transport)]

    return reply


def absent(rcode: int = dns.rcode.NOERROR, soa: str | None = SOA) -> Reply:
    """NODATA, or NXDOMAIN with that `rcode`, with or without the zone's SOA record."""
    return records(authority=[soa] if soa else [], rcode=rcode)


def failing(rcode: int) -> Reply:
    """No answer but a response code."""
    return records(rcode=rcode)


def silence(query: Query, transport: str) -> Sequence[bytes]:
    """No answer at all."""
    return []


def _fitting(response: dns.message.Message, query: Query, transport: str) -> bytes:
    octets = response.to_wire(max_size=65535)
    if transport == "udp" and len(octets) > max(query.payload, 512):
        response.answer, response.authority = [], []
        response.flags |= dns.flags.TC
        return response.to_wire()
    return octets


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it came in."""

    transport: str
    query: Query

    @property
    def question(self) -> tuple[str, str]:
        """Name in lower case without its trailing dot, and type."""
        [question] = self.query.question
        return question.name.to_text(omit_final_dot=True).lower(), dns.rdatatype.to_text(question.rdtype)


class ScriptedNameserver:
    """See the module's text. `asked` holds the queries; the octets are those of DNS messages, in and out."""

    def __init__(
        self,
        replies: Mapping[tuple[str, str], Reply],
        *,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.replies = dict(replies)
        self.asked: list[Asked] = []
        self.octets_in = 0
        self.octets_out = 0
        self.host = host
        self.port = 0
        self._tls = tls
        self._writers: set[asyncio.StreamWriter] = set()

    def count(self, name: str, record_type: str) -> int:
        """How many queries there were for one question."""
        return sum(asked.question == (name, record_type) for asked in self.asked)

    async def __aenter__(self) -> Self:
        self._streams = await asyncio.start_server(self._converse, self.host, 0, ssl=self._tls)
        self.port = self._streams.sockets[0].getsockname()[1]
        self._datagrams, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _Datagrams(self), local_addr=(self.host, self.port)
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._datagrams.abort()
        self._streams.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._streams.wait_closed()
        await asyncio.sleep(0)

    def responses(self, octets: bytes, transport: str) -> Sequence[bytes]:
        """What the script says to a query."""
        query = dns.message.from_wire(octets)
        asked = Asked(transport, query)
        self.octets_in += len(octets)
        self.asked.append(asked)
        messages = self.replies.get(asked.question, absent(dns.rcode.NXDOMAIN, soa=None))(query, transport)
        self.octets_out += sum(map(len, messages))
        return messages

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            length = int.from_bytes(await reader.readexactly(2), "big")
            for message in self.responses(await reader.readexactly(length), "tcp"):
                writer.write(len(message).to_bytes(2, "big") + message)
            await writer.drain()
            await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: ScriptedNameserver) -> None:
        self._server = server

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        for message in self._server.responses(data, "udp"):
            self._transport.sendto(message, addr)
