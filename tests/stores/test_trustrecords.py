"""Trust records in memory and on file, and a file that is damaged, away, full, slow or in somebody else's hands."""

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
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from proxy.stores import durablefile, trustfile
from proxy.stores.recentknowledge import RecentKnowledge
from proxy.stores.trustfile import TrustFile, TrustFileDamaged
from proxy.stores.trustrecords import DAMAGED, UNAVAILABLE, MemoryTrustRecords, SqliteTrustRecords
from proxy.trust.records.codec import to_record
from proxy.trust.records.knowledge import Knowledge
from proxy.trust.records.publication import MIRRORS, Edition, KnownManifest, edition
from proxy.trustrecords import TrustRecords, TrustRecordsDamaged, TrustRecordsUnavailable
from tests.trust.records.domains import LISTED, NOW, URL, accepted, known_domain, manifest, version

KNOWN = known_domain()
OTHER = known_domain("other.example")
NEWER = replace(KNOWN, latest_time=KNOWN.latest_time + 1)

opened: list[SqliteTrustRecords] = []


@pytest_asyncio.fixture(autouse=True)
async def files_closed() -> AsyncIterator[None]:
    yield
    while opened:
        await opened.pop().close()


def on_file(path: Path, operation_timeout: float = 5.0, most_expendable: int = 100) -> SqliteTrustRecords:
    """Without haste: a busy machine is not to be taken for a slow file."""
    records = SqliteTrustRecords(path, operation_timeout, most_expendable)
    opened.append(records)
    return records


async def closed(*records: SqliteTrustRecords) -> None:
    for each in records:
        opened.remove(each)
        await each.close()


async def filled(path: Path, *known: Knowledge) -> None:
    """A file with these records, which nobody has open."""
    records = on_file(path)
    for knowledge in known:
        await records.put(knowledge)
    await closed(records)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def in_memory(_: Path) -> MemoryTrustRecords:
    return MemoryTrustRecords()


@pytest.fixture(params=[in_memory, on_file], ids=["memory", "sqlite"])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryTrustRecords | SqliteTrustRecords:
    made: MemoryTrustRecords | SqliteTrustRecords = request.param(tmp_path / "new" / "folder" / "trust.db")
    return made


async def test_the_port(records: MemoryTrustRecords | SqliteTrustRecords) -> None:
    port: TrustRecords = records
    assert await port.get("example.com") is None
    assert await port.authorities(10) == () and not await port.remove("example.com")
    await port.put(OTHER)
    await port.put(KNOWN)
    await port.put(NEWER)
    assert await port.get("example.com") == NEWER and await port.get("other.example") == OTHER
    assert await port.authorities(10) == ("example.com", "other.example")
    assert await port.authorities(1) == ("example.com",)
    assert await port.remove("example.com") and await port.get("example.com") is None
    assert not await port.remove("example.com")
    await records.probe()
    assert records.degraded == ()
    await records.close()
    if isinstance(records, SqliteTrustRecords):
        opened.remove(records)


async def test_puts_of_one_authority_are_in_order(tmp_path: Path) -> None:
    records = on_file(tmp_path / "trust.db")
    times = [KNOWN.latest_time + second for second in range(20)]
    await asyncio.gather(*(records.put(replace(KNOWN, latest_time=time)) for time in times))
    assert await records.get("example.com") == replace(KNOWN, latest_time=times[-1])


async def test_what_is_read_is_read_again_from_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(tmp_path / "trust.db", KNOWN)
    records = on_file(tmp_path / "trust.db")
    first = await records.get("example.com")
    monkeypatch.setattr(trustfile, "parse_record", None)
    assert await records.get("example.com") is first


async def test_two_handles(tmp_path: Path) -> None:
    one, two = on_file(tmp_path / "trust.db"), on_file(tmp_path / "trust.db")
    await one.put(KNOWN)
    assert await two.get("example.com") == KNOWN
    await two.put(NEWER)
    assert await one.get("example.com") == NEWER
    assert await two.remove("example.com") and await one.get("example.com") is None


