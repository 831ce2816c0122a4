"""The durable form of conflicts and registrations: JSON of one format, and of one spelling.

A record is what is written here, octet for octet, or it is refused: no other order, spelling or further member.
What none can say is refused too. That a record is as it was written is vouched for by who keeps it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeVar

from proxy.boundary.conflicts import Cause, Conflict, Settlement, State
from proxy.boundary.registration import Registration
from proxy.capability.atoms import Atom
from proxy.capability.profiles import ProfileRefused, parse_profile
from proxy.capability.resolution import Code
from proxy.discovery.jsontext import JsonObject, MalformedJson, parse_json

FORMAT: Final = 1
MOST_OCTETS: Final = 1 << 20

_ID: Final = re.compile("[0-9a-f]{32}")
_INTENT: Final = re.compile("[0-9a-f]{64}")
_CREDENTIAL: Final = re.compile("[0-9a-f]{4}")
_HIGHEST: Final = 2**31
# The last moment that a timestamp can tell.
_LATEST: Final = 253_402_300_799.0

_Value = TypeVar("_Value", bound=StrEnum)


class MalformedConflict(ValueError):
    """What is no record of a conflict, or has none; `detail` says why and quotes nothing of it."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class MalformedRegistration(ValueError):
    """What is no record of a registration, or has none; `detail` says why and quotes nothing of it."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class _Refused(Exception):
    """What is wrong."""


def to_record(conflict: Conflict) -> bytes:
    """The octets of a conflict. Raises MalformedConflict for what is no JSON, or is too large."""
    try:
        return _conflict_octets(conflict)
    except _Refused as refused:
        raise MalformedConflict(str(refused)) from None


def parse_record(octets: bytes) -> Conflict:
    """What the octets say. Raises MalformedConflict."""
    try:
        conflict = _conflict(_members(octets))
        if _conflict_octets(conflict) != octets:
            raise _Refused("The record is not spelled as records are.")
    except _Refused as refused:
        raise MalformedConflict(str(refused)) from None
    return conflict


def to_registration_record(registration: Registration) -> bytes:
    """The octets of a registration. Raises MalformedRegistration for what is no JSON, or is too large."""
    try:
        return _registration_octets(registration)
    except _Refused as refused:
        raise MalformedRegistration(str(refused)) from None


def parse_registration(octets: bytes) -> Registration:
    """What the octets say. Raises MalformedRegistration."""
    try:
        registration = _registration(_members(octets))
        if _registration_octets(registration) != octets:
            raise _Refused("The record is not spelled as records are.")
    except _Refused as refused:
        raise MalformedRegistration(str(refused)) from None
    return registration


def _conflict_octets(conflict: Conflict) -> bytes:
    return _octets(
        {
            "id": conflict.id,
            "intent": conflict.intent,
            "client": conflict.client,
            "method": conflict.method,
            "url": conflict.url,
            "cause": conflict.cause,
            "rule": conflict.rule,
            "reason": conflict.reason,
            "code": conflict.code,
            "review_url": conflict.review_url,
            "observed_at": _float(conflict.observed_at),
            "envelope": conflict.envelope,
            "missing": conflict.missing,
            "proven": _sorted(conflict.proven),
            "credential": conflict.credential,
            "challenges": conflict.challenges,
            "refused_credentials": conflict.refused_credentials,
            "state": conflict.state,
            "settled_at": None if conflict.settled_at is None else _float(conflict.settled_at),
            "settlement": conflict.settlement,
        }
    )


def _conflict(members: JsonObject) -> Conflict:
    conflict = Conflict(
        id=_matching(members, "id", _ID),
        intent=_matching(members, "intent", _INTENT),
        client=_text(members, "client"),
        method=_text(members, "method"),
        url=_text(members, "url"),
        cause=_one_of(members, "cause", Cause),
        rule=_text(members, "rule"),
        reason=_text(members, "reason"),
        code=_one_of(members, "code", Code),
        review_url=_text(members, "review_url"),
        observed_at=_time(members, "observed_at"),
        envelope=_object(members, "envelope"),
        missing=_atoms(members, "missing"),
        proven=frozenset(_atoms(members, "proven")),
        credential=None if members.get("credential") is None else _matching(members, "credential", _CREDENTIAL),
        challenges=_texts(members, "challenges"),
        refused_credentials=_whole(members, "refused_credentials", 0),
        state=_one_of(members, "state", State),
        settled_at=None if members.get("settled_at") is None else _time(members, "settled_at"),
        settlement=None if members.get("settlement") is None else _one_of(members, "settlement", Settlement),
    )
    is_released = conflict.state is State.RELEASED
    if is_released != (conflict.settled_at is not None) or is_released != (conflict.settlement is not None):
        raise _Refused("The state of the record and its settlement contradict each other.")
    return conflict


def _registration_octets(registration: Registration) -> bytes:
    return _octets(
        {
            "client": registration.client,
            "version": registration.version,
            "registered_at": _float(registration.registered_at),
            "expires_at": _float(registration.expires_at),
            "profile": registration.profile.told(),
        }
    )


def _registration(members: JsonObject) -> Registration:
    try:
        profile = parse_profile(_object(members, "profile"))
    except ProfileRefused:
        raise _Refused("The profile of the record is none.") from None
    return Registration(
        client=_text(members, "client"),
        version=_whole(members, "version", 1),
        profile=profile,
        registered_at=_time(members, "registered_at"),
        expires_at=_time(members, "expires_at"),
    )


def _octets(members: Mapping[str, object]) -> bytes:
    try:
        octets = json.dumps({"v": FORMAT, **members}, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise _Refused("It holds what no JSON text can say.") from None
    if len(octets) > MOST_OCTETS:
        raise _Refused("The record is too large.")
    return octets


def _members(octets: bytes) -> JsonObject:
    if len(octets) > MOST_OCTETS:
        raise _Refused("The record is too large.")
    try:
        members = parse_json(octets)
    except MalformedJson as malformed:
        raise _Refused(f"Of the record, {malformed.detail}.") from None
    if not isinstance(members, dict) or type(members.get("v")) is not int or members["v"] != FORMAT:
        raise _Refused("The record is of another format.")
    return members


def _float(value: float) -> float:
    """A time that is read as the same type as it was written."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise _Refused("A time of it is none.") from None


