"""Nobody waits long for the persistent store: a bound on every call, and a breaker over them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from proxy.failover.breaker import Breaker, NotYet
from proxy.ports import Clock, Observer, StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")

TIER = "l2"
# A call that nobody waits for any more may still end well: opening a database, waiting for a lock.
LONGEST_CALL = 10.0
_MISBEHAVED = "persistent store failed with %s"

_log = logging.getLogger(__name__)


class Guard:
    """Calls to the persistent store, each bounded, counted and refused while the breaker is open."""

    def __init__(self, observer: Observer, clock: Clock) -> None:
        self._observer = observer
        self._clock = clock
        self._breaker = Breaker()
        self._calls: set[asyncio.Task[Any]] = set()

    @property
    def is_open(self) -> bool:
        """Whether the store is considered unavailable."""
        return self._breaker.is_open

    def refused_for(self) -> float:
        """Seconds until a call would be made, 0 when it would be now."""
        allowed = self._breaker.allow(self._clock())
        return allowed.seconds if isinstance(allowed, NotYet) else 0.0

    async def call(
        self,
        operation: str,
        seconds: float,
        method: Callable[P, Coroutine[Any, Any, T]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> T:
        """What `method` gives, waited for `seconds` at most. Raises nothing but StoreUnavailable."""
        began = self._clock()
        allowed = self._breaker.allow(began)
        if isinstance(allowed, NotYet):
            raise StoreUnavailable("not asked: it failed before")
        self._breaker = allowed
        work = _bounded(method, *arguments, **named)
        task = asyncio.create_task(work)  # noqa: TID251 - referenced by _calls until it is done
        self._calls.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait({task}, timeout=seconds)
        return self._outcome(operation, task, began)

    async def probe(self, seconds: float, method: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Learn by one call whether the store can be used, as far as the breaker lets it be asked."""
        with suppress(StoreUnavailable):
            await self.call("open", seconds, method)
            return
        self._breaker = self._breaker.tripped(self._clock())

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be left to take it

    def _outcome(self, operation: str, task: asyncio.Task[T], began: float) -> T:
        now = self._clock()
        error = StoreUnavailable("too slow") if not task.done() or task.cancelled() else task.exception()
        if error is None:
            self._breaker = self._breaker.succeeded()
            self._observer.store_operation(TIER, operation, now - began)
            return task.result()
        self._breaker = self._breaker.failed(now)
        self._observer.store_error(TIER, operation)
        if not isinstance(error, StoreUnavailable):
            _log.error(_MISBEHAVED, type(error).__name__)
        raise StoreUnavailable(str(error)) from error

    async def close(self) -> None:
        """Give up the calls that still run."""
        calls = tuple(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def _bounded(method: Callable[P, Coroutine[Any, Any, T]], *arguments: P.args, **named: P.kwargs) -> T:
    async with asyncio.timeout(LONGEST_CALL):
        return await method(*arguments, **named)
