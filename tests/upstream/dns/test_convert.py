"""From resource records to values: octets kept, malformed records counted, neighbours unharmed."""

from __future__ import annotations

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rrset
import pytest
from dns.rdatatype import AAAA, HTTPS, SVCB, TXT, A, RdataType
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.records.dnsvalues import AddressRecord, Record, Svcb, Txt
from proxy.upstream.dns.convert import DECODERS, name_text, records

ROOT = b"\0"
HOST = b"\x03Doc\x07example\x00"

READ: dict[str, tuple[RdataType, bytes, Record]] = {
    "one string": (TXT, b"\x03abc", Txt((b"abc",))),
    "one empty string": (TXT, b"\0", Txt((b"",))),
    "40 strings": (TXT, b"\x02ab" * 40, Txt((b"ab",) * 40)),
    "longest string": (TXT, b"\xff" + b"x" * 255 + b"\x01y", Txt((b"x" * 255, b"y"))),
    "no UTF-8": (TXT, b"\x04\xff\xfe\x00\x0d", Txt((b"\xff\xfe\x00\x0d",))),
    "service": (SVCB, b"\x00\x01" + HOST, Svcb(1, "doc.example", {})),
    "owner as target": (SVCB, b"\x00\x01" + ROOT, Svcb(1, ".", {})),
    "alias": (HTTPS, b"\x00\x00" + HOST, Svcb(0, "doc.example", {})),
    "alias with parameters": (
        HTTPS,
        b"\0\0" + HOST + b"\0\x03\0\x02\1\xbb",
        Svcb(0, "doc.example", {3: b"\1\xbb"}),
    ),
    "parameters": (
        SVCB,
        b"\x00\x01" + HOST + b"\x00\x01\x00\x03\x02h2" + b"\xff\x00\x00\x02/x",
        Svcb(1, "doc.example", {1: b"\x02h2", 65280: b"/x"}),
    ),
    "parameter without value": (
        SVCB,
        b"\x00\x01" + HOST + b"\xff\x00\x00\x00",
        Svcb(1, "doc.example", {65280: b""}),
    ),
    "value that its key forbids": (SVCB, b"\x00\x01" + HOST + b"\0\x03\0\x01x", Svcb(1, "doc.example", {3: b"x"})),
    "IPv4": (A, b"\xc0\x00\x02\x01", AddressRecord("192.0.2.1")),
    "IPv6": (AAAA, b"\x20\x01\x0d\xb8" + b"\0" * 11 + b"\1", AddressRecord("2001:db8::1")),
}
MALFORMED = {
    "TXT without a string": (TXT, b""),
    "TXT string too short": (TXT, b"\x01a\x05abc"),
    "SVCB empty": (SVCB, b""),
    "SVCB without target": (SVCB, b"\x00\x01"),
    "SVCB target cut off": (SVCB, b"\x00\x01\x05ab"),
    "SVCB target too long": (SVCB, b"\x00\x01" + b"\x3f" * 300),
    "SVCB target compressed": (SVCB, b"\x00\x01\xc0\x00"),
    "SVCB parameter cut off": (SVCB, b"\x00\x01\x00\x00\x03\x00\x02\x01"),
    "SVCB keys repeated": (SVCB, b"\x00\x01" + ROOT + b"\xff\x00\x00\x00" * 2),
    "SVCB keys out of order": (SVCB, b"\x00\x01" + ROOT + b"\xff\x01\x00\x00\xff\x00\x00\x00"),
    "IPv4 too short": (A, b"\xc0\x00\x02"),
    "IPv4 too long": (A, b"\xc0\x00\x02\x01\x01"),
    "IPv6 too short": (AAAA, b"\0" * 15),
}


def rrset(rdtype: RdataType, *octets: bytes) -> dns.rrset.RRset:
    """An RRset of records as opaque octets."""
    rdatas = [dns.rdata.GenericRdata(dns.rdataclass.IN, rdtype, rdata) for rdata in octets]
    return dns.rrset.from_rdata_list("x.example", 60, rdatas)


@pytest.mark.parametrize(("rdtype", "octets", "value"), READ.values(), ids=READ)
def test_read(rdtype: RdataType, octets: bytes, value: Record) -> None:
    assert records(rrset(rdtype, octets)) == ((value,), 0)


@pytest.mark.parametrize(("rdtype", "octets"), MALFORMED.values(), ids=MALFORMED)
def test_malformed(rdtype: RdataType, octets: bytes) -> None:
    good = next(data for kind, data, _ in READ.values() if kind == rdtype)
    assert records(rrset(rdtype, octets)) == ((), 1)
    values, dropped = records(rrset(rdtype, octets, good))
    assert (len(values), dropped) == (1, 1)


def test_as_dnspython_reads_them() -> None:
    params = 'mandatory="alpn" alpn="h2,h3" no-default-alpn port="8443" ipv4hint="192.0.2.1" key65280="/x"'
    rdatas = dns.rrset.from_text("x.example.", 60, "IN", "SVCB", f"1 Doc.Example. {params}")
    [value], dropped = records(rdatas)
    assert (value, dropped) == (
        Svcb(
            1,
            "doc.example",
            {0: b"\0\1", 1: b"\2h2\2h3", 2: b"", 3: b"\x20\xfb", 4: b"\xc0\0\2\1", 65280: b"/x"},
        ),
        0,
    )


NAMES = {
    "lower case": ("Example.COM.", "example.com"),
    "relative": ("Example.COM", "example.com"),
    "root": (".", "."),
    "underscore": ("_agent.example.com.", "_agent.example.com"),
    "dot in a label": (r"a\.b.example.", r"a\.b.example"),
    "control character": (r"a\010b.example.", r"a\010b.example"),
    "no ASCII": (r"a\255.example.", r"a\255.example"),
}


@pytest.mark.parametrize(("name", "text"), NAMES.values(), ids=NAMES)
def test_names(name: str, text: str) -> None:
    assert name_text(dns.name.from_text(name, None)) == text


@given(st.sampled_from(list(DECODERS)), st.binary(max_size=300))
def test_no_octets_raise(rdtype: RdataType, octets: bytes) -> None:
    values, dropped = records(rrset(rdtype, octets))
    assert len(values) + dropped == 1
