"""What a restart keeps and what it must not bring back: both tiers and the marks on real files."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from proxy.caching.generations import EVERYTHING, host_scope, tag_scope, uri_scope
from proxy.stores.generations import SqliteGenerations
from proxy.stores.memory import Memory
from proxy.stores.persistent import open_sqlite
from proxy.stores.tiered import Tiered
from tests.stores.samples import NO_FIELDS, START, URI, Clock, Observations, bodies, response, speaking, variant


class Process:
    """The stores of one process after another, on the files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.observer = Observations()
        self.start(5.0)

    def start(self, operation_timeout: float) -> None:
        database = self.folder / "cache.db"
        self.generations = SqliteGenerations(self.folder / "marks.db", database, self.clock())
        store = open_sqlite(database, 64, self.clock)
        memory = Memory(10_000_000, 64, lambda reason, count: None)
        self.tiered = Tiered(memory, store, self.generations, self.observer, self.clock, operation_timeout)

    async def stop(self) -> None:
        await self.tiered.close()
        self.generations.close()

    async def restart(self, operation_timeout: float = 5.0) -> None:
        await self.stop()
        self.start(operation_timeout)


@pytest.fixture
async def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Process]:
    process = Process(tmp_path)
    monkeypatch.setattr(time, "time", process.clock)  # the storage reads this clock
    yield process
    await process.stop()


async def test_variants_are_found_by_their_own_requests(process: Process) -> None:
    for language in ("en", "fr", "de"):
        process.tiered.put("k", variant(language))
    await process.restart()
    for language in ("en", "fr", "de"):
        assert language.encode() in bodies(await process.tiered.find("k", speaking(language)))


@pytest.mark.parametrize("scope", [uri_scope(URI), host_scope("example.com"), tag_scope("t"), EVERYTHING])
async def test_what_was_purged_stays_away(process: Process, scope: str) -> None:
    process.tiered.put("k", response(tags=("t",)))
    await process.tiered.flush()
    process.generations.mark((scope,), START + 1, soft=False)
    await process.restart()
    assert await process.tiered.find("k", NO_FIELDS) == () and await process.tiered.count("k") == 0
    process.tiered.put("k", response(b"new", generation=process.generations.latest))
    await process.restart()
    assert bodies(await process.tiered.find("k", NO_FIELDS)) == [b"new"]


async def test_what_was_marked_stale_stays_stale(process: Process) -> None:
    process.tiered.put("k", response())
    await process.tiered.flush()
    process.generations.mark((EVERYTHING,), START + 7, soft=True)
    await process.restart()
    [stored] = await process.tiered.find("k", NO_FIELDS)
    assert stored.fresh_until == START + 7


def removed(marks: Path) -> None:
    marks.unlink()


def overwritten(marks: Path) -> None:
    marks.write_bytes(b"damage" * 1000)


@pytest.mark.parametrize("lost", [removed, overwritten])
async def test_lost_marks_bring_nothing_back(process: Process, lost: Callable[[Path], None]) -> None:
    process.tiered.put("k", response())
    process.generations.mark((uri_scope(URI),), START + 1, soft=False)
    await process.stop()
    lost(process.folder / "marks.db")
    process.clock.now += 60
    process.start(5.0)
    assert await process.tiered.find("k", NO_FIELDS) == ()


async def test_a_locked_database_delays_nothing_and_is_used_again(process: Process) -> None:
    process.tiered.put("k", response(b"before"))
    await process.restart(0.02)
    assert bodies(await process.tiered.find("k", NO_FIELDS)) == [b"before"]
    lock = sqlite3.connect(process.folder / "cache.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    process.tiered.put("k", response(b"during"))
    await asyncio.sleep(0.01)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number in range(10):
        assert await process.tiered.find(f"unknown{number}", NO_FIELDS) == ()
    assert loop.time() - began < 0.5 and process.tiered.degraded
    assert bodies(await process.tiered.find("k", NO_FIELDS)) == [b"during"]
    lock.close()
    process.clock.now += 31
    process.tiered.put("k2", response(b"after"))
    await process.tiered.flush()
    assert not process.tiered.degraded
    await process.restart()
    assert bodies(await process.tiered.find("k2", NO_FIELDS)) == [b"after"]
