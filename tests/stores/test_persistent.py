"""The second tier on a real SQLite file: layout, growth, restarts, damage."""

import asyncio
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from proxy.http.fields import Fields
from proxy.ports import StoreUnavailable
from proxy.stores.index import VariantIndex, digest_of, parse_index, to_text
from proxy.stores.persistent import Persistent, open_snapshot, open_sqlite
from tests.stores.samples import NO_FIELDS, START, Clock, bodies, response, speaking, variant


class Database:
    """A store on a file of its own, and a look into that file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = Clock()
        self.store = self.reopened()

    def reopened(self) -> Persistent:
        self.store = open_sqlite(self.path, 64, self.clock)
        return self.store

    def execute(self, sql: str) -> list[tuple[bytes | int | str | None, ...]]:
        file = sqlite3.connect(self.path, isolation_level=None)
        try:
            return file.execute(sql).fetchall()
        finally:
            file.close()

    @property
    def rows(self) -> int:
        [[count]] = self.execute("SELECT count(*) FROM entries")
        assert isinstance(count, int)
        return count


@pytest.fixture
async def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    database = Database(tmp_path / "new" / "cache.db")
    monkeypatch.setattr(time, "time", database.clock)  # the storage reads this clock
    yield database
    await database.store.close()


async def test_nothing_is_left_beside_the_file(database: Database) -> None:
    await database.store.put("k", response())
    names = {file.name for file in database.path.parent.iterdir()}
    of_sqlite = ("", "-wal", "-shm")
    assert names <= {f"cache.db{beside}{suffix}" for beside in ("", ".keys") for suffix in of_sqlite}


async def test_variants_outlive_the_process(database: Database) -> None:
    for language in ("en", "fr", "de"):
        await database.store.put("k", variant(language))
    await database.store.put("k2", response(b"plain"))
    await database.store.close()
    store = database.reopened()
    for language in ("en", "fr", "de"):
        assert bodies(await store.find("k", speaking(language))) == [language.encode()]
    assert await store.find("k", speaking("it")) == ()
    assert bodies(await store.find("k2", NO_FIELDS)) == [b"plain"]
    assert {stored.body for stored in await store.variants("k")} == {b"en", b"fr", b"de"}


async def test_find_gives_one_variant_for_each_set_of_selecting_fields(database: Database) -> None:
    other = response(b"by agent", vary=("user-agent",), selecting=("curl",), born=START + 5)
    for stored in (variant("en"), variant("fr"), other, response(b"plain", born=START + 9)):
        await database.store.put("k", stored)
    request = Fields([("Accept-Language", "fr"), ("User-Agent", "curl")])
    assert bodies(await database.store.find("k", request)) == [b"fr", b"by agent", b"plain"]


async def test_a_response_without_vary_is_one_row(database: Database) -> None:
    await database.store.put("k", response())
    assert database.rows == 1


async def test_remove_counts_variants_and_leaves_none(database: Database) -> None:
    for stored in (variant("en"), variant("fr"), response()):
        await database.store.put("k", stored)
    await database.store.discard("k", variant("fr"))
    assert (await database.store.remove("k"), await database.store.remove("k")) == (2, 0)
    [[live]] = database.execute("SELECT count(*) FROM entries WHERE expires_at > 0")
    assert live == 0


@pytest.mark.parametrize("language", [None, "en"], ids=["plain", "variant"])
async def test_rows_do_not_grow_with_revalidations(database: Database, language: str | None) -> None:
    for number in range(500):
        database.clock.now += 1
        body = b"%d" % number
        born = database.clock.now
        stored = response(body, born=born) if language is None else variant(language, body, born=born)
        await database.store.put("k", stored)
        assert database.rows <= 15, f"after {number} puts"
    request = NO_FIELDS if language is None else speaking(language)
    assert bodies(await database.store.find("k", request)) == [b"499"]


async def test_concurrent_writers_and_readers_lose_nothing(database: Database) -> None:
    await asyncio.gather(*(database.store.put("k", variant(f"x-{n % 20}", b"%d" % n)) for n in range(60)))
    found = await asyncio.gather(*(database.store.find("k", speaking(f"x-{n}")) for n in range(20)))
    assert [bodies(variants) for variants in found] == [[b"%d" % (40 + n)] for n in range(20)]


@pytest.mark.parametrize("name", ["cookie", "authorization", "proxy-authorization"])
async def test_a_variant_selected_by_a_credential_is_not_written(database: Database, name: str) -> None:
    await database.store.put("k", response(vary=(name,), selecting=("s3cret",)))
    assert database.rows == 0


async def test_what_a_client_sent_is_not_written(database: Database) -> None:
    await database.store.put("k", variant("en"))
    [[content]] = database.execute("SELECT group_concat(hex(data)) FROM entries")
    assert b"user-agent".hex().upper() not in str(content)


def other_text(database: Database) -> None:
    # Of equal length, as the packing counts.
    database.execute(
        "UPDATE entries SET data = CAST(replace(CAST(data AS TEXT), '\"format\":', '\"FORMAT\":') AS BLOB)"
    )


def other_uri(database: Database) -> None:
    database.execute("UPDATE entries SET data = CAST(replace(CAST(data AS TEXT), 'https:', 'gopher') AS BLOB)")


def shorter_body(database: Database) -> None:
    database.execute("UPDATE streams SET chunk_data = x'7b'")


def no_body(database: Database) -> None:
    database.execute("DELETE FROM streams")


def no_data(database: Database) -> None:
    database.execute("UPDATE entries SET data = x'00ff'")


@pytest.mark.parametrize("language", [None, "en"], ids=["plain", "variant"])
@pytest.mark.parametrize("damage", [other_text, other_uri, shorter_body, no_body, no_data])
async def test_an_unreadable_record_is_a_miss_and_goes(
    database: Database, damage: Callable[[Database], None], language: str | None
) -> None:
    request = NO_FIELDS if language is None else speaking(language)
    stored = response() if language is None else variant(language)
    await database.store.put("k", stored)
    damage(database)
    assert await database.store.find("k", request) == ()
    await database.store.put("k", stored)
    assert await database.store.find("k", request) == (stored,)
    assert len(await database.store.variants("k")) == 1


async def test_a_damaged_file_is_set_aside(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    await database.store.put("k", response())
    await database.store.close()
    database.path.write_bytes(b"not a database" * 1000)
    store = database.reopened()
    with pytest.raises(StoreUnavailable):
        await store.find("k", NO_FIELDS)
    assert await store.find("k", NO_FIELDS) == ()
    await store.put("k", response())
    assert await store.find("k", NO_FIELDS) == (response(),)
    assert database.path.with_name("cache.db.damaged").exists()


async def test_opening_replaces_what_is_damaged(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    database.path.parent.mkdir()
    database.path.write_bytes(b"not a database" * 1000)
    await database.store.open()
    assert f"set aside as {database.path}.damaged" in caplog.text
    assert await database.store.find("k", NO_FIELDS) == ()


async def test_opening_what_cannot_be_opened_names_it(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    database.path.mkdir(parents=True)
    with pytest.raises(StoreUnavailable):
        await database.store.open()
    assert f"cannot be opened at {database.path} (OperationalError)" in caplog.text


async def test_a_snapshot_is_what_the_file_holds_and_changes_nothing(database: Database) -> None:
    for stored in (response(b"plain"), variant("en")):
        await database.store.put("k", stored)
    snapshot = open_snapshot(database.path, 64, database.clock)
    database.clock.now += 3000
    assert bodies(await snapshot.find("k", speaking("en"))) == [b"plain", b"en"]
    await snapshot.remove("k")
    assert await snapshot.find("k", speaking("en")) == ()
    await snapshot.close()
    assert bodies(await database.store.find("k", speaking("en"))) == [b"plain", b"en"]


async def test_there_is_no_snapshot_of_what_is_no_database(database: Database) -> None:
    database.path.parent.mkdir()
    database.path.write_bytes(b"not a database" * 1000)
    with pytest.raises(sqlite3.DatabaseError):
        open_snapshot(database.path, 64, database.clock)
    assert [path.name for path in database.path.parent.iterdir()] == [database.path.name]


async def test_a_file_of_something_else_is_set_aside(database: Database) -> None:
    database.path.parent.mkdir()
    database.execute("CREATE TABLE entries (mine)")
    with pytest.raises(StoreUnavailable):
        await database.store.find("k", NO_FIELDS)
    assert await database.store.find("k", NO_FIELDS) == ()


async def test_a_folder_that_cannot_be_made_is_tried_again(database: Database) -> None:
    database.path.parent.write_text("in the way")
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="FileExistsError"):
            await database.store.put("k", response())
    database.path.parent.unlink()
    await database.store.put("k", response())
    assert await database.store.find("k", NO_FIELDS) == (response(),)


async def test_failures_the_storage_swallows_are_raised_and_logged_at_most_once(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await database.store.put("k", response())
    database.execute("ALTER TABLE streams RENAME TO gone")
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            with pytest.raises(StoreUnavailable, match="OperationalError"):
                await database.store.put("k2", response())
    assert len([record for record in caplog.records if record.name.startswith("proxy")]) <= 1
    database.execute("ALTER TABLE gone RENAME TO streams")
    await database.store.put("k2", response())
    assert await database.store.find("k2", NO_FIELDS) == (response(),)


WRITE_UNTIL_KILLED = """
import asyncio, sys
from pathlib import Path
from proxy.stores.persistent import open_sqlite
from tests.stores.samples import response
async def main():
    import time
    store = open_sqlite(Path(sys.argv[1]), 64, time.time)
    for number in range(200):
        await store.put(f"k{number}", response(b"%d" % number * 100, born=time.time()))
        print(number, flush=True)
