"""The SQLite file of conflicts and registered profiles, which several processes use at once; for one thread.

Every row has the number of the change that wrote it, so that who knows the file up to some change reads only what
came after, his own writes too: nothing is told that is not in the file. Rows that are gone are found by comparing,
when a counter says that there are any.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from proxy.boundaries import BoundaryDamaged, BoundaryUnavailable
from proxy.boundary.conflicts import Conflict
from proxy.boundary.registration import Registration
from proxy.stores.boundaryroom import Room
from proxy.stores.boundaryrow import (
    CONFLICTS,
    PROFILES,
    STATEMENTS,
    ConflictRow,
    ProfileRow,
    conflict_row,
    profile_row,
)
from proxy.stores.durablefile import Design, DurableFile
from proxy.stores.memoryboundary import BoundaryBounds

SCHEMA: Final = 1

# Read at once: others may write again after so many.
_MOST_ROWS: Final = 2000
_MOST: Final = 2**62
_MOST_TOLD: Final = 20
_OF_CONFLICTS, _OF_PROFILES = range(2)

_log = logging.getLogger(__name__)


class BoundaryFileDamaged(BoundaryDamaged):
    """The file as a whole is not as it was written, or not ours."""


_DESIGN: Final = Design(SCHEMA, STATEMENTS, BoundaryUnavailable, BoundaryFileDamaged)


class News(NamedTuple):
    """What is gone, then what is there: rows that were written, or that are now the newest of their intents.

    The record of a damaged row is b"". `dropped`: the numbers of conflicts, with their intents.
    """

    dropped: tuple[tuple[int, bytes], ...] = ()
    conflicts: tuple[ConflictRow, ...] = ()
    unregistered: tuple[bytes, ...] = ()
    profiles: tuple[ProfileRow, ...] = ()


class Counters(NamedTuple):
    """The last number and the last change that were given, and how many rows were taken out."""

    number: int = 0
    change: int = 0
    dropped: int = 0
    unregistered: int = 0


class BoundaryFile:
    """The file `path`, made with its folder where nothing is. Every method may raise BoundaryUnavailable.

    A lock of somebody else's is waited for `busy_seconds`. What writes is called within `writing`.
    """

    def __init__(self, path: Path, busy_seconds: float, bounds: BoundaryBounds) -> None:
        self._path = path
        self._room = Room(bounds)
        self._intents: dict[int, bytes] = {}  # of all numbers that were told
        self._clients: set[bytes] = set()  # whose profiles were told
        self._read_up_to = [0, 0]  # which changes were told, of conflicts and of profiles
        self._compared: Counters | None = None
        self._version_read: int | None = None
        self._damaged: set[int | bytes] = set()  # numbers, and clients
        self._counters = Counters()  # of what is being written
        self._written: dict[int, bytes] = {}  # with the clients
        self._count = 0
        self._file = DurableFile(path, busy_seconds, _DESIGN)

    @property
    def has_damaged(self) -> bool:
        """Whether a damaged row was found that is still there."""
        return bool(self._damaged)

    def news(self) -> Iterator[News]:
        """What was written since it was read, part by part, so that nobody is kept from writing; at first all."""
        version = self._file.version()
        if version == self._version_read:
            return
        yield self._gone()
        yield self._astray()
        while conflicts := self._changed(CONFLICTS, _OF_CONFLICTS):
            yield News(conflicts=self._conflicts_read(map(ConflictRow._make, conflicts)))
        while profiles := self._changed(PROFILES, _OF_PROFILES):
            yield News(profiles=self._profiles_read(map(ProfileRow._make, profiles)))
        self._version_read = version

    def find(self, conflict_id: bytes) -> ConflictRow | None:
        """The row with this id, whole or not."""
        with self._file.in_use() as file:
            columns = file.execute(f"{CONFLICTS} WHERE id=?", (conflict_id,)).fetchone()
        return None if columns is None else ConflictRow._make(columns)

    def page(self, client: bytes | None, state: bytes | None, after: int) -> Generator[ConflictRow]:
        """The rows with numbers above `after`, in their order, whole or not. To be closed by who reads it."""
        given = {name: value for name, value in (("client", client), ("state", state)) if value is not None}
        index = f"INDEXED BY {'by_state' if client is None else 'by_client'}" if given else ""
        where = "".join(f" AND {name}=:{name}" for name in given)
        query = f"{CONFLICTS} {index} WHERE number>:after{where} ORDER BY number"
        with self._file.in_use() as file, closing(file.cursor()) as cursor:
            cursor.execute(query, {"after": min(after, _MOST), **given})
            yield from map(ConflictRow._make, cursor)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What is done within is there for ever, and at once, or not at all. Room is made for it."""
        with self._file.writing() as file:
            self._counters, self._written, self._count = _counted(file), {}, len(self._intents)
            yield
            if self._written:
                self._count_up("dropped", self._room.make_for(file, self._written, self._count))
            file.executemany("INSERT OR REPLACE INTO counters VALUES (?, ?)", enumerate(self._counters))
        self._version_read = None

    def write(self, conflict: Conflict, small: bytes, number: int | None) -> None:
        """Put it, packed, in the place of the row with this number; None: as a new one."""
        if number is None:
            number = self._count_up("number")
            self._count += 1
        row = conflict_row(number, self._count_up("change"), conflict, small)
        with self._file.in_use() as file:
            file.execute("INSERT OR REPLACE INTO conflicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row[:-1])
        self._written[number] = row.client

    def register(self, registration: Registration, small: bytes) -> None:
        """Put it, packed, in the place of what the client registered before."""
        row = profile_row(self._count_up("change"), registration, small)
        with self._file.in_use() as file:
            file.execute("INSERT OR REPLACE INTO profiles VALUES (?, ?, ?, ?, ?)", row[:-1])
            self._count_up("unregistered", self._room.make_for_profile(file, row.client))

    def unregister(self, client: bytes) -> bool:
        """Delete what the client registered; whether there was anything."""
        with self._file.in_use() as file:
            removed = file.execute("DELETE FROM profiles WHERE client=?", (client,)).rowcount
        self._count_up("unregistered", removed)
        return removed > 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _changed(self, query: str, which: int) -> list[tuple[Any, ...]]:
        """Some rows, those that were written next."""
        with self._file.in_use() as file:
            given = self._read_up_to[which], _MOST, _MOST_ROWS
            rows = file.execute(f"{query} WHERE change>? AND change<=? ORDER BY change LIMIT ?", given).fetchall()
        if rows:
            self._read_up_to[which] = rows[-1][1]
        return rows

    def _astray(self) -> News:
        """Damaged rows: what stands where their change stood says nothing of when to read them."""
        with self._file.in_use() as file:
            conflicts, profiles = (
                file.execute(f"{query} WHERE change>?", (_MOST,)).fetchall() for query in (CONFLICTS, PROFILES)
            )
        return News(
            conflicts=self._conflicts_read(map(ConflictRow._make, conflicts)),
            profiles=self._profiles_read(map(ProfileRow._make, profiles)),
        )

    def _gone(self) -> News:
        """What was told and is no more, and which conflicts are the newest of their intents instead."""
        with self._file.in_use() as file:
            now = _stored(file)
            before = now if self._compared is None else self._compared
            dropped = set[int]() if now.dropped == before.dropped else _missing(file, self._intents)
            gone = set[bytes]() if now.unregistered == before.unregistered else _unregistered(file, self._clients)
            newest = _newest(file, {self._intents[number] for number in dropped})
        self._compared = now
        self._damaged -= dropped | gone
        self._clients -= gone
        told = tuple((number, self._intents.pop(number)) for number in dropped)
        return News(told, self._conflicts_read(newest), tuple(gone))

    def _conflicts_read(self, rows: Iterable[ConflictRow]) -> tuple[ConflictRow, ...]:
        told = tuple(row if row.is_whole else row._replace(record=b"") for row in rows)
        self._intents.update((row.number, row.intent) for row in told)
        self._note_damage("conflicts", {row.number: not row.record for row in told})
        return told

    def _profiles_read(self, rows: Iterable[ProfileRow]) -> tuple[ProfileRow, ...]:
        told = tuple(row if row.is_whole else row._replace(record=b"") for row in rows)
        self._clients.update(row.client for row in told)
        self._note_damage("capability profiles", {row.client: not row.record for row in told})
        return told

    def _note_damage(self, noun: str, is_damaged: Mapping[Any, bool]) -> None:
        damaged = {key for key, value in is_damaged.items() if value}
        new = sorted(map(str, damaged - self._damaged))
        if new:
            told = ", ".join(new[:_MOST_TOLD])
            _log.error("%d %s in %s are damaged, and not used: %s", len(new), noun, self._path, told)
        self._damaged -= is_damaged.keys()
        self._damaged |= damaged

    def _count_up(self, name: str, more: int = 1) -> int:
        last = int(getattr(self._counters, name)) + more
        self._counters = self._counters._replace(**{name: last})
        return last


def _stored(file: sqlite3.Connection) -> Counters:
    """The counters as they stand; a damaged one as 0."""
    query = "SELECT kind, value FROM counters WHERE typeof(value)='integer' AND value BETWEEN 0 AND ?"
    values = dict(file.execute(query, (_MOST,)))
    return Counters(*(values.get(kind, 0) for kind in range(len(Counters._fields))))


def _counted(file: sqlite3.Connection) -> Counters:
    """The counters to go on from: no row has a higher number or change, whatever was damaged."""
    stored = _stored(file)
    [number] = file.execute("SELECT ifnull(max(number), 0) FROM conflicts").fetchone()
    changes = [
        int(file.execute(f"SELECT ifnull(max(change), 0) FROM {table} WHERE change<=?", (_MOST,)).fetchone()[0])
        for table in ("conflicts", "profiles")
    ]
    return stored._replace(number=max(stored.number, number), change=max(stored.change, *changes))


def _missing(file: sqlite3.Connection, numbers: Mapping[int, bytes]) -> set[int]:
    return numbers.keys() - {number for (number,) in file.execute("SELECT number FROM conflicts")}


def _unregistered(file: sqlite3.Connection, clients: set[bytes]) -> set[bytes]:
    return clients - {key for (key,) in file.execute("SELECT CAST(client AS BLOB) FROM profiles")}


def _newest(file: sqlite3.Connection, intents: set[bytes]) -> list[ConflictRow]:
    """Of each intent the newest row that is left."""
    query = f"{CONFLICTS} WHERE intent=? ORDER BY number DESC LIMIT 1"
    return [ConflictRow._make(row) for intent in intents for row in file.execute(query, (intent,))]
