"""How the history of a URL goes on where its record is withdrawn and made anew, and when that is a change."""

from __future__ import annotations

from dataclasses import replace

from proxy.relocation.records import MOST_OBSERVATIONS, Observation, Record, State, with_observation


def continued(record: Record, earlier: tuple[Observation, ...]) -> Record:
    """The record with the history of one that was withdrawn before its own."""
    return replace(record, history=(*earlier, *record.history)[-MOST_OBSERVATIONS:])


def with_withdrawal(record: Record, observation: Observation) -> tuple[Observation, ...]:
    """The history that is to go on when the URL is recorded again; empty where nothing was ever listed."""
    if not any(seen.state not in (None, State.UNCONFIRMED) for seen in record.history):
        return ()
    return with_observation(record.history, observation)


def standing(record: Record | None) -> tuple[State, str | None] | None:
    """What listings say of the URL of the record that there is; another standing is a change."""
    return (record.state, record.target) if record is not None and record.is_listed else None


def when_withdrawn(record: Record) -> Record:
    """The record as its withdrawal left it: what was only counted since then says nothing of that."""
    history = record.history
    while history and history[-1].state is State.UNCONFIRMED:
        history = history[:-1]
    return replace(record, history=history) if history and history[-1].state is None else record
