"""Back-off after a failed fill: a value per key.

It protects the origin only while something stale is being served; a key with nothing to serve is asked every time.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

# Doubling stops here, so that a recovered origin is noticed within a minute.
MAX_SECONDS = 60.0
# Keys held off at once; beyond it the oldest are asked again early.
MAX_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class HoldOff:
    """Consecutive failures of one key and the moment until which it is not asked."""

    failures: int
    until: float


def after_failure(previous: HoldOff | None, now: float, first_seconds: float) -> HoldOff:
    """The next hold-off: `first_seconds`, doubling with each failure in a row."""
    failures = 1 if previous is None else previous.failures + 1
    return HoldOff(failures, now + min(first_seconds * 2.0 ** min(failures - 1, 16), MAX_SECONDS))


class HoldOffs:
    """The hold-off of every key that lately failed."""

    def __init__(self, first_seconds: float) -> None:
        self._first_seconds = first_seconds
        self._of: OrderedDict[str, HoldOff] = OrderedDict()

    def get(self, key: str) -> HoldOff | None:
        """The key's hold-off, elapsed or not; None when its last fill succeeded."""
        return self._of.get(key)

    def holds(self, key: str, now: float) -> bool:
        """Whether the origin is not to be asked for `key` yet."""
        held = self._of.get(key)
        return held is not None and now < held.until

    def failed(self, key: str, now: float) -> None:
        """A fill of `key` failed."""
        self._of[key] = after_failure(self._of.get(key), now, self._first_seconds)
        self._of.move_to_end(key)
        if len(self._of) > MAX_KEYS:
            self._of.popitem(last=False)

    def succeeded(self, key: str) -> None:
        """The origin answered for `key`."""
        self._of.pop(key, None)