async def test_records_outlive_the_process(tmp_path: Path) -> None:
    await filled(tmp_path / "trust.db", KNOWN, OTHER)
    again = on_file(tmp_path / "trust.db")
    assert await again.get("example.com") == KNOWN and await again.get("other.example") == OTHER
    assert list(content(tmp_path)) == ["trust.db"]


PUT_AND_WAIT = """
import asyncio, sys
from pathlib import Path
from proxy.stores.trustrecords import SqliteTrustRecords
from proxy.trust.records.knowledge import Knowledge

async def main():
    records = SqliteTrustRecords(Path(sys.argv[1]))
    await records.put(Knowledge("example.com", "did:web:example.com", latest_time=7.0))
    print("put", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


def put_and_killed(path: Path) -> None:
    command = [sys.executable, "-c", PUT_AND_WAIT, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"put\n"
        os.kill(process.pid, signal.SIGKILL)


async def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    put_and_killed(tmp_path / "trust.db")
    found = await on_file(tmp_path / "trust.db").get("example.com")
    assert found == Knowledge("example.com", "did:web:example.com", latest_time=7.0)


async def test_only_the_owner_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[int] = set()
    link = os.link

    def noted(new: str, path: Path) -> None:
        seen.update(modes(tmp_path))
        link(new, path)
        seen.update(modes(tmp_path))

    monkeypatch.setattr(os, "link", noted)
    old = os.umask(0)
    try:
        await filled(tmp_path / "trust.db", KNOWN)
        with closing(sqlite3.connect(tmp_path / "trust.db", isolation_level=None)) as writer:
            writer.execute("BEGIN")
            writer.execute("DELETE FROM records")
            assert sorted(content(tmp_path)) == ["trust.db", "trust.db-journal"]
            seen.update(modes(tmp_path))
            writer.execute("ROLLBACK")
    finally:
        os.umask(old)
    assert seen == {0o600}


async def test_who_is_quicker_makes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN)
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert await on_file(path).get("example.com") == KNOWN
    assert list(content(tmp_path)) == ["trust.db"]


def known_manifest(listing: bytes) -> KnownManifest:
    """One with such a list of mirrors, which need not be one."""
    return KnownManifest(URL, Edition(listing, "a" * 64, version(manifest()), True, NOW))


# A record that is damaged.


def changed_in_file(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        assert file.execute(statement, values).rowcount == 1


def of_another(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET record=? WHERE authority=?", to_record(OTHER), b"example.com")


def cut_short(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET record=substr(record, 1, 900) WHERE authority=?", b"example.com")


def as_text(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET record='§' WHERE authority=?", b"example.com")


def under_another_key(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET authority=? WHERE authority=?", b"\xffxample.com", b"example.com")


def with_a_text_as_key(path: Path) -> None:
    changed_in_file(path, "UPDATE records SET authority='example.com' WHERE authority=?", b"example.com")


def with_another_list(path: Path) -> None:
    """The digest is right, what it vouches for is not."""
    unreadable = replace(KNOWN, manifests={URL: known_manifest(b"{")})
    changed_in_file(path, "UPDATE records SET record=? WHERE authority=?", to_record(unreadable), b"example.com")


DAMAGES = [of_another, cut_short, as_text, under_another_key, with_a_text_as_key, with_another_list]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_record_is_neither_used_nor_written_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN, OTHER)
    damage(path)
    before = path.read_bytes()
    records = on_file(path)
    for _ in range(2):
        with pytest.raises(TrustRecordsDamaged):
            await records.get("example.com")
        with pytest.raises(TrustRecordsDamaged):
            await records.put(NEWER)
    assert await records.get("other.example") == OTHER
    assert path.read_bytes() == before
    assert records.degraded == (DAMAGED,)
    [told] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert str(path) in told.getMessage() and "example.com" in told.getMessage()
    assert await records.remove("example.com")
    assert await records.get("example.com") is None and records.degraded == ()
    await records.put(KNOWN)
    assert await records.get("example.com") == KNOWN
    assert await records.authorities(9) == ("example.com", "other.example")


async def test_a_record_that_is_damaged_while_in_use(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN)
    records = on_file(path)
    assert await records.get("example.com") == KNOWN
    cut_short(path)
    with pytest.raises(TrustRecordsDamaged):
        await records.get("example.com")
    assert records.degraded == (DAMAGED,) and len(caplog.records) == 1


async def test_what_cannot_be_read_back_is_not_written(tmp_path: Path) -> None:
    records = on_file(tmp_path / "trust.db")
    await records.put(KNOWN)
    unreadable = replace(KNOWN, manifests={URL: known_manifest(b'{"a":1,"a":1}')})
    unlike_others = replace(KNOWN, manifests={URL: known_manifest(b"[]")})
    for known in (unreadable, unlike_others):
        with pytest.raises(TrustRecordsUnavailable):
            await records.put(known)
    assert await records.get("example.com") == KNOWN and records.degraded == ()
    both = await asyncio.gather(records.put(unreadable), records.put(OTHER), return_exceptions=True)
    assert [type(one) for one in both] == [TrustRecordsUnavailable, type(None)]
    assert await records.get("other.example") == OTHER


# A file that is damaged as a whole.


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def no_database(path: Path) -> None:
    path.write_bytes(b"not a database" * 1000)


def of_another_schema(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA user_version=99")


def of_another_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE records (authority, record)")
        file.execute("PRAGMA user_version=1")


def without_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DROP TABLE records")


def with_a_damaged_page(path: Path) -> None:
    octets = bytearray(path.read_bytes())
    octets[4096:4200] = b"\xff" * 104
    path.write_bytes(octets)


def with_a_schema_that_is_no_text(path: Path) -> None:
    octets = path.read_bytes()
    path.write_bytes(octets.replace(b"CREATE TABLE records", b"CREATE TABLE r\xe5cords"))


LOSSES = [
    emptied,
    no_database,
    of_another_schema,
    of_another_program,
    without_tables,
    with_a_damaged_page,
    with_a_schema_that_is_no_text,
]


async def refuses(records: SqliteTrustRecords) -> None:
    """Whatever is asked of it."""
    with pytest.raises(TrustRecordsUnavailable):
        await records.get("example.com")
    with pytest.raises(TrustRecordsUnavailable):
        await records.get("never.example")
    with pytest.raises(TrustRecordsUnavailable):
        await records.put(KNOWN)
    with pytest.raises(TrustRecordsUnavailable):
        await records.authorities(1)
    with pytest.raises(TrustRecordsUnavailable):
        await records.remove("example.com")


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_damaged_file_is_refused_and_left_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, loss: Callable[[Path], None]
) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN, OTHER)
    loss(path)
    before = content(tmp_path)
    records = on_file(path)
    await records.probe()
    assert records.degraded == (DAMAGED,)
    await refuses(records)
    await closed(records)
    assert content(tmp_path) == before
    [told] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert str(path) in told.getMessage() and "restore the file from a backup" in told.getMessage()


async def test_a_file_that_is_damaged_while_in_use(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN)
    records = on_file(path)
    await records.probe()
    without_tables(path)
    await refuses(records)
    assert records.degraded == (DAMAGED,) and len(caplog.records) == 1


@pytest.mark.parametrize("is_many", [False, True], ids=["few", "many"])
async def test_a_file_cut_short_is_refused(tmp_path: Path, is_many: bool) -> None:
    path = tmp_path / "trust.db"
    others = [replace(OTHER, authority=f"{number}.example") for number in range(30 * is_many)]
    await filled(path, KNOWN, *others)
    octets = path.read_bytes()
    lengths = {*range(0, 101, 20), *range(511, len(octets), 1511), *range(4096, len(octets), 4096)}
    cut = tmp_path / "cut.db"
    for length in sorted({*lengths, len(octets) - 1}):
        cut.write_bytes(octets[:length])
        with pytest.raises(TrustFileDamaged):
            TrustFile(cut, 1.0, 100)
        assert cut.read_bytes() == octets[:length]


def outcome(path: Path, authority: str) -> Knowledge | str | None:
    try:
        with closing(TrustFile(path, 1.0, 100)) as file:
            found = file.read(authority)
            return None if found is None else found[0]
    except TrustRecordsUnavailable as error:
        return type(error).__name__


async def test_no_octet_of_the_file_changes_what_is_known(tmp_path: Path) -> None:
    """A record is as it was, or refused: never gone, never another."""
    path = tmp_path / "trust.db"
    await filled(path, KNOWN, OTHER)
    octets = path.read_bytes()
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA page_size").fetchone() == (4096,)
    headers = [*range(100), *range(3900, 4120)]
    changed = tmp_path / "changed.db"
    seen: set[str] = set()
    for offset in [*headers, *range(4121, len(octets), 13)]:
        flipped = bytearray(octets)
        flipped[offset] ^= 1 << offset % 8
        changed.write_bytes(flipped)
        for known in (KNOWN, OTHER):
            found = outcome(changed, known.authority)
            assert isinstance(found, str) or found == known, f"octet {offset}"
            seen.add(found if isinstance(found, str) else "as it was")
    assert seen >= {"as it was", "TrustRecordsDamaged", "TrustFileDamaged"}


# A file that cannot be used.


async def cannot_be_asked(records: SqliteTrustRecords) -> None:
    with pytest.raises(TrustRecordsUnavailable):
        await records.get("never.example")
    with pytest.raises(TrustRecordsUnavailable):
        await records.authorities(1)
    with pytest.raises(TrustRecordsUnavailable):
        await records.remove("example.com")


async def test_a_folder_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "var").write_text("in the way")
    records = on_file(tmp_path / "var" / "trust.db")
    await records.probe()
    await cannot_be_asked(records)
    assert records.degraded == (UNAVAILABLE,)
    [told] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "cannot be used" in told.getMessage()
    await records.put(KNOWN)
    assert await records.get("example.com") == KNOWN
    (tmp_path / "var").unlink()
    caplog.set_level(logging.INFO)
    await records.probe()
    assert records.degraded == () and "can be used again" in caplog.text
    await closed(records)
    assert await on_file(tmp_path / "var" / "trust.db").get("example.com") == KNOWN


async def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "trust.db").mkdir()
    records = on_file(tmp_path / "trust.db")
    await cannot_be_asked(records)
    assert records.degraded == (UNAVAILABLE,)


async def test_a_disk_that_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN)
    body = manifest(**{MIRRORS: ["https://mirror.example/" + "x" * 50_000]})
    with monkeypatch.context() as full:
        full.setattr(durablefile, "_PRAGMAS", (*durablefile._PRAGMAS, "max_page_count=6"))
        records = on_file(path)
        large = replace(NEWER, manifests={URL: KnownManifest(URL, of(body))})
        await records.put(large)
        assert records.degraded == (UNAVAILABLE,)
        assert await records.get("example.com") == large, "it is known until the process ends"
        assert await records.get("never.example") is None
        assert records.degraded == (UNAVAILABLE,), "what waits is not durable"
        await closed(records)
        assert "is lost" in caplog.text and "example.com" in caplog.text
    assert await on_file(path).get("example.com") == KNOWN, "what was there is there"


def of(body: bytes) -> Edition:
    return edition(body, version(body), signed=True, accepted_at=NOW)


async def test_a_file_that_may_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN)
    monkeypatch.setattr(durablefile, "_PRAGMAS", (*durablefile._PRAGMAS, "query_only=ON"))
    records = on_file(path)
    assert await records.get("example.com") == KNOWN
    await records.put(NEWER)
    assert records.degraded == (UNAVAILABLE,)
    assert await records.get("example.com") == NEWER


@pytest.mark.skipif(os.geteuid() == 0, reason="who is root may write everywhere")
async def test_a_folder_that_may_only_be_read(tmp_path: Path) -> None:
    await filled(tmp_path / "var" / "trust.db", KNOWN)
    (tmp_path / "var").chmod(0o500)
    records = on_file(tmp_path / "var" / "trust.db")
    assert await records.get("example.com") == KNOWN
    await records.put(NEWER)
    assert records.degraded == (UNAVAILABLE,)
    (tmp_path / "var").chmod(0o700)


async def test_a_locked_file(tmp_path: Path) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN, OTHER)
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        records = on_file(path, 0.1)
        began = time.monotonic()
        for _ in range(50):
            with pytest.raises(TrustRecordsUnavailable):
                await records.get("example.com")
        assert time.monotonic() - began < 2.0, "after three nobody waits"
        assert records.degraded == (UNAVAILABLE,)
    await records.probe()
    assert records.degraded == () and await records.get("example.com") == KNOWN


async def test_what_cannot_be_written_now_is_written_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN)
    records = on_file(path, 0.1)
    assert await records.get("example.com") == KNOWN
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        for second in range(20):
            await records.put(replace(KNOWN, latest_time=NOW + second))
        await records.put(OTHER)
        assert records.degraded == (UNAVAILABLE,)
        assert await records.get("example.com") == replace(KNOWN, latest_time=NOW + 19)
        assert await records.get("other.example") == OTHER
        assert await records.authorities(9) == ("example.com", "other.example")
    await records.probe()
    assert records.degraded == ()
    await records.put(NEWER)
    again = on_file(path)
    assert await again.get("example.com") == NEWER and await again.get("other.example") == OTHER


async def test_the_last_attempt_is_made_when_the_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN)
    records = on_file(path, 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        await records.put(NEWER)
    await closed(records)
    assert await on_file(path).get("example.com") == NEWER
    with pytest.raises(TrustRecordsUnavailable):
        await records.get("example.com")
    with pytest.raises(TrustRecordsUnavailable):
        await records.put(NEWER)
    await records.probe()
    await records.close()


async def test_what_waits_can_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "trust.db"
    await filled(path, OTHER)
    records = on_file(path, 0.1)
    assert await records.get("other.example") == OTHER
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        await records.put(KNOWN)
        with pytest.raises(TrustRecordsUnavailable):
            await records.remove("example.com")
        assert await records.get("example.com") == KNOWN
    assert await records.remove("example.com")
    assert await records.get("example.com") is None
    await records.probe()
    assert await records.authorities(9) == ("other.example",)


async def test_a_file_that_is_damaged_while_something_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN)
    records = on_file(path, 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        await records.put(NEWER)
    without_tables(path)
    await records.probe()
    await refuses(records)
    assert records.degraded == (DAMAGED,) and "is lost" in caplog.text


async def test_a_file_that_is_damaged_when_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = on_file(tmp_path / "trust.db")
    await records.put(KNOWN)

    def damaged(*_: object) -> None:
        raise TrustFileDamaged("simulated")

    monkeypatch.setattr(TrustFile, "write", damaged)
    both = await asyncio.gather(records.put(NEWER), records.put(OTHER), return_exceptions=True)
    assert [type(error) for error in both] == [TrustFileDamaged, TrustFileDamaged]
    await refuses(records)


# A file that hangs.


def slow(seconds: float, method: Callable[..., object]) -> Callable[..., object]:
    def work(*arguments: object) -> object:
        time.sleep(seconds)
        return method(*arguments)

    return work


def hanging(gate: threading.Event, method: Callable[..., object]) -> Callable[..., object]:
    """It goes on when the gate is opened."""

    def work(*arguments: object) -> object:
        gate.wait(20)
        return method(*arguments)

    return work


async def test_a_read_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await filled(tmp_path / "trust.db", KNOWN)
    records, gate = on_file(tmp_path / "trust.db", 0.1), threading.Event()
    await records.probe()
    monkeypatch.setattr(TrustFile, "version", hanging(gate, TrustFile.version))
    began = time.monotonic()
    for _ in range(50):
        with pytest.raises(TrustRecordsUnavailable):
            await records.get("example.com")
    assert time.monotonic() - began < 3.0, "after three nobody waits"
    assert records.degraded == (UNAVAILABLE,) and "take too long" in caplog.text
    gate.set()
    await records.probe()
    assert records.degraded == () and await records.get("example.com") == KNOWN


async def test_a_write_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records, gate = on_file(tmp_path / "trust.db", 0.05), threading.Event()
    await records.put(KNOWN)
    monkeypatch.setattr(TrustFile, "write", hanging(gate, TrustFile.write))
    await records.put(NEWER)
    assert await records.get("example.com") == NEWER
    assert records.degraded == (UNAVAILABLE,)
    gate.set()
    await records.probe()
    assert records.degraded == ()
    again = on_file(tmp_path / "trust.db")
    assert await again.get("example.com") == NEWER


async def test_a_write_that_hangs_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    records, gate = on_file(tmp_path / "trust.db", 0.05), threading.Event()
    await records.put(KNOWN)
    monkeypatch.setattr(TrustFile, "write", hanging(gate, TrustFile.write))
    began = time.monotonic()
    for second in range(30):
        await records.put(replace(KNOWN, latest_time=NOW + second))
    await closed(records)
    assert time.monotonic() - began < 9.0 and "is lost" in caplog.text
    gate.set()


async def test_the_first_opening_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(tmp_path / "trust.db", KNOWN)
    monkeypatch.setattr(TrustFile, "__init__", slow(0.2, TrustFile.__init__))
    assert await on_file(tmp_path / "trust.db", 0.1).get("example.com") == KNOWN


async def test_who_gives_up_leaves_his_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = on_file(tmp_path / "trust.db")
    await records.put(KNOWN)
    monkeypatch.setattr(TrustFile, "write", slow(0.2, TrustFile.write))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await records.put(NEWER)
    await closed(records)
    assert await on_file(tmp_path / "trust.db").get("example.com") == NEWER


async def test_writes_at_once_are_one_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = on_file(tmp_path / "trust.db")
    await records.probe()
    commits = 0
    writing = TrustFile.writing

    def counted(file: TrustFile) -> object:
        nonlocal commits
        commits += 1
        return writing(file)

    monkeypatch.setattr(TrustFile, "writing", counted)
    await asyncio.gather(*(records.put(Knowledge(f"{n}.example", "")) for n in range(50)))
    assert commits <= 2 and len(await records.authorities(99)) == 50


async def test_a_file_moved_away_while_in_use_is_not_made_anew(tmp_path: Path) -> None:
    path, away = tmp_path / "trust.db", tmp_path / "away.db"
    await filled(path, KNOWN)
    records = on_file(path)
    assert await records.get("example.com") == KNOWN
    path.rename(away)
    await cannot_be_asked(records)
    assert records.degraded == (UNAVAILABLE,) and not path.exists()
    await filled(path, OTHER)
    await records.probe()
    await cannot_be_asked(records)
    away.replace(path)
    await records.probe()
    assert await records.get("example.com") == KNOWN and records.degraded == ()


# What may be forgotten.


def host(number: int) -> Knowledge:
    """A host that serves a manifest, and has neither keys nor mirrors."""
    authority = f"{number:02}.example"
    known = accepted(Knowledge(authority, f"did:web:{authority}"), URL, manifest(n=number))
    return replace(known, latest_time=NOW + number)


def with_mirrors(number: int) -> Knowledge:
    return accepted(host(number), URL, manifest(**LISTED), number)


def names(*numbers: int) -> tuple[str, ...]:
    return tuple(f"{number:02}.example" for number in numbers)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_hosts_without_keys_and_mirrors_are_bounded(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "trust.db"
    records = MemoryTrustRecords(3) if kind == "memory" else on_file(path, most_expendable=3)
    await records.put(KNOWN)
    for number in range(3):
        await records.put(host(number))
    assert await records.get("00.example") == host(0)
    await records.put(host(3))
    assert await records.authorities(99) == (*names(0, 2, 3), "example.com")
    await records.put(with_mirrors(2))
    await records.put(host(4))
    await records.put(with_mirrors(5))
    assert await records.authorities(99) == (*names(0, 2, 3, 4, 5), "example.com")
    await records.put(host(2))
    assert await records.authorities(99) == (*names(2, 3, 4, 5), "example.com"), "no mirrors any more"
    assert await records.get("00.example") is None
    assert await records.remove("03.example")
    await records.put(host(6))
    assert await records.authorities(99) == (*names(2, 4, 5, 6), "example.com")


async def test_a_file_of_before_is_bounded_too(tmp_path: Path) -> None:
    path = tmp_path / "trust.db"
    await filled(path, KNOWN, *map(host, (3, 1, 0, 2)))
    records = on_file(path, most_expendable=3)
    assert len(await records.authorities(99)) == 5
    await records.put(NEWER)
    assert await records.authorities(99) == (*names(1, 2, 3), "example.com")


async def test_what_somebody_else_has_learnt_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "trust.db"
    await filled(path, *map(host, range(3)))
    records, other = on_file(path, most_expendable=1), on_file(path)
    await records.probe()
    await other.put(with_mirrors(0))
    assert await other.remove("01.example")
    await records.put(host(9))
    assert await records.authorities(99) == names(0, 9)


async def test_a_damaged_record_is_not_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "trust.db"
    await filled(path, host(0), host(1))
    records = on_file(path, most_expendable=1)
    await records.probe()
    changed_in_file(path, "UPDATE records SET record=x'00' WHERE authority=?", b"00.example")
    await records.put(host(2))
    assert await records.authorities(99) == names(0, 2) and records.degraded == (DAMAGED,)


async def test_what_waits_is_bounded_too(tmp_path: Path) -> None:
    path = tmp_path / "trust.db"
    await filled(path)
    records = on_file(path, 0.1, most_expendable=2)
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        for known in (KNOWN, *map(host, range(4))):
            await records.put(known)
        assert await records.authorities(99) == (*names(2, 3), "example.com")
    await records.probe()
    assert records.degraded == () and await records.authorities(99) == (*names(2, 3), "example.com")


# What is held in memory.


def test_memory_is_bounded_by_octets() -> None:
    recent = RecentKnowledge(100)
    known = [Knowledge(str(number), "") for number in range(4)]
    for knowledge in known[:3]:
        recent.put(knowledge, 40)
    assert [recent.get(str(number)) for number in range(3)] == [None, *known[1:3]]
    assert recent.get("1") is known[1]
    recent.put(known[3], 40)
    assert recent.get("2") is None and recent.get("1") is known[1]
    recent.put(known[1], 60)
    assert recent.get("3") is known[3] and recent.get("1") is known[1]
    recent.put(known[2], 101)
    assert [recent.get(str(number)) for number in range(4)] == [None] * 4
    recent.put(known[0], 100)
    assert recent.get("0") is known[0]


def test_memory_ends_when_somebody_else_has_written() -> None:
    recent = RecentKnowledge(100)
    recent.be_of(1)
    recent.put(KNOWN, 60)
    recent.be_of(1)
    assert recent.get("example.com") is KNOWN
    recent.be_of(2)
    assert recent.get("example.com") is None
    recent.put(KNOWN, 100)
    assert recent.get("example.com") is KNOWN
