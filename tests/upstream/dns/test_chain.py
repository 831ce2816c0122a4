from __future__ import annotations

import asyncio
from collections.abc import Callable

import dns.message
import dns.rrset
import pytest
from dns.dnssectypes import DSDigest
from dns.name import Name
from dns.rcode import NXDOMAIN
from dns.rdatatype import DNSKEY, DS

from proxy.discovery.records.dnsvalues import Security
from proxy.upstream.dns.anchors import NO_ANCHORS, Anchors, parse_anchors
from proxy.upstream.dns.chain import TrustChain, Zone
from proxy.upstream.dns.failure import DnsFailure, DnsReason
from proxy.upstream.dns.signatures import Effort, Exhausted, Unproven
from tests.upstream.dns.signed import NOW, REVOKE, SEP, ZONE, Signer, colliding, name, records, response

ROOT, COM, EXAMPLE, ZSK = Signer("."), Signer("com."), Signer("example.com."), Signer("example.com.", ZONE)
ANCHORS = parse_anchors(f". DS {ROOT.ds()}")
Answer = dns.message.Message | DnsFailure
Question = tuple[str, int]


def delegation(signer: Signer, parent: Signer, *ds: str) -> Answer:
    """The parent's answer to a question for the DS records of a zone."""
    rrset = records(signer.zone.to_text(), "DS", *(ds or (signer.ds(),)))
    return response(signer.zone.to_text(), DS, parent.signed(rrset))


def keys(signer: Signer) -> Answer:
    return response(signer.zone.to_text(), DNSKEY, signer.key_set())


def denied(asked: str, parent: Signer, *nsec: tuple[str, str], nxdomain: bool = False, ttl: int = 300) -> Answer:
    """An answer without DS records, and the parent's NSEC records by owner."""
    proofs = [each for owner, text in nsec for each in parent.signed(records(owner, "NSEC", text, ttl=ttl))]
    rcode = {"rcode": NXDOMAIN} if nxdomain else {}
    return response(asked, DS, authority=proofs, **rcode)


def hashed(parent: Signer, flags: int) -> list[dns.rrset.RRset]:
    """The one NSEC3 record that covers all but its owner, and one at the apex."""
    apex = dns.dnssec.nsec3_hash(parent.zone, "", 0, 1)
    return parent.signed(records(f"{apex}.{parent.zone}", "NSEC3", f"1 {flags} 0 - {apex} NS SOA"))


class World:
    """Answers by question, and a list of what was asked."""

    def __init__(self) -> None:
        self.now: float = NOW
        self.asked: list[Question] = []
        self.answers: dict[Question, Answer] = {
            (".", DNSKEY): keys(ROOT),
            ("com.", DS): delegation(COM, ROOT),
            ("com.", DNSKEY): keys(COM),
            ("example.com.", DS): delegation(EXAMPLE, COM),
            ("example.com.", DNSKEY): keys(EXAMPLE),
        }

    async def exchange(self, asked: Name, rdtype: int) -> dns.message.Message:
        question = (asked.to_text(), rdtype)
        self.asked.append(question)
        for _ in range(5):
            await asyncio.sleep(0)
        answer = self.answers[question]
        if isinstance(answer, DnsFailure):
            raise answer
        return answer

    def chain(self, anchors: Anchors = ANCHORS) -> TrustChain:
        return TrustChain(self.exchange, anchors, lambda: self.now)

    async def zone_of(self, asked: str, anchors: Anchors = ANCHORS) -> Zone:
        return await self.chain(anchors).zone_of(name(asked), Effort())

    async def state_of(self, asked: str, anchors: Anchors = ANCHORS) -> tuple[str, str]:
        """The zone's name, or the state that ends the chain; and why."""
        try:
            zone = await self.zone_of(asked, anchors)
        except Unproven as error:
            return error.security, error.reason
        return str(zone.name), zone.unsigned or ""


async def test_from_the_root_to_a_zone() -> None:
    world = World()
    zone = await world.zone_of("example.com.")
    assert zone.name == EXAMPLE.zone and zone.unsigned is None
    assert list(zone.keys) == [(EXAMPLE.key.key_id(), EXAMPLE.key.algorithm)]
    assert world.asked == list(World().answers)


async def test_the_root_itself() -> None:
    world = World()
    assert (await world.zone_of(".")).name == ROOT.zone
    assert world.asked == [(".", DNSKEY)]


