"""Moments with a time zone (XML Schema dateTimeStamp)."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.http.timestamps import timestamp
from proxy.trust.signatures.datetimes import parse_date_time_stamp


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2026-06-01T12:00:00Z", 1_780_315_200.0),
        ("2026-06-01T12:00:00+00:00", 1_780_315_200.0),
        ("2026-06-01T14:00:00+02:00", 1_780_315_200.0),
        ("2026-06-01T06:30:00-05:30", 1_780_315_200.0),
        ("2026-06-01T12:00:00.5Z", 1_780_315_200.5),
        ("2026-06-01T12:00:00.000000000+00:00", 1_780_315_200.0),
        ("1969-12-31T23:59:59.75Z", -0.25),
        ("2024-02-29T00:00:00Z", 1_709_164_800.0),
        ("0001-01-01T00:00:00Z", -62_135_596_800.0),
        ("9999-12-31T23:59:59+14:00", 253_402_250_399.0),
    ],
)
def test_moments(text: str, moment: float) -> None:
    assert parse_date_time_stamp(text) == moment
    assert timestamp(moment)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-06-01T12:00:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "9999-12-31T23:59:59.999999999Z",
        "2026-06-01",
        "2026-06-01T12:00Z",
        "2026-06-01 12:00:00Z",
        "2026-06-01t12:00:00z",
        "2026-06-01T12:00:00+0200",
        "2026-06-01T12:00:00+02",
        "2026-06-01T12:00:00+15:00",
        "2026-06-01T12:00:00 Z",
        "2026-06-01T12:00:00Z\n",
        "2026-06-01T12:00:00.Z",
        "2026-06-01T12:00:00,5Z",
        "2026-06-01T12:00:00.1234567890Z",
        "2026-06-01T24:00:00Z",
        "2026-06-01T12:60:00Z",
        "2026-06-30T23:59:60Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "-2026-06-01T12:00:00Z",
        "12026-06-01T12:00:00Z",
        "\uff12\uff10\uff12\uff16-06-01T12:00:00Z",
        "2026-W23-1T12:00:00Z",
        None,
        1_780_315_200,
        True,
        ["2026-06-01T12:00:00Z"],
    ],
)
def test_what_is_none(text: object) -> None:
    with pytest.raises(ValueError):
        parse_date_time_stamp(text)


@given(st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{0,12})?(Z|[+-][0-9:]{0,6})?"))
def test_nothing_else_is_raised(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse_date_time_stamp(text)
