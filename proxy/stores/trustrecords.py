"""Trust records: what is known of each authority, in memory or durably in a file of its own.

The file is no cache. It is never replaced, emptied or set aside: where it is damaged, or one record in it, nothing
is read from there and nothing written over it until somebody has looked. A pin that is silently forgotten would be
taken anew from whoever answers for the domain then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from proxy.ports import TrustRecordsDamaged, TrustRecordsUnavailable
from proxy.stores.recentknowledge import RecentKnowledge
from proxy.stores.trustfile import TrustFile, TrustFileDamaged
from proxy.trust.reasons import Untrusted
from proxy.trust.records.codec import parse_record, to_record
from proxy.trust.records.knowledge import Knowledge

DAMAGED: Final = "trust-records-damaged"
UNAVAILABLE: Final = "trust-records-unavailable"
MOST_OCTETS_IN_MEMORY: Final = 32 * 2**20

T = TypeVar("T")

_log = logging.getLogger(__name__)


class MemoryTrustRecords:
    """Records that end with the process."""

    def __init__(self) -> None:
        self._known: dict[str, Knowledge] = {}

    @property
    def degraded(self) -> tuple[str, ...]:
        """Nothing can be wrong with it."""
        return ()

    async def get(self, authority: str) -> Knowledge | None:
        """What is known of an authority."""
        return self._known.get(authority)

    async def put(self, knowledge: Knowledge) -> None:
        """Replace what is known of its authority."""
        self._known[knowledge.authority] = knowledge

    async def authorities(self, limit: int) -> tuple[str, ...]:
        """At most `limit` of those with a record, in order."""
        return tuple(sorted(self._known)[:limit])

    async def remove(self, authority: str) -> bool:
        """Forget it; whether there was something."""
        return self._known.pop(authority, None) is not None

    async def probe(self) -> None:
        """There is nothing to try."""

    async def close(self) -> None:
        """There is nothing to close."""


class SqliteTrustRecords:
    """Records in the file `path`, which a thread of its own opens at once and serves in the order of the calls.

    A file that is damaged is refused until the process begins anew; one that cannot be used is tried at each call.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, "trust-records")
        self._is_closed = False
        # From here on used by the thread alone, but for reading what is wrong.
        self._file: TrustFile | None = None
        self._recent = RecentKnowledge(MOST_OCTETS_IN_MEMORY)
        self._refusal: str | None = None
        self._fault: str | None = None
        self._thread.submit(self._probe)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why records cannot be used, all or some; empty when all is well."""
        file = self._file
        is_damaged = self._refusal is not None or (file is not None and file.has_damaged)
        return (DAMAGED,) * is_damaged + (UNAVAILABLE,) * (self._fault is not None)

    async def probe(self) -> None:
        """Try the file, so that `degraded` tells what is so now. Never raises."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._probe)

    async def get(self, authority: str) -> Knowledge | None:
        """What is known of an authority. Raises TrustRecordsDamaged, TrustRecordsUnavailable."""
        return await self._call(lambda file: self._read(file, authority))

    async def put(self, knowledge: Knowledge) -> None:
        """Replace what is known of its authority; durable when this returns.

        Raises TrustRecordsDamaged where the record in its place is damaged, and TrustRecordsUnavailable, also for
        what could not be read back.
        """
        await self._call(lambda file: self._write(file, knowledge))

    async def authorities(self, limit: int) -> tuple[str, ...]:
        """At most `limit` of those with a record, in order. Raises TrustRecordsUnavailable."""
        return await self._call(lambda file: file.authorities(limit))

    async def remove(self, authority: str) -> bool:
        """Forget it, a damaged record too; whether there was one. Raises TrustRecordsUnavailable."""
        return await self._call(lambda file: self._remove(file, authority))

    async def close(self) -> None:
        """Close the file after what has been asked for; a second time there is nothing to close."""
        if self._is_closed:
            return
        self._is_closed = True
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    async def _call(self, work: Callable[[TrustFile], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, work)

    def _guarded(self, work: Callable[[TrustFile], T]) -> T:
        """Do `work` in the thread, and note what it says of the file."""
        try:
            result = work(self._opened())
        except (_Unreadable, TrustRecordsDamaged):
            raise  # of one record: the file is well
        except TrustFileDamaged as error:
            self._refuse(str(error))
            raise
        except TrustRecordsUnavailable as error:
            self._note_fault(str(error))
            raise
        self._note_fault(None)
        return result

    def _opened(self) -> TrustFile:
        if self._refusal is not None:
            raise TrustFileDamaged(self._refusal)
        if self._file is None:
            self._file = TrustFile(self._path)
        return self._file

    def _read(self, file: TrustFile, authority: str) -> Knowledge | None:
        self._recent.be_of(file.version())
        known = self._recent.get(authority)
        if known is not None:
            return known
        found = file.read(authority)
        if found is None:
            return None
        self._recent.put(*found)
        return found[0]

    def _write(self, file: TrustFile, knowledge: Knowledge) -> None:
        record = _readable_record(knowledge)
        with file.writing():
            self._read(file, knowledge.authority)  # a damaged one is not written over
            self._recent.forget(knowledge.authority)
            file.write(knowledge.authority, record)
        self._recent.put(knowledge, len(record))

    def _remove(self, file: TrustFile, authority: str) -> bool:
        self._recent.forget(authority)
        return file.remove(authority)

    def _probe(self) -> None:
        with suppress(TrustRecordsUnavailable):
            self._guarded(TrustFile.version)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _refuse(self, reason: str) -> None:
        if self._refusal is None:
            self._refusal = reason
            self._fault = None
            self._close()
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


class _Unreadable(TrustRecordsUnavailable):
    """What is to be remembered could not be read back."""


def _readable_record(knowledge: Knowledge) -> bytes:
    """Its record, which says the same when it is read. Raises _Unreadable."""
    record = to_record(knowledge)
    with suppress(Untrusted):
        if parse_record(record) == knowledge:
            return record
    raise _Unreadable("What is known of the authority has no record that says the same.")
