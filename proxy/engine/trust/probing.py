"""Asking an origin that is down, again and again but not often, while a copy stands in for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from proxy.engine.collapse import flight_key
from proxy.engine.refresh import Refresher
from proxy.engine.state import EngineState
from proxy.http.fields import NO_FIELDS
from proxy.http.messages import Request
from proxy.http.targets import Target
from proxy.ports import Clock

# Doubled up to the longest, which is about how late it is noticed that an origin is back.
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 8.0
# A copy that nobody has asked for in this time is let go, and its origin left alone.
_IDLE_SECONDS: Final = 600.0
# A copy is renewed when this little of its freshness is left: more than a pause, or it could end before.
_RENEWED_BEFORE: Final = 60.0
_MOST: Final = 256

Renew = Callable[[Target], Awaitable[None]]


class Probing:
    """One watch for each target URI that a copy stands in for."""

    def __init__(self, state: EngineState, refresher: Refresher, clock: Clock) -> None:
        self._copies = state.copies
        self._store = state.store
        self._refresher = refresher
        self._clock = clock
        self._watches: dict[str, asyncio.Task[None]] = {}

    def start(self, target: Target, renew: Renew) -> None:
        """Watch the origin of `target` until it answers; `renew` brings a newer copy."""
        if target.uri in self._watches or len(self._watches) >= _MOST:
            return
        task = asyncio.get_running_loop().create_task(self._watch(target, renew))
        self._watches[target.uri] = task
        task.add_done_callback(lambda _: self._watches.pop(target.uri, None))

    def is_watching(self, uri: str) -> bool:
        """Whether the origin of `uri` is being asked until it answers."""
        return uri in self._watches

    async def close(self) -> None:
        """Stop every watch."""
        watches = list(self._watches.values())
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)

    async def _watch(self, target: Target, renew: Renew) -> None:
        pause = _FIRST_PAUSE
        while target.uri in self._copies:
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            now = self._clock()
            if now - self._copies.asked_at(target.uri) > _IDLE_SECONDS:
                self._copies.drop(target.uri)
                return
            await self._ask(target)
            if target.uri in self._copies and self._copies.fresh_until(target.uri) - now < _RENEWED_BEFORE:
                await renew(target)

    async def _ask(self, target: Target) -> None:
        request = Request("GET", target, NO_FIELDS)
        variants = await self._store.find(target.uri, NO_FIELDS)
        stored = variants[-1] if variants else None
        self._refresher.start(request, stored, flight_key(request, variants), is_probe=True)
