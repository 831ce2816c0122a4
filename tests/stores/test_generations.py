"""Purge marks in memory and on file, and what happens when the file is lost."""

import logging
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proxy.caching.generations import (
    EVERYTHING,
    MarkedStale,
    Purged,
    Standing,
    Valid,
    host_scope,
    standing,
    tag_scope,
    uri_scope,
)
from proxy.caching.stored import MAX_KEEP
from proxy.ports import Generations, StoreUnavailable
from proxy.stores import generations as module
from proxy.stores.generations import MemoryGenerations, SqliteGenerations, read_generations
from tests.stores.samples import START, URI, response

opened: list[SqliteGenerations] = []


@pytest.fixture(autouse=True)
def files_closed() -> Iterator[None]:
    yield
    while opened:
        opened.pop().close()


def on_file(folder: Path, now: float = START) -> SqliteGenerations:
    """Marks beside the store `cache.db` of `folder`."""
    generations = SqliteGenerations(folder / "marks.db", folder / "cache.db", now)
    opened.append(generations)
    return generations


def in_memory(folder: Path) -> Generations:
    return MemoryGenerations()


@pytest.fixture(params=[in_memory, on_file], ids=["memory", "sqlite"])
def generations(request: pytest.FixtureRequest, tmp_path: Path) -> Generations:
    made: Generations = request.param(tmp_path)
    return made


# (scope, soft) marks a second apart, and what becomes of a response fetched after `fetched` of them.
MARKS: dict[str, tuple[list[tuple[str, bool]], int, Standing]] = {
    "no mark": ([], 0, Valid()),
    "its URI": ([(uri_scope(URI), False)], 0, Purged(uri_scope(URI))),
    "its host": ([(host_scope("example.com"), False)], 0, Purged(host_scope("example.com"))),
    "its tag": ([(tag_scope("t"), False)], 0, Purged(tag_scope("t"))),
    "everything": ([(EVERYTHING, False)], 0, Purged(EVERYTHING)),
    "another URI": ([(uri_scope(URI + "x"), False)], 0, Valid()),
    "fetched afterwards": ([(uri_scope(URI), False)], 1, Valid()),
    "soft": ([(uri_scope(URI), True)], 0, MarkedStale(START)),
    "hard after soft": ([(uri_scope(URI), True), (uri_scope(URI), False)], 1, Purged(uri_scope(URI))),
    "soft after hard, fetched between": (
        [(uri_scope(URI), False), (uri_scope(URI), True)],
        1,
        MarkedStale(START + 1),
    ),
    "soft after hard revives nothing": (
        [(uri_scope(URI), False), (uri_scope(URI), True)],
        0,
        Purged(uri_scope(URI)),
    ),
}


@pytest.mark.parametrize(("marks", "fetched", "expected"), MARKS.values(), ids=MARKS)
def test_marks(generations: Generations, marks: list[tuple[str, bool]], fetched: int, expected: Standing) -> None:
    latest = [generations.latest]
    for second, (scope, soft) in enumerate(marks):
        generations.mark((scope,), START + second, soft=soft)
        latest.append(generations.latest)
    assert latest == sorted(set(latest)), "each mark begins a generation"
    stored = response(tags=("t",), generation=latest[fetched])
    assert standing(stored, generations.marks) == expected


def test_generations_rise_when_the_clock_goes_back(generations: Generations) -> None:
    generations.mark(("a",), START, soft=False)
    before = generations.latest
    generations.mark(("b", "c"), START - 1000, soft=True)
    assert generations.latest == before + 1
    made = [mark.generation for name, mark in generations.marks.items() if name != "a"]
    assert made == [generations.latest, generations.latest]


