"""What a record answers at a given time, and when the origin is to be asked again (OV-5, OV-6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proxy.relocation.records import Record, State

FIRST_PAUSE: Final = 60.0
LONGEST_PAUSE: Final = 86_400.0
# A record from further ahead was written by a clock that has been set back since, and does not hold until then.
CLOCK_SKEW: Final = 300.0
_PATIENCE: Final = 0.1
# As many doublings as reach the longest pause.
_DOUBLINGS: Final = 11


@dataclass(frozen=True, slots=True)
class Relocated:
    """Answer 308 to `target`, without asking the origin, for `ttl` seconds more."""

    target: str
    ttl: float


@dataclass(frozen=True, slots=True)
class Gone:
    """Answer 410. The origin said so first at `since` and last at `checked`, Unix seconds.

    `ttl` is 0 once the origin is to be asked again: a tombstone holds until the origin itself takes it away.
    """

    since: float
    checked: float
    ttl: float


@dataclass(frozen=True, slots=True)
class Ask:
    """The record does not answer: ask the origin."""


ASK: Final = Ask()


def answer_of(record: Record | None, now: float) -> Relocated | Gone | Ask:
    """What to answer a request for the recorded URL."""
    if record is None:
        return ASK
    if record.state is State.GONE:
        ttl = record.fresh_until - now if is_fresh(record, now) else 0.0
        return Gone(record.observed_at, record.checked_at, ttl)
    if record.state is State.MOVED and record.target is not None and is_fresh(record, now):
        return Relocated(record.target, record.fresh_until - now)
    return ASK


def is_fresh(record: Record, now: float) -> bool:
    """Whether what the origin said holds without asking again."""
    return now < record.fresh_until and not _is_from_ahead(record, now)


def is_due(record: Record, now: float) -> bool:
    """Whether the origin is to be asked again, or for a `pending` one whether its location is to be looked at."""
    return now >= record.due_at or _is_from_ahead(record, now)


def due_again(state: State, fresh_until: float, at: float, since: float) -> float:
    """When to ask again after an answer at `at` that was the same since `since`: at the end of its freshness.

    What has been said for long is asked for less often, however short its freshness: after a tenth of that time,
    at most a day. What waits for a proof is not served from the record, so nobody waits if it takes a minute.
    """
    least = FIRST_PAUSE if state is State.PENDING else 0.0
    return max(fresh_until, at + min(LONGEST_PAUSE, max(least, (at - since) * _PATIENCE)))


def pause(failures: int) -> float:
    """Seconds until the next re-check after `failures` in a row, at least one: a minute, doubling up to a day."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, _DOUBLINGS))


def _is_from_ahead(record: Record, now: float) -> bool:
    return record.checked_at > now + CLOCK_SKEW
