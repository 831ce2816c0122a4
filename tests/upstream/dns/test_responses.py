"""Which octets are an answer to a query, and what is saved of one that is malformed in part."""

from __future__ import annotations

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.upstream.dns.convert import records
from proxy.upstream.dns.failure import DnsFailure, DnsReason
from proxy.upstream.dns.responses import check_rcode, is_truncated, read_response
from tests.simulators.nameserver import SOA, rrsets

NAME = dns.name.from_text("_agent.example.com")
QNAME = NAME.to_wire() or b""
QUERY = dns.message.make_query(NAME, "TXT", use_edns=0, payload=1232)
OWNER = b"\xc0\x0c"  # points to the name in the question
TTL = b"\0\0\x01\x2c"


def header(answers: int = 0, others: int = 0, flags: int = 0x8180) -> bytes:
    """Header and question of a response to QUERY."""
    counts = (1, answers, others, 0)
    numbers = b"".join(count.to_bytes(2, "big") for count in counts)
    return QUERY.id.to_bytes(2, "big") + flags.to_bytes(2, "big") + numbers + QNAME + b"\0\x10\0\1"


def record(rdata: bytes, rdtype: int = 16, rdclass: int = 1, ttl: bytes = TTL, size: int | None = None) -> bytes:
    """A record at the question's name; `size` lies about the length of `rdata`."""
    length = len(rdata) if size is None else size
    return OWNER + rdtype.to_bytes(2, "big") + rdclass.to_bytes(2, "big") + ttl + length.to_bytes(2, "big") + rdata


def response(**changes: object) -> dns.message.Message:
    """A response to QUERY with a record and a SOA; `changes` are attributes to set."""
    message = dns.message.make_response(QUERY)
    message.answer = rrsets('_agent.example.com. 300 IN TXT "v=uaix1"')
    message.authority = rrsets(SOA)
    for name, value in changes.items():
        setattr(message, name, value)
    return message


GOOD = record(b"\x06v=uaix")
EMPTY = record(b"")
OVERLONG = record(b"\x09abc")
OTHER_NAME = rrsets("example.com. 1 IN TXT x")
OTHER_TYPE = rrsets("_agent.example.com. 1 IN A 192.0.2.1")


def test_an_answer() -> None:
    message = read_response(response().to_wire(), QUERY)
    assert len(message.answer) == 1 and not is_truncated(message)


def test_case_of_the_name_is_no_matter() -> None:
    octets = response().to_wire().replace(b"\x06_agent", b"\x06_AgEnT", 1)
    assert read_response(octets, QUERY).answer


NOT_OURS = {
    "another id": response(id=QUERY.id ^ 1).to_wire(),
    "another name": response(question=OTHER_NAME).to_wire(),
    "another type": response(question=OTHER_TYPE).to_wire(),
    "no question": response(question=[]).to_wire(),
    "two questions": response(question=[*QUERY.question, *OTHER_NAME]).to_wire(),
    "thousands of questions": header().replace(b"\0\1\0\0\0\0\0\0", b"\xff\xff\0\0\0\0\0\0", 1),
    "a query": QUERY.to_wire(),
    "another opcode": header(flags=0x9180),
    "unassigned opcode": header(flags=0xF980),
}


@pytest.mark.parametrize("octets", NOT_OURS.values(), ids=NOT_OURS)
def test_of_another_question(octets: bytes) -> None:
    with pytest.raises(DnsFailure) as caught:
        read_response(octets, QUERY)
    assert caught.value.reason is DnsReason.OTHER_QUESTION


BROKEN = {
    "nothing": b"",
    "less than a header": response().to_wire()[:11],
    "cut off in the answer": (header(1) + GOOD)[:-1],
    "fewer records than announced": header(2) + GOOD,
    "fewer records than announced, elsewhere": header(1, 1) + GOOD,
    "octets after the end": header(1) + GOOD + b"x",
    "record longer than the message": header(1) + record(b"\x01a", size=4000),
    "unreadable and cut off": header(2) + EMPTY + GOOD[:-1],
    "thousands of records": header(5000) + GOOD * 5000,
    "two OPT records": header(0, 2) + record(b"", rdtype=41, rdclass=1232) * 2,
}


