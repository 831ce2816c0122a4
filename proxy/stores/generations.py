"""Purge marks, in memory or in a file of their own (see caching.generations for what they mean).

A generation is the purge's time in microseconds, raised where needed to stay above the one before. So a mark that
is made now outranks every response stored until now, also when the marks made earlier are lost: a lost file is
answered by marking everything.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType

from proxy.caching.generations import EVERYTHING, Mark, is_of_tag, softly
from proxy.caching.stored import MAX_KEEP
from proxy.ports import StoreUnavailable
from proxy.stores.files import open_read_only, set_aside

MAX_MARKS = 100_000
SCHEMA = 1
UNAVAILABLE = "purge-marks-unavailable"
_BUSY_SECONDS = 0.25
# Nobody waits for a retry, and while it waits for a lock everybody does.
_RETRY_BUSY_SECONDS = 0.02

_log = logging.getLogger(__name__)


class MemoryGenerations:
    """Marks that end with the process, as the responses in memory do."""

    def __init__(self) -> None:
        self._latest = 0
        self._marks: dict[str, Mark] = {}
        self._latest_of_tags = 0

    @property
    def latest(self) -> int:
        """The generation a fetch that starts now belongs to."""
        return self._latest

    @property
    def marks(self) -> Mapping[str, Mark]:
        """The newest mark of each scope."""
        return MappingProxyType(self._marks)

    @property
    def latest_of_tags(self) -> int:
        """The generation of the newest mark of any tag; 0 without one."""
        return self._latest_of_tags

    @property
    def degraded(self) -> tuple[str, ...]:
        """Nothing can be wrong with it."""
        return ()

    def mark(self, scopes: tuple[str, ...], now: float, *, soft: bool) -> None:
        """Begin a new generation and mark `scopes` with it; `now` in Unix seconds."""
        generation = max(self._latest + 1, int(now * 1_000_000))
        self.absorb((name, Mark(generation, now)) for name in _names(scopes, soft=soft))
        self._latest = generation
        if len(self._marks) > MAX_MARKS:
            self._marks = _folded(self._marks)

    def retry(self, now: float) -> None:
        """There is nothing to try again."""

    def close(self) -> None:
        """There is nothing to close."""

    def absorb(self, marks: Iterable[tuple[str, Mark]]) -> None:
        """Add marks made elsewhere."""
        for name, mark in marks:
            self._marks[name] = _newer(self._marks.get(name), mark)
            self._latest = max(self._latest, mark.generation)
            if is_of_tag(name):
                self._latest_of_tags = max(self._latest_of_tags, mark.generation)


def _names(scopes: Iterable[str], *, soft: bool) -> tuple[str, ...]:
    return tuple(softly(scope) if soft else scope for scope in scopes)


def _newer(one: Mark | None, other: Mark) -> Mark:
    return other if one is None or one.generation < other.generation else one


def _folded(marks: Mapping[str, Mark]) -> dict[str, Mark]:
    """The older half as one mark of each kind on everything: purges more than was asked, never less."""
    ordered = sorted(marks.items(), key=lambda item: item[1].generation)
    kept = dict(ordered[len(ordered) // 2 :])
    for name, mark in ordered[: len(ordered) // 2]:
        everything = softly(EVERYTHING) if name.startswith(softly("")) else EVERYTHING
        kept[everything] = _newer(kept.get(everything), mark)
    return kept


class SqliteGenerations:
    """Marks in the file `path`, for the persistent store `cache`, which must not have been opened before.

    Lost or damaged marks purge everything in `cache`. A file that cannot be opened does so too, for this process.
    It is tried again by `retry` and at every purge, as is one that could not be written.
    """

    def __init__(self, path: Path, cache: Path, now: float) -> None:
        self._path = path
        self._cache = cache
        self._memory = MemoryGenerations()
        self._file: sqlite3.Connection | None = None
        try:
            self._attach(now, _BUSY_SECONDS)
        except StoreUnavailable as error:
            _log.warning("purge marks cannot be kept in %s (%s): stored responses are not used", path, error)
            self._memory.mark((EVERYTHING,), now, soft=False)

    @property
    def latest(self) -> int:
        """The generation a fetch that starts now belongs to."""
        return self._memory.latest

    @property
    def marks(self) -> Mapping[str, Mark]:
        """The newest mark of each scope."""
        return self._memory.marks

    @property
    def latest_of_tags(self) -> int:
        """The generation of the newest mark of any tag; 0 without one."""
        return self._memory.latest_of_tags

    def mark(self, scopes: tuple[str, ...], now: float, *, soft: bool) -> None:
        """Begin a new generation, durable at return. Raises StoreUnavailable when this process alone knows it."""
        names = _names(scopes, soft=soft)
        expected = len(self._memory.marks) + sum(name not in self._memory.marks for name in set(names))
        self._memory.mark(scopes, now, soft=soft)
        if self._file is None:
            self._attach_again(now, _RETRY_BUSY_SECONDS)
            return
        is_folded = len(self._memory.marks) < expected
        try:
            self._save(self._file, None if is_folded else names)
        except sqlite3.Error as error:
            # Opening it again writes down every mark, this one too.
            self.close()
            _log.warning("purge marks cannot be written to %s (%s)", self._path, type(error).__name__)
            raise StoreUnavailable(type(error).__name__) from error

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why marks may be lost with the process; empty when they are kept."""
        return (UNAVAILABLE,) if self._file is None else ()

    def retry(self, now: float) -> None:
        """Open the file again if it could not be used; what it holds and what is known here become one."""
        if self._file is None:
            with suppress(StoreUnavailable):
                self._attach_again(now, _RETRY_BUSY_SECONDS)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _attach_again(self, now: float, busy_seconds: float) -> None:
        self._attach(now, busy_seconds)
        _log.info("purge marks are kept again in %s", self._path)

    def _attach(self, now: float, busy_seconds: float) -> None:
        """Open the file, add its marks to those in memory and the other way round."""
        try:
            file, marks = self._opened(busy_seconds)
            try:
                if marks is None and self._cache.exists():
                    self._memory.mark((EVERYTHING,), now, soft=False)
                # A mark older than any stored response can be has nothing left to purge.
                self._memory.absorb(item for item in marks or () if item[1].at >= now - MAX_KEEP)
                self._save(file, None)
            except BaseException:
                file.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(type(error).__name__) from error
        self._file = file

    def _opened(self, busy_seconds: float) -> tuple[sqlite3.Connection, list[tuple[str, Mark]] | None]:
        """The file and its marks, None when it has just been made."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _load(self._path, busy_seconds)
        except sqlite3.OperationalError:
            raise  # locked, missing folder, read-only: nothing is known to be wrong with the content
        except sqlite3.DatabaseError:
            aside = set_aside(self._path)
            _log.warning("purge marks are unreadable and set aside as %s: everything stored is purged", aside)
            return _load(self._path, busy_seconds)

    def _save(self, file: sqlite3.Connection, names: Iterable[str] | None) -> None:
        """Write the marks called `names`; with None write every mark, and nothing else stays."""
        marks = self._memory.marks
        rows = [
            (name, mark.generation, mark.at)
            for name, mark in (marks.items() if names is None else ((n, marks[n]) for n in names))
        ]
        with file:
            if names is None:
                file.execute("DELETE FROM marks")
            file.executemany("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", rows)


def read_generations(path: Path, now: float) -> MemoryGenerations:
    """The marks in `path` as a start would find them, read without a trace; none to be had purge everything."""
    memory = MemoryGenerations()
    marks = None
    with suppress(sqlite3.Error), closing(open_read_only(path)) as file:
        marks = _stored(file)
    if marks is None:
        memory.mark((EVERYTHING,), now, soft=False)
    memory.absorb(marks or ())
    return memory


def _load(path: Path, busy_seconds: float) -> tuple[sqlite3.Connection, list[tuple[str, Mark]] | None]:
    file = sqlite3.connect(path, timeout=busy_seconds)
    try:
        return file, _read(file)
    except BaseException:
        file.close()
        raise


def _read(file: sqlite3.Connection) -> list[tuple[str, Mark]] | None:
    """Every mark, or None after making the table. Raises sqlite3.DatabaseError for another schema or damage."""
    file.execute("PRAGMA journal_mode=WAL")
    file.execute("PRAGMA synchronous=NORMAL")
    marks = _stored(file)
    if marks is None:
        file.execute(
            "CREATE TABLE marks (name TEXT PRIMARY KEY, generation INTEGER NOT NULL, at REAL NOT NULL)"
            " WITHOUT ROWID"
        )
        file.execute(f"PRAGMA user_version={SCHEMA}")
    return marks


def _stored(file: sqlite3.Connection) -> list[tuple[str, Mark]] | None:
    """Every mark, None when there is no table yet. Raises sqlite3.DatabaseError for another schema or damage."""
    [version] = file.execute("PRAGMA user_version").fetchone()
    if version == 0:
        return None
    [verdict] = file.execute("PRAGMA quick_check(1)").fetchone()
    if version != SCHEMA or verdict != "ok":
        raise sqlite3.DatabaseError("another schema or damaged")
    rows = file.execute("SELECT name, generation, at FROM marks")
    return [(name, Mark(generation, at)) for name, generation, at in rows]
