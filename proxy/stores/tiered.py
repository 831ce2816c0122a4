"""The two tiers as one: memory answers, the persistent store behind it outlives the process.

Purge marks are applied to everything on its way out and in. What is known to outrank every mark is told by its
generation alone, so the usual hit costs one look-up and one comparison.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from proxy.caching.generations import MarkedStale, Purged, standing
from proxy.caching.reuse import select
from proxy.caching.stored import StoredResponse
from proxy.http.fields import Fields
from proxy.ports import Clock, Generations, Observer, StoreUnavailable
from proxy.single import SingleCalls
from proxy.stores.behind import WriteBehind
from proxy.stores.guard import Guard
from proxy.stores.memory import Memory
from proxy.stores.variants import VariantStore, is_same_response, variant_of

MEMORY = "l1"
PURGED = "purged"
UNAVAILABLE = "store-unavailable"
# Nobody waits for a write, so it may take longer than a read before it counts as failed.
WRITE_PATIENCE = 10
CLOSE_SECONDS = 5.0
_WRITING_SHARE = 0.8


class _Behind:
    """The persistent tier: the store with its guard, its queue and the look-ups under way."""

    def __init__(
        self,
        store: VariantStore,
        observer: Observer,
        clock: Clock,
        operation_timeout: float,
        max_variants: int,
    ) -> None:
        self.store = store
        self.guard = Guard(observer, clock)
        self.writes = WriteBehind(store, self.guard, observer, operation_timeout * WRITE_PATIENCE, max_variants)
        self.timeout = operation_timeout
        self._lookups: SingleCalls[tuple[str, Fields], tuple[StoredResponse, ...]] = SingleCalls()
        self._removals = 0

    async def probe(self) -> None:
        """Find out whether the store can be used."""
        await self.guard.probe(self.timeout * WRITE_PATIENCE, self.store.open)

    async def find(self, key: str, request: Fields) -> tuple[StoredResponse, ...]:
        """As Store.find, with waiting writes applied; empty when the store is unavailable."""
        return await self._lookups.call((key, request), lambda: self._find(key, request))

    async def _find(self, key: str, request: Fields) -> tuple[StoredResponse, ...]:
        removals = self._removals
        found: tuple[StoredResponse, ...] = ()
        if not self.writes.hides(key):
            with suppress(StoreUnavailable):
                found = await self.guard.call("find", self.timeout, self.store.find, key, request)
        # What was removed while it was being read must not come back; a look-up in vain costs little.
        known = self.writes.applied(key, found if removals == self._removals else ())
        # What waits to be written is there whatever it was selected by.
        return tuple(stored for stored in known if select(request, (stored,)) is not None)

    async def variants(self, key: str) -> tuple[StoredResponse, ...]:
        """Everything under `key`, with waiting writes applied; empty when the store is unavailable."""
        found: tuple[StoredResponse, ...] = ()
        with suppress(StoreUnavailable):
            found = await self.guard.call("variants", self.timeout, self.store.variants, key)
        return self.writes.applied(key, found)

    async def keys(self, host: str | None, limit: int) -> tuple[str, ...]:
        with suppress(StoreUnavailable):
            return await self.guard.call("keys", self.timeout, self.store.keys, host, limit)
        return ()

    async def unlist(self, host: str | None) -> None:
        with suppress(StoreUnavailable):
            await self.guard.call("unlist", self.timeout, self.store.unlist, host)

    async def may_hold(self, key: str) -> bool:
        try:
            found = await self.guard.call("variants", self.timeout, self.store.variants, key)
        except StoreUnavailable:
            return True
        return bool(self.writes.applied(key, found))

    def remove(self, key: str) -> None:
        self._removals += 1
        self.writes.remove(key)

    def discard(self, key: str, stored: StoredResponse) -> None:
        self._removals += 1
        self.writes.discard(key, stored)

    async def close(self, seconds: float) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        # What is left undone is written at the next fetch, but an open file keeps a thread.
        await self.writes.close(seconds * _WRITING_SHARE)
        await self.guard.close()
        with suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout_at(deadline):
                await self.store.close()


class Tiered:
    """Memory over an optional persistent store. No method fails because the store does."""

    def __init__(
        self,
        memory: Memory,
        store: VariantStore | None,
        generations: Generations,
        observer: Observer,
        clock: Clock,
        operation_timeout: float,
    ) -> None:
        self._memory = memory
        self._generations = generations
        self._observer = observer
        self._clock = clock
        self._behind = (
            None if store is None else _Behind(store, observer, clock, operation_timeout, memory.max_variants)
        )

    def peek(self, key: str) -> tuple[StoredResponse, ...]:
        """The variants under `key` in memory, newest last, purges applied."""
        variants = self._memory.get(key, self._clock())
        latest = self._generations.latest
        for stored in variants:
            if stored.generation < latest:
                return self._rejudged(key, variants)
        return variants

    async def find(self, key: str, request: Fields) -> tuple[StoredResponse, ...]:
        """The variants under `key`; the persistent store is asked when none in memory suits `request`."""
        variants = self.peek(key)
        if self._behind is None or select(request, variants) is not None:
            return variants
        found = await self._behind.find(key, request)
        return self._admitted(key, found) if found else self.peek(key)

    def put(self, key: str, stored: StoredResponse) -> bool:
        """Hold `stored` in place of its variant; False when a purge came after its fetch began."""
        current = self._current(stored)
        if current is None:
            return False
        self._memory.put(key, current, self._clock())
        if self._behind is not None:
            self._behind.writes.put(key, current)
        return True

    def remove(self, key: str) -> int:
        """Forget every variant under `key`; how many were in memory."""
        if self._behind is not None:
            self._behind.remove(key)
        return self._memory.remove(key)

    def discard(self, key: str, stored: StoredResponse) -> None:
        """Forget `stored`, but not a response that has replaced it."""
        self._memory.discard(key, stored)
        if self._behind is None:
            return
        held = (*self._memory.get(key, self._clock()), *self._behind.writes.applied(key, ()))
        if all(variant_of(other) != variant_of(stored) or is_same_response(other, stored) for other in held):
            self._behind.discard(key, stored)

    async def count(self, key: str) -> int:
        """How many usable variants either tier holds under `key`."""
        return len(await self.variants(key))

    async def may_hold(self, key: str) -> bool:
        """Whether either tier holds, or may hold while it cannot be asked, anything under `key`."""
        if self.peek(key):
            return True
        return self._behind is not None and await self._behind.may_hold(key)

    async def variants(self, key: str) -> tuple[StoredResponse, ...]:
        """Every usable variant under `key` in either tier; nothing is taken into memory."""
        held = self.peek(key)
        if self._behind is None:
            return held
        now, known = self._clock(), {variant_of(stored) for stored in held}
        behind = filter(None, map(self._current, await self._behind.variants(key)))
        others = [s for s in behind if s.keep_until >= now and variant_of(s) not in known]
        # Until the store has dropped what is beyond the cap, it still lists it.
        room = max(0, self._memory.max_variants - len(held))
        return (*others[len(others) - min(room, len(others)) :], *held)

    async def keys(self, host: str | None, limit: int) -> tuple[str, ...]:
        """At most `limit` of the keys that the persistent store may hold; none when it cannot be asked."""
        return () if self._behind is None else await self._behind.keys(host, limit)

    async def unlist(self, host: str | None) -> None:
        """Leave what was purged, of a host scope or all, out of `keys`."""
        if self._behind is not None:
            await self._behind.unlist(host)

    def entries(self) -> Iterator[tuple[str, StoredResponse]]:
        """Every key in memory with each of its responses, purges applied."""
        for key, stored in self._memory.items():
            current = self._current(stored)
            if current is not None:
                yield key, current

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why the tiers do less than they should; empty when all is well."""
        return (UNAVAILABLE,) if self._behind is not None and self._behind.guard.is_open else ()

    async def flush(self) -> None:
        """Wait until the persistent store holds what was put, or is given a pause."""
        if self._behind is not None:
            await self._behind.writes.flush()

    async def probe(self) -> None:
        """Learn whether the persistent store can be used: `degraded` tells."""
        if self._behind is not None:
            await self._behind.probe()

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Write what waits and close the store, within `seconds`."""
        if self._behind is not None:
            await self._behind.close(seconds)

    def _current(self, stored: StoredResponse) -> StoredResponse | None:
        """`stored` after every purge there was, None if one of them ended it."""
        latest = self._generations.latest
        if stored.generation >= latest:
            return stored
        match standing(stored, self._generations.marks):
            case Purged():
                return None
            case MarkedStale(at):
                stored = stored.marked_stale(at)
        # Later marks are above `latest`, earlier ones have been applied: the next look need not repeat this.
        return replace(stored, generation=latest)

    def _rejudged(self, key: str, variants: Iterable[StoredResponse]) -> tuple[StoredResponse, ...]:
        now = self._clock()
        purged = self._memory.remove(key)
        for current in filter(None, map(self._current, variants)):
            self._memory.put(key, current, now)
            purged -= 1
        if purged:
            self._observer.evicted(MEMORY, PURGED, purged)
        return self._memory.get(key, now)

    def _admitted(self, key: str, found: Iterable[StoredResponse]) -> tuple[StoredResponse, ...]:
        """`found` beside what is in memory, which is newer; taken into memory as far as it fits."""
        now = self._clock()
        held = self.peek(key)
        known = {variant_of(stored) for stored in held}
        new = [
            current
            for stored in found
            if variant_of(stored) not in known
            and stored.keep_until >= now
            and (current := self._current(stored)) is not None
        ]
        for current in new:
            self._memory.put(key, current, now)
        return (*new, *held)
