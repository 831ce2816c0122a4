"""The SQLite file of the trust records, for one thread.

At each opening every record is held against its key. Records that may be forgotten are bounded; how long they have
not been asked for is known of this process, and before it by when they were written.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final

from proxy.stores.durablefile import Design, DurableFile
from proxy.stores.expendable import Expendable
from proxy.trust.reasons import Untrusted
from proxy.trust.records.codec import Heading, parse_record, read_heading
from proxy.trust.records.knowledge import Knowledge
from proxy.trustrecords import TrustRecordsDamaged, TrustRecordsUnavailable

SCHEMA: Final = 1

_TABLE: Final = "CREATE TABLE records (authority BLOB PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID"
# A damaged column may have another type.
_KEY: Final = "CAST(authority AS BLOB)"
_RECORD: Final = "ifnull(CAST(record AS BLOB), x'')"

_log = logging.getLogger(__name__)


class TrustFileDamaged(TrustRecordsDamaged):
    """The file as a whole is not as it was written, or not ours."""


_DESIGN: Final = Design(SCHEMA, (_TABLE,), TrustRecordsUnavailable, TrustFileDamaged)


class TrustFile:
    """The file `path`, made with its folder where nothing is. Every method may raise TrustRecordsUnavailable.

    A lock of somebody else's is waited for `busy_seconds`. Of records that may be forgotten it keeps
    `most_expendable`.
    """

    def __init__(self, path: Path, busy_seconds: float, most_expendable: int) -> None:
        self._path = path
        # By what name a damaged record may be looked for: its key, and whose record it says that it is.
        self._damaged: dict[str, bytes] = {}
        self._file = DurableFile(path, busy_seconds, _DESIGN)
        try:
            with self._file.in_use() as file:
                by_age = sorted(self._headings(file), key=lambda heading: heading.latest_time)
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
        return self._file.version()

    def read(self, authority: str) -> tuple[Knowledge, int] | None:
        """What is known, and how many octets its record has. Raises TrustRecordsDamaged."""
        key = authority.encode()
        with self._file.in_use() as file:
            row = file.execute(f"SELECT {_RECORD} FROM records WHERE authority=?", (key,)).fetchone()
        if row is None and authority not in self._damaged:
            return None
        if row is not None and self._heading(key, row[0]) is not None:
            with suppress(Untrusted):
                return parse_record(row[0]), len(row[0])
            self._note_damage(key, authority)
        raise TrustRecordsDamaged("The trust record of the authority is damaged.")

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """What is done within is there for ever, and at once, or not at all."""
        return self._file.writing()

    def write(self, knowledge: Knowledge, record: bytes) -> None:
        """Put its record in the place of the one before."""
        with self._file.in_use() as file:
            row = knowledge.authority.encode(), record
            file.execute("INSERT OR REPLACE INTO records VALUES (?, ?)", row)
        self._expendable.written(knowledge)

    def touch(self, authority: str) -> None:
        """Note that it is asked for."""
        self._expendable.touch(authority)

    def make_room(self) -> tuple[str, ...]:
        """Forget what is too much, within `writing`; whom."""
        surplus = self._expendable.surplus
        with self._file.in_use() as file:
            for authority in surplus:
                self._forget_expendable(file, authority.encode())
                self._expendable.forgotten(authority)
        return surplus

    def _forget_expendable(self, file: sqlite3.Connection, key: bytes) -> None:
        row = file.execute(f"SELECT {_RECORD} FROM records WHERE authority=?", (key,)).fetchone()
        heading = None if row is None else self._heading(key, row[0])
        # Somebody else may have learnt more of it.
        if heading is not None and heading.is_expendable:
            file.execute("DELETE FROM records WHERE authority=?", (key,))

    def authorities(self, limit: int) -> tuple[str, ...]:
        """At most `limit` keys, in order."""
        with self._file.in_use() as file:
            rows = file.execute(f"SELECT {_KEY} FROM records ORDER BY authority LIMIT ?", (limit,))
            return tuple(_told(key) for (key,) in rows)

    def remove(self, authority: str) -> bool:
        """Delete its record, a damaged one under another key too; whether there was one."""
        keys = {authority.encode(), self._damaged.get(authority, b"")}
        with self.writing() as file:
            removed = [file.execute(f"DELETE FROM records WHERE {_KEY}=?", (key,)) for key in keys]
        self._damaged = {name: key for name, key in self._damaged.items() if key not in keys}
        self._expendable.forgotten(authority)
        return any(cursor.rowcount for cursor in removed)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _headings(self, file: sqlite3.Connection) -> Iterator[Heading]:
        """Those of all records that are whole."""
        rows = file.execute(f"SELECT {_KEY}, {_RECORD}, typeof(authority) FROM records")
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


def _told(key: bytes) -> str:
    return key.decode("ascii", "backslashreplace")
