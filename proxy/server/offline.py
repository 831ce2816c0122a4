"""`explain` without a running proxy: the store is read in process."""

from __future__ import annotations

import asyncio

from proxy.config import Settings
from proxy.metrics import Metrics
from proxy.server.wiring import build_engine, open_origin, open_shared, wall_clock
from proxy.upstream.addresses import OwnListeners


def explain_offline(settings: Settings, url: str) -> dict[str, object]:
    """What `Control.explain` tells of `url` from the configured store. Raises MalformedTarget."""
    return asyncio.run(_explain(settings, url))


async def _explain(settings: Settings, url: str) -> dict[str, object]:
    shared = open_shared(settings, Metrics(), wall_clock)
    origin = open_origin(settings, OwnListeners(), wall_clock)
    try:
        return await build_engine(settings, shared, origin).control.explain(url)
    finally:
        await origin.close()
        await shared.store.close()
