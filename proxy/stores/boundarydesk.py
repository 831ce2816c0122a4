"""The file of the boundary at work, for the one thread that uses it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from proxy.boundaries import BoundaryDamaged, BoundaryUnavailable, NumberedConflict
from proxy.boundary.codec import MalformedConflict, MalformedRegistration
from proxy.boundary.conflicts import Conflict, State
from proxy.boundary.registration import Registration
from proxy.stores.boundaryfile import BoundaryFile, BoundaryFileDamaged, News
from proxy.stores.boundaryrow import ConflictRow, client_key, small_conflict, small_registration
from proxy.stores.filekeeper import FileKeeper, Terms
from proxy.stores.memoryboundary import BoundaryBounds, newer

_TERMS: Final = Terms(
    BoundaryUnavailable,
    BoundaryDamaged,
    BoundaryFileDamaged,
    noun="the records of the boundary",
    remedy="move it away to begin anew",
    consequence="new conflicts are known to this process only, and end with it",
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Unregistration:
    """What the client registered is to be forgotten."""

    client: str


Entry = Conflict | Registration | Unregistration
"""What can be written."""

Outcome = bool | BoundaryUnavailable
"""Whether there was something to do, or why it is refused."""


class BoundaryDesk(FileKeeper[BoundaryFile]):
    """Reads and writes, and `tell`s what is in the file before anything else. Methods raise BoundaryUnavailable.

    The properties may be read by any thread.
    """

    def __init__(
        self, path: Path, busy_seconds: float, bounds: BoundaryBounds, tell: Callable[[News], None]
    ) -> None:
        super().__init__(path, lambda: BoundaryFile(path, busy_seconds, bounds), _TERMS, _log)
        self._tell = tell

    def refresh(self) -> None:
        """Tell what is news."""
        with self.in_use() as file:
            self._tell_news(file)

    def probe(self) -> None:
        """Find out whether the file can be used; after a failure also whether it can be written."""
        is_faulty = self.is_faulty
        with self.in_use() as file:
            self._tell_news(file)
            if is_faulty:
                with file.writing():
                    pass

    def write(self, batch: Sequence[Entry]) -> list[Outcome]:
        """Write all of it, durably and at once; what became of each.

        Nothing is written that could not be read back.
        """
        ready = [(entry, _small(entry)) for entry in batch]
        with self.in_use() as file:
            self._tell_news(file)
            with file.writing():
                outcomes = [_written(file, entry, small) for entry, small in ready]
            self._tell_news(file)
            return outcomes

    def conflict(self, conflict_id: bytes) -> Conflict | None:
        """See boundaries.BoundaryRecords.conflict."""
        with self.in_use() as file:
            row = file.find(conflict_id)
            if row is None:
                return None
            found = _numbered(row)
            if found is None:
                raise BoundaryDamaged("The record of the conflict is damaged.")
            return found.conflict

    def page(self, client: str | None, state: State | None, after: int, limit: int) -> tuple[NumberedConflict, ...]:
        """See boundaries.BoundaryRecords.page."""
        given = None if client is None else client_key(client), None if state is None else state.encode()
        with self.in_use() as file, closing(file.page(*given, after)) as rows:
            found = map(_numbered, rows)
            return tuple(islice((one for one in found if one is not None), limit))

    def _tell_news(self, file: BoundaryFile) -> None:
        for news in file.news():
            if any(news):
                self._tell(news)


def _small(entry: Entry) -> bytes | BoundaryUnavailable:
    """The packed record, or why there is none that says the same."""
    try:
        if isinstance(entry, Conflict):
            return small_conflict(entry)
        return small_registration(entry) if isinstance(entry, Registration) else b""
    except (MalformedConflict, MalformedRegistration) as error:
        return BoundaryUnavailable(f"What is to be recorded has no record that says the same. {error.detail}")


def _written(file: BoundaryFile, entry: Entry, small: bytes | BoundaryUnavailable) -> Outcome:
    if isinstance(small, BoundaryUnavailable):
        return small
    if isinstance(entry, Unregistration):
        return file.unregister(client_key(entry.client))
    if isinstance(entry, Registration):
        file.register(entry, small)
    else:
        _put(file, entry, small)
    return True


def _put(file: BoundaryFile, conflict: Conflict, small: bytes) -> None:
    row = file.find(bytes.fromhex(conflict.id))
    known = None if row is None else _numbered(row)
    stands = conflict if known is None else newer(known.conflict, conflict)
    if known is None or stands is not known.conflict:
        number = None if row is None else row.number
        file.write(stands, small if stands is conflict else small_conflict(stands), number)


def _numbered(row: ConflictRow) -> NumberedConflict | None:
    """The conflict in a row, if that is as it was written."""
    try:
        return row.numbered() if row.is_whole else None
    except MalformedConflict:
        return None
