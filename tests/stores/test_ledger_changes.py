"""The feed of the ledger: what moves a URL in it, that no number comes twice, and files that had none."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.ledgers import LedgerChange, LedgerUnavailable
from proxy.relocation.codec import to_record
from proxy.relocation.records import Observation, Record, State, record_id, with_observation
from proxy.stores import durablefile
from proxy.stores.durablefile import DurableFile
from proxy.stores.ledger import DAMAGED, UNAVAILABLE, SqliteLedger
from proxy.stores.ledgerfile import ON_FILE, SCHEMA, Bounds, LedgerFile
from proxy.stores.ledgerrow import Row, key_of, row_of
from proxy.stores.memoryledger import MemoryLedger
from proxy.stores.packing import packed
from tests.stores.ledgers import (
    GONE,
    MOVED,
    NOW,
    REVIVED,
    URL,
    AnyLedger,
    Kind,
    closed,
    counted,
    filled,
    gone,
    in_memory,
    moved,
    on_file,
)

pytestmark = pytest.mark.usefixtures("ledgers_closed")

CONFIRMED = replace(MOVED, checked_at=NOW + 5, fresh_until=NOW + 99, failures=2)
ELSEWHERE = replace(MOVED, target="https://example.com/elsewhere")
MISSING = replace(counted(), state=State.MISSING, misses=3)
WITHDRAWAL = Observation(NOW + 20, 308, None, None, "Withdrawn by the operator.")
BOTH = pytest.mark.parametrize("kind", [in_memory, on_file], ids=["memory", "sqlite"])

Told = tuple[int, str, State | None]


def told(changes: tuple[LedgerChange, ...]) -> list[Told]:
    """Number, URL and state, None for what was withdrawn."""
    return [(one.cursor, one.record.url, None if one.is_withdrawn else one.record.state) for one in changes]


async def feed(ledger: AnyLedger, after: int = 0) -> list[Told]:
    return told(await ledger.changes(after, 1000))


async def done(ledger: AnyLedger, *steps: Record | Observation) -> None:
    """Records are put; for observations that of URL is withdrawn."""
    for step in steps:
        if isinstance(step, Record):
            await ledger.put(step)
        else:
            await ledger.remove(URL, step)


M, G, P = State.MOVED, State.GONE, State.PENDING
MOVES: dict[str, tuple[list[Record | Observation], list[Told]]] = {
    "nothing": ([], []),
    "recorded": ([MOVED, GONE], [(1, URL, M), (2, GONE.url, G)]),
    "confirmed anew": ([MOVED, GONE, CONFIRMED], [(1, URL, M), (2, GONE.url, G)]),
    "another state": ([MOVED, GONE, gone()], [(2, GONE.url, G), (3, URL, G)]),
    "pending, then moved": ([replace(MOVED, state=P), GONE, MOVED], [(2, GONE.url, G), (3, URL, M)]),
    "another target": ([MOVED, GONE, ELSEWHERE], [(2, GONE.url, G), (3, URL, M)]),
    "there and back": ([MOVED, ELSEWHERE, MOVED], [(3, URL, M)]),
    "only counted": ([counted(), replace(counted(), misses=2), GONE], [(1, GONE.url, G)]),
    "counted, then missing": ([counted(), GONE, MISSING], [(1, GONE.url, G), (2, URL, State.MISSING)]),
    "counted, then cleared": ([counted(), GONE, REVIVED], [(1, GONE.url, G)]),
    "withdrawn": ([MOVED, GONE, WITHDRAWAL], [(2, GONE.url, G), (3, URL, None)]),
    "withdrawn twice": ([MOVED, WITHDRAWAL, GONE, REVIVED], [(2, URL, None), (3, GONE.url, G)]),
    "never recorded": ([WITHDRAWAL, GONE], [(1, GONE.url, G)]),
    "recorded again": ([MOVED, WITHDRAWAL, GONE, MOVED], [(3, GONE.url, G), (4, URL, M)]),
    "withdrawn, then counted": ([MOVED, WITHDRAWAL, GONE, counted()], [(2, URL, None), (3, GONE.url, G)]),
    "and cleared": ([MOVED, WITHDRAWAL, GONE, counted(), REVIVED], [(2, URL, None), (3, GONE.url, G)]),
    "and recorded again": ([MOVED, WITHDRAWAL, counted(), GONE, gone()], [(3, GONE.url, G), (4, URL, G)]),
    "no longer listed": ([MOVED, GONE, counted()], [(2, GONE.url, G), (3, URL, None)]),
}


@pytest.mark.parametrize(("steps", "expected"), MOVES.values(), ids=MOVES.keys())
async def test_what_moves_a_url(ledger: AnyLedger, steps: list[Record | Observation], expected: list[Told]) -> None:
    newest = 0
    for step in steps:
        await done(ledger, step)
        assert await ledger.last_change() >= newest, "it never falls"
        newest = await ledger.last_change()
    assert await feed(ledger) == expected
    assert newest == max((cursor for cursor, _, _ in expected), default=0)


async def test_a_change_tells_the_record_as_it_is_now(ledger: AnyLedger) -> None:
    await done(ledger, MOVED, CONFIRMED)
    assert await ledger.changes(0, 9) == (LedgerChange(1, CONFIRMED, is_withdrawn=False),)


@pytest.mark.parametrize("later", [[], [counted(URL, NOW + 30)]], ids=["at once", "after it was counted again"])
async def test_the_last_observation_says_why_it_was_withdrawn(ledger: AnyLedger, later: list[Record]) -> None:
    await done(ledger, MOVED, WITHDRAWAL, *later)
    [change] = await ledger.changes(0, 9)
    assert change.is_withdrawn and change.record.history[-1] == WITHDRAWAL and len(change.record.history) == 2


async def test_pages(ledger: AnyLedger) -> None:
    records = [moved(f"https://{n}.example/") for n in range(10)]
    await done(ledger, *records)
    found: list[Record] = []
    cursor = 0
    while page := await ledger.changes(cursor, 3):
        assert len(page) <= 3
        found += [change.record for change in page]
        cursor = page[-1].cursor
    assert found == records and cursor == await ledger.last_change() == 10
    assert len(await ledger.changes(-1, 99)) == 10 and await ledger.changes(0, 0) == ()
    for after in (10, 11, 2**63 - 1, 10**30):
        assert await ledger.changes(after, 9) == ()


@BOTH
async def test_what_has_gone_to_make_room_is_not_told_of(tmp_path: Path, kind: Kind) -> None:
    ledger = await kind(tmp_path / "ledger.db", bounds=Bounds(of_host=2, of_all=99))
    records = [moved(f"https://example.com/{n}", NOW - n) for n in range(3)]
    await done(ledger, *records)
    assert await feed(ledger) == [(1, records[0].url, M), (3, records[2].url, M)], "not checked for longest"
    await done(ledger, counted("https://example.com/404", NOW))
    assert await ledger.last_change() == 3 and len(await feed(ledger)) == 1, "with the newest"
    await done(ledger, GONE)
    assert (await feed(ledger))[-1] == (4, GONE.url, G), "no number comes twice"


async def test_history_that_has_gone_to_make_room_is_not_told_of() -> None:
    ledger = await in_memory(Path(), bounds=Bounds(of_host=1, of_all=99))
    for record in (MOVED, GONE):
        await ledger.put(record)
        await ledger.remove(record.url, WITHDRAWAL)
    assert await feed(ledger) == [(4, GONE.url, None)]


def steps_of(url: str, at: float) -> list[Record | Observation]:
    """What origins do, and a little worse."""
    return [
        moved(url, at),
        replace(moved(url, at), target="https://x.example/"),
        gone(url, at),
        counted(url, at),
        replace(MISSING, url=url, checked_at=at),
        replace(REVIVED, at=at),
        replace(WITHDRAWAL, at=at),
    ]


async def taken(ledger: AnyLedger, url: str, step: Record | Observation) -> None:
    """The step, as the engine takes it."""
    if isinstance(step, Observation):
        await ledger.remove(url, step)
        return
    before = ledger.get(url)
    seen = replace(step.history[-1], state=step.state, target=step.target)
    await ledger.put(replace(step, history=with_observation(before.history if before else (), seen)))


async def followed(ledger: AnyLedger, known: dict[str, Record], cursor: int, limit: int) -> int:
    """Bring what is known up to date; the cursor to go on from."""
    while page := await ledger.changes(cursor, limit):
        for change in page:
            assert change.cursor > cursor
            cursor = change.cursor
            known.pop(change.record.url, None)
            if not change.is_withdrawn:
                known[change.record.url] = change.record
    return cursor


def standings(records: Iterable[Record]) -> dict[str, tuple[State, str | None]]:
    return {record.url: (record.state, record.target) for record in records}


async def check_who_follows(turns: list[tuple[int, int, int]], path: Path) -> None:
    ledgers = MemoryLedger(), SqliteLedger(path, 1.0)
    await ledgers[1].open()
    known: dict[str, Record] = {}
    cursor = 0
    for at, (number, step, limit) in enumerate(turns):
        url = f"https://{number}.example/"
        for ledger in ledgers:
            await taken(ledger, url, steps_of(url, NOW + at)[step])
        if not limit:
            continue
        assert await ledgers[0].changes(0, 99) == await ledgers[1].changes(0, 99)
        cursor = await followed(ledgers[at % 2], known, cursor, limit)
        assert cursor == await ledgers[0].last_change() == await ledgers[1].last_change()
        assert standings(known.values()) == standings(await ledgers[0].of_host(None, None, None, 9))
    await ledgers[1].close()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 3)), max_size=30))
def test_who_follows_the_feed_knows_what_is_listed(turns: list[tuple[int, int, int]]) -> None:
    """With both kinds the same, whenever it is read, in pages of any size."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check_who_follows(turns, Path(folder, "ledger.db")))


