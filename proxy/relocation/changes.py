"""What became of a record, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from proxy.relocation.lookup import is_due, pause
from proxy.relocation.records import Observation, Record


class Event(StrEnum):
    """What was done to the record."""

    RECORDED = "recorded"
    """There was none, or one that no listing knows of."""
    CONFIRMED = "confirmed"
    CHANGED = "changed"
    """Another state, or another target."""
    REVIVED = "revived"
    """The origin has the document again, and the record is withdrawn."""
    WITHDRAWN = "withdrawn"
    """By an operator."""
    DROPPED = "dropped"
    """It turned out that there is nothing to record."""
    MISSED = "missed"
    """One more 404 is counted."""
    CLEARED = "cleared"
    """404s are no longer counted: the origin has answered something else."""
    FAILED = "failed"
    """The re-check that was due brought nothing; the next one is later."""
    IGNORED = "ignored"
    """The record is what it was."""


_NEWS = frozenset({Event.RECORDED, Event.CHANGED, Event.REVIVED, Event.WITHDRAWN, Event.DROPPED})


class Reason(StrEnum):
    """Why an answer changes nothing, or why a record is less than a move."""

    NOT_THE_ORIGIN = "not-the-origin"
    UNAVAILABLE = "unavailable"
    NOT_AVAILABLE_TO_US = "not-available-to-us"
    NOT_PERMANENT = "not-permanent"
    NOT_A_DOCUMENT = "not-a-document"
    NOT_FOUND = "not-found"
    NOTHING_RECORDED = "nothing-recorded"
    NOTHING_PENDING = "nothing-pending"
    ANOTHER_ANSWER = "another-answer"
    NO_LOCATION = "no-location"
    SEVERAL_LOCATIONS = "several-locations"
    MALFORMED = "malformed"
    TOO_LONG = "too-long"
    HTTPS_REQUIRED = "https_required"
    USERINFO = "userinfo"
    SECRET = "secret"
    SSRF = "ssrf"
    LOOP = "redirect_loop"
    TOO_MANY = "too_many_redirects"
    CROSS_DOMAIN = "cross-domain"


@dataclass(frozen=True, slots=True)
class Change:
    """The record from now on, None where there is none, and what led to it.

    With IGNORED the record is the one there was. `observation` is what was seen, where that ended a record: the
    record itself holds all others.
    """

    record: Record | None
    event: Event
    reason: Reason | None = None
    observation: Observation | None = None

    @property
    def is_news(self) -> bool:
        """Whether the URL stands otherwise than before: feeds tell it, and dependents are asked again (OV-11)."""
        return self.event in _NEWS


def ignored(record: Record | None, reason: Reason) -> Change:
    """Nothing changes."""
    return Change(record, Event.IGNORED, reason)


def ended(at: float, status: int, event: Event, note: str, reason: Reason | None = None) -> Change:
    """There is no record any more."""
    return Change(None, event, reason, Observation(at, status, None, None, note))


def not_confirmed(record: Record | None, at: float, reason: Reason) -> Change:
    """What was seen does not bear on the record: it stays, and a re-check that was due is put off.

    Whatever else is seen meanwhile counts for nothing, so that busy clients do not put it off for a day.
    """
    if record is None or not is_due(record, at):
        return ignored(record, reason)
    failures = record.failures + 1
    return Change(replace(record, failures=failures, due_at=at + pause(failures)), Event.FAILED, reason)