@pytest.mark.parametrize("softly", [False, True], ids=["hard among them", "all soft"])
def test_too_many_marks_become_one_on_everything(
    generations: Generations, monkeypatch: pytest.MonkeyPatch, softly: bool
) -> None:
    monkeypatch.setattr(module, "MAX_MARKS", 10)
    held = [generations.latest]
    for number in range(25):
        generations.mark((uri_scope(f"{URI}{number}"),), START + number, soft=softly)
        held.append(generations.latest)
        assert len(generations.marks) <= 11
    for number in range(25):
        before = response(uri=f"{URI}{number}", generation=held[number])
        verdict = standing(before, generations.marks)
        assert isinstance(verdict, MarkedStale if softly else Purged), f"{number} was forgotten"
    assert standing(response(uri=f"{URI}24", generation=held[25]), generations.marks) == Valid()


def test_folding_keeps_a_hard_mark_on_everything_hard(
    generations: Generations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_MARKS", 4)
    generations.mark((EVERYTHING,), START, soft=False)
    for number in range(9):
        generations.mark((uri_scope(str(number)),), START + 1 + number, soft=True)
    assert standing(response(generation=0), generations.marks) == Purged(EVERYTHING)


def test_marks_outlive_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_MARKS", 5)
    first = on_file(tmp_path)
    for number in range(8):
        first.mark((uri_scope(str(number)),), START + number, soft=number % 2 == 0)
    marks, latest = dict(first.marks), first.latest
    first.close()
    (tmp_path / "cache.db").touch()
    again = on_file(tmp_path, START + 100)
    assert dict(again.marks) == marks and again.latest == latest


def test_marks_older_than_any_response_are_forgotten(tmp_path: Path) -> None:
    first = on_file(tmp_path)
    first.mark(("old",), START, soft=False)
    first.mark(("young",), START + 10, soft=False)
    first.close()
    again = on_file(tmp_path, START + 5 + MAX_KEEP)
    assert list(again.marks) == ["young"]
    again.close()
    assert list(on_file(tmp_path, START).marks) == ["young"]


def damaged(marks: Path) -> None:
    marks.write_bytes(b"not a database" * 1000)


def emptied(marks: Path) -> None:
    marks.write_bytes(b"")


def of_another_schema(marks: Path) -> None:
    with sqlite3.connect(marks) as file:
        file.execute("PRAGMA user_version=99")
    file.close()


def with_a_damaged_page(marks: Path) -> None:
    content = bytearray(marks.read_bytes())
    content[4096:4200] = b"\xff" * 104
    marks.write_bytes(content)


@pytest.mark.parametrize(
    ("loss", "is_set_aside"),
    [
        pytest.param(Path.unlink, False, id="missing"),
        pytest.param(emptied, False, id="empty"),
        pytest.param(damaged, True, id="damaged"),
        pytest.param(of_another_schema, True, id="another schema"),
        pytest.param(with_a_damaged_page, True, id="damaged page"),
    ],
)
def test_lost_marks_purge_everything(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, loss: Callable[[Path], None], is_set_aside: bool
) -> None:
    first = on_file(tmp_path)
    first.mark((uri_scope(URI),), START, soft=False)
    stored_since = first.latest
    first.close()
    loss(tmp_path / "marks.db")
    (tmp_path / "cache.db").touch()
    with caplog.at_level(logging.WARNING):
        again = on_file(tmp_path, START + 60)
    assert standing(response(generation=stored_since), again.marks) == Purged(EVERYTHING)
    assert standing(response(generation=again.latest), again.marks) == Valid()
    assert (tmp_path / "marks.db.damaged").exists() == is_set_aside
    assert len(caplog.records) == is_set_aside
    assert (f"set aside as {tmp_path / 'marks.db.damaged'}" in caplog.text) == is_set_aside
    again.close()
    third = on_file(tmp_path, START + 120)
    assert standing(response(generation=stored_since), third.marks) == Purged(EVERYTHING)
    assert third.latest == again.latest, "everything is purged once"


def test_a_first_start_purges_nothing(tmp_path: Path) -> None:
    generations = on_file(tmp_path / "new")
    assert (generations.latest, dict(generations.marks)) == (0, {})


def test_a_file_that_cannot_be_opened_purges_and_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = on_file(tmp_path / "var")
    before.mark((uri_scope("kept"),), START, soft=False)
    before.close()
    (tmp_path / "var").rename(tmp_path / "away")
    (tmp_path / "var").write_text("in the way")
    generations = on_file(tmp_path / "var", START + 1)
    assert "FileExistsError" in caplog.text
    assert standing(response(generation=before.latest), generations.marks) == Purged(EVERYTHING)
    with pytest.raises(StoreUnavailable):
        generations.mark((uri_scope(URI),), START + 2, soft=False)
    assert uri_scope(URI) in generations.marks, "the purge holds for this process all the same"
    (tmp_path / "var").unlink()
    (tmp_path / "away").rename(tmp_path / "var")
    generations.mark(("third",), START + 3, soft=False)
    expected = {EVERYTHING, uri_scope("kept"), uri_scope(URI), "third"}
    assert set(generations.marks) == expected
    generations.close()
    assert set(on_file(tmp_path / "var", START + 4).marks) == expected


def test_it_recovers_by_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "var").write_text("in the way")
    generations = on_file(tmp_path / "var")
    assert generations.degraded == ("purge-marks-unavailable",)
    assert f"purge marks cannot be kept in {tmp_path / 'var' / 'marks.db'}" in caplog.text
    generations.retry(START + 1)
    assert generations.degraded
    (tmp_path / "var").unlink()
    generations.retry(START + 2)
    generations.retry(START + 3)
    assert generations.degraded == () and list(generations.marks) == [EVERYTHING]
    generations.close()
    assert list(on_file(tmp_path / "var", START + 4).marks) == [EVERYTHING]


