"""The SQLite file of the trust records, for one thread.

It is made whole or not at all, readable by its owner only, and never made anew over one that is there. A commit is
in the file itself: with a write-ahead log beside it, losing that log would silently bring back older records. At
each opening the whole file is checked, and every record held against its key. Records that may be forgotten are
bounded; how long they have not been asked for is known of this process, and before it by when they were written.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from proxy.ports import TrustRecordsDamaged, TrustRecordsUnavailable
from proxy.stores.expendable import Expendable
from proxy.trust.reasons import Untrusted
from proxy.trust.records.codec import Heading, parse_record, read_heading
from proxy.trust.records.knowledge import Knowledge

SCHEMA: Final = 1

_TABLE: Final = "CREATE TABLE records (authority BLOB PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID"
# A damaged column may have another type.
_KEY: Final = "CAST(authority AS BLOB)"
_RECORD: Final = "ifnull(CAST(record AS BLOB), x'')"
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

_log = logging.getLogger(__name__)


class TrustFileDamaged(TrustRecordsDamaged):
    """The file as a whole is not as it was written, or not ours."""


class TrustFile:
    """The file `path`, made with its folder where nothing is. Every method may raise TrustRecordsUnavailable.

    A lock of somebody else's is waited for `busy_seconds`. Of records that may be forgotten it keeps
    `most_expendable`.
    """

    def __init__(self, path: Path, busy_seconds: float, most_expendable: int) -> None:
        self._path = path
        # By what name a damaged record may be looked for: its key, and whose record it says that it is.
        self._damaged: dict[str, bytes] = {}
        with _faults_raised():
            if not path.exists():
                _make(path, busy_seconds)
            self._identity = _identity(path)
            self._file = _connect(f"{path.absolute().as_uri()}?mode=rw", busy_seconds)
        try:
            with _faults_raised():
                _check(self._file, path)
                by_age = sorted(self._headings(), key=lambda heading: heading.latest_time)
            expendable = [heading.authority for heading in by_age if heading.is_expendable]
            self._expendable = Expendable(most_expendable, expendable)
        except BaseException:
            self.close()
            raise

    @property
    def has_damaged(self) -> bool:
        """Whether a damaged record has been met with that is still there."""
        return bool(self._damaged)

    def version(self) -> int:
        """Another number when somebody else has written to the file."""
        with self._in_use():
            [version] = self._file.execute("PRAGMA data_version").fetchone()
        return int(version)

    def read(self, authority: str) -> tuple[Knowledge, int] | None:
        """What is known, and how many octets its record has. Raises TrustRecordsDamaged."""
        key = authority.encode()
        with self._in_use():
            row = self._file.execute(f"SELECT {_RECORD} FROM records WHERE authority=?", (key,)).fetchone()
        if row is None and authority not in self._damaged:
            return None
        if row is not None and self._heading(key, row[0]) is not None:
            with suppress(Untrusted):
                return parse_record(row[0]), len(row[0])
            self._note_damage(key, authority)
        raise TrustRecordsDamaged("The trust record of the authority is damaged.")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What is done within is there for ever, and at once, or not at all."""
        with self._in_use():
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._file.execute("COMMIT")
            except BaseException:
                if self._file.in_transaction:
                    self._file.execute("ROLLBACK")
                raise

    def write(self, knowledge: Knowledge, record: bytes) -> None:
        """Put its record in the place of the one before."""
        with self._in_use():
            row = knowledge.authority.encode(), record
            self._file.execute("INSERT OR REPLACE INTO records VALUES (?, ?)", row)
        self._expendable.written(knowledge)

    def touch(self, authority: str) -> None:
        """Note that it is asked for."""
        self._expendable.touch(authority)

    def make_room(self) -> tuple[str, ...]:
        """Forget what is too much, within `writing`; whom."""
        surplus = self._expendable.surplus
        with self._in_use():
            for authority in surplus:
                self._forget_expendable(authority.encode())
                self._expendable.forgotten(authority)
        return surplus

    def _forget_expendable(self, key: bytes) -> None:
        row = self._file.execute(f"SELECT {_RECORD} FROM records WHERE authority=?", (key,)).fetchone()
        heading = None if row is None else self._heading(key, row[0])
        # Somebody else may have learnt more of it.
        if heading is not None and heading.is_expendable:
            self._file.execute("DELETE FROM records WHERE authority=?", (key,))

    def authorities(self, limit: int) -> tuple[str, ...]:
        """At most `limit` keys, in order."""
        with self._in_use():
            rows = self._file.execute(f"SELECT {_KEY} FROM records ORDER BY authority LIMIT ?", (limit,))
            return tuple(_told(key) for (key,) in rows)

    def remove(self, authority: str) -> bool:
        """Delete its record, a damaged one under another key too; whether there was one."""
        keys = {authority.encode(), self._damaged.get(authority, b"")}
        with self.writing():
            removed = [self._file.execute(f"DELETE FROM records WHERE {_KEY}=?", (key,)) for key in keys]
        self._damaged = {name: key for name, key in self._damaged.items() if key not in keys}
        self._expendable.forgotten(authority)
        return any(cursor.rowcount for cursor in removed)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        with _faults_raised():
            if _identity(self._path) != self._identity:
                raise TrustRecordsUnavailable(f"{self._path} has been moved or replaced while in use")
            yield

    def _headings(self) -> Iterator[Heading]:
        """Those of all records that are whole."""
        rows = self._file.execute(f"SELECT {_KEY}, {_RECORD}, typeof(authority) FROM records")
        for key, record, kind in rows:
            heading = self._heading(key, record)
            if heading is not None and kind != "blob":
                self._note_damage(key, _told(key))  # the same octets, but nobody will find it by them
            elif heading is not None:
                yield heading

    def _heading(self, key: bytes, record: bytes) -> Heading | None:
        """That of a record as it was written, of the authority that it is kept under; None of any other."""
        named = [_told(key)]
        with suppress(Untrusted):
            heading = read_heading(record)
            if heading.authority.encode() == key:
                return heading
            named.append(heading.authority)
        self._note_damage(key, *named)
        return None

    def _note_damage(self, key: bytes, *named: str) -> None:
        if key in self._damaged.values():
            return
        self._damaged.update(dict.fromkeys(named, key))
        _log.error(
            "a trust record in %s is damaged, and neither used nor written over: restore the file from a backup,"
            " or remove the record to begin anew without its pin (%s)",
            self._path,
            ", ".join(named),
        )


