"""Trust records: what is known of each authority, in memory or durably in a file of its own.

The file is no cache. It is never replaced, emptied or set aside: where it is damaged, or one record in it, nothing
is read from there and nothing written over it until somebody has looked. A pin that is silently forgotten would be
taken anew from whoever answers for the domain then.

No request waits long for the file. What cannot be read in time is unknown; what cannot be written in time waits in
memory, is served from there, and is written when the file works again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from proxy.failover.breaker import CLOSED, NotYet
from proxy.stores.expendable import MOST_EXPENDABLE, Expendable
from proxy.stores.threads import ended
from proxy.stores.trustdesk import TrustDesk
from proxy.stores.trustfile import TrustFileDamaged
from proxy.stores.trustwaiting import Waiting
from proxy.trust.records.knowledge import Knowledge
from proxy.trustrecords import TrustRecordsDamaged, TrustRecordsUnavailable

DAMAGED: Final = "trust-records-damaged"
UNAVAILABLE: Final = "trust-records-unavailable"
OPERATION_SECONDS: Final = 0.1
# A write reaches the disk before it has ended, so it may take longer than a read.
_WRITE_PATIENCE: Final = 10
_MOST_TOLD: Final = 20

T = TypeVar("T")

_log = logging.getLogger(__name__)


class MemoryTrustRecords:
    """Records that end with the process; of those that may be forgotten, `most_expendable`."""

    def __init__(self, most_expendable: int = MOST_EXPENDABLE) -> None:
        self._known: dict[str, Knowledge] = {}
        self._expendable = Expendable(most_expendable)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Nothing can be wrong with it."""
        return ()

    async def get(self, authority: str) -> Knowledge | None:
        """What is known of an authority."""
        self._expendable.touch(authority)
        return self._known.get(authority)

    async def put(self, knowledge: Knowledge) -> None:
        """Replace what is known of its authority."""
        self._known[knowledge.authority] = knowledge
        self._expendable.written(knowledge)
        for authority in self._expendable.surplus:
            await self.remove(authority)

    async def authorities(self, limit: int) -> tuple[str, ...]:
        """At most `limit` of those with a record, in order."""
        return tuple(sorted(self._known)[:limit])

    async def remove(self, authority: str) -> bool:
        """Forget it; whether there was something."""
        self._expendable.forgotten(authority)
        return self._known.pop(authority, None) is not None

    async def probe(self) -> None:
        """There is nothing to try."""

    async def close(self) -> None:
        """There is nothing to close."""


