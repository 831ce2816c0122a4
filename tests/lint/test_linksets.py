"""Lint of API catalogs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.lint.linksets import is_linkset, lint_linkset

NOW = 1_790_000_000.0
GOOD = json.dumps({"linkset": [{"anchor": "https://example.com/", "service-desc": [{"href": "/d"}]}]}).encode()

ROWS: list[tuple[str, bytes, list[str]]] = [
    ("good", GOOD, []),
    ("what the reader finds", b'{"linkset": [{"rel": "item", "href": "/d"}]}', ["LS-2 /linkset/0"]),
    ("no linkset", b"{}", ["C-16 "]),
    ("no JSON", b"[", ["C-15 "]),
    ("repeated names", GOOD.replace(b'"href"', b'"href": "x", "href"'), ["C-15 ?"]),
]


@pytest.mark.parametrize(("name", "body", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_lint(name: str, body: bytes, expected: list[str]) -> None:
    found = [f"{finding.rule} {finding.path}" + "?" * finding.is_warning for finding in lint_linkset(body, NOW)]
    assert found == expected, name


@pytest.mark.parametrize(("value", "expected"), [([], True), ([5], True), ({}, False), (None, False)], ids=repr)
def test_told_by_its_list(value: object, expected: bool) -> None:
    assert is_linkset({"linkset": value}) is expected


@given(st.binary(max_size=60))
def test_any_bytes_are_judged(body: bytes) -> None:
    lint_linkset(body, NOW)
    lint_linkset(b'{"linkset": [' + body + b"]}", NOW)
