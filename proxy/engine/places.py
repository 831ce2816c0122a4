"""How many fills may ask one origin at once: the next waits a while, then is told so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proxy.ports import OriginFault, OriginUnavailable


class Places:
    """`limit` places for each origin; `patience` is how many seconds one is waited for, None for however long."""

    def __init__(self, limit: int, patience: float | None) -> None:
        self._limit = limit
        self._patience = patience
        self._of: dict[str, asyncio.Semaphore] = {}
        self._wanted: dict[str, int] = {}

    @asynccontextmanager
    async def place(self, origin: str) -> AsyncIterator[None]:
        """Hold a place of `origin`. Raises OriginUnavailable when none becomes free in time."""
        semaphore = self._of.setdefault(origin, asyncio.Semaphore(self._limit))
        self._wanted[origin] = self._wanted.get(origin, 0) + 1
        try:
            await self._acquire(semaphore)
            try:
                yield
            finally:
                semaphore.release()
        finally:
            self._wanted[origin] -= 1
            if not self._wanted[origin]:
                del self._wanted[origin], self._of[origin]

    async def _acquire(self, semaphore: asyncio.Semaphore) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await semaphore.acquire()
        except TimeoutError:
            raise OriginUnavailable(
                OriginFault.OVERLOADED, f"All {self._limit} places for fills from this origin are taken; try again."
            ) from None