@pytest.mark.parametrize("octets", BROKEN.values(), ids=BROKEN)
def test_malformed(octets: bytes) -> None:
    with pytest.raises(DnsFailure) as caught:
        read_response(octets, QUERY)
    assert caught.value.reason is DnsReason.MALFORMED


SAVED = {
    "all well": (header(1) + GOOD, 1, 0, 300),
    "a record without a string": (header(2) + EMPTY + GOOD, 1, 1, 300),
    "after the good one": (header(2) + GOOD + OVERLONG, 1, 1, 300),
    "nothing but that": (header(2) + EMPTY + OVERLONG, 0, 2, 300),
    "its TTL counts": (header(2) + GOOD + record(b"", ttl=b"\0\0\0\x3c"), 1, 1, 60),
    "TTL out of range": (header(2) + GOOD + record(b"", ttl=b"\x80\0\0\0"), 1, 1, 0),
    "of another type": (header(2) + GOOD + record(b"\x01", rdtype=15), 1, 0, 300),
    "of another class": (header(2) + GOOD + record(b"", rdclass=3), 1, 0, 300),
    "in another section": (header(1, 1) + GOOD + record(b""), 1, 0, 300),
}


@pytest.mark.parametrize(("octets", "good", "dropped", "ttl"), SAVED.values(), ids=SAVED)
def test_saved(octets: bytes, good: int, dropped: int, ttl: int) -> None:
    message = read_response(octets, QUERY)
    rrset = message.get_rrset(message.answer, NAME, dns.rdataclass.IN, dns.rdatatype.TXT)
    assert rrset is not None and rrset.ttl == ttl
    values, malformed = records(rrset)
    assert (len(values), malformed) == (good, dropped)


def test_an_alias_with_parameters_is_saved() -> None:
    query = dns.message.make_query(NAME, "SVCB", id=QUERY.id)
    octets = header(1).replace(b"\0\x10\0\1", b"\0\x40\0\1") + record(b"\0\0\0\0\x03\0\x02\1\xbb", rdtype=64)
    message = read_response(octets, query)
    assert records(message.answer[0])[1] == 0


def test_truncated_anywhere() -> None:
    octets = header(2, flags=0x8380) + GOOD
    for length in range(12 + len(QNAME) + 4, len(octets)):
        assert is_truncated(read_response(octets[:length], QUERY))


RCODES = {
    "NOERROR": None,
    "NXDOMAIN": None,
    "SERVFAIL": DnsReason.SERVFAIL,
    "REFUSED": DnsReason.REFUSED,
    "FORMERR": DnsReason.SERVFAIL,
    "BADVERS": DnsReason.SERVFAIL,
}


@pytest.mark.parametrize(("rcode", "reason"), RCODES.items(), ids=RCODES)
def test_rcode(rcode: str, reason: DnsReason | None) -> None:
    message = response()
    message.use_edns(0)
    message.set_rcode(dns.rcode.from_text(rcode))
    if reason is None:
        check_rcode(message)
        return
    with pytest.raises(DnsFailure) as caught:
        check_rcode(message)
    assert caught.value.reason is reason and rcode in caught.value.detail


def test_failure_without_a_question_is_an_answer() -> None:
    assert read_response(response(question=[], answer=[], flags=dns.flags.QR | 2).to_wire(), QUERY)


def read(octets: bytes) -> None:
    """Nothing but DnsFailure may come out of any octets."""
    try:
        message = read_response(octets, QUERY)
        check_rcode(message)
    except DnsFailure:
        pass


@given(st.binary(max_size=200))
def test_no_octets_raise(tail: bytes) -> None:
    read(tail)
    read(QUERY.id.to_bytes(2, "big") + tail)
    read(header(3, 3) + tail)
    read(header(1) + record(tail))


@given(st.integers(0, 10_000), st.integers(0, 255))
def test_no_changed_octet_raises(place: int, octet: int) -> None:
    octets = bytearray(response().to_wire())
    octets[place % len(octets)] = octet
    read(bytes(octets))
