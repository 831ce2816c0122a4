"""What an operator decides of conflicts at the boundary."""

from __future__ import annotations

from proxy.boundaries import BoundaryRecords
from proxy.boundary.conflicts import Conflict, Settlement, State
from proxy.ports import Clock


class AlreadyReleased(Exception):
    """The conflict is no latch any more."""


class BoundaryControl:
    """Conflicts as an operator sees them, on `records`."""

    def __init__(self, records: BoundaryRecords, clock: Clock) -> None:
        self.records = records
        self._clock = clock

    async def release(self, conflict_id: str) -> Conflict | None:
        """Let the intent pass, as a person's consent; the conflict from now on, None where there is none.

        Raises AlreadyReleased, BoundaryUnavailable; where it could be read and not written, the release holds in
        this process and is written as soon as that can be done.
        """
        conflict = await self.records.conflict(conflict_id)
        if conflict is None:
            return None
        if conflict.state is State.RELEASED:
            raise AlreadyReleased
        released = conflict.released(Settlement.PERSON, self._clock())
        await self.records.put(released)
        return released
