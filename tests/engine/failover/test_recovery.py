"""Recovery: mirrors and content raced, judged by somebody else, and everything told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proxy.engine.failover.recovery import Exhausted, Recovered, Recovery
from proxy.engine.failover.settings import FailoverSettings
from proxy.failover.gateways import parse_gateway
from proxy.failover.plan import PlanRules
from proxy.http.messages import Realm
from proxy.http.targets import parse_target
from proxy.trust.content.unixfs import add_file
from proxy.trust.reasons import Reason
from proxy.trust.verdict import Rejected, Signed, UnverifiedCopy, Verdict, VerifiedCopy
from tests.simulators.clock import START, FakeClock
from tests.simulators.engine import Noted
from tests.simulators.gateway import ipns_name, ipns_record
from tests.simulators.mirror import MirrorSimulator, block_url, record_url

SITE = parse_target("https://example.com/")
ONE, TWO, THREE = (f"https://{name}.example/m.json" for name in ("one", "two", "three"))
GATEWAY = "https://gw.example"
GOOD, OLD = b'{"good": 1}', b'{"old": 1}'
CID, BLOCKS = add_file(GOOD)
IPFS = f"ipfs://{CID.text}"
SIGNED = Signed("did:web:example.com", "did:web:example.com#key-1", "eddsa-jcs-2022", START, None)
KEY = Ed25519PrivateKey.generate()
NAME = ipns_name(KEY)
IPNS = f"ipns://{NAME.text}"
RECORD = ipns_record(KEY, f"/ipfs/{CID.text}", sequence=7, valid_until=START + 86400, ttl_seconds=60)


@dataclass
class Outage:
    """A recovery over simulated mirrors; its judge takes what contains "good" and finds the rest forged or old."""

    hedge_delay: float = 0.05
    deadline: float = 5.0
    gateways: tuple[str, ...] = (GATEWAY,)
    mirrors: MirrorSimulator = field(default_factory=MirrorSimulator)
    noted: Noted = field(default_factory=Noted)
    clock: FakeClock = field(default_factory=FakeClock)
    judged: list[UnverifiedCopy] = field(default_factory=list)

    def __post_init__(self) -> None:
        rules = PlanRules(tuple(map(parse_gateway, self.gateways)))
        settings = FailoverSettings(rules, self.hedge_delay, deadline=self.deadline)
        self.recovery = Recovery(self.mirrors, self.noted, self.clock, settings)

    async def judge(self, copy: UnverifiedCopy) -> Verdict:
        self.judged.append(copy)
        if b"good" in copy.body:
            return VerifiedCopy(copy, SIGNED)
        return Rejected(Reason.ROLLBACK if b"old" in copy.body else Reason.SIGNATURE_INVALID, "simulated")

    async def recover(
        self, listed: list[object], sequences: Mapping[str, int] | None = None
    ) -> Recovered | Exhausted:
        """What comes of a plan for `listed`; nothing is left under way."""
        plan = self.recovery.plan(listed, SITE)
        recovered = await self.recovery.recover(plan, self.judge, sequences or {})
        assert self.mirrors.under_way == 0
        return recovered


def told(recovered: Recovered | Exhausted) -> list[tuple[str, str, str]]:
    return [(attempt.url, attempt.outcome.value, attempt.reason) for attempt in recovered.attempts]


async def test_the_first_mirror_serves() -> None:
    outage = Outage()
    outage.mirrors.respond(ONE, GOOD, max_age=60.0)
    recovered = await outage.recover([ONE, TWO])
    assert isinstance(recovered, Recovered)
    assert recovered.verified == VerifiedCopy(outage.judged[0], SIGNED)
    assert (recovered.verified.copy.source.value, recovered.verified.copy.url) == ("mirror", ONE)
    assert (recovered.max_age, recovered.names) == (60.0, ())
    assert told(recovered) == [(ONE, "served", "")]
    [asked] = outage.mirrors.asked
    assert (asked.realm, asked.max_bytes, asked.seconds) == (Realm.PUBLIC, 2**20, 3.0)
    assert outage.noted.upstreams == [("mirror", "verified")]


@pytest.mark.parametrize(
    ("url", "may"),
    [
        ("https://cdn.example.net/m.json", True),
        ("https://cdn.example.net:8443/m.json", False),
        ("https://example.com/m.json", False),
    ],
)
async def test_where_a_mirror_may_redirect_to(url: str, may: bool) -> None:
    outage = Outage()
    await outage.recover([ONE])
    assert outage.mirrors.asked[0].may_follow(parse_target(url)) is may


REFUSALS = [
    pytest.param(b"<html>", "refused", "signature_invalid", "rejected", id="HTML"),
    pytest.param(OLD, "refused", "rollback", "rejected", id="old"),
    pytest.param("status-404", "failed", "status-404", "error-status", id="404"),
    pytest.param("origin-timeout", "failed", "origin-timeout", "origin-timeout", id="slow"),
    pytest.param("too-large", "failed", "too-large", "too-large", id="endless"),
    pytest.param("egress-denied", "failed", "egress-denied", "egress-denied", id="private address"),
    pytest.param("too-many-redirects", "failed", "too-many-redirects", "too-many-redirects", id="redirects"),
]


@pytest.mark.parametrize(("answer", "outcome", "reason", "metered"), REFUSALS)
async def test_a_bad_mirror_does_not_stop_a_good_one(
    answer: bytes | str, outcome: str, reason: str, metered: str
) -> None:
    outage = Outage(hedge_delay=5.0)
    if isinstance(answer, bytes):
        outage.mirrors.respond(ONE, answer)
    else:
        outage.mirrors.fail(ONE, answer)
    outage.mirrors.respond(TWO, GOOD)
    recovered = await outage.recover([ONE, TWO])
    assert isinstance(recovered, Recovered)
    assert told(recovered) == [(ONE, outcome, reason), (TWO, "served", "")]
    assert outage.noted.upstreams == [("mirror", metered), ("mirror", "verified")]


async def test_a_dead_first_mirror_costs_one_hedge_delay() -> None:
    outage = Outage(hedge_delay=0.1)
    outage.mirrors.hang(ONE)
    outage.mirrors.respond(TWO, GOOD)
    loop = asyncio.get_running_loop()
    began = loop.time()
    recovered = await outage.recover([ONE, TWO])
    assert isinstance(recovered, Recovered) and loop.time() - began < 2.0
    first, second = outage.mirrors.asked
    assert 0.09 < second.at - first.at < 1.0
    assert told(recovered) == [(ONE, "skipped", "hedged"), (TWO, "served", "")]
    assert recovered.attempts[0].ms >= 90


async def test_a_mirror_that_keeps_silent_is_not_asked_first_for_ever() -> None:
    outage = Outage(hedge_delay=0.02)
    outage.mirrors.hang(ONE)
    outage.mirrors.respond(TWO, GOOD)
    for _ in range(3):
        await outage.recover([ONE, TWO])
    outage.mirrors.asked.clear()
    recovered = await outage.recover([ONE, TWO])
    assert outage.mirrors.urls == [TWO]
    assert told(recovered) == [(ONE, "skipped", "breaker-open"), (TWO, "served", "")]
    assert outage.recovery.standing().mirror_up == {"one.example": False, "two.example": True}


@pytest.mark.parametrize(
    ("reason", "is_shut"),
    [
        ("origin-unreachable", True),
        ("origin-timeout", True),
        ("origin-invalid-response", True),
        ("status-503", True),
        ("status-429", True),
        ("status-404", False),
        ("status-403", False),
        ("redirect-refused", False),
        ("too-large", False),
        ("egress-denied", False),
    ],
)
async def test_what_shuts_a_host(reason: str, is_shut: bool) -> None:
    outage = Outage()
    outage.mirrors.fail(ONE, reason)
    for _ in range(4):
        recovered = await outage.recover([ONE])
    assert isinstance(recovered, Exhausted)
    assert told(recovered) == [(ONE, "skipped", "breaker-open") if is_shut else (ONE, "failed", reason)]
    assert len(outage.mirrors.asked) == (3 if is_shut else 4)
    outage.clock += 6
    outage.mirrors.respond(ONE, GOOD)
    assert isinstance(await outage.recover([ONE]), Recovered)


async def test_of_one_probe_of_a_shut_host_there_is_one() -> None:
    outage = Outage()
    outage.mirrors.fail(ONE, "origin-unreachable")
    for _ in range(3):
        await outage.recover([ONE])
    outage.clock += 6
    plan = outage.recovery.plan([ONE], SITE)
    ends = [await outage.recovery.recover(plan, outage.judge) for _ in range(2)]
    assert [told(end)[-1][2] for end in ends] == ["origin-unreachable", "breaker-open"]


async def test_content_by_its_hash() -> None:
    outage = Outage()
    outage.mirrors.fail(ONE, "origin-unreachable")
    outage.mirrors.keep(GATEWAY, BLOCKS)
    recovered = await outage.recover([IPFS, ONE])
    assert isinstance(recovered, Recovered)
    assert (recovered.verified.copy.source.value, recovered.verified.copy.url) == ("ipfs", IPFS)
    assert recovered.max_age is None
    assert told(recovered) == [(ONE, "failed", "origin-unreachable"), (IPFS, "served", "")]
    assert outage.recovery.standing().gateway_score == {GATEWAY: 1.0}


async def test_gateways_are_told_before_what_they_were_asked_for() -> None:
    outage = Outage(gateways=("https://bad.example", GATEWAY))
    outage.mirrors.respond(f"https://bad.example/ipfs/{CID.text}?format=raw", b"x", media_type="text/html")
    recovered = await outage.recover([IPFS])
    bad, good = f"https://bad.example/ipfs/{CID.text}", f"{GATEWAY}/ipfs/{CID.text}"
    assert told(recovered) == [
        (bad, "failed", "not-a-document"),
        (good, "failed", "status-404"),
        (IPFS, "failed", "status-404"),
    ]


async def test_content_that_is_not_believed() -> None:
    outage = Outage()
    cid, blocks = add_file(OLD)
    outage.mirrors.keep(GATEWAY, blocks)
    recovered = await outage.recover([f"ipfs://{cid.text}"])
    assert told(recovered) == [(f"ipfs://{cid.text}", "refused", "rollback")]


async def test_content_by_a_name() -> None:
    outage = Outage()
    outage.mirrors.name(GATEWAY, NAME, RECORD)
    outage.mirrors.keep(GATEWAY, BLOCKS)
    recovered = await outage.recover([IPNS])
    assert isinstance(recovered, Recovered)
    [seen] = recovered.names
    assert (seen.name, seen.sequence, recovered.max_age) == (NAME, 7, 60.0)
    assert (recovered.verified.copy.source.value, recovered.verified.copy.url) == ("ipfs", IPNS)


@pytest.mark.parametrize(("known", "is_served"), [(7, True), (8, False)])
async def test_a_name_does_not_go_back(known: int, is_served: bool) -> None:
    outage = Outage()
    outage.mirrors.name(GATEWAY, NAME, RECORD)
    outage.mirrors.keep(GATEWAY, BLOCKS)
    recovered = await outage.recover([IPNS], {NAME.text: known})
    assert told(recovered)[-1] == ((IPNS, "served", "") if is_served else (IPNS, "refused", "rollback"))


async def test_a_name_that_nobody_knows() -> None:
    outage = Outage()
    recovered = await outage.recover([IPNS])
    at = record_url(GATEWAY, NAME).partition("?")[0]
    assert told(recovered) == [(at, "failed", "status-404"), (IPNS, "failed", "status-404")]


async def test_bad_mirrors_are_skipped_with_their_reason() -> None:
    outage = Outage()
    outage.mirrors.respond(ONE, GOOD)
    seed = "ipfs://QmYwAPJzv5CZsnA625s3Xf2sm5Dsg7C733d"
    recovered = await outage.recover([seed, ONE])
    assert told(recovered) == [(seed, "skipped", "mirror_invalid"), (ONE, "served", "")]
    assert await outage.recover([seed]) == Exhausted(recovered.attempts[:1])
    assert await outage.recover([]) == Exhausted(())


async def test_the_deadline_is_for_all() -> None:
    outage = Outage(hedge_delay=0.1, deadline=0.15)
    for url in (ONE, TWO):
        outage.mirrors.hang(url)
    recovered = await outage.recover([ONE, TWO, THREE])
    assert told(recovered) == [
        (ONE, "failed", "deadline"),
        (TWO, "failed", "deadline"),
        (THREE, "skipped", "deadline"),
    ]


async def test_the_deadline_holds_for_content_too() -> None:
    outage = Outage(hedge_delay=0.01, deadline=0.1)
    outage.mirrors.hang(block_url(GATEWAY, CID))
    assert told(await outage.recover([IPFS])) == [(IPFS, "failed", "deadline")]


async def test_cancelling_leaves_nothing_under_way() -> None:
    outage = Outage(hedge_delay=0.0)
    for url in (ONE, TWO, block_url(GATEWAY, CID), record_url(GATEWAY, NAME)):
        outage.mirrors.hang(url)
    task = asyncio.get_running_loop().create_task(outage.recover([ONE, TWO, IPFS, IPNS]))
    await outage.mirrors.arrived(4)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert outage.mirrors.under_way == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_of_two_that_are_good_at_once_one_serves() -> None:
    outage = Outage(hedge_delay=0.0)
    for url in (ONE, TWO):
        outage.mirrors.respond(url, GOOD)
    recovered = await outage.recover([ONE, TWO])
    assert told(recovered) == [(ONE, "served", ""), (TWO, "skipped", "hedged")]


async def test_a_stale_pin_serves_as_well() -> None:
    outage = Outage()
    outage.mirrors.respond(ONE, GOOD)

    async def judge(copy: UnverifiedCopy) -> Verdict:
        verdict = await outage.judge(copy)
        assert isinstance(verdict, VerifiedCopy)
        return replace(verdict, is_stale=True)

    recovered = await outage.recovery.recover(outage.recovery.plan([ONE], SITE), judge)
    assert isinstance(recovered, Recovered) and recovered.verified.is_stale
