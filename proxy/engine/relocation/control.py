"""What an operator decides of records."""

from __future__ import annotations

from collections.abc import Callable

from proxy.engine.relocation.asking import Asking
from proxy.engine.relocation.writing import Writer
from proxy.ledgers import Ledger
from proxy.ports import Clock
from proxy.relocation.changes import Change, Event, Reason, ignored
from proxy.relocation.confirmation import confirm, withdraw
from proxy.relocation.records import Record


class NothingPending(Exception):
    """The record is of no move that waits for anybody."""


class RelocationControl:
    """Records as an operator sees them. Every method may raise LedgerUnavailable."""

    def __init__(self, ledger: Ledger, writer: Writer, asking: Asking, clock: Clock) -> None:
        self._ledger = ledger
        self._writer = writer
        self._asking = asking
        self._clock = clock

    async def confirm(self, record_id: str) -> Record | None:
        """A pending move is one; the record from now on, None without one. Raises NothingPending."""
        record = self._ledger.by_id(record_id)
        if record is None:
            return None
        change = await self._changed(record.url, confirm)
        if change.event is Event.IGNORED:
            raise NothingPending
        return change.record

    async def withdraw(self, record_id: str) -> Record | None:
        """The record that was, withdrawn; None without one. What the origin says from then on is recorded anew."""
        record = self._ledger.by_id(record_id)
        if record is not None:
            await self._changed(record.url, withdraw)
            self._asking.forget(record.url)
        return record

    async def _changed(self, url: str, decide: Callable[[Record, float], Change]) -> Change:
        def decided(record: Record | None) -> Change:
            return ignored(None, Reason.NOTHING_RECORDED) if record is None else decide(record, self._clock())

        return await self._writer.change(url, decided)