# On file.


async def test_numbers_outlive_the_process(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED, GONE)
    one = await on_file(path, bounds=Bounds(of_host=1, of_all=99))
    before = await feed(one)
    assert before == [(1, URL, M), (2, GONE.url, G)]
    await done(one, moved("https://other.example/next"), counted("https://other.example/404"))
    assert await feed(one) == [(1, URL, M)] and await one.last_change() == 3
    await closed(one)
    again = await on_file(path)
    assert await again.last_change() == 3, "nothing that had the number is left"
    await done(again, gone())
    assert await feed(again) == [(4, URL, G)]


async def test_numbers_of_two_who_write(tmp_path: Path) -> None:
    one, two = await on_file(tmp_path / "ledger.db"), await on_file(tmp_path / "ledger.db")
    await one.put(MOVED)
    await two.put(GONE)
    await one.put(gone())
    assert await feed(one) == await feed(two) == [(2, GONE.url, G), (3, URL, G)]
    assert await two.last_change() == 3 and two.get(URL) == gone()


async def test_puts_at_once_are_numbered_in_their_order(tmp_path: Path) -> None:
    ledger = await on_file(tmp_path / "ledger.db")
    records = [moved(f"https://{n}.example/") for n in range(20)]
    await asyncio.gather(*map(ledger.put, [*records, records[0], gone("https://1.example/")]))
    assert await feed(ledger) == [
        (1, records[0].url, M),
        *((n + 1, records[n].url, M) for n in range(2, 20)),
        (21, records[1].url, G),
    ]


