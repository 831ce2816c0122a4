"""Refreshes behind stale answers: one per key, bounded in number, backed off after failure (RFC 5861 §3)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from proxy.caching.reuse import Forward
from proxy.caching.stored import StoredResponse
from proxy.caching.validation import ORIGIN_CONDITIONS
from proxy.engine.collapse import Failed, FillEnd, Flight, NotStorable, release
from proxy.engine.exchanges import LEAVES_STORED
from proxy.engine.fill import Ask, Filler
from proxy.engine.state import EngineState
from proxy.http.messages import Request

# Refreshes waiting for a place; beyond it a stale hit starts none and the next one tries again.
MAX_WAITING = 4096


class Refresher:
    """Starts background fills. A refresh that fails touches no client."""

    def __init__(self, state: EngineState, filler: Filler) -> None:
        self._filler = filler
        self._flights = state.flights
        self._holdoffs = state.holdoffs
        self._generations = state.generations
        self._rules = state.rules
        self._observer = state.observer
        self._clock = state.clock
        self._places = asyncio.Semaphore(state.settings.background_refreshes)
        self._queued: dict[str, Flight] = {}
        self._inflight = 0

    @property
    def inflight(self) -> int:
        """Refreshes that are asking an origin now."""
        return self._inflight

    def start(self, request: Request, stored: StoredResponse | None, key: str, *, is_probe: bool = False) -> bool:
        """Refresh `stored` unless that is under way, held off, which no probe is, or too much is waiting."""
        generation = self._generations.latest
        is_held_off = not is_probe and self._holdoffs.holds(key, self._clock())
        if is_held_off or self._flights.joinable(key, generation) is not None:
            return False
        queued = self._queued.get(key)
        if len(self._queued) >= MAX_WAITING or (queued is not None and queued.generation == generation):
            return False
        # One from before a purge would ask in vain.
        self.gives_way(key)
        ask = Ask(
            request=as_refresh(request),
            rules=self._rules.of(request),
            generation=generation,
            forward=Forward.STALE if stored is not None else Forward.URI_MISS,
            reason="background",
            stored=stored,
        )
        flight = self._flights.start(key, generation, lambda: self._run(ask, key), led=False)
        if self._places.locked():
            self._queued[key] = flight
        return True

    def gives_way(self, key: str) -> bool:
        """Whether a refresh of `key` was waiting for its place and is given up: a client needs the same now."""
        queued = self._queued.pop(key, None)
        return queued is not None and queued.task is not None and queued.task.cancel()

    async def _run(self, ask: Ask, key: str) -> FillEnd:
        try:
            await self._places.acquire()
        finally:
            queued = self._queued.get(key)
            if queued is not None and queued.task is asyncio.current_task():
                del self._queued[key]
        self._inflight += 1
        try:
            end = await self._filler.fill(ask)
        finally:
            self._inflight -= 1
            self._places.release()
        if has_failed(end):
            self._holdoffs.failed(key, self._clock())
        else:
            self._holdoffs.succeeded(key)
        release(end)
        self._observer.refreshed("failed" if has_failed(end) else "done")
        return end


def has_failed(end: FillEnd) -> bool:
    """Whether a refresh left the stale response as it was: also a 429 or 403 is a reason to ask less often."""
    return isinstance(end, Failed) or (isinstance(end, NotStorable) and end.answer.head.status in LEAVES_STORED)


def as_refresh(request: Request) -> Request:
    """A GET for everybody, made from one client's request: its credentials and wishes stay out."""
    withheld = (*ORIGIN_CONDITIONS, "authorization", "cookie", "cache-control", "pragma")
    return replace(request, method="GET", fields=request.fields.without(withheld))
