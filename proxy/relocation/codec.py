"""The durable form of a record: an octet string that vouches for itself.

The SHA-256 of the text in hex, a line feed, the text: JSON of one format. The disk is not trusted: a record that
says what none can say is refused, whatever its digest.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any, Final, TypeVar

from proxy.http.targets import MalformedTarget, Target, parse_target
from proxy.relocation.records import (
    LONGEST_URL,
    MOST_OBSERVATIONS,
    Observation,
    Proof,
    Record,
    State,
    record_url,
)
from proxy.relocation.rules import MOST_MISSES, MOVES

FORMAT: Final = 1
MOST_OCTETS: Final = 1 << 20

_DIGEST_DIGITS: Final = 64
_LONGEST_NOTE: Final = 256
_MOST_FAILURES: Final = 2**31
# The last moment that a timestamp can tell.
_LATEST: Final = 253_402_300_799.0

_Value = TypeVar("_Value", State, Proof)


class MalformedRecord(ValueError):
    """The octets are no record; `detail` says why and quotes nothing of them."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


def to_record(record: Record) -> bytes:
    """The octets of a record."""
    members = {
        "format": FORMAT,
        "url": record.url,
        "state": record.state,
        "status": record.status,
        "observed_at": record.observed_at,
        "checked_at": record.checked_at,
        "fresh_until": record.fresh_until,
        "due_at": record.due_at,
        "location": record.location,
        "target": record.target,
        "proof": record.proof,
        "failures": record.failures,
        "misses": record.misses,
        "missing_since": record.missing_since,
        "successor": record.successor,
        "history": [_observation_members(seen) for seen in record.history],
    }
    text = json.dumps(members, separators=(",", ":")).encode()
    return _digest(text) + b"\n" + text


def parse_record(octets: bytes) -> Record:
    """What the octets say. Raises MalformedRecord."""
    members = _members(octets)
    record = Record(
        url=_url(members, "url"),
        state=_one_of(members, "state", State),
        status=_whole(members, "status", 100, 599),
        observed_at=_time(members, "observed_at"),
        checked_at=_time(members, "checked_at"),
        fresh_until=_time(members, "fresh_until"),
        due_at=_time(members, "due_at"),
        location=_optional_url(members, "location"),
        target=_optional_url(members, "target"),
        proof=None if members.get("proof") is None else _one_of(members, "proof", Proof),
        failures=_whole(members, "failures", 0, _MOST_FAILURES),
        misses=_whole(members, "misses", 0, MOST_MISSES),
        missing_since=_optional_time(members, "missing_since"),
        successor=_optional_url(members, "successor"),
        history=_history(members),
    )
    _refuse_contradictions(record)
    return record


def _observation_members(seen: Observation) -> dict[str, object]:
    return {
        "at": seen.at,
        "status": seen.status,
        "state": seen.state,
        "target": seen.target,
        "note": seen.note,
        "fresh_until": seen.fresh_until,
    }


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _members(octets: bytes) -> dict[str, Any]:
    if len(octets) > MOST_OCTETS:
        raise MalformedRecord("The record is too large.")
    text = octets[_DIGEST_DIGITS + 1 :]
    if octets[: _DIGEST_DIGITS + 1] != _digest(text) + b"\n":
        raise MalformedRecord("The digest of the record is not that of its text.")
    try:
        members = json.loads(text.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise MalformedRecord("The text of the record is no JSON that is ever written.") from None
    if not isinstance(members, dict) or type(members.get("format")) is not int or members["format"] != FORMAT:
        raise MalformedRecord("The record is of another format.")
    return members


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name twice")
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _one_of(members: dict[str, Any], name: str, values: type[_Value]) -> _Value:
    try:
        return values(_text(members, name, _LONGEST_NOTE))
    except ValueError:
        raise MalformedRecord(f"The {name} of the record is none.") from None


def _whole(members: dict[str, Any], name: str, least: int, most: int) -> int:
    value = members.get(name)
    if type(value) is not int or not least <= value <= most:
        raise MalformedRecord(f"The {name} of the record is no number that it can be.")
    return value


def _time(members: dict[str, Any], name: str) -> float:
    value = members.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LATEST:
        raise MalformedRecord(f"The {name} of the record is no time.")
    return float(value)


def _optional_time(members: dict[str, Any], name: str) -> float | None:
    return None if members.get(name) is None else _time(members, name)


def _text(members: dict[str, Any], name: str, longest: int) -> str:
    value = members.get(name)
    if not isinstance(value, str) or len(value) > longest or not value.isprintable():
        raise MalformedRecord(f"The {name} of the record is no text that is ever written.")
    return value


def _url(members: dict[str, Any], name: str) -> str:
    """An https URL as this proxy writes them; that of the record itself is in normal form."""
    text = _text(members, name, LONGEST_URL)
    target = _https_target(text)
    if target is None or text != (record_url(target) if name == "url" else target.uri):
        raise MalformedRecord(f"The {name} of the record is no https URL in its usual form.")
    return text


# One record says the same few URLs again and again.
@lru_cache(maxsize=64)
def _https_target(text: str) -> Target | None:
    try:
        target = parse_target(text)
    except MalformedTarget:
        return None
    return target if target.scheme == "https" else None


def _optional_url(members: dict[str, Any], name: str) -> str | None:
    return None if members.get(name) is None else _url(members, name)


def _history(members: dict[str, Any]) -> tuple[Observation, ...]:
    values = members.get("history")
    if not isinstance(values, list) or len(values) > MOST_OBSERVATIONS:
        raise MalformedRecord("The history of the record is no list, or a long one.")
    return tuple(map(_observation, values))


def _observation(value: Any) -> Observation:
    if not isinstance(value, dict):
        raise MalformedRecord("An observation of the record is no object.")
    return Observation(
        at=_time(value, "at"),
        status=_whole(value, "status", 100, 599),
        state=None if value.get("state") is None else _one_of(value, "state", State),
        target=_optional_url(value, "target"),
        note=_text(value, "note", _LONGEST_NOTE),
        fresh_until=_optional_time(value, "fresh_until"),
    )


def _refuse_contradictions(record: Record) -> None:
    is_move = record.state in MOVES
    if is_move != (record.location is not None) or is_move != (record.target is not None):
        raise MalformedRecord("The state of the record and its target contradict each other.")
    if record.proof is not None and not is_move:
        raise MalformedRecord("The record proves something of no move.")
    if (record.misses == 0) != (record.missing_since is None):
        raise MalformedRecord("The record counts 404s from no time on.")
    if record.state in (State.MISSING, State.UNCONFIRMED) and not record.misses:
        raise MalformedRecord("The record counts no 404 of a URL that is not found.")
