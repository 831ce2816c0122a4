"""Lists of the conflicts on record, read and told little at a time, so that nobody else waits for them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Final

from proxy.boundaries import BoundaryRecords
from proxy.boundary.telling import Selection, told

# What the store reads, and what is told, in one go: a few milliseconds.
_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class EvidencePage:
    """Conflicts as JSON texts, one each. `following`: the cursor to go on from, None where nothing follows."""

    rows: tuple[str, ...]
    following: str | None

    @property
    def listed(self) -> bytes:
        """As one JSON value."""
        return f'{{"evidence": [{", ".join(self.rows)}], "next": {json.dumps(self.following)}}}'.encode("ascii")

    @property
    def lines(self) -> bytes:
        """As JSON lines."""
        return "".join(f"{row}\n" for row in self.rows).encode("ascii")


async def read_page(records: BoundaryRecords, selection: Selection) -> EvidencePage:
    """The selected conflicts in their order. Raises BoundaryUnavailable."""
    limit, after = selection.limit, selection.after
    rows: list[tuple[int, str]] = []
    # One more than is told shows whether any follow.
    while len(rows) <= limit:
        most = min(_AT_ONCE, limit + 1 - len(rows))
        found = await records.page(selection.client, selection.state, after, most)
        rows += [(one.number, json.dumps(told(one.conflict))) for one in found]
        if len(found) < most:
            break
        after = found[-1].number
        await asyncio.sleep(0)
    following = str(rows[limit - 1][0]) if len(rows) > limit else None
    return EvidencePage(tuple(row for _, row in rows[:limit]), following)
