"""Writing behind the answer: what is put or removed reaches the persistent store a moment later, in order by key.

Of several writes to one variant the latest counts. A crash loses what has not been written, which a cache may.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from proxy.caching.stored import StoredResponse
from proxy.ports import Observer, StoreUnavailable
from proxy.stores.guard import TIER, Guard
from proxy.stores.variants import Variant, VariantStore, variant_of

# While the store is away, writes wait here; beyond this the oldest are given up.
MAX_WAITING_BYTES = 32 * 1024 * 1024
_WRITE_COST = 4096
# A write the store refuses again and again is at fault itself.
MAX_ATTEMPTS = 3
UNWRITTEN = "unwritten"

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Writes:
    """What is to happen under one key: first perhaps remove all, then put or discard single variants."""

    removes: bool = False
    puts: dict[Variant, StoredResponse] = field(default_factory=dict)
    discards: dict[Variant, StoredResponse] = field(default_factory=dict)
    attempts: int = 0

    def put(self, stored: StoredResponse) -> None:
        """Write `stored`, whatever was to happen to its variant."""
        self.discards.pop(variant_of(stored), None)
        self.puts[variant_of(stored)] = stored

    def discard(self, stored: StoredResponse) -> None:
        """Remove the variant of `stored`."""
        self.puts.pop(variant_of(stored), None)
        self.discards[variant_of(stored)] = stored

    def applied(self, found: Iterable[StoredResponse]) -> list[StoredResponse]:
        """What a store that holds `found` will hold afterwards, newest last."""
        touched = self.puts.keys() | self.discards.keys()
        kept = [] if self.removes else [stored for stored in found if variant_of(stored) not in touched]
        return [*kept, *self.puts.values()]

    def followed_by(self, later: Writes) -> Writes:
        """These writes and then `later`, as one."""
        if later.removes:
            return later
        for stored in later.puts.values():
            self.put(stored)
        for stored in later.discards.values():
            self.discard(stored)
        return self

    @property
    def cost(self) -> int:
        """Bytes held by waiting."""
        return _WRITE_COST + sum(_WRITE_COST + len(stored.body) for stored in self.puts.values())


class WriteBehind:
    """The queue before the persistent store and the one task that empties it. `seconds` bound one write."""

    def __init__(
        self, store: VariantStore, guard: Guard, observer: Observer, seconds: float, max_variants: int
    ) -> None:
        self._store = store
        self._guard = guard
        self._observer = observer
        self._seconds = seconds
        self._max_variants = max_variants
        self._waiting: OrderedDict[str, Writes] = OrderedDict()
        self._waiting_bytes = 0
        self._under_way: tuple[str, Writes] | None = None
        self._worker: asyncio.Task[None] | None = None
        self._added = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()

    def put(self, key: str, stored: StoredResponse) -> None:
        """Publish `stored` under `key` soon."""
        later = Writes()
        later.put(stored)
        self._add(key, later)

    def discard(self, key: str, stored: StoredResponse) -> None:
        """Remove the variant of `stored` under `key` soon."""
        later = Writes()
        later.discard(stored)
        self._add(key, later)

    def remove(self, key: str) -> None:
        """Remove everything under `key` soon."""
        self._add(key, Writes(removes=True))

    def hides(self, key: str) -> bool:
        """Whether nothing that the store still holds under `key` counts any more."""
        return any(writes.removes for writes in self._of(key))

    def applied(self, key: str, found: Iterable[StoredResponse]) -> tuple[StoredResponse, ...]:
        """`found` in the store under `key`, with the writes that are under way or wait."""
        for writes in self._of(key):
            found = writes.applied(found)
        return tuple(found)

    async def flush(self) -> None:
        """Wait until everything is written, or until the store has to be given a pause."""
        await self._settled.wait()

    async def close(self, seconds: float) -> None:
        """Write what can be written within `seconds`, then stop."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.flush()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    def _of(self, key: str) -> Iterator[Writes]:
        if self._under_way is not None and self._under_way[0] == key:
            yield self._under_way[1]
        if key in self._waiting:
            yield self._waiting[key]

    def _add(self, key: str, later: Writes) -> None:
        earlier = self._taken(key)
        self._enqueue(key, later if earlier is None else earlier.followed_by(later))
        self._settled.clear()
        self._added.set()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())  # noqa: TID251 - referenced by _worker

    def _taken(self, key: str) -> Writes | None:
        writes = self._waiting.pop(key, None)
        if writes is not None:
            self._waiting_bytes -= writes.cost
        return writes

    def _enqueue(self, key: str, writes: Writes) -> None:
        # More variants than the store keeps would only be dropped there, and be looked up until then.
        while len(writes.puts) > self._max_variants:
            writes.puts.pop(next(iter(writes.puts)))
        self._waiting[key] = writes
        self._waiting_bytes += writes.cost
        while self._waiting_bytes > MAX_WAITING_BYTES and len(self._waiting) > 1:
            self._give_up(self._taken(next(iter(self._waiting))))

    def _give_up(self, writes: Writes | None) -> None:
        if writes is not None and writes.puts:
            self._observer.evicted(TIER, UNWRITTEN, len(writes.puts))

    async def _work(self) -> None:
        while self._waiting:
            pause = self._guard.refused_for()
            if pause:
                await self._pause(pause)
            else:
                await self._write_next()
        self._settled.set()

    async def _pause(self, seconds: float) -> None:
        self._settled.set()
        self._added.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._added.wait()

    async def _write_next(self) -> None:
        self._settled.clear()
        key, writes = next(iter(self._waiting.items()))
        self._taken(key)
        self._under_way = (key, writes)
        try:
            await self._write(key, writes)
        except StoreUnavailable:
            self._retry(key, writes)
        except Exception as error:
            _log.error("a write behind failed with %s and was given up", type(error).__name__)
            self._give_up(writes)
        finally:
            self._under_way = None

    async def _write(self, key: str, writes: Writes) -> None:
        if writes.removes:
            await self._guard.call("remove", self._seconds, self._store.remove, key)
        for stored in writes.discards.values():
            await self._guard.call("discard", self._seconds, self._store.discard, key, stored)
        for stored in writes.puts.values():
            await self._guard.call("put", self._seconds, self._store.put, key, stored)

    def _retry(self, key: str, writes: Writes) -> None:
        writes.attempts += 1
        if writes.attempts >= MAX_ATTEMPTS:
            self._give_up(writes)
            return
        later = self._taken(key)
        self._enqueue(key, writes if later is None else writes.followed_by(later))
