"""A responder of multicast DNS on the loopback interface that says exactly what it is told, sound or not.

    async with Responder(announcement("Printer", host="printer.local.")) as responder:
        ...  # whoever browses 127.0.0.1 hears it in answer to each question for the service type
        responder.send(goodbye("Printer"))
    assert (SERVICE_TYPE, "PTR") in responder.asked

Packets are made of records by `response`; nothing is checked in it that a sender on the link could get wrong.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from types import TracebackType
from typing import Self

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.renderer
import dns.rrset
from dns.rdtypes.ANY.TXT import TXT

GROUP = ("224.0.0.251", 5353)
LOOPBACK = "127.0.0.1"
SERVICE_TYPE = dns.name.from_text("_agent._tcp.local.")
OURS = (b"v=uaix1",)
_CACHE_FLUSH = dns.rdataclass.RdataClass.make(0x8001)  # RFC 6762 §10.2, with class IN


def instance(label: str | bytes, service_type: dns.name.Name = SERVICE_TYPE) -> dns.name.Name:
    """The full name of an instance, whatever octets its label has."""
    return dns.name.Name([label if isinstance(label, bytes) else label.encode(), *service_type.labels])


def record(owner: dns.name.Name, record_type: str, data: str, ttl: int) -> dns.rrset.RRset:
    return dns.rrset.from_text(owner, ttl, "IN", record_type, data)


def pointer(name: dns.name.Name, ttl: int = 4500) -> dns.rrset.RRset:
    return record(SERVICE_TYPE, "PTR", name.to_text(), ttl)


def location(name: dns.name.Name, host: str, port: int = 443, ttl: int = 120) -> dns.rrset.RRset:
    return record(name, "SRV", f"0 0 {port} {host}", ttl)


def text(name: dns.name.Name, strings: tuple[bytes, ...], ttl: int = 4500) -> dns.rrset.RRset:
    return dns.rrset.from_rdata(name, ttl, TXT(dns.rdataclass.IN, dns.rdatatype.TXT, strings))


def address(host: str, literal: str, ttl: int = 120) -> dns.rrset.RRset:
    return record(dns.name.from_text(host), "AAAA" if ":" in literal else "A", literal, ttl)


def response(*records: dns.rrset.RRset, flush: bool = False) -> bytes:
    """One packet of answers; with `flush`, each replaces what was said before of its name and type."""
    renderer = dns.renderer.Renderer(0, dns.flags.QR | dns.flags.AA, max_size=9000)
    for answer in records:
        answer.deleting = _CACHE_FLUSH if flush else None  # how dnspython lets a record go out in another class
        renderer.add_rrset(dns.renderer.ANSWER, answer)
    renderer.write_header()
    return renderer.get_wire()


def announcement(
    label: str | bytes,
    host: str = "agent.local.",
    strings: tuple[bytes, ...] = OURS,
    addresses: tuple[str, ...] = (LOOPBACK,),
    port: int = 443,
    ttl: int = 120,
) -> bytes:
    """All the records of an instance; `ttl` is that of SRV and addresses."""
    name = instance(label)
    located = [address(host, literal, ttl) for literal in addresses]
    return response(pointer(name), location(name, host, port, ttl), text(name, strings), *located)


def goodbye(label: str | bytes) -> bytes:
    """The instance leaves (RFC 6762 §10.1)."""
    return response(pointer(instance(label), ttl=0))


def multicast_socket() -> socket.socket:
    """In the group on loopback, beside whoever else listens on the port. Raises OSError."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened.bind(("", GROUP[1]))
        membership = struct.pack("4s4s", socket.inet_aton(GROUP[0]), socket.inet_aton(LOOPBACK))
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(LOOPBACK))
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
    except OSError:
        opened.close()
        raise
    return opened


class Responder(asyncio.DatagramProtocol):
    """Sends its packets whenever the service type is asked for; `asked` is every question heard, name and type."""

    def __init__(self, *packets: bytes) -> None:
        self.packets = packets
        self.asked: list[tuple[dns.name.Name, str]] = []
        self._heard = asyncio.Event()
        self._transport: asyncio.DatagramTransport | None = None

    def send(self, packet: bytes) -> None:
        assert self._transport is not None
        self._transport.sendto(packet, GROUP)

    async def hears(self, name: dns.name.Name, record_type: str) -> None:
        """Wait until the question has been asked."""
        while (name, record_type) not in self.asked:
            self._heard.clear()
            await self._heard.wait()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        try:
            message = dns.message.from_wire(data, ignore_trailing=True)
        except dns.exception.DNSException:
            return
        if message.flags & dns.flags.QR:
            return
        questions = [(question.name, dns.rdatatype.to_text(question.rdtype)) for question in message.question]
        self.asked += questions
        self._heard.set()
        if (SERVICE_TYPE, "PTR") in questions:
            for packet in self.packets:
                self.send(packet)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, sock=multicast_socket())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._transport is not None
        self._transport.close()
        await asyncio.sleep(0)
