"""What cannot be recorded is an error, and never an unrecorded 308 or 410; afterwards all is as before."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from proxy.server import service
from tests.end_to_end.relocation.world import (
    CARD,
    CATALOG,
    CATALOG_TYPE,
    HOST,
    NEW,
    AnyProxy,
    World,
    ai_catalog,
    ask,
    catalog,
    entry,
    gateway,
    get,
    gone,
    listed,
    moved,
    record_of,
    settled,
    urls_in,
)
from tests.end_to_end.test_process import Child, child

Unusable = Callable[[Path], AbstractContextManager[None]]
UNAVAILABLE = "ledger-unavailable"
ANOTHER = f"https://{HOST}/another.json"


async def reasons(proxy: AnyProxy) -> list[str]:
    """Why the proxy is not ready, of what concerns the ledger."""
    told: list[str] = (await proxy.admin("/readyz"))["reasons"]
    return [reason for reason in told if reason.startswith("ledger")]


async def recovered(proxy: AnyProxy) -> None:
    """Wait until the ledger is in use again."""
    async with asyncio.timeout(12):
        while await reasons(proxy):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@contextmanager
def no_room(proxy: Child) -> Iterator[None]:
    """No file of the process can grow or be written meanwhile, as if the disk were full."""
    limits = resource.prlimit(proxy.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(proxy.process.pid, resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.prlimit(proxy.process.pid, resource.RLIMIT_FSIZE, limits)


async def test_a_full_disk(world: World, config: Path) -> None:
    statuses = {308: "/a.json", 301: "/b.json", 410: "/c.json"}
    world.has(CATALOG, ai_catalog(entry(CARD, "card"), entry(ANOTHER, "another")), CATALOG_TYPE)
    async with child(config, **world.document()) as proxy:
        # One of which a copy is stored that may stand in for a failing origin.
        world.has(ANOTHER, cache_control="max-age=0, stale-if-error=600")
        assert (await get(proxy, ANOTHER)).status == 200
        await moved(world, proxy)
        with no_room(proxy):
            for status, path in statuses.items():
                world.answers(f"https://{HOST}{path}", status, ("Location", "/new/card.json"))
                for method in ("GET", "HEAD", "GET"):
                    answer = await get(proxy, f"https://{HOST}{path}", method=method)
                    assert (answer.status, answer.get("location")) == (503, None), f"{method} of a {status}"
                    if method == "GET":
                        assert answer.slug == "internal" and b"cannot be recorded" in answer.body
            assert await reasons(proxy) == [UNAVAILABLE]
            world.withdraws(ANOTHER)
            assert (await get(proxy, ANOTHER)).status == 503, "nothing stored stands in for it"
            answer = await get(proxy, CARD)
            assert (answer.status, answer.get("location")) == (308, gateway(NEW)), "recorded before"
            answer = await catalog(proxy, CATALOG)
            assert (urls_in(answer), answer.get("discovery-overrides")) == ([NEW, ANOTHER], "1;moved=1;gone=0")
            assert (await record_of(proxy, ANOTHER)) is None
        await recovered(proxy)
        for status, path in statuses.items():
            assert (await get(proxy, f"https://{HOST}{path}")).status == status
        assert (await get(proxy, ANOTHER)).status == 410
        await settled(proxy, ANOTHER, "gone")
        assert (await catalog(proxy, CATALOG)).get("discovery-overrides") == "2;moved=1;gone=1"


@pytest.fixture
def tended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stores are looked after more often than every few seconds."""
    monkeypatch.setattr(service, "TEND_SECONDS", 0.1)


@asynccontextmanager
async def a_folder_in_its_place(world: World) -> AsyncIterator[None]:
    """There is no ledger, and none can be made."""
    world.ledger_file.mkdir()
    yield
    world.ledger_file.rmdir()


@pytest.mark.usefixtures("tended")
async def test_no_file_can_be_made_at_the_start(world: World) -> None:
    world.has(CATALOG, ai_catalog(entry(CARD, "card")), CATALOG_TYPE)
    world.withdraws(CARD)
    world.has(NEW)
    async with a_folder_in_its_place(world), world.proxy(**world.on_disk) as proxy:
        assert await reasons(proxy) == [UNAVAILABLE]
        assert (await get(proxy, CARD)).slug == "internal"
        assert (await get(proxy, NEW)).status == 200
        for path in ("/v1/records", "/v1/records/feed", f"/v1/records/{'0' * 64}"):
            assert (await ask(proxy, path)).slug == "internal"
        assert (await catalog(proxy, CATALOG)).slug == "internal", "none that looks as if it were checked"
        world.ledger_file.rmdir()
        await recovered(proxy)
        assert (await get(proxy, CARD)).status == 410
        await settled(proxy, CARD, "gone")
        assert (await catalog(proxy, CATALOG)).get("discovery-overrides") == "1;moved=0;gone=1"
        world.ledger_file.rename(world.ledger_file.with_name("kept"))
        world.ledger_file.mkdir()
    world.ledger_file.with_name("kept").rename(world.ledger_file)
    async with world.proxy(**world.on_disk) as proxy:
        assert [row["url"] for row in await listed(proxy)] == [CARD]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else has the file for himself."""
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        file.execute("ROLLBACK")
        file.close()


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """Somebody else is about to write: what is there can be read, and nothing be written."""
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        file.execute("ROLLBACK")
        file.close()


@contextmanager
def moved_away(path: Path) -> Iterator[None]:
    """The file is no longer where it was."""
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    try:
        yield
    finally:
        elsewhere.rename(path)


@pytest.mark.parametrize("unusable", [locked, read_only, moved_away])
@pytest.mark.parametrize("status", [308, 410])
@pytest.mark.usefixtures("tended")
async def test_a_file_that_is_in_use_and_fails(world: World, unusable: Unusable, status: int) -> None:
    async with world.proxy(**world.on_disk) as proxy:
        await gone(world, proxy, ANOTHER)
        world.answers(CARD, status, ("Location", NEW))
        world.has(NEW)
        with unusable(world.ledger_file):
            answers = await asyncio.gather(*(get(proxy, CARD) for _ in range(8)))
            assert {(answer.status, answer.slug) for answer in answers} == {(503, "internal")}
            assert (await get(proxy, ANOTHER)).status == 410, "known before"
        await recovered(proxy)
        assert (await get(proxy, CARD)).status == status
        await settled(proxy, CARD, "gone" if status == 410 else "moved")


@pytest.mark.parametrize(
    "unusable",
    [
        locked,
        read_only,
        moved_away,
    ],
)
@pytest.mark.usefixtures("tended")
async def test_it_is_told_as_long_as_it_lasts(world: World, unusable: Unusable) -> None:
    world.withdraws(CARD)
    async with world.proxy(**world.on_disk) as proxy:
        with unusable(world.ledger_file):
            assert (await get(proxy, CARD)).status == 503
            for _ in range(20):
                assert await reasons(proxy) == [UNAVAILABLE]
                await asyncio.sleep(0.05)


@pytest.mark.usefixtures("tended")
async def test_a_damaged_file_is_left_alone_and_told(world: World) -> None:
    async with world.proxy(**world.on_disk) as proxy:
        await gone(world, proxy)
    octets = bytearray(world.ledger_file.read_bytes())
    octets[:16] = b"no database here"
    world.ledger_file.write_bytes(octets)
    async with world.proxy(**world.on_disk) as proxy:
        assert await reasons(proxy) == ["ledger-damaged"]
        world.withdraws(ANOTHER)
        assert (await get(proxy, ANOTHER)).slug == "internal"
    assert world.ledger_file.read_bytes() == octets