async def test_what_is_not_recorded_is_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number is given in the transaction that writes the record."""
    ledger = await on_file(tmp_path / "ledger.db")
    await ledger.put(MOVED)

    def fail(*_: object) -> tuple[bytes, ...]:
        raise LedgerUnavailable("no room")

    with monkeypatch.context() as failing:
        failing.setattr(LedgerFile, "make_room", fail)
        with pytest.raises(LedgerUnavailable):
            await ledger.put(gone())
    assert await feed(ledger) == [(1, URL, M)] and await ledger.last_change() == 1


async def test_a_page_leaves_nothing_locked(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, *(moved(f"https://{n}.example/") for n in range(50)))
    ledger = await on_file(path)
    assert len(await ledger.changes(0, 1)) == 1
    with closing(sqlite3.connect(path, timeout=0.1)) as other, other:
        other.execute("DELETE FROM records")
    assert await feed(ledger) == [] and await ledger.last_change() == 50


DAMAGES = {
    "unsealed": "UPDATE records SET seal=x'00' WHERE id=?",
    "withdrawn by hand": "UPDATE records SET rank=0 WHERE id=?",
    "rank of another type": "UPDATE records SET rank='high' WHERE id=?",
    "under another key": "UPDATE records SET id=zeroblob(32) WHERE id=?",
    "with a text as key": "UPDATE records SET id=CAST(id AS TEXT) WHERE id=?",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
async def test_a_damaged_record_is_left_out(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED, GONE)
    with closing(sqlite3.connect(path)) as file, file:
        assert file.execute(damage, (key_of(URL),)).rowcount == 1
    ledger = await on_file(path)
    assert await feed(ledger) == [(2, GONE.url, G)] and await ledger.last_change() == 2
    assert ledger.degraded == (DAMAGED,)
    await done(ledger, MOVED)
    assert await feed(ledger) == [(2, GONE.url, G), (3, URL, M)], "the origin has spoken anew"
    assert numbered(path) == {key_of(GONE.url), key_of(URL), b""}


@pytest.mark.parametrize("step", [WITHDRAWAL, counted()], ids=["withdrawn", "counted"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
async def test_a_damaged_record_that_ends_is_no_change(
    tmp_path: Path, damage: str, step: Record | Observation
) -> None:
    """Nobody knows any more what there would be to tell."""
    path = tmp_path / "ledger.db"
    await filled(path, MOVED, GONE)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(damage, (key_of(URL),))
    ledger = await on_file(path)
    await done(ledger, step)
    assert await feed(ledger) == [(2, GONE.url, G)] and ledger.degraded == ()
    assert numbered(path) == {key_of(GONE.url), b""}


async def test_what_nobody_has_written_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED, GONE)
    with closing(LedgerFile(path, 1.0, ON_FILE)) as file, file.writing():
        file.write(row_of(MOVED, b"no record", is_withdrawn=False), is_change=True)
    ledger = await on_file(path)
    assert await feed(ledger) == [(2, GONE.url, G)] and await ledger.last_change() == 3


def numbered(path: Path) -> set[bytes]:
    with closing(sqlite3.connect(path)) as file:
        return {key for (key,) in file.execute("SELECT id FROM changes")}


def test_no_octet_of_the_file_changes_what_is_told(tmp_path: Path) -> None:
    """A change is where it was, or its record is known to be damaged; no number is given a second time."""
    path, changed = tmp_path / "ledger.db", tmp_path / "changed.db"
    asyncio.run(written_once(path))
    with closing(LedgerFile(path, 1.0, ON_FILE)) as file:
        original = file.changes(0, 9)
    assert told(original) == [(2, GONE.url, G), (3, URL, None)]
    octets = path.read_bytes()
    read = 0
    for offset in [*range(100), *[offset for offset, octet in enumerate(octets) if octet][::2]]:
        flipped = bytearray(octets)
        flipped[offset] ^= 1 << offset % 8
        changed.write_bytes(flipped)
        try:
            with closing(LedgerFile(changed, 1.0, ON_FILE)) as file:
                file.read_all()
                found, last, has_damaged = file.changes(0, 9), file.last_change(), file.has_damaged
        except LedgerUnavailable:
            continue
        read += 1
        assert last == 3 and set(found) <= set(original), f"octet {offset}"
        assert found == original or has_damaged, f"octet {offset}"
    assert read > 100


async def written_once(path: Path) -> None:
    ledger = SqliteLedger(path, 1.0)
    await done(ledger, MOVED, GONE, WITHDRAWAL)
    await ledger.close()


# Files of schema 1, which knew of no changes.

SCHEMA_1 = (
    "CREATE TABLE records (id BLOB PRIMARY KEY, host BLOB NOT NULL, state BLOB NOT NULL, rank INTEGER NOT NULL,"
    " checked REAL NOT NULL, record BLOB NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX by_host ON records (host, rank, checked)",
    "CREATE INDEX by_state ON records (state, id)",
    "CREATE INDEX by_rank ON records (rank, checked)",
)
LATER = moved("https://later.example/", NOW + 50)
ENDED = replace(moved("https://ended.example/", NOW - 9), history=(*MOVED.history, WITHDRAWAL))
DAMAGED_ROW = row_of(moved("https://damaged.example/"), b"", is_withdrawn=False)
OLD = [MOVED, GONE, LATER, counted("https://counted.example/")]


def row(record: Record, *, is_withdrawn: bool = False) -> Row:
    return row_of(record, packed(to_record(record)), is_withdrawn=is_withdrawn)


def of_schema_1(path: Path, *more: Row, version: int = 1) -> None:
    rows = [*map(row, OLD), row(ENDED, is_withdrawn=True), *more]
    with closing(sqlite3.connect(path)) as file, file:
        for statement in (*SCHEMA_1, f"PRAGMA user_version={version}"):
            file.execute(statement)
        file.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    path.chmod(0o600)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as file:
        return int(file.execute("PRAGMA user_version").fetchone()[0])


def upgraded_feed() -> list[Told]:
    """In order of when they were checked, then of the ids."""
    at_once = sorted([MOVED, GONE], key=lambda record: record_id(record.url))
    found = [(ENDED.url, None), *((record.url, record.state) for record in at_once), (LATER.url, M)]
    return [(number, url, state) for number, (url, state) in enumerate(found, 1)]


async def test_a_file_of_schema_1_is_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    of_schema_1(path)
    ledger = await on_file(path)
    assert ledger.degraded == () and [ledger.get(record.url) for record in OLD] == OLD
    assert await feed(ledger) == upgraded_feed() and await ledger.last_change() == 4
    await done(ledger, gone())
    last = (5, URL, G)
    assert await feed(ledger) == [*(one for one in upgraded_feed() if one[1] != URL), last]
    await closed(ledger)
    again = await on_file(path)
    assert (await feed(again))[-1] == last and names(tmp_path) == ["ledger.db"]
    assert version_of(path) == SCHEMA == 2 and path.stat().st_mode & 0o777 == 0o600


async def test_a_file_of_schema_1_without_records_is_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    of_schema_1(path)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DELETE FROM records")
    ledger = await on_file(path)
    assert await ledger.last_change() == 0
    await done(ledger, MOVED)
    assert await feed(ledger) == [(1, URL, M)]


@pytest.mark.parametrize(
    "damaged",
    [
        DAMAGED_ROW._replace(seal=b""),
        DAMAGED_ROW._replace(key=b""),
        DAMAGED_ROW._replace(key=bytes(40)),
        DAMAGED_ROW._replace(checked="never"),
        DAMAGED_ROW._replace(rank="high"),
    ],
    ids=["seal", "no key", "long key", "time", "rank"],
)
async def test_a_file_of_schema_1_with_a_damaged_row_is_upgraded(tmp_path: Path, damaged: Row) -> None:
    path = tmp_path / "ledger.db"
    of_schema_1(path, damaged)
    ledger = await on_file(path)
    assert ledger.degraded == (DAMAGED,)
    assert [(url, state) for _, url, state in await feed(ledger)] == [
        (url, state) for _, url, state in upgraded_feed()
    ]
    before = await ledger.last_change()
    await done(ledger, moved("https://damaged.example/"))
    assert (await feed(ledger))[-1] == (before + 1, "https://damaged.example/", M)


UPGRADE_AND_DIE = """
import os, signal, sqlite3, sys
from pathlib import Path
from proxy.stores import durablefile
from proxy.stores.ledgerfile import ON_FILE, LedgerFile

