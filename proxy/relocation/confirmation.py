"""Whether a document is where the redirect leads, and whose it is (OV-2, OV-3, OV-10); what an operator decides.

A redirect is recorded before anybody has been at its end. Once somebody has, the record is a move, remains pending
for want of proof, or is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise, takewhile
from typing import Final

from proxy.http.targets import Target, parse_target
from proxy.relocation.changes import Change, Event, Reason, ended, ignored, not_confirmed
from proxy.relocation.locations import location_fault
from proxy.relocation.lookup import due_again
from proxy.relocation.records import Observation, Proof, Record, State, record_url, with_observation
from proxy.relocation.rules import DEFAULT_RULES, MOVES, CrossDomain, RelocationRules

MOST_HOPS: Final = 5
PERMANENT: Final = frozenset({301, 308})


class Ending(StrEnum):
    """What is at the end of the redirects."""

    DOCUMENT = "document"
    """A 200 with a valid document of the kind asked for."""
    NO_DOCUMENT = "no-document"
    UNAVAILABLE = "unavailable"
    """No answer, or a failure of whoever should give it."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A redirect that a host answered itself, over TLS; `lifetime` as in `Seen`."""

    status: int
    target: Target
    lifetime: float | None = None


def permanent_run(hops: Sequence[Hop]) -> tuple[Hop, ...]:
    """The permanent hops up to the first temporary one: what they say lasts (OV-2)."""
    return tuple(takewhile(lambda hop: hop.status in PERMANENT, hops))


def confirmed(
    record: Record,
    hops: Sequence[Hop],
    ending: Ending,
    proof: Proof,
    at: float,
    rules: RelocationRules = DEFAULT_RULES,
) -> Change:
    """What becomes of a `pending` record, or of a `moved` one, once somebody has followed it.

    `hops` are all redirects on the way, the first of them answered by the recorded URL. `proof` is for the end of
    their `permanent_run`. A move that led to a document before stays one when there is none at the moment.
    """
    if record.state not in MOVES:
        return ignored(record, Reason.NOTHING_PENDING)
    run = permanent_run(hops)
    if not run or run[0].target.uri != record.location:
        return ignored(record, Reason.ANOTHER_ANSWER)
    fault = _chain_fault(parse_target(record.url), hops)
    if fault is not None:
        return _dropped(record, at, fault)
    if ending is Ending.UNAVAILABLE:
        return not_confirmed(record, at, Reason.UNAVAILABLE)
    if ending is Ending.NO_DOCUMENT:
        lost = not_confirmed if record.state is State.MOVED else _dropped
        return lost(record, at, Reason.NOT_A_DOCUMENT)
    return _settled(record, run, proof, at, rules)


def confirm(record: Record, at: float) -> Change:
    """An operator says that a pending move, whose end somebody has seen, is one."""
    if record.state is not State.PENDING or record.proof is None:
        return ignored(record, Reason.NOTHING_PENDING)
    moved = replace(record, state=State.MOVED, proof=Proof.OPERATOR, failures=0, due_at=record.fresh_until)
    return Change(_noted(moved, at, "Confirmed by an operator."), Event.CHANGED)


def withdraw(record: Record, at: float) -> Change:
    """An operator takes the record away; what the origin says from then on is recorded anew."""
    return ended(at, record.status, Event.WITHDRAWN, "Withdrawn by an operator.")


def _chain_fault(asked: Target, hops: Sequence[Hop]) -> Reason | None:
    if len(hops) > MOST_HOPS:
        return Reason.TOO_MANY
    places = [asked, *(hop.target for hop in hops)]
    if len({record_url(place) for place in places}) < len(places):
        return Reason.LOOP
    return next(filter(None, (location_fault(source, target) for source, target in pairwise(places))), None)


def _settled(record: Record, run: Sequence[Hop], proof: Proof, at: float, rules: RelocationRules) -> Change:
    target = run[-1].target.uri
    if record.proof is Proof.OPERATOR and record.target == target:
        proof = Proof.OPERATOR
    if proof in (Proof.PROVEN, Proof.NONE) and rules.cross_domain is CrossDomain.NEVER:
        return _dropped(record, at, Reason.CROSS_DOMAIN)
    state = State.MOVED if _suffices(proof, rules) else State.PENDING
    # The whole run holds only while each of its hops does.
    fresh_until = min([record.fresh_until, *(at + rules.lasting(hop.lifetime) for hop in run[1:])])
    after = replace(
        record,
        state=state,
        target=target,
        proof=proof,
        failures=0,
        fresh_until=fresh_until,
        due_at=due_again(state, fresh_until, at, record.observed_at),
    )
    is_same = (record.state, record.target) == (state, target)
    note = "" if state is State.MOVED else "It leads to another domain, without proof that suffices."
    reason = None if state is State.MOVED else Reason.CROSS_DOMAIN
    return Change(_noted(after, at, note), Event.CONFIRMED if is_same else Event.CHANGED, reason)


def _suffices(proof: Proof, rules: RelocationRules) -> bool:
    if proof is Proof.PROVEN:
        return rules.cross_domain is CrossDomain.PROOF
    return proof is not Proof.NONE


def _dropped(record: Record, at: float, reason: Reason) -> Change:
    return ended(at, record.status, Event.DROPPED, "What it leads to cannot be recorded.", reason)


def _noted(record: Record, at: float, note: str) -> Record:
    seen = Observation(at, record.status, record.state, record.target, note, record.fresh_until)
    return replace(record, history=with_observation(record.history, seen))
