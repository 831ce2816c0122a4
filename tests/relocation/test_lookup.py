"""What a record answers, and when the origin is asked again (OV-5, OV-6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxy.relocation.lookup import (
    ASK,
    CLOCK_SKEW,
    Gone,
    Relocated,
    answer_of,
    due_again,
    is_due,
    is_fresh,
    pause,
)
from proxy.relocation.records import Record, State
from tests.relocation.origin import DAY, NEW, NOW, gone, missing, moved, recorded, seen

ANSWERS = {
    "no record": (None, NOW, ASK),
    "OV-5 moved": (moved(), NOW + 1, Relocated(NEW, DAY - 1)),
    "OV-5 moved, no longer fresh": (moved(), NOW + DAY, ASK),
    "moved, by the clock of another time": (moved(), NOW - CLOCK_SKEW - 1, ASK),
    "OV-6 gone": (gone(), NOW + 10, Gone(NOW, NOW, DAY - 10)),
    "OV-6 gone, no longer fresh": (gone(), NOW + 3 * DAY, Gone(NOW, NOW, 0.0)),
    "OV-6 gone, said again": (
        recorded(seen(410), seen(410, at=NOW + 50)),
        NOW + 60,
        Gone(NOW, NOW + 50, DAY - 10),
    ),
    "pending": (recorded(seen(308, NEW)), NOW, ASK),
    "missing": (missing(), NOW + DAY, ASK),
    "unconfirmed": (recorded(seen(404)), NOW, ASK),
}


@pytest.mark.parametrize(("record", "now", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_answers(record: Record | None, now: float, expected: object) -> None:
    assert answer_of(record, now) == expected


FRESH = [(0, True), (DAY - 0.001, True), (DAY, False), (-1, True), (-CLOCK_SKEW, True), (-CLOCK_SKEW - 1, False)]


@pytest.mark.parametrize(("offset", "expected"), FRESH)
def test_fresh_is_what_was_said_lately(offset: float, expected: bool) -> None:
    assert is_fresh(gone(), NOW + offset) is expected


DUE = {
    "OV-5 a fresh move": (moved(), DAY - 1, False),
    "OV-5 a move at the end of its freshness": (moved(), DAY, True),
    "OV-6 a fresh tombstone": (gone(lifetime=10.0), 9, False),
    "OV-6 a tombstone that is not": (gone(lifetime=10.0), 10, True),
    "OV-10 a move that nobody has followed": (recorded(seen(308, NEW)), 0, True),
    "put off": (replace(gone(), due_at=NOW + 60), 59, False),
    "put off until now": (replace(gone(), due_at=NOW + 60), 60, True),
    "from ahead": (gone(), -CLOCK_SKEW - 1, True),
}


@pytest.mark.parametrize(("record", "offset", "expected"), DUE.values(), ids=DUE)
def test_due(record: Record, offset: float, expected: bool) -> None:
    assert is_due(record, NOW + offset) is expected


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 60), (2, 120), (3, 240), (11, 61_440), (12, 86_400), (13, 86_400), (10**9, 86_400)],
)
def test_ov_6_pauses_double_up_to_a_day(failures: int, seconds: float) -> None:
    assert pause(failures) == seconds


def test_what_waits_for_a_proof_is_not_asked_for_all_the_time() -> None:
    assert due_again(State.PENDING, NOW, NOW, NOW) == NOW + 60
    assert due_again(State.PENDING, NOW + DAY, NOW, NOW) == NOW + DAY
    assert due_again(State.GONE, NOW, NOW, NOW) == NOW


@pytest.mark.parametrize(
    ("held", "seconds"), [(0, 0), (600, 60), (36_000, 3_600), (10 * DAY, DAY), (1000 * DAY, DAY)]
)
def test_ov_6_what_has_been_said_for_long_is_asked_for_less_often(held: float, seconds: float) -> None:
    assert due_again(State.GONE, NOW, NOW, NOW - held) == NOW + seconds
    assert due_again(State.GONE, NOW + DAY, NOW, NOW - held) == NOW + DAY
