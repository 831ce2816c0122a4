"""The DNS client against a scripted server: outcomes, chains, security, what is kept, and what a call costs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.records.dnsvalues import AddressRecord, DnsAnswer, DnsOutcome, Security, Svcb, Txt
from proxy.metering import Meter, current_meter
from proxy.ports import Dns
from proxy.upstream.dns.client import DnsClient
from proxy.upstream.dns.resolvers import Resolver
from proxy.upstream.dns.rounds import Rounds
from proxy.upstream.dns.settings import Dnssec, DnsSettings
from proxy.upstream.dns.worth import Judge
from tests.simulators.clock import START, FakeClock
from tests.simulators.nameserver import (
    SOA,
    Query,
    Reply,
    ScriptedNameserver,
    absent,
    failing,
    records,
    silence,
)

NAME = "_agent.example.com"
GOOD = records(f'{NAME}. 300 IN TXT "v=uaix1"')
OFF = DnsSettings((), dnssec=Dnssec.OFF, timeout=1.6, attempt_timeout=0.6)
PREFER = replace(OFF, dnssec=Dnssec.PREFER)
TRUSTED = replace(PREFER, trust_ad_from=frozenset({"127.0.0.1"}))


@dataclass(slots=True)
class Desk:
    """A client, the server that it asks, and the time that it goes by."""

    client: DnsClient
    server: ScriptedNameserver
    clock: FakeClock

    async def ask(self, name: str = NAME, record_type: str = "TXT") -> DnsAnswer:
        return await self.client.resolve(name, record_type)


@asynccontextmanager
async def desk(
    replies: dict[tuple[str, str], Reply], wanted: DnsSettings = OFF, judge: Judge | None = None
) -> AsyncIterator[Desk]:
    async with ScriptedNameserver(replies) as server:
        clock = FakeClock()
        resolvers = (*wanted.resolvers, Resolver("127.0.0.1", server.port))
        client = DnsClient(Rounds(replace(wanted, resolvers=resolvers)), clock, judge)
        yield Desk(client, server, clock)
        await client.close()


def one(reply: Reply, record_type: str = "TXT") -> dict[tuple[str, str], Reply]:
    return {(NAME, record_type): reply}


async def test_an_answer() -> None:
    async with desk(one(GOOD)) as at:
        answer = await at.ask()
        assert answer == DnsAnswer(
            name=NAME,
            type="TXT",
            outcome=DnsOutcome.ANSWER,
            owner=NAME,
            records=(Txt((b"v=uaix1",)),),
            ttl=300,
            expires=START + 300,
            security=Security.INSECURE,
            resolver=f"127.0.0.1:{at.server.port}",
        )
        port: Dns = at.client
        assert await port.resolve("_AGENT.Example.COM.", "TXT") == replace(answer, cached=True)
        assert at.server.count(NAME, "TXT") == 1


TEXTS = {
    "one string": ('"v=uaix1"', (b"v=uaix1",)),
    "two strings": ('"v=uaix1; " "did=x"', (b"v=uaix1; ", b"did=x")),
    "empty string": ('""', (b"",)),
    "40 strings": (" ".join(['"ab"'] * 40), (b"ab",) * 40),
    "no UTF-8": (r'"\255\000"', (b"\xff\x00",)),
    "a long record": (" ".join(['"' + "x" * 255 + '"'] * 40), (b"x" * 255,) * 40),
}


@pytest.mark.parametrize(("text", "strings"), TEXTS.values(), ids=TEXTS)
async def test_text(text: str, strings: tuple[bytes, ...]) -> None:
    async with desk(one(records(f"{NAME}. 300 IN TXT {text}"))) as at:
        assert (await at.ask()).records == (Txt(strings),)


async def test_65_kilobytes_over_tcp() -> None:
    strings = " ".join(['"' + "x" * 255 + '"'] * 127)
    huge = records(*(f"{NAME}. 300 IN TXT {strings} {number}" for number in range(2)))
    async with desk(one(huge), replace(OFF, timeout=3, attempt_timeout=3)) as at:
        answer = await at.ask()
        assert len(answer.records) == 2 and [asked.transport for asked in at.server.asked] == ["udp", "tcp"]


async def test_service_and_addresses() -> None:
    service = records(f"{NAME}. 60 IN SVCB 1 . port=443 key65280=/x", f"{NAME}. 60 IN SVCB 0 Other.Example.")
    async with desk({(NAME, "SVCB"): service, (NAME, "AAAA"): records(f"{NAME}. 60 IN AAAA 2001:db8::1")}) as at:
        answer = await at.ask(record_type="SVCB")
        assert sorted(answer.records, key=repr) == [
            Svcb(0, "other.example", {}),
            Svcb(1, ".", {3: b"\1\xbb", 65280: b"/x"}),
        ]
        assert (await at.ask(record_type="AAAA")).records == (AddressRecord("2001:db8::1"),)


def half_malformed(query: Query, transport: str) -> Sequence[bytes]:
    """Two TXT records, of which one has no string at all (RFC 1035 §3.3.14)."""
    [octets] = records(f'{NAME}. 300 IN TXT "v=uaix1"')(query, transport)
    end = octets.index(b"\x07v=uaix1") + 8
    empty = b"\xc0\x0c\0\x10\0\1\0\0\1\x2c\0\0"
    return [octets[:6] + b"\0\2" + octets[8:end] + empty + octets[end:]]


async def test_a_malformed_record_is_counted() -> None:
    async with desk(one(half_malformed)) as at:
        answer = await at.ask()
        assert (answer.outcome, answer.records, answer.dropped) == (DnsOutcome.ANSWER, (Txt((b"v=uaix1",)),), 1)


FAILURES = {
    "silence": (silence, "timeout"),
    "SERVFAIL": (failing(dns.rcode.SERVFAIL), "servfail"),
    "REFUSED": (failing(dns.rcode.REFUSED), "refused"),
    "truncated": (records(flags=dns.flags.TC), "truncated"),
    "answer cut off": (lambda query, transport: [GOOD(query, transport)[0][:-3]], "malformed"),
    "another question": (
        lambda query, transport: [dns.message.make_response(dns.message.make_query("x.", "TXT")).to_wire()],
        "other-question",
    ),
}


@pytest.mark.parametrize(("reply", "reason"), FAILURES.values(), ids=FAILURES)
async def test_failure(reply: Reply, reason: str) -> None:
    async with desk(one(reply)) as at:
        answer = await at.ask()
        assert (answer.outcome, answer.reason, answer.records) == (DnsOutcome.FAILURE, reason, ())
        assert (answer.expires, answer.owner) == (START + 5, NAME)
        asked = len(at.server.asked)
        assert await at.ask() == replace(answer, cached=True) and len(at.server.asked) == asked
        at.clock += 5
        await at.ask()
        assert len(at.server.asked) > asked


async def test_nobody_listens() -> None:
    async with desk({}) as at:
        pass
    client = DnsClient(Rounds(replace(OFF, resolvers=(Resolver("127.0.0.1", at.server.port),))), FakeClock())
    answer = await client.resolve(NAME, "TXT")
    assert (answer.outcome, answer.reason) == (DnsOutcome.FAILURE, "unreachable")
    assert answer.resolver == f"127.0.0.1:{at.server.port}"


async def test_the_second_resolver() -> None:
    async with ScriptedNameserver({}) as gone:
        pass
    dead = Resolver("127.0.0.1", gone.port)
    async with desk(one(GOOD), replace(OFF, resolvers=(dead,))) as at:
        answer = await at.ask()
        assert (answer.outcome, answer.resolver) == (DnsOutcome.ANSWER, f"127.0.0.1:{at.server.port}")


ABSENCES = {
    "NODATA": (absent(), DnsOutcome.NODATA, 120),
    "NXDOMAIN": (absent(dns.rcode.NXDOMAIN), DnsOutcome.NXDOMAIN, 120),
    "NODATA, for long": (absent(soa=SOA.replace(" 120", " 900")), DnsOutcome.NODATA, 300),
    "NXDOMAIN without SOA": (absent(dns.rcode.NXDOMAIN, soa=None), DnsOutcome.NXDOMAIN, 0),
    "NODATA without SOA": (absent(soa=None), DnsOutcome.NODATA, 0),
}


@pytest.mark.parametrize(("reply", "outcome", "seconds"), ABSENCES.values(), ids=ABSENCES)
async def test_absence(reply: Reply, outcome: DnsOutcome, seconds: int) -> None:
    async with desk(one(reply)) as at:
        answer = await at.ask()
        assert (answer.outcome, answer.records, answer.reason) == (outcome, (), None)
        assert answer.expires == START + seconds
        await at.ask()
        assert at.server.count(NAME, "TXT") == (1 if seconds else 2)


async def test_nothing_is_concluded_from_a_parent() -> None:
    child = "_index._agents.example.com"
    replies = {
        ("_agents.example.com", "TXT"): absent(dns.rcode.NXDOMAIN),
        (child, "TXT"): records(f"{child}. 60 IN TXT x"),
    }
    async with desk(replies) as at:
        assert (await at.ask("_agents.example.com")).outcome is DnsOutcome.NXDOMAIN
        assert (await at.ask(child)).outcome is DnsOutcome.ANSWER


LIVES = {"TTL 0": (0, 0), "a minute": (60, 60), "a day": (86_400, 86_400), "a week": (604_800, 86_400)}


@pytest.mark.parametrize(("ttl", "seconds"), LIVES.values(), ids=LIVES)
async def test_life(ttl: int, seconds: int) -> None:
    async with desk(one(records(f"{NAME}. {ttl} IN TXT x"))) as at:
        answer = await at.ask()
        assert (answer.ttl, answer.expires) == (ttl, START + seconds)
        at.clock += max(seconds - 1, 0)
        assert (await at.ask()).cached == (seconds > 0)
        at.clock += 1
        assert not (await at.ask()).cached


def alias(name: str, target: str, ttl: int = 600) -> Reply:
    return records(f"{name}. {ttl} IN CNAME {target}.")


async def test_a_chain_across_messages() -> None:
    replies = {
        (NAME, "TXT"): alias(NAME, "b.example.net", 60),
        ("b.example.net", "TXT"): alias("b.example.net", "C.example.org", 30),
        ("c.example.org", "TXT"): records("c.example.org. 90 IN TXT x"),
    }
    async with desk(replies) as at:
        answer = await at.ask()
        assert (answer.name, answer.owner, answer.ttl) == (NAME, "c.example.org", 30)
        assert len(at.server.asked) == 3


async def test_a_chain_to_nowhere() -> None:
    replies = {(NAME, "TXT"): alias(NAME, "b.example.net"), ("b.example.net", "TXT"): absent(dns.rcode.NXDOMAIN)}
    async with desk(replies) as at:
        answer = await at.ask()
        assert (answer.outcome, answer.owner) == (DnsOutcome.NXDOMAIN, "b.example.net")


LOOPS = {
    "to itself": {(NAME, "TXT"): alias(NAME, NAME)},
    "of two": {(NAME, "TXT"): alias(NAME, "b.example"), ("b.example", "TXT"): alias("b.example", NAME)},
    "without end": {
        (NAME, "TXT"): alias(NAME, "0.example"),
        **{(f"{n}.example", "TXT"): alias(f"{n}.example", f"{n + 1}.example") for n in range(20)},
    },
}


@pytest.mark.parametrize("replies", LOOPS.values(), ids=LOOPS)
async def test_a_chain_that_loops(replies: dict[tuple[str, str], Reply]) -> None:
    async with desk(replies) as at:
        answer = await at.ask()
        assert (answer.outcome, answer.reason) == (DnsOutcome.FAILURE, "cname-loop")
        assert len(at.server.asked) <= 9


NOT_ASKED = {
    "empty label": ("a..example", "TXT"),
    "label too long": ("x" * 64 + ".example", "TXT"),
    "name too long": ("x." * 200 + "example", "TXT"),
    "no IDNA": ("\ud800.example", "TXT"),
    "bad escape": ("\\999.example", "TXT"),
    "type not read": (NAME, "MX"),
    "no type": (NAME, ""),
}


@pytest.mark.parametrize(("name", "record_type"), NOT_ASKED.values(), ids=NOT_ASKED)
async def test_not_asked(name: str, record_type: str) -> None:
    async with desk({}) as at:
        answer = await at.ask(name, record_type)
        assert (answer.outcome, answer.reason) == (DnsOutcome.FAILURE, "malformed")
        assert not at.server.asked


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
async def test_no_name_raises(name: str) -> None:
    client = DnsClient(Rounds(OFF), FakeClock())
    assert (await client.resolve(name, "TXT")).outcome is DnsOutcome.FAILURE


@dataclass(slots=True)
class Opinions:
    """A judge with an opinion about each name."""

    by_name: dict[str, Security]
    judged: int = 0

    @dataclass(frozen=True, slots=True)
    class Opinion:
        security: Security

    async def judge(
        self, response: dns.message.Message, name: dns.name.Name, rdtype: dns.rdatatype.RdataType
    ) -> Opinion:
        self.judged += 1
        return self.Opinion(self.by_name[name.to_text(omit_final_dot=True)])


SAID = {"answer": GOOD, "NODATA": absent(), "NXDOMAIN": absent(dns.rcode.NXDOMAIN)}


@pytest.mark.parametrize("security", [Security.SECURE, Security.INSECURE, Security.INDETERMINATE])
@pytest.mark.parametrize("reply", SAID.values(), ids=SAID)
async def test_judged(security: Security, reply: Reply) -> None:
    judge = Opinions({NAME: security})
    async with desk(one(reply), PREFER, judge) as at:
        answer = await at.ask()
        assert (answer.security, answer.reason, judge.judged) == (security, None, 1)
        assert (await at.ask()).security is security and judge.judged == 1


@pytest.mark.parametrize("reply", SAID.values(), ids=SAID)
async def test_bogus(reply: Reply) -> None:
    async with desk(one(reply), PREFER, Opinions({NAME: Security.BOGUS})) as at:
        answer = await at.ask()
        assert (answer.outcome, answer.reason, answer.security) == (DnsOutcome.FAILURE, "bogus", Security.BOGUS)
        assert answer.records == () and answer.expires == START + 5


async def test_off_judges_nothing() -> None:
    judge = Opinions({NAME: Security.BOGUS})
    async with desk(one(GOOD), OFF, judge) as at:
        assert (await at.ask()).security is Security.INSECURE and judge.judged == 0


async def test_failures_are_indeterminate() -> None:
    async with desk(one(failing(dns.rcode.SERVFAIL)), PREFER) as at:
        assert (await at.ask()).security is Security.INDETERMINATE


async def test_a_chain_is_worth_its_weakest_link() -> None:
    replies = {(NAME, "TXT"): alias(NAME, "b.example"), ("b.example", "TXT"): records("b.example. 60 IN TXT x")}
    judge = Opinions({NAME: Security.SECURE, "b.example": Security.INSECURE})
    async with desk(replies, PREFER, judge) as at:
        assert (await at.ask()).security is Security.INSECURE and judge.judged == 2


async def test_not_longer_than_its_signature() -> None:
    signature = f"3600 {int(START) + 60} {int(START) - 60} 1 example.com. AAAA"
    signed = records(f"{NAME}. 300 IN TXT x", f"{NAME}. 300 IN RRSIG TXT 13 3 {signature}")
    async with desk(one(signed), PREFER, Opinions({NAME: Security.SECURE})) as at:
        answer = await at.ask()
        assert (answer.ttl, answer.expires) == (300, START + 60)


async def test_the_word_of_a_trusted_resolver() -> None:
    signed = records(f"{NAME}. 300 IN TXT x", flags=dns.flags.AD)
    async with desk(one(signed), TRUSTED, Opinions({NAME: Security.BOGUS})) as at:
        assert (await at.ask()).security is Security.SECURE
    async with desk(one(signed), PREFER, Opinions({NAME: Security.INSECURE})) as at:
        assert (await at.ask()).security is Security.INSECURE


def held_back(query: Query, transport: str) -> Sequence[bytes]:
    """What a validating resolver does about bad signatures: SERVFAIL, unless checking is disabled."""
    return (GOOD if query.flags & dns.flags.CD else failing(dns.rcode.SERVFAIL))(query, transport)


async def test_what_a_trusted_resolver_holds_back_is_bogus() -> None:
    async with desk(one(held_back), TRUSTED) as at:
        answer = await at.ask()
        assert (answer.outcome, answer.reason, answer.security) == (DnsOutcome.FAILURE, "bogus", Security.BOGUS)
    async with desk(one(failing(dns.rcode.SERVFAIL)), TRUSTED) as at:
        answer = await at.ask()
        assert (answer.reason, answer.security) == ("servfail", Security.INDETERMINATE)


@dataclass(slots=True)
class Waiting:
    """A judge that keeps the question under way until it is let go."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def judge(
        self, response: dns.message.Message, name: dns.name.Name, rdtype: dns.rdatatype.RdataType
    ) -> Opinions.Opinion:
        self.asked.set()
        await self.go.wait()
        return Opinions.Opinion(Security.INSECURE)


