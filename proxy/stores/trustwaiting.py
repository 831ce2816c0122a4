"""Knowledge that waits to be written, and those who wait until it is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from proxy.stores.expendable import Expendable
from proxy.trust.records.knowledge import Knowledge
from proxy.trustrecords import TrustRecordsUnavailable


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """`ended` when it has been written or is to wait longer; with an error where it is refused."""

    knowledge: Knowledge
    ended: asyncio.Future[None]

    def end(self, error: BaseException | None = None) -> None:
        """Tell who waits, if anybody does."""
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)
            self.ended.exception()  # nobody may be left to take it


class Waiting:
    """One write for each authority, the one that began to wait first before the others. Bounded as the file is."""

    def __init__(self, most_expendable: int) -> None:
        self._writes: dict[str, Write] = {}
        self._expendable = Expendable(most_expendable)

    def __len__(self) -> int:
        return len(self._writes)

    @property
    def writes(self) -> tuple[Write, ...]:
        """All of them."""
        return tuple(self._writes.values())

    def get(self, authority: str) -> Knowledge | None:
        """What waits of an authority."""
        write = self._writes.get(authority)
        return None if write is None else write.knowledge

    def add(self, knowledge: Knowledge) -> Write:
        """Let it wait in the place of what waits of the same authority, and for those who wait for that."""
        before = self._writes.get(knowledge.authority)
        write = Write(knowledge, asyncio.get_running_loop().create_future())
        if before is not None:
            write.ended.add_done_callback(lambda ended: before.end(ended.exception()))
        self._writes[knowledge.authority] = write
        self._expendable.written(knowledge)
        for authority in self._expendable.surplus:
            self.take(authority)
        return write

    def take(self, authority: str) -> Write | None:
        """No longer wait for it."""
        write = self._writes.pop(authority, None)
        if write is not None:
            self._expendable.forgotten(authority)
            write.end()
        return write

    def restore(self, write: Write) -> None:
        """Let it wait again unless something newer does."""
        if self._writes.setdefault(write.knowledge.authority, write) is write:
            self._expendable.written(write.knowledge)

    def done(self, writes: tuple[Write, ...], refused: Mapping[str, TrustRecordsUnavailable]) -> None:
        """After they were written, except for those that were refused."""
        for write in writes:
            authority = write.knowledge.authority
            write.end(refused.get(authority))
            if self._writes.get(authority) is write:
                self.take(authority)

    def end_all(self, error: TrustRecordsUnavailable | None = None) -> None:
        """Let nobody wait for any of them now."""
        for write in self._writes.values():
            write.end(error)

    def clear(self) -> tuple[str, ...]:
        """Give up all of them; of which authorities."""
        authorities = tuple(self._writes)
        for authority in authorities:
            self.take(authority)
        return authorities
