"""Files by their hash, out of gateways that fail in every way."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from proxy.engine.failover.content import ContentMissing
from proxy.http.messages import Realm
from proxy.trust.content.cid import DAG_PB, Cid, cid_of, parse_cid
from proxy.trust.content.unixfs import CHUNK, add_file
from tests.engine.failover.network import BLOCKS, BODY, CID, FIRST, SECOND, THIRD, Network
from tests.simulators.mirror import RAW, block_url

LONG = b"".join(number.to_bytes(4, "big") for number in range(230_000))
LONG_CID, LONG_BLOCKS = add_file(LONG)


async def test_one_block() -> None:
    network = Network()
    network.mirrors.keep(FIRST, BLOCKS)
    assert await network.fetch() == BODY
    [asked] = network.mirrors.asked
    assert (asked.target.uri, asked.accept, asked.realm) == (block_url(FIRST, CID), RAW, Realm.ANY)
    assert (asked.max_bytes, asked.seconds) == (2 * 2**20, 3.0)
    assert network.noted.upstreams == [("gateway", "verified")] and network.told == []


async def test_many_blocks() -> None:
    network = Network()
    network.mirrors.keep(FIRST, LONG_BLOCKS)
    assert await network.fetch(LONG_CID) == LONG
    assert len(LONG) > 3 * CHUNK and len(network.mirrors.asked) == len({cid.text for cid, _ in LONG_BLOCKS})


async def test_blocks_may_come_from_different_gateways() -> None:
    network = Network()
    for gateway, block in zip((FIRST, SECOND, THIRD) * 9, LONG_BLOCKS, strict=False):
        network.mirrors.keep(gateway, [block])
    assert await network.fetch(LONG_CID) == LONG
    assert set(network.told) <= {(gateway, "failed", "status-404") for gateway in (FIRST, SECOND, THIRD)}


FAILURES = [
    pytest.param("status-404", "failed", True, id="404"),
    pytest.param("status-410", "failed", True, id="410"),
    pytest.param("status-451", "failed", True, id="451"),
    pytest.param("status-429", "failed", False, id="429"),
    pytest.param("status-504", "failed", False, id="504"),
    pytest.param("origin-timeout", "failed", False, id="timeout"),
    pytest.param("origin-unreachable", "failed", False, id="unreachable"),
    pytest.param("too-large", "failed", False, id="endless"),
    pytest.param("redirect-refused", "failed", False, id="redirect"),
]


@pytest.mark.parametrize(("reason", "outcome", "keeps_place"), FAILURES)
async def test_the_next_gateway_is_asked(reason: str, outcome: str, keeps_place: bool) -> None:
    network = Network()
    network.mirrors.fail(block_url(FIRST, CID), reason)
    network.mirrors.keep(SECOND, BLOCKS)
    assert await network.fetch() == BODY
    assert network.told == [(FIRST, outcome, reason)]
    assert network.order[0] == (FIRST if keeps_place else SECOND)
    metered = "error-status" if reason.startswith("status") else reason
    assert network.noted.upstreams == [("gateway", metered), ("gateway", "verified")]


@pytest.mark.parametrize("media_type", ["text/html", "application/json", ""])
async def test_another_type_is_no_block(media_type: str) -> None:
    network = Network()
    network.mirrors.respond(block_url(FIRST, CID), BODY, media_type=media_type)
    network.mirrors.respond(block_url(SECOND, CID), BODY, media_type="application/octet-stream")
    assert await network.fetch() == BODY
    assert network.told == [(FIRST, "failed", "not-a-document")]


async def test_wrong_bytes_are_the_gateways_fault() -> None:
    network = Network()
    network.mirrors.respond(block_url(FIRST, CID), BODY[:-1], media_type=RAW)
    network.mirrors.keep(SECOND, BLOCKS)
    assert await network.fetch() == BODY
    assert network.told == [(FIRST, "refused", "cid_mismatch")]
    assert network.order == [SECOND, THIRD, FIRST]
    assert network.asked.scores[FIRST] < 0.1 and network.asked.scores[SECOND] == 1.0
    network.mirrors.asked.clear()
    assert await network.fetch() == BODY
    assert network.mirrors.urls == [block_url(SECOND, CID)]


async def test_a_silent_gateway_is_overtaken_and_then_asked_later() -> None:
    network = Network()
    network.mirrors.hang(block_url(FIRST, CID))
    network.mirrors.keep(SECOND, BLOCKS)
    assert await network.fetch() == BODY
    assert network.mirrors.urls == [block_url(FIRST, CID), block_url(SECOND, CID)]
    assert network.order == [SECOND, THIRD, FIRST] and network.told == []


async def test_no_more_than_two_are_asked_at_once() -> None:
    network = Network(hedge_delay=0.01, deadline=0.1)
    for gateway in (FIRST, SECOND):
        network.mirrors.hang(block_url(gateway, CID))
    network.mirrors.keep(THIRD, BLOCKS)
    assert await network.fetch() == ContentMissing(outcome="failed", reason="deadline")  # type: ignore[arg-type]
    assert len(network.mirrors.asked) == 2


async def test_nobody_has_it() -> None:
    network = Network()
    network.mirrors.fail(block_url(FIRST, CID), "origin-unreachable")
    missing = await network.fetch()
    assert isinstance(missing, ContentMissing) and (missing.outcome, missing.reason) == ("failed", "status-404")
    assert [reason for _, _, reason in network.told] == ["origin-unreachable", "status-404", "status-404"]


async def test_a_missing_part_is_a_missing_file() -> None:
    network = Network((FIRST,))
    network.mirrors.keep(FIRST, LONG_BLOCKS[1:])
    missing = await network.fetch(LONG_CID)
    assert isinstance(missing, ContentMissing) and missing.reason == "status-404"


async def test_everybody_lies() -> None:
    network = Network((FIRST, SECOND))
    for gateway in (FIRST, SECOND):
        network.mirrors.respond(block_url(gateway, CID), b"other", media_type=RAW)
    missing = await network.fetch()
    assert isinstance(missing, ContentMissing)
    assert (missing.outcome, missing.reason) == ("refused", "cid_mismatch")


REFUSED = [
    pytest.param(cid_of(b"\x0a\x02\x08\x01", DAG_PB), b"\x0a\x02\x08\x01", "ipfs_not_a_file", id="directory"),
    pytest.param(cid_of(b"\xff" * 40, DAG_PB), b"\xff" * 40, "ipfs_not_a_file", id="broken"),
    pytest.param(cid_of(b"x" * (2**20 + 1)), b"x" * (2**20 + 1), "ipfs_limits", id="larger than a manifest"),
]


@pytest.mark.parametrize(("cid", "block", "reason"), REFUSED)
async def test_what_makes_no_file_is_not_asked_for_elsewhere(cid: Cid, block: bytes, reason: str) -> None:
    network = Network()
    network.mirrors.keep(FIRST, [(cid, block)])
    missing = await network.fetch(cid)
    assert isinstance(missing, ContentMissing)
    assert (missing.outcome, missing.reason) == ("refused", reason)
    assert network.order[0] == FIRST and len(network.mirrors.asked) == 1


async def test_an_identifier_of_no_content_is_not_asked_for() -> None:
    network = Network()
    missing = await network.fetch(replace(parse_cid(CID.text), hash_function=0x13))
    assert isinstance(missing, ContentMissing) and missing.reason == "cid_unsupported"
    assert network.mirrors.asked == []


async def test_a_gateway_that_cannot_be_reached_is_left_alone_for_a_while() -> None:
    network = Network((FIRST,))
    network.mirrors.fail(block_url(FIRST, CID), "origin-unreachable")
    for _ in range(3):
        await network.fetch()
    asked = len(network.mirrors.asked)
    missing = await network.fetch()
    assert isinstance(missing, ContentMissing)
    assert (missing.outcome, missing.reason) == ("skipped", "breaker-open")
    assert len(network.mirrors.asked) == asked == 3
    network.clock += 6
    network.mirrors.keep(FIRST, BLOCKS)
    assert await network.fetch() == BODY


@pytest.mark.parametrize("reason", ["origin-timeout", "status-504", "status-404", "too-large"])
async def test_content_that_nobody_finds_shuts_no_gateway(reason: str) -> None:
    network = Network((FIRST,))
    network.mirrors.fail(block_url(FIRST, CID), reason)
    for _ in range(9):
        await network.fetch()
    network.mirrors.keep(FIRST, BLOCKS)
    assert await network.fetch() == BODY


async def test_many_missing_blocks_are_told_briefly() -> None:
    network = Network()
    network.mirrors.keep(THIRD, LONG_BLOCKS)
    assert await network.fetch(LONG_CID) == LONG
    assert sorted(network.told) == [(FIRST, "failed", "status-404"), (SECOND, "failed", "status-404")]


async def test_cancelling_leaves_nothing_under_way() -> None:
    network = Network()
    for gateway in (FIRST, SECOND):
        network.mirrors.hang(block_url(gateway, CID))
    task = asyncio.get_running_loop().create_task(network.fetch())
    await network.mirrors.arrived(2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert network.mirrors.under_way == 0
