"""What the origins' word costs a catalog of ten thousand endpoints, beside the parsing of the same octets.

One in a hundred has moved and one in a hundred is gone. Of the others nothing is known, and nobody is asked.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.measures.relocation.listed import ENTRIES, Listing, ai_catalog, registry_list
from benchmarks.measures.relocation.recorded import endpoint, endpoint_gone, endpoint_moved, fill, successor
from benchmarks.registry import CannotMeasure
from benchmarks.tables import Row, Table
from benchmarks.turns import ratio
from proxy.catalogs.applying import Applied, applied
from proxy.config import load
from proxy.engine.catalogs.judging import Judgement
from proxy.metrics import Metrics
from proxy.relocation.records import Record
from proxy.server.keeping import open_kept
from proxy.server.network import open_network
from proxy.server.wiring import build_engine, wall_clock
from proxy.stores.ledger import SqliteLedger
from proxy.upstream.addresses import OwnListeners

_MOVED: Final = range(0, ENTRIES, 100)
_GONE: Final = range(50, ENTRIES, 100)
_WANTED_MILLISECONDS: Final = 150
_WANTED_RATIO: Final = 2
_PARSED: Final = "json.loads"
_READ: Final = "read_catalog"
_JUDGED: Final = "Judgement.standings"
_APPLIED: Final = "applied"
_BOTH: Final = "both of these"
_ALL: Final = "all three"
_ALL_COLD: Final = "all three, the ledger just opened"
_ROWS: Final = (_PARSED, _READ, _JUDGED, _APPLIED, _BOTH, _ALL, _ALL_COLD)


@dataclass(frozen=True, slots=True)
class _Step:
    """Something timed once a round; `before` is done each time, and not timed."""

    name: str
    call: Callable[[], Awaitable[object]]
    before: Callable[[], Awaitable[None]] | None = None

    async def milliseconds(self) -> float:
        """Of one call; the garbage collector rests meanwhile."""
        if self.before is not None:
            await self.before()
        gc.disable()
        try:
            started = time.perf_counter()
            await self.call()
            return (time.perf_counter() - started) * 1000
        finally:
            gc.enable()


class _Reopened:
    """The file of a ledger, which is read again and again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ledger = SqliteLedger(path)

    async def open(self) -> None:
        """Read it. None of its records has been asked for then, so none is parsed."""
        await self.aclose()
        self._ledger = SqliteLedger(self._path)
        await self._ledger.open()

    async def aclose(self) -> None:
        """Close it."""
        await self._ledger.close()

    def record(self, url: str) -> Record | None:
        """The record of a URL."""
        return self._ledger.get(url)


async def catalogs(now: float, rounds: int) -> list[Table]:
    """A table a catalog; `now` in Unix seconds."""
    settings = load(None, {}, {"store.url": "memory://"})
    # The network is never reached, and nothing is stored; the engine is put together as in service all the same.
    network = open_network(settings, OwnListeners(), wall_clock)
    kept = open_kept(settings, Metrics(), wall_clock)
    rechecks = build_engine(settings, kept, network).relocating.rechecks
    with TemporaryDirectory() as directory:
        path = Path(directory, "ledger")
        fill(path, (endpoint_moved(number, now) for number in _MOVED))
        fill(path, (endpoint_gone(number, now) for number in _GONE))
        async with aclosing(_Reopened(path)) as ledger:
            judgement = Judgement(ledger.record, rechecks, kept.store, wall_clock)
            listings = (ai_catalog(now), registry_list(now))
            tables = [await _table(listing, judgement, ledger, rounds) for listing in listings]
    await network.close()
    return tables


async def _table(listing: Listing, judgement: Judgement, ledger: _Reopened, rounds: int) -> Table:
    async def whole() -> Applied:
        catalog = listing.read()
        return applied(catalog, await judgement.standings(entry.key for entry in catalog.entries))

    await ledger.open()
    _require_right(listing, await whole())
    catalog = listing.read()
    standings = await judgement.standings(entry.key for entry in catalog.entries)

    async def parse() -> object:
        return json.loads(listing.body)

    async def read() -> object:
        return listing.read()

    async def judge() -> object:
        return await judgement.standings(entry.key for entry in catalog.entries)

    async def apply() -> object:
        return applied(catalog, standings)

    steps = (
        _Step(_PARSED, parse),
        _Step(_READ, read),
        _Step(_JUDGED, judge),
        _Step(_APPLIED, apply),
        _Step(_ALL, whole),
        _Step(_ALL_COLD, whole, ledger.open),
    )
    figures: dict[str, list[float]] = {name: [] for name in _ROWS}
    for _ in range(rounds):
        for step in steps:
            figures[step.name].append(await step.milliseconds())
        figures[_BOTH].append(figures[_JUDGED][-1] + figures[_APPLIED][-1])
    size = f"{ENTRIES:,} entries, {len(listing.body) / 1e6:.1f} MB"
    title = f"{listing.name}, {size}, 1 % moved and 1 % gone: medians of {rounds} interleaved rounds"
    rows = [_row(name, figures) for name in figures]
    return Table(title, rows, {f"{name}, ms": values for name, values in figures.items()})


def _row(name: str, figures: dict[str, list[float]]) -> Row:
    took = figures[name]
    by_reading = ratio(took, figures[_READ])
    is_held = median(took) <= _WANTED_MILLISECONDS and by_reading <= _WANTED_RATIO
    wanted = f"≤ {_WANTED_RATIO} times {_READ}, ≤ {_WANTED_MILLISECONDS} ms: {'yes' if is_held else 'no'}"
    return {
        "what": name,
        f"÷ {_READ}": by_reading,
        f"÷ {_PARSED}": ratio(took, figures[_PARSED]),
        "ms": median(took),
        "wanted": wanted if name in (_ALL, _ALL_COLD) else "",
    }


def _require_right(listing: Listing, came_to: Applied) -> None:
    """Raises CannotMeasure unless what has moved is replaced, what is gone is left out, and all else as it was."""
    moves = {endpoint(number): successor(number) for number in _MOVED}
    gone = {endpoint(number) for number in _GONE}
    right = [moves.get(url, url) for url in listing.urls(listing.body) if url not in gone]
    if came_to.body is None or listing.urls(came_to.body) != right:
        raise CannotMeasure(f"{listing.name}: {came_to.moved} moved and {came_to.gone} gone were applied")
