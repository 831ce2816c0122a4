"""From the octets of a response to a message that can be believed to answer the query.

dnspython refuses records that are not of their type's form. One such record must cost neither its RRset nor the
signature over it, so in the answer section it stays as opaque octets, and `convert` decides about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.wire

from proxy.upstream.dns.convert import DECODERS
from proxy.upstream.dns.failure import DnsFailure, DnsReason

_HEADER = 12
# These say that the message as a whole breaks the rules (RFC 6891 §6.1.1), not one record of it.
_STRUCTURAL = (dns.message.BadEDNS, dns.message.BadTSIG, dns.message.TrailingJunk)
# Nothing that is published to be found has as many; reading the thousands that fit would hold everybody up.
_MOST_RECORDS = 1000
_LONGEST_TTL = 2**31 - 1  # more counts as 0 (RFC 2181 §8)
_MALFORMED = "The resolver's answer is not a well-formed DNS message."
_OTHER = "The resolver's answer belongs to another question."
_RCODES = {
    dns.rcode.SERVFAIL: (DnsReason.SERVFAIL, "The resolver could not find out (SERVFAIL)."),
    dns.rcode.REFUSED: (DnsReason.REFUSED, "The resolver refuses to answer this proxy (REFUSED)."),
}


@dataclass(frozen=True, slots=True)
class _Record:
    """One record of a message; its data are `size` octets from `start`."""

    owner: dns.name.Name
    rdtype: dns.rdatatype.RdataType
    ttl: int
    start: int
    size: int


def read_response(octets: bytes, query: dns.message.Message) -> dns.message.Message:
    """The message in `octets`, an answer to `query`; one with the TC flag may be cut off anywhere.

    Raises DnsFailure (MALFORMED, OTHER_QUESTION) and nothing else.
    """
    if len(octets) < _HEADER:
        raise DnsFailure(DnsReason.MALFORMED, _MALFORMED)
    questions, *records = _counts(octets)
    if int.from_bytes(octets[:2], "big") != query.id or questions > 1:
        raise DnsFailure(DnsReason.OTHER_QUESTION, _OTHER)
    if sum(records) > _MOST_RECORDS:
        raise DnsFailure(DnsReason.MALFORMED, f"The resolver's answer has more than {_MOST_RECORDS} records.")
    response = dns.message.from_wire(octets, continue_on_error=True)
    if not query.is_response(response):
        raise DnsFailure(DnsReason.OTHER_QUESTION, _OTHER)
    if response.errors and not is_truncated(response):
        if any(isinstance(error.exception, _STRUCTURAL) for error in response.errors):
            raise DnsFailure(DnsReason.MALFORMED, _MALFORMED)
        _keep_opaque(response, octets)
    return response


def is_truncated(response: dns.message.Message) -> bool:
    """Whether the TC flag is set: the rest is to be had over a stream (RFC 7766 §5)."""
    return bool(response.flags & dns.flags.TC)


def check_rcode(response: dns.message.Message) -> None:
    """Raises DnsFailure unless the resolver says what there is (NOERROR) or that there is nothing (NXDOMAIN)."""
    rcode = response.rcode()
    if rcode in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        return
    other = (DnsReason.SERVFAIL, f"The resolver did not answer ({dns.rcode.to_text(rcode)}).")
    raise DnsFailure(*_RCODES.get(rcode, other))


def _keep_opaque(response: dns.message.Message, octets: bytes) -> None:
    """Put what dnspython could not read back into the answer section. Raises DnsFailure (MALFORMED)."""
    try:
        for record in _answers(octets):
            if not _is_readable(record, octets):
                opaque = dns.rdata.GenericRdata(
                    dns.rdataclass.IN, record.rdtype, octets[record.start : record.start + record.size]
                )
                place = response.find_rrset(
                    response.answer, record.owner, dns.rdataclass.IN, record.rdtype, create=True
                )
                place.add(opaque, record.ttl)
    except dns.exception.DNSException:
        raise DnsFailure(DnsReason.MALFORMED, _MALFORMED) from None


def _is_readable(record: _Record, octets: bytes) -> bool:
    try:
        dns.rdata.from_wire(dns.rdataclass.IN, record.rdtype, octets, record.start, record.size)
    except (dns.exception.DNSException, ValueError):
        return False
    return True


def _counts(octets: bytes) -> list[int]:
    """How many entries each of the four sections has, by the header."""
    return [int.from_bytes(octets[at : at + 2], "big") for at in range(4, _HEADER, 2)]


def _answers(octets: bytes) -> Iterator[_Record]:
    """The records of the answer section that `convert` can read.

    The other sections are walked too, so that a message with a broken structure raises DNSException.
    """
    parser = dns.wire.Parser(octets, _HEADER)
    questions, answers, *others = _counts(octets)
    for _ in range(questions):
        dns.name.from_wire_parser(parser)
        parser.get_struct("!HH")
    for index in range(answers + sum(others)):
        owner = dns.name.from_wire_parser(parser)
        rdtype, rdclass, ttl, size = parser.get_struct("!HHIH")
        start = parser.current
        parser.get_bytes(size)
        if index < answers and rdclass == dns.rdataclass.IN and rdtype in DECODERS:
            yield _Record(owner, dns.rdatatype.RdataType(rdtype), ttl if ttl <= _LONGEST_TTL else 0, start, size)
