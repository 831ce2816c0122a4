"""Memory over a store that is slow, broken, late or counted."""

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from proxy.caching.generations import uri_scope
from proxy.http.fields import Fields
from proxy.ports import StoreUnavailable
from proxy.stores import behind, tiered
from proxy.stores.generations import MemoryGenerations
from proxy.stores.memory import Memory
from proxy.stores.tiered import Tiered
from tests.stores.samples import (
    NO_FIELDS,
    START,
    UNAVAILABLE,
    URI,
    Clock,
    Observations,
    StoreSimulator,
    bodies,
    response,
    speaking,
    started,
    variant,
)

TIMEOUT = 0.02


class Tiers:
    """Tiers over a simulated store. With `room` False memory holds nothing."""

    def __init__(self, room: bool = True) -> None:
        self.clock = Clock()
        self.store = StoreSimulator()
        self.generations = MemoryGenerations()
        self.observer = Observations()
        self.memory = Memory(10_000_000 if room else 0, 8, lambda reason, count: None)
        self.tiered = Tiered(self.memory, self.store, self.generations, self.observer, self.clock, TIMEOUT)

    async def find(self, request: Fields = NO_FIELDS) -> list[bytes]:
        return bodies(await self.tiered.find("k", request))

    async def put(self, *bodies: bytes) -> None:
        for body in bodies:
            assert self.tiered.put("k", response(body))
        await self.tiered.flush()

    def fill_store(self, *variants: bytes) -> None:
        self.store.held["k"] = {body: response(body) for body in variants}


@pytest.fixture
def tiers() -> Tiers:
    return Tiers()


async def test_memory_answers_alone(tiers: Tiers) -> None:
    await tiers.put(b"a")
    tiers.store.calls.clear()
    assert await tiers.find() == [b"a"] and tiers.store.calls == []


async def test_what_the_store_has_moves_into_memory(tiers: Tiers) -> None:
    tiers.fill_store(b"a")
    assert await tiers.find() == [b"a"] == await tiers.find()
    assert tiers.store.calls == ["find"]
    assert tiers.observer.operations == [("l2", "find")]


async def test_a_variant_missing_in_memory_is_looked_up(tiers: Tiers) -> None:
    await tiers.tiered.find("k", NO_FIELDS)
    tiers.tiered.put("k", variant("en"))
    await tiers.tiered.flush()
    tiers.store.held["k"]["fr"] = variant("fr")
    assert b"fr" in await tiers.find(speaking("fr"))
    assert {stored.body for stored in tiers.tiered.peek("k")} == {b"en", b"fr"}


async def test_look_ups_are_collapsed_and_outlive_a_caller(tiers: Tiers) -> None:
    tiers.fill_store(b"a")
    tiers.store.gate.clear()
    callers = [started(tiers.find()) for _ in range(100)]
    await asyncio.sleep(0.001)
    callers[0].cancel()
    tiers.store.gate.set()
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert results[1:] == [[b"a"]] * 99 and tiers.store.calls == ["find"]


async def test_writes_are_coalesced_while_the_store_is_busy(tiers: Tiers) -> None:
    tiers.store.gate.clear()
    for number in range(50):
        tiers.tiered.put("k", response(b"%d" % number))
        await asyncio.sleep(0)
    tiers.store.gate.set()
    await tiers.tiered.flush()
    assert len(tiers.store.calls) <= 2
    assert bodies(await tiers.store.find("k", NO_FIELDS)) == [b"49"]


async def late_put(tiers: Tiers) -> None:
    tiers.tiered.put("k", response(b"new"))


async def late_remove(tiers: Tiers) -> None:
    tiers.tiered.remove("k")


async def late_discard(tiers: Tiers) -> None:
    tiers.tiered.discard("k", response(b"old"))


async def late_purge(tiers: Tiers) -> None:
    tiers.generations.mark((uri_scope(URI),), START + 1, soft=False)


@pytest.mark.parametrize("room", [True, False], ids=["in memory", "not in memory"])
@pytest.mark.parametrize(
    ("change", "expected"),
    [(late_put, [b"new"]), (late_remove, []), (late_discard, []), (late_purge, [])],
)
async def test_what_changes_during_a_look_up_counts(
    room: bool, change: Callable[[Tiers], Awaitable[None]], expected: list[bytes]
) -> None:
    tiers = Tiers(room)
    tiers.store.held["k"] = {((), ()): response(b"old")}
    tiers.store.gate.clear()
    looking = started(tiers.find())
    await asyncio.sleep(0.001)
    await change(tiers)
    tiers.store.gate.set()
    assert await looking == expected
    await tiers.tiered.flush()
    assert await tiers.find() == expected


