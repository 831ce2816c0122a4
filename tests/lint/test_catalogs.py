"""Lint of catalogs."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.lint.catalogs import is_catalog, lint_catalog

NOW = 1_790_000_000.0
ENTRY = {"identifier": "urn:air:example.com:shop", "type": "application/mcp-server-card+json", "url": "/card"}
DATA_DIGEST = "sha256:" + hashlib.sha256(b'{"a":1}').hexdigest()


def rules(body: bytes) -> list[str]:
    return [f"{finding.rule} {finding.path}" + "?" * finding.is_warning for finding in lint_catalog(body, NOW)]


def catalog(**entry: object) -> bytes:
    return json.dumps({"specVersion": "1.0", "entries": [{**ENTRY, **entry}]}).encode()


def inline(data: object) -> bytes:
    return catalog(url=None, data=data, digest=DATA_DIGEST)


ROWS: list[tuple[str, bytes, list[str]]] = [
    ("good", catalog(), []),
    ("digest of a document elsewhere", catalog(digest=DATA_DIGEST), []),
    ("digest of data", inline({"a": 1}), []),
    ("other digest of data", inline({"a": 2}), ["CAT-9 /entries/0/digest"]),
    ("data without a canonical form", inline({"a": 2**60}), ["CAT-9 /entries/0/data"]),
    ("what the reader finds", catalog(identifier="x"), ["CAT-2 /entries/0/identifier?"]),
    ("no catalog", b"{}", ["C-16 "]),
    ("no JSON", b"{", ["C-15 "]),
    ("later major version", b'{"specVersion": "2.0", "entries": [5]}', ["CAT-8 /specVersion"]),
    ("repeated names", catalog().replace(b'"url"', b'"url": "x", "url"'), ["C-15 ?"]),
    ("repeated names under a digest", inline({"a": 1}).replace(b'"a": 1', b'"a": 2, "a": 1'), ["C-15 "]),
]


@pytest.mark.parametrize(("name", "body", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_lint(name: str, body: bytes, expected: list[str]) -> None:
    assert rules(body) == expected, name


@pytest.mark.parametrize(("value", "expected"), [([], True), ([5], True), ({}, False), (None, False)], ids=repr)
def test_told_by_its_list(value: object, expected: bool) -> None:
    assert is_catalog({"entries": value}) is expected


@given(st.binary(max_size=60))
def test_any_bytes_are_judged(body: bytes) -> None:
    lint_catalog(body, NOW)
    lint_catalog(b'{"entries": [' + body + b"]}", NOW)
