"""All records of the ledger in memory, for one thread: packed, those asked for last also as they are."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from proxy.ledgers import LedgerDamaged
from proxy.relocation.codec import MalformedRecord, parse_record
from proxy.relocation.records import Record
from proxy.stores.ledgerrow import key_of
from proxy.stores.packing import unpacked

MOST_AT_HAND: Final = 16_384

_log = logging.getLogger(__name__)


class Shelf:
    """Packed records by their keys; b"" where one is damaged."""

    def __init__(self, small: dict[bytes, bytes], most_at_hand: int = MOST_AT_HAND) -> None:
        self._small = small
        self._most_at_hand = most_at_hand
        self._at_hand: OrderedDict[bytes, Record] = OrderedDict()
        self._malformed: set[bytes] = set()

    @property
    def has_damaged(self) -> bool:
        """Whether a damaged record was met with that is still there."""
        return bool(self._malformed)

    def get(self, key: bytes) -> Record | None:
        """The record. Raises LedgerDamaged."""
        record = self._at_hand.get(key)
        if record is not None:
            self._at_hand.move_to_end(key)
            return record
        small = self._small.get(key)
        return None if small is None else self._read(key, small)

    def is_at_hand(self, key: bytes) -> bool:
        """Whether it was asked for, or written, not long ago. Any thread may ask."""
        return key in self._at_hand

    def update(self, changes: Iterable[tuple[bytes, bytes | None, Record | None]]) -> None:
        """Take in what was written: key, packed record and record, None for one that is no more."""
        for key, small, record in changes:
            self._at_hand.pop(key, None)
            self._malformed.discard(key)
            if small is None or record is None:
                self._small.pop(key, None)
            else:
                self._small[key] = small
                self._put_at_hand(key, record)

    def _read(self, key: bytes, small: bytes) -> Record:
        try:
            record = parse_record(unpacked(small))
            if key_of(record.url) != key:
                raise MalformedRecord("The record is of another URL.")
        except MalformedRecord as error:
            self._note_damage(key)
            raise LedgerDamaged(f"The record of the URL is damaged. {error.detail}") from None
        self._put_at_hand(key, record)
        return record

    def _note_damage(self, key: bytes) -> None:
        if key not in self._malformed:
            self._malformed.add(key)
            _log.error("a record of the ledger is damaged, and not used (%s)", key.hex())

    def _put_at_hand(self, key: bytes, record: Record) -> None:
        self._at_hand[key] = record
        if len(self._at_hand) > self._most_at_hand:
            self._at_hand.popitem(last=False)
