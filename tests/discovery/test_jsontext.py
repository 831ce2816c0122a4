"""JSON texts as published: what is read, and by which name it is refused."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.jsontext import (
    MAX_DEPTH,
    MOST_CONTAINERS,
    JsonReason,
    JsonText,
    MalformedJson,
    parse_json,
    read_json,
)

READ = [
    (b"{}", {}),
    (b"\xef\xbb\xbf[1]", [1]),
    (b'{"a": 1, "a": 2}', {"a": 2}),
    (b'{"a": 1.5e3}', {"a": 1500.0}),
    ('{"ü": "\\ud800"}'.encode(), {"ü": "\ud800"}),
    (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
    (b"[" + b'{"a":"45678901234567"},' * 100_000 + b"1]", None),
]
REFUSED = [
    (b"", "not-json"),
    (b"{", "not-json"),
    (b"nonsense", "not-json"),
    (b'{"a": NaN}', "not-json"),
    (b'{"a": -Infinity}', "not-json"),
    (b'{"a": 1e999}', "not-json"),
    (b"9" * 5000, "not-json"),
    (b"{'a': 1}", "not-json"),
    (b"\xff\xfe{\x00}\x00", "not-utf-8"),
    (b'{"a": "\xe4"}', "not-utf-8"),
    (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "too-deep"),
    (b"[" * 200_000, "too-deep"),
    (b'{"a":' * 200_000, "too-deep"),
    (b"[" + b"{}," * MOST_CONTAINERS + b"1]", "too-many"),
    (b"[" + b"[[[]]]," * 180_000 + b"1]", "too-many"),
    (b"[" + b'{"a":"4567890123"},' * 100_000 + b"1]", "too-many"),
]


@pytest.mark.parametrize(("body", "value"), READ)
def test_read(body: bytes, value: object) -> None:
    read = parse_json(body)
    assert value is None or read == value


@pytest.mark.parametrize(("body", "reason"), REFUSED, ids=lambda one: str(one)[:24])
def test_refused(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedJson) as refused:
        parse_json(body)
    assert refused.value.reason is JsonReason(reason)


@pytest.mark.parametrize(
    ("body", "is_repeated"),
    [
        (b'{"a": 1, "a": 1}', True),
        (b'[{"b": {"a": 1, "\\u0061": 2}}, {"c": 1}]', True),
        (b'{"a": {"a": 1}}', False),
        (b'[{"a": 1}, {"a": 1}]', False),
        (b"5", False),
    ],
    ids=repr,
)
def test_a_name_that_comes_twice(body: bytes, is_repeated: bool) -> None:
    text = read_json(body)
    assert text == JsonText(json.loads(body), is_repeated)
    assert parse_json(body) == text.value


@pytest.mark.parametrize(
    "body",
    [
        b'"' + b"[" * 100 + b'"',
        b'["\\"' + b"[" * 100 + b'", []]',
        b'["\\\\", "' + b"[" * 100 + b'"]',
        b'["' + b"[{" * MOST_CONTAINERS + b'"]',
        b"[" + b"[]," * (MOST_CONTAINERS - 2) + b"{}]",
    ],
    ids=["text", "escaped quote", "escaped backslash", "many", "as many as allowed"],
)
def test_brackets_in_texts_count_for_nothing(body: bytes) -> None:
    assert parse_json(body) == json.loads(body)


NAMES = st.sampled_from(["[", '"', "\\"])
BRACKETS = st.text(alphabet='[]{}",:\\1 ', max_size=200) | st.recursive(
    st.sampled_from(["", "[", "]\\", '"{', '\\"']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=60,
).map(json.dumps)


@given(BRACKETS, st.integers(0, 40))
def test_the_depth_is_that_of_the_value(text: str, around: int) -> None:
    body = (text if not around else "[" * around + text + "]" * around).encode()
    try:
        expected = json.loads(body)
    except ValueError:
        with pytest.raises(MalformedJson):
            parse_json(body)
        return
    if depth(expected) > MAX_DEPTH:
        with pytest.raises(MalformedJson) as refused:
            read_json(body)
        assert refused.value.reason is JsonReason.TOO_DEEP
    else:
        assert read_json(body).value == expected


def depth(value: object) -> int:
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


def test_a_large_text_takes_linear_time() -> None:
    def seconds(count: int) -> float:
        body = b'{"entries":[' + b",".join([b'{"a":[1,2,3,4,5,6,7,8]}'] * count) + b"]}"
        took = []
        for _ in range(3):
            started = time.perf_counter()
            parse_json(body)
            took.append(time.perf_counter() - started)
        return min(took)

    assert seconds(24_000) < 40 * max(seconds(3000), 0.005)
