"""A row of the ledger's file.

It is sealed: its key, what it is looked up by and its record stay together or the row is damaged, which is found
without reading what the record says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple

from proxy.http.targets import parse_target
from proxy.relocation.codec import MalformedRecord, parse_record
from proxy.relocation.records import Record, State
from proxy.stores.packing import unpacked

TABLE: Final = (
    "CREATE TABLE records (id BLOB PRIMARY KEY, host BLOB NOT NULL, state BLOB NOT NULL, rank INTEGER NOT NULL,"
    " checked REAL NOT NULL, record BLOB NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID"
)
# A damaged column may have another type.
COLUMNS: Final = ", ".join(
    [
        *(f"ifnull(CAST({name} AS BLOB), x'')" for name in ("id", "host", "state")),
        "rank",
        "checked",
        *(f"ifnull(CAST({name} AS BLOB), x'')" for name in ("record", "seal")),
    ]
)
# The same URLs are asked for again and again.
_MOST_KEYS: Final = 16_384
KEY_OCTETS: Final = hashlib.sha256().digest_size
# In which turn they go when room is needed. From `LISTED` on there is a record that listings know of.
WITHDRAWN, COUNTED, LISTED, LASTING = range(4)


class Row(NamedTuple):
    """What stands in the file, in the order of COLUMNS."""

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
        return self.rank == WITHDRAWN

    @property
    def is_listed(self) -> bool:
        """Whether listings know of its record."""
        return self.rank >= LISTED

    def parsed(self) -> Record:
        """The record. Raises MalformedRecord where nobody has ever written it."""
        return parse_record(unpacked(self.record))


@lru_cache(_MOST_KEYS)
def key_of(url: str) -> bytes:
    """The octets of the id of its record."""
    return hashlib.sha256(url.encode()).digest()


def row_of(record: Record, small: bytes, *, is_withdrawn: bool) -> Row:
    """The row of a record, whose durable form is packed in `small`."""
    host = parse_target(record.url).host.encode()
    rank = WITHDRAWN if is_withdrawn else rank_of(record)
    sealed = key_of(record.url), host, record.state.encode(), rank, record.checked_at, small
    return Row(*sealed, _seal(*sealed))


def rank_of(record: Record) -> int:
    """In which turn it goes when room is needed: what is only counted first, a tombstone last."""
    if not record.is_listed:
        return COUNTED
    return LASTING if record.state is State.GONE else LISTED


def names_of_damaged(row: Row) -> Iterator[tuple[bytes, bytes]]:
    """Each key by which somebody may look for it, with its own."""
    yield row.key, row.key
    with suppress(MalformedRecord):
        yield key_of(row.parsed().url), row.key


def _seal(key: bytes, host: bytes, state: bytes, rank: int, checked: float, record: bytes) -> bytes:
    return hashlib.sha256(b"%b %b %b %a %a %b" % (key, host, state, rank, checked, record)).digest()