class Dying(sqlite3.Connection):
    def execute(self, statement, *values):
        if statement == "COMMIT" or statement.startswith(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(statement, *values)

def connect(uri, busy_seconds):
    file = sqlite3.connect(uri, uri=True, isolation_level=None, factory=Dying)
    file.execute("PRAGMA cache_size=1")  # what is written goes to the file before it is committed
    return file

durablefile._connect = connect
LedgerFile(Path(sys.argv[1]), 1.0, ON_FILE)
"""


def upgrade_and_die(path: Path, last: str) -> None:
    killed = subprocess.run([sys.executable, "-c", UPGRADE_AND_DIE, str(path), last], check=False)
    assert killed.returncode == -signal.SIGKILL


@pytest.mark.parametrize("last", ["CREATE UNIQUE", "INSERT", "PRAGMA user_version=", "COMMIT"])
async def test_an_upgrade_that_is_killed_leaves_schema_1(tmp_path: Path, last: str) -> None:
    path = tmp_path / "ledger.db"
    of_schema_1(path, *(row(moved(f"https://{number}.example/", NOW + 60)) for number in range(500)))
    before = path.read_bytes()
    upgrade_and_die(path, last)
    assert names(tmp_path) == ["ledger.db", "ledger.db-journal"]
    if last == "COMMIT":
        assert path.read_bytes() != before, "some of it was in the file"
    copy = tmp_path / "copy" / "ledger.db"
    copy.parent.mkdir()
    for name in ("ledger.db", "ledger.db-journal"):
        (copy.parent / name).write_bytes((tmp_path / name).read_bytes())
    with closing(sqlite3.connect(copy)) as file:
        assert tuple(sql for (sql,) in file.execute("SELECT sql FROM sqlite_master")) == SCHEMA_1
        assert file.execute("SELECT count(*) FROM records").fetchone() == (505,)
    assert version_of(copy) == 1
    ledger = await on_file(path)
    assert (await feed(ledger))[:4] == upgraded_feed() and await ledger.last_change() == 504


async def test_an_upgrade_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    of_schema_1(path)
    before = path.read_bytes()
    pages = len(before) // 4096
    with monkeypatch.context() as full:
        full.setattr(durablefile, "_PRAGMAS", (*durablefile._PRAGMAS, f"max_page_count={pages}"))
        ledger = await on_file(path)
        assert ledger.degraded == (UNAVAILABLE,)
    assert path.read_bytes() == before
    await ledger.probe()
    assert ledger.degraded == () and await feed(ledger) == upgraded_feed()


async def test_two_who_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    of_schema_1(path)
    require_whole = DurableFile._require_whole

    def meanwhile(file: DurableFile) -> None:
        require_whole(file)
        monkeypatch.setattr(DurableFile, "_require_whole", require_whole)
        LedgerFile(path, 1.0, ON_FILE).close()

    monkeypatch.setattr(DurableFile, "_require_whole", meanwhile)
    ledger = await on_file(path)
    assert ledger.degraded == () and await feed(ledger) == upgraded_feed()


async def test_who_is_quicker_in_the_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    of_schema_1(path)
    writing = DurableFile.writing

    def meanwhile(file: DurableFile) -> object:
        monkeypatch.setattr(DurableFile, "writing", writing)
        LedgerFile(path, 1.0, ON_FILE).close()
        return writing(file)

    monkeypatch.setattr(DurableFile, "writing", meanwhile)
    ledger = await on_file(path)
    assert ledger.degraded == () and await feed(ledger) == upgraded_feed()


def of_version_3(path: Path) -> None:
    of_schema_1(path, version=3)


def of_version_2(path: Path) -> None:
    of_schema_1(path, version=2)


def upgraded_further(path: Path) -> None:
    of_schema_1(path)
    LedgerFile(path, 1.0, ON_FILE).close()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA user_version=3")


def with_another_table(path: Path) -> None:
    of_schema_1(path)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE more (id)")


def truncated(path: Path) -> None:
    of_schema_1(path)
    os.truncate(path, path.stat().st_size - 1)


def with_a_damaged_page(path: Path) -> None:
    of_schema_1(path)
    octets = bytearray(path.read_bytes())
    octets[4096:4200] = b"\xff" * 104
    path.write_bytes(octets)


def with_an_index_that_is_wrong(path: Path) -> None:
    of_schema_1(path)
    octets = path.read_bytes()
    state = b"gone" + key_of(GONE.url)
    assert octets.count(state) == 1, "in by_state alone"
    path.write_bytes(octets.replace(state, b"gond" + key_of(GONE.url)))


@pytest.mark.parametrize(
    "made",
    [
        of_version_2,
        of_version_3,
        upgraded_further,
        with_another_table,
        truncated,
        with_a_damaged_page,
        with_an_index_that_is_wrong,
    ],
)
async def test_what_is_refused_is_not_upgraded(tmp_path: Path, made: Callable[[Path], None]) -> None:
    path = tmp_path / "ledger.db"
    made(path)
    before = path.read_bytes()
    ledger = await on_file(path)
    assert ledger.degraded == (DAMAGED,)
    for reading in (ledger.changes(0, 9), ledger.last_change()):
        with pytest.raises(LedgerUnavailable):
            await reading
    assert path.read_bytes() == before and names(tmp_path) == ["ledger.db"]
