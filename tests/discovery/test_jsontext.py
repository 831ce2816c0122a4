"""JSON texts as published: what is read, and by which name it is refused."""

from __future__ import annotations

import time

import pytest

from proxy.discovery.jsontext import MAX_DEPTH, JsonReason, MalformedJson, parse_json

READ = [
    (b"{}", {}),
    (b"\xef\xbb\xbf[1]", [1]),
    (b'{"a": 1, "a": 2}', {"a": 2}),
    (b'{"a": 1.5e3}', {"a": 1500.0}),
    ('{"ü": "\\ud800"}'.encode(), {"ü": "\ud800"}),
    (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
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
]


@pytest.mark.parametrize(("body", "value"), READ)
def test_read(body: bytes, value: object) -> None:
    assert value is None or parse_json(body) == value


@pytest.mark.parametrize(("body", "reason"), REFUSED, ids=lambda one: str(one)[:24])
def test_refused(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedJson) as refused:
        parse_json(body)
    assert refused.value.reason is JsonReason(reason)


@pytest.mark.parametrize("body", [b'{"a": 1, "a": 1}', b'[{"b": {"a": 1, "\\u0061": 2}}]'])
def test_a_name_that_comes_twice(body: bytes) -> None:
    with pytest.raises(MalformedJson) as refused:
        parse_json(body, unique_names=True)
    assert refused.value.reason is JsonReason.REPEATED_NAME
    parse_json(body)


def test_unique_names_are_read() -> None:
    assert parse_json(b'{"a": {"a": 1}}', unique_names=True) == {"a": {"a": 1}}


def test_a_large_text_takes_linear_time() -> None:
    def seconds(count: int) -> float:
        body = b'{"entries":[' + b",".join([b'{"a":[1,{"b":2}]}'] * count) + b"]}"
        started = time.perf_counter()
        parse_json(body)
        return time.perf_counter() - started

    seconds(1000)
    assert seconds(80_000) < 40 * max(seconds(10_000), 0.005)
