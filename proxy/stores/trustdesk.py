"""The file of the trust records at work, for the one thread that uses it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from proxy.stores.filekeeper import FileKeeper, Terms
from proxy.stores.recentknowledge import RecentKnowledge
from proxy.stores.trustfile import TrustFile, TrustFileDamaged
from proxy.trust.reasons import Untrusted
from proxy.trust.records.codec import parse_record, to_record
from proxy.trust.records.knowledge import Knowledge
from proxy.trustrecords import TrustRecordsDamaged, TrustRecordsUnavailable

MOST_OCTETS_IN_MEMORY: Final = 32 * 2**20

_TERMS: Final = Terms(
    TrustRecordsUnavailable,
    TrustRecordsDamaged,
    TrustFileDamaged,
    noun="the trust records",
    remedy="move it away to begin anew without pins",
    consequence="copies from mirrors are refused",
)

_log = logging.getLogger(__name__)


class TrustDesk(FileKeeper[TrustFile]):
    """Reads and writes records. Methods raise TrustRecordsUnavailable; properties may be read by any thread."""

    def __init__(self, path: Path, busy_seconds: float, most_expendable: int) -> None:
        super().__init__(path, lambda: TrustFile(path, busy_seconds, most_expendable), _TERMS, _log)
        self._recent = RecentKnowledge(MOST_OCTETS_IN_MEMORY)

    def open(self) -> None:
        """Find out whether the file can be used."""
        with self.in_use() as file:
            file.version()

    def read(self, authority: str) -> Knowledge | None:
        """What is known of an authority. Raises TrustRecordsDamaged."""
        with self.in_use() as file:
            return self._read(file, authority)

    def write(self, batch: Sequence[Knowledge]) -> Mapping[str, TrustRecordsUnavailable]:
        """Replace what is known of each authority, durably and at once; those that are refused, and why.

        What is damaged is not written over, nor anything written that could not be read back.
        """
        refused: dict[str, TrustRecordsUnavailable] = {}
        with self.in_use() as file:
            records = list(_readable(batch, refused))
            with file.writing():
                written = [
                    (known, record) for known, record in records if self._replace(file, known, record, refused)
                ]
                for authority in file.make_room():
                    self._recent.forget(authority)
            for known, record in written:
                self._recent.put(known, len(record))
        return refused

    def authorities(self, limit: int) -> tuple[str, ...]:
        """At most `limit` of those with a record, in order."""
        with self.in_use() as file:
            return file.authorities(limit)

    def remove(self, authority: str) -> bool:
        """Forget it, a damaged record too; whether there was one."""
        with self.in_use() as file:
            self._recent.forget(authority)
            return file.remove(authority)

    def _read(self, file: TrustFile, authority: str) -> Knowledge | None:
        self._recent.be_of(file.version())
        file.touch(authority)
        known = self._recent.get(authority)
        if known is not None:
            return known
        found = file.read(authority)
        if found is None:
            return None
        self._recent.put(*found)
        return found[0]

    def _replace(
        self, file: TrustFile, known: Knowledge, record: bytes, refused: dict[str, TrustRecordsUnavailable]
    ) -> bool:
        try:
            self._read(file, known.authority)
        except TrustFileDamaged:
            raise
        except TrustRecordsDamaged as error:
            refused[known.authority] = error
            return False
        self._recent.forget(known.authority)
        file.write(known, record)
        return True


def _readable(
    batch: Sequence[Knowledge], refused: dict[str, TrustRecordsUnavailable]
) -> Iterator[tuple[Knowledge, bytes]]:
    """Each with its record, if that says the same when it is read."""
    for known in batch:
        record = to_record(known)
        with suppress(Untrusted):
            if parse_record(record) == known:
                yield known, record
                continue
        unreadable = "What is known of the authority has no record that says the same."
        refused[known.authority] = TrustRecordsUnavailable(unreadable)
