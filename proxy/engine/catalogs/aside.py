"""Long work beside the event loop, so that everybody else has their turns meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from proxy.http.fields import Fields

SHORT: Final = 128 * 2**10
"""Octets that are read or written in a few milliseconds."""

_T = TypeVar("_T")


async def aside(octets: int, work: Callable[[], _T]) -> _T:
    """What `work` gives; in a thread where it is on more than SHORT octets. It is pure, of what does not change."""
    return await asyncio.to_thread(work) if octets > SHORT else work()


def weight(fields: Fields, body: bytes) -> int:
    """How many octets work on a body is on. What a coded one holds is not known before, and may be much."""
    return len(body) if "content-encoding" not in fields else max(len(body), SHORT + 1)
