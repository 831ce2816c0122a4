"""One call for many callers: whoever asks while it runs waits for the same result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleCalls(Generic[K, V]):
    """Calls under way, by key. A caller that is cancelled leaves the call and the other callers alone."""

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[V]] = {}

    def __contains__(self, key: K) -> bool:
        return key in self._running

    def __len__(self) -> int:
        return len(self._running)

    async def call(self, key: K, start: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """The result of the call under way for `key`, or of `start()` if there is none; raises what it raises."""
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(start())  # noqa: TID251 - referenced by _running until it is done
            self._running[key] = task
            task.add_done_callback(partial(self._ended, key))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Give up every call under way; who waits for one is cancelled."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, key: K, task: asyncio.Task[V]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # nobody may be left to take it