def test_marks_in_memory_are_never_degraded() -> None:
    generations = MemoryGenerations()
    generations.retry(START)
    assert generations.degraded == () and generations.latest == 0


def emptied_of_tables(marks: Path) -> None:
    marks.unlink()
    sqlite3.connect(marks).close()


@pytest.mark.parametrize("loss", [None, Path.unlink, damaged, of_another_schema, emptied_of_tables])
def test_reading_marks_tells_what_a_start_would_find(tmp_path: Path, loss: Callable[[Path], None] | None) -> None:
    first = on_file(tmp_path)
    first.mark((uri_scope(URI),), START, soft=False)
    first.close()
    if loss is not None:
        loss(tmp_path / "marks.db")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    read = read_generations(tmp_path / "marks.db", START + 60)
    assert list(read.marks) == [uri_scope(URI) if loss is None else EVERYTHING]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_is_no_file_is_not_set_aside(tmp_path: Path) -> None:
    (tmp_path / "marks.db").mkdir()
    generations = on_file(tmp_path)
    assert list(generations.marks) == [EVERYTHING] and (tmp_path / "marks.db").is_dir()


def test_a_locked_file_is_not_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BUSY_SECONDS", 0.01)
    on_file(tmp_path).close()
    lock = sqlite3.connect(tmp_path / "marks.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    generations = on_file(tmp_path)
    lock.close()
    assert not (tmp_path / "marks.db.damaged").exists()
    generations.mark(("a",), START, soft=False)


def test_a_mark_that_cannot_be_written_says_so_and_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BUSY_SECONDS", 0.01)
    generations = on_file(tmp_path)
    lock = sqlite3.connect(tmp_path / "marks.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="OperationalError"):
        generations.mark(("a",), START, soft=False)
    assert generations.degraded
    lock.close()
    assert "a" in generations.marks
    generations.retry(START + 1)
    generations.close()
    assert list(on_file(tmp_path, START + 2).marks) == ["a"], "written down when the file is back"


MARK_AND_WAIT = """
import sys
from pathlib import Path
from proxy.stores.generations import SqliteGenerations
folder = Path(sys.argv[1])
generations = SqliteGenerations(folder / "marks.db", folder / "cache.db", 1_800_000_000.0)
generations.mark(("uri:killed",), 1_800_000_001.0, soft=False)
print("marked", flush=True)
sys.stdin.read()
"""


def test_a_killed_process_loses_no_mark(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MARK_AND_WAIT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"marked\n"
        os.kill(process.pid, signal.SIGKILL)
    assert list(on_file(tmp_path, START + 2).marks) == ["uri:killed"]
