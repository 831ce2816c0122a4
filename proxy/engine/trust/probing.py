"""Asking an origin that is down, again and again but not often, while a copy stands in for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from proxy.engine.collapse import VARIANT_SEPARATOR, Failed, flight_key
from proxy.engine.refresh import Refresher
from proxy.engine.state import EngineState
from proxy.http.messages import Request
from proxy.ports import Clock

# Doubled up to the longest, which is about how late it is noticed that an origin is back.
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 8.0
# A copy that nobody has asked for in this time is let go, and its origin left alone.
_IDLE_SECONDS: Final = 600.0
# A copy is renewed when this little of its freshness is left: more than a pause, or it could end before. One that
# is fresh for less is renewed no more often than this, and else by who asks for it.
_RENEWED_BEFORE: Final = 60.0
_MOST: Final = 1_024
_MOST_OF_ONE: Final = 8

# No client waits for it, and it for none: they may ask for what fails for them alone.
_WATCH: Final = f"{VARIANT_SEPARATOR}watch"

Renew = Callable[[Request], Awaitable[None]]


class Probing:
    """One watch for each target URI that a copy stands in for."""

    def __init__(self, state: EngineState, refresher: Refresher, clock: Clock) -> None:
        self._copies = state.copies
        self._store = state.store
        self._refresher = refresher
        self._clock = clock
        self._flights = state.flights
        self._generations = state.generations
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._down: set[str] = set()

    def start(self, request: Request, renew: Renew, *, is_silent: bool) -> None:
        """Watch the origin by asking `request` until it answers; `renew` brings a newer copy.

        One that is not even `is_silent` has sent somebody an error, and is down once it sends the watch one too.
        """
        target = request.target
        if target.uri in self._watches or len(self._watches) >= _MOST:
            return
        if sum(uri.startswith(f"{target.origin}/") for uri in self._watches) >= _MOST_OF_ONE:
            return
        task = asyncio.get_running_loop().create_task(self._watch(request, renew))
        self._watches[target.uri] = task
        if is_silent:
            self._down.add(target.uri)
        task.add_done_callback(lambda _: self._ended(target.uri))

    def _ended(self, uri: str) -> None:
        """Without a watch nobody would notice that the origin is back."""
        self._watches.pop(uri, None)
        self._down.discard(uri)
        self._copies.drop(uri)

    def is_watching(self, uri: str) -> bool:
        """Whether the origin of `uri` is known to be down, and being asked until it answers."""
        return uri in self._down

    async def close(self) -> None:
        """Stop every watch."""
        watches = list(self._watches.values())
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)

    async def _watch(self, request: Request, renew: Renew) -> None:
        uri, pause, renewed_at = request.target.uri, _FIRST_PAUSE, self._clock()
        while uri in self._copies:
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            now = self._clock()
            if now - self._copies.asked_at(uri) > _IDLE_SECONDS:
                return
            if await self._has_failed(request):
                self._down.add(uri)
            is_ending = self._copies.fresh_until(uri) - now < _RENEWED_BEFORE
            if uri in self._copies and is_ending and now - renewed_at >= _RENEWED_BEFORE:
                renewed_at = now
                await renew(request)

    async def _has_failed(self, request: Request) -> bool:
        """Ask the origin, also while a client is asking it; whether it has failed to answer."""
        variants = await self._store.find(request.target.uri, request.fields)
        stored, key = variants[-1] if variants else None, f"{flight_key(request, variants)}{_WATCH}"
        self._refresher.start(request, stored, key, is_probe=True)
        flight = self._flights.joinable(key, self._generations.latest)
        end = None if flight is None else await self._flights.end_of(flight)
        return isinstance(end, Failed)
