"""What became of a record."""

from __future__ import annotations

import pytest

from proxy.relocation.changes import Change, Event, Reason, ended, ignored, not_confirmed
from proxy.relocation.records import Observation
from tests.relocation.origin import DAY, NOW, gone

NEWS = {"recorded", "changed", "revived", "withdrawn", "dropped"}


@pytest.mark.parametrize("event", Event, ids=str)
def test_ov_11_what_dependents_are_asked_again_for(event: Event) -> None:
    assert Change(gone(), event).is_news is (event.value in NEWS)


def test_nothing_changes() -> None:
    record = gone()
    change = ignored(record, Reason.NOT_THE_ORIGIN)
    assert change.record is record and change.event is Event.IGNORED and change.observation is None


def test_an_end_says_what_was_seen() -> None:
    change = ended(NOW, 200, Event.REVIVED, "There.")
    assert change == Change(None, Event.REVIVED, None, Observation(NOW, 200, None, None, "There."))


def test_ov_6_failed_checks_back_off() -> None:
    record, at = gone(), NOW + DAY
    for failures, seconds in ((1, 60), (2, 120), (3, 240)):
        change = not_confirmed(record, at, Reason.UNAVAILABLE)
        assert change.event is Event.FAILED and change.record is not None
        assert (change.record.failures, change.record.due_at) == (failures, at + seconds)
        assert (change.record.checked_at, change.record.fresh_until) == (NOW, NOW + DAY)
        record, at = change.record, change.record.due_at


def test_what_nobody_was_waiting_for_does_not_back_off() -> None:
    record = gone()
    assert not_confirmed(record, NOW + 1, Reason.UNAVAILABLE) == ignored(record, Reason.UNAVAILABLE)
    assert not_confirmed(None, NOW, Reason.UNAVAILABLE) == ignored(None, Reason.UNAVAILABLE)
