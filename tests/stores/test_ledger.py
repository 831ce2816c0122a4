"""The ledger in memory and on file, and a file that is damaged, away, full, slow or in somebody else's hands."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.ledgers import Ledger, LedgerDamaged, LedgerUnavailable
from proxy.relocation.codec import MalformedRecord, to_record
from proxy.relocation.records import MOST_OBSERVATIONS, Record, State, record_id
from proxy.stores import durablefile, ledgershelf
from proxy.stores.ledger import DAMAGED, UNAVAILABLE, SqliteLedger
from proxy.stores.ledgerfile import ON_FILE, Bounds, LedgerFile, LedgerFileDamaged
from proxy.stores.ledgerrow import key_of, row_of
from proxy.stores.ledgershelf import Shelf
from proxy.stores.memoryledger import MemoryLedger
from proxy.stores.packing import packed, unpacked
from tests.stores.ledgers import (
    GONE,
    MOVED,
    NEVER,
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
    opened,
)

pytestmark = pytest.mark.usefixtures("ledgers_closed")


async def urls(ledger: AnyLedger, host: str | None = None, state: State | None = None) -> set[str]:
    return {record.url for record in await ledger.of_host(host, state, None, 1000)}


async def test_the_port(ledger: AnyLedger) -> None:
    port: Ledger = ledger
    assert port.get(URL) is None and not await port.remove(URL, REVIVED)
    await port.put(MOVED)
    await port.put(GONE)
    newer = replace(MOVED, checked_at=NOW + 1)
    await port.put(newer)
    assert port.get(URL) == newer and port.get(GONE.url) == GONE and port.get(NEVER) is None
    assert port.by_id(record_id(URL)) == newer
    assert port.by_id(record_id(NEVER)) is None and port.by_id("none") is None
    assert await port.remove(URL, REVIVED)
    assert port.get(URL) is None and port.by_id(record_id(URL)) is None
    assert not await port.remove(URL, REVIVED)
    await ledger.probe()
    assert ledger.degraded == ()
    await port.close()
    await port.close()


async def test_listings(ledger: AnyLedger) -> None:
    records = [moved(f"https://example.com:{1000 + n}/") for n in range(5)]
    for record in [*records, GONE, gone("https://example.com/gone"), counted("https://example.com/404")]:
        await ledger.put(record)
    withdrawn = moved("https://example.com/back")
    await ledger.put(withdrawn)
    await ledger.remove(withdrawn.url, REVIVED)
    assert len(await urls(ledger)) == 7, "neither what is only counted nor what is withdrawn"
    assert len(await urls(ledger, "example.com")) == 6
    assert await urls(ledger, "example.com", State.GONE) == {"https://example.com/gone"}
    assert await urls(ledger, None, State.GONE) == {"https://example.com/gone", GONE.url}
    assert await urls(ledger, "never.example") == set()
    assert await urls(ledger, None, State.MISSING) == await urls(ledger, None, State.UNCONFIRMED) == set()


@pytest.mark.parametrize("host", [None, "example.com"])
async def test_pages_in_order_of_the_ids(ledger: AnyLedger, host: str | None) -> None:
    records = [moved(f"https://example.com/{n}") for n in range(10)]
    for record in records:
        await ledger.put(record)
    cursor, found = None, list[Record]()
    while page := await ledger.of_host(host, State.MOVED, cursor, 3):
        assert len(page) <= 3
        found += page
        cursor = record_id(page[-1].url)
    assert found == sorted(records, key=lambda record: record_id(record.url))


async def test_the_history_goes_on_when_the_origin_alternates(ledger: AnyLedger) -> None:
    for turn in range(40):
        record = gone(URL, NOW + turn)
        await ledger.put(record)
        await ledger.remove(URL, replace(REVIVED, at=NOW + turn + 0.5))
        assert ledger.get(URL) is None
    await ledger.put(moved(URL, NOW + 99))
    found = ledger.get(URL)
    assert found is not None and len(found.history) == MOST_OBSERVATIONS
    assert [seen.status for seen in found.history[-4:]] == [200, 410, 200, 308]
    assert found.state is State.MOVED


async def test_what_was_only_counted_leaves_no_history(ledger: AnyLedger) -> None:
    await ledger.put(counted())
    assert ledger.get(URL) == counted()
    assert await ledger.remove(URL, REVIVED) and ledger.get(URL) is None
    await ledger.put(MOVED)
    assert ledger.get(URL) == MOVED


async def test_a_million_withdrawals_are_bounded() -> None:
    ledger = MemoryLedger(Bounds(of_host=2, of_all=9))
    for number in range(5):
        await ledger.put(moved(f"https://{number}.example/"))
        await ledger.remove(f"https://{number}.example/", REVIVED)
    await ledger.put(moved("https://0.example/"))
    await ledger.put(moved("https://4.example/"))
    first, last = ledger.get("https://0.example/"), ledger.get("https://4.example/")
    assert first is not None and last is not None and (len(first.history), len(last.history)) == (1, 3)


# On file.


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def test_records_outlive_the_process(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED, GONE)
    again = await on_file(path)
    assert again.get(URL) == MOVED and again.get(GONE.url) == GONE
    assert list(content(tmp_path)) == ["ledger.db"] and stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_withdrawals_outlive_the_process(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED)
    ledger = await on_file(path)
    assert await ledger.remove(URL, REVIVED)
    await closed(ledger)
    again = await on_file(path)
    assert again.get(URL) is None and await urls(again) == set()
    await again.put(gone(URL, NOW + 99))
    found = again.get(URL)
    assert found is not None and [seen.status for seen in found.history] == [308, 200, 410]


PUT_AND_WAIT = """
import asyncio, sys
from pathlib import Path
from proxy.relocation.codec import parse_record
from proxy.stores.ledger import SqliteLedger

