"""From resource records to the values that discovery reads.

Records are decoded from their octets, the unknown and the malformed alike. One that is not of its type's form is
left out and counted; its neighbours stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import dns.exception
import dns.ipv4
import dns.ipv6
import dns.name
import dns.rdatatype
import dns.rrset
import dns.wire

from proxy.discovery.records.dnsvalues import AddressRecord, Record, Svcb, Txt


def name_text(name: dns.name.Name) -> str:
    """A name in lower case without its trailing dot; the root is ".". Odd octets are escaped (RFC 1035 §5.1)."""
    return name.to_text(omit_final_dot=True).lower()


def records(rrset: dns.rrset.RRset) -> tuple[tuple[Record, ...], int]:
    """The values in `rrset`, whose type is one of `DECODERS`, and how many of its records were malformed."""
    decode = DECODERS[rrset.rdtype]
    found: list[Record] = []
    dropped = 0
    for rdata in rrset:
        try:
            found.append(decode(dns.wire.Parser(rdata.to_wire() or b"")))
        except (dns.exception.DNSException, ValueError):
            dropped += 1
    return tuple(found), dropped


def _txt(rdata: dns.wire.Parser) -> Txt:
    """One or more character-strings (RFC 1035 §3.3.14)."""
    strings: list[bytes] = []
    while rdata.remaining() or not strings:
        strings.append(rdata.get_counted_bytes())
    return Txt(tuple(strings))


def _svcb(rdata: dns.wire.Parser) -> Svcb:
    """Priority, target, parameters in ascending order of their keys (RFC 9460 §2.2)."""
    priority = rdata.get_uint16()
    target = name_text(rdata.get_name())
    params: dict[int, bytes] = {}
    last = -1
    while rdata.remaining():
        key = rdata.get_uint16()
        if key <= last:
            raise ValueError("the parameters are out of order or repeated")
        params[key] = rdata.get_counted_bytes(2)
        last = key
    return Svcb(priority, target, params)


def _ipv4(rdata: dns.wire.Parser) -> AddressRecord:
    return AddressRecord(dns.ipv4.inet_ntoa(_all_of(rdata, 4)))


def _ipv6(rdata: dns.wire.Parser) -> AddressRecord:
    return AddressRecord(dns.ipv6.inet_ntoa(_all_of(rdata, 16)))


def _all_of(rdata: dns.wire.Parser, size: int) -> bytes:
    if rdata.remaining() != size:
        raise ValueError("an address of another length")
    return rdata.get_bytes(size)


DECODERS: Final[dict[dns.rdatatype.RdataType, Callable[[dns.wire.Parser], Record]]] = {
    dns.rdatatype.TXT: _txt,
    dns.rdatatype.SVCB: _svcb,
    dns.rdatatype.HTTPS: _svcb,
    dns.rdatatype.A: _ipv4,
    dns.rdatatype.AAAA: _ipv6,
}
"""The record types that can be asked for."""