async def test_asked_once_by_fifty() -> None:
    async with desk(one(records(f"{NAME}. 0 IN TXT x"))) as at:
        answers = await asyncio.gather(*(at.ask() for _ in range(50)))
        assert len(set(map(repr, answers))) == 1 and at.server.count(NAME, "TXT") == 1
        await at.ask()  # TTL 0 holds for those who asked together, and for nobody after them
        assert at.server.count(NAME, "TXT") == 2


async def test_whoever_leaves_leaves_the_others_alone() -> None:
    judge = Waiting()
    async with desk(one(GOOD), replace(PREFER, timeout=5), judge) as at:
        first, second = (asyncio.create_task(at.ask()) for _ in range(2))  # noqa: TID251 - kept in variables
        await judge.asked.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        judge.go.set()
        assert (await second).outcome is DnsOutcome.ANSWER and at.server.count(NAME, "TXT") == 1


async def test_an_answer_that_nobody_waited_for_is_kept() -> None:
    judge = Waiting()
    async with desk(one(GOOD), replace(PREFER, timeout=5), judge) as at:
        leaving = asyncio.create_task(at.ask())  # noqa: TID251 - kept in a variable
        await judge.asked.wait()
        leaving.cancel()
        judge.go.set()
        assert (await at.ask()).outcome is DnsOutcome.ANSWER
        assert at.server.count(NAME, "TXT") == 1


