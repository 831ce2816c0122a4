"""The records of the boundary of a process that keeps nothing, and what is the same wherever they are kept."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heapify, heapreplace
from itertools import count, islice
from typing import Final, TypeVar

from proxy.boundaries import NumberedConflict
from proxy.boundary.conflicts import Conflict, Settlement, State
from proxy.boundary.registration import Registration
from proxy.stores.ledgerfile import surplus

_QUIET_SECONDS: Final = 60.0

Client = TypeVar("Client", str, bytes)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BoundaryBounds:
    """How many conflicts are kept, of one client and of all, and how many profiles."""

    of_client: int
    of_all: int
    profiles: int


ON_FILE: Final = BoundaryBounds(of_client=2_000, of_all=100_000, profiles=10_000)
IN_MEMORY: Final = BoundaryBounds(of_client=1_000, of_all=10_000, profiles=10_000)


def newer(known: Conflict, put: Conflict) -> Conflict:
    """Which of two states of one conflict stands once `put` is put over what is `known`.

    Who puts one may not have heard of what others did: a release stays one, that of a person stays his, and the
    credentials that were refused stay counted.
    """
    if known.state is State.RELEASED:
        is_persons = known.settlement is Settlement.PERSON and put.settlement is not Settlement.PERSON
        return known if put.state is State.HELD or is_persons else put
    if put.state is State.HELD and put.refused_credentials < known.refused_credentials:
        return replace(put, refused_credentials=known.refused_credentials)
    return put


def shares(counts: Mapping[Client, int], most: int) -> Mapping[Client, int]:
    """How many go of which client, if one after the other goes of whoever has most then."""
    going: Counter[Client] = Counter()
    heap = [(-have, client) for client, have in counts.items()]
    heapify(heap)
    for _ in range(min(most, sum(counts.values()))):
        have, client = heap[0]
        heapreplace(heap, (have + 1, client))
        going[client] += 1
    return going


class DropLog:
    """Tells an operator, once a minute at most, how many records had to go."""

    def __init__(self, noun: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._noun = noun
        self._clock = clock
        self._quiet_until: float | None = None
        self._untold = 0

    def note(self, dropped: int) -> None:
        """So many more went. What is not told now is told with the next."""
        self._untold += dropped
        now = self._clock()
        if self._untold and (self._quiet_until is None or now >= self._quiet_until):
            _log.warning("%d %s were dropped: there is no room for more", self._untold, self._noun)
            self._untold, self._quiet_until = 0, now + _QUIET_SECONDS


class MemoryBoundary:
    """Conflicts and profiles that end with the process."""

    def __init__(self, bounds: BoundaryBounds = IN_MEMORY) -> None:
        self._bounds = bounds
        self._next_numbers = count(1)
        self._conflicts: dict[int, Conflict] = {}  # in their order, as are all numbers below
        self._numbers: dict[str, int] = {}  # by id
        self._of_intent: dict[str, list[int]] = {}
        self._of_client: dict[str, dict[int, None]] = {}
        self._profiles: dict[str, Registration] = {}
        self._dropped = DropLog("conflicts")
        self._unregistered = DropLog("capability profiles")

    @property
    def degraded(self) -> tuple[str, ...]:
        """Nothing can be wrong with it."""
        return ()

    async def open(self) -> None:
        """There is nothing to read."""

    async def probe(self) -> None:
        """There is nothing to try."""

    def latch(self, intent: str) -> Conflict | None:
        """The newest conflict of this intent."""
        numbers = self._of_intent.get(intent)
        return None if numbers is None else self._conflicts[numbers[-1]]

    def is_known(self, client: str) -> bool:
        """Whether there is a conflict or a profile of this client."""
        return client in self._of_client or client in self._profiles

    def profile(self, client: str) -> Registration | None:
        """What the client last registered."""
        return self._profiles.get(client)

    async def refresh(self) -> None:
        """Nobody else writes to it."""

    async def put(self, conflict: Conflict) -> None:
        """Add a conflict, or replace the one with its id."""
        number = self._numbers.get(conflict.id)
        if number is not None:
            self._conflicts[number] = newer(self._conflicts[number], conflict)
            return
        number = next(self._next_numbers)
        self._conflicts[number] = conflict
        self._numbers[conflict.id] = number
        self._of_intent.setdefault(conflict.intent, []).append(number)
        self._of_client.setdefault(conflict.client, {})[number] = None
        self._make_room(number, conflict.client)

    async def conflict(self, conflict_id: str) -> Conflict | None:
        """The conflict with this id."""
        number = self._numbers.get(conflict_id)
        return None if number is None else self._conflicts[number]

    async def page(
        self, client: str | None, state: State | None, after: int, limit: int
    ) -> tuple[NumberedConflict, ...]:
        """At most `limit` conflicts with numbers above `after`, in their order."""
        numbers: Iterable[int] = self._conflicts if client is None else self._of_client.get(client, {})
        rows = (NumberedConflict(number, self._conflicts[number]) for number in numbers if number > after)
        return tuple(islice((row for row in rows if state in (None, row.conflict.state)), limit))

    async def register(self, registration: Registration) -> None:
        """Replace what the client registered."""
        self._profiles[registration.client] = registration
        going = surplus(len(self._profiles), self._bounds.profiles)
        others = (one for one in self._profiles.values() if one is not registration)
        for one in sorted(others, key=lambda one: one.expires_at)[:going] if going else ():
            del self._profiles[one.client]
        self._unregistered.note(going)

    async def unregister(self, client: str) -> bool:
        """Forget what the client registered; whether there was anything."""
        return self._profiles.pop(client, None) is not None

    async def close(self) -> None:
        """There is nothing to close."""

    def _make_room(self, written: int, client: str) -> None:
        own = self._of_client[client]
        self._drop(self._in_turn(own, written, surplus(len(own), self._bounds.of_client)))
        most = surplus(len(self._conflicts), self._bounds.of_all)
        if most:
            released = (number for number in self._conflicts if self._conflicts[number].state is State.RELEASED)
            gone = self._drop(list(islice((number for number in released if number != written), most)))
            counts = {name: len(numbers) - (name == client) for name, numbers in self._of_client.items()}
            for other, share in shares(counts, most - gone).items():
                self._drop(self._in_turn(self._of_client[other], written, share))

    def _in_turn(self, numbers: Iterable[int], written: int, most: int) -> list[int]:
        """Those that go of one client: the released ones first, the oldest first, and not what was just written."""
        if not most:
            return []
        others = (number for number in numbers if number != written)
        return sorted(others, key=lambda number: (self._conflicts[number].state is State.HELD, number))[:most]

    def _drop(self, numbers: list[int]) -> int:
        for number in numbers:
            conflict = self._conflicts.pop(number)
            del self._numbers[conflict.id]
            _forget(self._of_intent, conflict.intent, number)
            _forget(self._of_client, conflict.client, number)
        self._dropped.note(len(numbers))
        return len(numbers)


def _forget(groups: dict[str, list[int]] | dict[str, dict[int, None]], name: str, number: int) -> None:
    group = groups[name]
    if isinstance(group, list):
        group.remove(number)
    else:
        del group[number]
    if not group:
        del groups[name]
