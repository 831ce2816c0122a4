"""Which resolver is asked, how, and how often."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import dns.flags
import dns.name
import dns.rcode
import dns.rdatatype
import pytest

from proxy.upstream.dns import rounds as rounds_module
from proxy.upstream.dns.failure import DnsFailure, DnsReason
from proxy.upstream.dns.resolvers import Resolver, Transport
from proxy.upstream.dns.rounds import Checking, Rounds
from proxy.upstream.dns.settings import Dnssec, DnsSettings
from tests.simulators.nameserver import Query, Reply, ScriptedNameserver, failing, records, silence

NAME = "_agent.example.com"
QNAME = dns.name.from_text(NAME)
TXT = dns.rdatatype.TXT
GOOD = records(f'{NAME}. 300 IN TXT "v=uaix1"')
SERVFAIL, REFUSED = failing(dns.rcode.SERVFAIL), failing(dns.rcode.REFUSED)


async def outcome(*replies: Reply) -> tuple[DnsReason | None, tuple[int, ...]]:
    """Why it failed, if it did, and how often each of the resolvers with these replies was asked."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(ScriptedNameserver({(NAME, "TXT"): reply})) for reply in replies]
        resolvers = tuple(Resolver("127.0.0.1", server.port) for server in servers)
        asking = Rounds(DnsSettings(resolvers, timeout=2.0, attempt_timeout=0.6))
        reason = None
        try:
            await asking.ask(QNAME, TXT, asking.deadline())
        except DnsFailure as failure:
            reason = failure.reason
        return reason, tuple(server.count(NAME, "TXT") for server in servers)


def garbage(query: Query, transport: str) -> list[bytes]:
    return [query.id.to_bytes(2, "big")]


ROUNDS = {
    "the first answers": ((GOOD, GOOD), None, (1, 0)),
    "NXDOMAIN is an answer": ((failing(dns.rcode.NXDOMAIN), GOOD), None, (1, 0)),
    "SERVFAIL": ((SERVFAIL, GOOD), None, (1, 1)),
    "REFUSED": ((REFUSED, GOOD), None, (1, 1)),
    "malformed": ((garbage, GOOD), None, (1, 1)),
    "silence": ((silence, GOOD), None, (1, 1)),
    "only SERVFAIL": ((SERVFAIL,), DnsReason.SERVFAIL, (1,)),
    "the last one's word": ((SERVFAIL, REFUSED), DnsReason.REFUSED, (1, 1)),
    "a word outweighs silence": ((REFUSED, silence), DnsReason.REFUSED, (1, 2)),
    "silence is asked again": ((silence,), DnsReason.TIMEOUT, (2,)),
    "for as long as there is time": ((silence,) * 5, DnsReason.TIMEOUT, (1, 1, 1, 1, 0)),
    "nobody to ask": ((), DnsReason.UNREACHABLE, ()),
}


@pytest.mark.parametrize(("replies", "reason", "counts"), ROUNDS.values(), ids=ROUNDS)
async def test_rounds(replies: tuple[Reply, ...], reason: DnsReason | None, counts: tuple[int, ...]) -> None:
    assert await outcome(*replies) == (reason, counts)


async def test_a_lost_datagram() -> None:
    answers = iter([silence, GOOD])
    assert await outcome(lambda query, transport: next(answers)(query, transport)) == (None, (2,))


async def test_a_dead_resolver() -> None:
    async with ScriptedNameserver({}) as dead:
        pass
    async with ScriptedNameserver({(NAME, "TXT"): GOOD}) as server:
        resolvers = (Resolver("127.0.0.1", dead.port), Resolver("127.0.0.1", server.port))
        asking = Rounds(DnsSettings(resolvers))
        reply = await asking.ask(QNAME, TXT, asking.deadline())
        assert reply.resolver == resolvers[1]


ALL = dns.flags.RD | dns.flags.AD | dns.flags.CD
HERE = frozenset({"127.0.0.1"})
CHECKING = {
    "off": (DnsSettings((), dnssec=Dnssec.OFF, trust_ad_from=HERE), Checking.NOBODY, dns.flags.RD, False),
    "prefer": (DnsSettings(()), Checking.PROXY, dns.flags.RD | dns.flags.CD, True),
    "require": (DnsSettings((), dnssec=Dnssec.REQUIRE), Checking.PROXY, dns.flags.RD | dns.flags.CD, True),
    "trusted": (DnsSettings((), trust_ad_from=HERE), Checking.RESOLVER, dns.flags.RD | dns.flags.AD, True),
    "another one trusted": (
        DnsSettings((), trust_ad_from=frozenset({"::1"})),
        Checking.PROXY,
        dns.flags.RD | dns.flags.CD,
        True,
    ),
}


@pytest.mark.parametrize(("settings", "checking", "flags", "dnssec_ok"), CHECKING.values(), ids=CHECKING)
async def test_how_it_is_asked(settings: DnsSettings, checking: Checking, flags: int, dnssec_ok: bool) -> None:
    async with ScriptedNameserver({(NAME, "TXT"): GOOD}) as server:
        resolvers = (Resolver("127.0.0.1", server.port),)
        asking = Rounds(DnsSettings(resolvers, dnssec=settings.dnssec, trust_ad_from=settings.trust_ad_from))
        reply = await asking.ask(QNAME, TXT, asking.deadline())
        query = server.asked[0].query
    assert (reply.checking, asking.relies_on_resolvers) == (checking, checking is Checking.RESOLVER)
    assert (query.flags & ALL, query.payload) == (flags, 1232)
    assert bool(query.ednsflags & dns.flags.DO) == dnssec_ok


async def test_exchange_for_a_validator() -> None:
    async with ScriptedNameserver({(NAME, "TXT"): GOOD}) as server:
        resolvers = (Resolver("127.0.0.1", server.port),)
        asking = Rounds(DnsSettings(resolvers, dnssec=Dnssec.OFF, trust_ad_from=HERE))
        assert (await asking.exchange(QNAME, TXT)).answer
        query = server.asked[0].query
    assert query.flags & ALL == dns.flags.RD | dns.flags.CD and query.ednsflags & dns.flags.DO


async def test_ids_are_not_repeated() -> None:
    async with ScriptedNameserver({(NAME, "TXT"): GOOD}) as server:
        asking = Rounds(DnsSettings((Resolver("127.0.0.1", server.port),)))
        for _ in range(20):
            await asking.ask(QNAME, TXT, asking.deadline())
        assert len({asked.query.id for asked in server.asked}) > 15


async def test_no_more_sockets_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds_module, "_AT_ONCE", 2)
    async with ScriptedNameserver({(NAME, "TXT"): silence}) as server:
        asking = Rounds(DnsSettings((Resolver("127.0.0.1", server.port),), timeout=0.3, attempt_timeout=0.3))
        failures = await asyncio.gather(
            *(asking.ask(QNAME, TXT, asking.deadline()) for _ in range(6)), return_exceptions=True
        )
        assert server.count(NAME, "TXT") == 2
    assert {getattr(failure, "reason", None) for failure in failures} == {DnsReason.TIMEOUT}


async def test_tls_by_the_authorities_of_the_system() -> None:
    asking = Rounds(DnsSettings((Resolver("127.0.0.1", 9),), Transport.TLS))
    with pytest.raises(DnsFailure):
        await asking.ask(QNAME, TXT, asking.deadline())
