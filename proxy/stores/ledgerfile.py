"""The SQLite file of the ledger, for one thread.

A record that was withdrawn stays as a row for its history, until room is needed. A row and the number of its change
are written and deleted together.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from proxy.ledgers import LedgerChange, LedgerDamaged, LedgerUnavailable
from proxy.relocation.codec import MalformedRecord
from proxy.relocation.records import Record, State
from proxy.stores import ledgerfeed
from proxy.stores.durablefile import Design, DurableFile, Former
from proxy.stores.ledgerhistory import when_withdrawn
from proxy.stores.ledgerrow import COLUMNS, LASTING, LISTED, TABLE, Row, names_of_damaged

SCHEMA: Final = 2

_BY_HOST: Final = "CREATE INDEX by_host ON records (host, rank, checked)"
_BY_STATE: Final = "CREATE INDEX by_state ON records (state, id)"
_BY_RANK: Final = "CREATE INDEX by_rank ON records (rank, checked)"
_RECORDS: Final = (TABLE, _BY_HOST, _BY_STATE, _BY_RANK)
_OF_HOST: Final = "FROM records INDEXED BY by_host WHERE host=?"
_OF_ALL: Final = "FROM records INDEXED BY by_rank WHERE true"
# Room is made for some at once, so that a full ledger is not searched at each write.
_SHARE_MADE_FREE: Final = 100
_MOST_MADE_FREE: Final = 1000
_MOST_TOLD: Final = 20

_log = logging.getLogger(__name__)


class LedgerFileDamaged(LedgerDamaged):
    """The file as a whole is not as it was written, or not ours."""


_DESIGN: Final = Design(
    SCHEMA,
    (*_RECORDS, *ledgerfeed.STATEMENTS),
    LedgerUnavailable,
    LedgerFileDamaged,
    Former(1, _RECORDS, ledgerfeed.UPGRADE),
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many records are kept, of one host whatever the port, and of all."""

    of_host: int
    of_all: int


ON_FILE: Final = Bounds(of_host=20_000, of_all=1_000_000)
IN_MEMORY: Final = Bounds(of_host=20_000, of_all=100_000)
"""Records that are not packed."""


