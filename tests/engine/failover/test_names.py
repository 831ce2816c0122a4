"""IPNS names, resolved through gateways that may withhold the newest record but forge none."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proxy.engine.failover.content import ContentMissing
from proxy.engine.failover.names import Names, NameSeen
from tests.engine.failover.network import CID, FIRST, SECOND, THIRD, Network
from tests.simulators.clock import START
from tests.simulators.gateway import ipns_name, ipns_record
from tests.simulators.mirror import RECORD, record_url

KEY = Ed25519PrivateKey.generate()
NAME = ipns_name(KEY)
VALUE = f"/ipfs/{CID.text}"
DAY = 86400.0


def record(sequence: int = 7, value: str = VALUE, ends: float = START + DAY, key: Ed25519PrivateKey = KEY) -> bytes:
    return ipns_record(key, value, sequence=sequence, valid_until=ends, ttl_seconds=60)


class Naming(Network):
    """Names over simulated gateways."""

    async def resolve(self, known: int = 0) -> NameSeen | ContentMissing:
        seen = await Names(self.asked, self.clock, self.settings).resolve(NAME, known, self.log)
        assert self.mirrors.under_way == 0
        return seen

    @property
    def reasons(self) -> list[str]:
        return [attempt.reason for attempt in self.log.attempts]


async def test_what_a_name_stands_for() -> None:
    naming = Naming((FIRST,))
    naming.mirrors.name(FIRST, NAME, record())
    assert await naming.resolve() == NameSeen(NAME, CID, 7, 60.0)
    [asked] = naming.mirrors.asked
    assert (asked.target.uri, asked.accept) == (record_url(FIRST, NAME), RECORD)
    assert asked.max_bytes == 10 * 1024


async def test_the_newest_of_two_counts() -> None:
    for first, second in ((7, 8), (8, 7)):
        naming = Naming()
        naming.mirrors.name(FIRST, NAME, record(first))
        naming.mirrors.name(SECOND, NAME, record(second))
        seen = await naming.resolve()
        assert isinstance(seen, NameSeen) and seen.sequence == 8
        assert sorted(naming.mirrors.urls) == [record_url(FIRST, NAME), record_url(SECOND, NAME)]


async def test_a_record_is_good_no_longer_than_to_its_end() -> None:
    naming = Naming((FIRST,))
    naming.mirrors.name(FIRST, NAME, record(ends=START + 5))
    seen = await naming.resolve()
    assert isinstance(seen, NameSeen) and seen.seconds == 5.0


async def test_a_silent_gateway_is_not_waited_for_once_there_is_a_record() -> None:
    naming = Naming()
    naming.mirrors.hang(record_url(FIRST, NAME))
    naming.mirrors.name(SECOND, NAME, record())
    assert isinstance(await naming.resolve(), NameSeen)


async def test_a_slower_gateway_may_still_have_the_newer() -> None:
    naming = Naming(hedge_delay=2.0)
    naming.mirrors.delay(record_url(FIRST, NAME), 0.02)
    naming.mirrors.name(FIRST, NAME, record(9))
    naming.mirrors.name(SECOND, NAME, record(8))
    seen = await naming.resolve()
    assert isinstance(seen, NameSeen) and seen.sequence == 9


async def test_the_others_are_asked_when_two_have_none() -> None:
    naming = Naming()
    naming.mirrors.name(THIRD, NAME, record())
    assert isinstance(await naming.resolve(), NameSeen)
    assert naming.reasons == ["status-404", "status-404"] and len(naming.mirrors.asked) == 3


BAD = [
    pytest.param(b"", "ipns_invalid", id="empty"),
    pytest.param(b"<html>", "ipns_invalid", id="no record"),
    pytest.param(record()[:-1], "ipns_invalid", id="truncated"),
    pytest.param(record(key=Ed25519PrivateKey.generate()), "ipns_invalid", id="of another key"),
    pytest.param(record(ends=START - 1), "ipns_invalid", id="ended"),
]


@pytest.mark.parametrize(("octets", "reason"), BAD)
async def test_a_bad_record_is_passed_over(octets: bytes, reason: str) -> None:
    naming = Naming((FIRST, SECOND))
    naming.mirrors.name(FIRST, NAME, octets)
    naming.mirrors.name(SECOND, NAME, record(1))
    assert isinstance(await naming.resolve(), NameSeen)
    assert naming.reasons == [reason]


async def test_another_type_is_no_record() -> None:
    naming = Naming((FIRST,))
    naming.mirrors.respond(record_url(FIRST, NAME), record(), media_type="text/html")
    missing = await naming.resolve()
    assert isinstance(missing, ContentMissing) and missing.reason == "not-a-document"


VALUES = [
    pytest.param(f"{VALUE}/m.json", "ipfs_path_unsupported", id="path"),
    pytest.param("/ipns/example.com", "ipfs_path_unsupported", id="another name"),
    pytest.param("/ipfs/bafkqaaa", "cid_unsupported", id="identity"),
    pytest.param("/ipfs/x", "cid_unsupported", id="no identifier"),
]


@pytest.mark.parametrize(("value", "reason"), VALUES)
async def test_what_a_name_may_not_stand_for(value: str, reason: str) -> None:
    naming = Naming()
    naming.mirrors.name(FIRST, NAME, record(value=value))
    missing = await naming.resolve()
    assert isinstance(missing, ContentMissing)
    assert (missing.outcome, missing.reason) == ("refused", reason)


@pytest.mark.parametrize(("known", "is_seen"), [(0, True), (7, True), (8, False)])
async def test_an_older_record_than_one_seen_is_refused(known: int, is_seen: bool) -> None:
    naming = Naming((FIRST,))
    naming.mirrors.name(FIRST, NAME, record(7))
    seen = await naming.resolve(known)
    assert isinstance(seen, NameSeen) is is_seen
    assert is_seen or seen == ContentMissing(outcome="refused", reason="rollback")  # type: ignore[arg-type]


async def test_a_newer_record_elsewhere_makes_up_for_old_ones() -> None:
    naming = Naming()
    for gateway, sequence in ((FIRST, 3), (SECOND, 4), (THIRD, 8)):
        naming.mirrors.name(gateway, NAME, record(sequence))
    seen = await naming.resolve(8)
    assert isinstance(seen, NameSeen) and seen.sequence == 8


async def test_without_gateways_nothing_is_asked() -> None:
    missing = await Naming(()).resolve()
    assert isinstance(missing, ContentMissing) and missing.reason == "no-gateway"
