"""Repeating a change without doing it twice (CONTRACT §8)."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.boundary.idempotency import (
    IDEMPOTENCY_KEY,
    BadKey,
    Fresh,
    Kept,
    Mismatch,
    Replay,
    decide,
    fingerprint_of,
    may_keep,
    parse_key,
    without_member,
)
from proxy.http.fields import NO_FIELDS, Fields

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
BAD = "bad"

# field lines: the key
KEYS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "no field": ((), None),
    "bare": ((KEY,), KEY),
    "string": ((f'"{KEY}"',), KEY),
    "spaces around": ((f"  {KEY}\t",), KEY),
    "escaped quote": (('"a\\"b"',), 'a"b'),
    "escaped backslash": (('"a\\\\b"',), "a\\b"),
    "both escaped": (('"a\\\\\\"b"',), 'a\\"b'),
    "bare with a quote inside": (('a"b',), 'a"b'),
    "one character": (("k",), "k"),
    "255": (("k" * 255,), "k" * 255),
    "255 in quotes": ((f'"{"k" * 255}"',), "k" * 255),
    "255 once unescaped": ((f'"{"k" * 254}\\""',), "k" * 254 + '"'),
    "the same twice": ((KEY, KEY), KEY),
    "the same in one line": ((f"{KEY}, {KEY}",), KEY),
    "the same bare and quoted": ((KEY, f'"{KEY}"'), KEY),
    "comma in a string": (('"a,b"',), "a,b"),
    "empty": (("",), BAD),
    "blank": ((" \t",), BAD),
    "empty string": (('""',), BAD),
    "256": (("k" * 256,), BAD),
    "256 in quotes": ((f'"{"k" * 256}"',), BAD),
    "64 KiB": (("k" * 65536,), BAD),
    "space inside": (("a b",), BAD),
    "space in a string": (('"a b"',), BAD),
    "control character": (("a\x01b",), BAD),
    "delete": (("a\x7fb",), BAD),
    "line break": (("a\r\nb",), BAD),
    "not ASCII": (("cl\u00e9",), BAD),
    "not ASCII in a string": (('"cl\u00e9"',), BAD),
    "quote left open": (('"abc',), BAD),
    "quote alone": (('"',), BAD),
    "text after a string": (('"abc"d',), BAD),
    "parameter after a string": (('"abc";v=1',), BAD),
    "wrong escape": (('"a\\bc"',), BAD),
    "different": (("a", "b"), BAD),
    "different in one line": (("a, b",), BAD),
    "comma in bare text": (("a,b",), BAD),
    "one of them empty": (("a", ""), BAD),
    "case tells apart": (("a", "A"), BAD),
}


@pytest.mark.parametrize(("lines", "expected"), KEYS.values(), ids=KEYS)
def test_keys(lines: tuple[str, ...], expected: str | None) -> None:
    key = parse_key(lines)
    if expected == BAD:
        assert isinstance(key, BadKey) and key.detail.endswith(".")
    else:
        assert key == expected


def test_the_name_is_found_in_fields() -> None:
    assert parse_key(Fields([("Idempotency-Key", KEY)]).get_all(IDEMPOTENCY_KEY)) == KEY


@given(st.lists(st.text(max_size=30), max_size=3))
def test_any_lines_are_a_key_or_bad(lines: list[str]) -> None:
    key = parse_key(tuple(lines))
    assert isinstance(key, BadKey) or (key is None) is (not lines)
    if isinstance(key, str):
        assert 1 <= len(key) <= 255 and all("!" <= char <= "~" for char in key)


URI = "https://example.com/orders"
OTHERS = {
    "method": ("PUT", URI, b"{}"),
    "path": ("POST", URI + "/", b"{}"),
    "query": ("POST", URI + "?x=1", b"{}"),
    "body": ("POST", URI, b"{ }"),
    "empty body": ("POST", URI, b""),
    "parts moved": ("POST", URI + "\n", b"{}"),
}


def test_the_same_request_has_the_same_fingerprint() -> None:
    fingerprint = fingerprint_of("POST", URI, b"{}")
    assert fingerprint == fingerprint_of("POST", URI, b"{}")
    assert len(fingerprint) == 64 and int(fingerprint, 16)


@pytest.mark.parametrize("request_parts", OTHERS.values(), ids=OTHERS)
def test_another_request_has_another(request_parts: tuple[str, str, bytes]) -> None:
    assert fingerprint_of(*request_parts) != fingerprint_of("POST", URI, b"{}")


def test_a_fingerprint_of_what_is_no_text() -> None:
    assert fingerprint_of("\ud800", URI, b"\xff")


NOW, WINDOW = 1_000_000.0, 3600.0
KEPT = Kept("f" * 64, 201, NO_FIELDS, b"{}", NOW)

# what is kept, fingerprint, seconds since: the decision
DECISIONS: dict[str, tuple[Kept | None, str, float, Fresh | Replay | Mismatch]] = {
    "nothing": (None, "f" * 64, 0, Fresh()),
    "at once": (KEPT, "f" * 64, 0, Replay(KEPT)),
    "within the window": (KEPT, "f" * 64, 3599.9, Replay(KEPT)),
    "at its end": (KEPT, "f" * 64, 3600, Fresh()),
    "long after": (KEPT, "f" * 64, 1e9, Fresh()),
    "another request": (KEPT, "e" * 64, 0, Mismatch()),
    "another request at the end": (KEPT, "e" * 64, 3600, Fresh()),
    "the clock set back": (KEPT, "f" * 64, -86400, Replay(KEPT)),
    "another request, the clock set back": (KEPT, "e" * 64, -86400, Mismatch()),
}


@pytest.mark.parametrize(("kept", "fingerprint", "since", "expected"), DECISIONS.values(), ids=DECISIONS)
def test_decisions(kept: Kept | None, fingerprint: str, since: float, expected: object) -> None:
    assert decide(kept, fingerprint, NOW + since, WINDOW) == expected


def test_without_a_window_nothing_is_repeated() -> None:
    assert decide(KEPT, KEPT.fingerprint, NOW, 0.0) == Fresh()


FINAL = (
    200,
    201,
    202,
    204,
    206,
    299,
    300,
    302,
    303,
    307,
    400,
    402,
    404,
    405,
    406,
    407,
    410,
    412,
    415,
    422,
    451,
    499,
)
PASSING = (100, 101, 103, 199, 401, 403, 408, 409, 425, 428, 429, 500, 501, 502, 503, 504, 599)


@pytest.mark.parametrize(
    ("status", "expected"), [*((one, True) for one in FINAL), *((one, False) for one in PASSING)]
)
def test_which_answers_are_the_last_word(status: int, expected: bool) -> None:
    assert may_keep(status) is expected


BOT = '{"bot":{"id":7,"writeToken":"tk_abcdef123"},"ok":true}'
CLEAN = '{"bot":{"id":7,"writeToken":null},"ok":true}'

# body, path: the body without the member
MEMBERS: dict[str, tuple[str, str, str | None]] = {
    "pointer": (BOT, "/bot/writeToken", CLEAN),
    "dotted": (BOT, "bot.writeToken", CLEAN),
    "null already": (CLEAN, "/bot/writeToken", CLEAN),
    "spaces": ('{ "a" : 1 }', "a", '{"a":null}'),
    "byte order mark": ('\ufeff{"a":1}', "a", '{"a":null}'),
    "at the top": ('{"a":1}', "/a", '{"a":null}'),
    "an object": ('{"a":{"b":1}}', "/a", '{"a":null}'),
    "in an array": ('{"a":[1,{"b":2}]}', "/a/1/b", '{"a":[1,{"b":null}]}'),
    "in an array, dotted": ('{"a":[1,{"b":2}]}', "a.1.b", '{"a":[1,{"b":null}]}'),
    "an element": ('{"a":[1,2]}', "/a/1", '{"a":[1,null]}'),
    "an outer array": ("[[1]]", "/0/0", "[[null]]"),
    "an index as a name": ('{"a":{"1":2}}', "/a/1", '{"a":{"1":null}}'),
    "escaped slash": ('{"a/b":1}', "/a~1b", '{"a/b":null}'),
    "escaped tilde": ('{"a~b":1}', "/a~0b", '{"a~b":null}'),
    "escaped tilde before one": ('{"a~1b":1}', "/a~01b", '{"a~1b":null}'),
    "dot in a pointer": ('{"a.b":1}', "/a.b", '{"a.b":null}'),
    "empty name": ('{"":1}', "/", '{"":null}'),
    "of two with one name": ('{"a":"one","a":"two"}', "/a", '{"a":null}'),
    "other text": ('{"a":1,"b":"\u00e9\\ud800"}', "/a", '{"a":null,"b":"\\u00e9\\ud800"}'),
    "numbers": (
        '{"a":1,"b":[1.50,-0.0,1e3,12345678901234567890]}',
        "a",
        '{"a":null,"b":[1.5,-0.0,1000.0,12345678901234567890]}',
    ),
    "no such member": (BOT, "/bot/token", None),
    "no such way": (BOT, "/user/writeToken", None),
    "through a text": (BOT, "/bot/writeToken/x", None),
    "through null": (CLEAN, "/bot/writeToken/x", None),
    "no path": (BOT, "", None),
    "index too great": ('{"a":[1]}', "/a/1", None),
    "index of many digits": ('{"a":[1]}', "/a/" + "9" * 5_000, None),
    "index with a zero before": ('{"a":[1,2]}', "/a/01", None),
    "index behind the last": ('{"a":[1]}', "/a/-", None),
    "negative index": ('{"a":[1]}', "/a/-1", None),
    "index in other digits": ('{"a":[1,2]}', "/a/\u0661", None),
    "name in an array": ('{"a":[{"b":1}]}', "a.b", None),
    "way too great": ('{"a":[{"b":1}]}', "/a/1/b", None),
    "a text": ('"a"', "/a", None),
    "a number": ("7", "a", None),
    "null": ("null", "a", None),
    "no JSON": ("a=1", "a", None),
    "nothing": ("", "a", None),
    "NaN": ('{"a":1,"b":NaN}', "a", None),
    "deep": ('{"a":1,"b":' + "[" * 5_000 + "]" * 5_000 + "}", "a", None),
    "long way": (BOT, "/a" * 50_000, None),
}


@pytest.mark.parametrize(("body", "path", "expected"), MEMBERS.values(), ids=MEMBERS)
def test_a_member_taken_out(body: str, path: str, expected: str | None) -> None:
    stripped = without_member(body.encode(), path)
    assert stripped == (None if expected is None else expected.encode())
    if stripped is not None:
        assert without_member(stripped, path) == stripped


def test_a_body_that_is_not_utf_8() -> None:
    assert without_member(b'{"a":"\xff"}', "a") is None


_NAMES = st.sampled_from(["a", "b", "", "0", "1", "a/b", "a.b", "~"])
_VALUES = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(_VALUES, st.lists(_NAMES, max_size=4).map("/".join), st.sampled_from(["", "/"]))
def test_taking_out_is_idempotent(value: object, path: str, start: str) -> None:
    body = json.dumps(value).encode()
    stripped = [body]
    while (latest := without_member(stripped[-1], start + path)) is not None and len(stripped) < 4:
        stripped.append(latest)
    assert all(one == other for one, other in pairwise(stripped[1:]))


@given(st.binary(max_size=60), st.text(max_size=20))
def test_any_body_and_path(body: bytes, path: str) -> None:
    without_member(body, path)