async def test_an_island_needs_nothing_above() -> None:
    world = World()
    island = parse_anchors(f"com. DNSKEY {COM.key.to_text()}")
    assert await world.state_of("example.com.", island) == ("example.com.", "")
    assert world.asked == [("com.", DNSKEY), ("example.com.", DS), ("example.com.", DNSKEY)]


async def test_without_an_anchor_nothing_is_asked() -> None:
    world = World()
    for anchors in (NO_ANCHORS, parse_anchors(f"org. DS {COM.ds()}")):
        assert await world.state_of("example.com.", anchors) == (
            Security.INDETERMINATE,
            "No trust anchor stands above the name.",
        )
    assert world.asked == []


def without_signatures(answer: Answer) -> Answer:
    assert isinstance(answer, dns.message.Message)
    bare = [rrset for rrset in answer.answer if rrset.covers == 0]
    return response(answer.question[0].name.to_text(), answer.question[0].rdtype, bare)


WILD_DS = COM.signed(records("*.com.", "DS", EXAMPLE.ds()), owner="example.com.")
SIXTEEN_MORE = [EXAMPLE.ds().replace(" 13 ", f" {algorithm} ") for algorithm in range(100, 116)]
NO_SHA1 = EXAMPLE.ds(DSDigest.SHA1)
OTHER_SHA1, OTHER_SHA256 = (NO_SHA1[:-40] + "0" * 40, EXAMPLE.ds()[:-64] + "0" * 64)
UNSUPPORTED = EXAMPLE.ds().replace(" 13 ", " 7 ")
OTHER_TAG = f"1 {EXAMPLE.ds().partition(' ')[2]}"
REVOKED = Signer("example.com.", ZONE | SEP | REVOKE)
NO_ZONE_KEY = Signer("example.com.", SEP)
BY_ZSK = dns.rrset.from_rdata(EXAMPLE.zone, 300, EXAMPLE.key, ZSK.key)
NO_DS = "Nothing proves that example.com. has no DS record"
UNTRUSTED = "No key of example.com. is the one that is trusted from above."
NO_ALGORITHM = "example.com. is signed with algorithms that are not supported."
BOTH_KEYS = response("example.com.", DNSKEY, [BY_ZSK, EXAMPLE.sign(BY_ZSK)])
ALIAS = records("example.com.", "CNAME", "other.com.")
CHILD_APEX = EXAMPLE.signed(records("example.com.", "NSEC", "z.example.com. SOA NS"))

AT_ROOT: Question = (".", DNSKEY)
AT_COM: Question = ("com.", DS)
AT_DS: Question = ("example.com.", DS)
AT_KEYS: Question = ("example.com.", DNSKEY)


def ds(*texts: str) -> Answer:
    return delegation(EXAMPLE, COM, *texts)


