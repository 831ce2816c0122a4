"""One fill per key: who waits, who does not, and how a wait ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from proxy.engine.collapse import (
    UNCOLLAPSED_FOR,
    UNCOLLAPSED_KEYS,
    Failed,
    FillEnd,
    Flights,
    NotStorable,
    flight_key,
)
from proxy.engine.control import ByUri
from proxy.engine.outcome import Served
from proxy.engine.settings import EngineSettings
from proxy.http.fields import Fields
from proxy.http.messages import Realm
from proxy.http.problems import Problem, Slug
from proxy.ports import OriginFault
from tests.engine.samples import CARD, CARD_PATH, LARGE, WINDOWS, parameters
from tests.simulators.clock import FakeClock
from tests.simulators.engine import SITE, engine, request
from tests.stores.samples import response, variant

GERMAN = {"Accept-Language": "de"}


async def test_a_thousand_cold_requests_are_one_fetch() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"one")
    e.origin.hold()
    clients = [e.start("/a") for _ in range(1000)]
    await e.origin.arrived(1)
    await e.settle()
    e.origin.release()
    answers = await asyncio.gather(*clients)
    assert e.origin.paths == ["/a"]
    assert {answer.body for answer in answers} == {b"one"}
    assert sum("collapsed" in parameters(answer.cache_status) for answer in answers) == e.noted.collapses == 999
    assert sum("stored" in parameters(answer.cache_status) for answer in answers) == 1


async def test_a_herd_on_a_stale_object_is_one_conditional_request() -> None:
    e = engine()
    e.origin.respond("/a", max_age=10, etag='"1"', body=b"one")
    await e.ask("/a")
    e.clock += 11
    e.origin.hold()
    clients = [e.start("/a") for _ in range(50)]
    await e.origin.arrived(2)
    await e.settle()
    e.origin.release()
    answers = await asyncio.gather(*clients)
    assert [sent.field("If-None-Match") for sent in e.origin.requests] == [None, '"1"']
    assert {(answer.body, answer.served) for answer in answers} == {(b"one", Served.REVALIDATED)}


async def test_the_leader_leaves_and_the_followers_are_served() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"one")
    e.origin.hold()
    leader, follower = e.start("/a"), e.start("/a")
    await e.origin.arrived(1)
    await e.settle()
    leader.cancel()
    await e.settle()
    assert leader.cancelled()
    e.origin.release()
    assert (await follower).body == b"one"
    assert (await e.ask("/a")).served is Served.FRESH
    assert e.origin.paths == ["/a"]


async def test_everybody_leaves_and_the_answer_is_stored_all_the_same() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"one")
    e.origin.hold()
    clients = [e.start("/a") for _ in range(3)]
    await e.origin.arrived(1)
    for client in clients:
        client.cancel()
    await e.settle()
    e.origin.release()
    await e.refreshed()
    assert (await e.ask("/a")).served is Served.FRESH


@pytest.mark.parametrize("turns", range(10))
async def test_an_answer_that_nobody_takes_is_let_go_of(turns: int) -> None:
    e = engine()
    e.origin.respond("/a", cache_control="no-store", body=b"one")
    e.origin.hold()
    leader = e.start("/a")
    await e.origin.arrived(1)
    e.origin.release()
    for _ in range(turns):
        await asyncio.sleep(0)
    leader.cancel()
    await e.settle()
    assert leader.done() and len(e.origin.responses) == 1 and e.origin.leaked == []


UNSTORABLE = {
    "no-store": {"cache_control": "no-store"},
    "private": {"cache_control": "private, max-age=60"},
    "Vary: *": {"max_age": 60, "vary": "*"},
    "no use": {"max_age": 0},
    "larger than the cache takes": {"max_age": 60, "body": LARGE},
}


@pytest.mark.parametrize("answer", UNSTORABLE.values(), ids=UNSTORABLE)
async def test_what_may_not_be_stored_is_shared_with_nobody_and_makes_nobody_wait_twice(
    answer: dict[str, object],
) -> None:
    e = engine(EngineSettings(max_body=1000))
    e.origin.respond("/a", **answer)  # type: ignore[arg-type]
    e.origin.hold()
    clients = [e.start("/a") for _ in range(20)]
    await e.origin.arrived(1)
    await e.settle()
    assert len(e.origin.requests) == 1
    e.origin.release()
    e.origin.hold()
    await e.origin.arrived(20)  # all that waited are on their way at once, none behind another
    e.origin.release()
    answers = await asyncio.gather(*clients)
    assert not any("collapsed" in parameters(got.cache_status) for got in answers)
    assert e.origin.leaked == [] and len(e.memory) == 0

    e.origin.hold()
    later = [e.start("/a") for _ in range(5)]
    await e.origin.arrived(25)  # the key is remembered: nobody waits at all
    e.origin.release()
    await asyncio.gather(*later)


async def test_memory_of_such_keys_ends() -> None:
    e = engine()
    e.origin.respond("/a", cache_control="no-store")
    await e.ask("/a")
    assert e.flights.is_uncollapsed(f"{SITE}/a")
    e.clock += UNCOLLAPSED_FOR
    assert not e.flights.is_uncollapsed(f"{SITE}/a")
    assert not e.flights.is_uncollapsed(f"{SITE}/a")


async def test_a_stored_answer_ends_that_memory_at_once() -> None:
    e = engine()
    e.origin.respond("/a", cache_control="no-store")
    await e.ask("/a")
    e.origin.respond("/a", max_age=60)
    await e.ask("/a")
    assert not e.flights.is_uncollapsed(f"{SITE}/a")


async def test_a_failing_origin_is_not_remembered_as_unstorable() -> None:
    e = engine()
    e.origin.respond("/a", 503)
    assert (await e.ask("/a")).status == 503
    assert not e.flights.is_uncollapsed(f"{SITE}/a")


async def test_such_keys_are_bounded() -> None:
    flights = Flights(FakeClock(), 20.0)
    e = engine()
    e.origin.respond("/a", cache_control="no-store")
    ask = await e.gateway.handle(request("/a"))
    end = NotStorable(ask)  # type: ignore[arg-type]

    async def fill() -> FillEnd:
        return end

    for n in range(UNCOLLAPSED_KEYS + 1):
        await flights.start(str(n), 0, fill, led=True).end()
    assert not flights.is_uncollapsed("0") and flights.is_uncollapsed("1")


SELFISH = {
    "Authorization": {"Authorization": "Bearer a"},
    "no-store": {"Cache-Control": "no-store"},
    "no-cache": {"Cache-Control": "no-cache"},
    "Pragma": {"Pragma": "no-cache"},
    "max-age=0": {"Cache-Control": "max-age=0"},
    "Range of class other": {"Range": "bytes=0-1"},
}


@pytest.mark.parametrize("fields", SELFISH.values(), ids=SELFISH)
async def test_who_neither_waits_nor_is_waited_for(fields: dict[str, str]) -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"one")
    e.origin.hold()
    alone = [e.start("/a", fields), e.start("/a", fields)]
    await e.origin.arrived(2)
    shared = [e.start("/a"), e.start("/a")]
    await e.origin.arrived(3)
    late = e.start("/a", fields)
    await e.origin.arrived(4)
    await e.settle()
    assert len(e.origin.requests) == 4
    e.origin.release()
    answers = await asyncio.gather(*alone, *shared, late)
    assert {answer.status for answer in answers} <= {200, 206}


async def test_a_follower_with_other_selecting_fields_asks_for_its_own_variant() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, vary="Accept-Language", body=b"text")
    e.origin.hold()
    clients = [e.start("/a", {"Accept-Language": language}) for language in ("de", "fr", "de")]
    await e.origin.arrived(1)
    await e.settle()
    e.origin.release()
    await asyncio.gather(*clients)
    assert [sent.field("Accept-Language") for sent in e.origin.requests] == ["de", "fr"]


async def test_variants_known_from_vary_are_filled_at_the_same_time() -> None:
    e = engine()
    e.origin.respond("/a", max_age=10, vary="Accept-Language", body=b"text")
    await e.ask("/a", GERMAN)
    e.origin.hold()
    others = [e.start("/a", {"Accept-Language": language}) for language in ("fr", "it", "fr")]
    await e.origin.arrived(3)
    await e.settle()
    assert len(e.origin.requests) == 3
    e.origin.release()
    await asyncio.gather(*others)


async def test_a_purge_during_a_flight_is_neither_joined_nor_stored_over() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"old")
    e.origin.hold()
    before = e.start("/a")
    await e.origin.arrived(1)
    await e.control.purge(ByUri(f"{SITE}/a"), soft=False)
    after = e.start("/a")
    await e.origin.arrived(2)
    e.origin.release()
    answers = [await before, await after]
    assert {answer.body for answer in answers} == {b"old"} and len(e.origin.requests) <= 3
    assert (await e.ask("/a")).served is Served.FRESH


async def test_a_purged_fill_that_ends_last_does_not_replace_the_new_one() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"old")
    e.origin.hold()
    before = e.start("/a")
    await e.origin.arrived(1)
    held = e.origin.leave_held()
    await e.control.purge(ByUri(f"{SITE}/a"), soft=False)
    e.origin.respond("/a", max_age=60, body=b"new")
    assert (await e.ask("/a")).body == b"new"
    held.set()
    assert (await before).body == b"new"
    assert (await e.ask("/a")).body == b"new"


@pytest.mark.parametrize("led", [True, False], ids=["the leader", "a follower"])
async def test_nobody_is_served_what_was_purged_while_he_waited(led: bool) -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"old")
    e.origin.hold()
    clients = [e.start("/a") for _ in range(1 if led else 20)]
    await e.origin.arrived(1)
    await e.settle()
    held = e.origin.leave_held()
    await e.control.purge(ByUri(f"{SITE}/a"), soft=False)
    e.origin.respond("/a", max_age=60, body=b"new")
    held.set()
    assert {got.body for got in await asyncio.gather(*clients)} == {b"new"}
    assert len(e.origin.requests) == 2


async def test_a_stream_of_purges_makes_nobody_wait_for_ever() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"one")
    gates = [asyncio.Event()]
    e.origin.hold()
    client = e.start("/a")
    for count in (1, 2):
        await e.origin.arrived(count)
        gates.append(e.origin.leave_held())
        e.origin.hold()
        await e.control.purge(ByUri(f"{SITE}/a"), soft=False)
        gates[-1].set()
    assert (await client).body == b"one" and len(e.origin.requests) == 2


async def test_what_was_purged_stands_in_for_no_failure() -> None:
    e = engine()
    e.origin.respond("/a", cache_control="max-age=10, stale-if-error=600", body=b"old")
    await e.ask("/a")
    e.clock += 20
    e.origin.fail()
    e.origin.hold()
    client = e.start("/a")
    await e.origin.arrived(2)
    await e.control.purge(ByUri(f"{SITE}/a"), soft=False)
    e.origin.release()
    assert (await client).status == 504


async def test_a_herd_shares_an_answer_that_may_be_served_stale() -> None:
    e = engine()
    e.origin.respond("/a", cache_control="max-age=0, stale-while-revalidate=60", body=b"one")
    e.origin.hold()
    clients = [e.start("/a") for _ in range(100)]
    await e.origin.arrived(1)
    await e.settle()
    e.origin.release()
    assert {got.body for got in await asyncio.gather(*clients)} == {b"one"}
    assert len(e.origin.requests) == 1


async def test_an_answer_asked_for_earlier_never_replaces_a_later_one() -> None:
    e = engine(EngineSettings(flight_lease=5.0))
    e.origin.respond("/a", max_age=60, body=b"old")
    e.origin.hold()
    slow = e.start("/a")
    await e.origin.arrived(1)
    held = e.origin.leave_held()
    e.clock += 6
    e.origin.respond("/a", max_age=60, body=b"new")
    assert (await e.ask("/a")).body == b"new"
    held.set()
    got = await slow
    assert "stored" not in parameters(got.cache_status)
    assert (await e.ask("/a")).body == b"new"


async def test_b04_a_lease_that_ran_out_blocks_nobody() -> None:
    e = engine(EngineSettings(flight_lease=5.0))
    e.origin.respond("/a", cache_control=WINDOWS, etag='"1"', body=b"one")
    await e.ask("/a")
    e.clock += 20
    e.origin.hold()
    await e.ask("/a")
    await e.origin.arrived(2)
    await e.ask("/a")
    await e.settle()
    assert len(e.origin.requests) == 2
    e.clock += 6
    assert (await e.ask("/a")).served is Served.SWR
    await e.origin.arrived(3)
    e.origin.release()
    await e.refreshed()


async def test_who_joined_a_flight_waits_no_longer_than_its_lease_and_then_one_leads() -> None:
    e = engine(EngineSettings(flight_lease=0.05))
    e.origin.respond("/a", max_age=60, body=b"one")
    e.origin.hold()
    clients = [e.start("/a") for _ in range(3)]
    await e.origin.arrived(1)
    e.clock += 0.05
    await e.origin.arrived(2)
    e.origin.release()
    assert {answer.body for answer in await asyncio.gather(*clients)} == {b"one"}
    assert len(e.origin.requests) == 2


async def test_failed_is_for_all_who_waited() -> None:
    e = engine()
    e.origin.fail(OriginFault.TIMEOUT)
    e.origin.hold()
    clients = [e.start("/a") for _ in range(10)]
    await e.origin.arrived(1)
    await e.settle()
    e.origin.release()
    answers = await asyncio.gather(*clients)
    assert {answer.status for answer in answers} == {504}
    assert len(e.origin.requests) == 1


async def test_b05_waiters_of_an_old_negative_answer_see_the_new_one() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, 404, max_age=1)
    assert (await e.ask(CARD_PATH)).status == 404
    e.clock += 2
    e.origin.respond(CARD_PATH, max_age=60, body=CARD)
    e.origin.hold()
    clients = [e.start(CARD_PATH) for _ in range(3)]
    await e.origin.arrived(2)
    e.origin.release()
    assert {answer.status for answer in await asyncio.gather(*clients)} == {200}


async def test_a_fault_of_our_own_reaches_leader_and_followers_and_frees_the_key() -> None:
    flights = Flights(FakeClock(), 20.0)
    gate = asyncio.Event()

    async def broken() -> FillEnd:
        await gate.wait()
        raise ZeroDivisionError

    flight = flights.start("k", 0, broken, led=True)
    asyncio.get_running_loop().call_soon(gate.set)
    ends = await asyncio.gather(flight.end(), flights.end_of(flight), return_exceptions=True)
    assert [type(end) for end in ends] == [ZeroDivisionError, ZeroDivisionError]
    assert flights.joinable("k", 0) is None and len(flights) == 0


@pytest.mark.parametrize(
    ("key", "uri", "busy"),
    [
        pytest.param("https://e/a", "https://e/a", True, id="itself"),
        pytest.param("https://e/a\n('vary',)('x',)", "https://e/a", True, id="variant"),
        pytest.param("https://e/ab", "https://e/a", False, id="longer-path"),
        pytest.param("https://e/a", "https://e/ab", False, id="shorter-path"),
    ],
)
@pytest.mark.parametrize("shared", [True, False])
async def test_is_busy(key: str, uri: str, busy: bool, shared: bool) -> None:
    flights = Flights(FakeClock(), 20.0)

    async def fill() -> FillEnd:
        return Failed(Problem(Slug.INTERNAL, ""), None, 0.0)

    flight = flights.start(key, 0, fill, led=True, shared=shared)
    assert flights.is_busy(uri) is busy
    await flight.end()
    assert not flights.is_busy(uri)


async def test_close_lets_fills_finish_and_then_cancels() -> None:
    flights = Flights(FakeClock(), 20.0)
    await flights.close(0.0)
    gate, ended = asyncio.Event(), Failed(Problem(Slug.INTERNAL, ""), None, 0.0)

    async def fill() -> FillEnd:
        await gate.wait()
        return ended

    soon = flights.start("soon", 0, fill, led=True)
    asyncio.get_running_loop().call_soon(gate.set)
    await flights.close(5.0)
    assert await soon.end() is ended
    gate.clear()
    never = flights.start("never", 0, fill, led=True)
    await flights.close(0.01)
    assert never.task is not None and never.task.cancelled() and len(flights) == 0
    flights.abandon(never)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"realm": Realm.PUBLIC}, id="how-far-it-may-lead"),
        pytest.param({"document_class": "agent-card"}, id="what-it-has-to-be"),
    ],
)
def test_requests_whose_fills_may_end_differently_share_none(other: dict[str, Any]) -> None:
    plain = request("/a")
    assert flight_key(replace(plain, **other), ()) != flight_key(plain, ())


@pytest.mark.parametrize(
    ("variants", "same"),
    [
        pytest.param((), True, id="nothing-stored"),
        pytest.param((response(),), True, id="no-vary"),
        pytest.param((variant("de"),), False, id="vary"),
        pytest.param((variant("de"), response(born=2e9)), True, id="the-newest-decides"),
    ],
)
def test_flight_key(variants: tuple[object, ...], same: bool) -> None:
    german, french = (request("/a", {"Accept-Language": language}) for language in ("de", "fr"))
    keys = [flight_key(each, variants) for each in (german, french)]  # type: ignore[arg-type]
    assert (keys[0] == keys[1] == german.target.uri) is same
    assert flight_key(request("/a", Fields([("accept-language", "DE")])), variants) == keys[0]  # type: ignore[arg-type]
