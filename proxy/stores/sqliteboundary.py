"""The records of the boundary in memory and durably in a file of its own, which several processes use at once.

The file is no cache: it is never replaced, emptied or set aside. What was put is told from memory at once, and
while the file cannot be written it waits, bounded, until it can be.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from proxy.boundaries import BoundaryDamaged, BoundaryUnavailable, NumberedConflict
from proxy.boundary.conflicts import Conflict, State
from proxy.boundary.registration import Registration
from proxy.failover.breaker import CLOSED, NotYet
from proxy.stores.boundarydesk import BoundaryDesk, Outcome, Unregistration
from proxy.stores.boundaryfile import BoundaryFileDamaged, News
from proxy.stores.boundaryshelf import BoundaryShelf
from proxy.stores.boundarywaiting import MOST_WAITING, Look, Waiting, Write
from proxy.stores.memoryboundary import ON_FILE, BoundaryBounds
from proxy.stores.threads import ended

DAMAGED: Final = "boundary-damaged"
UNAVAILABLE: Final = "boundary-unavailable"
OPERATION_SECONDS: Final = 0.1
# A write reaches the disk before it has ended, so it may take longer than other operations.
_WRITE_PATIENCE: Final = 10
# Others who use the file write too, one after the other.
_LOCK_PATIENCE: Final = 5
_FIRST_READING_SECONDS: Final = 60.0

T = TypeVar("T")

_log = logging.getLogger(__name__)


class SqliteBoundary:
    """Conflicts and profiles in the file `path`, which a thread of its own serves in the order of the calls.

    An operation is waited for ten times `operation_timeout` seconds at most, a refresh once; none is tried while
    the file is known not to work. A lock of somebody else's is waited for half as long as an operation.
    """

    def __init__(
        self, path: Path, operation_timeout: float = OPERATION_SECONDS, bounds: BoundaryBounds = ON_FILE
    ) -> None:
        self._path = path
        self._refresh_seconds = operation_timeout
        self._seconds = operation_timeout * _WRITE_PATIENCE
        self._shelf = BoundaryShelf(MOST_WAITING)
        self._desk = BoundaryDesk(path, operation_timeout * _LOCK_PATIENCE, bounds, self._tell)
        self._thread = ThreadPoolExecutor(1, "boundary")
        self._loop: asyncio.AbstractEventLoop  # of whoever last gave the thread something to do
        self._waiting = Waiting()
        self._flushing: asyncio.Task[None] | None = None
        self._look: Look | None = None
        self._breaker = CLOSED
        self._is_late = False
        self._is_behind = False
        self._is_closed = False

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why records cannot be used or written; empty when all is well."""
        hangs = self._look is not None and self._look.hangs
        is_failing = self._desk.is_faulty or self._is_late or self._is_behind or hangs
        is_damaged = self._desk.is_damaged or self._shelf.has_damaged
        return (DAMAGED,) * is_damaged + (UNAVAILABLE,) * (is_failing and self._desk.refusal is None)

    async def open(self) -> None:
        """Read the file, so that `latch` tells what is in it. Never raises; a slow file is read on meanwhile."""
        with suppress(BoundaryUnavailable):
            await self._in_thread(_FIRST_READING_SECONDS, self._desk.refresh)

    async def probe(self) -> None:
        """Try the file, take in what is news, and write what waits. Never raises."""
        with suppress(BoundaryUnavailable):
            self._require_usable()
            await self._in_thread(self._seconds, self._desk.probe)
            self._breaker = CLOSED
            await self._flushed()

    def latch(self, intent: str) -> Conflict | None:
        """The newest conflict of this intent, from memory; none where its record is damaged."""
        return self._shelf.latch(intent)

    def is_known(self, client: str) -> bool:
        """Whether there is anything of this client in memory."""
        return self._shelf.is_known(client)

    def profile(self, client: str) -> Registration | None:
        """What the client last registered, from memory; none where its record is damaged."""
        return self._shelf.profile(client)

    async def refresh(self) -> None:
        """Take in what others have written. Never raises; waits for one `operation_timeout` at most."""
        allowed = self._breaker.allow(_now())
        if self._is_closed or self._desk.refusal is not None or isinstance(allowed, NotYet):
            return
        look = self._look
        if look is not None and look.hangs:
            return
        if look is None or look.has_begun:
            self._breaker = allowed
            look = self._begin_look()
        done, _ = await asyncio.wait({look.call}, timeout=self._refresh_seconds)
        look.is_late = not done

    async def put(self, conflict: Conflict) -> None:
        """Add a conflict, or replace the one with its id; durable when this returns.

        A held state never replaces a release. Raises BoundaryUnavailable: `latch` tells it all the same, and it is
        written as soon as that can be done, except for what has no record that says the same.
        """
        conflict = self._shelf.put(conflict)
        self._require_usable()
        write = self._waiting.add(conflict)
        try:
            self._require_allowed()
        except BoundaryUnavailable:
            self._is_behind = True
            raise
        await self._written(write)

    async def register(self, registration: Registration) -> None:
        """Replace what the client registered; durable when this returns. Raises BoundaryUnavailable.

        After an error it may have been recorded all the same, if the file was only too slow.
        """
        await self._changed(registration)

    async def unregister(self, client: str) -> bool:
        """Forget what the client registered, durably; whether there was anything. Raises BoundaryUnavailable."""
        return await self._changed(Unregistration(client))

    async def conflict(self, conflict_id: str) -> Conflict | None:
        """The conflict with this id: what waits of it, else read in the file. Raises BoundaryUnavailable."""
        waits = self._waiting.find(conflict_id)
        if waits is not None:
            return waits
        try:
            key = bytes.fromhex(conflict_id)
        except ValueError:
            return None
        return await self._read(lambda: self._desk.conflict(key))

    async def page(
        self, client: str | None, state: State | None, after: int, limit: int
    ) -> tuple[NumberedConflict, ...]:
        """At most `limit` conflicts with numbers above `after`, read in the file. Raises BoundaryUnavailable."""
        return await self._read(lambda: self._desk.page(client, state, after, limit))

    async def close(self) -> None:
        """Write what waits if that can be done now, and close the file; a second time there is nothing to close."""
        if self._is_closed:
            return
        self._is_closed = True
        await self._flushed()
        if self._flushing is not None:
            self._flushing.cancel()
        if self._waiting:
            _log.error("%d conflicts end with the process: they could not be written", len(self._waiting))
        with suppress(BoundaryUnavailable):
            await self._in_thread(self._seconds, self._desk.close)
        self._thread.shutdown(wait=False)

    def _require_usable(self) -> None:
        if self._is_closed:
            raise BoundaryUnavailable("closed")

    def _require_allowed(self) -> None:
        self._require_usable()
        if self._desk.refusal is not None:
            raise BoundaryFileDamaged(self._desk.refusal)
        allowed = self._breaker.allow(_now())
        if isinstance(allowed, NotYet):
            raise BoundaryUnavailable("not asked: it failed before")
        self._breaker = allowed

    async def _read(self, reading: Callable[[], T]) -> T:
        self._require_allowed()
        try:
            found = await self._in_thread(self._seconds, reading)
        except BoundaryDamaged:
            raise
        except BoundaryUnavailable:
            self._breaker = self._breaker.failed(_now())
            raise
        self._note_answer()
        return found

    async def _changed(self, entry: Registration | Unregistration) -> bool:
        self._require_allowed()
        write = self._waiting.add(entry)
        try:
            return await self._written(write)
        finally:
            self._waiting.leave(write)

    async def _written(self, write: Write) -> bool:
        self._begin_flushing()
        done, _ = await asyncio.wait({write.ended}, timeout=self._seconds)
        if not done:
            self._note_late()
            self._breaker = self._breaker.failed(_now())
            raise BoundaryUnavailable("too slow")
        return write.ended.result()

    async def _flushed(self) -> None:
        """After all that waits has been written, or has failed, or took too long."""
        self._begin_flushing()
        if self._flushing is not None:
            await asyncio.wait({self._flushing}, timeout=self._seconds)

    def _begin_flushing(self) -> None:
        if self._waiting and (self._flushing is None or self._flushing.done()):
            self._flushing = asyncio.get_running_loop().create_task(self._flush())

    async def _flush(self) -> None:
        """Write all that waits, and what comes to wait meanwhile, until it fails."""
        loop = self._loop = asyncio.get_running_loop()
        while self._waiting:
            batch = self._waiting.take()
            entries = [write.entry for write in batch]
            try:
                outcomes: list[Outcome] = await loop.run_in_executor(self._thread, self._desk.write, entries)
            except BoundaryUnavailable as error:
                self._breaker = self._breaker.failed(_now())
                self._waiting.put_back(batch, error)
                self._is_behind = len(self._waiting) > 0
                return
            self._breaker, self._is_late = CLOSED, False
            for write, outcome in zip(batch, outcomes, strict=True):
                write.end(outcome)
                if isinstance(write.entry, Conflict) and outcome is True:
                    self._shelf.settle(write.entry)
        self._is_behind = False

    def _begin_look(self) -> Look:
        self._loop = asyncio.get_running_loop()
        look = self._look = Look(self._thread, self._desk.refresh)
        look.call.add_done_callback(self._note_look)
        return look

    def _note_look(self, call: asyncio.Future[None]) -> None:
        if call.exception() is None:
            self._note_answer()
        else:
            self._breaker = self._breaker.failed(_now())

    async def _in_thread(self, seconds: float, work: Callable[[], T]) -> T:
        """What `work` gives. Raises BoundaryUnavailable, also after `seconds`."""
        self._loop = asyncio.get_running_loop()
        call = await ended(self._thread, seconds, work)
        if call is None:
            self._note_late()
            raise BoundaryUnavailable("too slow")
        self._is_late = False
        return call.result()

    def _tell(self, news: News) -> None:
        """In the thread, before anybody there goes on: what is in the file is to be in memory."""
        with suppress(RuntimeError):  # the loop has ended, and with it who could ask
            self._loop.call_soon_threadsafe(self._shelf.take_in, news)

    def _note_answer(self) -> None:
        if self._breaker.is_open:
            self._breaker = CLOSED

    def _note_late(self) -> None:
        if not self._is_late:
            _log.error("the records of the boundary in %s take too long: they are kept in memory", self._path)
        self._is_late = True


def _now() -> float:
    return asyncio.get_running_loop().time()
