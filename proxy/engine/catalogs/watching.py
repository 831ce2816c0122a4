"""The watch list: catalogs that the operator names, read again and again, and what has become of their entries.

A look that fails takes nothing away of what is held, and is repeated sooner than a good one. One that was cut short
has failed, but what it saw is held beside the rest. No client waits for any of this.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from proxy.catalogs.verdicts import Verdict
from proxy.engine.catalogs.holding import Holding
from proxy.engine.catalogs.judging import BEHIND_THE_SCENES, Judgement
from proxy.engine.catalogs.reading import CatalogReader
from proxy.engine.outcome import Refusal
from proxy.http.secrets import masked
from proxy.http.targets import parse_target
from proxy.ledgers import LedgerUnavailable
from proxy.ports import Clock

# The looks at the start, one after the other, and the first one again after a failure: doubled up to the interval.
_FIRST_AFTER: Final = 1.0
_FIRST_PAUSE: Final = 60.0
_DOUBLINGS: Final = 20
_SPREAD: Final = 0.1
# Seconds that one look may take.
_A_LOOK: Final = 300.0

_log = logging.getLogger("proxy.catalogs")


@dataclass(frozen=True, slots=True)
class Watched:
    """How a watched catalog stands, for gauges: its place in the configuration, its host, its URLs by verdict.

    `looked_at` is the last look that succeeded, Unix seconds; `failing` why the one after that did not.
    """

    position: int
    host: str
    counts: Mapping[Verdict, int]
    looked_at: float | None
    failing: str | None


class _Watch:
    """One catalog of the list."""

    def __init__(self, position: int, url: str) -> None:
        self.position = position
        self.url = url
        self.target = parse_target(url)
        self.holding = Holding()
        self.looks = 0
        self.failures = 0
        self.looked_at: float | None = None
        self.failing: str | None = None

    def pause(self, interval: float) -> float:
        """Seconds until the next look: the interval, less after failures, a little more or less each time."""
        seconds = (
            min(interval, _FIRST_PAUSE * 2.0 ** min(self.failures - 1, _DOUBLINGS)) if self.failures else interval
        )
        octet = hashlib.sha256(f"{self.looks} {self.url}".encode()).digest()[0]
        return seconds * (1 + _SPREAD * (octet / 127.5 - 1))


class WatchList:
    """Looks at each of `urls`, which are usable targets, every `interval` seconds."""

    def __init__(
        self, reader: CatalogReader, judgement: Judgement, clock: Clock, urls: Sequence[str], interval: float
    ) -> None:
        self._reader = reader
        self._judgement = judgement
        self._clock = clock
        self._interval = interval
        self._watches = tuple(_Watch(position, url) for position, url in enumerate(urls))
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    def begin(self) -> None:
        """Start looking, soon but not at all of them at once."""
        loop = asyncio.get_running_loop()
        self._tasks = tuple(loop.create_task(self._watch(watch)) for watch in self._watches)

    async def close(self) -> None:
        """Stop looking."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def catalogs_of(self, url: str) -> tuple[str, ...]:
        """The catalogs that listed a recorded URL when they were last looked at, as they may be shown."""
        return tuple(masked(watch.url) for watch in self._watches if url in watch.holding)

    def standing(self) -> tuple[Watched, ...]:
        """How each catalog stands, in the order of the configuration."""
        return tuple(
            Watched(watch.position, watch.target.authority, watch.holding.counts, watch.looked_at, watch.failing)
            for watch in self._watches
        )

    async def _watch(self, watch: _Watch) -> None:
        await asyncio.sleep(min(self._interval, _FIRST_AFTER * (watch.position + 1)))
        while True:
            await self._look(watch)
            await asyncio.sleep(watch.pause(self._interval))

    async def _look(self, watch: _Watch) -> None:
        watch.looks += 1
        try:
            failure = await self._read(watch)
        except LedgerUnavailable:
            failure = "the records cannot be read"
        except Exception:
            # A fault of ours with one catalog ends neither its watch nor the others.
            _log.exception("a look at a catalog failed", extra=_named(watch))
            failure = "a fault of the proxy"
        if failure is None:
            watch.failures, watch.looked_at = 0, self._clock()
        else:
            watch.failures += 1
        if failure != watch.failing:
            _tell(watch, failure)
            watch.failing = failure

    async def _read(self, watch: _Watch) -> str | None:
        """One look; why it failed, or None."""
        started, holding = self._clock(), watch.holding
        since, until = holding.since(started), asyncio.get_running_loop().time() + _A_LOOK
        read = await self._reader.read_all(watch.target, since, until)
        refused = read if isinstance(read, Refusal) else read.fault
        if refused is not None:
            return f"{refused.problem.slug}: {refused.problem.detail}"
        assert not isinstance(read, Refusal)
        holding.take(read, started, is_whole=since is None)
        standings = await self._judgement.standings(holding.keys(), BEHIND_THE_SCENES, holding.claims, until)
        holding.judge(standings, self._clock())
        return read.note


def _tell(watch: _Watch, failure: str | None) -> None:
    if failure is None:
        _log.info("a catalog can be read again", extra=_named(watch))
    else:
        _log.warning("a catalog cannot be read", extra={**_named(watch), "reason": failure})


def _named(watch: _Watch) -> dict[str, object]:
    # The rest of its URL may be a secret; its place finds it in the configuration.
    return {"host": watch.target.authority, "position": watch.position}
