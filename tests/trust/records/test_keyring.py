"""Keys over time: overlap, discontinuity, probation, tombstones (TRUST.md §6.3)."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.records.keyring import MOST_TOMBSTONES, PROBATION_SECONDS, KeyRing, PinEvent

HOUR = PROBATION_SECONDS
NONE: dict[str, float] = {}

# Sightings as (hours, keys as letters), and at the end: keys, when others were dropped, since when some are on
# probation, and the last event.
TIMES: dict[str, tuple[list[tuple[float, str]], str, dict[str, float], dict[str, float], PinEvent]] = {
    "the same keys": ([(0, "ab"), (1, "ab")], "ab", NONE, NONE, PinEvent.CONFIRMED),
    "one more": ([(0, "a"), (1, "ab")], "ab", NONE, NONE, PinEvent.ROTATED),
    "one less": ([(0, "ab"), (1, "a")], "a", {"b": 1}, NONE, PinEvent.ROTATED),
    "handed over": ([(0, "a"), (1, "ab"), (2, "b")], "b", {"a": 2}, NONE, PinEvent.ROTATED),
    "none in common": ([(0, "ab"), (1, "c")], "c", {"a": 1, "b": 1}, {"c": 1}, PinEvent.DISCONTINUITY),
    "too early": ([(0, "a"), (1, "b"), (1.9, "b")], "b", {"a": 1}, {"b": 1}, PinEvent.ON_PROBATION),
    "late enough": ([(0, "a"), (1, "b"), (2, "b")], "b", {"a": 1}, NONE, PinEvent.PROBATION_ENDED),
    "seen often": ([(0, "a"), (1, "b"), (1.5, "b"), (2.1, "b")], "b", {"a": 1}, NONE, PinEvent.PROBATION_ENDED),
    "joined by another while on probation": (
        [(0, "a"), (1, "b"), (1.5, "bc"), (1.9, "bc")],
        "bc",
        {"a": 1},
        {"b": 1, "c": 1.5},
        PinEvent.ON_PROBATION,
    ),
    "one late enough vouches for the other": (
        [(0, "a"), (1, "b"), (1.5, "bc"), (2, "bc")],
        "bc",
        {"a": 1},
        NONE,
        PinEvent.PROBATION_ENDED,
    ),
    "rotated when late enough": ([(0, "a"), (1, "b"), (2, "bc")], "bc", {"a": 1}, NONE, PinEvent.ROTATED),
    "replaced on probation": (
        [(0, "a"), (1, "b"), (2.5, "c")],
        "c",
        {"a": 1, "b": 2.5},
        {"c": 2.5},
        PinEvent.DISCONTINUITY,
    ),
    "back after a hijack": ([(0, "a"), (1, "b"), (1.5, "a")], "a", {"b": 1.5}, {"a": 1.5}, PinEvent.DISCONTINUITY),
    "back beside the hijacker's": (
        [(0, "a"), (1, "b"), (1.5, "ab")],
        "ab",
        NONE,
        {"a": 1.5, "b": 1},
        PinEvent.DISCONTINUITY,
    ),
    "back for good": (
        [(0, "a"), (1, "b"), (1.5, "a"), (2.5, "a")],
        "a",
        {"b": 1.5},
        NONE,
        PinEvent.PROBATION_ENDED,
    ),
    "listed again": ([(0, "ab"), (1, "a"), (2, "ab")], "ab", NONE, NONE, PinEvent.ROTATED),
    "all withdrawn": ([(0, "a"), (1, "")], "", {"a": 1}, NONE, PinEvent.DISCONTINUITY),
    "none before": ([(0, ""), (1, "a")], "a", NONE, {"a": 1}, PinEvent.DISCONTINUITY),
    "none at all": ([(0, ""), (1, "")], "", NONE, NONE, PinEvent.CONFIRMED),
    "clock set back": ([(0, "a"), (9, "b"), (1, "b")], "b", {"a": 9}, {"b": 1}, PinEvent.ON_PROBATION),
    "clock set back, and late enough": (
        [(0, "a"), (9, "b"), (1, "b"), (2, "b")],
        "b",
        {"a": 9},
        NONE,
        PinEvent.PROBATION_ENDED,
    ),
}


def after(times: list[tuple[float, str]]) -> tuple[KeyRing, PinEvent]:
    (_, first), *later = times
    ring, event = KeyRing(frozenset(first)), PinEvent.PINNED
    for hours, listed in later:
        succession = ring.seen(frozenset(listed), hours * HOUR, PROBATION_SECONDS)
        ring, event = succession.ring, succession.event
    return ring, event


@pytest.mark.parametrize(("times", "listed", "dropped", "probation", "event"), TIMES.values(), ids=TIMES)
def test_sightings(
    times: list[tuple[float, str]], listed: str, dropped: Any, probation: Any, event: PinEvent
) -> None:
    ring, last = after(times)
    assert ring.listed == frozenset(listed)
    assert {key: at / HOUR for key, at in ring.dropped.items()} == dropped
    assert {key: at / HOUR for key, at in ring.probation.items()} == probation
    assert last is event
    assert ring.barred == set(probation)


def test_another_length_of_probation() -> None:
    ring = KeyRing(frozenset("a")).seen(frozenset("b"), 0.0, 10.0).ring
    assert ring.seen(frozenset("b"), 9.0, 10.0).event is PinEvent.ON_PROBATION
    assert ring.seen(frozenset("b"), 10.0, 10.0).event is PinEvent.PROBATION_ENDED


@pytest.mark.parametrize("revived", [True, False])
def test_replacement_needs_no_probation(revived: bool) -> None:
    ring = KeyRing(frozenset("ab"), {"c": 1.0})
    succession = ring.replaced(frozenset("c"), 5.0, revived=revived)
    assert succession.event is PinEvent.ROTATED
    assert succession.ring.dropped == {**({} if revived else {"c": 1.0}), "a": 5.0, "b": 5.0}
    assert succession.ring.probation == {}
    assert succession.ring.barred == (frozenset() if revived else frozenset("c"))
    assert ring.replaced(frozenset("ba"), 5.0, revived=revived).event is PinEvent.CONFIRMED


def test_a_barred_tombstone_is_no_overlap() -> None:
    barred = KeyRing(frozenset("a"), {"c": 1.0}).replaced(frozenset("c"), 5.0, revived=False).ring
    succession = barred.seen(frozenset("c"), 6.0, PROBATION_SECONDS)
    assert succession.event is PinEvent.ON_PROBATION and succession.ring.probation == {"c": 6.0}
    assert "c" not in succession.ring.dropped


def test_the_oldest_tombstones_are_forgotten() -> None:
    ring = KeyRing(frozenset("a"))
    for number in range(MOST_TOMBSTONES + 10):
        ring = ring.seen(frozenset({"a", str(number)}), float(number), PROBATION_SECONDS).ring
    assert len(ring.dropped) == MOST_TOMBSTONES
    assert list(ring.dropped)[-1] == str(MOST_TOMBSTONES + 8) and "0" not in ring.dropped
    many = ring.seen(frozenset(), 1e6, PROBATION_SECONDS).ring
    assert len(many.dropped) == MOST_TOMBSTONES and many.dropped["a"] == 1e6


def test_a_key_that_vanishes_again_is_young_again() -> None:
    ring = KeyRing(frozenset("a"), {"c": 1.0, "d": 2.0}).replaced(frozenset("c"), 5.0, revived=False).ring
    again = ring.replaced(frozenset("e"), 9.0, revived=False).ring
    assert list(again.dropped.items()) == [("d", 2.0), ("a", 5.0), ("c", 9.0)]


SIGHTINGS = st.lists(st.tuples(st.floats(0, 10), st.text(string.ascii_lowercase[:4], max_size=3)), max_size=8)


@given(SIGHTINGS)
def test_whatever_is_seen(sightings: list[tuple[float, str]]) -> None:
    ring = KeyRing(frozenset("a"))
    for hours, listed in sightings:
        was_trusted = ring.listed - ring.barred
        ripe = {key for key, first in ring.probation.items() if hours * HOUR - first >= HOUR}
        ring = ring.seen(frozenset(listed), hours * HOUR, HOUR).ring
        assert ring.listed == frozenset(listed)
        assert ring.probation.keys() <= ring.listed and ring.listed.isdisjoint(ring.dropped)
        trusted = ring.listed - ring.barred
        assert not trusted or (was_trusted | ripe) & ring.listed, "trust comes from nowhere"
