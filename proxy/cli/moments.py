"""Moments and lengths of time as flags give them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from proxy.cli.arguments import Unusable
from proxy.config.quantities import parse_duration

# Beyond it no date can be written down.
_LATEST: Final = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_A_TIME: Final = "a time such as 2026-11-30T12:00:00Z"


def parse_moment(flag: str, text: str | None) -> float:
    """The Unix time that a flag gives, in UTC where it names no zone; now where it is None. Raises Unusable."""
    if text is None:
        return datetime.now(UTC).timestamp()
    try:
        return _parsed(text)
    except (ValueError, OverflowError):
        raise Unusable(f"{flag}: give {_A_TIME}") from None


def parse_end(flag: str, text: str, start: float) -> float:
    """The Unix time that a flag gives as such, or as a length of time after `start`. Raises Unusable."""
    try:
        end = _end(text, start)
    except (ValueError, OverflowError):
        raise Unusable(f"{flag}: give a length of time such as 90d, or {_A_TIME}") from None
    if not start < end <= _LATEST:
        raise Unusable(f"{flag}: it has to be after the proof is made, and before the year 10000")
    return end


def _end(text: str, start: float) -> float:
    try:
        return start + parse_duration(text)
    except ValueError:
        return _parsed(text)


def _parsed(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
