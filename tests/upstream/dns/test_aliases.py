"""Where chains lead, within one response and across several."""

from __future__ import annotations

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import pytest

from proxy.discovery.records.dnsvalues import DnsOutcome
from proxy.upstream.dns.aliases import Chain, Ending
from proxy.upstream.dns.convert import name_text
from proxy.upstream.dns.failure import DnsFailure, DnsReason
from tests.simulators.nameserver import SOA, rrsets

NAME = dns.name.from_text("a.example.com")
TXT = dns.rdatatype.TXT
ANSWER, NODATA, NXDOMAIN = DnsOutcome.ANSWER, DnsOutcome.NODATA, DnsOutcome.NXDOMAIN
LONG_SOA = SOA.replace(" 900 IN", " 60 IN")
OTHER_SOA = SOA.replace("example.com. 900", "example.org. 900")
NS = "example.com. 900 IN NS ns.example.com."
CHAIN = [f"{name}.example.com. 600 IN CNAME {name + 1}.example.com." for name in range(1, 9)]


def response(*answer: str, authority: tuple[str, ...] = (), rcode: int = 0, flags: int = 0) -> dns.message.Message:
    message = dns.message.make_response(dns.message.make_query(NAME, TXT))
    message.answer, message.authority = rrsets(*answer), rrsets(*authority)
    message.set_rcode(dns.rcode.Rcode(rcode))
    message.flags |= flags
    return dns.message.from_wire(message.to_wire())


ENDS = {
    "records": (response("a.example.com. 300 IN TXT x"), ANSWER, 300, "a.example.com"),
    "records in other case": (response("A.EXAMPLE.com. 300 IN TXT x"), ANSWER, 300, "a.example.com"),
    "CNAME": (
        response("a.example.com. 60 IN CNAME b.example.net.", "b.example.net. 300 IN TXT x"),
        ANSWER,
        60,
        "b.example.net",
    ),
    "CNAME, records first, smaller TTL": (
        response("b.example.net. 5 IN TXT x", "a.example.com. 60 IN CNAME b.example.net."),
        ANSWER,
        5,
        "b.example.net",
    ),
    "DNAME with CNAME": (
        response(
            "example.com. 50 IN DNAME example.net.",
            "a.example.com. 40 IN CNAME a.example.net.",
            "a.example.net. 300 IN TXT x",
        ),
        ANSWER,
        40,
        "a.example.net",
    ),
    "DNAME alone": (
        response("com. 50 IN DNAME net.", "a.example.net. 300 IN TXT x"),
        ANSWER,
        50,
        "a.example.net",
    ),
    "DNAME at the name itself": (response("a.example.com. 50 IN DNAME net."), NODATA, 0, "a.example.com"),
    "eight links": (
        response(
            "a.example.com. 600 IN CNAME 1.example.com.",
            *CHAIN[:7],
            "8.example.com. 600 IN TXT x",
        ),
        ANSWER,
        600,
        "8.example.com",
    ),
    "NODATA": (response(authority=(SOA,)), NODATA, 120, "a.example.com"),
    "NODATA, SOA shorter than its minimum": (response(authority=(LONG_SOA,)), NODATA, 60, "a.example.com"),
    "NODATA, SOA of another zone": (response(authority=(OTHER_SOA,)), NODATA, 0, "a.example.com"),
    "NODATA without SOA": (response(), NODATA, 0, "a.example.com"),
    "NODATA, other records": (response("a.example.com. 300 IN A 192.0.2.1"), NODATA, 0, "a.example.com"),
    "NODATA by the authority": (response(authority=(NS,), flags=dns.flags.AA), NODATA, 0, "a.example.com"),
    "NXDOMAIN": (response(authority=(SOA,), rcode=3), NXDOMAIN, 120, "a.example.com"),
    "NXDOMAIN without SOA": (response(rcode=3), NXDOMAIN, 0, "a.example.com"),
    "NXDOMAIN behind a CNAME": (
        response("a.example.com. 30 IN CNAME b.example.com.", authority=(SOA,), rcode=3),
        NXDOMAIN,
        30,
        "b.example.com",
    ),
    "NODATA behind a CNAME": (
        response("a.example.com. 130 IN CNAME b.example.com.", authority=(SOA,)),
        NODATA,
        120,
        "b.example.com",
    ),
}


@pytest.mark.parametrize(("message", "outcome", "ttl", "owner"), ENDS.values(), ids=ENDS)
def test_end(message: dns.message.Message, outcome: DnsOutcome, ttl: int, owner: str) -> None:
    chain = Chain(NAME)
    ending = chain.follow(message, TXT)
    assert isinstance(ending, Ending)
    assert (ending.outcome, ending.ttl, name_text(chain.owner)) == (outcome, ttl, owner)
    assert (ending.rrset is not None) == (outcome is ANSWER)


PARTS = {
    "CNAME alone": response("a.example.com. 60 IN CNAME b.example.net."),
    "DNAME alone": response("com. 60 IN DNAME net."),
    "SOA of the first zone": response("a.example.com. 60 IN CNAME b.example.net.", authority=(SOA,)),
}


@pytest.mark.parametrize("message", PARTS.values(), ids=PARTS)
def test_part(message: dns.message.Message) -> None:
    chain = Chain(NAME)
    assert chain.follow(message, TXT) is None
    owner = name_text(chain.owner)
    ending = chain.follow(response(f"{owner}. 300 IN TXT x"), TXT)
    assert isinstance(ending, Ending) and (ending.outcome, ending.ttl) == (ANSWER, 60)


LOOPS = {
    "to itself": [response("a.example.com. 60 IN CNAME a.example.com.")],
    "of two": [response("a.example.com. 60 IN CNAME b.example.com.", "b.example.com. 60 IN CNAME a.example.com.")],
    "across responses": [
        response("a.example.com. 60 IN CNAME b.example.com."),
        response("b.example.com. 60 IN CNAME A.example.com."),
    ],
    "nine links": [
        response("a.example.com. 600 IN CNAME 1.example.com.", *CHAIN, "9.example.com. 600 IN TXT x"),
    ],
}


@pytest.mark.parametrize("messages", LOOPS.values(), ids=LOOPS)
def test_loop(messages: list[dns.message.Message]) -> None:
    chain = Chain(NAME)
    with pytest.raises(DnsFailure) as caught:
        for message in messages:
            chain.follow(message, TXT)
    assert caught.value.reason is DnsReason.CNAME_LOOP


def test_a_name_that_grows_without_end() -> None:
    label = "x" * 60
    target = ".".join([label] * 4 + ["y"])
    with pytest.raises(DnsFailure) as caught:
        Chain(NAME).follow(response(f"com. 60 IN DNAME {target}."), TXT)
    assert caught.value.reason is DnsReason.MALFORMED


def test_a_referral_is_no_answer() -> None:
    with pytest.raises(DnsFailure) as caught:
        Chain(NAME).follow(response(authority=(NS,)), TXT)
    assert caught.value.reason is DnsReason.SERVFAIL and "recursive" in caught.value.detail
