"""Turns at what is read and then written: so that no change is lost between the two."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class _Turn:
    lock: asyncio.Lock
    waiting: int = 0


class Turns:
    """One change at a time of what is recorded under a name, whoever makes it: they outlast a configuration."""

    def __init__(self) -> None:
        self._of: dict[str, _Turn] = {}

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Wait for those before."""
        turn = self._of.setdefault(name, _Turn(asyncio.Lock()))
        turn.waiting += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.waiting -= 1
            if not turn.waiting:
                del self._of[name]
