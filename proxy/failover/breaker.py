"""A circuit breaker as a value: each event makes the next one, and the clock is an argument."""

from __future__ import annotations

from dataclasses import dataclass, replace

THRESHOLD = 3
FIRST_PAUSE = 5.0
# Whoever came back, a store or a mirror, is used again within this time.
LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class NotYet:
    """Do not ask for another `seconds`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Breaker:
    """Closed until `THRESHOLD` failures in a row, then one probe after each pause; pauses double. Seconds."""

    failures: int = 0
    retry_at: float = 0.0
    is_probing: bool = False

    @property
    def is_open(self) -> bool:
        """Whether only probes are let through."""
        return self.failures >= THRESHOLD

    @property
    def pause(self) -> float:
        """How long the next probe has to wait after a failure."""
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.failures - THRESHOLD, 10))

    def allow(self, now: float) -> Breaker | NotYet:
        """The breaker to hold from here on if the call may be made. A probe that never reports expires too."""
        if not self.is_open:
            return self
        seconds = self.retry_at - now
        # More than a pause ahead means that the clock was set back: ask rather than stay away for hours.
        if 0 < seconds <= self.pause:
            return NotYet(seconds)
        return replace(self, retry_at=now + self.pause, is_probing=True)

    def failed(self, now: float) -> Breaker:
        """After a failed call. Calls that were under way when it opened do not lengthen the pause."""
        if self.is_open and not self.is_probing:
            return self
        counted = Breaker(self.failures + 1)
        return replace(counted, retry_at=now + counted.pause) if counted.is_open else counted

    def tripped(self, now: float) -> Breaker:
        """After a failure that leaves no doubt: open at once."""
        return self if self.is_open else Breaker(THRESHOLD - 1).failed(now)

    def succeeded(self) -> Breaker:
        """After a call that worked."""
        return Breaker()


CLOSED = Breaker()