STEPS: list[tuple[str, Question, Answer, str, str]] = [
    ("no root keys", AT_ROOT, response(*AT_ROOT), "indeterminate", "gives no signed keys of ."),
    ("root keys stripped", AT_ROOT, without_signatures(keys(ROOT)), "indeterminate", "no signed keys of ."),
    ("other root keys", AT_ROOT, keys(Signer(".")), "bogus", "No key of . is the one that is trusted"),
    (
        "DS stripped",
        ("com.", DS),
        without_signatures(delegation(COM, ROOT)),
        "bogus",
        "com. DS: it has no signature",
    ),
    ("nothing about DS", AT_COM, response(*AT_COM), "bogus", "Nothing proves that com. has no DS"),
    ("DS by another zone", AT_DS, delegation(EXAMPLE, ROOT), "bogus", "another zone's name"),
    ("DS by itself", AT_DS, delegation(EXAMPLE, EXAMPLE), "bogus", "another zone's name"),
    (
        "DS from a wildcard",
        AT_DS,
        response("example.com.", DS, WILD_DS),
        "bogus",
        "made from a wild",
    ),
    ("SHA-1 alone", AT_DS, ds(NO_SHA1), "example.com.", ""),
    ("SHA-384", AT_DS, ds(EXAMPLE.ds(DSDigest.SHA384)), "example.com.", ""),
    (
        "SHA-1 beside better",
        AT_DS,
        ds(NO_SHA1, OTHER_SHA256),
        "bogus",
        UNTRUSTED,
    ),
    ("bad SHA-1", AT_DS, ds(OTHER_SHA1, EXAMPLE.ds()), "example.com.", ""),
    ("one of two", AT_DS, ds(OTHER_SHA256, EXAMPLE.ds()), "example.com.", ""),
    (
        "one supported",
        AT_DS,
        ds(UNSUPPORTED, EXAMPLE.ds()),
        "example.com.",
        "",
    ),
    ("none supported", AT_DS, ds(UNSUPPORTED), "example.com.", NO_ALGORITHM),
    ("other tag", AT_DS, ds(OTHER_TAG), "bogus", UNTRUSTED),
    (
        "too many",
        AT_DS,
        ds(EXAMPLE.ds(), *SIXTEEN_MORE),
        "bogus",
        "more than 16",
    ),
    (
        "sixteen",
        AT_DS,
        ds(EXAMPLE.ds(), *SIXTEEN_MORE[1:]),
        "example.com.",
        "",
    ),
    ("revoked key", AT_DS, delegation(REVOKED, COM), "bogus", UNTRUSTED),
    ("no keys", AT_KEYS, response(*AT_KEYS), "bogus", "example.com. has no keys"),
    ("keys stripped", AT_KEYS, without_signatures(keys(EXAMPLE)), "bogus", "it has no signature"),
    ("other keys", AT_KEYS, keys(ZSK), "bogus", UNTRUSTED),
    ("two keys", AT_KEYS, BOTH_KEYS, "example.com.", ""),
    (
        "keys signed by one that is not trusted",
        AT_KEYS,
        response("example.com.", DNSKEY, [BY_ZSK, ZSK.sign(BY_ZSK)]),
        "bogus",
        "example.com. DNSKEY: no key of the zone fits",
    ),
    (
        "keys expired",
        AT_KEYS,
        response("example.com.", DNSKEY, [BY_ZSK, EXAMPLE.sign(BY_ZSK, ends=NOW - 1)]),
        "bogus",
        "example.com. DNSKEY: the signature has expired",
    ),
    (
        "unsigned delegation",
        AT_DS,
        denied("example.com.", COM, ("example.com.", "z.com. NS RRSIG NSEC")),
        "example.com.",
        "example.com. is delegated without a DS record.",
    ),
    (
        "no delegation",
        AT_DS,
        denied("example.com.", COM, ("example.com.", "z.com. TXT RRSIG NSEC")),
        "com.",
        "",
    ),
    (
        "empty non-terminal",
        AT_DS,
        denied("example.com.", COM, ("e.com.", "a.example.com. A RRSIG NSEC")),
        "com.",
        "",
    ),
    (
        "no such name",
        AT_DS,
        denied("example.com.", COM, ("com.", "z.com. SOA NS RRSIG NSEC"), nxdomain=True),
        "com.",
        "",
    ),
    (
        "opt-out",
        AT_DS,
        response("example.com.", DS, authority=hashed(COM, 1)),
        "example.com.",
        "example.com. may be delegated unsigned (opt-out).",
    ),
    ("NSEC3", AT_DS, response("example.com.", DS, authority=hashed(COM, 0)), "com.", ""),
    (
        "DS that the bitmap promises",
        AT_DS,
        denied("example.com.", COM, ("example.com.", "z.com. NS DS RRSIG NSEC")),
        "bogus",
        NO_DS,
    ),
    (
        "the child's word",
        AT_DS,
        response("example.com.", DS, authority=CHILD_APEX),
        "bogus",
        NO_DS,
    ),
    (
        "proof expired",
        AT_DS,
        response(
            "example.com.",
            DS,
            authority=[
                records("example.com.", "NSEC", "z.com. NS"),
                COM.sign(records("example.com.", "NSEC", "z.com. NS"), ends=NOW - 1),
            ],
        ),
        "bogus",
        f"{NO_DS}: example.com. NSEC: the signature has expired.",
    ),
    ("alias", AT_DS, response("example.com.", DS, COM.signed(ALIAS)), "com.", ""),
    ("unsigned alias", AT_DS, response("example.com.", DS, [ALIAS]), "bogus", NO_DS),
    (
        "alias by another zone",
        AT_DS,
        response("example.com.", DS, ROOT.signed(ALIAS)),
        "bogus",
        "another zone's name",
    ),
    (
        "wildcard alias without proof",
        AT_DS,
        response("example.com.", DS, COM.signed(records("*.com.", "CNAME", "o.com."), owner="example.com.")),
        "bogus",
        "Nothing proves that the wildcard stands for example.com.",
    ),
    (
        "wildcard alias, opt-out",
        AT_DS,
        response(
            "example.com.",
            DS,
            COM.signed(records("*.com.", "CNAME", "o.com."), owner="example.com."),
            hashed(COM, 1),
        ),
        "example.com.",
        "example.com. may be delegated unsigned (opt-out).",
    ),
]


