"""A clock that stands still until a test moves it."""

from __future__ import annotations

START = 1_800_000_000.0


class FakeClock:
    """Implements `ports.Clock`: `clock += 61` is a minute later."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def __iadd__(self, seconds: float) -> FakeClock:
        self.now += seconds
        return self
