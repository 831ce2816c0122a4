from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.http.dates import format_http_date, parse_http_date

NOW = datetime(2026, 10, 5, 12, 0, 0, tzinfo=UTC).timestamp()


def unix(*date: int) -> float:
    return datetime(*date, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]


DATES = {
    "imf-fixdate": ("Sun, 06 Nov 1994 08:49:37 GMT", 784111777.0),
    "rfc-850": ("Sunday, 06-Nov-94 08:49:37 GMT", 784111777.0),
    "asctime": ("Sun Nov  6 08:49:37 1994", 784111777.0),
    "asctime-two-digits": ("Wed Nov 16 08:49:37 1994", unix(1994, 11, 16, 8, 49, 37)),
    "asctime-leading-zero": ("Sun Nov 06 08:49:37 1994", 784111777.0),
    "epoch": ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    "before-epoch": ("Wed, 31 Dec 1969 23:59:59 GMT", -1.0),
    "first-year": ("Mon, 01 Jan 0001 00:00:00 GMT", unix(1, 1, 1)),
    "32-bit": ("Tue, 19 Jan 2038 14:14:08 GMT", unix(2038, 1, 19, 14, 14, 8)),
    "far-future": ("Sat, 20 Nov 2286 17:46:39 GMT", 9999999999.0),
    "leap-day": ("Thu, 29 Feb 2024 00:00:00 GMT", unix(2024, 2, 29)),
    "leap-second": ("Sat, 31 Dec 2016 23:59:60 GMT", unix(2016, 12, 31, 23, 59, 59)),
    "weekday-in-capitals": ("THU, 18 Aug 2050 02:01:18 GMT", unix(2050, 8, 18, 2, 1, 18)),
    "month-in-capitals": ("Thu, 18 AUG 2050 02:01:18 GMT", unix(2050, 8, 18, 2, 1, 18)),
    "zone-in-mixed-case": ("Thu, 18 Aug 2050 02:01:18 gMT", unix(2050, 8, 18, 2, 1, 18)),
    "rfc-850-future": ("Thursday, 18-Aug-50 02:01:18 GMT", unix(2050, 8, 18, 2, 1, 18)),
    "weekday-of-another-date": ("Thu Aug  8 02:01:18 2050", unix(2050, 8, 8, 2, 1, 18)),
}

NO_DATES = {
    "empty": "",
    "zero": "0",
    "minus-one": "-1",
    "seconds": "784111777",
    "iso-8601": "1994-11-06T08:49:37Z",
    "utc": "Thu, 18 Aug 2050 02:01:18 UTC",
    "other-zone": "Thu, 18 Aug 2050 02:01:18 AEST",
    "offset": "Thu, 18 Aug 2050 02:01:18 +0000",
    "no-zone": "Thu, 18 Aug 2050 02:01:18",
    "two-digit-year": "Thu, 18 Aug 50 02:01:18 GMT",
    "five-digit-year": "Thu, 18 Aug 12050 02:01:18 GMT",
    "no-comma": "Thu 18 Aug 2050 02:01:18 GMT",
    "no-weekday": "18 Aug 2050 02:01:18 GMT",
    "unknown-weekday": "Foo, 18 Aug 2050 02:01:18 GMT",
    "long-weekday": "Thursday, 18 Aug 2050 02:01:18 GMT",
    "short-weekday-rfc-850": "Thu, 18-Aug-50 02:01:18 GMT",
    "four-digit-year-rfc-850": "Thursday, 18-Aug-2050 02:01:18 GMT",
    "several-spaces": "Thu, 18  Aug  2050 02:01:18 GMT",
    "dashes": "Thu, 18-Aug-2050 02:01:18 GMT",
    "periods-in-time": "Thu, 18 Aug 2050 02.01.18 GMT",
    "one-digit-hour": "Thu, 18 Aug 2050 2:01:18 GMT",
    "one-digit-day": "Mon, 8 Aug 2050 02:01:18 GMT",
    "no-seconds": "Thu, 18 Aug 2050 02:01 GMT",
    "two-lines": "Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:19 GMT",
    "leading-space": " Thu, 18 Aug 2050 02:01:18 GMT",
    "trailing-space": "Thu, 18 Aug 2050 02:01:18 GMT ",
    "trailing-line-end": "Thu, 18 Aug 2050 02:01:18 GMT\n",
    "asctime-one-space": "Mon Aug 8 02:01:18 2050",
    "asctime-zone": "Mon Aug  8 02:01:18 2050 GMT",
    "unknown-month": "Thu, 18 Foo 2050 02:01:18 GMT",
    "long-s": "\u017fun, 06 Nov 1994 08:49:37 GMT",
    "full-width-digit": "Sun, 06 Nov 199\uff14 08:49:37 GMT",
    "day-zero": "Sun, 00 Nov 1994 08:49:37 GMT",
    "day-32": "Sun, 32 Jan 1994 08:49:37 GMT",
    "no-leap-year": "Wed, 29 Feb 2023 00:00:00 GMT",
    "hour-24": "Thu, 18 Aug 2050 24:00:00 GMT",
    "minute-60": "Thu, 18 Aug 2050 02:60:18 GMT",
    "second-61": "Thu, 18 Aug 2050 02:01:61 GMT",
    "year-zero": "Sun, 06 Nov 0000 08:49:37 GMT",
    "asctime-blank-day": "Sun Nov  0 08:49:37 1994",
}