@pytest.mark.parametrize("change", [late_put, late_remove, late_discard])
async def test_what_has_not_been_written_yet_counts(change: Callable[[Tiers], Awaitable[None]]) -> None:
    tiers = Tiers(room=False)
    tiers.store.held["k"] = {((), ()): response(b"old")}
    tiers.store.error = UNAVAILABLE
    await change(tiers)
    await asyncio.sleep(0)
    tiers.store.error = None
    expected = [b"new"] if change is late_put else []
    assert await tiers.find() == expected
    assert await tiers.tiered.count("k") == len(expected)


@pytest.mark.parametrize("room", [True, False], ids=["in memory", "not in memory"])
async def test_discard_leaves_a_newer_response_alone(room: bool) -> None:
    tiers = Tiers(room)
    await tiers.put(b"old")
    tiers.tiered.put("k", response(b"new"))
    tiers.tiered.discard("k", response(b"old"))
    await tiers.tiered.flush()
    assert await tiers.find() == [b"new"]
    assert bodies(await tiers.store.find("k", NO_FIELDS)) == [b"new"]


async def test_discard_finds_what_purges_have_changed_since(tiers: Tiers) -> None:
    await tiers.put(b"a")
    [selected] = tiers.tiered.peek("k")
    tiers.generations.mark((uri_scope(URI),), START + 1, soft=True)
    tiers.tiered.peek("k")
    tiers.tiered.discard("k", selected)
    await tiers.tiered.flush()
    assert await tiers.find() == []


