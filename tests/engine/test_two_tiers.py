"""The engine over a persistent store: found there, and not needed when it fails."""

from __future__ import annotations

import asyncio

import pytest

from proxy.engine.control import ByHost, ByTag, ByUri, Everything
from proxy.engine.outcome import Served
from tests.simulators.engine import SITE, Simulation, engine
from tests.stores.samples import UNAVAILABLE, StoreSimulator

URI = f"{SITE}/a"


async def restarted() -> tuple[Simulation, StoreSimulator]:
    """An engine with nothing in memory over a store that holds `/a`."""
    store = StoreSimulator()
    e = engine(store=store)
    e.origin.respond("/a", max_age=60, body=b"old", fields=[("Cache-Tag", "t")])
    await e.ask("/a")
    await e.store.flush()
    e.memory.remove(URI)
    store.calls.clear()
    return e, store


async def test_what_outlived_the_process_is_a_hit() -> None:
    e, store = await restarted()
    got = await e.ask("/a")
    assert (got.body, got.served, len(e.origin.requests)) == (b"old", Served.FRESH, 1)
    await e.ask("/a")
    assert store.calls.count("find") == 1


async def test_a_herd_looks_up_once() -> None:
    e, store = await restarted()
    store.gate.clear()
    clients = [e.start("/a") for _ in range(50)]
    await e.settle()
    store.gate.set()
    assert {got.body for got in await asyncio.gather(*clients)} == {b"old"}
    assert store.calls.count("find") == 1 and len(e.origin.requests) == 1


@pytest.mark.parametrize("soft", [False, True])
async def test_b36_a_purge_by_tag_reaches_what_only_the_store_holds(soft: bool) -> None:
    e, _ = await restarted()
    await e.control.purge(ByTag("t"), soft=soft)
    e.origin.fail()
    assert (await e.ask("/a")).status == 504


async def test_a_purge_by_url_counts_both_tiers() -> None:
    e, store = await restarted()
    assert await e.control.purge(ByUri(URI), soft=False) == 1
    await e.store.flush()
    assert store.held == {}


@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_b34_a_store_that_does_not_work_fails_no_request(how: str) -> None:
    e, store = await restarted()
    if how == "hangs":
        store.gate.clear()
    else:
        store.error = UNAVAILABLE
    e.origin.respond("/a", max_age=60, body=b"new")
    async with asyncio.timeout(1):
        got = await e.ask("/a")
        assert (got.body, got.served) == (b"new", Served.MISS)
        assert (await e.ask("/a")).served is Served.FRESH
    store.gate.set()
    await e.store.close()


async def test_an_unsafe_request_while_the_store_is_out_holds_after_its_return() -> None:
    e, store = await restarted()
    store.error = UNAVAILABLE
    for path in ("/x", "/y", "/z"):
        await e.ask(path)
    assert e.store.degraded
    await e.ask("/a", method="POST")
    store.error = None
    e.clock += 40
    e.origin.respond("/a", max_age=60, body=b"new")
    assert (await e.ask("/a")).body == b"new"


@pytest.mark.parametrize("scope", [ByHost("example.com"), Everything()], ids=["host", "all"])
async def test_a_purge_of_many_counts_what_only_the_store_holds(scope: ByHost | Everything) -> None:
    e, _ = await restarted()
    assert await e.control.purge(scope, soft=False) == 1
    e.origin.fail()
    assert (await e.ask("/a")).status == 504


async def test_an_operator_sees_and_refreshes_what_only_the_store_holds() -> None:
    e, store = await restarted()
    assert [entry["url"] for entry in await e.control.entries("example.com", 9)] == [URI]
    assert await e.control.entries("other.example", 9) == []
    assert len(e.memory) == 0, "listing takes nothing into memory"
    assert await e.control.refresh_host("example.com") == 1
    await e.refreshed()
    assert len(e.origin.requests) == 2
    store.error = UNAVAILABLE
    assert [entry["url"] for entry in await e.control.entries(None, 9)] == [URI], "memory alone"
