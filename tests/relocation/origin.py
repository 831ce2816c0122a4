"""An origin that answers, as the rules of relocation see it."""

from __future__ import annotations

from typing import Any

from proxy.http.targets import Target, parse_target
from proxy.relocation.changes import Change, Event
from proxy.relocation.confirmation import Ending, Hop, confirmed
from proxy.relocation.records import Proof, Record
from proxy.relocation.rules import NO_ANSWER, RelocationRules, Seen, observe

NOW = 1_800_000_000.0
DAY = 86_400.0
URL = "https://example.com/agent-card.json"
NEW = "https://example.com/new.json"
OTHER = "https://other.example.net/x.json"


def target(url: str) -> Target:
    return parse_target(url)


def seen(status: int, location: str | None = None, *, at: float = NOW, url: str = URL, **more: Any) -> Seen:
    """What the origin of `url` answers; a 200 is a document unless it is said not to be."""
    more.setdefault("is_origin", status != NO_ANSWER)
    more.setdefault("is_document", status in (200, 304))
    more.setdefault("locations", () if location is None else (location,))
    return Seen(target(url), status, at, **more)


def recorded(*answers: Seen, rules: RelocationRules | None = None) -> Record:
    """The record after these answers."""
    record: Record | None = None
    for answer in answers:
        record = observe(record, answer, rules or RelocationRules()).record
    assert record is not None
    return record


def follow(
    record: Record,
    *hops: Hop | tuple[int, str],
    ending: Ending = Ending.DOCUMENT,
    proof: Proof = Proof.SAME_SITE,
    at: float = NOW + 1,
    rules: RelocationRules | None = None,
) -> Change:
    """What becomes of a record when these redirects are met on the way."""
    way = [hop if isinstance(hop, Hop) else Hop(hop[0], target(hop[1])) for hop in hops]
    return confirmed(record, way, ending, proof, at, rules or RelocationRules())


def moved(*answers: Seen) -> Record:
    """A record of a move from URL to NEW, settled."""
    change = follow(recorded(*(answers or (seen(308, NEW),))), (308, NEW))
    assert change.record is not None and change.event is Event.CHANGED
    return change.record


def gone(**more: Any) -> Record:
    return recorded(seen(410, **more))


def missing() -> Record:
    return recorded(*(seen(404, at=NOW + offset) for offset in (0, 1, DAY)))
