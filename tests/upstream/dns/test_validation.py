"""Responses of a real name server, as they come and altered on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise

import dns.exception
import dns.message
import dns.rdata
import dns.rdataset
import dns.rrset
import pytest
from dns.name import Name
from dns.rcode import NOERROR, NXDOMAIN
from dns.rdatatype import CNAME, NSEC, RRSIG, SOA, RdataType

from proxy.discovery.records.dnsvalues import Security
from proxy.upstream.dns.anchors import NO_ANCHORS, ROOT_ANCHORS, Anchors, parse_anchors
from proxy.upstream.dns.failure import DnsFailure, DnsReason
from proxy.upstream.dns.validation import Judgement, Validator
from tests.simulators.knot import Internet
from tests.upstream.dns.signed import NOW, Signer, name, records, response, rewritten

DAY = 86_400
MANY = 20


class Asking:
    """A validator of the internet, and the questions it asks."""

    def __init__(self, internet: Internet, anchors: Anchors | None = None, now: float = NOW) -> None:
        self._internet = internet
        self.asked: list[tuple[str, RdataType]] = []
        roots = parse_anchors(internet.anchors_text)
        self.validator = Validator(self.exchange, roots if anchors is None else anchors, lambda: now)

    async def exchange(self, asked: Name, rdtype: RdataType) -> dns.message.Message:
        self.asked.append((asked.to_text(), rdtype))
        return await self._internet.ask(asked, rdtype)

    async def judge(self, received: dns.message.Message, asked: str, rdtype: str) -> Judgement:
        return await self.validator.judge(received, name(asked), RdataType.from_text(rdtype))


async def ask(internet: Internet, asked: str, rdtype: str) -> dns.message.Message:
    return await internet.ask(name(asked), RdataType.from_text(rdtype))


SECURE, INSECURE, BOGUS = "secure", "insecure", "bogus"

STATES = [
    ("_agent.shop.example.com.", "TXT", NOERROR, SECURE, ""),
    ("_agent.long.example.com.", "TXT", NOERROR, SECURE, ""),
    ("billing.example.com.", "SVCB", NOERROR, SECURE, ""),
    ("_index._agents.example.com.", "SVCB", NOERROR, SECURE, ""),
    ("example.com.", "A", NOERROR, SECURE, ""),
    ("many.example.com.", "TXT", NOERROR, SECURE, ""),
    ("_AGENT.Shop.Example.COM.", "TXT", NOERROR, SECURE, ""),
    # aliases: in one zone, two in a row, to nowhere, made by a wildcard or a DNAME, into other zones
    ("_agent.eu.shop.example.com.", "TXT", NOERROR, SECURE, ""),
    ("chain.example.com.", "A", NOERROR, SECURE, ""),
    ("local.example.com.", "CNAME", NOERROR, SECURE, ""),
    ("local.example.com.", "AAAA", NOERROR, SECURE, ""),
    ("nowhere.example.com.", "A", NXDOMAIN, SECURE, ""),
    ("x.alias.example.com.", "A", NOERROR, SECURE, ""),
    ("_agent.tree.example.com.", "TXT", NOERROR, SECURE, ""),
    ("away.example.com.", "TXT", NOERROR, SECURE, ""),
    ("astray.example.com.", "TXT", NOERROR, SECURE, ""),
    # wildcards and what is not there
    ("x.wild.example.com.", "TXT", NOERROR, SECURE, ""),
    ("x.y.wild.example.com.", "TXT", NOERROR, SECURE, ""),
    ("x.wild.example.com.", "A", NOERROR, SECURE, ""),
    ("nothing.example.com.", "TXT", NXDOMAIN, SECURE, ""),
    ("_agent.nothing.example.com.", "TXT", NXDOMAIN, SECURE, ""),
    ("shop.example.com.", "TXT", NOERROR, SECURE, ""),
    ("example.com.", "TXT", NOERROR, SECURE, ""),
    ("empty.example.com.", "TXT", NOERROR, SECURE, ""),
    ("_agents.example.com.", "SVCB", NOERROR, SECURE, ""),
    ("com.", "TXT", NOERROR, SECURE, ""),
    (".", "TXT", NOERROR, SECURE, ""),
    ("nothing.com.", "A", NXDOMAIN, SECURE, ""),
    ("nothing.", "A", NXDOMAIN, SECURE, ""),
    # zones below
    ("_agent.sub.example.com.", "TXT", NOERROR, SECURE, ""),
    ("nothing.sub.example.com.", "TXT", NXDOMAIN, SECURE, ""),
    ("_agent.free.example.com.", "TXT", NOERROR, INSECURE, "free.example.com. is delegated without a DS record."),
    ("alias.free.example.com.", "TXT", NOERROR, INSECURE, "free.example.com. is delegated without a DS record."),
    ("nothing.free.example.com.", "TXT", NXDOMAIN, INSECURE, "free.example.com. is delegated without"),
    # NSEC3
    ("_agent.nsec3.com.", "TXT", NOERROR, SECURE, ""),
    ("nsec3.com.", "TXT", NOERROR, SECURE, ""),
    ("nothing.nsec3.com.", "TXT", NXDOMAIN, SECURE, ""),
    ("a.b.nothing.nsec3.com.", "TXT", NXDOMAIN, SECURE, ""),
    ("x.wild.nsec3.com.", "TXT", NOERROR, SECURE, ""),
    ("x.y.wild.nsec3.com.", "TXT", NOERROR, SECURE, ""),
    ("x.wild.nsec3.com.", "A", NOERROR, SECURE, ""),
    ("empty.nsec3.com.", "TXT", NOERROR, SECURE, ""),
    ("_agent.free.nsec3.com.", "TXT", NOERROR, INSECURE, "free.nsec3.com. is delegated without a DS record."),
    ("_agent.optout.com.", "TXT", NOERROR, SECURE, ""),
    ("ns.optout.com.", "TXT", NOERROR, SECURE, ""),
    ("nothing.optout.com.", "TXT", NXDOMAIN, INSECURE, "nothing.optout.com. may be delegated unsigned"),
    ("x.wild.optout.com.", "TXT", NOERROR, INSECURE, "x.wild.optout.com. may be delegated unsigned (opt-out)."),
    ("_agent.free.optout.com.", "TXT", NOERROR, INSECURE, "free.optout.com. may be delegated unsigned (opt-out)."),
    ("_agent.iterations.com.", "TXT", NOERROR, SECURE, ""),
    ("nothing.iterations.com.", "TXT", NXDOMAIN, INSECURE, "NSEC3 with more than 100 iterations."),
    # zones that are not what their parent says
    ("_agent.unsigned.com.", "TXT", NOERROR, INSECURE, "unsigned.com. is delegated without a DS record."),
    ("nothing.unsigned.com.", "TXT", NXDOMAIN, INSECURE, "unsigned.com. is delegated without a DS record."),
    ("_agent.old.com.", "TXT", NOERROR, INSECURE, "old.com. is signed with algorithms that are not supported."),
    ("_agent.expired.com.", "TXT", NOERROR, BOGUS, "expired.com. DNSKEY: the signature has expired."),
    ("nothing.expired.com.", "TXT", NXDOMAIN, BOGUS, "expired.com. DNSKEY: the signature has expired."),
    ("_agent.future.com.", "TXT", NOERROR, BOGUS, "future.com. DNSKEY: the signature is not yet valid."),
    (
        "_agent.wrongkey.com.",
        "TXT",
        NOERROR,
        BOGUS,
        "No key of wrongkey.com. is the one that is trusted from above.",
    ),
    ("_agent.stripped.com.", "TXT", NOERROR, BOGUS, "stripped.com. has no keys although its parent has a DS"),
    ("nothing.stripped.com.", "TXT", NXDOMAIN, BOGUS, "stripped.com. has no keys although its parent has a DS"),
]


@pytest.mark.parametrize(("asked", "rdtype", "rcode", "state", "why"), STATES, ids=lambda value: str(value)[:30])
async def test_states(internet: Internet, asked: str, rdtype: str, rcode: int, state: str, why: str) -> None:
    received = await ask(internet, asked, rdtype)
    assert received.rcode() == rcode
    judgement = await Asking(internet).judge(received, asked, rdtype)
    assert judgement.security == state, judgement.reason
    assert (judgement.reason is None) if state == SECURE else (why in (judgement.reason or ""))


Alteration = Callable[[dns.message.Message, Internet], None]


def without(section: str, rdtype: RdataType, covers: RdataType | None = None) -> Alteration:
    def alter(message: dns.message.Message, internet: Internet) -> None:
        rrsets: list[dns.rrset.RRset] = getattr(message, section)
        kept = [each for each in rrsets if each.rdtype != rdtype or covers not in (None, each.covers)]
        assert len(kept) < len(rrsets)
        rrsets[:] = kept

    return alter


def flipped(section: str, covers: RdataType) -> Alteration:
    """One bit of a signature."""

    def alter(message: dns.message.Message, internet: Internet) -> None:
        rrset = next(each for each in getattr(message, section) if each.covers == covers)
        wire = bytearray(rrset[0].to_wire())
        wire[-1] ^= 1
        replaced(rrset, dns.rdata.from_wire("IN", RRSIG, bytes(wire), 0, len(wire)))

    return alter


def replaced(rrset: dns.rrset.RRset, *rdatas: dns.rdata.Rdata) -> None:
    covers = rrset.covers
    rrset.clear()
    rrset.covers = covers
    for rdata in rdatas:
        rrset.add(rdata)


def answering(rdtype: str, *texts: str) -> Alteration:
    """Other data under the same signature."""

    def alter(message: dns.message.Message, internet: Internet) -> None:
        rrset = next(each for each in message.answer if each.rdtype == RdataType.from_text(rdtype))
        replaced(rrset, *(dns.rdata.from_text("IN", rdtype, text) for text in texts))

    return alter


def claimed_by(zone: str) -> Alteration:
    """Every signature in the name of another zone."""

    def alter(message: dns.message.Message, internet: Internet) -> None:
        for rrset in (*message.answer, *message.authority):
            if rrset.rdtype == RRSIG:
                replaced(rrset, *(rdata.replace(signer=name(zone)) for rdata in rrset))

    return alter


def moved_to(owner: str) -> Alteration:
    def alter(message: dns.message.Message, internet: Internet) -> None:
        for rrset in message.answer:
            rrset.name = name(owner)

    return alter


def emptied(message: dns.message.Message, internet: Internet) -> None:
    message.answer.clear()


def coded(rcode: dns.rcode.Rcode) -> Alteration:
    return lambda message, internet: message.set_rcode(rcode)


def denied_by(*owners: str, zone: str = "example.com.", rcode: dns.rcode.Rcode = NOERROR) -> Alteration:
    """Instead of the answer, signed NSEC records of a zone that were made for other names."""

    def alter(message: dns.message.Message, internet: Internet) -> None:
        served = internet.zone(zone)
        message.answer.clear()
        message.set_rcode(rcode)
        message.authority[:] = [served_rrset(served, zone, SOA), served_rrset(served, zone, RRSIG, SOA)]
        for owner in owners:
            message.authority += [served_rrset(served, owner, NSEC), served_rrset(served, owner, RRSIG, NSEC)]

    return alter


def served_rrset(
    zone: dns.zone.Zone, owner: str, rdtype: RdataType, covers: RdataType = RdataType.NONE
) -> dns.rrset.RRset:
    rdataset = zone.find_rdataset(owner, rdtype, covers)
    return dns.rrset.from_rdata(name(owner), rdataset.ttl, *rdataset)


def denied_target(message: dns.message.Message, internet: Internet) -> None:
    without("answer", RdataType.A)(message, internet)
    message.set_rcode(NXDOMAIN)


def flooded(message: dns.message.Message, internet: Internet) -> None:
    for index in range(17):
        message.authority += Signer("example.com.").signed(records(f"n{index}.example.com.", "NSEC", "z. A"))


def endless(message: dns.message.Message, internet: Internet) -> None:
    owners = ["_agent.shop.example.com.", *(f"n{index}.example.com." for index in range(9))]
    message.answer[:] = [records(owner, "CNAME", target) for owner, target in pairwise(owners)]


TXT_OF_SHOP = "_agent.shop.example.com."
NOT_SIGNED = f"{TXT_OF_SHOP} TXT: it has no signature by its zone."
NOT_VERIFIED = f"{TXT_OF_SHOP} TXT: the signature does not verify."
NO_RECORD = f"Nothing proves that {TXT_OF_SHOP} has no TXT record"
NO_NAME = "Nothing proves that nothing.example.com. does not exist"

ALTERED: list[tuple[str, str, str, Alteration, str, str]] = [
    ("signature flipped", TXT_OF_SHOP, "TXT", flipped("answer", RdataType.TXT), BOGUS, NOT_VERIFIED),
    ("signature removed", TXT_OF_SHOP, "TXT", without("answer", RRSIG), BOGUS, NOT_SIGNED),
    ("other data", TXT_OF_SHOP, "TXT", answering("TXT", '"v=aid1;u=https://evil.example"'), BOGUS, NOT_VERIFIED),
    ("one record less", "many.example.com.", "TXT", answering("TXT", '"one"'), BOGUS, "does not verify"),
    ("one record more", "many.example.com.", "TXT", answering("TXT", '"one"', '"two"', '"3"'), BOGUS, "not verify"),
    ("other order", "many.example.com.", "TXT", answering("TXT", '"two"', '"one"'), SECURE, ""),
    ("in the parent's name", TXT_OF_SHOP, "TXT", claimed_by("com."), BOGUS, "no key of the zone fits"),
    ("in the root's name", TXT_OF_SHOP, "TXT", claimed_by("."), BOGUS, "no key of the zone fits"),
    ("in no zone's name", TXT_OF_SHOP, "TXT", claimed_by("shop.example.com."), BOGUS, "which is no zone"),
    ("in a stranger's name", TXT_OF_SHOP, "TXT", claimed_by("nsec3.com."), BOGUS, "in another zone's name"),
    ("moved to another name", TXT_OF_SHOP, "TXT", moved_to("_agent.example.com."), BOGUS, NO_RECORD),
    ("answer removed", TXT_OF_SHOP, "TXT", emptied, BOGUS, NO_RECORD),
    ("answer removed, name denied", TXT_OF_SHOP, "TXT", coded(NXDOMAIN), SECURE, ""),
    ("another name denied", TXT_OF_SHOP, "TXT", denied_by("example.com."), BOGUS, NO_RECORD),
    ("the name's own record", TXT_OF_SHOP, "TXT", denied_by(TXT_OF_SHOP), BOGUS, NO_RECORD),
    ("an alias denies nothing", "local.example.com.", "TXT", denied_by("local.example.com."), BOGUS, "has no TXT"),
    (
        "a denial of the parent",
        "example.com.",
        "A",
        denied_by("example.com.", zone="com."),
        BOGUS,
        "example.com. has no A record",
    ),
    (
        "a denial of the parent below the cut",
        TXT_OF_SHOP,
        "TXT",
        denied_by("example.com.", "com.", zone="com.", rcode=NXDOMAIN),
        BOGUS,
        "does not exist",
    ),
    (
        "a cut is hidden behind a gap of the parent",
        "_agent.sub.example.com.",
        "TXT",
        denied_by("sub.example.com.", "example.com.", rcode=NXDOMAIN),
        BOGUS,
        "does not exist",
    ),
    ("signatures of the denial removed", "nothing.example.com.", "A", without("authority", RRSIG), BOGUS, NO_NAME),
    ("denial removed", "nothing.example.com.", "A", without("authority", NSEC), BOGUS, NO_NAME),
    ("denial flipped", "nothing.example.com.", "A", flipped("authority", NSEC), BOGUS, f"{NO_NAME}: "),
    (
        "denial of another name",
        "nothing.example.com.",
        "A",
        denied_by("shop.example.com.", rcode=NXDOMAIN),
        BOGUS,
        NO_NAME,
    ),
    (
        "NODATA made NXDOMAIN",
        "shop.example.com.",
        "TXT",
        coded(NXDOMAIN),
        BOGUS,
        "shop.example.com. does not exist",
    ),
    ("NXDOMAIN made NODATA", "nothing.example.com.", "TXT", coded(NOERROR), SECURE, ""),
    ("a flood of denials", "nothing.example.com.", "TXT", flooded, BOGUS, "more than 16 records"),
    ("SOA alone is no proof", "shop.example.com.", "TXT", without("authority", NSEC), BOGUS, "has no TXT record"),
    ("the SOA is not needed", "shop.example.com.", "TXT", without("authority", SOA), SECURE, ""),
    (
        "wildcard without proof",
        "x.wild.example.com.",
        "TXT",
        without("authority", NSEC),
        BOGUS,
        "wildcard stands for",
    ),
    (
        "NSEC3 wildcard without proof",
        "x.wild.nsec3.com.",
        "TXT",
        without("authority", RdataType.NSEC3),
        BOGUS,
        "Nothing proves that the wildcard stands for x.wild.nsec3.com.",
    ),
    (
        "NSEC3 denial removed",
        "nothing.nsec3.com.",
        "TXT",
        without("authority", RdataType.NSEC3),
        BOGUS,
        "Nothing proves that nothing.nsec3.com. does not exist",
    ),
    ("alias led elsewhere", "local.example.com.", "A", answering("CNAME", "api.example.com."), BOGUS, "not verify"),
    ("alias unsigned", "local.example.com.", "A", without("answer", RRSIG, CNAME), BOGUS, "no signature"),
    (
        "alias target unsigned",
        "local.example.com.",
        "A",
        without("answer", RRSIG, RdataType.A),
        BOGUS,
        "no signature",
    ),
    ("alias alone", "local.example.com.", "A", without("answer", RdataType.A), SECURE, ""),
    ("answer, name denied", "local.example.com.", "A", coded(NXDOMAIN), SECURE, ""),
    (
        "alias alone, name denied",
        "local.example.com.",
        "A",
        denied_target,
        BOGUS,
        "shop.example.com. does not exist",
    ),
    (
        "wildcard not denied",
        "nothing.example.com.",
        "A",
        denied_by("many.example.com.", rcode=NXDOMAIN),
        BOGUS,
        NO_NAME,
    ),
    ("aliases without end", TXT_OF_SHOP, "TXT", endless, BOGUS, "more than 8 aliases"),
    (
        "DNAME unsigned",
        "_agent.tree.example.com.",
        "TXT",
        without("answer", RRSIG, RdataType.DNAME),
        BOGUS,
        "no sign",
    ),
    ("DNAME alone leads", "_agent.tree.example.com.", "TXT", without("answer", CNAME), SECURE, ""),
    (
        "alias that its DNAME does not make",
        "_agent.tree.example.com.",
        "TXT",
        answering("CNAME", "_agent.nsec3.com."),
        BOGUS,
        "_agent.tree.example.com. CNAME: it has no signature by its zone.",
    ),
    (
        "unsigned data may be anything",
        "_agent.unsigned.com.",
        "TXT",
        answering("TXT", '"x"'),
        INSECURE,
        "without a DS",
    ),
    ("unsigned data may be absent", "_agent.unsigned.com.", "TXT", emptied, INSECURE, "without a DS"),
    (
        "unsigned where opt-out allows it",
        "nothing.optout.com.",
        "A",
        without("authority", RdataType.NSEC3),
        INSECURE,
        "nothing.optout.com. may be delegated unsigned (opt-out).",
    ),
]


@pytest.mark.parametrize(
    ("case", "asked", "rdtype", "alter", "state", "why"), ALTERED, ids=[row[0] for row in ALTERED]
)
async def test_altered_on_the_way(
    internet: Internet, case: str, asked: str, rdtype: str, alter: Alteration, state: str, why: str
) -> None:
    received = await ask(internet, asked, rdtype)
    alter(received, internet)
    judgement = await Asking(internet).judge(rewritten(received), asked, rdtype)
    assert (judgement.security, why in (judgement.reason or "")) == (state, True), (case, judgement.reason)


def data(message: dns.message.Message, asked: str, rdtype: str) -> object:
    """What a caller takes from a response: the records, or that there are none."""
    rrset = message.get_rrset(message.answer, name(asked), "IN", rdtype)
    return None if rrset is None else sorted(rdata.to_digestable() for rdata in rrset)


@pytest.mark.parametrize(
    ("asked", "rdtype"),
    [
        ("many.example.com.", "TXT"),
        ("x.wild.example.com.", "TXT"),
        ("shop.example.com.", "TXT"),
        ("nothing.example.com.", "TXT"),
        ("nothing.nsec3.com.", "TXT"),
    ],
)
async def test_no_flipped_bit_makes_other_data_secure(internet: Internet, asked: str, rdtype: str) -> None:
    received = await ask(internet, asked, rdtype)
    wire, asking, seen = received.to_wire(), Asking(internet), set()
    for at in range(12, len(wire)):
        octets = bytearray(wire)
        octets[at] ^= 1 << at % 8
        try:
            changed = dns.message.from_wire(bytes(octets))
        except (dns.exception.DNSException, ValueError):
            continue
        if changed.rcode() not in (NOERROR, NXDOMAIN):
            continue
        judgement = await asking.judge(changed, asked, rdtype)
        seen.add(judgement.security)
        if judgement.security is Security.SECURE:
            assert data(changed, asked, rdtype) == data(received, asked, rdtype), at
            assert changed.rcode() in (received.rcode(), NOERROR), at
    assert {Security.SECURE, Security.BOGUS} <= seen


CLOCKS = [
    (NOW - 30 * DAY, BOGUS, ". DNSKEY: the signature is not yet valid."),
    (NOW, SECURE, ""),
    (NOW + 30 * DAY, BOGUS, ". DNSKEY: the signature has expired."),
]


@pytest.mark.parametrize(("now", "state", "why"), CLOCKS)
async def test_the_clock_is_the_callers(internet: Internet, now: float, state: str, why: str) -> None:
    received = await ask(internet, "example.com.", "A")
    judgement = await Asking(internet, now=now).judge(received, "example.com.", "A")
    assert (judgement.security, judgement.reason or "") == (state, why)


async def test_other_root_keys_are_bogus(internet: Internet) -> None:
    received = await ask(internet, "example.com.", "A")
    judgement = await Asking(internet, ROOT_ANCHORS).judge(received, "example.com.", "A")
    assert judgement == Judgement(Security.BOGUS, "No key of . is the one that is trusted from above.")


async def test_no_anchors(internet: Internet) -> None:
    asking = Asking(internet, NO_ANCHORS)
    judgement = await asking.judge(await ask(internet, "example.com.", "A"), "example.com.", "A")
    assert judgement == Judgement(Security.INDETERMINATE, "No trust anchor stands above the name.")
    assert asking.asked == []


async def stripped(asked: Name, rdtype: RdataType) -> dns.message.Message:
    return response(asked.to_text(), rdtype)


async def test_a_resolver_that_strips_everything(internet: Internet) -> None:
    validator = Validator(stripped, parse_anchors(internet.anchors_text), lambda: NOW)
    bare = response("example.com.", RdataType.A, [records("example.com.", "A", "192.0.2.10")])
    assert await validator.judge(bare, name("example.com."), RdataType.A) == Judgement(
        Security.INDETERMINATE, "The resolver gives no signed keys of ., where the chain of trust begins."
    )


async def unreachable(asked: Name, rdtype: RdataType) -> dns.message.Message:
    raise DnsFailure(DnsReason.TIMEOUT, "No resolver answered.")


async def test_a_resolver_that_is_lost_on_the_way(internet: Internet) -> None:
    validator = Validator(unreachable, parse_anchors(internet.anchors_text), lambda: NOW)
    with pytest.raises(DnsFailure, match="No resolver answered"):
        await validator.judge(await ask(internet, "example.com.", "A"), name("example.com."), RdataType.A)


def island(internet: Internet, domain: str) -> Anchors:
    key_set = internet.zone(domain).find_rdataset(domain, RdataType.DNSKEY)
    return parse_anchors("\n".join(f"{domain} DNSKEY {key.to_text()}" for key in key_set))


async def test_an_island_of_trust(internet: Internet) -> None:
    asking = Asking(internet, island(internet, "example.com."))
    received = await ask(internet, TXT_OF_SHOP, "TXT")
    assert (await asking.judge(received, TXT_OF_SHOP, "TXT")).security is Security.SECURE
    assert asking.asked == [("example.com.", RdataType.DNSKEY)]
    outside = await ask(internet, "_agent.nsec3.com.", "TXT")
    assert (await asking.judge(outside, "_agent.nsec3.com.", "TXT")).security is Security.INDETERMINATE


@pytest.mark.parametrize(
    ("asked", "zone"), [(TXT_OF_SHOP, "com."), ("shop.example.com.", "com."), (TXT_OF_SHOP, ".")]
)
async def test_no_claim_leads_off_an_island(internet: Internet, asked: str, zone: str) -> None:
    received = await ask(internet, asked, "TXT")
    claimed_by(zone)(received, internet)
    judgement = await Asking(internet, island(internet, "example.com.")).judge(rewritten(received), asked, "TXT")
    assert judgement.security is Security.BOGUS


MERGED = [
    ("away.example.com.", "_agent.nsec3.com.", Security.SECURE),
    ("astray.example.com.", "_agent.unsigned.com.", Security.INSECURE),
]


@pytest.mark.parametrize(("asked", "target", "state"), MERGED)
async def test_a_chain_is_worth_its_weakest_link(
    internet: Internet, asked: str, target: str, state: Security
) -> None:
    """As a resolver gives it, the aliases and what they lead to in one response."""
    received, more = await ask(internet, asked, "TXT"), await ask(internet, target, "TXT")
    received.answer += more.answer
    whole = rewritten(received)
    assert (await Asking(internet).judge(whole, asked, "TXT")).security is state
    asking = Asking(internet, island(internet, "example.com."))
    assert (await asking.judge(whole, asked, "TXT")).security is Security.INDETERMINATE
    without("answer", RRSIG, CNAME)(received, internet)
    assert (await asking.judge(rewritten(received), asked, "TXT")).security is Security.BOGUS


async def test_a_dname_that_makes_too_long_a_name_makes_nothing(internet: Internet) -> None:
    long = ".".join(["a" * 60] * 3)
    asked = f"{long}.tree.example.com."
    made = response(asked, RdataType.TXT, [records("tree.example.com.", "DNAME", f"{long}.example.com.")])
    judgement = await Asking(internet).judge(made, asked, "TXT")
    assert judgement.security is Security.BOGUS and "has no TXT record" in (judgement.reason or "")


async def test_an_opaque_alias_leads_nowhere(internet: Internet) -> None:
    received = await ask(internet, "local.example.com.", "A")
    opaque = dns.rdata.GenericRdata("IN", CNAME, b"\x00\x00")
    received.answer = [dns.rrset.from_rdata(name("local.example.com."), 300, opaque)]
    judgement = await Asking(internet).judge(received, "local.example.com.", "A")
    assert judgement.security is Security.BOGUS


async def test_what_it_costs(internet: Internet) -> None:
    asking = Asking(internet)
    first = await ask(internet, TXT_OF_SHOP, "TXT")
    await asyncio.gather(*(asking.judge(first, TXT_OF_SHOP, "TXT") for _ in range(MANY)))
    assert asking.asked == [
        (".", RdataType.DNSKEY),
        ("com.", RdataType.DS),
        ("com.", RdataType.DNSKEY),
        ("example.com.", RdataType.DS),
        ("example.com.", RdataType.DNSKEY),
    ]
    await asking.judge(await ask(internet, "nothing.example.com.", "TXT"), "nothing.example.com.", "TXT")
    assert len(asking.asked) == 5
