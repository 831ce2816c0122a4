"""An SQLite file that is no cache: made whole or not at all, never emptied, never made anew over one that is there.

It is readable by its owner only. A commit is in the file itself: with a write-ahead log beside it, losing that log
would silently bring back what was there before. At each opening the whole file is checked, and one of the schema
before is upgraded where it lies. One thread uses it.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PRAGMAS = ("journal_mode=DELETE", "synchronous=EXTRA", "trusted_schema=OFF", "cell_size_check=ON")
# Nothing is known to be wrong with the content then; every other failure is of a file not as it was written.
_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_TOOBIG,
    }
)
_PRIMARY_CODE: Final = 0xFF


@dataclass(frozen=True, slots=True)
class Former:
    """The schema before, as in Design, and the statements that make the present one of it."""

    schema: int
    statements: tuple[str, ...]
    upgrade: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Design:
    """What is in such a file, and as what its faults are raised.

    `statements` make its tables and indexes, in the order in which they are found in it; `schema` is their number.
    `unavailable` is raised for what passes, `damaged`, one of that family, for a file not as it was written.
    """

    schema: int
    statements: tuple[str, ...]
    unavailable: type[Exception]
    damaged: type[Exception]
    former: Former | None = None


class DurableFile:
    """The file `path`, made with its folder where nothing is. Everything raises what its design says.

    A lock of somebody else's is waited for `busy_seconds`.
    """

    def __init__(self, path: Path, busy_seconds: float, design: Design) -> None:
        self._path = path
        self._design = design
        with self._faults_raised():
            if not path.exists():
                _make(path, busy_seconds, design)
            self._identity = _identity(path)
            self._file = _connect(f"{path.absolute().as_uri()}?mode=rw", busy_seconds)
        try:
            with self._faults_raised():
                self._check()
        except BaseException:
            self.close()
            raise

    def version(self) -> int:
        """Another number when somebody else has written to the file."""
        with self.in_use() as file:
            [version] = file.execute("PRAGMA data_version").fetchone()
        return int(version)

    @contextmanager
    def in_use(self) -> Iterator[sqlite3.Connection]:
        """The file to be read, as long as it lies where it lay."""
        with self._faults_raised():
            if _identity(self._path) != self._identity:
                raise self._design.unavailable(f"{self._path} has been moved or replaced while in use")
            yield self._file

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """What is done within is there for ever, and at once, or not at all."""
        with self.in_use() as file:
            file.execute("BEGIN IMMEDIATE")
            try:
                yield file
                file.execute("COMMIT")
            except BaseException:
                if file.in_transaction:
                    file.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _check(self) -> None:
        """Raises `damaged` where the file is not ours, or not as it was written. Its schema is ours afterwards."""
        for pragma in _PRAGMAS:
            self._file.execute(f"PRAGMA {pragma}")
        former = self._design.former
        if former is None or not self._is_of(former):
            self._require_present()
        self._require_whole()
        if former is not None and self._is_of(former):
            self._upgrade(former)
            self._require_present()

    def _is_of(self, design: Design | Former) -> bool:
        [version] = self._file.execute("PRAGMA user_version").fetchone()
        made_by = tuple(sql for (sql,) in self._file.execute("SELECT sql FROM sqlite_master"))
        return version == design.schema and made_by == design.statements

    def _require_present(self) -> None:
        if not self._is_of(self._design):
            raise self._design.damaged("it is empty or of another schema")

    def _require_whole(self) -> None:
        damaged, file = self._design.damaged, self._file
        # SQLite reads what is missing of the last page as zeros.
        [pages], [page_size] = (file.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
        if self._path.stat().st_size < pages * page_size:
            raise damaged("it is cut short")
        [verdict] = file.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise damaged("its content is damaged")

    def _upgrade(self, former: Former) -> None:
        with self.writing() as file:
            if self._is_of(former):  # nobody else was quicker
                for statement in (*former.upgrade, f"PRAGMA user_version={self._design.schema}"):
                    file.execute(statement)

    @contextmanager
    def _faults_raised(self) -> Iterator[None]:
        """What SQLite and the system say, as what the design says."""
        unavailable, damaged = self._design.unavailable, self._design.damaged
        try:
            yield
        except OSError as error:
            raise unavailable(f"{type(error).__name__}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise damaged("what SQLite says of it is not UTF-8") from error
        except sqlite3.Error as error:
            # A text that is not UTF-8 is told without a code.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
            family = unavailable if code & _PRIMARY_CODE in _PASSING else damaged
            raise family(f"{type(error).__name__}: {error}") from error


def _connect(uri: str, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=busy_seconds, isolation_level=None)


def _make(path: Path, busy_seconds: float, design: Design) -> None:
    """Put a whole empty file in place. Who is quicker has made it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, new = tempfile.mkstemp(prefix=f"{path.name}.new-", dir=path.parent)
    try:
        os.close(descriptor)
        with closing(_connect(Path(new).absolute().as_uri(), busy_seconds)) as file:
            file.execute("PRAGMA synchronous=EXTRA")
            file.execute("BEGIN")
            for statement in design.statements:
                file.execute(statement)
            file.execute(f"PRAGMA user_version={design.schema}")
            file.execute("COMMIT")
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        os.unlink(new)
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
