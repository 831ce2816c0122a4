"""`explain` without a running proxy: what the store holds is read in process, and nothing is written."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from proxy.config import Settings
from proxy.metrics import Metrics
from proxy.server.keeping import Kept, keep, marks_of, passing
from proxy.server.network import open_network
from proxy.server.wiring import build_engine, wall_clock
from proxy.stores.generations import read_generations
from proxy.stores.persistent import open_snapshot
from proxy.upstream.addresses import OwnListeners

# Nobody else waits for the store here.
_PATIENCE = 10.0


_BY_A_RUNNING_PROXY = {
    "trust": "what is known of domains is told by a running proxy alone",
    "relocation": "what its origin has said for good is told by a running proxy alone",
}


class NoStore(Exception):
    """There is no store to read; the text says why, as the second half of a sentence."""


def explain_offline(settings: Settings, url: str) -> dict[str, object]:
    """What `Control.explain` tells of `url` from the configured store. Raises MalformedTarget, NoStore."""
    database = settings.store.database
    if database is None:
        raise NoStore("store.url is memory://, which no other process can read")
    path = Path(database)
    if not path.is_file():
        key = "store.url" if path.is_absolute() else "store.url, relative to the working directory"
        raise NoStore(f"there is no store at {path} ({key})")
    return asyncio.run(_explain(settings, path, url))


async def _explain(settings: Settings, path: Path, url: str) -> dict[str, object]:
    kept = _read(settings, path)
    # Nothing is asked of an origin, so what only connections need is not looked at.
    bare = {
        "upstream": settings.upstream.model_copy(update={"ca_file": None}),
        "dns": settings.dns.model_copy(update={"trust_anchors": None}),
    }
    network = open_network(settings.model_copy(update=bare), OwnListeners(), wall_clock)
    try:
        told = await build_engine(settings, kept, network).control.explain(url)
        return told | {name: {"error": error} for name, error in _BY_A_RUNNING_PROXY.items()}
    finally:
        await network.close()
        await kept.close(_PATIENCE)


def _read(settings: Settings, path: Path) -> Kept:
    store = settings.store.model_copy(update={"operation_timeout": _PATIENCE})
    settings = settings.model_copy(update={"store": store})
    try:
        snapshot = open_snapshot(path, settings.cache.max_variants, wall_clock)
    except (OSError, sqlite3.Error) as error:
        raise NoStore(f"the store at {path} cannot be read ({error})") from None
    generations = read_generations(marks_of(path), wall_clock())
    return keep(settings, Metrics(), wall_clock, snapshot, passing(generations))
