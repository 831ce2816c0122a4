"""What the origin's answer to a URL makes of its record: the table of DISCOVERY_FORMATS.md §9.

Only the origin itself, over TLS, has a say (OV-1). Permanent redirects and 410 are recorded, 404 only once it has
lasted; a document takes the record away. Everything else, an outage above all, says nothing of where things are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from proxy.http.targets import Target
from proxy.relocation.changes import Change, Event, Reason, ended, ignored, not_confirmed
from proxy.relocation.locations import recordable_location, url_fault
from proxy.relocation.lookup import due_again
from proxy.relocation.records import Observation, Record, State, record_url, with_observation

NO_ANSWER: Final = 0
LASTING: Final = frozenset({301, 308, 410})
"""What an origin says for good."""
MOST_MISSES: Final = 3
MISSING_AFTER: Final = 86_400.0
MOVES: Final = frozenset({State.MOVED, State.PENDING})

_NOTES: Final = {
    301: "301 lets a client turn POST into GET: 308 does not.",
    404: "Not found. That alone says nothing of why.",
}


class CrossDomain(StrEnum):
    """What it takes to record a move to another registrable domain: `relocation.cross_domain`."""

    PROOF = "proof"
    OPERATOR = "operator"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class RelocationRules:
    """`max_age`: seconds that a record holds where the origin is silent, and at most; a day by default."""

    max_age: float = 86_400.0
    cross_domain: CrossDomain = CrossDomain.PROOF

    def lasting(self, lifetime: float | None) -> float:
        """Seconds that an answer with this explicit freshness lifetime holds."""
        return self.max_age if lifetime is None else max(0.0, min(lifetime, self.max_age))


@dataclass(frozen=True, slots=True)
class Seen:
    """The answer to a request for `url`, at `at` in Unix seconds.

    `status` is NO_ANSWER where none came. `is_origin`: it came over TLS whose certificate is good for the host of
    `url`, from nowhere else. `locations` are its Location lines as received. `lifetime` is what is left of its
    explicit freshness, in seconds, None when it says nothing. `is_document`, of a 200 or a 304: the body is a valid
    document of its kind. `successor` is a reference that it suggests instead (OV-7).
    """

    url: Target
    status: int
    at: float
    is_origin: bool
    locations: tuple[str, ...] = ()
    lifetime: float | None = None
    is_document: bool = False
    successor: str | None = None


DEFAULT_RULES: Final = RelocationRules()


def observe(record: Record | None, seen: Seen, rules: RelocationRules = DEFAULT_RULES) -> Change:
    """What becomes of the record of `seen.url`, None when there is none yet."""
    if seen.status == NO_ANSWER:
        return not_confirmed(record, seen.at, Reason.UNAVAILABLE)
    if not seen.is_origin or seen.url.scheme != "https":
        return ignored(record, Reason.NOT_THE_ORIGIN)
    match seen.status:
        case 301 | 308:
            return _moved(record, seen, rules)
        case 410:
            return _gone(record, seen, rules)
        case 404:
            return _missed(record, seen, rules)
        case 200 | 304:
            return _found(record, seen)
        case 300 | 302 | 303 | 307:
            return _elsewhere(record, seen)
        case _:
            is_outage = seen.status >= 500
            return not_confirmed(record, seen.at, Reason.UNAVAILABLE if is_outage else Reason.NOT_AVAILABLE_TO_US)


def _moved(record: Record | None, seen: Seen, rules: RelocationRules) -> Change:
    location = recordable_location(seen.url, seen.locations)
    if isinstance(location, Reason):
        return not_confirmed(record, seen.at, location)
    if record is not None and record.state in MOVES and record.location == location.uri:
        return _again(record, seen, rules)
    return _anew(record, seen, rules, State.PENDING, location.uri)


def _gone(record: Record | None, seen: Seen, rules: RelocationRules) -> Change:
    successor = None if seen.successor is None else recordable_location(seen.url, (seen.successor,))
    hint = successor.uri if isinstance(successor, Target) else None
    if record is not None and record.state is State.GONE:
        return _again(replace(record, successor=hint), seen, rules)
    change = _anew(record, seen, rules, State.GONE, None)
    if change.record is None or hint is None:
        return change
    return replace(change, record=replace(change.record, successor=hint))


def _missed(record: Record | None, seen: Seen, rules: RelocationRules) -> Change:
    """404 becomes `missing` by the number of times and the time that it has lasted; it never ends a tombstone."""
    if record is None:
        change = _anew(None, seen, rules, State.UNCONFIRMED, None)
        if change.record is None:
            return change
        return Change(replace(change.record, misses=1, missing_since=seen.at), Event.MISSED, Reason.NOT_FOUND)
    if record.state is State.GONE:
        return not_confirmed(record, seen.at, Reason.NOT_FOUND)
    if record.state is State.MISSING:
        return _again(record, seen, rules)
    since = seen.at if record.missing_since is None else record.missing_since
    misses = min(record.misses + 1, MOST_MISSES)
    if misses == MOST_MISSES and seen.at - since >= MISSING_AFTER:
        change = _anew(record, seen, rules, State.MISSING, None)
        return replace(change, record=_counted(change.record, misses, since))
    put_off = not_confirmed(record, seen.at, Reason.NOT_FOUND)
    counted = _counted(put_off.record, misses, since)
    return put_off if counted == put_off.record else replace(put_off, record=counted, event=Event.MISSED)


def _counted(record: Record | None, misses: int, since: float) -> Record | None:
    return None if record is None else replace(record, misses=misses, missing_since=since)


def _found(record: Record | None, seen: Seen) -> Change:
    if not seen.is_document:
        return not_confirmed(record, seen.at, Reason.NOT_A_DOCUMENT)
    if record is None:
        return ignored(None, Reason.NOTHING_RECORDED)
    event = Event.REVIVED if record.is_listed else Event.CLEARED
    return ended(seen.at, seen.status, event, "The origin has the document.")


def _elsewhere(record: Record | None, seen: Seen) -> Change:
    """Not permanent, so never recorded; but something is there, so it is not missing."""
    if record is None or not record.misses:
        return not_confirmed(record, seen.at, Reason.NOT_PERMANENT)
    if record.state is State.UNCONFIRMED:
        return ended(seen.at, seen.status, Event.CLEARED, "The origin redirects.", Reason.NOT_PERMANENT)
    if record.state is State.MISSING:
        return ended(seen.at, seen.status, Event.REVIVED, "The origin redirects.", Reason.NOT_PERMANENT)
    return Change(replace(record, misses=0, missing_since=None), Event.CLEARED, Reason.NOT_PERMANENT)


def _anew(record: Record | None, seen: Seen, rules: RelocationRules, state: State, location: str | None) -> Change:
    """A record in another state than before, or of another location; what was seen before stays in its history."""
    fault = url_fault(seen.url)
    if fault is not None:
        return ignored(record, fault)
    fresh_until = seen.at + rules.lasting(seen.lifetime)
    observation = Observation(seen.at, seen.status, state, location, _NOTES.get(seen.status, ""), fresh_until)
    after = Record(
        record_url(seen.url),
        state,
        seen.status,
        observed_at=seen.at,
        checked_at=seen.at,
        fresh_until=fresh_until,
        # Whether a document is where it moved to is to be settled at once.
        due_at=seen.at if state is State.PENDING else fresh_until,
        location=location,
        target=location,
        history=with_observation(() if record is None else record.history, observation),
    )
    return Change(after, Event.CHANGED if record is not None and record.is_listed else Event.RECORDED)


def _again(record: Record, seen: Seen, rules: RelocationRules) -> Change:
    """The origin says once more what is recorded."""
    fresh_until = seen.at + rules.lasting(seen.lifetime)
    note = _NOTES.get(seen.status, "")
    observation = Observation(seen.at, seen.status, record.state, record.target, note, fresh_until)
    after = replace(
        record,
        status=seen.status,
        checked_at=seen.at,
        fresh_until=fresh_until,
        history=with_observation(record.history, observation),
    )
    if record.state is not State.MISSING:
        after = replace(after, misses=0, missing_since=None)
    # Until somebody has been where it moved to, its failures are those of getting there.
    if record.state is not State.PENDING or record.proof is not None:
        after = replace(after, failures=0, due_at=due_again(record.state, fresh_until, seen.at, record.observed_at))
    return Change(after, Event.CONFIRMED)
