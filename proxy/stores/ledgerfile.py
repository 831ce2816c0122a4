"""The SQLite file of the ledger, for one thread.

A row is sealed: its key, what it is looked up by and its record stay together or the row is damaged, which is found
at the opening without reading what the records say. A record that was withdrawn stays as a row for its history,
until room is needed.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from proxy.http.targets import parse_target
from proxy.ledgers import LedgerDamaged, LedgerUnavailable
from proxy.relocation.codec import MalformedRecord, parse_record
from proxy.relocation.records import Record, State
from proxy.stores.durablefile import Design, DurableFile
from proxy.stores.packing import unpacked

SCHEMA: Final = 1

_TABLE: Final = (
    "CREATE TABLE records (id BLOB PRIMARY KEY, host BLOB NOT NULL, state BLOB NOT NULL, rank INTEGER NOT NULL,"
    " checked REAL NOT NULL, record BLOB NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID"
)
_BY_HOST: Final = "CREATE INDEX by_host ON records (host, rank, checked)"
_BY_STATE: Final = "CREATE INDEX by_state ON records (state, id)"
_BY_RANK: Final = "CREATE INDEX by_rank ON records (rank, checked)"
# A damaged column may have another type.
_COLUMNS: Final = ", ".join(
    [
        *(f"ifnull(CAST({name} AS BLOB), x'')" for name in ("id", "host", "state")),
        "rank",
        "checked",
        *(f"ifnull(CAST({name} AS BLOB), x'')" for name in ("record", "seal")),
    ]
)
# In which turn they go when room is needed. From `_LISTED` on there is a record that listings know of.
_WITHDRAWN, _COUNTED, _LISTED, _LASTING = range(4)
_OF_HOST: Final = "FROM records INDEXED BY by_host WHERE host=?"
_OF_ALL: Final = "FROM records INDEXED BY by_rank WHERE true"
# Room is made for some at once, so that a full ledger is not searched at each write.
_SHARE_MADE_FREE: Final = 100
_MOST_MADE_FREE: Final = 1000
_MOST_TOLD: Final = 20

_log = logging.getLogger(__name__)


class LedgerFileDamaged(LedgerDamaged):
    """The file as a whole is not as it was written, or not ours."""


_DESIGN: Final = Design(SCHEMA, (_TABLE, _BY_HOST, _BY_STATE, _BY_RANK), LedgerUnavailable, LedgerFileDamaged)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many records are kept, of one host whatever the port, and of all."""

    of_host: int
    of_all: int


ON_FILE: Final = Bounds(of_host=20_000, of_all=1_000_000)
IN_MEMORY: Final = Bounds(of_host=20_000, of_all=100_000)
"""Records that are not packed."""


class Row(NamedTuple):
    """What stands in the file."""

    key: bytes
    host: bytes
    state: bytes
    rank: int
    checked: float
    record: bytes
    seal: bytes

    @property
    def is_whole(self) -> bool:
        """Whether it is as it was written."""
        return self.seal == _seal(*self[:-1])

    @property
    def is_withdrawn(self) -> bool:
        """Whether it is kept for its history only."""
        return self.rank == _WITHDRAWN


def key_of(url: str) -> bytes:
    """The octets of the id of its record."""
    return hashlib.sha256(url.encode()).digest()


def row_of(record: Record, small: bytes, *, is_withdrawn: bool) -> Row:
    """The row of a record, whose durable form is packed in `small`."""
    host = parse_target(record.url).host.encode()
    rank = _WITHDRAWN if is_withdrawn else rank_of(record)
    sealed = key_of(record.url), host, record.state.encode(), rank, record.checked_at, small
    return Row(*sealed, _seal(*sealed))


def rank_of(record: Record) -> int:
    """In which turn it goes when room is needed: what is only counted first, a tombstone last."""
    if not record.is_listed:
        return _COUNTED
    return _LASTING if record.state is State.GONE else _LISTED


def _seal(key: bytes, host: bytes, state: bytes, rank: int, checked: float, record: bytes) -> bytes:
    return hashlib.sha256(b"%b %b %b %a %a %b" % (key, host, state, rank, checked, record)).digest()


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
            for *columns, kind in file.execute(f"SELECT {_COLUMNS}, typeof(id) FROM records"):
                row = Row._make(columns)
                count += 1
                # Under a key of another type nobody will find it.
                if not row.is_whole or kind != "blob":
                    damaged.update(_names_of_damaged(row))
                elif not row.is_withdrawn:
                    whole[row.key] = row.record
        self._note_damage(damaged)
        self._count, self._version_read = count, version
        return dict.fromkeys(damaged, b"") | whole

    def read(self, key: bytes) -> Row | None:
        """The row with this key, if it is whole."""
        with self._file.in_use() as file:
            columns = file.execute(f"SELECT {_COLUMNS} FROM records WHERE id=?", (key,)).fetchone()
        row = None if columns is None else Row._make(columns)
        return row if row is not None and row.is_whole else None

    def page(self, host: str | None, state: State | None, after: bytes, limit: int) -> tuple[Record, ...]:
        """See ledgers.Ledger.of_host."""
        index = "" if host is None and state is None else f"INDEXED BY {'by_state' if host is None else 'by_host'}"
        wanted = {"host": host, "state": state}
        given = {name: value.encode() for name, value in wanted.items() if value is not None}
        where = "".join(f" AND {name}=:{name}" for name in given)
        query = f"SELECT {_COLUMNS} FROM records {index} WHERE id>:after AND rank>={_LISTED}{where} ORDER BY id"
        with self._file.in_use() as file:
            return tuple(islice(_readable(file.execute(query, {"after": after, **given})), limit))

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

    def write(self, row: Row) -> None:
        """Put it in the place of the one before, a damaged one too."""
        self.remove(row.key)
        with self._file.in_use() as file:
            file.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self._count += 1

    def remove(self, key: bytes) -> bool:
        """Delete the row with this key, and a damaged one that may be meant by it; whether there was one."""
        with self._file.in_use() as file:
            removed = file.execute("DELETE FROM records WHERE id=?", (key,)).rowcount
            stray = self._damaged.get(key)
            if stray is not None:
                removed += file.execute("DELETE FROM records WHERE CAST(id AS BLOB)=?", (stray,)).rowcount
                self._damaged = {name: row for name, row in self._damaged.items() if row != stray}
        self._count -= removed
        return removed > 0

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

    def _delete(self, file: sqlite3.Connection, going: Generator[bytes], most: int) -> list[bytes]:
        with closing(going):  # a cursor that is left open would keep the file locked
            deleted = list(islice(going, most))
        for key in deleted:
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


def _names_of_damaged(row: Row) -> Iterator[tuple[bytes, bytes]]:
    """Each key by which somebody may look for it, with its own."""
    yield row.key, row.key
    with suppress(MalformedRecord):
        yield key_of(parse_record(unpacked(row.record)).url), row.key


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
    for rank in range(_LASTING + 1):
        spared: list[bytes] = []
        for (key,) in file.execute(f"SELECT id {rows} AND rank=? ORDER BY checked", (*values, rank)):
            if key in written:
                continue
            if is_asked(key):
                spared.append(key)
            else:
                yield key
        yield from spared


def _readable(rows: Iterable[tuple[Any, ...]]) -> Iterator[Record]:
    for columns in rows:
        row = Row._make(columns)
        if row.is_whole:
            with suppress(MalformedRecord):
                yield parse_record(unpacked(row.record))
