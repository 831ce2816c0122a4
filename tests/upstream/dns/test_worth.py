"""How far replies are believed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import dns.flags
import dns.message
import dns.name
import dns.rdatatype
import pytest

from proxy.discovery.records.dnsvalues import Security
from proxy.upstream.dns.failure import DnsFailure, DnsReason
from proxy.upstream.dns.resolvers import Resolver
from proxy.upstream.dns.rounds import Checking, Reply
from proxy.upstream.dns.worth import FOR_EVER, Assessor, Judge, Worth, weakest
from tests.simulators.clock import START as NOW
from tests.simulators.nameserver import SOA, rrsets

NAME = dns.name.from_text("a.example.com")
TXT = dns.rdatatype.TXT
SECURE, INSECURE, BOGUS = Security.SECURE, Security.INSECURE, Security.BOGUS
INDETERMINATE = Security.INDETERMINATE


@dataclass(frozen=True, slots=True)
class Says:
    """A judge with one opinion."""

    security: Security

    async def judge(
        self, response: dns.message.Message, name: dns.name.Name, rdtype: dns.rdatatype.RdataType
    ) -> Says:
        assert (name, rdtype) == (NAME, TXT)
        return self


@dataclass(frozen=True, slots=True)
class Fails:
    """A judge that cannot tell: the keys are not to be had, or not in time."""

    hangs: bool

    async def judge(
        self, response: dns.message.Message, name: dns.name.Name, rdtype: dns.rdatatype.RdataType
    ) -> Says:
        if self.hangs:
            await asyncio.Event().wait()
        raise DnsFailure(DnsReason.UNREACHABLE, "Nobody is there.")


def reply(checking: Checking, flags: int = 0, signed_until: int | None = None) -> Reply:
    response = dns.message.make_response(dns.message.make_query(NAME, TXT))
    response.flags |= flags
    response.answer, response.authority = rrsets("a.example.com. 300 IN TXT x"), rrsets(SOA)
    if signed_until is not None:
        signature = f"3600 {signed_until} {int(NOW) - 100} 1 example.com. AAAA"
        response.answer += rrsets(f"a.example.com. 300 IN RRSIG TXT 13 3 {signature}")
    return Reply(response, Resolver("127.0.0.1", 53), checking)


NOBODY, RESOLVER, PROXY = Checking.NOBODY, Checking.RESOLVER, Checking.PROXY
AD = dns.flags.AD

WORTHS = {
    "off": (reply(NOBODY, AD), Says(SECURE), Worth(INSECURE)),
    "AD": (reply(RESOLVER, AD), Says(BOGUS), Worth(SECURE)),
    "AD, no judge": (reply(RESOLVER, AD), None, Worth(SECURE)),
    "no AD": (reply(RESOLVER), Says(INSECURE), Worth(INSECURE)),
    "AD that nobody asked for": (reply(PROXY, AD), Says(INSECURE), Worth(INSECURE)),
    "AD that nobody asked for, no judge": (reply(PROXY, AD), None, Worth(INDETERMINATE)),
    "bogus": (reply(PROXY), Says(BOGUS), Worth(BOGUS)),
    "secure, signature unseen": (reply(PROXY), Says(SECURE), Worth(SECURE)),
    "secure for a minute": (reply(PROXY, 0, int(NOW) + 60), Says(SECURE), Worth(SECURE, 60)),
    "secure for longer than its TTL was": (reply(PROXY, 0, int(NOW) + 9999), Says(SECURE), Worth(SECURE, 3600)),
    "insecure in spite of a signature": (reply(PROXY, 0, int(NOW) + 60), Says(INSECURE), Worth(INSECURE)),
    "indeterminate": (reply(PROXY), Says(INDETERMINATE), Worth(INDETERMINATE)),
    "keys not to be had": (reply(PROXY), Fails(hangs=False), Worth(INDETERMINATE, 5)),
    "keys too late": (reply(PROXY), Fails(hangs=True), Worth(INDETERMINATE, 5)),
}


@pytest.mark.parametrize(("given", "judge", "worth"), WORTHS.values(), ids=WORTHS)
async def test_worth(given: Reply, judge: Judge | None, worth: Worth) -> None:
    deadline = asyncio.get_running_loop().time() + 0.05
    assert await Assessor(judge, retry=5).worth(given, NAME, TXT, NOW, deadline) == worth


CHAINS = {
    "one": ((SECURE,), SECURE),
    "insecure link": ((SECURE, INSECURE), INSECURE),
    "indeterminate link": ((INDETERMINATE, INSECURE), INDETERMINATE),
    "bogus link": ((INDETERMINATE, BOGUS, SECURE), BOGUS),
}


@pytest.mark.parametrize(("links", "worth"), CHAINS.values(), ids=CHAINS)
def test_weakest(links: tuple[Security, ...], worth: Security) -> None:
    assert weakest(Worth(link) for link in links) == Worth(worth, FOR_EVER)


def test_the_shortest_decides() -> None:
    assert weakest([Worth(SECURE, 60), Worth(INSECURE), Worth(SECURE, 90)]) == Worth(INSECURE, 60)
