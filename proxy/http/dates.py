"""HTTP-date (RFC 9110 §5.6.7): the three forms read, IMF-fixdate written.

Strict in shape, lenient in two things that leave no doubt about the time: letter case, and a weekday that is
not the date's. A leap second is read as the second before it.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_NUMBERS: Final = {month.lower(): number for number, month in enumerate(_MONTHS, start=1)}

_LONG_WEEKDAY: Final = "|".join(_WEEKDAYS)
_WEEKDAY: Final = "|".join(weekday[:3] for weekday in _WEEKDAYS)
_MONTH: Final = rf"(?P<month>{'|'.join(_MONTHS)})"
_DAY: Final = r"(?P<day>[0-9]{2})"
_YEAR: Final = r"(?P<year>[0-9]{4})"
_TIME: Final = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_FORMS: Final = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        rf"(?:{_WEEKDAY}), {_DAY} {_MONTH} {_YEAR} {_TIME} GMT",
        rf"(?:{_LONG_WEEKDAY}), {_DAY}-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT",
        rf"(?:{_WEEKDAY}) {_MONTH} (?P<day>[ 0-9][0-9]) {_TIME} {_YEAR}",
    )
)


def parse_http_date(text: str, now: float) -> float | None:
    """The Unix time of an HTTP-date, None when it is none; `now` (Unix seconds) places a two-digit year."""
    for form in _FORMS:
        match = form.fullmatch(text)
        if match is not None:
            return _unix_time(match, now)
    return None


def format_http_date(now: float) -> str:
    """IMF-fixdate of a Unix time in whole seconds; raises ValueError outside the years 1 to 9999."""
    return _imf_fixdate(int(now // 1))


def _unix_time(match: re.Match[str], now: float) -> float | None:
    day, hour, minute, second = (int(match[name]) for name in ("day", "hour", "minute", "second"))
    date = (_MONTH_NUMBERS[match["month"].lower()], day, hour, minute, 59 if second == 60 else second)
    year = int(match["year"])
    if len(match["year"]) == 2:
        year = _full_year(year, date, now)
    try:
        return datetime(year, *date, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _full_year(two_digits: int, date: tuple[int, int, int, int, int], now: float) -> int:
    """The last year with these digits in which the date is at most 50 years ahead."""
    today = datetime.fromtimestamp(now, UTC)
    horizon = today.year + 50
    year = horizon - (horizon - two_digits) % 100
    limit = (horizon, today.month, today.day, today.hour, today.minute, today.second)
    return year if (year, *date) <= limit else year - 100


@lru_cache(maxsize=64)
def _imf_fixdate(second: int) -> str:
    date = datetime.fromtimestamp(second, UTC)
    weekday, month = _WEEKDAYS[date.weekday()][:3], _MONTHS[date.month - 1]
    return f"{weekday}, {date.day:02} {month} {date.year:04} {date:%H:%M:%S} GMT"
