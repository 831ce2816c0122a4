"""The name server of the demo: one zone over UDP on loopback, counting what it is asked."""

from __future__ import annotations

import asyncio

import dns.exception
import dns.flags
import dns.message
import dns.node
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.zone


class NameServer(asyncio.DatagramProtocol):
    """Answers for `zone`, in zone format with an $ORIGIN; `asked` are the questions since `forget`."""

    def __init__(self, zone: str) -> None:
        self._zone = dns.zone.from_text(zone, relativize=False)
        assert self._zone.origin is not None
        self._origin = self._zone.origin
        self._transport: asyncio.DatagramTransport | None = None
        self.port = 0
        self.asked: list[str] = []

    async def start(self) -> None:
        """Listen on a free port. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, ("127.0.0.1", 0))
        self.port = self._transport.get_extra_info("sockname")[1]

    def stop(self) -> None:
        """Stop listening; a second time does nothing."""
        if self._transport is not None:
            self._transport.close()

    def forget(self) -> None:
        """Count from here."""
        self.asked.clear()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer a query; what is none is passed over."""
        try:
            query = dns.message.from_wire(data)
            question = query.question[0]
        except (dns.exception.DNSException, IndexError):
            return
        self.asked.append(f"{question.name} {dns.rdatatype.to_text(question.rdtype)}")
        if self._transport is not None:
            self._transport.sendto(self._answered(query).to_wire(), addr)

    def _answered(self, query: dns.message.Message) -> dns.message.Message:
        name, rdtype = query.question[0].name, query.question[0].rdtype
        response = dns.message.make_response(query)
        response.flags |= dns.flags.AA
        if not name.is_subdomain(self._origin):
            response.set_rcode(dns.rcode.REFUSED)
            return response
        node: dns.node.Node | None = self._zone.get_node(name)
        found = None if node is None else node.get_rdataset(dns.rdataclass.IN, rdtype)
        if found is not None:
            response.answer.append(self._zone.find_rrset(name, rdtype))
            return response
        if node is None:
            response.set_rcode(dns.rcode.NXDOMAIN)
        response.authority.append(self._zone.find_rrset(self._origin, dns.rdatatype.SOA))
        return response
