"""What the origin's answers make of a record, row by row of DISCOVERY_FORMATS.md §9."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.relocation.changes import Event, Reason
from proxy.relocation.codec import parse_record, to_record
from proxy.relocation.lookup import answer_of
from proxy.relocation.records import LONGEST_URL, MOST_OBSERVATIONS, Observation, Record, State
from proxy.relocation.rules import MISSING_AFTER, NO_ANSWER, RelocationRules, Seen, observe
from tests.relocation.origin import DAY, NEW, NOW, OTHER, URL, gone, missing, moved, recorded, seen

PENDING, GONE, MISSING = State.PENDING, State.GONE, State.MISSING
pending = recorded(seen(308, NEW))
unconfirmed = recorded(seen(404))
LATER = NOW + DAY + 5

# The record there is, the answer, the event, the reason, the state from then on.
ROWS: dict[str, tuple[Record | None, Seen, Event, Reason | None, State | None]] = {
    "308": (None, seen(308, NEW), Event.RECORDED, None, PENDING),
    "301": (None, seen(301, NEW), Event.RECORDED, None, PENDING),
    "OV-3 308 to another domain": (None, seen(308, OTHER), Event.RECORDED, None, PENDING),
    "308 again before anybody followed": (pending, seen(308, NEW), Event.CONFIRMED, None, PENDING),
    "OV-5 308 again": (moved(), seen(308, NEW, at=LATER), Event.CONFIRMED, None, State.MOVED),
    "OV-5 301 in place of 308": (moved(), seen(301, NEW, at=LATER), Event.CONFIRMED, None, State.MOVED),
    "308 to elsewhere": (moved(), seen(308, OTHER, at=LATER), Event.CHANGED, None, PENDING),
    "308 for a tombstone": (gone(), seen(308, NEW, at=LATER), Event.CHANGED, None, PENDING),
    "308 for a missing one": (missing(), seen(308, NEW, at=LATER), Event.CHANGED, None, PENDING),
    "308 for one that was not found": (unconfirmed, seen(308, NEW), Event.RECORDED, None, PENDING),
    "302": (None, seen(302, NEW), Event.IGNORED, Reason.NOT_PERMANENT, None),
    "303": (None, seen(303, NEW), Event.IGNORED, Reason.NOT_PERMANENT, None),
    "307": (None, seen(307, NEW), Event.IGNORED, Reason.NOT_PERMANENT, None),
    "300": (None, seen(300, NEW), Event.IGNORED, Reason.NOT_PERMANENT, None),
    "302 for a move": (moved(), seen(302, OTHER), Event.IGNORED, Reason.NOT_PERMANENT, State.MOVED),
    "302 for a move that was due": (
        moved(),
        seen(302, OTHER, at=LATER),
        Event.FAILED,
        Reason.NOT_PERMANENT,
        State.MOVED,
    ),
    "307 for a missing one": (missing(), seen(307, NEW), Event.REVIVED, Reason.NOT_PERMANENT, None),
    "307 for one that was not found": (unconfirmed, seen(307, NEW), Event.CLEARED, Reason.NOT_PERMANENT, None),
    "OV-6 410": (None, seen(410), Event.RECORDED, None, GONE),
    "OV-6 410 again": (gone(), seen(410, at=LATER), Event.CONFIRMED, None, GONE),
    "OV-6 410 for a move": (moved(), seen(410), Event.CHANGED, None, GONE),
    "410 for one that was not found": (unconfirmed, seen(410), Event.RECORDED, None, GONE),
    "404": (None, seen(404), Event.MISSED, Reason.NOT_FOUND, State.UNCONFIRMED),
    "404 for a tombstone": (gone(), seen(404), Event.IGNORED, Reason.NOT_FOUND, GONE),
    "404 for a tombstone that was due": (gone(), seen(404, at=LATER), Event.FAILED, Reason.NOT_FOUND, GONE),
    "404 for a move": (moved(), seen(404), Event.MISSED, Reason.NOT_FOUND, State.MOVED),
    "404 for a missing one": (missing(), seen(404, at=LATER), Event.CONFIRMED, None, MISSING),
    "200": (None, seen(200), Event.IGNORED, Reason.NOTHING_RECORDED, None),
    "OV-5 200 for a move": (moved(), seen(200), Event.REVIVED, None, None),
    "OV-5 304 for a move": (moved(), seen(304), Event.REVIVED, None, None),
    "200 for a pending one": (pending, seen(200), Event.REVIVED, None, None),
    "OV-6 200 for a tombstone": (gone(), seen(200), Event.REVIVED, None, None),
    "200 for a missing one": (missing(), seen(200), Event.REVIVED, None, None),
    "200 for one that was not found": (unconfirmed, seen(200), Event.CLEARED, None, None),
    "200 of the wrong kind": (
        None,
        seen(200, is_document=False),
        Event.IGNORED,
        Reason.NOT_A_DOCUMENT,
        None,
    ),
    "200 of the wrong kind for a tombstone": (
        gone(),
        seen(200, is_document=False, at=LATER),
        Event.FAILED,
        Reason.NOT_A_DOCUMENT,
        GONE,
    ),
    **{
        f"{status} for a tombstone": (gone(), seen(status), Event.IGNORED, reason, GONE)
        for status, reason in {
            NO_ANSWER: Reason.UNAVAILABLE,
            500: Reason.UNAVAILABLE,
            503: Reason.UNAVAILABLE,
            401: Reason.NOT_AVAILABLE_TO_US,
            403: Reason.NOT_AVAILABLE_TO_US,
            405: Reason.NOT_AVAILABLE_TO_US,
            429: Reason.NOT_AVAILABLE_TO_US,
            206: Reason.NOT_AVAILABLE_TO_US,
        }.items()
    },
    "503 for a move that was due": (moved(), seen(503, at=LATER), Event.FAILED, Reason.UNAVAILABLE, State.MOVED),
    "no answer for one that was due": (
        gone(),
        seen(NO_ANSWER, at=LATER),
        Event.FAILED,
        Reason.UNAVAILABLE,
        GONE,
    ),
    "OV-4 308 to http": (None, seen(308, "http://example.com/x"), Event.IGNORED, Reason.HTTPS_REQUIRED, None),
    "OV-4 308 to itself": (None, seen(308, URL), Event.IGNORED, Reason.LOOP, None),
    "308 to userinfo": (None, seen(308, "https://u:p@example.com/"), Event.IGNORED, Reason.USERINFO, None),
    "308 to a private address": (None, seen(308, "https://10.0.0.5/x"), Event.IGNORED, Reason.SSRF, None),
    "308 to javascript": (None, seen(308, "javascript:alert(1)"), Event.IGNORED, Reason.MALFORMED, None),
    "308 without Location": (None, seen(308), Event.IGNORED, Reason.NO_LOCATION, None),
    "308 with two": (None, seen(308, locations=(NEW, OTHER)), Event.IGNORED, Reason.SEVERAL_LOCATIONS, None),
    "308 to nowhere for a tombstone": (gone(), seen(308), Event.IGNORED, Reason.NO_LOCATION, GONE),
    "410 of a URL with a secret": (
        None,
        seen(410, url=f"{URL}?api_key=hunter22"),
        Event.IGNORED,
        Reason.SECRET,
        None,
    ),
    "404 of a URL with a secret": (None, seen(404, url=f"{URL}?token=x"), Event.IGNORED, Reason.SECRET, None),
    "410 of a long URL": (None, seen(410, url=f"{URL}?{'a/' * LONGEST_URL}"), Event.IGNORED, Reason.TOO_LONG, None),
}


@pytest.mark.parametrize(("record", "answer", "event", "reason", "state"), ROWS.values(), ids=ROWS)
def test_rows(
    record: Record | None, answer: Seen, event: Event, reason: Reason | None, state: State | None
) -> None:
    change = observe(record, answer)
    assert (change.event, change.reason) == (event, reason)
    assert (None if change.record is None else change.record.state) is state
    if event is Event.IGNORED:
        assert change.record is record
    if record is not None and change.record is None:
        assert change.observation is not None and change.observation.status == answer.status


@pytest.mark.parametrize("record", [None, moved(), gone(), pending, missing()], ids=str)
@pytest.mark.parametrize("status", [200, 301, 304, 308, 404, 410, 503])
@pytest.mark.parametrize("how", ["mirror or catalog", "plain http"])
def test_ov_1_only_the_origin_over_tls_has_a_say(record: Record | None, status: int, how: str) -> None:
    is_plain = how == "plain http"
    answer = seen(status, NEW, url=URL.replace("https:", "http:") if is_plain else URL, is_origin=is_plain)
    change = observe(record, replace(answer, at=LATER))
    assert change.record is record
    assert (change.event, change.reason) == (Event.IGNORED, Reason.NOT_THE_ORIGIN)


def test_a_new_move_in_full() -> None:
    assert observe(None, seen(308, "/new.json", lifetime=600.0)).record == Record(
        URL,
        PENDING,
        308,
        observed_at=NOW,
        checked_at=NOW,
        fresh_until=NOW + 600,
        due_at=NOW,
        location=NEW,
        target=NEW,
        history=(Observation(NOW, 308, PENDING, NEW, "", NOW + 600),),
    )


def test_301_is_recorded_with_a_warning() -> None:
    assert "308" in recorded(seen(301, NEW)).history[-1].note
    assert recorded(seen(308, NEW)).history[-1].note == ""


LIFETIMES = [(None, 3600.0), (60.0, 60.0), (0.0, 0.0), (-5.0, 0.0), (1e9, 3600.0)]


@pytest.mark.parametrize(("lifetime", "lasting"), LIFETIMES)
@pytest.mark.parametrize("status", [308, 410])
def test_ov_5_and_ov_6_how_long_it_holds(lifetime: float | None, lasting: float, status: int) -> None:
    rules = RelocationRules(max_age=3600.0)
    record = recorded(seen(status, NEW, lifetime=lifetime), rules=rules)
    assert record.fresh_until == NOW + lasting


def test_ov_5_a_move_that_is_said_again_holds_on() -> None:
    due = replace(moved(), failures=3, due_at=LATER, misses=2, missing_since=NOW)
    record = observe(due, seen(308, NEW, at=LATER, lifetime=100.0)).record
    assert record is not None
    assert (record.observed_at, record.checked_at, record.fresh_until) == (NOW, LATER, LATER + 100)
    # What has held for a day is asked for again after a tenth of that, though its freshness is shorter.
    due_again = LATER + (LATER - NOW) * 0.1
    assert (record.due_at, record.failures, record.misses, record.missing_since) == (due_again, 0, 0, None)
    assert record.history == due.history


def test_what_nobody_could_reach_is_not_reached_because_the_origin_repeats_itself() -> None:
    put_off = replace(pending, failures=2, due_at=NOW + 120)
    record = observe(put_off, seen(308, NEW, at=NOW + 5)).record
    assert record is not None and (record.failures, record.due_at) == (2, NOW + 120)


GONE_HINTS = [
    ("/next", "https://example.com/next"),
    (OTHER, OTHER),
    ("http://example.com/x", None),
    ("https://10.0.0.5/", None),
    ("", None),
    (None, None),
]


@pytest.mark.parametrize(("successor", "expected"), GONE_HINTS)
def test_ov_7_a_successor_is_a_hint_and_no_target(successor: str | None, expected: str | None) -> None:
    first = recorded(seen(410, successor=successor))
    again = recorded(seen(410, successor="/old"), seen(410, successor=successor))
    for record in (first, again):
        assert (record.successor, record.target, record.state) == (expected, None, GONE)


def test_a_hint_makes_nothing_recordable() -> None:
    assert observe(None, seen(410, url=f"{URL}?token=x", successor="/next")).record is None


MISSES: dict[str, tuple[list[tuple[float, int]], State | None]] = {
    "three over a day": ([(0, 404), (10, 404), (DAY, 404)], MISSING),
    "three, the day not over": ([(0, 404), (10, 404), (DAY - 1, 404)], State.UNCONFIRMED),
    "two over a day": ([(0, 404), (DAY, 404)], State.UNCONFIRMED),
    "many at once": ([(0, 404)] * 50, State.UNCONFIRMED),
    "many at once, and one a day later": ([*[(0.0, 404)] * 50, (DAY, 404)], MISSING),
    "an outage in between": ([(0, 404), (5, 503), (9, 404), (10, NO_ANSWER), (DAY, 404)], MISSING),
    "no access in between": ([(0, 404), (5, 401), (9, 404), (DAY, 404)], MISSING),
    "a document in between": ([(0, 404), (9, 404), (10, 200), (DAY, 404)], State.UNCONFIRMED),
    "a redirect in between": ([(0, 404), (9, 404), (10, 302), (DAY, 404)], State.UNCONFIRMED),
    "the end is a document": ([(0, 404), (9, 404), (DAY, 404), (DAY, 200)], None),
    "for a tombstone": ([(0, 410), (1, 404), (9, 404), (2 * DAY, 404)], GONE),
    "for a move": ([(0, 308), (1, 404), (9, 404), (2 * DAY, 404)], MISSING),
    "for a move that is said again": ([(0, 308), (1, 404), (9, 404), (10, 308), (2 * DAY, 404)], PENDING),
    "for a move that redirects": ([(0, 308), (1, 404), (9, 404), (10, 302), (2 * DAY, 404)], PENDING),
}


@pytest.mark.parametrize(("answers", "state"), MISSES.values(), ids=MISSES)
def test_404_becomes_missing(answers: list[tuple[float, int]], state: State | None) -> None:
    assert MISSING_AFTER == DAY
    record: Record | None = None
    for offset, status in answers:
        record = observe(record, seen(status, NEW if status == 308 else None, at=NOW + offset)).record
    assert (None if record is None else record.state) is state


def test_a_missing_document_has_no_target() -> None:
    answers = [seen(308, NEW), *(seen(404, at=NOW + offset) for offset in (1, 2, 2 * DAY))]
    record = recorded(*answers)
    assert (record.state, record.location, record.target, record.proof) == (MISSING, None, None, None)
    assert (record.misses, record.missing_since) == (3, NOW + 1)
    assert [entry.status for entry in record.history] == [308, 404]


def test_counted_404s_change_nothing_more() -> None:
    record = recorded(*(seen(404, at=NOW + second) for second in range(3)))
    assert observe(record, seen(404, at=NOW + 60)).record is record


def test_counted_404s_still_put_off_a_check_that_was_due() -> None:
    record = recorded(*(seen(404, at=NOW + second, lifetime=5.0) for second in range(3)))
    change = observe(record, seen(404, at=NOW + 60))
    assert change.event is Event.FAILED and change.record == replace(record, failures=1, due_at=NOW + 120)


def test_200_and_410_in_turn_leave_nothing_behind() -> None:
    record: Record | None = None
    for turn in range(1000):
        change = observe(record, seen(410 if turn % 2 == 0 else 200, at=NOW + turn))
        assert change.event is (Event.RECORDED if turn % 2 == 0 else Event.REVIVED)
        record = change.record
    assert record is None


def test_a_history_is_bounded() -> None:
    record = recorded(*(seen(308, f"/{turn}", at=NOW + turn) for turn in range(100)))
    assert len(record.history) == MOST_OBSERVATIONS
    assert record.history[-1].target == "https://example.com/99"


def test_the_url_is_recorded_in_normal_form() -> None:
    assert recorded(seen(410, url="https://example.com/%7ea")).url == "https://example.com/~a"


answers = st.builds(
    lambda status, location, at, origin, document, lifetime: seen(
        status, location, at=NOW + at, is_origin=origin, is_document=document, lifetime=lifetime
    ),
    st.sampled_from([0, 200, 204, 300, 301, 302, 304, 307, 308, 401, 404, 410, 429, 503]),
    st.sampled_from([None, NEW, OTHER, URL, "http://example.com/", "//[", "/a?token=x"]),
    st.integers(-(10**6), 10**6),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 0.0, 1.0, 1e6]),
)


@given(st.lists(answers, max_size=20))
def test_whatever_is_answered_the_record_is_one(sequence: list[Any]) -> None:
    record: Record | None = None
    for answer in sequence:
        change = observe(record, answer)
        assert change.event is not Event.IGNORED or change.record is record
        record = change.record
        answer_of(record, answer.at)
        assert record is None or parse_record(to_record(record)) == record
