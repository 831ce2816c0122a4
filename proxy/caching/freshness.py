"""Freshness lifetime and age of a response (RFC 9111 §4.2).

Everything is derived once, when the response is stored: `born` is the moment at which its age was zero, so that
the current age is `now - born` and serving needs one subtraction (§4.2.3 rearranged).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from proxy.caching.directives import ResponseDirectives, parse_delta_seconds
from proxy.http.dates import parse_http_date
from proxy.http.fields import Fields, split_list

# RFC 9110 §15.1: statuses whose responses may be given a heuristic lifetime.
HEURISTIC_STATUSES = frozenset({200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501})
# §4.2.2 suggests a tenth of the time since modification; a day bounds the guess.
HEURISTIC_FRACTION = 0.1
HEURISTIC_MAX = 86_400.0
# However lately a document of a known class was modified, its publisher is not asked more often than this.
SILENT_MIN = 60.0


class LifetimeSource(StrEnum):
    """Where a freshness lifetime came from."""

    S_MAXAGE = "s-maxage"
    MAX_AGE = "max-age"
    EXPIRES = "expires"
    HEURISTIC = "heuristic"
    CLASS_DEFAULT = "class-default"
    NEGATIVE_CAP = "negative-cap"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Seconds that a response is fresh, counted from its birth, and why."""

    seconds: float
    source: LifetimeSource

    @property
    def is_explicit(self) -> bool:
        """Whether the origin itself gave it (§4.2.1)."""
        return self.source in (LifetimeSource.S_MAXAGE, LifetimeSource.MAX_AGE, LifetimeSource.EXPIRES)

    def capped(self, seconds: float) -> Lifetime:
        """At most `seconds`."""
        return self if self.seconds <= seconds else Lifetime(seconds, LifetimeSource.NEGATIVE_CAP)


@dataclass(frozen=True, slots=True)
class Exchange:
    """When a request was sent and its response received, Unix seconds (§4.2.3)."""

    request_time: float
    response_time: float

    @property
    def delay(self) -> float:
        """Seconds the exchange took; never negative, whatever the clock did."""
        return max(0.0, self.response_time - self.request_time)


def date_value(fields: Fields, response_time: float) -> float:
    """The Date field, or the time of receipt when it is absent or malformed (§4.2.3; RFC 9110 §6.6.1)."""
    parsed = _single_date(fields, "date", response_time)
    return response_time if parsed is None else parsed


def _single_date(fields: Fields, name: str, response_time: float) -> float | None:
    """The one date of a field; lines that disagree are no date."""
    values = set(fields.get_all(name))
    return parse_http_date(values.pop(), response_time) if len(values) == 1 else None


def age_value(fields: Fields) -> float:
    """The Age field in seconds: its first member, 0 when absent or malformed (§5.1).

    A number that drags a parameter along counts as the number: to read a response as older is the safe error.
    """
    members = split_list(fields.get("age") or "")
    number = members[0].partition(";")[0] if members else ""
    return parse_delta_seconds(number) or 0.0


def corrected_initial_age(fields: Fields, exchange: Exchange) -> float:
    """§4.2.3: the older of the apparent age and the Age received plus what the exchange took."""
    return max(apparent_age(fields, exchange.response_time), age_value(fields) + exchange.delay)


def apparent_age(fields: Fields, response_time: float) -> float:
    """§4.2.3: how long before its receipt the response is dated.

    Dates count whole seconds, so the time of receipt does too: else every response would be born half a second old.
    """
    return max(0.0, math.floor(response_time) - date_value(fields, response_time))


def born(fields: Fields, exchange: Exchange) -> float:
    """The Unix time at which the response's age was zero."""
    return exchange.response_time - corrected_initial_age(fields, exchange)


def freshness_lifetime(
    status: int, fields: Fields, directives: ResponseDirectives, response_time: float, silent_seconds: float
) -> Lifetime:
    """§4.2.1 and §4.2.2, in that order; `silent_seconds` is the document class's default for a silent origin."""
    explicit = _explicit(fields, directives, response_time)
    if explicit is not None:
        return explicit
    heuristic = _heuristic(status, fields, directives, response_time)
    if silent_seconds > 0 and status in HEURISTIC_STATUSES:
        # What the class grants, but no more than the document's own pace of change suggests.
        pace = silent_seconds if heuristic is None else max(heuristic, SILENT_MIN)
        if pace < silent_seconds:
            return Lifetime(pace, LifetimeSource.HEURISTIC)
        return Lifetime(silent_seconds, LifetimeSource.CLASS_DEFAULT)
    if heuristic:
        return Lifetime(heuristic, LifetimeSource.HEURISTIC)
    return Lifetime(0.0, LifetimeSource.NONE)


def _explicit(fields: Fields, directives: ResponseDirectives, response_time: float) -> Lifetime | None:
    if directives.s_maxage is not None:
        return Lifetime(directives.s_maxage, LifetimeSource.S_MAXAGE)
    if directives.max_age is not None:
        return Lifetime(directives.max_age, LifetimeSource.MAX_AGE)
    if directives.targeted or "expires" not in fields:
        return None
    # §5.3: an invalid date, "0" above all, means already expired; so do several that disagree.
    moment = _single_date(fields, "expires", response_time)
    seconds = 0.0 if moment is None else max(0.0, moment - date_value(fields, response_time))
    return Lifetime(seconds, LifetimeSource.EXPIRES)


def _heuristic(status: int, fields: Fields, directives: ResponseDirectives, response_time: float) -> float | None:
    """Seconds guessed from Last-Modified; None where there is nothing to guess from or no right to."""
    if status not in HEURISTIC_STATUSES and not directives.public:
        return None
    modified = _single_date(fields, "last-modified", response_time)
    if modified is None:
        return None
    return min(max(0.0, date_value(fields, response_time) - modified) * HEURISTIC_FRACTION, HEURISTIC_MAX)