class LedgerFile:
    """The file `path`, made with its folder where nothing is. Every method may raise LedgerUnavailable.

    A lock of somebody else's is waited for `busy_seconds`.
    """

    def __init__(self, path: Path, busy_seconds: float, bounds: Bounds) -> None:
        self._path = path
        self._bounds = bounds
        # By what key a damaged row may be looked for: its own, and that of the URL whose record it has.
        self._damaged: dict[bytes, bytes] = {}
        self._count = 0
        self._version_read: int | None = None
        self._file = DurableFile(path, busy_seconds, _DESIGN)

    @property
    def has_damaged(self) -> bool:
        """Whether a damaged row was found that is still there."""
        return bool(self._damaged)

    @property
    def is_news(self) -> bool:
        """Whether it has not been read, or somebody else has written to it since."""
        return self._file.version() != self._version_read

    def read_all(self) -> dict[bytes, bytes]:
        """The records, packed, by key; withdrawn ones left out, b"" for what is damaged."""
        whole: dict[bytes, bytes] = {}
        damaged: dict[bytes, bytes] = {}
        count, version = 0, self._file.version()
        with self._file.in_use() as file:
            for *columns, kind in file.execute(f"SELECT {COLUMNS}, typeof(id) FROM records"):
                row = Row._make(columns)
                count += 1
                # Under a key of another type nobody will find it.
                if not row.is_whole or kind != "blob":
                    damaged.update(names_of_damaged(row))
                elif not row.is_withdrawn:
                    whole[row.key] = row.record
        self._note_damage(damaged)
        self._count, self._version_read = count, version
        return dict.fromkeys(damaged, b"") | whole

    def read(self, key: bytes) -> Row | None:
        """The row with this key, if it is whole."""
        with self._file.in_use() as file:
            columns = file.execute(f"SELECT {COLUMNS} FROM records WHERE id=?", (key,)).fetchone()
        row = None if columns is None else Row._make(columns)
        return row if row is not None and row.is_whole else None

    def page(self, host: str | None, state: State | None, after: bytes, limit: int) -> tuple[Record, ...]:
        """See ledgers.Ledger.of_host."""
        index = "" if host is None and state is None else f"INDEXED BY {'by_state' if host is None else 'by_host'}"
        wanted = {"host": host, "state": state}
        given = {name: value.encode() for name, value in wanted.items() if value is not None}
        where = "".join(f" AND {name}=:{name}" for name in given)
        query = f"SELECT {COLUMNS} FROM records {index} WHERE id>:after AND rank>={LISTED}{where} ORDER BY id"
        with self._file.in_use() as file:
            records = map(_written, map(Row._make, file.execute(query, {"after": after, **given})))
            return tuple(islice((record for record in records if record is not None), limit))

    def changes(self, after: int, limit: int) -> tuple[LedgerChange, ...]:
        """See ledgers.Ledger.changes."""
        with self._file.in_use() as file:
            return tuple(islice(_changes(ledgerfeed.rows_changed(file, after)), limit))

    def last_change(self) -> int:
        """See ledgers.Ledger.last_change."""
        with self._file.in_use() as file:
            return ledgerfeed.last_change(file)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What is done within is there for ever, and at once, or not at all."""
        before = self._count, dict(self._damaged)
        try:
            with self._file.writing():
                yield
        except BaseException:
            self._count, self._damaged = before
            raise

    def write(self, row: Row, *, is_change: bool) -> None:
        """Put it in the place of the one before, a damaged one too; where it `is_change`, after all changes."""
        with self._file.in_use() as file:
            self._clear(file, row.key)
            file.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            if is_change:
                ledgerfeed.note_change(file, row.key)
        self._count += 1

    def touch(self) -> None:
        """Write something, within `writing`, that changes nothing."""
        with self._file.in_use() as file:
            ledgerfeed.touch_end(file)

    def remove(self, key: bytes) -> bool:
        """Delete the row with this key, and a damaged one that may be meant by it; whether there was one."""
        with self._file.in_use() as file:
            ledgerfeed.forget_change(file, key)
            return self._clear(file, key)

    def make_room(self, written: Mapping[bytes, bytes], is_asked: Callable[[bytes], bool]) -> tuple[bytes, ...]:
        """Delete what is too much, within `writing`; the keys. Of those just `written`, with their hosts, none."""
        deleted: list[bytes] = []
        with self._file.in_use() as file:
            for host in sorted(set(written.values())):
                [count] = file.execute(f"SELECT count(*) {_OF_HOST}", (host,)).fetchone()
                going = _going(file, _OF_HOST, (host,), written, is_asked)
                deleted += self._delete(file, going, surplus(count, self._bounds.of_host))
            going = _going(file, _OF_ALL, (), written, is_asked)
            deleted += self._delete(file, going, surplus(self._count, self._bounds.of_all))
        return tuple(deleted)

    def _clear(self, file: sqlite3.Connection, key: bytes) -> bool:
        removed = file.execute("DELETE FROM records WHERE id=?", (key,)).rowcount
        stray = self._damaged.get(key)
        if stray is not None:
            removed += file.execute("DELETE FROM records WHERE CAST(id AS BLOB)=?", (stray,)).rowcount
            for name in (key, stray):  # nobody knows any more what changed
                ledgerfeed.forget_change(file, name)
            self._damaged = {name: row for name, row in self._damaged.items() if row != stray}
        self._count -= removed
        return removed > 0

    def _delete(self, file: sqlite3.Connection, going: Generator[bytes], most: int) -> list[bytes]:
        with closing(going):  # a cursor that is left open would keep the file locked
            deleted = list(islice(going, most))
        for key in deleted:
            ledgerfeed.forget_change(file, key)
            self._count -= file.execute("DELETE FROM records WHERE id=?", (key,)).rowcount
        return deleted

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _note_damage(self, damaged: dict[bytes, bytes]) -> None:
        rows = set(damaged.values())
        new = sorted(rows.difference(self._damaged.values()))
        if new:
            told = ", ".join(key.hex() for key in new[:_MOST_TOLD])
            _log.error("%d records in %s are damaged, and not used: %s", len(new), self._path, told)
        self._damaged = damaged


def surplus(count: int, most: int) -> int:
    """How many of `count` are to go where `most` are to be left, and a few less."""
    return 0 if count <= most else count - most + min(most // _SHARE_MADE_FREE, _MOST_MADE_FREE)


def _going(
    file: sqlite3.Connection,
    rows: str,
    values: tuple[bytes, ...],
    written: Mapping[bytes, bytes],
    is_asked: Callable[[bytes], bool],
) -> Generator[bytes]:
    """Keys in the order in which they go: by rank, those not asked for first, the one checked longest ago first."""
    for rank in range(LASTING + 1):
        spared: list[bytes] = []
        for (key,) in file.execute(f"SELECT id {rows} AND rank=? ORDER BY checked", (*values, rank)):
            if key in written:
                continue
            if is_asked(key):
                spared.append(key)
            else:
                yield key
        yield from spared


def _written(row: Row) -> Record | None:
    """The record in a row, if that is as it was written."""
    if row.is_whole:
        with suppress(MalformedRecord):
            return row.parsed()
    return None


def _changes(rows: Iterable[tuple[int, Row]]) -> Iterator[LedgerChange]:
    for cursor, row in rows:
        record = _written(row)
        if record is not None:
            last = record if row.is_listed else when_withdrawn(record)
            yield LedgerChange(cursor, last, is_withdrawn=not row.is_listed)
