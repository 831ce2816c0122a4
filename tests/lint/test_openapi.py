"""Lint of OpenAPI descriptions (TX-4)."""

import json
from typing import Any

import pytest

from proxy.lint import kind_of, lint

GOOD: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "Shop", "version": "7"}, "paths": {}}
JSON = json.dumps(GOOD).encode()


def rules(body: bytes) -> list[str]:
    return [f"{finding.rule} {finding.path}" + "?" * finding.is_warning for finding in lint("openapi", body, now=0)]


ROWS: list[tuple[str, bytes, list[str]]] = [
    ("good", JSON, []),
    ("byte order mark", b"\xef\xbb\xbf" + JSON, []),
    ("later version", JSON.replace(b"3.1.0", b"4.0.0"), ["TX-4 /openapi?"]),
    ("no title", json.dumps({**GOOD, "info": {"version": "7"}}).encode(), ["TX-4 /info/title"]),
    ("repeated names", JSON.replace(b'"paths"', b'"paths": 5, "paths"'), ["C-15 ?"]),
    ("YAML", b"openapi: 3.1.0\ninfo:\n  title: Shop\n", []),
    ("YAML of no version", b"openapi: latest\n", ["TX-4 /openapi?"]),
    ("no object", b"[]", ["C-16 "]),
    ("no version", b'{"info": {}}', ["C-16 "]),
    ("page", b"<html>", ["C-16 "]),
    ("nothing", b"", ["C-16 "]),
    ("cut", JSON[:-1], ["C-15 "]),
]


@pytest.mark.parametrize(("name", "body", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_findings(name: str, body: bytes, expected: list[str]) -> None:
    assert rules(body) == expected, name


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        (GOOD, "openapi"),
        ({"swagger": "2.0"}, "openapi"),
        ({"openapi": "3.1.0", "name": "a", "url": "https://example.com/"}, "openapi"),
        ({"openapi": 3}, None),
        ({"openapi": {"a": 1}}, None),
    ],
    ids=str,
)
def test_the_kind_is_told_from_json(members: dict[str, Any], kind: str | None) -> None:
    assert kind_of(json.dumps(members).encode()) == kind


def test_the_kind_of_yaml_has_to_be_given() -> None:
    assert kind_of(b"openapi: 3.1.0\n") is None
