"""What clients have the ledger read: little at a time, so that what has to be written does not wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from proxy.ledgers import Ledger, LedgerChange
from proxy.relocation.records import Record, State

_AT_ONCE: Final = 2
MOST_READING: Final = 64
"""Those who wait for their turn to read."""


class TooManyRead(Exception):
    """As many are waiting for their turn as may."""


class RecordReading:
    """The lists of a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0

    async def of_host(
        self, host: str | None, state: State | None, after: str | None, limit: int
    ) -> tuple[Record, ...]:
        """As the ledger has it. Raises TooManyRead, LedgerUnavailable."""
        async with self._turn():
            return await self._ledger.of_host(host, state, after, limit)

    async def changes(self, after: int, limit: int) -> tuple[LedgerChange, ...]:
        """As the ledger has it. Raises TooManyRead, LedgerUnavailable."""
        async with self._turn():
            return await self._ledger.changes(after, limit)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._places.locked() and self._waiting >= MOST_READING:
            raise TooManyRead
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._places.release()
