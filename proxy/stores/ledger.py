"""The ledger of relocations: in memory alone, or in memory and durably in a file of its own.

The file is no cache. It is never replaced, emptied or set aside, and nothing is told of it before it has been read
whole. What was read then is told from memory, whatever becomes of the file; what cannot be written is refused, so
that no permanent move is answered that is not recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from proxy.failover.breaker import CLOSED, NotYet
from proxy.ledgers import LedgerChange, LedgerUnavailable
from proxy.relocation.records import Observation, Record, State
from proxy.stores.ledgerdesk import LedgerDesk, News, Outcome, Removal
from proxy.stores.ledgerfile import ON_FILE, Bounds, LedgerFileDamaged
from proxy.stores.ledgerrow import key_of
from proxy.stores.ledgershelf import Shelf
from proxy.stores.threads import ended

DAMAGED: Final = "ledger-damaged"
UNAVAILABLE: Final = "ledger-unavailable"
OPERATION_SECONDS: Final = 0.1
# A write reaches the disk before it has ended, so it may take longer than other operations.
_WRITE_PATIENCE: Final = 10
_FIRST_READING_SECONDS: Final = 60.0
_MOST_AT_ONCE: Final = 1000

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    """`ended` with what became of it once it is durable, or with an error."""

    entry: Record | Removal
    ended: asyncio.Future[bool]

    def end(self, outcome: Outcome) -> None:
        """Tell who waits, if anybody does."""
        if isinstance(outcome, LedgerUnavailable):
            self.ended.set_exception(outcome)
            self.ended.exception()  # nobody may be left to take it
        else:
            self.ended.set_result(outcome)


class SqliteLedger:
    """Records in the file `path`, which a thread of its own serves in the order of the calls.

    An operation is waited for ten times `operation_timeout` seconds at most, and none is tried while the file is
    known not to work. A lock of somebody else's is waited for half of `operation_timeout`.
    """

    def __init__(self, path: Path, operation_timeout: float = OPERATION_SECONDS, bounds: Bounds = ON_FILE) -> None:
        self._path = path
        self._seconds = operation_timeout * _WRITE_PATIENCE
        self._shelf: Shelf | None = None
        self._desk = LedgerDesk(path, operation_timeout / 2, bounds, self._tell, self._is_asked)
        self._thread = ThreadPoolExecutor(1, "ledger")
        self._loop: asyncio.AbstractEventLoop  # of whoever last gave the thread something to do
        self._waiting: deque[_Write] = deque()
        self._flushing: asyncio.Task[None] | None = None
        self._breaker = CLOSED
        self._is_late = False
        self._is_closed = False

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why records cannot be used or written; empty when all is well."""
        is_failing = self._desk.is_faulty or self._is_late
        is_damaged = self._desk.is_damaged or (self._shelf is not None and self._shelf.has_damaged)
        return (DAMAGED,) * is_damaged + (UNAVAILABLE,) * (is_failing and self._desk.refusal is None)

    async def open(self) -> None:
        """Read the file, so that `get` tells what is in it. Never raises; a slow file is read on meanwhile."""
        with suppress(LedgerUnavailable):
            await self._in_thread(_FIRST_READING_SECONDS, self._desk.open)

    async def probe(self) -> None:
        """Try the file, and read it if somebody else has written to it. Never raises."""
        with suppress(LedgerUnavailable):
            self._require_usable()
            await self._in_thread(self._seconds, self._desk.probe)
            self._breaker = CLOSED

    def get(self, url: str) -> Record | None:
        """The record of a URL, from memory. Raises LedgerDamaged, LedgerUnavailable before the file is read."""
        return self._read_shelf().get(key_of(url))

    def by_id(self, record_id: str) -> Record | None:
        """The record with this id, from memory. Raises LedgerDamaged, LedgerUnavailable."""
        try:
            key = bytes.fromhex(record_id)
        except ValueError:
            return None
        return self._read_shelf().get(key)

    async def put(self, record: Record) -> None:
        """Replace the record of its URL; durable when this returns. Raises LedgerUnavailable.

        After an error it may have been recorded all the same, if the file was only too slow.
        """
        await self._written(record)

    async def remove(self, url: str, observation: Observation) -> bool:
        """Withdraw the record of a URL, durably; whether there was one. Raises LedgerUnavailable."""
        return await self._written(Removal(url, observation))

    async def of_host(
        self, host: str | None, state: State | None, after: str | None, limit: int
    ) -> tuple[Record, ...]:
        """At most `limit` records in order of their ids, read in the file. Raises LedgerUnavailable."""
        start = bytes.fromhex(after or "")
        return await self._read(lambda: self._desk.page(host, state, start, limit))

    async def changes(self, after: int, limit: int) -> tuple[LedgerChange, ...]:
        """At most `limit` changes in order of their cursors, read in the file. Raises LedgerUnavailable."""
        return await self._read(lambda: self._desk.changes(after, limit))

    async def last_change(self) -> int:
        """The cursor of the newest change, read in the file. Raises LedgerUnavailable."""
        return await self._read(self._desk.last_change)

    async def close(self) -> None:
        """Write what waits if that can be done now, and close the file; a second time there is nothing to close."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._flushing is not None:
            await asyncio.wait({self._flushing}, timeout=self._seconds)
            self._flushing.cancel()
        with suppress(LedgerUnavailable):
            await self._in_thread(self._seconds, self._desk.close)
        self._thread.shutdown(wait=False)

    def _read_shelf(self) -> Shelf:
        if self._shelf is None:
            raise LedgerUnavailable(self._desk.refusal or "not read yet")
        return self._shelf

    def _is_asked(self, key: bytes) -> bool:
        return self._shelf is not None and self._shelf.is_at_hand(key)

    def _require_usable(self) -> None:
        if self._desk.refusal is not None:
            raise LedgerFileDamaged(self._desk.refusal)
        if self._is_closed:
            raise LedgerUnavailable("closed")

    def _require_allowed(self) -> None:
        self._require_usable()
        allowed = self._breaker.allow(_now())
        if isinstance(allowed, NotYet):
            raise LedgerUnavailable("not asked: it failed before")
        self._breaker = allowed

    async def _read(self, reading: Callable[[], T]) -> T:
        self._require_allowed()
        try:
            return await self._in_thread(self._seconds, reading)
        except LedgerUnavailable:
            self._breaker = self._breaker.failed(_now())
            raise

    async def _written(self, entry: Record | Removal) -> bool:
        self._require_allowed()
        write = _Write(entry, asyncio.get_running_loop().create_future())
        self._waiting.append(write)
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self._flush())
        done, _ = await asyncio.wait({write.ended}, timeout=self._seconds)
        if not done:
            with suppress(ValueError):
                self._waiting.remove(write)  # unless it is being written
            self._note_late()
            self._breaker = self._breaker.failed(_now())
            raise LedgerUnavailable("too slow")
        return write.ended.result()

    async def _flush(self) -> None:
        """Write all that waits, and what comes to wait meanwhile."""
        loop = self._loop = asyncio.get_running_loop()
        while self._waiting:
            batch = tuple(islice(self._waiting, _MOST_AT_ONCE))
            for _ in batch:
                self._waiting.popleft()
            entries = [write.entry for write in batch]
            try:
                outcomes: list[Outcome] = await loop.run_in_executor(self._thread, self._desk.write, entries)
            except LedgerUnavailable as error:
                self._breaker = self._breaker.failed(_now())
                outcomes = [error] * len(batch)
            else:
                self._breaker, self._is_late = CLOSED, False
            for write, outcome in zip(batch, outcomes, strict=True):
                write.end(outcome)

    async def _in_thread(self, seconds: float, work: Callable[[], T]) -> T:
        """What `work` gives. Raises LedgerUnavailable, also after `seconds`."""
        self._loop = asyncio.get_running_loop()
        call = await ended(self._thread, seconds, work)
        if call is None:
            self._note_late()
            raise LedgerUnavailable("too slow")
        self._is_late = False
        return call.result()

    def _tell(self, news: News) -> None:
        """In the thread, before anybody there goes on: what is in the file is to be in memory."""
        with suppress(RuntimeError):  # the loop has ended, and with it who could ask
            self._loop.call_soon_threadsafe(self._take_in, news)

    def _take_in(self, news: News) -> None:
        if isinstance(news, dict):
            self._shelf = Shelf(news)
        else:
            self._read_shelf().update(news)

    def _note_late(self) -> None:
        if not self._is_late:
            _log.error("the records of relocations in %s take too long: none can be recorded meanwhile", self._path)
        self._is_late = True


def _now() -> float:
    return asyncio.get_running_loop().time()
