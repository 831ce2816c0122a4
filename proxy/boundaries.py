"""What outlives the process of the boundary: conflicts and registered profiles, as the engine needs them.

An implementer raises only the family named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from proxy.boundary.conflicts import Conflict, State
from proxy.boundary.registration import Registration


class BoundaryUnavailable(Exception):
    """Conflicts cannot be read or written now. What is known in memory holds all the same."""


class BoundaryDamaged(BoundaryUnavailable):
    """A record, or the file, is not as it was written."""


@dataclass(frozen=True, slots=True)
class NumberedConflict:
    """A conflict with its place in the list: numbers grow with each new conflict, from 1 on, none is used twice."""

    number: int
    conflict: Conflict


class BoundaryRecords(Protocol):
    """Conflicts and profiles, durable and shared by all who use one store."""

    def latch(self, intent: str) -> Conflict | None:
        """The newest conflict of this intent, held or released; None for none. From memory: it never waits."""
        ...

    def is_known(self, client: str) -> bool:
        """Whether any conflict or profile of this client is in memory, so that there is something to look up."""
        ...

    def profile(self, client: str) -> Registration | None:
        """What the client last registered, expired or not. From memory."""
        ...

    async def refresh(self) -> None:
        """Take in what others have written to the store since. Never raises; waits as long as one operation."""
        ...

    async def put(self, conflict: Conflict) -> None:
        """Add a conflict, or replace the one with its id; durable when this returns.

        `latch` tells it from now on even when this raises BoundaryUnavailable: it is kept in memory and written
        as soon as that can be done.
        """
        ...

    async def conflict(self, conflict_id: str) -> Conflict | None:
        """The conflict with this id. Raises BoundaryUnavailable."""
        ...

    async def page(
        self, client: str | None, state: State | None, after: int, limit: int
    ) -> tuple[NumberedConflict, ...]:
        """At most `limit` conflicts with numbers above `after`, in their order. Raises BoundaryUnavailable."""
        ...

    async def register(self, registration: Registration) -> None:
        """Replace what the client registered; durable when this returns. Raises BoundaryUnavailable."""
        ...

    async def unregister(self, client: str) -> bool:
        """Forget what the client registered; whether there was anything. Raises BoundaryUnavailable."""
        ...

    async def close(self) -> None:
        """Write what waits, and release the file."""
        ...
