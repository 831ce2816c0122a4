"""An operator who looks at the admin port."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import ClientSession

from proxy.demo.documents import Document
from proxy.demo.process import CannotStart

_PAUSE: Final = 0.02
_READY_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Freshness:
    """What is stored, in seconds: until the end of its freshness, and from there of each stale window."""

    left: float
    while_revalidating: float
    if_error: float


class Operator:
    """Asks the admin port."""

    def __init__(self, session: ClientSession, admin_address: str) -> None:
        self._session = session
        self._base = f"http://{admin_address}"

    async def ready(self) -> None:
        """Wait until the proxy says that it is ready. Raises CannotStart when it takes too long."""
        try:
            async with asyncio.timeout(_READY_SECONDS):
                await self._until_ready()
        except TimeoutError:
            raise CannotStart(f"the proxy was not ready within {_READY_SECONDS} s") from None

    async def stored(self, document: Document) -> Freshness | None:
        """The freshness of what is stored of a document; None when nothing is."""
        async with self._session.get(f"{self._base}/admin/explain", params={"url": document.url}) as response:
            told: dict[str, Any] = await response.json()
        if not told["variants"]:
            return None
        told = told["variants"][-1]["freshness"]
        left = told["lifetime_seconds"] - told["current_age"]
        return Freshness(left, told["stale_while_revalidate"], told["stale_if_error"])

    async def purge(self, document: Document) -> None:
        """Take from the cache whatever it has of a document."""
        await self._session.post(f"{self._base}/admin/purge", json={"url": document.url}, raise_for_status=True)

    async def held(self) -> list[dict[str, Any]]:
        """What is held back at the boundary now."""
        async with self._session.get(f"{self._base}/admin/boundary", params={"state": "held"}) as response:
            told: dict[str, Any] = await response.json()
        return list(told["evidence"])

    async def release(self, conflict_id: str) -> None:
        """Let what was held back pass, as a person's consent."""
        url = f"{self._base}/admin/boundary/{conflict_id}/release"
        await self._session.post(url, raise_for_status=True)

    async def _until_ready(self) -> None:
        while True:
            async with self._session.get(f"{self._base}/readyz") as response:
                if response.status == 200:
                    return
            await asyncio.sleep(_PAUSE)
