"""Waiting for a thread that a store has for itself, and no longer than is good for who asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


async def ended(thread: ThreadPoolExecutor, seconds: float, work: Callable[[], T]) -> asyncio.Future[T] | None:
    """The end of `work` in `thread`, whatever it is; None after `seconds`, when it may yet be done."""
    call = asyncio.get_running_loop().run_in_executor(thread, work)
    try:
        await asyncio.wait({call}, timeout=seconds)
        return call if call.done() else None
    finally:
        call.cancel()  # does nothing to one that has ended; nobody waits for any other
