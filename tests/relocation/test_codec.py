"""Records on disk: they say what was written, or that they are none."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.relocation.codec import FORMAT, MOST_OCTETS, MalformedRecord, parse_record, to_record
from proxy.relocation.confirmation import confirm
from proxy.relocation.records import LONGEST_URL, MOST_OBSERVATIONS, Observation, Proof, Record
from tests.relocation.origin import NEW, NOW, OTHER, URL, gone, missing, moved, recorded, seen

LONG = f"{URL}?{'a' * (LONGEST_URL - len(URL) - 1)}"

RECORDS: dict[str, Record | None] = {
    "pending": recorded(seen(301, OTHER)),
    "moved": moved(),
    "moved, by an operator": confirm(replace(recorded(seen(308, OTHER)), proof=Proof.NONE), NOW).record,
    "moved, failing": replace(moved(), failures=7, misses=2, missing_since=NOW - 0.125),
    "gone": gone(successor="/next", url=f"{URL}?a=%7e"),
    "missing": missing(),
    "unconfirmed": recorded(seen(404)),
    "with a withdrawal": replace(gone(), history=(Observation(NOW, 200, None, None), *gone().history)),
    "without history": replace(gone(), history=()),
    "a long history": recorded(*(seen(308, f"/{turn}") for turn in range(99))),
    "a long URL": gone(url=LONG),
    "as large as can be": recorded(
        *(seen(308, f"/{'a' * (LONGEST_URL - 30)}{turn}", url=LONG) for turn in range(40))
    ),
}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_what_is_written_is_read(record: Record) -> None:
    octets = to_record(record)
    assert len(octets) <= MOST_OCTETS
    assert parse_record(octets) == record
    assert to_record(parse_record(octets)) == octets


def refused(octets: bytes) -> str:
    with pytest.raises(MalformedRecord) as error:
        parse_record(octets)
    return error.value.detail


def with_text(text: bytes) -> bytes:
    """Octets with the right digest, whatever they say."""
    return hashlib.sha256(text).hexdigest().encode() + b"\n" + text


def with_members(members: Any) -> bytes:
    return with_text(json.dumps(members).encode())


def members_of(record: Record) -> Any:
    return json.loads(to_record(record).partition(b"\n")[2])


def test_no_octet_may_change() -> None:
    octets = to_record(moved())
    for offset in range(len(octets)):
        changed = bytearray(octets)
        changed[offset] ^= 1 << offset % 8
        refused(bytes(changed))


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 66, 200, -1])
def test_no_octet_may_be_missing(length: int) -> None:
    refused(to_record(moved())[:length])


def test_nothing_may_follow() -> None:
    refused(to_record(moved()) + b"\n")


TEXTS = {
    "no JSON": b"{",
    "not UTF-8": b'{"format":1,"url":"\xff"}',
    "no object": b"[]",
    "null": b"null",
    "a name twice": b'{"format":1,"format":1}',
    "deep": b'{"format":1,"history":' + b"[" * 100_000,
    "NaN": b'{"format":1,"due_at":NaN}',
    "a number of many digits": b'{"format":1,"failures":' + b"9" * 10_000 + b"}",
    "long": b'{"format":1}' + b" " * MOST_OCTETS,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_that_are_no_record(text: bytes) -> None:
    refused(with_text(text))


@pytest.mark.parametrize("written", [0, 2, 1.0, True, "1", [1], None])
def test_other_formats(written: Any) -> None:
    assert FORMAT == 1
    assert refused(with_members({**members_of(moved()), "format": written})) == "The record is of another format."


URLS = [
    *(1, [], {}, "", "x", "http://example.com/", "https://EXAMPLE.com/", "https://example.com", f"{LONG}a"),
    *("https://u@example.com/", "javascript:alert(1)", "https://example.com/\u00e9", "https://example.com/#a"),
]
TIMES = [None, "1", True, [], {}, -1, 1e12, 10**400]
COUNTS = [None, "1", True, 1.0, -1, 10**12, []]
STATUSES = [None, "410", True, 410.0, 0, 99, 600, []]
OPTIONAL_TIMES = TIMES[1:]

# Where a member lies, and values that it cannot have.
MEMBERS: dict[str, tuple[list[str | int], list[Any]]] = {
    "url": (["url"], [None, *URLS, "https://example.com/%7ea"]),
    "state": (["state"], [None, 1, [], {}, "", "MOVED", "withdrawn", "gone"]),
    "status": (["status"], STATUSES),
    "observed_at": (["observed_at"], TIMES),
    "checked_at": (["checked_at"], TIMES),
    "fresh_until": (["fresh_until"], TIMES),
    "due_at": (["due_at"], TIMES),
    "location": (["location"], [None, *URLS]),
    "target": (["target"], [None, *URLS]),
    "proof": (["proof"], [1, [], {}, "", "signed"]),
    "failures": (["failures"], COUNTS),
    "misses": (["misses"], [*COUNTS, 0, 4]),
    "missing_since": (["missing_since"], [*TIMES]),
    "successor": (["successor"], URLS),
    "history": (["history"], [None, 1, {}, "x", [1], [None], [[]], [{}], [{}] * (MOST_OBSERVATIONS + 1)]),
    "history/at": (["history", 0, "at"], TIMES),
    "history/status": (["history", 0, "status"], STATUSES),
    "history/state": (["history", 0, "state"], [1, [], "", "withdrawn"]),
    "history/target": (["history", 0, "target"], URLS),
    "history/note": (["history", 0, "note"], [None, 1, [], "a" * 257, "\n", "\ud800", "\x1b[2J"]),
    "history/fresh_until": (["history", 0, "fresh_until"], OPTIONAL_TIMES),
}
BROKEN = [
    pytest.param(path, value, id=f"{name}={str(value)[:30]!a}")
    for name, (path, values) in MEMBERS.items()
    for value in values
]
WHOLE = replace(moved(), misses=1, missing_since=NOW)


@pytest.mark.parametrize(("path", "value"), BROKEN)
def test_members_that_are_none(path: list[str | int], value: Any) -> None:
    members = members_of(WHOLE)
    holder = members
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    refused(with_members(members))


@pytest.mark.parametrize("name", [*members_of(WHOLE)])
def test_members_that_are_missing(name: str) -> None:
    members = members_of(WHOLE)
    del members[name]
    if name in {"proof", "successor"}:
        parse_record(with_members(members))
    else:
        refused(with_members(members))


CONTRADICTIONS = {
    "a tombstone with a target": replace(gone(), location=NEW, target=NEW),
    "a tombstone with a location": replace(gone(), location=NEW),
    "a tombstone with a proof": replace(gone(), proof=moved().proof),
    "a move to nowhere": replace(moved(), target=None),
    "a move without location": replace(moved(), location=None),
    "404s since nobody knows when": replace(moved(), misses=1),
    "no 404s since": replace(moved(), missing_since=NOW),
    "missing without 404s": replace(missing(), misses=0, missing_since=None),
}


@pytest.mark.parametrize("record", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_records_that_contradict_themselves(record: Record) -> None:
    refused(to_record(record))


def test_an_error_quotes_nothing() -> None:
    assert "hunter22" not in refused(with_members({**members_of(moved()), "url": "https://hunter22@example.com/"}))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)


@given(st.binary(max_size=300), st.sampled_from(sorted(members_of(WHOLE))), json_values)
def test_whatever_it_is_it_is_a_record_or_the_error(octets: bytes, name: str, value: Any) -> None:
    for attempt in (octets, with_text(octets), with_members({**members_of(WHOLE), name: value})):
        try:
            record = parse_record(attempt)
        except MalformedRecord:
            continue
        assert parse_record(to_record(record)) == record
