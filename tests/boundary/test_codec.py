"""The durable form of conflicts and registrations: each value exactly, and nothing that nobody has written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.boundary.codec import (
    MOST_OCTETS,
    MalformedConflict,
    MalformedRegistration,
    parse_record,
    parse_registration,
    to_record,
    to_registration_record,
)
from proxy.boundary.conflicts import Cause, Conflict, Settlement, State
from proxy.capability.atoms import Atom
from proxy.capability.resolution import Code
from tests.stores.boundaries import HELD, NOW, PROFILE, registered, released

REGISTERED = registered()
MEMBERS = json.loads(to_record(HELD))
PROFILE_MEMBERS = json.loads(to_registration_record(REGISTERED))


def octets(members: object) -> bytes:
    return json.dumps(members, separators=(",", ":")).encode()


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


CONFLICTS = {
    "as it is": HELD,
    "no more than it must": replace(
        HELD, missing=(), proven=frozenset(), credential=None, challenges=(), envelope={}, reason="", review_url=""
    ),
    "released by a person": released(HELD),
    "released by proof": released(HELD, Settlement.PROOF, 0.1 + 0.2),
    "released by a credential": released(HELD, Settlement.CREDENTIAL),
    "all atoms": replace(HELD, missing=tuple(Atom), proven=frozenset(Atom)),
    "an order of its own": replace(HELD, missing=(Atom.STATIC_GET, Atom.MCP, Atom.AUTH)),
    "floats": replace(HELD, observed_at=math.nextafter(NOW, math.inf)),
    "a whole second": replace(HELD, observed_at=5),
    "the first moment": replace(HELD, observed_at=0.0),
    "a number of credentials": replace(HELD, refused_credentials=2**31),
    "foreign texts": replace(HELD, client="日本 \t\x00\x9f", url="https://x.example/é"),
    "halves of characters": replace(HELD, challenges=("Basic realm=\udcff",), client="\udc80"),
    "an envelope of all kinds": replace(
        HELD,
        envelope={"": None, "a": [True, False, 0, -1, 10**300, 1e308, 5e-324, -0.0, 1.0, "\U0001f600"], "b": {}},
    ),
    "a deep envelope": replace(HELD, envelope={"a": nested(29)}),
    "a large envelope": replace(HELD, envelope={"a": "x" * 900_000}),
    **{f"cause {cause}": replace(HELD, cause=cause) for cause in Cause},
    **{f"code {code}": replace(HELD, code=code) for code in Code},
}


@pytest.mark.parametrize("conflict", CONFLICTS.values(), ids=CONFLICTS)
def test_a_conflict_and_back(conflict: Conflict) -> None:
    found = parse_record(to_record(conflict))
    assert found == conflict and to_record(found) == to_record(conflict)
    assert repr(found.envelope) == repr(conflict.envelope), "the same types too"
    assert type(found.observed_at) is float and type(found.proven) is frozenset


def test_the_format() -> None:
    assert list(MEMBERS)[:2] == ["v", "id"] and MEMBERS["v"] == 1
    assert MEMBERS["proven"] == ["json_get", "static_get"] and MEMBERS["missing"] == ["json_post", "auth"]


class Circle(dict[str, object]):
    """An object that holds itself."""

    def __init__(self) -> None:
        super().__init__()
        self["self"] = self


UNWRITABLE: dict[str, dict[str, Any]] = {
    "NaN": {"envelope": {"a": math.nan}},
    "infinity": {"envelope": {"a": [math.inf]}},
    "octets": {"envelope": {"a": b"x"}},
    "a set": {"envelope": {"a": {1}}},
    "a circle": {"envelope": Circle()},
    "nested without end": {"envelope": {"a": nested(100_000)}},
    "a name that is none": {"envelope": {(1, 2): 3}},
    "a number of many digits": {"envelope": {"a": 10**5000}},
    "too large": {"envelope": {"a": "x" * MOST_OCTETS}},
    "no time": {"observed_at": None},
    "a time that is a text": {"observed_at": "now"},
    "a time beyond floats": {"observed_at": 10**400},
    "a settlement at no time": {"settled_at": "never"},
    "atoms that are none": {"proven": frozenset({Atom.AUTH, 5})},
    "no atoms": {"proven": None},
}


@pytest.mark.parametrize("changed", UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_has_no_record(changed: dict[str, Any]) -> None:
    with pytest.raises(MalformedConflict) as raised:
        to_record(replace(HELD, **changed))
    assert raised.value.detail


TIMES: tuple[object, ...] = (None, True, 5, "5.0", -1.0, -0.5, 253_402_300_800.0, 1e300, [], {})
NO_TEXTS: tuple[object, ...] = (None, True, 1, 1.0, [], {}, ["a"])
NO_LISTS: tuple[object, ...] = (None, True, 1, "a", {}, [None], [1], [["a"]])
WRONG: dict[str, tuple[object, ...]] = {
    "v": (None, 0, 2, True, 1.0, "1", [1]),
    "id": (*NO_TEXTS, "", "0" * 31, "0" * 33, "A" * 32, "g" * 32, "0" * 31 + "\n"),
    "intent": (*NO_TEXTS, "", "0" * 63, "0" * 65, "F" * 64),
    "client": NO_TEXTS,
    "method": NO_TEXTS,
    "url": NO_TEXTS,
    "cause": (*NO_TEXTS, "", "PROXY", "upstream_500"),
    "rule": NO_TEXTS,
    "reason": NO_TEXTS,
    "code": (*NO_TEXTS, "", "allowed"),
    "review_url": NO_TEXTS,
    "observed_at": TIMES,
    "envelope": (None, True, 1, "a", []),
    "missing": (*NO_LISTS, ["fly"], [""]),
    "proven": (*NO_LISTS, ["fly"], ["json_get", "json_get"], ["static_get", "json_get"]),
    "credential": (True, 1, [], "", "0" * 7, "0" * 9, "XXXXXXXX"),
    "challenges": NO_LISTS,
    "refused_credentials": (None, True, 1.0, "1", -1, 2**31 + 1, 10**300),
    "state": (*NO_TEXTS, "", "open", "released"),
    "settled_at": (NOW, *TIMES[1:]),
    "settlement": (*NO_TEXTS[1:], "", "time", "person"),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in WRONG.items() for value in values],
    ids=lambda value: str(value)[:20],
)
def test_a_member_that_is_wrong(name: str, value: object) -> None:
    with pytest.raises(MalformedConflict) as raised:
        parse_record(octets({**MEMBERS, name: value}))
    assert raised.value.detail


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_that_is_missing(name: str) -> None:
    with pytest.raises(MalformedConflict):
        parse_record(octets({key: value for key, value in MEMBERS.items() if key != name}))


SETTLEMENTS = {
    "held, at a time": {"state": "held", "settled_at": NOW},
    "held, by somebody": {"state": "held", "settlement": "person"},
    "held, by somebody at a time": {"state": "held", "settled_at": NOW, "settlement": "person"},
    "released by nobody": {"state": "released", "settled_at": NOW, "settlement": None},
    "released never": {"state": "released", "settled_at": None, "settlement": "proof"},
}


@pytest.mark.parametrize("changed", SETTLEMENTS.values(), ids=SETTLEMENTS)
def test_a_contradiction(changed: dict[str, object]) -> None:
    with pytest.raises(MalformedConflict):
        parse_record(octets({**MEMBERS, **changed}))


def spelled_otherwise(text: bytes) -> dict[str, bytes]:
    """Texts that say nearly the same as `text`, and that nobody has written."""
    members = json.loads(text)
    return {
        "a further member": octets({**members, "more": 1}),
        "another order": octets(dict(reversed(members.items()))),
        "spaces": json.dumps(members).encode(),
        "a byte order mark": b"\xef\xbb\xbf" + text,
        "a line feed": text + b"\n",
        "a name twice": text[:-1] + b',"v":1}',
        "no escapes": json.dumps({**members, "client": "é"}, separators=(",", ":"), ensure_ascii=False).encode(),
        "needless escapes": text.replace(b'"client"', b'"\\u0063lient"'),
        "a longer number": text.replace(b".125,", b".1250,"),
        "an exponent": text.replace(b"1700000001.125", b"1.700000001125e9").replace(b"1700000000.125", b"17e8"),
        "cut short": text[:-1],
        "nothing": b"",
        "null": b"null",
        "a list": b"[1]",
        "a text": b'"v"',
        "an empty object": b"{}",
        "not UTF-8": text.replace(b"agent-7", b"agent-\xff"),
        "UTF-16": text.decode().encode("utf-16"),
        "NaN": text.replace(b"1700000000.125", b"NaN").replace(b"1700000001.125", b"NaN"),
        "beyond floats": text.replace(b"1700000000.125", b"1e999").replace(b"1700000001.125", b"1e999"),
        "deep": b"[" * 500_000,
        "too large": text + b" " * MOST_OCTETS,
        "many digits": text.replace(b'"v":1,', b'"v":1,"w":' + b"9" * 5000 + b","),
    }


SPELLINGS = spelled_otherwise(to_record(HELD))
PROFILE_SPELLINGS = spelled_otherwise(to_registration_record(REGISTERED))


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_a_conflict_spelled_otherwise(text: bytes) -> None:
    assert text != to_record(HELD)
    with pytest.raises(MalformedConflict):
        parse_record(text)


@pytest.mark.parametrize("text", PROFILE_SPELLINGS.values(), ids=PROFILE_SPELLINGS)
def test_a_registration_spelled_otherwise(text: bytes) -> None:
    assert text != to_registration_record(REGISTERED)
    with pytest.raises(MalformedRegistration):
        parse_registration(text)


# Registrations.

REGISTRATIONS = {
    "as it is": REGISTERED,
    "no level": replace(REGISTERED, profile=replace(PROFILE, client_level=None, flags=frozenset())),
    "a whole second": replace(REGISTERED, registered_at=5, expires_at=6),
    "many versions": replace(REGISTERED, version=2**31),
}


@pytest.mark.parametrize("registration", REGISTRATIONS.values(), ids=REGISTRATIONS)
def test_a_registration_and_back(registration: Any) -> None:
    text = to_registration_record(registration)
    assert parse_registration(text) == registration and to_registration_record(parse_registration(text)) == text


WRONG_PROFILES: dict[str, tuple[object, ...]] = {
    "v": (None, 0, 2, True),
    "client": NO_TEXTS,
    "version": (None, 0, -1, True, 1.0, "1", 2**31 + 1),
    "registered_at": TIMES,
    "expires_at": TIMES,
    "profile": (
        None,
        1,
        [],
        {},
        {"profile": "x", "body": None},
        {"profile": "x", "body": {}},
        {**PROFILE_MEMBERS["profile"], "more": 1},
    ),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in WRONG_PROFILES.items() for value in values],
    ids=lambda value: str(value)[:20],
)
def test_a_member_of_a_registration_that_is_wrong(name: str, value: object) -> None:
    with pytest.raises(MalformedRegistration) as raised:
        parse_registration(octets({**PROFILE_MEMBERS, name: value}))
    assert raised.value.detail


@pytest.mark.parametrize("changed", [{"registered_at": "x"}, {"expires_at": 10**400}, {"version": {1}}])
def test_a_registration_that_has_no_record(changed: dict[str, Any]) -> None:
    with pytest.raises(MalformedRegistration):
        to_registration_record(replace(REGISTERED, **changed))


# Whatever the octets.


def only_its_error(parse: Callable[[bytes], object], text: bytes) -> None:
    with suppress(MalformedConflict, MalformedRegistration):
        parse(text)


@given(st.binary(max_size=300), st.integers(0, 2000))
def test_no_octets_raise_anything_else(noise: bytes, offset: int) -> None:
    for parse, text in ((parse_record, to_record(HELD)), (parse_registration, to_registration_record(REGISTERED))):
        for changed in (noise, text[:offset] + noise, text[:offset] + noise + text[offset:]):
            only_its_error(parse, changed)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=9,
)


@given(st.dictionaries(st.sampled_from([*MEMBERS, *PROFILE_MEMBERS]), JSON, max_size=4))
def test_no_members_raise_anything_else(changed: dict[str, object]) -> None:
    only_its_error(parse_record, octets({**MEMBERS, **changed}))
    only_its_error(parse_registration, octets({**PROFILE_MEMBERS, **changed}))


@given(st.dictionaries(st.text(), JSON), st.floats(0, 253_402_300_799), st.text(), st.integers(0, 2**31))
def test_what_is_written_is_read_or_refused(
    envelope: dict[str, object], observed_at: float, client: str, refused: int
) -> None:
    conflict = replace(HELD, envelope=envelope, observed_at=observed_at, client=client, refused_credentials=refused)
    with suppress(MalformedConflict):
        assert parse_record(to_record(conflict)) == conflict


def test_a_held_conflict_is_no_released_one() -> None:
    found = parse_record(to_record(released(HELD)))
    assert found.state is State.RELEASED and found.settlement is Settlement.PERSON
