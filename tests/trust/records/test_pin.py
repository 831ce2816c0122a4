"""Pins: what each answer of a domain makes of them, how they age and when they go (TRUST.md §1.2, §6.3)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.did.document import DidDocument
from proxy.trust.manifests import Anchor
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.records.keyring import PinEvent
from proxy.trust.records.pin import (
    NO_VALIDATORS,
    Pin,
    PinSource,
    Validators,
    anchor_of,
    configured,
    confirmed,
    gone,
    is_due,
    is_overdue,
    sighted,
)
from tests.trust.records.domains import DAY, DID, HOUR, NOW, TAGGED, document, keys, multikey, named, seen

OTHER_DID = "did:web:example.com%3A8443"


@pytest.fixture
def pin() -> Pin:
    return seen(None, "ab", 0)[0]


def test_a_first_sighting_is_pinned_at_once() -> None:
    body = document("ab")
    pin, event = seen(None, "ab", 0, validators=TAGGED)
    assert event is PinEvent.PINNED
    assert (pin.did, pin.source, pin.document) == (DID, PinSource.TLS, body)
    assert (pin.fetched_at, pin.first_seen, pin.last_confirmed_at, pin.gone_since) == (NOW, NOW, NOW, None)
    assert pin.keys == keys("ab") and not pin.dropped and not pin.probation and pin.log is None
    assert isinstance(pin.parsed, DidDocument) and pin.parsed.did == DID
    assert anchor_of(pin, NOW + DAY) == Anchor(pin.parsed, NOW, frozenset())


def test_only_keys_for_assertions_count() -> None:
    pin = sighted(None, DID, document("ab", assertionMethod=["#b"]), NOW).pin
    assert pin.keys == keys("b")


def test_a_rotation_is_taken_over_at_once(pin: Pin) -> None:
    pin, event = seen(pin, "bc", 2)
    assert event is PinEvent.ROTATED
    assert named(pin.ring) == ("bc", {"a": 2}, {})
    assert (pin.first_seen, pin.fetched_at, pin.last_confirmed_at) == (NOW, NOW + 2 * HOUR, NOW + 2 * HOUR)
    assert pin.document == document("bc")


def test_a_short_hijack_never_verifies_anything(pin: Pin) -> None:
    planted, event = seen(pin, "h", 10)
    assert event is PinEvent.DISCONTINUITY
    assert anchor_of(planted, NOW + 10 * HOUR).barred == keys("h")
    back, event = seen(planted, "ab", 10.5)
    assert event is PinEvent.DISCONTINUITY and anchor_of(back, NOW).barred == keys("ab")
    assert named(back.ring) == ("ab", {"h": 10.5}, {"a": 10.5, "b": 10.5})
    healed, event = seen(back, "ab", 11.5)
    assert event is PinEvent.PROBATION_ENDED and anchor_of(healed, NOW).barred == frozenset()


def test_probation_is_as_long_as_it_is_set(pin: Pin) -> None:
    planted, _ = seen(pin, "c", 1)
    assert seen(planted, "c", 1.1, probation_seconds=DAY)[1] is PinEvent.ON_PROBATION
    assert seen(planted, "c", 1.1, probation_seconds=60.0)[1] is PinEvent.PROBATION_ENDED


# Sightings as (hours, keys, entity tag), and the entity tag that is asked with in the end.
VALIDATORS: dict[str, tuple[list[tuple[float, str, str | None]], str | None]] = {
    "seen once": ([(0, "a", "1")], None),
    "seen twice": ([(0, "a", "1"), (1, "a", "1")], "1"),
    "the second tag counts": ([(0, "a", "1"), (1, "a", "2")], "2"),
    "another document": ([(0, "a", "1"), (1, "a", "1"), (2, "ab", "1")], None),
    "another document, seen twice": ([(0, "a", "1"), (2, "ab", "1"), (3, "ab", "1")], "1"),
    "on probation": ([(0, "a", "1"), (2, "b", "1"), (2.5, "b", "1")], None),
    "after probation": ([(0, "a", "1"), (2, "b", "1"), (3, "b", "1")], "1"),
    "no longer told": ([(0, "a", "1"), (1, "a", "1"), (2, "a", None)], None),
}


@pytest.mark.parametrize(("sightings", "expected"), VALIDATORS.values(), ids=VALIDATORS)
def test_validators_need_a_second_answer(
    sightings: list[tuple[float, str, str | None]], expected: str | None
) -> None:
    pin = None
    for hours, names, etag in sightings:
        pin, _ = seen(pin, names, hours, validators=Validators(etag))
    assert pin is not None and pin.validators == Validators(expected)


def test_a_304_confirms(pin: Pin) -> None:
    pin, event = seen(pin, "ab", 1, validators=TAGGED)
    assert event is PinEvent.CONFIRMED
    pin = replace(pin, gone_since=NOW + HOUR)
    later = confirmed(pin, NOW + DAY)
    assert later == replace(pin, last_confirmed_at=NOW + DAY, gone_since=None)
    assert anchor_of(later, NOW + 2 * DAY).confirmed_at == NOW + DAY


@pytest.mark.parametrize("validators", [Validators(etag='"1"'), Validators(last_modified="x")])
def test_one_validator_is_enough(pin: Pin, validators: Validators) -> None:
    assert validators.is_any
    assert confirmed(replace(pin, validators=validators), NOW + 9).last_confirmed_at == NOW + 9


def test_a_304_that_nobody_asked_for_confirms_nothing(pin: Pin) -> None:
    assert not NO_VALIDATORS.is_any
    assert confirmed(pin, NOW + DAY) is pin


# The hours at which the domain said 404 or 410, and the hour since when it is gone; None where the pin is dropped.
GONE: dict[str, tuple[list[float], float | None]] = {
    "once": ([5], 5),
    "twice too soon": ([5, 5.9], 5),
    "twice": ([5, 6], None),
    "thrice": ([5, 5.5, 6.5], None),
    "clock set back": ([5, 3], 3),
    "clock set back, and twice": ([5, 3, 4], None),
}


@pytest.mark.parametrize(("hours", "since"), GONE.values(), ids=GONE)
def test_gone_twice_an_hour_apart(pin: Pin, hours: list[float], since: float | None) -> None:
    left: Pin | None = pin
    for hour in hours:
        assert left is not None
        left = gone(left, NOW + hour * HOUR)
    expected = None if since is None else replace(pin, gone_since=NOW + since * HOUR)
    assert left == expected


def test_an_answer_between_begins_anew(pin: Pin) -> None:
    left = gone(pin, NOW + HOUR)
    assert left is not None
    left, _ = seen(left, "ab", 1.5)
    assert left.gone_since is None
    assert gone(left, NOW + 2.5 * HOUR) is not None


def test_a_broken_document_changes_nothing(pin: Pin) -> None:
    for body, reason in [
        (b"{", Reason.DID_DOC_JSON_INVALID),
        (document("a", did=OTHER_DID), Reason.DID_DOC_ID_MISMATCH),
    ]:
        with pytest.raises(Untrusted) as refused:
            sighted(pin, DID, body, NOW)
        assert refused.value.reason is reason
        with pytest.raises(Untrusted):
            configured(pin, DID, body, NOW)


def test_another_did_is_taken_over_with_the_keys_as_they_stand(pin: Pin) -> None:
    adopted = sighted(pin, OTHER_DID, document("bc", did=OTHER_DID), NOW + HOUR, TAGGED)
    assert adopted.event is PinEvent.ROTATED
    assert (adopted.pin.did, adopted.pin.first_seen) == (OTHER_DID, NOW + HOUR)
    assert adopted.pin.validators == NO_VALIDATORS
    assert sighted(pin, OTHER_DID, document("c", did=OTHER_DID), NOW).event is PinEvent.DISCONTINUITY


def test_what_is_configured_stays(pin: Pin) -> None:
    anchored = configured(None, DID, document("a"), NOW)
    assert anchored.event is PinEvent.PINNED and anchored.pin.source is PinSource.CONFIG
    assert sighted(anchored.pin, DID, document("b"), NOW + HOUR) == replace(anchored, event=PinEvent.ANCHORED)
    assert gone(gone(anchored.pin, NOW) or pin, NOW + DAY) == anchored.pin
    assert anchor_of(anchored.pin, NOW + 400 * DAY).confirmed_at == NOW + 400 * DAY
    assert not is_due(anchored.pin, NOW + 400 * DAY) and not is_overdue(anchored.pin, NOW + 400 * DAY)


def test_the_operator_needs_no_probation(pin: Pin) -> None:
    anchored = configured(pin, DID, document("c"), NOW + HOUR)
    assert anchored.event is PinEvent.ROTATED
    assert named(anchored.pin.ring) == ("c", {"a": 1, "b": 1}, {})
    assert anchored.pin.first_seen == NOW and anchored.pin.last_confirmed_at == NOW + HOUR
    again = configured(anchored.pin, DID, document("c"), NOW + DAY)
    assert again.event is PinEvent.CONFIRMED
    revived = configured(again.pin, OTHER_DID, document("a", did=OTHER_DID), NOW + DAY)
    assert multikey("a") not in revived.pin.dropped and revived.pin.first_seen == NOW + DAY


# Hours since the last answer, and whether the document is due, and overdue.
DUE = {
    "just now": (0.0, False, False),
    "within the hour": (0.9, False, False),
    "after an hour": (1.0, True, False),
    "within the day": (23.9, True, False),
    "after a day": (24.0, True, True),
    "clock set back": (-0.1, True, True),
}


@pytest.mark.parametrize(("hours", "due", "overdue"), DUE.values(), ids=DUE)
def test_when_the_document_is_fetched(pin: Pin, hours: float, due: bool, overdue: bool) -> None:
    now = NOW + hours * HOUR
    assert (is_due(pin, now), is_overdue(pin, now)) == (due, overdue)
    said_gone = replace(pin, last_confirmed_at=NOW - DAY, gone_since=NOW)
    assert (is_due(said_gone, now), is_overdue(said_gone, now)) == (due, overdue)


def test_without_a_pin_it_is_always_due() -> None:
    assert is_due(None, NOW) and is_overdue(None, NOW)


@given(st.binary(max_size=200))
def test_whatever_the_octets(octets: bytes) -> None:
    with pytest.raises(Untrusted):
        sighted(None, DID, octets, NOW)