@pytest.mark.parametrize(("case", "question", "answer", "zone", "why"), STEPS, ids=[row[0] for row in STEPS])
async def test_each_step(case: str, question: Question, answer: Answer, zone: str, why: str) -> None:
    world = World()
    world.answers[question] = answer
    found, reason = await world.state_of("example.com.")
    assert found == zone, (case, reason)
    assert why in reason and (why or not reason)


@pytest.mark.parametrize("missing", list(World().answers))
async def test_a_resolver_that_fails_is_no_fault_of_the_zone(missing: Question) -> None:
    world = World()
    world.answers[missing] = DnsFailure(DnsReason.TIMEOUT, "No resolver answered.")
    with pytest.raises(DnsFailure) as caught:
        await world.zone_of("example.com.")
    assert caught.value.reason is DnsReason.TIMEOUT


def without_delegations(world: World, *asked: str) -> None:
    for each in asked:
        world.answers[each, DS] = denied(each, EXAMPLE, (each, "z.example.com. TXT RRSIG NSEC"))


async def test_names_between_are_passed_by() -> None:
    world = World()
    without_delegations(world, "b.example.com.", "a.b.example.com.")
    assert await world.state_of("a.b.example.com.") == ("example.com.", "")


async def test_below_what_does_not_exist_nothing_is_asked() -> None:
    world = World()
    proof = denied("b.example.com.", EXAMPLE, ("example.com.", "z.example.com. SOA NS"), nxdomain=True)
    world.answers["b.example.com.", DS] = proof
    assert await world.state_of("x.y.a.b.example.com.") == ("example.com.", "")
    assert world.asked[-1] == ("b.example.com.", DS)


async def test_below_a_dname_nothing_is_asked() -> None:
    world = World()
    without_delegations(world, "b.example.com.")
    made = [*EXAMPLE.signed(records("b.example.com.", "DNAME", "c.")), records("a.b.example.com.", "CNAME", "a.c.")]
    world.answers["a.b.example.com.", DS] = response("a.b.example.com.", DS, made)
    assert await world.state_of("x.y.a.b.example.com.") == ("example.com.", "")
    assert world.asked[-1] == ("a.b.example.com.", DS)


async def test_below_an_alias_there_may_be_more() -> None:
    world = World()
    alias = EXAMPLE.signed(records("b.example.com.", "CNAME", "c."))
    world.answers["b.example.com.", DS] = response("b.example.com.", DS, alias)
    without_delegations(world, "a.b.example.com.")
    assert await world.state_of("a.b.example.com.") == ("example.com.", "")
    assert world.asked[-1] == ("a.b.example.com.", DS)


async def test_below_an_unsigned_zone_nothing_is_asked() -> None:
    world = World()
    world.answers["example.com.", DS] = denied("example.com.", COM, ("example.com.", "z.com. NS"))
    zone = await world.zone_of("a.b.example.com.")
    assert (zone.name, zone.unsigned) == (EXAMPLE.zone, "example.com. is delegated without a DS record.")
    assert world.asked[-1] == ("example.com.", DS)


async def test_what_is_known_is_not_asked_again() -> None:
    world = World()
    chain = world.chain()
    first = await chain.zone_of(name("example.com."), Effort())
    world.now += 299
    assert await chain.zone_of(name("EXAMPLE.com."), Effort()) == first
    assert len(world.asked) == 5
    world.now += 1
    await chain.zone_of(name("example.com."), Effort())
    assert len(world.asked) == 10


async def test_keys_are_not_kept_longer_than_their_signatures() -> None:
    world = World()
    key_set = dns.rrset.from_rdata(EXAMPLE.zone, 300, EXAMPLE.key)
    signed = [key_set, EXAMPLE.sign(key_set, ends=NOW + 10)]
    world.answers["example.com.", DNSKEY] = response("example.com.", DNSKEY, signed)
    assert (await world.zone_of("example.com.")).expires == NOW + 10


async def test_nothing_is_kept_longer_than_what_it_stands_on() -> None:
    world = World()
    world.answers[".", DNSKEY] = response(".", DNSKEY, ROOT.key_set(ttl=20))
    assert (await world.zone_of("example.com.")).expires == NOW + 20
    without_delegations(world, "a.example.com.")
    assert (await world.zone_of("a.example.com.")).expires == NOW + 20


