"""The file of the trust records at work, for the one thread that uses it.

A file that is damaged is refused until the process begins anew; one that cannot be used is opened again each time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from proxy.ports import TrustRecordsDamaged, TrustRecordsUnavailable
from proxy.stores.recentknowledge import RecentKnowledge
from proxy.stores.trustfile import TrustFile, TrustFileDamaged
from proxy.trust.reasons import Untrusted
from proxy.trust.records.codec import parse_record, to_record
from proxy.trust.records.knowledge import Knowledge

MOST_OCTETS_IN_MEMORY: Final = 32 * 2**20

_log = logging.getLogger(__name__)


class TrustDesk:
    """Reads and writes records. Methods raise TrustRecordsUnavailable; properties may be read by any thread."""

    def __init__(self, path: Path, busy_seconds: float, most_expendable: int) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._most_expendable = most_expendable
        self._file: TrustFile | None = None
        self._recent = RecentKnowledge(MOST_OCTETS_IN_MEMORY)
        self._refusal: str | None = None
        self._fault: str | None = None

    @property
    def refusal(self) -> str | None:
        """Why the file as a whole is damaged and refused."""
        return self._refusal

    @property
    def is_damaged(self) -> bool:
        """Whether the file or a record in it is damaged."""
        file = self._file
        return self._refusal is not None or (file is not None and file.has_damaged)

    @property
    def is_faulty(self) -> bool:
        """Whether the file could not be used the last time."""
        return self._fault is not None

    def open(self) -> None:
        """Find out whether the file can be used."""
        with self._in_use() as file:
            file.version()

    def read(self, authority: str) -> Knowledge | None:
        """What is known of an authority. Raises TrustRecordsDamaged."""
        with self._in_use() as file:
            return self._read(file, authority)

    def write(self, batch: Sequence[Knowledge]) -> Mapping[str, TrustRecordsUnavailable]:
        """Replace what is known of each authority, durably and at once; those that are refused, and why.

        What is damaged is not written over, nor anything written that could not be read back.
        """
        refused: dict[str, TrustRecordsUnavailable] = {}
        with self._in_use() as file:
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
        with self._in_use() as file:
            return file.authorities(limit)

    def remove(self, authority: str) -> bool:
        """Forget it, a damaged record too; whether there was one."""
        with self._in_use() as file:
            self._recent.forget(authority)
            return file.remove(authority)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @contextmanager
    def _in_use(self) -> Iterator[TrustFile]:
        """The file, and a note of what its use says of it."""
        try:
            yield self._opened()
        except TrustFileDamaged as error:
            self._refuse(str(error))
            raise
        except TrustRecordsDamaged:
            raise  # of one record: the file is well
        except TrustRecordsUnavailable as error:
            self._note_fault(str(error))
            raise
        self._note_fault(None)

    def _opened(self) -> TrustFile:
        if self._refusal is not None:
            raise TrustFileDamaged(self._refusal)
        if self._file is None:
            self._file = TrustFile(self._path, self._busy_seconds, self._most_expendable)
        return self._file

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

    def _refuse(self, reason: str) -> None:
        if self._refusal is None:
            self._refusal = reason
            self._fault = None
            self.close()
            _log.error(
                "the trust records in %s are damaged and refused (%s): restore the file from a backup, or move it"
                " away to begin anew without pins, then start again",
                self._path,
                reason,
            )

    def _note_fault(self, fault: str | None) -> None:
        if fault is not None and self._fault is None:
            _log.error(
                "the trust records in %s cannot be used (%s): copies from mirrors are refused", self._path, fault
            )
        if fault is None and self._fault is not None:
            _log.info("the trust records in %s can be used again", self._path)
        self._fault = fault


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
