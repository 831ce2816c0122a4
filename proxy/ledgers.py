"""What outlives the process of the origins' word: the ledger of relocations, as the engine needs it.

One record a URL (see relocation.records). An implementer raises only the family named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from proxy.relocation.records import Observation, Record, State


class LedgerUnavailable(Exception):
    """The ledger cannot be read or written: what it says is unknown, which is not that it says nothing."""


class LedgerDamaged(LedgerUnavailable):
    """The record of one URL, or the file, is not as it was written."""


@dataclass(frozen=True, slots=True)
class LedgerChange:
    """What last became of a URL; where it was withdrawn, its last observation says when and why.

    `cursor` numbers the changes of one ledger in the order in which they were made, from 1 on; none is used twice.
    """

    cursor: int
    record: Record
    is_withdrawn: bool


class Ledger(Protocol):
    """Relocations, durable. Every method but `close` may raise LedgerUnavailable, `get` and `by_id` at once."""

    def get(self, url: str) -> Record | None:
        """The record of a URL, None for none. From memory: it never waits. Raises LedgerDamaged."""
        ...

    def by_id(self, record_id: str) -> Record | None:
        """The record with this id (see relocation.records.record_id). Raises LedgerDamaged."""
        ...

    async def put(self, record: Record) -> None:
        """Replace the record of its URL; durable when this returns, and `get` tells it then.

        The history of a record that had been withdrawn goes on in it. A record that is damaged is replaced: the
        origin has spoken anew.
        """
        ...

    async def remove(self, url: str, observation: Observation) -> bool:
        """Withdraw the record of a URL, durably, for what was observed; whether there was one."""
        ...

    async def of_host(
        self, host: str | None, state: State | None, after: str | None, limit: int
    ) -> tuple[Record, ...]:
        """At most `limit` records in order of their ids, those whose ids follow `after`.

        Of a host whatever the port, or of all; in a state, or in all. Damaged ones are left out.
        """
        ...

    async def changes(self, after: int, limit: int) -> tuple[LedgerChange, ...]:
        """At most `limit` changes in order of their cursors, those whose cursors follow `after`.

        A URL stands in them once, at the latest change of its state or target, or where it was withdrawn: being
        confirmed anew moves nothing. What was never more than counted, has gone to make room or is damaged is left
        out; what was withdrawn and is only counted since stands as it was withdrawn.
        """
        ...

    async def last_change(self) -> int:
        """The cursor of the newest change there ever was, 0 for none."""
        ...

    async def close(self) -> None:
        """Release the file, where there is one."""
        ...


def readable(ledger: Ledger, url: str) -> Record | None:
    """The record of a URL; None also where it cannot be read, for those to whom that makes no difference."""
    try:
        return ledger.get(url)
    except LedgerUnavailable:
        return None
