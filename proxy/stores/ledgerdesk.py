"""The file of the ledger at work, for the one thread that uses it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from proxy.ledgers import LedgerChange, LedgerDamaged, LedgerUnavailable
from proxy.relocation.codec import MalformedRecord, parse_record, to_record
from proxy.relocation.records import Observation, Record, State
from proxy.stores.filekeeper import FileKeeper, Terms
from proxy.stores.ledgerfile import Bounds, LedgerFile, LedgerFileDamaged
from proxy.stores.ledgerhistory import continued, standing, with_withdrawal
from proxy.stores.ledgerrow import Row, key_of, row_of
from proxy.stores.packing import packed

_TERMS: Final = Terms(
    LedgerUnavailable,
    LedgerDamaged,
    LedgerFileDamaged,
    noun="the records of relocations",
    remedy="move it away to begin anew",
    consequence="no relocation can be recorded",
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Removal:
    """The record of `url` is to be withdrawn for what was observed."""

    url: str
    observation: Observation


Change = tuple[bytes, bytes | None, Record | None]
"""A key, the packed record and the record that are there now, None for none."""

News = dict[bytes, bytes] | list[Change]
"""All packed records, or what has changed."""

Outcome = bool | LedgerUnavailable
"""Whether there was something to do, or why it is refused."""


class LedgerDesk(FileKeeper[LedgerFile]):
    """Reads and writes records, and `tell`s what is there. Methods raise LedgerUnavailable.

    The properties may be read by any thread. What `is_asked` for goes late when room is needed.
    """

    def __init__(
        self,
        path: Path,
        busy_seconds: float,
        bounds: Bounds,
        tell: Callable[[News], None],
        is_asked: Callable[[bytes], bool],
    ) -> None:
        super().__init__(path, lambda: LedgerFile(path, busy_seconds, bounds), _TERMS, _log)
        self._tell = tell
        self._is_asked = is_asked

    def open(self) -> None:
        """Find out whether the file can be used, and tell what is in it when that is news."""
        with self.in_use() as file:
            self._read_news(file)

    def probe(self) -> None:
        """Find out whether it can be used; after a failure also whether it can be written."""
        is_faulty = self.is_faulty
        with self.in_use() as file:
            self._read_news(file)
            if is_faulty:
                with file.writing():
                    file.touch()

    def write(self, batch: Sequence[Record | Removal]) -> list[Outcome]:
        """Record and withdraw, durably and at once; what became of each.

        Nothing is written that could not be read back.
        """
        with self.in_use() as file:
            changes: list[Change] = []
            written: dict[bytes, bytes] = {}
            with file.writing():
                self._read_news(file)
                outcomes = [self._written(file, entry, changes, written) for entry in batch]
                changes += [(key, None, None) for key in file.make_room(written, self._is_asked)]
            self._tell(changes)
            return outcomes

    def page(self, host: str | None, state: State | None, after: bytes, limit: int) -> tuple[Record, ...]:
        """See ledgers.Ledger.of_host."""
        with self.in_use() as file:
            self._read_news(file)
            return file.page(host, state, after, limit)

    def changes(self, after: int, limit: int) -> tuple[LedgerChange, ...]:
        """See ledgers.Ledger.changes."""
        with self.in_use() as file:
            self._read_news(file)
            return file.changes(after, limit)

    def last_change(self) -> int:
        """See ledgers.Ledger.last_change."""
        with self.in_use() as file:
            self._read_news(file)
            return file.last_change()

    def _read_news(self, file: LedgerFile) -> None:
        if file.is_news:
            self._tell(file.read_all())

    def _written(
        self, file: LedgerFile, entry: Record | Removal, changes: list[Change], written: dict[bytes, bytes]
    ) -> Outcome:
        try:
            change = _removed(file, entry) if isinstance(entry, Removal) else _put(file, entry, written)
        except MalformedRecord as error:
            return LedgerUnavailable(f"What is to be recorded has no record that says the same. {error.detail}")
        if change is None:
            return False
        changes.append(change)
        return True


def _put(file: LedgerFile, record: Record, written: dict[bytes, bytes]) -> Change:
    small = _small(record)  # first: what cannot be read back may have no key either
    row = file.read(key_of(record.url))
    before = _record_of(row)
    if row is not None and row.is_withdrawn and before is not None:
        record = continued(record, before.history)
        small, before = _small(record), None
    row = row_of(record, small, is_withdrawn=False)
    file.write(row, is_change=standing(record) != standing(before))
    written[row.key] = row.host
    return row.key, row.record, record


def _removed(file: LedgerFile, removal: Removal) -> Change | None:
    key = key_of(removal.url)
    row = file.read(key)
    if row is not None and row.is_withdrawn:
        return None
    record = _record_of(row)
    history = () if record is None else with_withdrawal(record, removal.observation)
    if record is not None and history:
        last = replace(record, history=history)
        file.write(row_of(last, _small(last), is_withdrawn=True), is_change=record.is_listed)
    elif not file.remove(key):
        return None
    return key, None, None


def _record_of(row: Row | None) -> Record | None:
    """The record in a row; None where nobody has ever written it."""
    if row is not None:
        with suppress(MalformedRecord):
            return row.parsed()
    return None


def _small(record: Record) -> bytes:
    """The packed record. Raises MalformedRecord where it does not say the same when it is read."""
    octets = to_record(record)
    if parse_record(octets) != record:
        raise MalformedRecord("It is read as another.")
    return packed(octets)
