"""One fill per key.

A flight is a task of the proxy, not of the client that caused it: clients wait for its end and may leave. Who
waits decides again with his own request when it ends; nobody is served bytes that are not stored, except the one
client for whom an answer that may not be stored is kept.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from proxy.caching.stored import StoredResponse
from proxy.caching.vary import selecting_values
from proxy.engine.outcome import Complete, Streaming
from proxy.http.fields import NO_FIELDS, Fields
from proxy.http.messages import Realm, Request
from proxy.http.problems import Problem
from proxy.ports import Clock

# Stands between the URI and the selecting values in a flight's key; no URI holds a line break.
VARIANT_SEPARATOR = "\n"
# Seconds for which a key that turned out not to be storable lets every request through on its own.
UNCOLLAPSED_FOR = 60.0
# Such keys remembered at once; the oldest are forgotten first.
UNCOLLAPSED_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class Filled:
    """The store holds the answer, or would if a purge had not come between. Everybody decides again."""

    stored: StoredResponse
    forward_status: int
    upstream_seconds: float
    kept: bool
    """Whether it was published; False when something newer or a purge overtook it, or a 304 withdrew it."""
    for_leader: Fields = NO_FIELDS
    """Lines that may not be replayed (Set-Cookie): for the client that caused the fill alone."""


@dataclass(frozen=True, slots=True)
class NotStorable:
    """An answer for the client that caused the fill alone; the others go on their own."""

    answer: Complete | Streaming


@dataclass(frozen=True, slots=True)
class Failed:
    """The origin gave no usable answer; nobody asks again on behalf of those who waited."""

    problem: Problem
    answer: Complete | Streaming | None
    """The origin's own 5xx, to pass on when nothing stale may be served."""
    upstream_seconds: float
    status: int | None = None
    """The status of the origin's answer, whatever became of its body; None where no answer came."""
    is_unanswered: bool = False
    """Whether not even the head of an answer came."""


FillEnd = Filled | NotStorable | Failed


class Flight:
    """A fill under way. `generation` is the purge generation it began in."""

    def __init__(self, key: str, generation: int, expires_at: float) -> None:
        self.key = key
        self.generation = generation
        self.expires_at = expires_at
        self.task: asyncio.Task[FillEnd] | None = None
        self.is_awaited_by_leader = False

    async def end(self) -> FillEnd:
        """Wait for the end; being cancelled leaves the fill alone."""
        assert self.task is not None
        return await asyncio.shield(self.task)


def release(end: FillEnd) -> None:
    """Let go of an answer that nobody is left to take."""
    if isinstance(end, NotStorable) and isinstance(end.answer, Streaming):
        end.answer.response.close()


def flight_key(request: Request, variants: Sequence[StoredResponse]) -> str:
    """The target URI, with what else may make its fill end differently.

    That is how far it may lead, what it has to be, and the selecting values where the newest stored response says
    which fields select.
    """
    told: list[str] = []
    if request.realm is not Realm.ANY or request.document_class is not None:
        told.append(f"{request.realm.value} {request.document_class}")
    vary = max(variants, key=lambda stored: stored.born).vary if variants else ()
    if vary:
        told.append(f"{vary!r}{selecting_values(vary, request.fields)!r}")
    return VARIANT_SEPARATOR.join((request.target.uri, *told))


class Flights:
    """The fills under way, and the keys that are not worth waiting for."""

    def __init__(self, clock: Clock, lease: float) -> None:
        self._clock = clock
        self.lease = lease
        self._flights: dict[str, Flight] = {}
        self._under_way: set[Flight] = set()
        self._uncollapsed: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._under_way)

    def joinable(self, key: str, generation: int) -> Flight | None:
        """The flight whose end will serve a request made now; one begun before the last purge will not."""
        flight = self._flights.get(key)
        if flight is None or flight.generation != generation or flight.expires_at <= self._clock():
            return None
        return flight

    def start(
        self,
        key: str,
        generation: int,
        fill: Callable[[], Coroutine[Any, Any, FillEnd]],
        *,
        led: bool,
        shared: bool = True,
    ) -> Flight:
        """Begin a fill under `key`. `led`: a client waits that may take an answer which cannot be stored.

        Without `shared` nobody can join it and nothing is remembered of how it ends.
        """
        flight = Flight(key, generation, self._clock() + self.lease)
        flight.is_awaited_by_leader = led
        if shared:
            self._flights[key] = flight
        task = asyncio.get_running_loop().create_task(fill())
        flight.task = task
        self._under_way.add(flight)
        task.add_done_callback(lambda done: self._ended(flight, done))
        return flight

    def _ended(self, flight: Flight, task: asyncio.Task[FillEnd]) -> None:
        self._under_way.discard(flight)
        shared = self._flights.get(flight.key) is flight
        if shared:
            del self._flights[flight.key]
        if task.cancelled() or task.exception() is not None:
            return
        self._learn(flight.key, task.result(), shared=shared)
        if not flight.is_awaited_by_leader:
            release(task.result())

    async def end_of(self, flight: Flight) -> FillEnd | None:
        """How a flight that was joined ends; None when its lease ends first."""
        assert flight.task is not None
        patience = max(0.0, flight.expires_at - self._clock())
        ended, _ = await asyncio.wait({flight.task}, timeout=patience)
        return flight.task.result() if ended else None

    def abandon(self, flight: Flight) -> None:
        """The client that led `flight` is gone; what may be stored still will be."""
        flight.is_awaited_by_leader = False
        if flight.task is not None and flight.task.done() and not flight.task.cancelled():
            release(flight.task.result())

    def is_uncollapsed(self, key: str) -> bool:
        """Whether `key` lately gave an answer that may not be stored, so that nobody should wait for it."""
        until = self._uncollapsed.get(key)
        if until is None:
            return False
        if until <= self._clock():
            del self._uncollapsed[key]
            return False
        return True

    def _learn(self, key: str, end: FillEnd, *, shared: bool) -> None:
        """Remember whether waiting for `key` is worth while. A failing origin says nothing of that."""
        if isinstance(end, Filled):
            self._uncollapsed.pop(key, None)
        if not shared or not isinstance(end, NotStorable) or end.answer.head.status >= 500:
            return
        self._uncollapsed[key] = self._clock() + UNCOLLAPSED_FOR
        self._uncollapsed.move_to_end(key)
        if len(self._uncollapsed) > UNCOLLAPSED_KEYS:
            self._uncollapsed.popitem(last=False)

    def is_busy(self, uri: str) -> bool:
        """Whether a fill of any variant of `uri` is under way."""
        variant = uri + VARIANT_SEPARATOR
        return any(flight.key == uri or flight.key.startswith(variant) for flight in self._under_way)

    async def close(self, seconds: float) -> None:
        """Let fills under way finish for `seconds`, then cancel the rest."""
        tasks = {flight.task for flight in self._under_way if flight.task is not None}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