asyncio.run(main())
"""


def killed_while_writing(path: Path) -> int:
    """How many responses a process had reported as written before it was killed."""
    command = [sys.executable, "-c", WRITE_UNTIL_KILLED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        for _ in range(100):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        return 100 + len(process.stdout.read().splitlines())


async def test_a_killed_process_leaves_what_it_had_completed(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    completed = await asyncio.to_thread(killed_while_writing, path)
    assert 100 <= completed < 200
    store = open_sqlite(path, 64, lambda: START)
    for number in range(completed):
        assert bodies(await store.find(f"k{number}", NO_FIELDS)) == [b"%d" % number * 100]
    await store.close()


INDEXES = {
    "empty": (VariantIndex(), VariantIndex()),
    "two": (VariantIndex(5.0, ((("a",), "1"), (("a", "b"), "2"))),) * 2,
}


@pytest.mark.parametrize(("index", "expected"), INDEXES.values(), ids=INDEXES)
def test_index_text(index: VariantIndex, expected: VariantIndex) -> None:
    assert parse_index(to_text(index)) == expected


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[1,2]", '["x",[]]', "[1,[[1]]]", "null"])
def test_no_index(text: str) -> None:
    assert parse_index(text) is None


def test_a_digest_tells_absent_from_empty() -> None:
    assert digest_of((("a",), (None,))) != digest_of((("a",), ("",)))