async def test_a_purge_is_applied_once(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    tiers.tiered.put("k", variant("en"))
    tiers.tiered.put("k", variant("fr", generation=1 << 60))
    tiers.generations.mark(("uri:another",), START + 1, soft=False)
    assert len(tiers.tiered.peek("k")) == 2

    def unexpected(*arguments: object) -> None:
        raise AssertionError("looked again")

    monkeypatch.setattr(tiered, "standing", unexpected)
    assert bodies(tiers.tiered.peek("k")) == [b"en", b"fr"]


async def test_entries_are_what_a_request_would_get(tiers: Tiers) -> None:
    await tiers.put(b"a")
    assert [(key, stored.body) for key, stored in tiers.tiered.entries()] == [("k", b"a")]
    tiers.generations.mark((uri_scope(URI),), START + 1, soft=False)
    assert list(tiers.tiered.entries()) == []


async def test_purged_responses_are_counted_out(tiers: Tiers) -> None:
    await tiers.put(b"a")
    tiers.generations.mark((uri_scope(URI),), START + 1, soft=False)
    assert tiers.tiered.peek("k") == () and len(tiers.memory) == 0
    assert tiers.observer.evictions == [("l1", "purged", 1)]


async def test_what_either_tier_may_hold(tiers: Tiers) -> None:
    assert not await tiers.tiered.may_hold("k")
    tiers.fill_store(b"a")
    assert await tiers.tiered.may_hold("k"), "in the store"
    tiers.tiered.put("k2", response(b"b"))
    assert await tiers.tiered.may_hold("k2"), "in memory"
    tiers.store.error = UNAVAILABLE
    assert await tiers.tiered.may_hold("k3"), "the store cannot be asked"


async def test_memory_alone_knows_what_it_holds(tiers: Tiers) -> None:
    alone = Tiered(tiers.memory, None, tiers.generations, tiers.observer, tiers.clock, TIMEOUT)
    assert not await alone.may_hold("k")


BROKEN: dict[str, Callable[[StoreSimulator], None]] = {
    "raises": lambda store: setattr(store, "error", UNAVAILABLE),
    "misbehaves": lambda store: setattr(store, "error", KeyError("x")),
    "hangs": lambda store: store.gate.clear(),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_a_broken_store_fails_no_request_and_is_used_again(
    tiers: Tiers, broken: Callable[[StoreSimulator], None]
) -> None:
    await tiers.put(b"a")
    broken(tiers.store)
    loop = asyncio.get_running_loop()
    for number in range(6):
        began = loop.time()
        assert await tiers.tiered.find(f"unknown{number}", NO_FIELDS) == ()
        assert loop.time() - began < TIMEOUT * 5
    assert tiers.tiered.degraded == ("store-unavailable",)
    assert tiers.observer.errors == [("l2", "find")] * 3, "the breaker opens at the third"
    assert await tiers.tiered.count("unknown") == 0
    assert await tiers.find() == [b"a"], "memory goes on"
    tiers.tiered.put("k2", response(b"meanwhile"))
    await tiers.tiered.flush()
    assert len(tiers.observer.errors) == 3

    tiers.store.error = None
    tiers.store.gate.set()
    tiers.clock.now += 30
    assert await tiers.tiered.find("k3", NO_FIELDS) == ()
    assert not tiers.tiered.degraded
    await tiers.put(b"b")
    assert tiers.store.held.keys() == {"k", "k2"}, "what was put meanwhile is written"
    await tiers.tiered.close()
    assert tiers.store.is_closed


async def test_the_writer_survives_a_misbehaving_store(tiers: Tiers) -> None:
    for error in (KeyError("x"), UNAVAILABLE, None):
        tiers.store.error = error
        await tiers.put(b"a")
        tiers.clock.now += 31
    await tiers.put(b"b")
    gc.collect()
    assert bodies(await tiers.store.find("k", NO_FIELDS)) == [b"b"]


async def test_a_write_is_given_up_after_a_few_attempts(tiers: Tiers) -> None:
    tiers.store.error = UNAVAILABLE
    await tiers.put(b"a")
    tiers.store.error = None
    await tiers.put(b"b")
    assert tiers.observer.evictions == [("l2", "unwritten", 1)]
    assert tiers.observer.errors == [("l2", "put")] * behind.MAX_ATTEMPTS


async def test_waiting_writes_are_bounded(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behind, "MAX_WAITING_BYTES", 100_000)
    tiers.store.gate.clear()
    for number in range(20):
        tiers.tiered.put(f"k{number}", response(bytes(10_000)))
    dropped = sum(count for _, _, count in tiers.observer.evictions)
    assert dropped == 15
    tiers.store.gate.set()
    await tiers.tiered.flush()
    assert set(tiers.store.held) == {f"k{number}" for number in range(dropped, 20)}


async def test_close_does_not_wait_for_ever(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiered, "CLOSE_SECONDS", 0.02)
    tiers.store.gate.clear()
    tiers.tiered.put("k", response())
    looking = started(tiers.find(speaking("en")))
    await asyncio.sleep(0)
    await asyncio.wait_for(tiers.tiered.close(), 1)
    assert tiers.store.is_closed
    assert await looking == [b"{}"]


async def test_close_takes_a_failure_to_close(tiers: Tiers) -> None:
    async def failing() -> None:
        raise StoreUnavailable("x")

    tiers.store.close = failing  # type: ignore[method-assign]
    await tiers.tiered.close()


async def test_a_store_that_cannot_be_used_shows_at_once_and_recovers(tiers: Tiers) -> None:
    tiers.store.error = UNAVAILABLE
    await tiers.tiered.probe()
    assert tiers.tiered.degraded == ("store-unavailable",)
    await tiers.tiered.probe()
    assert tiers.store.calls == ["open"], "its pause holds for probes too"
    tiers.store.error = None
    tiers.clock.now += 6
    await tiers.tiered.probe()
    assert tiers.tiered.degraded == ()


async def test_close_takes_no_longer_than_told(tiers: Tiers) -> None:
    tiers.store.gate.clear()
    tiers.tiered.put("k", response())
    loop = asyncio.get_running_loop()
    began = loop.time()
    await tiers.tiered.close(0.05)
    assert loop.time() - began < 0.5 and tiers.store.is_closed


async def test_without_a_store() -> None:
    alone = Tiers()
    alone.tiered = Tiered(alone.memory, None, alone.generations, alone.observer, alone.clock, TIMEOUT)
    await alone.tiered.probe()
    assert alone.tiered.degraded == ()
    tiers = Tiered(
        Memory(1000_000, 8, lambda reason, count: None), None, MemoryGenerations(), Observations(), Clock(), 0.1
    )
    tiers.put("k", response())
    tiers.discard("k", response(b"other"))
    assert await tiers.count("k") == 1 and tiers.degraded == () and tiers.remove("k") == 1
    await tiers.flush()
    await tiers.close()


async def test_the_writer_survives_what_should_not_happen(tiers: Tiers, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(tiers.observer, "store_operation", broken)
    await tiers.put(b"a")
    monkeypatch.undo()
    tiers.tiered.put("k", variant("en"))
    tiers.tiered.discard("k", variant("en"))
    tiers.tiered.discard("k", variant("fr"))
    await tiers.put(b"b")
    assert [stored.body for stored in await tiers.store.variants("k")] == [b"b"]
