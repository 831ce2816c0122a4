"""Freshness lifetime and age (RFC 9111 §4.2, §5.1, §5.3; bug cases B07, B37, B42)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.caching.directives import MAX_SECONDS, parse_response_directives
from proxy.caching.freshness import (
    HEURISTIC_MAX,
    HEURISTIC_STATUSES,
    SILENT_MIN,
    Exchange,
    Lifetime,
    LifetimeSource,
    age_value,
    born,
    corrected_initial_age,
    date_value,
    freshness_lifetime,
)
from proxy.http.fields import Fields
from tests.caching.samples import AT_ONCE, NOW, date, fields

DAY = 86_400.0


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        pytest.param((), 0.0, id="absent"),
        pytest.param(("Age: 7",), 7.0, id="9111-5.1"),
        pytest.param(("Age: 1, 2",), 1.0, id="9111-5.1-first-member"),
        pytest.param(("Age: 0, 7200",), 0.0, id="9111-5.1-first-member-zero"),
        pytest.param(("Age: 7200", "Age: 0"), 7200.0, id="9111-5.1-first-line"),
        pytest.param(("Age: ", "Age: 5"), 5.0, id="9110-5.6.1-empty-members-are-none"),
        pytest.param(("Age: abc",), 0.0, id="9111-5.1-invalid-is-ignored"),
        pytest.param(("Age: abc, 5",), 0.0, id="9111-5.1-invalid-first-member"),
        pytest.param(("Age: -5",), 0.0, id="9111-5.1-negative-is-ignored"),
        pytest.param(("Age: 7200.0",), 0.0, id="9111-5.1-fraction-is-ignored"),
        pytest.param(("Age: 7200;foo=bar",), 7200.0, id="older-is-the-safe-error"),
        pytest.param(("Age: ;foo=bar",), 0.0, id="9111-5.1-parameter-without-a-number"),
        pytest.param(('Age: "5"',), 0.0, id="9111-5.1-quoted-is-ignored"),
        pytest.param(("Age: 99999999999",), MAX_SECONDS, id="9111-1.2.2-overflow"),
    ],
)
def test_age_value(lines: tuple[str, ...], seconds: float) -> None:
    assert age_value(fields(*lines)) == seconds


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param((), NOW, id="9110-6.6.1-absent"),
        pytest.param((f"Date: {date(-10)}",), NOW - 10, id="9111-4.2.3"),
        pytest.param((f"Date: {date(3600)}",), NOW + 3600, id="future"),
        pytest.param(("Date: Sat, 01 Oct 2022 7:19:16 GMT",), NOW, id="9110-6.6.1-invalid"),
        pytest.param((f"Date: {date(-10)}", f"Date: {date(-10)}"), NOW - 10, id="same-twice"),
        pytest.param((f"Date: {date(-10)}", f"Date: {date(-20)}"), NOW, id="lines-that-disagree"),
        pytest.param((f"Date: {date(-10)}, {date(-10)}",), NOW, id="list"),
    ],
)
def test_date_value(lines: tuple[str, ...], expected: float) -> None:
    assert date_value(fields(*lines), NOW) == expected


@pytest.mark.parametrize(
    ("lines", "exchange", "age"),
    [
        pytest.param((), AT_ONCE, 0.0, id="nothing-known"),
        pytest.param((f"Date: {date(-10)}",), AT_ONCE, 10.0, id="9111-4.2.3-apparent-age"),
        pytest.param((f"Date: {date(3600)}",), AT_ONCE, 0.0, id="9111-4.2.3-future-date"),
        pytest.param(("Age: 30",), AT_ONCE, 30.0, id="9111-4.2.3-age-value"),
        pytest.param((), Exchange(NOW - 2, NOW), 2.0, id="9111-4.2.3-response-delay"),
        pytest.param(("Age: 30",), Exchange(NOW - 2, NOW), 32.0, id="9111-4.2.3-corrected-age-value"),
        pytest.param((f"Date: {date(-60)}", "Age: 30"), AT_ONCE, 60.0, id="9111-4.2.3-older-date"),
        pytest.param((f"Date: {date(-10)}", "Age: 30"), AT_ONCE, 30.0, id="9111-4.2.3-older-age"),
        pytest.param(("Age: -30",), AT_ONCE, 0.0, id="negative-age"),
        pytest.param((), Exchange(NOW + 60, NOW), 0.0, id="clock-set-back"),
    ],
)
def test_corrected_initial_age(lines: tuple[str, ...], exchange: Exchange, age: float) -> None:
    assert corrected_initial_age(fields(*lines), exchange) == age
    assert born(fields(*lines), exchange) == NOW - age


CACHE_CONTROL = "Cache-Control: max-age=60"
MODIFIED = f"Last-Modified: {date(-1000)}"
NONE = Lifetime(0.0, LifetimeSource.NONE)
TENTH = Lifetime(100.0, LifetimeSource.HEURISTIC)


def expires(seconds: float) -> Lifetime:
    return Lifetime(seconds, LifetimeSource.EXPIRES)


LIFETIMES: dict[str, tuple[int, tuple[str, ...], float, Lifetime]] = {
    "9111-4.2.1-s-maxage-first": (
        200,
        ("Cache-Control: max-age=60, s-maxage=10", f"Expires: {date(600)}"),
        0,
        Lifetime(10, LifetimeSource.S_MAXAGE),
    ),
    "9111-4.2.1-max-age-before-expires": (
        200,
        (CACHE_CONTROL, f"Expires: {date(600)}"),
        0,
        Lifetime(60, LifetimeSource.MAX_AGE),
    ),
    "9111-5.3-max-age-before-invalid-expires": (
        200,
        (CACHE_CONTROL, "Expires: 0"),
        0,
        Lifetime(60, LifetimeSource.MAX_AGE),
    ),
    "9111-4.2.1-expires-less-date": (200, (f"Expires: {date(600)}", f"Date: {date(-60)}"), 0, expires(660)),
    "9111-4.2.1-expires-without-date": (200, (f"Expires: {date(600)}",), 0, expires(600)),
    "9111-4.2.1-expires-with-future-date": (200, (f"Expires: {date(600)}", f"Date: {date(3600)}"), 0, expires(0)),
    "9111-5.3-past": (200, (f"Expires: {date(-600)}",), 0, expires(0)),
    "9111-5.3-zero-is-past": (200, ("Expires: 0",), 0, expires(0)),
    "9111-5.3-invalid-is-past": (200, ("Expires: Thu, 18 Aug 2050 02:01:18 AEST",), 0, expires(0)),
    "9111-4.2.1-lines-that-agree": (200, (f"Expires: {date(600)}", f"Expires: {date(600)}"), 0, expires(600)),
    "9111-4.2.1-lines-that-disagree": (200, (f"Expires: {date(600)}", f"Expires: {date(900)}"), 0, expires(0)),
    "9111-4.2.1-several-dates": (
        200,
        (f"Expires: {date(600)}", f"Date: {date(-10)}", f"Date: {date(-20)}"),
        0,
        expires(600),
    ),
    "9111-4.2.2-not-beside-explicit": (200, ("Expires: 0", MODIFIED), 300, expires(0)),
    "9213-2.2-expires-does-not-count": (200, ("CDN-Cache-Control: foo", f"Expires: {date(600)}"), 0, NONE),
    "9213-2.2-over-expires": (
        200,
        ("CDN-Cache-Control: max-age=60", "Expires: 0"),
        0,
        Lifetime(60, LifetimeSource.MAX_AGE),
    ),
    "silent": (200, (), 0, NONE),
    "9111-4.2.2-tenth": (200, (MODIFIED,), 0, TENTH),
    "9111-4.2.2-tenth-of-date-less-modified": (
        200,
        (MODIFIED, f"Date: {date(-500)}"),
        0,
        Lifetime(50, LifetimeSource.HEURISTIC),
    ),
    "9111-4.2.2-at-most-a-day": (
        200,
        (f"Last-Modified: {date(-100 * DAY)}",),
        0,
        Lifetime(HEURISTIC_MAX, LifetimeSource.HEURISTIC),
    ),
    "modified-in-the-future": (200, (f"Last-Modified: {date(1000)}",), 0, NONE),
    "modified-unparsable": (200, ("Last-Modified: yesterday",), 0, NONE),
    "modified-twice": (200, (MODIFIED, f"Last-Modified: {date(-2000)}"), 0, NONE),
    "9111-4.2.2-public": (599, (MODIFIED, "Cache-Control: public"), 0, TENTH),
    "9111-4.2.2-not-public": (599, (MODIFIED,), 0, NONE),
    "class-default": (200, (), 300, Lifetime(300, LifetimeSource.CLASS_DEFAULT)),
    "class-default-no-faster-than-it-changes": (200, (MODIFIED,), 300, Lifetime(100, LifetimeSource.HEURISTIC)),
    "class-default-of-the-longest-unchanged": (
        200,
        (f"Last-Modified: {date(-DAY)}",),
        300,
        Lifetime(300, LifetimeSource.CLASS_DEFAULT),
    ),
    "class-default-just-modified": (
        200,
        (f"Last-Modified: {date()}",),
        300,
        Lifetime(SILENT_MIN, LifetimeSource.HEURISTIC),
    ),
    "class-default-less-than-the-least": (
        200,
        (f"Last-Modified: {date()}",),
        1,
        Lifetime(1, LifetimeSource.CLASS_DEFAULT),
    ),
    "class-default-not-for-other-statuses": (403, (), 300, NONE),
    "5xx-explicit": (503, (CACHE_CONTROL,), 0, Lifetime(60, LifetimeSource.MAX_AGE)),
}


@pytest.mark.parametrize(("status", "lines", "silent", "expected"), LIFETIMES.values(), ids=LIFETIMES)
def test_freshness_lifetime(status: int, lines: tuple[str, ...], silent: float, expected: Lifetime) -> None:
    given_fields = fields(*lines)
    directives = parse_response_directives(given_fields)
    assert freshness_lifetime(status, given_fields, directives, NOW, silent) == expected


@pytest.mark.parametrize("status", [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
def test_heuristic_statuses_9110_15_1(status: int) -> None:
    assert status in HEURISTIC_STATUSES
    assert freshness_lifetime(status, fields(MODIFIED), parse_response_directives(Fields()), NOW, 0) == TENTH


@pytest.mark.parametrize("status", [201, 202, 206, 302, 303, 307, 400, 401, 403, 429, 500, 502, 503, 504, 599])
def test_other_statuses_have_no_heuristic_9110_15_1(status: int) -> None:
    assert freshness_lifetime(status, fields(MODIFIED), parse_response_directives(Fields()), NOW, 300) == NONE


@pytest.mark.parametrize(
    ("source", "is_explicit"),
    [
        (LifetimeSource.S_MAXAGE, True),
        (LifetimeSource.MAX_AGE, True),
        (LifetimeSource.EXPIRES, True),
        (LifetimeSource.HEURISTIC, False),
        (LifetimeSource.CLASS_DEFAULT, False),
        (LifetimeSource.NEGATIVE_CAP, False),
        (LifetimeSource.NONE, False),
    ],
)
def test_explicit_is_what_the_origin_gave(source: LifetimeSource, is_explicit: bool) -> None:
    assert Lifetime(1.0, source).is_explicit is is_explicit


@pytest.mark.parametrize(
    ("cap", "expected"),
    [
        (30.0, Lifetime(30.0, LifetimeSource.NEGATIVE_CAP)),
        (60.0, Lifetime(60.0, LifetimeSource.MAX_AGE)),
        (90.0, Lifetime(60.0, LifetimeSource.MAX_AGE)),
    ],
)
def test_a_cap_never_lengthens(cap: float, expected: Lifetime) -> None:
    assert Lifetime(60.0, LifetimeSource.MAX_AGE).capped(cap) == expected


DATES = st.one_of(st.integers(-(10**9), 10**9).map(date), st.text(max_size=8))
AGES = st.one_of(st.integers(-(10**12), 10**12).map(str), st.text(max_size=8))


@settings(derandomize=True, deadline=None)
@given(st.lists(DATES, max_size=2), st.lists(AGES, max_size=2), st.floats(-1e6, 1e6))
def test_age_is_never_negative_and_lifetime_never_either(dates: list[str], ages: list[str], delay: float) -> None:
    received = Fields([*(("Date", value) for value in dates), *(("Age", value) for value in ages)])
    exchange = Exchange(NOW - delay, NOW)
    assert corrected_initial_age(received, exchange) >= 0
    assert born(received, exchange) <= NOW
    late = received.plus(("Expires", dates[0])) if dates else received
    assert freshness_lifetime(200, late, parse_response_directives(late), NOW, 0).seconds >= 0