async def main():
    ledger = SqliteLedger(Path(sys.argv[1]), 1.0)
    await ledger.put(parse_record(sys.argv[2].encode()))
    print("put", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


def put_and_killed(path: Path) -> None:
    command = [sys.executable, "-c", PUT_AND_WAIT, str(path), to_record(GONE).decode()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"put\n"
        os.kill(process.pid, signal.SIGKILL)


async def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    put_and_killed(path)
    assert (await on_file(path)).get(GONE.url) == GONE


async def test_nothing_is_told_before_the_file_is_read(tmp_path: Path) -> None:
    await filled(tmp_path / "ledger.db", MOVED)
    ledger = SqliteLedger(tmp_path / "ledger.db", 1.0)
    opened.append(ledger)
    with pytest.raises(LedgerUnavailable, match="not read yet"):
        ledger.get(URL)
    with pytest.raises(LedgerUnavailable):
        ledger.by_id(record_id(URL))
    await ledger.put(GONE)
    assert ledger.get(URL) == MOVED and ledger.get(GONE.url) == GONE


async def test_what_somebody_else_writes_is_read(tmp_path: Path) -> None:
    one, two = await on_file(tmp_path / "ledger.db"), await on_file(tmp_path / "ledger.db")
    await one.put(MOVED)
    assert two.get(URL) is None
    await two.probe()
    assert two.get(URL) == MOVED
    await one.remove(URL, REVIVED)
    await two.put(GONE)
    assert two.get(URL) is None and await urls(one) == {GONE.url} and one.get(GONE.url) == GONE


async def test_puts_of_one_url_are_in_order(tmp_path: Path) -> None:
    ledger = await on_file(tmp_path / "ledger.db")
    last = [replace(MOVED, checked_at=NOW + second) for second in range(20)]
    await asyncio.gather(*map(ledger.put, last))
    assert ledger.get(URL) == last[-1]


async def test_writes_at_once_are_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, commits = await on_file(tmp_path / "ledger.db"), 0
    writing = LedgerFile.writing

    def noted(file: LedgerFile) -> object:
        nonlocal commits
        commits += 1
        return writing(file)

    monkeypatch.setattr(LedgerFile, "writing", noted)
    await asyncio.gather(*(ledger.put(moved(f"https://{n}.example/")) for n in range(50)))
    assert commits <= 2 and len(await urls(ledger)) == 50


async def test_what_cannot_be_read_back_is_not_written(tmp_path: Path) -> None:
    ledger = await on_file(tmp_path / "ledger.db")
    await ledger.put(MOVED)
    nowhere = replace(MOVED, target=None)
    both = await asyncio.gather(ledger.put(nowhere), ledger.put(GONE), return_exceptions=True)
    assert [type(one) for one in both] == [LedgerUnavailable, type(None)]
    for url in ("", "https://x.example/\udc80", "https://x.example/§"):
        with pytest.raises(LedgerUnavailable):
            await ledger.put(replace(MOVED, url=url))
    for other in (replace(MOVED, status=True), replace(MOVED, history=[*MOVED.history])):
        with pytest.raises(LedgerUnavailable):
            await ledger.put(other)
    assert ledger.get(URL) == MOVED and ledger.get(GONE.url) == GONE and ledger.degraded == ()
    with pytest.raises(LedgerUnavailable):
        await ledger.remove(URL, replace(REVIVED, at=float("nan")))
    assert ledger.get(URL) == MOVED


# A row that is damaged.


def changed_in_file(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        assert file.execute(statement, values).rowcount == 1


def cut_short(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET record=substr(record, 1, 50) WHERE id=?", key_of(URL))


def as_text(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET record='§' WHERE id=?", key_of(URL))


def unsealed(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET seal=x'00' WHERE id=?", key_of(URL))


def withdrawn_by_hand(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET rank=0 WHERE id=?", key_of(URL))


def of_another_host(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET host=? WHERE id=?", b"x.example", key_of(URL))


def of_another_time(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET checked='never' WHERE id=?", key_of(URL))


def under_another_key(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET id=x'00' WHERE id=?", key_of(URL))


def with_a_text_as_key(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET id=CAST(id AS TEXT) WHERE id=?", key_of(URL))


ROW_DAMAGES = [
    cut_short,
    as_text,
    unsealed,
    withdrawn_by_hand,
    of_another_host,
    of_another_time,
    under_another_key,
    with_a_text_as_key,
]


@pytest.mark.parametrize("damage", ROW_DAMAGES)
async def test_a_damaged_row_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED, GONE)
    damage(path)
    before = path.read_bytes()
    ledger = await on_file(path)
    for _ in range(2):
        with pytest.raises(LedgerDamaged):
            ledger.get(URL)
    assert ledger.get(GONE.url) == GONE and await urls(ledger) == {GONE.url}
    assert ledger.degraded == (DAMAGED,) and path.read_bytes() == before
    assert str(path) in caplog.text
    await ledger.put(gone())
    assert ledger.get(URL) == gone() and ledger.degraded == (), "the origin has spoken anew"
    assert await urls(ledger) == {GONE.url, URL}
    await closed(ledger)
    again = await on_file(path)
    assert again.degraded == () and again.get(URL) == gone()


@pytest.mark.parametrize("damage", ROW_DAMAGES)
async def test_a_damaged_row_can_be_withdrawn(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED, GONE)
    damage(path)
    ledger = await on_file(path)
    assert await ledger.remove(URL, REVIVED)
    assert ledger.get(URL) is None and ledger.degraded == ()
    assert not await ledger.remove(URL, REVIVED)


async def test_a_damaged_row_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED)
    unsealed(path)
    ledger, other = await on_file(path), await on_file(path)
    caplog.clear()
    await other.put(GONE)
    await ledger.probe()
    assert ledger.get(GONE.url) == GONE and ledger.degraded == (DAMAGED,) and not caplog.records


async def forged(path: Path, record: bytes) -> SqliteLedger:
    """A row whose seal is right, and what it holds is not."""
    await filled(path, MOVED, GONE)
    with closing(LedgerFile(path, 1.0, ON_FILE)) as file, file.writing():
        file.write(row_of(MOVED, record, is_withdrawn=False), is_change=False)
    return await on_file(path)


@pytest.mark.parametrize(
    "record",
    [b"", b"\0", packed(b"{}"), packed(to_record(GONE)), packed(to_record(replace(MOVED, target=None)))],
    ids=["empty", "not packed", "no record", "of another", "contradictory"],
)
async def test_what_nobody_has_written_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, record: bytes
) -> None:
    ledger = await forged(tmp_path / "ledger.db", record)
    assert ledger.degraded == ()
    for _ in range(2):
        with pytest.raises(LedgerDamaged):
            ledger.get(URL)
    assert ledger.degraded == (DAMAGED,) and len(caplog.records) == 1
    assert await ledger.remove(URL, REVIVED) and ledger.get(URL) is None and ledger.degraded == ()


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
        file.execute("DROP TABLE records")


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


async def cannot_write(ledger: SqliteLedger) -> None:
    with pytest.raises(LedgerUnavailable):
        await ledger.put(MOVED)
    with pytest.raises(LedgerUnavailable):
        await ledger.remove(URL, REVIVED)
    for reading in (ledger.of_host(None, None, None, 9), ledger.changes(0, 9), ledger.last_change()):
        with pytest.raises(LedgerUnavailable):
            await reading


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_damaged_file_is_refused_and_left_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, loss: Callable[[Path], None]
) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED, GONE)
    loss(path)
    before = content(tmp_path)
    ledger = await on_file(path)
    assert ledger.degraded == (DAMAGED,)
    with pytest.raises(LedgerUnavailable):
        ledger.get(NEVER)
    await cannot_write(ledger)
    await ledger.probe()
    await closed(ledger)
    assert content(tmp_path) == before
    [told] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert str(path) in told.getMessage() and "restore the file from a backup" in told.getMessage()


async def test_a_file_that_is_damaged_while_in_use(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED)
    ledger = await on_file(path)
    without_tables(path)
    await cannot_write(ledger)
    assert ledger.degraded == (DAMAGED,)
    assert ledger.get(URL) == MOVED, "it was whole when it was read"


def outcome(path: Path, url: str) -> Record | str | None:
    try:
        with closing(LedgerFile(path, 1.0, ON_FILE)) as file:
            return Shelf(file.read_all()).get(key_of(url))
    except LedgerUnavailable as error:
        return type(error).__name__


async def test_no_octet_of_the_file_changes_what_is_told(tmp_path: Path) -> None:
    """A record is as it was, or refused: never gone, never another."""
    path, changed = tmp_path / "ledger.db", tmp_path / "changed.db"
    await filled(path, MOVED, GONE)
    octets = path.read_bytes()
    used = [offset for offset, octet in enumerate(octets) if octet]
    seen: set[str] = set()
    for offset in [*range(100), *used[::3]]:
        flipped = bytearray(octets)
        flipped[offset] ^= 1 << offset % 8
        changed.write_bytes(flipped)
        for record in (MOVED, GONE):
            found = outcome(changed, record.url)
            assert isinstance(found, str) or found == record, f"octet {offset}"
            seen.add(found if isinstance(found, str) else "as it was")
    assert seen >= {"as it was", "LedgerDamaged", "LedgerFileDamaged"}


# A file that cannot be used.


async def test_a_folder_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "var").write_text("in the way")
    ledger = await on_file(tmp_path / "var" / "ledger.db")
    assert ledger.degraded == (UNAVAILABLE,) and "no relocation can be recorded" in caplog.text
    with pytest.raises(LedgerUnavailable):
        ledger.get(URL)
    await cannot_write(ledger)
    (tmp_path / "var").unlink()
    await ledger.probe()
    assert ledger.degraded == () and ledger.get(URL) is None
    await ledger.put(MOVED)
    assert ledger.get(URL) == MOVED


async def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, GONE)
    with monkeypatch.context() as full:
        full.setattr(durablefile, "_PRAGMAS", (*durablefile._PRAGMAS, "max_page_count=6"))
        ledger = await on_file(path)
        many = [moved(f"https://{n}.example/{'x' * 1900}") for n in range(40)]
        ended = await asyncio.gather(*map(ledger.put, many), return_exceptions=True)
    assert {type(error) for error in ended} == {LedgerUnavailable}
    assert ledger.degraded == (UNAVAILABLE,)
    assert ledger.get(many[0].url) is None and ledger.get(GONE.url) == GONE, "nothing is told that is not recorded"
    await closed(ledger)
    again = await on_file(path)
    assert await urls(again) == {GONE.url}
    await again.put(many[0])
    assert again.get(many[0].url) == many[0]


async def test_a_file_that_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED)
    ledger = await on_file(path, 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        for _ in range(30):
            with pytest.raises(LedgerUnavailable):
                await ledger.put(GONE)
        assert time.monotonic() - began < 3.0, "after three nobody waits"
        assert ledger.degraded == (UNAVAILABLE,)
        assert ledger.get(URL) == MOVED and ledger.get(GONE.url) is None
    await ledger.probe()
    await ledger.put(GONE)
    assert ledger.degraded == () and ledger.get(GONE.url) == GONE


async def test_a_file_moved_away_while_in_use_is_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, MOVED)
    ledger = await on_file(path)
    path.rename(tmp_path / "away.db")
    await cannot_write(ledger)
    assert not path.exists() and ledger.degraded == (UNAVAILABLE,) and ledger.get(URL) == MOVED


def hanging(gate: threading.Event, method: Callable[..., object]) -> Callable[..., object]:
    """It goes on when the gate is opened."""

    def work(*arguments: object, **named: object) -> object:
        gate.wait(20)
        return method(*arguments, **named)

    return work


async def test_a_write_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ledger, gate = await on_file(tmp_path / "ledger.db", 0.02), threading.Event()
    monkeypatch.setattr(LedgerFile, "write", hanging(gate, LedgerFile.write))
    began = time.monotonic()
    for record in [MOVED, *(moved(f"https://{n}.example/") for n in range(30))]:
        with pytest.raises(LedgerUnavailable):
            await ledger.put(record)
    with pytest.raises(LedgerUnavailable):
        await ledger.of_host(None, None, None, 9)
    assert time.monotonic() - began < 3.0, "after three nobody waits"
    assert ledger.degraded == (UNAVAILABLE,) and "take too long" in caplog.text
    gate.set()
    for _ in range(50):
        await ledger.probe()
    assert ledger.degraded == () and ledger.get(URL) == MOVED, "it was under way"
    assert await urls(ledger) == {URL}, "nor is anything else written after an error"


async def test_a_page_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, gate = await on_file(tmp_path / "ledger.db", 0.02), threading.Event()
    monkeypatch.setattr(LedgerFile, "page", hanging(gate, LedgerFile.page))
    with pytest.raises(LedgerUnavailable):
        await ledger.of_host(None, None, None, 9)
    assert ledger.degraded == (UNAVAILABLE,)
    gate.set()


async def test_who_gives_up_leaves_his_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, gate = await on_file(tmp_path / "ledger.db"), threading.Event()
    monkeypatch.setattr(LedgerFile, "write", hanging(gate, LedgerFile.write))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await ledger.put(MOVED)
    gate.set()
    await closed(ledger)
    assert (await on_file(tmp_path / "ledger.db")).get(URL) == MOVED


async def test_a_ledger_that_is_closed(tmp_path: Path) -> None:
    ledger = await on_file(tmp_path / "ledger.db")
    await ledger.put(MOVED)
    await closed(ledger)
    await cannot_write(ledger)
    await ledger.probe()
    await ledger.close()


async def test_a_ledger_closed_while_its_file_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, gate = await on_file(tmp_path / "ledger.db", 0.05), threading.Event()
    monkeypatch.setattr(LedgerFile, "write", hanging(gate, LedgerFile.write))
    under_way = asyncio.gather(ledger.put(MOVED), ledger.put(GONE), return_exceptions=True)
    await asyncio.sleep(0.1)
    waiting = asyncio.gather(ledger.put(counted()), return_exceptions=True)
    await asyncio.sleep(0)
    await closed(ledger)
    assert {type(error) for error in (*await under_way, *await waiting)} == {LedgerUnavailable}
    gate.set()


# What is too much.


def of_one_host(number: int) -> Record:
    return moved(f"https://example.com/{number}", NOW + number)


@pytest.mark.parametrize("kind", [in_memory, on_file], ids=["memory", "sqlite"])
async def test_a_host_is_bounded(tmp_path: Path, kind: Kind) -> None:
    ledger = await kind(tmp_path / "ledger.db", bounds=Bounds(of_host=4, of_all=100))
    tombstone = gone("https://example.com/gone", NOW - 99)
    for record in (tombstone, GONE, *map(of_one_host, range(3))):
        await ledger.put(record)
    assert ledger.get("https://example.com/0") is not None, "asked for"
    await ledger.put(of_one_host(3))
    left = await urls(ledger, "example.com")
    assert len(left) == 4 and tombstone.url in left and "https://example.com/3" in left
    for number in range(4, 20):
        await ledger.put(of_one_host(number))
    left = await urls(ledger, "example.com")
    assert len(left) == 4 and tombstone.url in left and "https://example.com/19" in left
    assert GONE.url in await urls(ledger)
    assert [url for url in left if ledger.get(url) is None] == []
    for number in range(9):
        await ledger.put(gone(f"https://example.com/gone/{number}", NOW + number))
    await ledger.put(of_one_host(77))
    left = await urls(ledger, "example.com")
    assert len(left) == 4 and "https://example.com/77" in left, "what is written is not what goes"


@pytest.mark.parametrize("kind", [in_memory, on_file], ids=["memory", "sqlite"])
async def test_all_are_bounded(tmp_path: Path, kind: Kind) -> None:
    ledger = await kind(tmp_path / "ledger.db", bounds=Bounds(of_host=99, of_all=5))
    await ledger.put(counted("https://counted.example/", NOW + 999))
    await ledger.put(GONE)
    for number in range(3):
        await ledger.put(moved(f"https://{number}.example/", NOW + number))
    assert ledger.get("https://counted.example/") is not None
    await ledger.put(moved("https://9.example/", NOW + 9))
    assert ledger.get("https://counted.example/") is None, "what is only counted goes first"
    assert len(await urls(ledger)) == 5 and GONE.url in await urls(ledger)
    assert await ledger.remove("https://9.example/", REVIVED)
    await ledger.put(moved("https://10.example/", NOW + 10))
    assert len(await urls(ledger)) == 5, "the history of a withdrawn one goes before a record"


async def test_those_not_asked_for_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    await filled(path, *map(of_one_host, range(3)))
    ledger = await on_file(path, bounds=Bounds(of_host=3, of_all=100))
    assert ledger.get("https://example.com/0") == of_one_host(0)
    await ledger.put(of_one_host(3))
    assert await urls(ledger) == {f"https://example.com/{n}" for n in (0, 2, 3)}
    assert ledger.get("https://example.com/1") is None


async def test_room_is_made_for_some_at_once(tmp_path: Path) -> None:
    ledger = await on_file(tmp_path / "ledger.db", bounds=Bounds(of_host=200, of_all=1000))
    for numbers in (range(150), range(150, 201)):
        await asyncio.gather(*(ledger.put(of_one_host(number)) for number in numbers))
    assert len(await urls(ledger)) == 198
    with closing(sqlite3.connect(tmp_path / "ledger.db", timeout=0.1)) as other, other:
        other.execute("DELETE FROM records")  # it is not locked


async def test_what_is_written_at_once_is_not_what_goes(tmp_path: Path) -> None:
    ledger = await on_file(tmp_path / "ledger.db", bounds=Bounds(of_host=1, of_all=2))
    await asyncio.gather(*(ledger.put(of_one_host(number)) for number in range(4)))
    assert len(await urls(ledger)) == 4, "each was told that it is recorded"
    await ledger.put(of_one_host(9))
    assert await urls(ledger) == {"https://example.com/9"}


# In memory.


def shelved(*records: Record, most_at_hand: int = 2) -> Shelf:
    return Shelf({key_of(record.url): packed(to_record(record)) for record in records}, most_at_hand)


def test_those_asked_for_last_are_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [of_one_host(number) for number in range(3)]
    keys = [key_of(record.url) for record in records]
    shelf = shelved(*records)
    found = [shelf.get(key) for key in keys[:2]]
    assert shelf.get(keys[0]) is found[0] and shelf.is_at_hand(keys[1])
    assert shelf.get(keys[2]) == records[2]
    assert [shelf.is_at_hand(key) for key in keys] == [True, False, True]
    monkeypatch.setattr(ledgershelf, "parse_record", None)
    assert shelf.get(keys[0]) is found[0]


def test_what_is_written_is_at_hand() -> None:
    shelf, key = shelved(MOVED), key_of(URL)
    assert shelf.get(key) == MOVED
    newer = replace(MOVED, checked_at=NOW + 1)
    shelf.update([(key, packed(to_record(newer)), newer)])
    assert shelf.get(key) is newer
    shelf.update([(key, None, None), (key, None, None)])
    assert shelf.get(key) is None and not shelf.has_damaged


@pytest.mark.parametrize("record", [MOVED, GONE, counted(), replace(MOVED, history=MOVED.history * 32)])
def test_a_record_is_packed_and_unpacked(record: Record) -> None:
    octets = to_record(record)
    assert unpacked(packed(octets)) == octets and len(packed(octets)) < 260


@pytest.mark.parametrize(
    "octets",
    [b"", b"\xff" * 99, packed(b"x" * 999)[:-1], packed(b"x") + b"y", packed(bytes(1 << 24))],
    ids=["empty", "not packed", "cut short", "goes on", "too large"],
)
def test_what_cannot_be_unpacked(octets: bytes) -> None:
    with pytest.raises(MalformedRecord):
        unpacked(octets)


@given(st.binary(max_size=400), st.integers(0, 400))
def test_no_octets_break_unpacking(noise: bytes, offset: int) -> None:
    octets = packed(to_record(MOVED))
    for changed in (noise, octets[:offset] + noise, octets[:offset] + noise + octets[offset:]):
        with suppress(MalformedRecord):
            unpacked(changed)


def test_damaged_is_a_family() -> None:
    assert issubclass(LedgerFileDamaged, LedgerDamaged) and issubclass(LedgerDamaged, LedgerUnavailable)
