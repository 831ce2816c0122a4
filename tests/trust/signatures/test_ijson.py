"""Strict JSON (RFC 7493; TRUST.md §6.2 item 2): every reason, and nothing but reasons."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.trust.reasons import Untrusted
from proxy.trust.signatures.ijson import MAX_DEPTH, MOST_OCTETS, JsonObject, parse_ijson
from tests.trust.signatures.published import refused, rows, vectors

JCS = vectors("jcs/rfc8785.json")
CASES = vectors("uaix/mirror-verification-cases.json")
WHY = {
    "duplicate key": "json_duplicate_key",
    "lone surrogate": "json_surrogate",
    "lone surrogate key": "json_surrogate",
    "integer not exactly representable": "json_number_range",
    "overflows to Infinity": "json_number_range",
    "NaN literal": "json_number_range",
    "Infinity literal": "json_number_range",
    "BOM": "json_invalid",
}


def nested(depth: int) -> bytes:
    """An object in which containers are `depth` deep."""
    return b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"{}", {}),
        (b' \t\r\n{"a": [1, "b", null, true, {}]} \n', {"a": [1, "b", None, True, {}]}),
        (b'{"a":{"b":1},"b":{"b":2}}', {"a": {"b": 1}, "b": {"b": 2}}),
        (b'{"a":9007199254740991,"b":-9007199254740991}', {"a": 2**53 - 1, "b": -(2**53 - 1)}),
        (b'{"a":0,"b":0.0,"c":0e9,"d":-0.5}', {"a": 0, "b": 0.0, "c": 0.0, "d": -0.5}),
        (b'{"a":1.7976931348623157e308,"b":1e-999}', {"a": 1.7976931348623157e308, "b": 0.0}),
        (b'{"a":1e20,"b":100000000000000000000.0}', {"a": 1e20, "b": 1e20}),
        (rb'{"\u00e9":"\ud83d\ude00","b":"\\ud800"}', {"é": "😀", "b": "\\ud800"}),
        ('{"é":"\ufeff😀\u2028"}'.encode(), {"é": "\ufeff😀\u2028"}),
        (rb'{"a":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"{{{{\\"}', {"a": "[" * 36 + '"{{{{\\'}),
        (b'{"a":[' + b"[]," * 40 + b"{}]}", {"a": [*([[]] * 40), {}]}),
    ],
    ids=[
        "empty",
        "white space",
        "one name in two objects",
        "largest integers",
        "zeros",
        "largest double",
        "integral doubles",
        "escapes",
        "beyond ASCII",
        "brackets in a string",
        "wide, not deep",
    ],
)
def test_what_has_one_meaning(body: bytes, value: JsonObject) -> None:
    assert parse_ijson(body) == value


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "json_invalid"),
        (b" ", "json_invalid"),
        (b'{"a":1}{}', "json_invalid"),
        (b'{"a":1,}', "json_invalid"),
        (b"{'a':1}", "json_invalid"),
        (b'{"a":01}', "json_invalid"),
        (b'{"a":+1}', "json_invalid"),
        (b'{"a":.5}', "json_invalid"),
        (b'{"a":1.}', "json_invalid"),
        (b'{"a":"\n"}', "json_invalid"),
        (b'{"a":"\\x"}', "json_invalid"),
        (b'{"a":"\\ud8"}', "json_invalid"),
        (b'{"a', "json_invalid"),
        (b"<!doctype html>", "json_invalid"),
        (b'{"a":"\xff"}', "json_invalid"),
        (b'{"a":"\xed\xa0\x80"}', "json_invalid"),
        ('{"a":1}'.encode("utf-16"), "json_invalid"),
        (b"\xef\xbb\xbf{}", "json_invalid"),
        (b"[]", "not_object"),
        (b"null", "not_object"),
        (b'"text"', "not_object"),
        (b"1", "not_object"),
        (b'{"a":1,"a":1}', "json_duplicate_key"),
        (b'{"a":[{"b":1,"\\u0062":2}]}', "json_duplicate_key"),
        (b'{"":1,"":1}', "json_duplicate_key"),
        (b'{"a":9007199254740992}', "json_number_range"),
        (b'{"a":-9007199254740992}', "json_number_range"),
        (b'{"a":100000000000000000000}', "json_number_range"),
        (b'{"a":' + b"9" * 5000 + b"}", "json_number_range"),
        (b'{"a":-' + b"9" * 5000 + b"}", "json_number_range"),
        (b'{"a":-0}', "json_number_range"),
        (b'{"a":-0.0}', "json_number_range"),
        (b'{"a":-0e5}', "json_number_range"),
        (b'{"a":-1e-999}', "json_number_range"),
        (b'{"a":1e309}', "json_number_range"),
        (b'{"a":-1e309}', "json_number_range"),
        (b'{"a":1' + b"0" * 400 + b".5}", "json_number_range"),
        (b'{"a":NaN}', "json_number_range"),
        (b'{"a":-Infinity}', "json_number_range"),
        (rb'{"a":"\ud83d"}', "json_surrogate"),
        (rb'{"a":"\ude00\ud83d"}', "json_surrogate"),
        (rb'{"a":[{"x\uDfff":1}]}', "json_surrogate"),
        (rb'["\ud800"]', "json_surrogate"),
        (nested(MAX_DEPTH + 1), "json_depth"),
        (b"[" * 100_000, "json_depth"),
        (b'{"a":' * 100_000, "json_depth"),
        (b'"' + b"[" * 33 + b'",' + b"[" * 33, "json_depth"),
        (rb'"\\",' + b"[" * 33, "json_depth"),
        (b" " * (MOST_OCTETS + 1), "too_large"),
    ],
)
def test_what_has_not(body: bytes, reason: str) -> None:
    with refused(reason):
        parse_ijson(body)


def test_the_deepest_and_the_longest() -> None:
    assert parse_ijson(nested(MAX_DEPTH))
    assert parse_ijson(b"{}" + b" " * (MOST_OCTETS - 2)) == {}
    assert parse_ijson(b"{}", 2) == {}
    with refused("too_large"):
        parse_ijson(b"{} ", 2)


@pytest.mark.parametrize(
    "row", rows(JCS.get("mustRejectRaw", []), [row["why"] for row in JCS.get("mustRejectRaw", [])])
)
def test_texts_that_must_be_refused(row: dict[str, str]) -> None:
    with refused(WHY[row["why"]]):
        parse_ijson(row["raw"].encode())


def published_texts() -> list[Any]:
    found = [case for case in CASES.get("cases", []) if "manifest" in case]
    return rows(found, [case["name"] for case in found])


@pytest.mark.parametrize("case", published_texts())
def test_published_manifests(case: dict[str, Any]) -> None:
    body, reason = case["manifest"].encode(), case["expect"].get("reason", "")
    if reason.startswith("json_"):
        with refused(reason):
            parse_ijson(body)
    else:
        assert parse_ijson(body) == json.loads(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":[' + b"[]," * 340_000 + b"[]]}",
        b'{"a":' + b"9" * 1_000_000 + b"}",
        b'{"a":0.' + b"9" * 1_000_000 + b"}",
        b'{"a":1e' + b"9" * 1_000_000 + b"}",
        b'{"a":"' + b'\\"' * 500_000 + b'"}',
        b'{"a":"' + b"\\ud83d\\ude00" * 80_000 + b'"}',
        b"\\" * 1_000_000 + b"[" * 40,
        b'"' * 1_000_000 + b"[" * 40,
        b"[" * 1_000_000,
        b"{" + b",".join(b'"%d":0' % number for number in range(100_000)) + b"}",
    ],
    ids=["arrays", "digits", "fraction", "exponent", "quotes", "pairs", "backslashes", "strings", "deep", "names"],
)
def test_the_largest_texts_take_no_time(body: bytes) -> None:
    started = time.perf_counter()
    with contextlib.suppress(Untrusted):
        parse_ijson(body)
    assert time.perf_counter() - started < 2


TEXTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), TEXTS, max_size=4), st.booleans())
def test_what_json_writes_is_read(value: JsonObject, is_ascii: bool) -> None:
    assert parse_ijson(json.dumps(value, ensure_ascii=is_ascii).encode()) == value


ALPHABET = st.sampled_from(
    [b"{", b"}", b"[", b"]", b'"', b"\\", b"\\u", b"d800", b":", b",", b"-", b"0", b"1e9", b"\xff"]
)


@given(st.binary() | st.lists(ALPHABET).map(b"".join))
@example(b"\xef\xbb\xbf")
def test_nothing_else_is_raised(body: bytes) -> None:
    with contextlib.suppress(Untrusted):
        assert isinstance(parse_ijson(body), dict)
