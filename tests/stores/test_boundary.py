"""The boundary's records in memory and on file, and a file that is damaged, away, full, slow or somebody else's."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import stat
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from proxy.boundaries import BoundaryDamaged, BoundaryRecords, BoundaryUnavailable
from proxy.boundary.codec import to_record, to_registration_record
from proxy.boundary.conflicts import Conflict, Settlement, State
from proxy.boundary.registration import Registration
from proxy.stores import boundaryfile, boundarywaiting, durablefile
from proxy.stores.boundarydesk import BoundaryDesk
from proxy.stores.boundaryfile import BoundaryFile, BoundaryFileDamaged, News
from proxy.stores.boundaryrow import client_key, client_of, conflict_row, profile_row, small_conflict
from proxy.stores.boundaryshelf import BoundaryShelf
from proxy.stores.memoryboundary import ON_FILE, BoundaryBounds, DropLog, MemoryBoundary, newer, shares
from proxy.stores.packing import packed
from proxy.stores.sqliteboundary import DAMAGED, UNAVAILABLE, SqliteBoundary
from tests.stores.boundaries import (
    GUESSED,
    HELD,
    NOW,
    OTHER,
    PROFILE,
    RELEASED,
    AnyBoundary,
    Kind,
    closed,
    filled,
    ids,
    in_memory,
    on_file,
    opened,
    refused,
    registered,
    released,
)

BOTH = pytest.mark.parametrize("kind", [in_memory, on_file], ids=["memory", "sqlite"])


@pytest_asyncio.fixture(autouse=True)
async def boundaries_closed() -> AsyncIterator[None]:
    yield
    while opened:
        await opened.pop().close()


@pytest_asyncio.fixture(params=[in_memory, on_file], ids=["memory", "sqlite"])
async def boundary(request: pytest.FixtureRequest, tmp_path: Path) -> AnyBoundary:
    made: AnyBoundary = await request.param(tmp_path / "new" / "folder" / "boundary.db")
    return made


async def test_the_port(boundary: AnyBoundary) -> None:
    port: BoundaryRecords = boundary
    assert port.latch(HELD.intent) is None and not port.is_known(HELD.client)
    await port.put(HELD)
    await port.put(OTHER)
    assert port.latch(HELD.intent) == HELD and port.latch(OTHER.intent) == OTHER
    assert port.is_known(HELD.client) and port.is_known(OTHER.client) and not port.is_known("agent-9")
    assert await port.conflict(HELD.id) == HELD and await port.conflict(refused(9).id) is None
    assert await port.conflict("none") is None
    await port.put(RELEASED)
    assert port.latch(HELD.intent) == RELEASED == await port.conflict(HELD.id)
    assert [row.number for row in await port.page(None, None, 0, 9)] == [1, 2]
    await port.refresh()
    await boundary.probe()
    assert boundary.degraded == ()
    await port.close()
    await port.close()


async def test_profiles(boundary: AnyBoundary) -> None:
    assert boundary.profile("agent-7") is None and not await boundary.unregister("agent-7")
    await boundary.register(registered())
    await boundary.register(registered("agent-8"))
    await boundary.register(registered(version=2))
    assert boundary.profile("agent-7") == registered(version=2) and boundary.profile("agent-8") is not None
    assert boundary.is_known("agent-7") and boundary.latch(HELD.intent) is None
    assert await boundary.unregister("agent-7") and not await boundary.unregister("agent-7")
    assert boundary.profile("agent-7") is None and not boundary.is_known("agent-7")
    await boundary.put(HELD)
    await boundary.register(registered())
    await boundary.unregister("agent-7")
    assert boundary.is_known("agent-7"), "of its conflict"


async def test_the_newest_of_an_intent(boundary: AnyBoundary) -> None:
    first, second = refused(1, intent="x"), refused(2, intent="x")
    await boundary.put(first)
    await boundary.put(released(first))
    await boundary.put(second)
    assert boundary.latch(first.intent) == second
    await boundary.put(released(first, at=NOW + 900))
    assert boundary.latch(first.intent) == second, "an older one does not come before it"
    await boundary.put(released(second))
    assert boundary.latch(first.intent) == released(second)
    assert await ids(boundary) == [first.id, second.id]


async def test_pages(boundary: AnyBoundary) -> None:
    conflicts = [refused(number, f"agent-{number % 3}") for number in range(20)]
    for conflict in conflicts:
        await boundary.put(conflict)
    for conflict in conflicts[::4]:
        await boundary.put(released(conflict))
    for client in (None, "agent-0", "agent-1", "nobody"):
        for state in (None, *State):
            wanted = [conflict.id for conflict in conflicts if client in (None, conflict.client)]
            if state is not None:
                of_state = {
                    c.id for index, c in enumerate(conflicts) if (state is State.RELEASED) != (index % 4 > 0)
                }
                wanted = [conflict_id for conflict_id in wanted if conflict_id in of_state]
            found, after = list[str](), 0
            while page := await boundary.page(client, state, after, 3):
                assert len(page) <= 3 and all(row.number > after for row in page)
                found += [row.conflict.id for row in page]
                after = page[-1].number
            assert found == wanted
    assert await boundary.page(None, None, 2**70, 9) == () == await boundary.page(None, None, 0, 0)
    assert len(await boundary.page(None, None, -1, 99)) == 20


# Two states of one conflict.

BY_PROOF = released(HELD, Settlement.PROOF)
BY_CREDENTIAL = released(HELD, Settlement.CREDENTIAL)
LATER = released(HELD, at=NOW + 800)
STATES = {
    "held over held": (HELD, replace(HELD, credential=None), replace(HELD, credential=None)),
    "more refusals": (HELD, GUESSED, GUESSED),
    "fewer refusals": (GUESSED, replace(HELD, credential=None), replace(GUESSED, credential=None)),
    "released over held": (HELD, RELEASED, RELEASED),
    "held over released by a person": (RELEASED, HELD, RELEASED),
    "held over released by proof": (BY_PROOF, GUESSED, BY_PROOF),
    "a person over proof": (BY_PROOF, RELEASED, RELEASED),
    "proof over a person": (RELEASED, BY_PROOF, RELEASED),
    "a credential over a person": (RELEASED, BY_CREDENTIAL, RELEASED),
    "a person over a person": (RELEASED, LATER, LATER),
    "proof over a credential": (BY_CREDENTIAL, BY_PROOF, BY_PROOF),
}


@pytest.mark.parametrize(("known", "put", "stands"), STATES.values(), ids=STATES)
async def test_which_state_stands(tmp_path: Path, known: Conflict, put: Conflict, stands: Conflict) -> None:
    assert newer(known, put) == stands
    for kind in (in_memory, on_file):
        boundary = await kind(tmp_path / "boundary.db")
        await boundary.put(known)
        await boundary.put(put)
        assert boundary.latch(HELD.intent) == stands == await boundary.conflict(HELD.id)
    one, two = await on_file(tmp_path / "two.db"), await on_file(tmp_path / "two.db")
    await one.put(known)
    await two.put(put)
    assert two.latch(HELD.intent) == stands, "who had not heard of it"
    await one.refresh()
    assert one.latch(HELD.intent) == stands


# On file.


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_all_outlives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, HELD, released(OTHER), refused(3, "日本\udc80"))
    before = await on_file(path)
    await before.register(registered())
    await closed(before)
    again = await on_file(path)
    assert again.latch(HELD.intent) == HELD and again.latch(OTHER.intent) == released(OTHER)
    assert again.is_known("日本\udc80") and await ids(again, "日本\udc80") == [refused(3, "日本\udc80").id]
    assert again.profile("agent-7") == registered() and len(await ids(again)) == 3
    assert names_in(tmp_path) == ["boundary.db"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_put_before_the_file_is_read(tmp_path: Path) -> None:
    await filled(tmp_path / "boundary.db", HELD)
    boundary = SqliteBoundary(tmp_path / "boundary.db", 1.0)
    opened.append(boundary)
    assert boundary.latch(HELD.intent) is None
    await boundary.put(OTHER)
    assert boundary.latch(HELD.intent) == HELD and boundary.latch(OTHER.intent) == OTHER


async def test_what_others_write_is_taken_in(tmp_path: Path) -> None:
    one, two = await on_file(tmp_path / "boundary.db"), await on_file(tmp_path / "boundary.db")
    await one.put(HELD)
    await one.register(registered())
    assert two.latch(HELD.intent) is None and not two.is_known("agent-7")
    await two.refresh()
    assert two.latch(HELD.intent) == HELD and two.profile("agent-7") == registered()
    await two.put(RELEASED)
    await two.unregister("agent-7")
    await one.refresh()
    assert one.latch(HELD.intent) == RELEASED and one.profile("agent-7") is None
    await one.put(OTHER)
    await two.put(refused(3))
    assert two.latch(OTHER.intent) == OTHER, "a write takes it in too"


async def test_only_news_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read = tmp_path / "boundary.db", list[str]()
    await filled(path, *map(refused, range(50)))
    one, two = await on_file(path), await on_file(path)
    take_in = BoundaryShelf.take_in

    def noted(shelf: BoundaryShelf, news: News) -> None:
        read.extend(row.id.hex() for row in news.conflicts)
        take_in(shelf, news)

    monkeypatch.setattr(BoundaryShelf, "take_in", noted)
    for _ in range(3):
        await two.refresh()
    assert read == []
    await one.put(HELD)
    read.clear()
    await two.refresh()
    await two.refresh()
    assert read == [HELD.id]


async def test_it_is_read_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, *map(refused, range(50)))
    monkeypatch.setattr(boundaryfile, "_MOST_ROWS", 7)
    boundary = await on_file(path)
    assert [boundary.latch(refused(number).intent) for number in range(50)] == [*map(refused, range(50))]


async def test_both_write_at_once(tmp_path: Path) -> None:
    one, two = await on_file(tmp_path / "boundary.db"), await on_file(tmp_path / "boundary.db")
    mine, yours = [[refused(number, client) for number in range(40)] for client in ("agent-1", "agent-2")]
    await asyncio.gather(*map(one.put, mine), *map(two.put, yours))
    for boundary in (one, two):
        await boundary.refresh()
        assert [boundary.latch(conflict.intent) for conflict in mine + yours] == mine + yours
    assert len(await ids(one)) == 80
    numbers = [row.number for row in await one.page(None, None, 0, 99)]
    assert numbers == sorted(set(numbers))


async def test_who_was_refused_later_comes_first(tmp_path: Path) -> None:
    one, two = await on_file(tmp_path / "boundary.db"), await on_file(tmp_path / "boundary.db")
    mine, yours = refused(1, intent="x"), refused(2, intent="x")
    await one.put(mine)
    await two.put(yours)
    await one.refresh()
    assert one.latch(mine.intent) == yours == two.latch(mine.intent)
    await one.put(released(mine))
    assert one.latch(mine.intent) == yours, "it is held yet"


async def test_writes_at_once_are_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boundary, commits = await on_file(tmp_path / "boundary.db"), 0
    writing = BoundaryFile.writing

    def noted(file: BoundaryFile) -> object:
        nonlocal commits
        commits += 1
        return writing(file)

    monkeypatch.setattr(BoundaryFile, "writing", noted)
    await asyncio.gather(*(boundary.put(refused(number)) for number in range(50)))
    assert commits <= 2 and len(await ids(boundary)) == 50


async def test_states_of_one_conflict_are_in_order(tmp_path: Path) -> None:
    boundary = await on_file(tmp_path / "boundary.db")
    states = [replace(HELD, refused_credentials=number) for number in range(20)]
    await asyncio.gather(*map(boundary.put, [*states, RELEASED]))
    assert boundary.latch(HELD.intent) == RELEASED == await boundary.conflict(HELD.id)


UNWRITABLE = {
    "an id": replace(HELD, id="17"),
    "an intent": replace(HELD, intent="x"),
    "NaN": replace(HELD, envelope={"a": float("nan")}),
    "a tuple": replace(HELD, envelope={"a": (1, 2)}),
    "a number as a name": replace(HELD, envelope={1: 2}),  # type: ignore[dict-item]
    "a state": replace(HELD, state=State.RELEASED),
}


@pytest.mark.parametrize("conflict", UNWRITABLE.values(), ids=UNWRITABLE)
async def test_what_cannot_be_read_back_is_not_written(tmp_path: Path, conflict: Conflict) -> None:
    boundary = await on_file(tmp_path / "boundary.db")
    both = await asyncio.gather(boundary.put(conflict), boundary.put(OTHER), return_exceptions=True)
    assert [type(one) for one in both] == [BoundaryUnavailable, type(None)]
    assert boundary.latch(conflict.intent) is conflict, "it is told in this process all the same"
    assert boundary.degraded == () and await ids(boundary) == [OTHER.id]


UNREGISTRABLE = {
    "a version": replace(registered(), version=0),
    "a profile": replace(registered(), profile=replace(PROFILE, profile_id="\n\x00")),
    "a list": replace(registered(), profile=replace(PROFILE, consent_for=["all"])),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("registration", UNREGISTRABLE.values(), ids=UNREGISTRABLE)
async def test_a_registration_that_cannot_be_read_back(tmp_path: Path, registration: Registration) -> None:
    boundary = await on_file(tmp_path / "boundary.db")
    with pytest.raises(BoundaryUnavailable):
        await boundary.register(registration)
    assert boundary.profile("agent-7") is None and boundary.degraded == ()


# A row that is damaged.


def changed_in_file(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        assert file.execute(statement, values).rowcount == 1


def damage(assignment: str) -> Callable[[Path], None]:
    def damaged(path: Path) -> None:
        changed_in_file(path, f"UPDATE conflicts SET {assignment} WHERE id=?", bytes.fromhex(HELD.id))

    damaged.__name__ = assignment
    return damaged


# Where the intent is another one or the number grows, an older conflict could be told as the newest.
ROW_DAMAGES = [
    damage("record=substr(record, 1, 50)"),
    damage("record='§'"),
    damage("record=x''"),
    damage("seal=x'00'"),
    damage("seal='§'"),
    damage("state=x'72656c6561736564'"),
    damage("state=CAST(state AS TEXT)"),
    damage("client=x'61'"),
    damage("client=x'ff'"),
    damage("client=CAST(client AS TEXT)"),
    damage("intent=x'00'"),
    damage("intent=CAST(intent AS TEXT)"),
    damage("id=x'00'"),
    damage("id=CAST(id AS TEXT)"),
    damage("change='never'"),
    damage("change=x'00'"),
    damage("change=0.5"),
    damage("change=1.5"),
    damage("change=99"),
    damage("change=9223372036854775807"),
    damage("number=77"),
]
FOUND_BY_ID = [damaged for damaged in ROW_DAMAGES if not damaged.__name__.startswith("id=")]


@pytest.mark.parametrize("damaged", ROW_DAMAGES, ids=lambda damaged: str(damaged.__name__))
async def test_a_damaged_conflict_is_not_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damaged: Callable[[Path], None]
) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, HELD, OTHER)
    damaged(path)
    before = path.read_bytes()
    boundary = await on_file(path)
    for _ in range(2):
        assert boundary.latch(HELD.intent) is None and boundary.latch(OTHER.intent) == OTHER
        assert await ids(boundary) == [OTHER.id]
        await boundary.refresh()
    assert boundary.degraded == (DAMAGED,) and path.read_bytes() == before
    [told] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert str(path) in told.getMessage()
    await boundary.put(refused(3))
    await boundary.probe()
    assert boundary.degraded == (DAMAGED,) and len(caplog.records) == 1
    again = await on_file(path)
    assert again.latch(refused(3).intent) == refused(3) and again.latch(HELD.intent) is None


@pytest.mark.parametrize("damaged", FOUND_BY_ID, ids=lambda damaged: str(damaged.__name__))
async def test_a_damaged_conflict_can_be_replaced(tmp_path: Path, damaged: Callable[[Path], None]) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, HELD, OTHER)
    damaged(path)
    boundary, other = await on_file(path), await on_file(path)
    if "change" not in damaged.__name__ and "number" not in damaged.__name__:
        with pytest.raises(BoundaryDamaged):
            await boundary.conflict(HELD.id)
    await boundary.put(HELD)
    assert boundary.latch(HELD.intent) == HELD == await boundary.conflict(HELD.id)
    assert boundary.degraded == ()
    await other.refresh()
    assert other.latch(HELD.intent) == HELD and other.degraded == ()


async def test_nothing_older_is_told_for_a_damaged_one(tmp_path: Path) -> None:
    path, second = tmp_path / "boundary.db", refused(2, intent="x")
    first = released(refused(1, intent="x"))
    await filled(path, first, second)
    changed_in_file(path, "UPDATE conflicts SET seal=x'00' WHERE id=?", bytes.fromhex(second.id))
    boundary = await on_file(path)
    assert boundary.latch(first.intent) is None, "a permit that was used up"


PROFILE_DAMAGES = [
    "record=substr(record, 1, 50)",
    "seal=x'00'",
    "expires='never'",
    "expires=1",
    "change='never'",
    "change=9",
    "client=CAST(client AS TEXT)",
    "client=x'ff'",
]


@pytest.mark.parametrize("assignment", PROFILE_DAMAGES)
async def test_a_damaged_profile_is_not_told(tmp_path: Path, assignment: str) -> None:
    path = tmp_path / "boundary.db"
    before = await on_file(path)
    await before.register(registered())
    await closed(before)
    changed_in_file(path, f"UPDATE profiles SET {assignment}")
    boundary = await on_file(path)
    assert boundary.profile("agent-7") is None and boundary.degraded == (DAMAGED,)
    await boundary.register(registered())
    assert boundary.profile("agent-7") == registered()
    if not assignment.startswith("client"):
        assert boundary.degraded == ()
        assert await boundary.unregister("agent-7") and boundary.profile("agent-7") is None


async def forged(path: Path, record: bytes, profile: bytes) -> SqliteBoundary:
    """Rows whose seals are right, and what they hold is not."""
    await filled(path, OTHER)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("INSERT INTO conflicts VALUES (?,?,?,?,?,?,?,?)", conflict_row(7, 7, HELD, record)[:-1])
        file.execute("INSERT INTO profiles VALUES (?,?,?,?,?)", profile_row(8, registered(), profile)[:-1])
    return await on_file(path)


FORGERIES = {
    "not packed": (b"\0", b"\0"),
    "no record": (packed(b"{}"), packed(b"{}")),
    "of another": (packed(to_record(OTHER)), packed(to_registration_record(registered("agent-8")))),
    "goes on": (packed(to_record(HELD)) + b"x", packed(to_registration_record(registered())) + b"x"),
}


@pytest.mark.parametrize(("record", "profile"), FORGERIES.values(), ids=FORGERIES)
async def test_what_nobody_has_written_is_not_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, record: bytes, profile: bytes
) -> None:
    boundary = await forged(tmp_path / "boundary.db", record, profile)
    assert boundary.degraded == ()
    for _ in range(2):
        assert boundary.latch(HELD.intent) is None and boundary.profile("agent-7") is None
    assert boundary.degraded == (DAMAGED,) and len(caplog.records) == 2
    assert await ids(boundary) == [OTHER.id]
    with pytest.raises(BoundaryDamaged):
        await boundary.conflict(HELD.id)
    await boundary.put(HELD)
    await boundary.register(registered())
    assert boundary.latch(HELD.intent) == HELD and boundary.degraded == ()


async def test_no_damaged_counter_gives_a_number_twice(tmp_path: Path) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, HELD, OTHER)
    for statement in ("UPDATE counters SET value='x' WHERE kind=0", "UPDATE counters SET value=-5 WHERE kind=1"):
        changed_in_file(path, statement)
    one, two = await on_file(path), await on_file(path)
    await one.put(refused(3))
    await two.refresh()
    assert await ids(one) == [HELD.id, OTHER.id, refused(3).id] and two.latch(refused(3).intent) == refused(3)


def test_the_key_of_a_client() -> None:
    for client in ("agent-7", "日本", "\udcff"):
        assert client_of(client_key(client)) == client
    assert client_of(b"\xff") == "ff"


# A file that is damaged as a whole.


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def no_database(path: Path) -> None:
    path.write_bytes(b"not a database" * 1000)


def of_another_schema(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA user_version=99")


def without_an_index(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DROP INDEX by_state")


def without_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DROP TABLE conflicts")


def with_a_damaged_page(path: Path) -> None:
    octets = bytearray(path.read_bytes())
    octets[4096:4200] = b"\xff" * 104
    path.write_bytes(octets)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


LOSSES = [
    emptied,
    no_database,
    of_another_schema,
    without_an_index,
    without_tables,
    with_a_damaged_page,
    truncated,
]


async def cannot_be_used(boundary: SqliteBoundary) -> None:
    for awaited in (
        boundary.put(refused(99)),
        boundary.register(registered("agent-9")),
        boundary.unregister("agent-9"),
        boundary.page(None, None, 0, 9),
        boundary.conflict(HELD.id),
    ):
        with pytest.raises(BoundaryUnavailable):
            await awaited
    assert boundary.latch(refused(99).intent) == refused(99), "it is told in this process all the same"
    assert boundary.profile("agent-9") is None


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_damaged_file_is_refused_and_left_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, loss: Callable[[Path], None]
) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, HELD)
    loss(path)
    before = path.read_bytes()
    boundary = await on_file(path)
    assert boundary.degraded == (DAMAGED,) and boundary.latch(HELD.intent) is None
    await cannot_be_used(boundary)
    await boundary.refresh()
    await boundary.probe()
    await closed(boundary)
    assert path.read_bytes() == before and names_in(tmp_path) == ["boundary.db"]
    told, lost = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert str(path) in told and "restore the file from a backup" in told and "1 conflicts end" in lost


async def test_a_file_that_is_damaged_while_in_use(tmp_path: Path) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, HELD)
    boundary = await on_file(path)
    without_tables(path)
    await cannot_be_used(boundary)
    assert boundary.degraded == (DAMAGED,) and boundary.latch(HELD.intent) == HELD


async def test_no_octet_of_the_file_changes_what_is_told(tmp_path: Path) -> None:
    """A conflict is as it was or not told, and then it is said that something is damaged."""
    path, changed = tmp_path / "boundary.db", tmp_path / "changed.db"
    await filled(path, HELD, released(OTHER))
    octets = path.read_bytes()
    used = [offset for offset, octet in enumerate(octets) if octet]
    seen: set[str] = set()
    for offset in [*range(0, 100, 3), *used[::11]]:
        flipped = bytearray(octets)
        flipped[offset] ^= 1 << offset % 8
        changed.write_bytes(flipped)
        found = {HELD.id: HELD, OTHER.id: released(OTHER)}
        shelf = BoundaryShelf(9)
        try:
            with closing(BoundaryFile(changed, 1.0, ON_FILE)) as file:
                for news in file.news():
                    shelf.take_in(news)
                for conflict in found.values():
                    told = shelf.latch(conflict.intent)
                    assert told == conflict or (told is None and file.has_damaged), f"octet {offset}"
                    seen.add("as it was" if told else "not told")
        except BoundaryFileDamaged:
            seen.add("refused")
    assert seen == {"as it was", "not told", "refused"}


# A file that cannot be used.


async def not_written(boundary: SqliteBoundary, *conflicts: Conflict) -> None:
    for conflict in conflicts:
        with pytest.raises(BoundaryUnavailable):
            await boundary.put(conflict)
        assert boundary.latch(conflict.intent) == conflict and boundary.is_known(conflict.client)


async def test_a_folder_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "var").write_text("in the way")
    boundary = await on_file(tmp_path / "var" / "boundary.db")
    assert boundary.degraded == (UNAVAILABLE,) and "known to this process only" in caplog.text
    await boundary.refresh()
    await not_written(boundary, HELD, OTHER, RELEASED, *map(refused, range(3, 9)))
    assert await boundary.conflict(HELD.id) == RELEASED, "a person can release it all the same"
    with pytest.raises(BoundaryUnavailable):
        await boundary.page(None, None, 0, 9)
    (tmp_path / "var").unlink()
    assert boundary.degraded == (UNAVAILABLE,)
    await boundary.probe()
    assert boundary.degraded == ()
    assert await ids(boundary) == [HELD.id, OTHER.id, *(refused(number).id for number in range(3, 9))]
    other = await on_file(tmp_path / "var" / "boundary.db")
    assert other.latch(HELD.intent) == RELEASED == boundary.latch(HELD.intent)


async def test_the_next_put_writes_what_waits(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("in the way")
    boundary = await on_file(tmp_path / "var" / "boundary.db")
    await not_written(boundary, HELD)
    (tmp_path / "var").unlink()
    await boundary.put(OTHER)
    assert await ids(boundary) == [HELD.id, OTHER.id] and boundary.degraded == ()


def with_room(probe: Callable[[BoundaryDesk], None]) -> Callable[[BoundaryDesk], None]:
    def work(desk: BoundaryDesk) -> None:
        with desk.in_use() as file, file._file.in_use() as connection:
            connection.execute("PRAGMA max_page_count=100000")
        probe(desk)

    return work


async def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, HELD)
    with monkeypatch.context() as full:
        full.setattr(durablefile, "_PRAGMAS", (*durablefile._PRAGMAS, "max_page_count=14"))
        boundary = await on_file(path)
    many = [replace(refused(n), envelope={"a": "".join(map(str, range(n, n + 2000)))}) for n in range(2, 30)]
    ended = await asyncio.gather(*map(boundary.put, many), return_exceptions=True)
    assert {type(error) for error in ended} == {BoundaryUnavailable}
    assert boundary.degraded == (UNAVAILABLE,)
    assert [boundary.latch(conflict.intent) for conflict in many] == many
    assert await ids(boundary) == [HELD.id] and boundary.latch(HELD.intent) == HELD
    with monkeypatch.context() as roomy:
        roomy.setattr(BoundaryDesk, "probe", with_room(BoundaryDesk.probe))
        await boundary.probe()
    assert boundary.degraded == () and await ids(boundary) == [HELD.id, *(conflict.id for conflict in many)]


async def test_a_file_that_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, HELD)
    boundary = await on_file(path, 0.1)
    waiting = [refused(number) for number in range(10, 40)]
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        for conflict in waiting:
            began = time.monotonic()
            await not_written(boundary, conflict)
            assert time.monotonic() - began < 1.5
        began = time.monotonic()
        await not_written(boundary, *waiting)
        for _ in range(50):
            await boundary.refresh()
        assert time.monotonic() - began < 1.0, "after three nobody waits"
        assert boundary.degraded == (UNAVAILABLE,) and boundary.latch(HELD.intent) == HELD
        with pytest.raises(BoundaryUnavailable):
            await boundary.register(registered())
    await boundary.probe()
    assert boundary.degraded == () and boundary.profile("agent-7") is None
    assert await ids(boundary) == [HELD.id, *(conflict.id for conflict in waiting)]


async def test_a_lock_that_is_short(tmp_path: Path) -> None:
    boundary = await on_file(tmp_path / "boundary.db")
    with closing(sqlite3.connect(tmp_path / "boundary.db", isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        put = asyncio.gather(boundary.put(HELD))
        await asyncio.sleep(0.3)
        assert not put.done()
        lock.execute("COMMIT")
        await put
    assert boundary.degraded == ()


async def test_a_file_moved_away_while_in_use_is_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, HELD)
    boundary = await on_file(path)
    path.rename(tmp_path / "away.db")
    for _ in range(5):
        await boundary.refresh()
    await not_written(boundary, OTHER)
    assert not path.exists() and boundary.degraded == (UNAVAILABLE,) and boundary.latch(HELD.intent) == HELD
    (tmp_path / "away.db").rename(path)
    await boundary.probe()
    assert boundary.degraded == () and await ids(boundary) == [HELD.id, OTHER.id]


async def test_a_refresh_finds_that_the_file_works_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "boundary.db"
    await filled(path, HELD)
    boundary = await on_file(path)
    path.rename(tmp_path / "away.db")
    for _ in range(5):
        with pytest.raises(BoundaryUnavailable):
            await boundary.page(None, None, 0, 9)
    (tmp_path / "away.db").rename(path)
    await boundary.refresh()
    assert boundary.degraded == (UNAVAILABLE,), "nobody asks now"
    boundary._breaker = replace(boundary._breaker, retry_at=0.0)
    await boundary.refresh()
    assert boundary.degraded == () and await ids(boundary) == [HELD.id]


async def test_what_others_did_meanwhile(tmp_path: Path) -> None:
    """What waits is held against the file as it is then."""
    path = tmp_path / "boundary.db"
    one, two = await on_file(path), await on_file(path)
    await one.put(HELD)
    path.rename(tmp_path / "away.db")
    await not_written(one, GUESSED)
    (tmp_path / "away.db").rename(path)
    await two.put(RELEASED)
    await one.refresh()
    assert one.latch(HELD.intent) == RELEASED, "though what was put waits yet"
    await one.probe()
    assert one.latch(HELD.intent) == RELEASED == await one.conflict(HELD.id)


async def test_a_release_that_waits_opens_nothing_that_others_hold(tmp_path: Path) -> None:
    path = tmp_path / "boundary.db"
    one, two = await on_file(path), await on_file(path)
    first, second = refused(1, intent="x"), refused(2, intent="x")
    await one.put(first)
    path.rename(tmp_path / "away.db")
    await not_written(one, released(first))
    (tmp_path / "away.db").rename(path)
    await two.put(second)
    await one.refresh()
    assert one.latch(first.intent) == second
    await one.probe()
    assert one.latch(first.intent) == second and await one.conflict(first.id) == released(first)


async def test_what_waits_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(boundarywaiting.Waiting.__init__, "__defaults__", (20,))
    monkeypatch.setattr("proxy.stores.sqliteboundary.MOST_WAITING", 20)
    (tmp_path / "var").write_text("in the way")
    boundary = await on_file(tmp_path / "var" / "boundary.db")
    many = [refused(number) for number in range(50)]
    await not_written(boundary, *many)
    assert [boundary.latch(conflict.intent) for conflict in many] == [None] * 30 + many[30:]
    assert "1 conflicts that waited to be written were dropped" in caplog.text
    (tmp_path / "var").unlink()
    await boundary.probe()
    assert await ids(boundary) == [conflict.id for conflict in many[30:]] and boundary.degraded == ()


def hanging(gate: threading.Event, method: Callable[..., object]) -> Callable[..., object]:
    """It goes on when the gate is opened."""

    def work(*arguments: object, **named: object) -> object:
        gate.wait(20)
        return method(*arguments, **named)

    return work


async def test_a_write_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    boundary, gate = await on_file(tmp_path / "boundary.db", 0.02), threading.Event()
    monkeypatch.setattr(BoundaryFile, "write", hanging(gate, BoundaryFile.write))
    began = time.monotonic()
    many = [refused(number) for number in range(30)]
    await not_written(boundary, *many)
    for awaited in (boundary.page(None, None, 0, 9), boundary.register(registered())):
        with pytest.raises(BoundaryUnavailable):
            await awaited
    for _ in range(100):
        await boundary.refresh()
    assert time.monotonic() - began < 3.0, "after three nobody waits"
    assert boundary.degraded == (UNAVAILABLE,) and "take too long" in caplog.text
    gate.set()
    for _ in range(50):
        await boundary.probe()
    assert boundary.degraded == () and await ids(boundary) == [conflict.id for conflict in many]


async def test_a_registration_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boundary, gate = await on_file(tmp_path / "boundary.db", 0.02), threading.Event()
    monkeypatch.setattr(BoundaryFile, "write", hanging(gate, BoundaryFile.write))
    put = asyncio.gather(boundary.put(HELD), return_exceptions=True)
    await asyncio.sleep(0.01)
    with pytest.raises(BoundaryUnavailable):
        await boundary.register(registered())
    gate.set()
    await put
    for _ in range(50):
        await boundary.probe()
    assert boundary.profile("agent-7") is None and await ids(boundary) == [HELD.id]


async def test_a_refresh_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "boundary.db"
    boundary, other, gate = await on_file(path, 0.05), await on_file(path), threading.Event()
    await other.put(HELD)
    with monkeypatch.context() as slow:
        slow.setattr(BoundaryDesk, "refresh", hanging(gate, BoundaryDesk.refresh))
        began = time.monotonic()
        for _ in range(200):
            await boundary.refresh()
        assert time.monotonic() - began < 2.0, "nobody waits for what is late"
        assert boundary.degraded == (UNAVAILABLE,)
    gate.set()
    async with asyncio.timeout(10):
        while boundary.latch(HELD.intent) is None:
            await asyncio.sleep(0.01)
            await boundary.refresh()
    await boundary.refresh()
    assert boundary.degraded == ()


async def test_who_asks_at_once_looks_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boundary, begun, gate = await on_file(tmp_path / "boundary.db"), threading.Event(), threading.Event()
    refresh, looks = BoundaryDesk.refresh, list[BoundaryDesk]()

    def noted(desk: BoundaryDesk) -> None:
        looks.append(desk)
        begun.set()
        gate.wait(20)
        refresh(desk)

    monkeypatch.setattr(BoundaryDesk, "refresh", noted)
    first = asyncio.gather(boundary.refresh())
    assert await asyncio.to_thread(begun.wait, 20)
    others = asyncio.gather(*(boundary.refresh() for _ in range(99)))
    await asyncio.sleep(0.01)
    gate.set()
    await first
    await others
    assert len(looks) == 2, "what had begun may have missed something"


async def test_a_page_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boundary, gate = await on_file(tmp_path / "boundary.db", 0.02), threading.Event()
    monkeypatch.setattr(BoundaryDesk, "page", hanging(gate, BoundaryDesk.page))
    with pytest.raises(BoundaryUnavailable):
        await boundary.page(None, None, 0, 9)
    assert boundary.degraded == (UNAVAILABLE,)
    gate.set()


async def test_who_gives_up_leaves_his_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boundary, gate = await on_file(tmp_path / "boundary.db"), threading.Event()
    monkeypatch.setattr(BoundaryFile, "write", hanging(gate, BoundaryFile.write))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await boundary.put(HELD)
    gate.set()
    await closed(boundary)
    assert (await on_file(tmp_path / "boundary.db")).latch(HELD.intent) == HELD


async def test_a_store_that_is_closed(tmp_path: Path) -> None:
    boundary = await on_file(tmp_path / "boundary.db")
    await boundary.put(HELD)
    await closed(boundary)
    await cannot_be_used(boundary)
    await boundary.refresh()
    await boundary.probe()
    await boundary.close()


async def test_what_waits_is_written_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("in the way")
    boundary = await on_file(tmp_path / "var" / "boundary.db")
    await not_written(boundary, HELD, OTHER)
    (tmp_path / "var").unlink()
    await closed(boundary)
    assert await ids(await on_file(tmp_path / "var" / "boundary.db")) == [HELD.id, OTHER.id]


async def test_a_store_closed_while_its_file_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boundary, gate = await on_file(tmp_path / "boundary.db", 0.05), threading.Event()
    monkeypatch.setattr(BoundaryFile, "write", hanging(gate, BoundaryFile.write))
    under_way = asyncio.gather(boundary.put(HELD), boundary.put(OTHER), return_exceptions=True)
    await asyncio.sleep(0.1)
    waiting = asyncio.gather(boundary.put(refused(3)), return_exceptions=True)
    await asyncio.sleep(0)
    await closed(boundary)
    assert {type(error) for error in (*await under_way, *await waiting)} == {BoundaryUnavailable}
    gate.set()


# What is too much.

SMALL = BoundaryBounds(of_client=4, of_all=6, profiles=3)


@BOTH
async def test_a_client_is_bounded(tmp_path: Path, kind: Kind) -> None:
    boundary = await kind(tmp_path / "boundary.db", bounds=SMALL)
    mine = [refused(number) for number in range(9)]
    await boundary.put(OTHER)
    for conflict in mine[:4]:
        await boundary.put(conflict)
    await boundary.put(released(mine[2]))
    await boundary.put(mine[4])
    assert await ids(boundary, "agent-7") == [mine[number].id for number in (0, 1, 3, 4)], "a released one first"
    assert boundary.latch(mine[2].intent) is None
    await boundary.put(mine[5])
    assert await ids(boundary, "agent-7") == [mine[number].id for number in (1, 3, 4, 5)], "then the oldest"
    assert boundary.latch(mine[0].intent) is None and boundary.latch(OTHER.intent) == OTHER
    assert len(await ids(boundary)) == 5


@BOTH
async def test_all_are_bounded(tmp_path: Path, kind: Kind) -> None:
    boundary = await kind(tmp_path / "boundary.db", bounds=SMALL)
    rows = [("a", 0), ("a", 1), ("a", 2), ("b", 3), ("b", 4), ("c", 5), ("d", 6), ("e", 7), ("f", 8), ("g", 9)]
    all_of_them = [refused(number, client) for client, number in rows]
    for conflict in all_of_them[:6]:
        await boundary.put(conflict)
    await boundary.put(released(all_of_them[5]))
    left = list[list[int]]()
    for conflict in all_of_them[6:]:
        await boundary.put(conflict)
        found = set(await ids(boundary))
        left.append([index for index, one in enumerate(all_of_them) if one.id in found])
    assert left[0] == [0, 1, 2, 3, 4, 6], "the released one went"
    assert left[1] == [1, 2, 3, 4, 6, 7], "the oldest of who had most"
    assert all(len(numbers) == 6 for numbers in left) and left[3][-4:] == [6, 7, 8, 9]
    assert not boundary.is_known("c") and boundary.is_known("g")
    assert boundary.latch(all_of_them[0].intent) is None


@BOTH
async def test_what_was_just_written_stays(tmp_path: Path, kind: Kind) -> None:
    boundary = await kind(tmp_path / "boundary.db", bounds=BoundaryBounds(of_client=1, of_all=1, profiles=1))
    for number in range(3):
        await boundary.put(refused(number))
        assert await ids(boundary) == [refused(number).id]
    for number in range(3):
        await boundary.put(refused(number, f"agent-{number}"))
        assert await ids(boundary) == [refused(number, f"agent-{number}").id]
    await boundary.register(registered("late", expires_at=NOW + 99))
    await boundary.register(registered("early", expires_at=NOW + 1))
    assert boundary.profile("late") is None and boundary.profile("early") is not None


@BOTH
async def test_an_older_one_is_told_when_the_newest_is_gone(tmp_path: Path, kind: Kind) -> None:
    boundary = await kind(tmp_path / "boundary.db", bounds=SMALL)
    first, second = refused(1, intent="x"), refused(2, intent="x")
    for conflict in (first, second, released(second), *map(refused, range(10, 13))):
        await boundary.put(conflict)
    assert await boundary.conflict(second.id) is None and boundary.latch(first.intent) == first


@BOTH
async def test_profiles_are_bounded(tmp_path: Path, kind: Kind) -> None:
    boundary = await kind(tmp_path / "boundary.db", bounds=SMALL)
    for number, expires in enumerate((30, 10, 20, 40, 15)):
        await boundary.register(registered(f"agent-{number}", expires_at=NOW + expires))
    left = [number for number in range(5) if boundary.profile(f"agent-{number}") is not None]
    assert left == [0, 3, 4] and not boundary.is_known("agent-1")


async def test_room_is_made_for_some_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bounds = BoundaryBounds(of_client=200, of_all=1000, profiles=9)
    boundary, memory = await on_file(tmp_path / "boundary.db", bounds=bounds), MemoryBoundary(bounds)
    for numbers in (range(150), range(150, 201)):
        for conflict in map(refused, numbers):
            await memory.put(conflict)
        await asyncio.gather(*(boundary.put(refused(number)) for number in numbers))
    assert len(await ids(boundary)) == 198 == len(await ids(memory))
    told = [record.getMessage() for record in caplog.records]
    assert told == ["3 conflicts were dropped: there is no room for more"] * 2
    with closing(sqlite3.connect(tmp_path / "boundary.db", timeout=0.1)) as other, other:
        other.execute("DELETE FROM conflicts")  # it is not locked


async def test_what_is_written_at_once_is_not_what_goes(tmp_path: Path) -> None:
    boundary = await on_file(tmp_path / "boundary.db", bounds=SMALL)
    await asyncio.gather(*(boundary.put(refused(number)) for number in range(9)))
    assert len(await ids(boundary)) >= 8, "each was told that it is durable"
    await boundary.put(refused(10))
    assert len(await ids(boundary)) == 4


async def test_others_forget_what_had_to_go(tmp_path: Path) -> None:
    path = tmp_path / "boundary.db"
    one, two = await on_file(path, bounds=SMALL), await on_file(path, bounds=SMALL)
    first, second = refused(1, intent="x"), refused(2, intent="x")
    for conflict in (first, second, released(second)):
        await one.put(conflict)
    await one.register(registered("gone"))
    await two.refresh()
    assert two.latch(first.intent) == released(second) and two.is_known("gone")
    for number in range(10, 14):
        await one.put(refused(number))
    for number in range(3):
        await one.register(registered(f"agent-{number}", expires_at=NOW + 2000))
    await two.refresh()
    assert two.latch(first.intent) is None and two.profile("gone") is None and not two.is_known("gone")
    assert await ids(two) == [refused(number).id for number in range(10, 14)]
    await two.put(refused(20))
    assert len(await ids(two)) == 4


SHARES = {
    "nobody": ({}, 5, {}),
    "none": ({"a": 3}, 0, {}),
    "who has most": ({"a": 5, "b": 2}, 2, {"a": 2}),
    "until others have as many": ({"a": 5, "b": 3, "c": 1}, 4, {"a": 3, "b": 1}),
    "all": ({"a": 2, "b": 1}, 99, {"a": 2, "b": 1}),
}


@pytest.mark.parametrize(("counts", "most", "going"), SHARES.values(), ids=SHARES)
def test_shares(counts: dict[str, int], most: int, going: dict[str, int]) -> None:
    assert shares(counts, most) == going


def test_an_operator_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    times = iter((0.0, 1.0, 2.0, 60.0, 61.0, 62.0, 130.0, 200.0))
    log = DropLog("conflicts", lambda: next(times))
    for dropped in (0, 2, 3, 4, 5, 1, 0, 0):
        log.note(dropped)
    told = [record.getMessage().split(" ")[0] for record in caplog.records]
    assert told == ["2", "12", "1"]


# In memory.


def shelved(*conflicts: Conflict, most_at_hand: int = 2) -> BoundaryShelf:
    shelf = BoundaryShelf(9, most_at_hand)
    rows = (conflict_row(n, n, conflict, small_conflict(conflict)) for n, conflict in enumerate(conflicts, 1))
    shelf.take_in(News(conflicts=tuple(rows)))
    return shelf


def test_those_asked_for_last_are_at_hand() -> None:
    first, second, third = conflicts = [refused(number) for number in range(3)]
    shelf = shelved(*conflicts)
    found = [shelf.latch(conflict.intent) for conflict in (first, second)]
    assert shelf.latch(first.intent) is found[0] and shelf.latch(third.intent) == third
    assert shelf.latch(first.intent) is found[0] and shelf.latch(second.intent) is not found[1]


async def test_look_ups_are_fast(tmp_path: Path) -> None:
    boundary = await on_file(tmp_path / "boundary.db")
    await boundary.put(HELD)
    boundary.latch(HELD.intent)
    began = time.perf_counter()
    for _ in range(20_000):
        boundary.latch(HELD.intent)
        boundary.latch(OTHER.intent)
        boundary.is_known(HELD.client)
        boundary.profile(HELD.client)
    assert time.perf_counter() - began < 20_000 * 4 * 2e-6


def test_damaged_is_a_family() -> None:
    assert issubclass(BoundaryFileDamaged, BoundaryDamaged) and issubclass(BoundaryDamaged, BoundaryUnavailable)
