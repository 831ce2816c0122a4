"""The changes of the ledger in its file: which URL has changed when, as numbers.

A number is in the table and in its index, which are held against each other whenever the file is opened. The row
without a key is at the end of all others and has the number that is given next, so that none is ever given twice,
whatever has become of the URL that had it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

from proxy.stores.ledgerrow import COLUMNS, COUNTED, KEY_OCTETS, Row

_TABLE: Final = "CREATE TABLE changes (cursor INTEGER PRIMARY KEY, id BLOB NOT NULL)"
_BY_ID: Final = "CREATE UNIQUE INDEX by_id ON changes (id)"
_END: Final = b""
_MOST: Final = 2**63 - 1

STATEMENTS: Final = (_TABLE, _BY_ID)
UPGRADE: Final = (
    *STATEMENTS,
    # Without a number are those only counted, and what is no key, which nobody will look for.
    f"INSERT INTO changes (id) SELECT id FROM records WHERE rank<>{COUNTED}"
    f" AND typeof(id)='blob' AND length(id)={KEY_OCTETS} ORDER BY checked, id",
    "INSERT INTO changes (id) VALUES (x'')",
)
"""What makes the changes of a file that has records and knew of none: in the order in which they were checked."""


def note_change(file: sqlite3.Connection, key: bytes) -> None:
    """Put the URL with this key at the end of all changes, whether or not it was among them."""
    [end] = file.execute("SELECT ifnull(max(cursor), 1) FROM changes").fetchone()
    file.executemany("INSERT OR REPLACE INTO changes VALUES (?, ?)", [(end + 1, _END), (end, key)])


def touch_end(file: sqlite3.Connection) -> None:
    """Write the row at the end again as it is, or make it."""
    [end] = file.execute("SELECT ifnull(max(cursor), 1) FROM changes").fetchone()
    file.execute("INSERT OR REPLACE INTO changes VALUES (?, ?)", (end, _END))


def forget_change(file: sqlite3.Connection, key: bytes) -> None:
    """Take the URL with this key out of the changes."""
    file.execute("DELETE FROM changes WHERE id=?", (key,))


def last_change(file: sqlite3.Connection) -> int:
    """The number of the newest change there ever was, 0 for none."""
    [end] = file.execute("SELECT ifnull(max(cursor), 1) FROM changes").fetchone()
    return int(end) - 1


def rows_changed(file: sqlite3.Connection, after: int) -> Iterator[tuple[int, Row]]:
    """The changes that follow a number, in order, with what stands in the file now."""
    # The changes are gone through in their order, and not the records.
    query = f"SELECT cursor, {COLUMNS} FROM changes CROSS JOIN records USING (id) WHERE cursor>? ORDER BY cursor"
    for cursor, *columns in file.execute(query, (min(after, _MOST),)):
        yield cursor, Row._make(columns)
