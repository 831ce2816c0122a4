"""The canonical form of JSON (RFC 8785): the published documents and numbers, and what has no such form."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.ijson import parse_ijson
from tests.trust.signatures.published import refused, rows, vectors

JCS = vectors("jcs/rfc8785.json")
DOCUMENTS = JCS.get("documents", [])

# In one row of the file stray characters follow the number; RFC 8785 Appendix B prints it as here.
PRINTED_BY_THE_RFC = {"43143ff3c1cb0959": "1424953923781206.2"}


@pytest.mark.parametrize("row", rows(DOCUMENTS, [row["name"] for row in DOCUMENTS]))
def test_published_documents(row: dict[str, str]) -> None:
    expected = bytes.fromhex(row["outputUtf8Hex"])
    wrapped = b'{"document":' + row["input"].encode() + b"}"
    assert canonical(parse_ijson(wrapped)) == b'{"document":' + expected + b"}"
    assert canonical(json.loads(expected)) == expected


@pytest.mark.parametrize("table", ["numbersAppendixB", "numbersNodeV8"])
def test_published_numbers(table: str) -> None:
    numbers = JCS.get(table)
    if numbers is None:
        pytest.skip("the vectors are not on this machine")
    written = [canonical(struct.unpack(">d", bytes.fromhex(row["ieee754Hex"]))[0]).decode() for row in numbers]
    assert written == [PRINTED_BY_THE_RFC.get(row["ieee754Hex"], row["json"]) for row in numbers]


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({"b": 1, "a": [True, None, "x"]}, b'{"a":[true,null,"x"],"b":1}'),
        ({"\U0001f600": 1, "\ufb33": 2, "é": 3}, '{"é":3,"\U0001f600":1,"\ufb33":2}'.encode()),
        ('\x00\x1f\x7f"\\/\u2028', '"\\u0000\\u001f\x7f\\"\\\\/\u2028"'.encode()),
        (1e21, b"1e+21"),
        (1e20, b"100000000000000000000"),
        (1.0, b"1"),
        (1e-7, b"1e-7"),
        ({}, b"{}"),
        ([], b"[]"),
    ],
)
def test_forms(value: object, form: bytes) -> None:
    assert canonical(value) == form


def deep(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (2**53, "json_number_range"),
        (-(2**53), "json_number_range"),
        (10**5000, "json_number_range"),
        (float("nan"), "json_number_range"),
        (float("inf"), "json_number_range"),
        ({"a": "\ud800"}, "json_surrogate"),
        ({"\udfff": 1}, "json_surrogate"),
        (deep(100_000), "json_depth"),
        ({1: 2}, "json_invalid"),
        (b"octets", "json_invalid"),
        ({"a": {1, 2}}, "json_invalid"),
    ],
    ids=["2^53", "-2^53", "5000 digits", "NaN", "infinity", "surrogate", "name", "depth", "key", "octets", "set"],
)
def test_what_has_none(value: Any, reason: str) -> None:
    with refused(reason):
        canonical(value)
