"""Lint of Agent Skills indexes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.listings.skills import SCHEMA
from proxy.lint.skills import is_skills_index, lint_skills

NOW = 1_790_000_000.0
SKILL = {"name": "a", "type": "skill-md", "description": "x", "url": "a/SKILL.md", "digest": "sha256:" + "0a" * 32}


def index(**skill: object) -> bytes:
    return json.dumps({"$schema": SCHEMA, "skills": [{**SKILL, **skill}]}).encode()


ROWS: list[tuple[str, bytes, list[str]]] = [
    ("good", index(), []),
    ("what the reader finds", index(name="A"), ["SK-2 /skills/0/name"]),
    ("predecessor", b'{"skills": []}', ["SK-1 ?"]),
    ("unknown schema", b'{"$schema": "x", "skills": []}', ["SK-1 /$schema"]),
    ("no index", b"{}", ["C-16 "]),
    ("no JSON", b"\xff", ["C-15 "]),
    ("repeated names", index().replace(b'"name"', b'"name": "b", "name"'), ["C-15 "]),
    ("repeated names, nothing digested", b'{"skills": [], "skills": []}', ["SK-1 ?", "C-15 ?"]),
]


@pytest.mark.parametrize(("name", "body", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_lint(name: str, body: bytes, expected: list[str]) -> None:
    found = [f"{finding.rule} {finding.path}" + "?" * finding.is_warning for finding in lint_skills(body, NOW)]
    assert found == expected, name


@pytest.mark.parametrize(("value", "expected"), [([], True), ([5], True), ({}, False), (None, False)], ids=repr)
def test_told_by_its_list(value: object, expected: bool) -> None:
    assert is_skills_index({"skills": value}) is expected


@given(st.binary(max_size=60))
def test_any_bytes_are_judged(body: bytes) -> None:
    lint_skills(body, NOW)
    lint_skills(b'{"skills": [' + body + b"]}", NOW)
