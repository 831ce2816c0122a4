"""How many requests are under way on what a reload replaces."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Usage:
    """Entered by each request for as long as it is under way."""

    __slots__ = ("_count", "_idle")

    def __init__(self) -> None:
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def __enter__(self) -> None:
        self._count += 1
        self._idle.clear()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._count -= 1
        if self._count == 0:
            self._idle.set()

    async def ended(self) -> None:
        """Wait until no request is under way."""
        await self._idle.wait()