async def test_closed_while_asked() -> None:
    judge = Waiting()
    async with desk(one(GOOD), PREFER, judge) as at:
        asking = asyncio.create_task(at.ask())  # noqa: TID251 - kept in a variable
        await judge.asked.wait()
        await at.client.close()
        with pytest.raises(asyncio.CancelledError):
            await asking


async def metered(work: DnsClient, name: str) -> Meter:
    meter = Meter()
    current_meter.set(meter)
    await work.resolve(name, "TXT")
    return meter


async def test_what_a_call_costs() -> None:
    long = "b.example"
    replies = {
        (NAME, "TXT"): alias(NAME, long),
        (long, "TXT"): records(f"{long}. 300 IN TXT " + " ".join(['"' + "x" * 255 + '"'] * 20)),
    }
    async with desk(replies) as at:
        meter = await metered(at.client, NAME)
        assert meter.dns_queries == len(at.server.asked) == 3
        assert (meter.bytes_sent, meter.bytes_received) == (at.server.octets_in, at.server.octets_out)
        assert (await metered(at.client, NAME)) == Meter()


async def test_who_pays() -> None:
    async with desk(one(GOOD)) as at:
        meters = await asyncio.gather(metered(at.client, NAME), metered(at.client, NAME))
        assert [meter.dns_queries for meter in meters] == [1, 0]


async def test_addresses() -> None:
    replies = {
        ("example.com", "A"): records("example.com. 60 IN A 192.0.2.1", "example.com. 60 IN A 192.0.2.2"),
        ("example.com", "AAAA"): records("example.com. 60 IN AAAA 2001:db8::1"),
        ("v4.example", "A"): records("v4.example. 60 IN A 192.0.2.3"),
        ("v4.example", "AAAA"): failing(dns.rcode.SERVFAIL),
    }
    async with desk(replies) as at:
        both = await at.client.addresses("example.com")
        assert both[0] == "2001:db8::1" and set(both[1:]) == {"192.0.2.1", "192.0.2.2"}
        assert await at.client.addresses("v4.example") == ("192.0.2.3",)
        assert await at.client.addresses("none.example") == ()
        assert await at.client.addresses("a..example") == ()
