"""Changes of records: one at a time for each URL, durable before anybody is told."""

from __future__ import annotations

import logging
from collections.abc import Callable

from proxy.engine.turns import Turns
from proxy.ledgers import Ledger, LedgerDamaged
from proxy.relocation.changes import Change, Event
from proxy.relocation.records import Record, record_id

Decide = Callable[[Record | None], Change]
Told = Callable[[str, Change], None]

_log = logging.getLogger("proxy.relocation")


class Writer:
    """Writes what is decided of a record."""

    def __init__(self, ledger: Ledger, turns: Turns) -> None:
        self._ledger = ledger
        self._turns = turns
        self._told: list[Told] = []

    def tell(self, told: Told) -> None:
        """From now on call `told` with the URL and the change whenever one is news."""
        self._told.append(told)

    async def change(self, url: str, decide: Decide) -> Change:
        """What `decide` makes of the record of `url`, written. Raises LedgerUnavailable."""
        async with self._turns.of(url):
            change = decide(self._before(url))
            if change.event is not Event.IGNORED:
                await self._write(url, change)
        if change.is_news:
            self._note(url, change)
        return change

    def _before(self, url: str) -> Record | None:
        """One that is damaged says nothing, and is replaced by what the origin says now."""
        try:
            return self._ledger.get(url)
        except LedgerDamaged:
            return None

    async def _write(self, url: str, change: Change) -> None:
        if change.record is not None:
            await self._ledger.put(change.record)
        elif change.observation is not None:
            await self._ledger.remove(url, change.observation)

    def _note(self, url: str, change: Change) -> None:
        # Paths may be anybody's secret: the id finds the record.
        extra = {"host": url.split("/", 3)[2], "id": record_id(url), "event": change.event.value}
        if change.record is not None:
            extra["state"] = change.record.state.value
        _log.info("relocation", extra=extra)
        for told in self._told:
            told(url, change)