def _sorted(atoms: frozenset[Atom]) -> list[Atom]:
    try:
        return sorted(atoms)
    except TypeError:
        raise _Refused("What is proven of it are no atoms.") from None


def _text(members: JsonObject, name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise _Refused(f"The {name} of the record is no text.")
    return value


def _matching(members: JsonObject, name: str, pattern: re.Pattern[str]) -> str:
    value = _text(members, name)
    if pattern.fullmatch(value) is None:
        raise _Refused(f"The {name} of the record is not made as each is.")
    return value


def _texts(members: JsonObject, name: str) -> tuple[str, ...]:
    values = members.get(name)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _Refused(f"The {name} of the record are no list of texts.")
    return tuple(values)


def _atoms(members: JsonObject, name: str) -> tuple[Atom, ...]:
    try:
        return tuple(map(Atom, _texts(members, name)))
    except ValueError:
        raise _Refused(f"The {name} of the record are no atoms.") from None


def _one_of(members: JsonObject, name: str, values: type[_Value]) -> _Value:
    try:
        return values(_text(members, name))
    except ValueError:
        raise _Refused(f"The {name} of the record is none.") from None


def _whole(members: JsonObject, name: str, least: int) -> int:
    value = members.get(name)
    if type(value) is not int or not least <= value <= _HIGHEST:
        raise _Refused(f"The {name} of the record is no number that it can be.")
    return value


def _time(members: JsonObject, name: str) -> float:
    value = members.get(name)
    if type(value) is not float or not 0 <= value <= _LATEST:
        raise _Refused(f"The {name} of the record is no time.")
    return value


def _object(members: JsonObject, name: str) -> JsonObject:
    value = members.get(name)
    if not isinstance(value, dict):
        raise _Refused(f"The {name} of the record is no object.")
    return value
