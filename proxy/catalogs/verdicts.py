"""Where a listed URL stands: by its record, else by what is otherwise known (the table of DISCOVERY_FORMATS.md §9).

Only a record overrides a catalog. An answer that brought about no record removes nothing, be it a 410 (OV-1), and
an outage says nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from proxy.http.targets import parse_target
from proxy.http.timestamps import timestamp
from proxy.relocation.changes import Reason
from proxy.relocation.confirmation import MOST_HOPS
from proxy.relocation.lookup import is_fresh
from proxy.relocation.records import Record, State, record_id, record_url
from proxy.relocation.rules import LASTING
from proxy.relocation.sightings import Sighting

NOTHING_KNOWN: Final = "none"
"""The `source` of a standing that nothing is known for."""

_DOCUMENTS: Final = frozenset({200, 304})
_NOT_PERMANENT: Final = frozenset({300, 302, 303, 307})


class Verdict(StrEnum):
    """What the origin's word makes of an entry."""

    CONFIRMED = "confirmed"
    """The origin has a document there."""
    SUPERSEDED = "superseded"
    """It has moved."""
    REMOVED = "removed"
    """It is gone."""
    UNCONFIRMED = "unconfirmed"
    """Nothing is known that would settle it."""
    PENDING = "pending"
    """The origin says that it has moved, and it is not settled that a document of the same publisher is there."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The verdict on a URL, and what it rests on, as JSON values.

    `final_url` is where a superseded one is now. It is None for a removed one, and may be None for any other, which
    is where it is listed.
    """

    verdict: Verdict
    final_url: str | None
    evidence: Mapping[str, object] = field(default_factory=dict)


UNKNOWN: Final = Standing(Verdict.UNCONFIRMED, None, {"source": NOTHING_KNOWN})
"""Nothing is known; one value for all such URLs."""


def standing_of(
    key: str, lookup: Callable[[str], Record | None], sighting: Sighting | None, now: float
) -> Standing:
    """Where the URL of this key stands. `lookup` finds records by keys; what it raises is passed on."""
    record = lookup(key)
    if record is None:
        return UNKNOWN if sighting is None else _by_sighting(key, sighting)
    match record.state:
        case State.MOVED:
            return _followed(record, lookup, now)
        case State.GONE:
            return Standing(Verdict.REMOVED, None, _evidence([record], now))
        case State.PENDING:
            return Standing(Verdict.PENDING, key, {**_evidence([record], now), "location": record.location})
        case _:
            return Standing(
                Verdict.UNCONFIRMED,
                key,
                {**_evidence([record], now), "reason": Reason.NOT_FOUND.value, "misses": record.misses},
            )


def _followed(record: Record, lookup: Callable[[str], Record | None], now: float) -> Standing:
    """Where one move after the other leads. What is no longer fresh holds until the origin says otherwise."""
    chain = [record]
    seen = {record.url}
    while True:
        target = chain[-1].target
        key = None if target is None else record_url(parse_target(target))
        if key is None or key in seen:
            return _unsettled(chain, Reason.LOOP, now)
        following = lookup(key)
        if following is None or following.state not in (State.MOVED, State.GONE):
            return Standing(Verdict.SUPERSEDED, target, _evidence(chain, now))
        if following.state is State.MOVED and len(chain) == MOST_HOPS:
            return _unsettled(chain, Reason.TOO_MANY, now)
        chain.append(following)
        if following.state is State.GONE:
            return Standing(Verdict.REMOVED, None, _evidence(chain, now))
        seen.add(key)


def _unsettled(chain: Sequence[Record], reason: Reason, now: float) -> Standing:
    return Standing(Verdict.UNCONFIRMED, chain[0].url, {**_evidence(chain, now), "reason": reason.value})


def _evidence(chain: Sequence[Record], now: float) -> dict[str, object]:
    """What the records on the way say; the first of them is that of the URL itself."""
    first, last = chain[0], chain[-1]
    evidence: dict[str, object] = {
        "source": "record",
        "state": first.state.value,
        "status": first.status,
        "observed_at": timestamp(first.observed_at),
        "checked_at": timestamp(first.checked_at),
        # The whole way holds only while each step of it does.
        "fresh_until": timestamp(min(record.fresh_until for record in chain)),
        "is_fresh": all(is_fresh(record, now) for record in chain),
        "records": [record_id(record.url) for record in chain],
    }
    if first.proof is not None:
        evidence["proof"] = first.proof.value
    if last.successor is not None:
        evidence["successor"] = last.successor
    return evidence


def _by_sighting(key: str, sighting: Sighting) -> Standing:
    """The verdict without a record. Without one even a permanent answer is not known to last."""
    reason = _reason(sighting)
    evidence: dict[str, object] = {
        "source": sighting.source,
        "status": sighting.status or None,
        "checked_at": timestamp(sighting.at),
    }
    if reason is None:
        return Standing(Verdict.CONFIRMED, key, evidence)
    return Standing(Verdict.UNCONFIRMED, key, {**evidence, "reason": reason.value})


def _reason(sighting: Sighting) -> Reason | None:
    """Why an answer confirms nothing; None when it does."""
    status = sighting.status
    if status in _DOCUMENTS:
        return None if sighting.is_document else Reason.NOT_A_DOCUMENT
    if status == 404:
        return Reason.NOT_FOUND
    if status in LASTING:
        return Reason.NOTHING_RECORDED
    if status in _NOT_PERMANENT:
        return Reason.NOT_PERMANENT
    return Reason.UNAVAILABLE if status == 0 or status >= 500 else Reason.NOT_AVAILABLE_TO_US
