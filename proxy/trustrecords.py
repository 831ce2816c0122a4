"""What outlives the process of what is known of domains: trust records, as the engine needs them.

An implementer raises only the family named here.
"""

from __future__ import annotations

from typing import Protocol

from proxy.trust.records.knowledge import Knowledge


class TrustRecordsUnavailable(Exception):
    """Trust records cannot be read or written: what they say is unknown, which is not that they say nothing."""


class TrustRecordsDamaged(TrustRecordsUnavailable):
    """The record of one authority is not as it was written. It stays until somebody removes it."""


class TrustRecords(Protocol):
    """What is known of each authority. Every method but `close` may raise TrustRecordsUnavailable."""

    async def get(self, authority: str) -> Knowledge | None:
        """What is known of it, None for nothing. Raises TrustRecordsDamaged."""
        ...

    async def put(self, knowledge: Knowledge) -> None:
        """Replace what is known of its authority; durable when this returns. Raises TrustRecordsDamaged."""
        ...

    async def authorities(self, limit: int) -> tuple[str, ...]:
        """At most `limit` of those with a record, in order."""
        ...

    async def remove(self, authority: str) -> bool:
        """Forget it, a damaged record too; whether there was one."""
        ...

    async def close(self) -> None:
        """Release the file, where there is one."""
        ...
