"""Calls timed in turns within one process, a batch each: what slows the machine slows all, so ratios stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from timeit import Timer

from benchmarks.registry import CannotMeasure

Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Turns:
    """How often: rounds of one batch for each call, a batch of about so many seconds."""

    rounds: int
    batch: float

    def __str__(self) -> str:
        """For a title."""
        return f"medians of {self.rounds} interleaved rounds"


def require(name: str, call: Call, holds: Callable[[object], object]) -> None:
    """Make the call once. Raises CannotMeasure unless it comes to what it is there for."""
    came_to = call()
    if not holds(came_to):
        raise CannotMeasure(f"{name}: it came to {type(came_to).__name__}")


def in_turns(calls: Sequence[Call], turns: Turns) -> list[list[float]]:
    """Microseconds a call, for each of the calls a figure a round; the garbage collector rests meanwhile."""
    timers = [(timer, _batch(timer, turns.batch)) for timer in map(Timer, calls)]
    rounds = [[timer.timeit(number) / number * 1e6 for timer, number in timers] for _ in range(turns.rounds)]
    return [list(figures) for figures in zip(*rounds, strict=True)]


def ratio(of: Sequence[float], to: Sequence[float]) -> float:
    """The median of the rounds' ratios."""
    return median(first / second for first, second in zip(of, to, strict=True))


def _batch(timer: Timer, seconds: float) -> int:
    timer.timeit(1)
    return max(1, int(seconds / (timer.timeit(5) / 5)))