def _connect(uri: str, busy_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=busy_seconds, isolation_level=None)


def _make(path: Path, busy_seconds: float) -> None:
    """Put a whole empty file in place. Who is quicker has made it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, new = tempfile.mkstemp(prefix=f"{path.name}.new-", dir=path.parent)
    try:
        os.close(descriptor)
        with closing(_connect(Path(new).absolute().as_uri(), busy_seconds)) as file:
            file.execute("PRAGMA synchronous=EXTRA")
            file.execute("BEGIN")
            file.execute(_TABLE)
            file.execute(f"PRAGMA user_version={SCHEMA}")
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


def _check(file: sqlite3.Connection, path: Path) -> None:
    """Raises TrustFileDamaged where the file is not ours, or not as it was written."""
    for pragma in _PRAGMAS:
        file.execute(f"PRAGMA {pragma}")
    [version] = file.execute("PRAGMA user_version").fetchone()
    tables = file.execute("SELECT sql FROM sqlite_master").fetchall()
    if version != SCHEMA or tables != [(_TABLE,)]:
        raise TrustFileDamaged("it is empty or of another schema")
    # SQLite reads what is missing of the last page as zeros.
    [pages], [page_size] = (file.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    if path.stat().st_size < pages * page_size:
        raise TrustFileDamaged("it is cut short")
    [verdict] = file.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise TrustFileDamaged("its content is damaged")


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _told(key: bytes) -> str:
    return key.decode("ascii", "backslashreplace")


@contextmanager
def _faults_raised() -> Iterator[None]:
    """What SQLite and the system say, as what the port says."""
    try:
        yield
    except OSError as error:
        raise TrustRecordsUnavailable(f"{type(error).__name__}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TrustFileDamaged("what SQLite says of it is not UTF-8") from error
    except sqlite3.Error as error:
        # A text that is not UTF-8 is told without a code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        family = TrustRecordsUnavailable if code & _PRIMARY_CODE in _PASSING else TrustFileDamaged
        raise family(f"{type(error).__name__}: {error}") from error