class SqliteTrustRecords:
    """Records in the file `path`, which a thread of its own opens at once and serves in the order of the calls.

    A read is waited for `operation_timeout` seconds and a write ten times as long; neither is tried while the file
    is known not to work. What may be forgotten is kept of `most_expendable` authorities.
    """

    def __init__(
        self,
        path: Path,
        operation_timeout: float = OPERATION_SECONDS,
        most_expendable: int = MOST_EXPENDABLE,
    ) -> None:
        self._path = path
        self._read_seconds = operation_timeout
        self._write_seconds = operation_timeout * _WRITE_PATIENCE
        self._waiting = Waiting(most_expendable)
        # A lock is told of before the wait for it ends.
        self._desk = TrustDesk(path, operation_timeout / 2, most_expendable)
        self._thread = ThreadPoolExecutor(1, "trust-records")
        self._opening = self._thread.submit(_quietly, self._desk.open)
        self._reading, self._writing = CLOSED, CLOSED
        self._flushing: asyncio.Task[None] | None = None
        self._is_late = False
        self._is_behind = False
        self._is_closed = False

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why records cannot be used, all or some; empty when all is well."""
        is_failing = self._desk.is_faulty or self._is_late or self._is_behind
        is_unavailable = is_failing and self._desk.refusal is None
        return (DAMAGED,) * self._desk.is_damaged + (UNAVAILABLE,) * is_unavailable

    async def probe(self) -> None:
        """Try the file and write what waits, so that `degraded` tells what is so now. Never raises."""
        with suppress(TrustRecordsUnavailable):
            self._require_usable()
            await self._in_thread(self._write_seconds, self._desk.open)
            self._reading = CLOSED
            await self._flushed()

    async def get(self, authority: str) -> Knowledge | None:
        """What is known of an authority. Raises TrustRecordsDamaged, TrustRecordsUnavailable."""
        self._require_usable()
        waiting = self._waiting.get(authority)
        return waiting or await self._answer(self._read_seconds, lambda: self._desk.read(authority))

    async def put(self, knowledge: Knowledge) -> None:
        """Replace what is known of its authority; durable when this returns, unless the file does not work now.

        Then it waits until the file does, and `degraded` says so. Raises TrustRecordsDamaged where the record in
        its place is damaged, or the file, and TrustRecordsUnavailable for what could not be read back.
        """
        self._require_usable()
        write = self._waiting.add(knowledge)
        allowed = self._writing.allow(_now())
        if isinstance(allowed, NotYet):
            write.end()
            return
        self._writing = allowed
        self._flush_soon()
        done, _ = await asyncio.wait({write.ended}, timeout=self._write_seconds)
        if not done:
            self._note_late()
            self._is_behind = True
            self._writing = self._writing.failed(_now())
            write.end()
        write.ended.result()

    async def authorities(self, limit: int) -> tuple[str, ...]:
        """At most `limit` of those with a record, in order. Raises TrustRecordsUnavailable."""
        self._require_usable()
        written = await self._answer(self._write_seconds, lambda: self._desk.authorities(limit))
        waiting = {write.knowledge.authority for write in self._waiting.writes}
        return tuple(sorted(waiting.union(written))[:limit])

    async def remove(self, authority: str) -> bool:
        """Forget it, a damaged record too; whether there was one. Raises TrustRecordsUnavailable."""
        self._require_usable()
        waiting = self._waiting.take(authority)
        try:
            was_written = await self._answer(self._write_seconds, lambda: self._desk.remove(authority))
        except TrustRecordsUnavailable:
            if waiting is not None:
                self._waiting.restore(waiting)
            raise
        return was_written or waiting is not None

    async def close(self) -> None:
        """Write what waits if that can be done now, and close the file; a second time there is nothing to close."""
        if self._is_closed:
            return
        with suppress(TrustRecordsUnavailable):
            await self._flushed()
        self._is_closed = True
        if self._flushing is not None:
            self._flushing.cancel()
        self._give_up("the process ends")
        with suppress(TrustRecordsUnavailable):
            await self._in_thread(self._write_seconds, self._desk.close)
        self._thread.shutdown(wait=False)

    def _require_usable(self) -> None:
        if self._desk.refusal is not None:
            raise TrustFileDamaged(self._desk.refusal)
        if self._is_closed:
            raise TrustRecordsUnavailable("closed")

    async def _answer(self, seconds: float, work: Callable[[], T]) -> T:
        """What `work` gives in the thread, unless the file is known not to work."""
        allowed = self._reading.allow(_now())
        if isinstance(allowed, NotYet):
            raise TrustRecordsUnavailable("not asked: it failed before")
        self._reading = allowed
        try:
            answer = await self._in_thread(seconds, work)
        except TrustRecordsDamaged:
            self._reading = self._reading.succeeded()
            raise
        except TrustRecordsUnavailable:
            self._reading = self._reading.failed(_now())
            raise
        self._reading = self._reading.succeeded()
        return answer

    async def _in_thread(self, seconds: float, work: Callable[[], T]) -> T:
        """What `work` gives. Raises TrustRecordsUnavailable, also after `seconds`."""
        if not self._opening.done() and not self._is_late:
            seconds = self._write_seconds  # once, at the start
        call = await ended(self._thread, seconds, work)
        if call is None:
            self._note_late()
            raise TrustRecordsUnavailable("too slow")
        self._is_late = False
        return call.result()

    async def _flushed(self) -> None:
        """Write what waits, as far as that takes no longer than a write may."""
        if self._waiting:
            self._flush_soon()
        if self._flushing is not None:
            await asyncio.wait({self._flushing}, timeout=self._write_seconds)

    def _flush_soon(self) -> None:
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        """Write all that waits, and what comes to wait meanwhile, until the file fails."""
        while writes := self._waiting.writes:
            batch = [write.knowledge for write in writes]
            call = asyncio.get_running_loop().run_in_executor(self._thread, self._desk.write, batch)
            try:
                refused = await call
            except TrustFileDamaged as error:
                self._waiting.end_all(error)
                self._give_up("the file is damaged")
                return
            except TrustRecordsUnavailable:
                self._writing = self._writing.failed(_now())
                self._is_behind = True
                self._waiting.end_all()
                return
            self._waiting.done(writes, refused)
        self._reading = self._writing = CLOSED
        self._is_behind = self._is_late = False

    def _give_up(self, reason: str) -> None:
        lost = self._waiting.clear()
        if lost:
            _log.error(
                "what was learnt of %d domains could not be written to %s and is lost, for %s: %s",
                len(lost),
                self._path,
                reason,
                ", ".join(lost[:_MOST_TOLD]),
            )

    def _note_late(self) -> None:
        if not self._is_late:
            _log.error("the trust records in %s take too long: what they say is unknown meanwhile", self._path)
        self._is_late = True


def _now() -> float:
    return asyncio.get_running_loop().time()


def _quietly(work: Callable[[], None]) -> None:
    """Whether it works is told elsewhere."""
    with suppress(TrustRecordsUnavailable):
        work()
