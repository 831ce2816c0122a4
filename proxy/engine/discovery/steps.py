"""What a discovery call did, step by step, with what each step cost on the wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from proxy.http.secrets import masked
from proxy.metering import Meter, current_meter
from proxy.ports import Clock

Result = TypeVar("Result")
_LONGEST: Final = 300
_CUT_SHORT: Final = "The time for discovery was over (discovery.deadline)."


class StepOutcome(StrEnum):
    """How a step ended."""

    FOUND = "found"
    ABSENT = "absent"
    WRONG_KIND = "wrong-kind"
    REFUSED = "refused"
    FAILED = "failed"
    SKIPPED = "skipped"
    CACHED = "cached"


@dataclass(slots=True)
class Step:
    """One step; `seconds` from its beginning to its end.

    `meter` counts what it causes, also what goes on behind the scenes after its end.
    """

    step: str
    target: str
    meter: Meter
    outcome: StepOutcome = StepOutcome.FAILED
    detail: str = _CUT_SHORT
    seconds: float = 0.0

    def told(self) -> dict[str, object]:
        """The step as the answer has it."""
        return {
            "step": self.step,
            "target": self.target,
            "outcome": self.outcome.value,
            "ms": round(self.seconds * 1000, 1),
            "bytes": self.meter.bytes_received,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class StepEnd:
    """What a step came to; `detail` is for people."""

    outcome: StepOutcome
    detail: str = ""


class Steps:
    """The steps of one call in the order in which they began; one that never ended says so."""

    def __init__(self, clock: Clock, meter: Meter) -> None:
        self._clock = clock
        self._meter = meter
        self._steps: list[Step] = []

    async def take(
        self, name: str, target: str, work: Callable[[], Awaitable[Result]], end: Callable[[Result], StepEnd]
    ) -> Result:
        """Do `work` as a step of its own; `end` tells from its result what it came to."""
        step = self._begin(name, target)
        started = self._clock()
        token = current_meter.set(step.meter)
        try:
            result = await work()
        finally:
            current_meter.reset(token)
            step.seconds = max(self._clock() - started, 0.0)
        self._finish(step, end(result))
        return result

    def note(self, name: str, target: str, outcome: StepOutcome, detail: str) -> None:
        """A step that needed no traffic, or was left out."""
        step = self._begin(name, target)
        self._finish(step, StepEnd(outcome, detail))

    def told(self) -> list[dict[str, object]]:
        """Every step as the answer has it."""
        return [step.told() for step in self._steps]

    def _begin(self, name: str, target: str) -> Step:
        step = Step(name, masked(target), Meter(self._meter))
        self._steps.append(step)
        return step

    def _finish(self, step: Step, end: StepEnd) -> None:
        step.outcome, step.detail = end.outcome, masked(end.detail[: 4 * _LONGEST])[:_LONGEST]
