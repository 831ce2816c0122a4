"""Those who wait for the file of the boundary: what is to be written, in its order, and looks at what is new."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from proxy.boundaries import BoundaryUnavailable
from proxy.boundary.conflicts import Conflict
from proxy.stores.boundarydesk import Entry, Outcome
from proxy.stores.memoryboundary import DropLog

MOST_WAITING: Final = 10_000
_MOST_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """`ended` with what became of it once it is durable, or with an error; a conflict may yet be written later."""

    entry: Entry
    ended: asyncio.Future[bool]

    def end(self, outcome: Outcome) -> None:
        """Tell who waits, if anybody does."""
        if self.ended.done():
            return
        if isinstance(outcome, BoundaryUnavailable):
            self.ended.set_exception(outcome)
            self.ended.exception()  # nobody may be left to take it
        else:
            self.ended.set_result(outcome)


class Waiting:
    """At most `most` writes: of more, the one that has waited longest is given up."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._writes: deque[Write] = deque()
        self._given_up = DropLog("conflicts that waited to be written")

    def __len__(self) -> int:
        return len(self._writes)

    def add(self, entry: Entry) -> Write:
        """Let it wait, after all others."""
        write = Write(entry, asyncio.get_running_loop().create_future())
        self._writes.append(write)
        if len(self._writes) > self._most:
            self._writes.popleft().end(BoundaryUnavailable("too many wait to be written"))
            self._given_up.note(1)
        return write

    def take(self) -> tuple[Write, ...]:
        """Those that are written next, no longer waiting."""
        return tuple(self._writes.popleft() for _ in range(min(len(self._writes), _MOST_AT_ONCE)))

    def put_back(self, taken: tuple[Write, ...], error: BoundaryUnavailable) -> None:
        """Let conflicts wait on, those taken first. Nobody waits for any of them now, and all else is given up."""
        self._writes.extendleft(reversed(taken))
        for write in self._writes:
            write.end(error)
        self._writes = deque(write for write in self._writes if isinstance(write.entry, Conflict))

    def leave(self, write: Write) -> None:
        """No longer wait for it, unless it was taken."""
        if write in self._writes:
            self._writes.remove(write)

    def find(self, conflict_id: str) -> Conflict | None:
        """What waits last of the conflict with this id."""
        for write in reversed(self._writes):
            if isinstance(write.entry, Conflict) and write.entry.id == conflict_id:
                return write.entry
        return None


class Look:
    """One look at the file for all who asked before it began. `is_late`: somebody has waited long enough for it."""

    def __init__(self, thread: ThreadPoolExecutor, work: Callable[[], None]) -> None:
        self.has_begun = False
        self.is_late = False

        def looked() -> None:
            self.has_begun = True
            work()

        self.call = asyncio.get_running_loop().run_in_executor(thread, looked)

    @property
    def hangs(self) -> bool:
        """Whether nobody is to wait for it any more."""
        return self.is_late and not self.call.done()