async def test_a_ttl_of_zero_is_for_one_judgement() -> None:
    world = World()
    world.answers["example.com.", DNSKEY] = response("example.com.", DNSKEY, EXAMPLE.key_set(ttl=0))
    chain = world.chain()
    for _ in range(2):
        assert (await chain.zone_of(name("example.com."), Effort())).name == EXAMPLE.zone
    assert world.asked.count(("com.", DNSKEY)) == 1
    assert world.asked.count(("example.com.", DNSKEY)) == 2


async def test_memory_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.upstream.dns.chain._REMEMBERED", 8)
    world = World()
    chain = world.chain()
    for index in range(20):
        world.answers[f"n{index}.", DS] = denied(f"n{index}.", ROOT, (f"n{index}.", ". NS RRSIG NSEC"))
        await chain.zone_of(name(f"n{index}."), Effort())
    asked = len(world.asked)
    await chain.zone_of(name("n19."), Effort())
    assert len(world.asked) == asked
    await chain.zone_of(name("n1."), Effort())
    assert world.asked[asked:] == [("n1.", DS)]


async def test_judgements_share_their_steps() -> None:
    world = World()
    chain = world.chain()
    zones = await asyncio.gather(*(chain.zone_of(name("example.com."), Effort()) for _ in range(50)))
    assert {zone.name for zone in zones} == {EXAMPLE.zone}
    assert len(world.asked) == 5


FAULTS: list[tuple[Answer, Callable[[BaseException], bool]]] = [
    (DnsFailure(DnsReason.TIMEOUT, "No."), lambda error: isinstance(error, DnsFailure)),
    (response("com.", DS), lambda error: isinstance(error, Unproven) and error.security is Security.BOGUS),
]


@pytest.mark.parametrize(("answer", "is_expected"), FAULTS, ids=["failure", "bogus"])
async def test_judgements_share_a_fault(answer: Answer, is_expected: Callable[[BaseException], bool]) -> None:
    world = World()
    world.answers["com.", DS] = answer
    chain = world.chain()
    waiting = (chain.zone_of(name("example.com."), Effort()) for _ in range(10))
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(error, BaseException) and is_expected(error) for error in found)
    assert len({id(error) for error in found}) == 10
    assert world.asked.count(("com.", DS)) == 1


async def test_who_leaves_leaves_the_step_to_the_next() -> None:
    world = World()
    chain = world.chain()
    loop = asyncio.get_running_loop()
    first, second = (loop.create_task(chain.zone_of(name("example.com."), Effort())) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).name == EXAMPLE.zone
    assert first.cancelled()
    assert world.asked.count((".", DNSKEY)) == 2


async def test_who_waits_may_leave() -> None:
    world = World()
    chain = world.chain()
    loop = asyncio.get_running_loop()
    first, second = (loop.create_task(chain.zone_of(name("example.com."), Effort())) for _ in range(2))
    await asyncio.sleep(0)
    second.cancel()
    assert (await first).name == EXAMPLE.zone
    assert second.cancelled()
    assert len(world.asked) == 5


def spent(queries: int) -> Effort:
    effort = Effort()
    for _ in range(queries):
        effort.query()
    return effort


async def test_who_runs_out_of_effort_does_not_take_others_along() -> None:
    world = World()
    chain = world.chain()
    weak, strong = await asyncio.gather(
        chain.zone_of(name("example.com."), spent(22)),
        chain.zone_of(name("example.com."), Effort()),
        return_exceptions=True,
    )
    assert isinstance(weak, Exhausted)
    assert isinstance(strong, Zone) and strong.name == EXAMPLE.zone


async def test_a_deep_name_is_given_up() -> None:
    world = World()
    labels = [f"l{index}" for index in range(30)]
    deep = [".".join([*labels[index:], "example.com."]) for index in range(30)]
    without_delegations(world, *deep)
    assert await world.state_of(deep[0]) == (
        Security.BOGUS,
        "The chain of trust takes more than 24 queries.",
    )
    assert len(world.asked) == 24


async def test_a_flood_of_keys_is_given_up() -> None:
    world = World()
    flood = colliding(EXAMPLE.key, 4)
    world.answers["example.com.", DNSKEY] = response("example.com.", DNSKEY, EXAMPLE.key_set(*flood))
    assert await world.state_of("example.com.") == (
        Security.BOGUS,
        "More than 4 keys of example.com. share one tag.",
    )


async def test_the_key_set_may_hold_what_is_no_key_of_the_zone() -> None:
    world = World()
    others = (NO_ZONE_KEY.key, REVOKED.key)
    world.answers["example.com.", DNSKEY] = response("example.com.", DNSKEY, EXAMPLE.key_set(*others))
    assert len((await world.zone_of("example.com.")).keys) == 1
