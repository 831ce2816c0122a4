"""Asking several, staggered: the next when one has failed or is taking long, and the first good answer wins.

Nothing here knows what is asked or what makes an answer good. Nobody is left running: whatever ends the race, also
its own cancellation, ends every contender.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class RunState(Enum):
    """How a contender came out: with a result, overtaken by the winner, or with the time over."""

    ENDED = "ended"
    OVERTAKEN = "overtaken"
    OVERDUE = "overdue"


@dataclass(frozen=True, slots=True)
class Run(Generic[R]):
    """One contender that started. `result` is None unless it ended."""

    state: RunState
    seconds: float
    result: R | None


@dataclass(frozen=True, slots=True)
class Finish(Generic[R]):
    """`winner` is the result that was accepted. `runs` are in order; contenders beyond them never started, and
    without a winner that is because the time was over."""

    winner: R | None
    runs: tuple[Run[R], ...]


@dataclass(frozen=True, slots=True)
class RaceTerms:
    """Seconds until the next starts beside one that is taking long, seconds for all, and how many run at once."""

    hedge_delay: float
    seconds: float
    at_once: int


Contender = Callable[[], Coroutine[Any, Any, R]]


async def race(contenders: Sequence[Contender[R]], accepts: Callable[[R], bool], terms: RaceTerms) -> Finish[R]:
    """Start the contenders in order until a result is accepted. What a contender raises comes out of here."""
    course = _Course(contenders, terms)
    try:
        winner = await course.run(accepts)
    finally:
        await course.clear()
    return Finish(winner, course.runs(winner is not None))


@dataclass(slots=True)
class _Lane(Generic[R]):
    task: asyncio.Task[R]
    began: float
    ended: float | None = None


class _Course(Generic[R]):
    def __init__(self, contenders: Sequence[Contender[R]], terms: RaceTerms) -> None:
        self._waiting = list(reversed(contenders))
        self._terms = terms
        self._loop = asyncio.get_running_loop()
        self._lanes: list[_Lane[R]] = []
        self._next_at = self._loop.time()
        self._ends_at = self._next_at + terms.seconds

    async def run(self, accepts: Callable[[R], bool]) -> R | None:
        while self._loop.time() < self._ends_at:
            self._start_due()
            running = [lane for lane in self._lanes if lane.ended is None]
            if not running:
                return None
            ended = await self._wait(running)
            for lane in ended:
                result = lane.task.result()
                if accepts(result):
                    return result
            if ended:
                self._next_at = self._loop.time()
        return None

    def _start_due(self) -> None:
        now = self._loop.time()
        while self._may_start and now >= self._next_at:
            contender = self._waiting.pop()
            self._lanes.append(_Lane(self._loop.create_task(contender()), now))
            self._next_at = now + self._terms.hedge_delay

    @property
    def _may_start(self) -> bool:
        running = sum(lane.ended is None for lane in self._lanes)
        return bool(self._waiting) and running < self._terms.at_once

    async def _wait(self, running: list[_Lane[R]]) -> list[_Lane[R]]:
        """Those that ended, in their order, after waiting for one or for the moment when the next is due."""
        until = min(self._ends_at, self._next_at) if self._may_start else self._ends_at
        tasks = [lane.task for lane in running]
        patience = max(0.0, until - self._loop.time())
        done, _ = await asyncio.wait(tasks, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        ended = [lane for lane in running if lane.task in done]
        for lane in ended:
            lane.ended = self._loop.time()
        return ended

    async def clear(self) -> None:
        """End who still runs."""
        tasks = [lane.task for lane in self._lanes]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def runs(self, is_won: bool) -> tuple[Run[R], ...]:
        now = self._loop.time()
        left = RunState.OVERTAKEN if is_won else RunState.OVERDUE
        return tuple(
            Run(left, now - lane.began, None)
            if lane.ended is None
            else Run(RunState.ENDED, lane.ended - lane.began, lane.task.result())
            for lane in self._lanes
        )
