"""The feed of what changes in the ledger: waiting for changes, and what one of them tells."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from proxy.http.secrets import masked
from proxy.http.timestamps import timestamp
from proxy.ledgers import Ledger, LedgerChange
from proxy.relocation.records import told
from proxy.server.recordreading import RecordReading, TooManyRead

LONGEST_WAIT: Final = 30
MOST_WAITING: Final = 256
WITHDRAWN: Final = "withdrawn"

_LOOKS_A_SECOND: Final = 4
_PAUSE: Final = 1 / _LOOKS_A_SECOND


class TooManyWait(Exception):
    """As many are waiting as may."""


class RecordFeed:
    """Changes of a ledger, for those who want them as they come."""

    def __init__(self, ledger: Ledger, reading: RecordReading) -> None:
        self._ledger = ledger
        self._reading = reading
        self._waiting = 0
        self._has_ended = False
        self._looked_at = 0.0
        self._newest = 0

    async def after(self, cursor: int, limit: int, wait: int) -> tuple[tuple[LedgerChange, ...], int]:
        """At most `limit` changes after `cursor`, and the cursor of the newest there ever was.

        Where there are none it waits up to `wait` seconds for the first. Raises TooManyWait, TooManyRead,
        LedgerUnavailable.
        """
        # Asked before the changes are, so that none can come unseen between the two.
        newest = await self._ledger.last_change()
        changes = await self._reading.changes(cursor, limit) if newest > cursor else ()
        if changes or not wait or newest < cursor:
            return changes, newest
        with self._place():
            read_to = newest
            for _ in range(wait * _LOOKS_A_SECOND):
                if self._has_ended:
                    break
                await asyncio.sleep(_PAUSE)
                newest = max(newest, await self._look())
                if newest > read_to:
                    # Those for whom there is no turn now wait on; a change is read by many at once.
                    with suppress(TooManyRead):
                        changes, read_to = await self._reading.changes(cursor, limit), newest
                if changes:
                    break
        return changes, newest

    def end_waits(self) -> None:
        """Whoever waits is answered soon, and nobody begins to wait."""
        self._has_ended = True

    async def _look(self) -> int:
        """The cursor of the newest change. The ledger is asked once a pause, however many wait."""
        now = asyncio.get_running_loop().time()
        if now - self._looked_at >= _PAUSE:
            self._looked_at = now
            self._newest = await self._ledger.last_change()
        return self._newest

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._waiting >= MOST_WAITING:
            raise TooManyWait
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1


def told_change(
    change: LedgerChange, catalogs_of: Callable[[str], tuple[str, ...]] | None = None
) -> dict[str, object]:
    """The change as a line of the feed; of a withdrawal it tells what was seen then, and when."""
    record = change.record
    whole = told(record)
    line: dict[str, object] = {
        "cursor": change.cursor,
        "event": WITHDRAWN if change.is_withdrawn else record.state.value,
        **{name: whole[name] for name in ("id", "url", "state", "target", "status", "observed_at", "checked_at")},
        "note": record.history[-1].note if record.history else "",
    }
    if change.is_withdrawn:
        line.update(state=None, target=None)
        for seen in record.history[-1:]:
            at = timestamp(seen.at)
            line.update(status=seen.status, observed_at=at, checked_at=at)
    if catalogs_of is not None:
        line["catalogs"] = [masked(url) for url in catalogs_of(record.url)]
    return line