@pytest.mark.parametrize(("text", "seconds"), DATES.values(), ids=DATES)
def test_http_date(text: str, seconds: float) -> None:
    assert parse_http_date(text, NOW) == seconds


@pytest.mark.parametrize("text", NO_DATES.values(), ids=NO_DATES)
def test_no_http_date(text: str) -> None:
    assert parse_http_date(text, NOW) is None


@pytest.mark.parametrize(
    ("now", "text", "date"),
    [
        pytest.param((2026, 10, 5, 12), "Monday, 05-Oct-26 12:00:00 GMT", (2026, 10, 5, 12), id="this-year"),
        pytest.param((2026, 10, 5, 12), "Monday, 01-Jan-27 00:00:00 GMT", (2027, 1, 1), id="next-year"),
        pytest.param((2026, 10, 5, 12), "Monday, 31-Dec-75 00:00:00 GMT", (2075, 12, 31), id="49-years-ahead"),
        pytest.param((2026, 10, 5, 12), "Monday, 05-Oct-76 12:00:00 GMT", (2076, 10, 5, 12), id="50-years-ahead"),
        pytest.param(
            (2026, 10, 5, 12), "Monday, 05-Oct-76 12:00:01 GMT", (1976, 10, 5, 12, 0, 1), id="a-second-more"
        ),
        pytest.param((2026, 10, 5, 12), "Monday, 01-Jan-77 00:00:00 GMT", (1977, 1, 1), id="51-years-ahead"),
        pytest.param((2026, 10, 5, 12), "Monday, 01-Jan-00 00:00:00 GMT", (2000, 1, 1), id="year-00"),
        pytest.param((1999, 6, 1), "Monday, 01-Jan-05 00:00:00 GMT", (2005, 1, 1), id="across-the-century"),
        pytest.param((1999, 6, 1), "Monday, 01-Jan-49 00:00:00 GMT", (2049, 1, 1), id="50-years-across"),
        pytest.param((1999, 6, 1), "Monday, 01-Jan-50 00:00:00 GMT", (1950, 1, 1), id="51-years-across"),
        pytest.param((2060, 1, 1), "Monday, 01-Jan-10 00:00:00 GMT", (2110, 1, 1), id="50-years-to-the-day"),
        pytest.param((2060, 1, 1), "Monday, 02-Jan-10 00:00:00 GMT", (2010, 1, 2), id="a-day-more"),
        pytest.param(
            (2028, 2, 29), "Monday, 28-Feb-78 23:59:59 GMT", (2078, 2, 28, 23, 59, 59), id="from-leap-day"
        ),
    ],
)
def test_two_digit_year(now: tuple[int, ...], text: str, date: tuple[int, ...]) -> None:
    assert parse_http_date(text, unix(*now)) == unix(*date)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(784111777.0, "Sun, 06 Nov 1994 08:49:37 GMT", id="imf-fixdate"),
        pytest.param(784111777.999, "Sun, 06 Nov 1994 08:49:37 GMT", id="fraction-dropped"),
        pytest.param(-0.5, "Wed, 31 Dec 1969 23:59:59 GMT", id="fraction-before-epoch"),
        pytest.param(unix(1, 1, 1), "Mon, 01 Jan 0001 00:00:00 GMT", id="year-of-four-digits"),
    ],
)
def test_format_http_date(seconds: float, text: str) -> None:
    assert format_http_date(seconds) == text


def test_a_date_of_no_four_digit_year_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="year"):
        format_http_date(253402300800.0)


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59)))
@settings(max_examples=100)
def test_what_is_written_is_read_back(date: datetime) -> None:
    seconds = date.replace(microsecond=0, tzinfo=UTC).timestamp()
    text = format_http_date(seconds)
    assert parse_http_date(text, NOW) == seconds
    assert text == format_datetime(date.replace(tzinfo=UTC), usegmt=True)
