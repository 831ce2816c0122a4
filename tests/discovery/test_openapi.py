"""OpenAPI descriptions: version and size (TX-4)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.cards.openapi import YAML_HEAD, Description, Generation, parse_openapi
from proxy.discovery.gate import NotADocument


def read(body: bytes) -> Description:
    found = parse_openapi(body)
    assert isinstance(found, Description), found
    return found


GOOD: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "Shop", "version": "7"}, "paths": {}}


def test_json() -> None:
    assert read(json.dumps(GOOD).encode()) == Description(Generation.V3_1, "3.1.0", "Shop", False, ())


@pytest.mark.parametrize(
    ("members", "paths"),
    [
        ({"openapi": "3.0.3"}, []),
        ({"openapi": None, "swagger": "2.0"}, []),
        ({"paths": None, "webhooks": {}}, []),
        ({"paths": None, "components": {}}, []),
        ({"paths": []}, ["/paths"]),
        ({"paths": None}, ["/paths"]),
        ({"openapi": "3.0.3", "paths": None, "components": {}}, ["/paths"]),
        ({"openapi": None, "swagger": "2.0", "paths": None, "components": {}}, ["/paths"]),
        ({"info": None}, ["/info/title", "/info/version"]),
        ({"info": []}, ["/info/title", "/info/version"]),
        ({"info": {"title": "Shop"}}, ["/info/version"]),
        ({"info": {"title": 5, "version": "7"}}, ["/info/title"]),
    ],
    ids=str,
)
def test_what_every_description_has(members: dict[str, Any], paths: list[str]) -> None:
    found = read(json.dumps({**GOOD, **members}).encode())
    failed = [(finding.rule, finding.path) for finding in found.findings if not finding.is_warning]
    assert failed == [("TX-4", path) for path in paths]


def test_repeated_names_are_told() -> None:
    body = json.dumps(GOOD).encode()
    assert read(body.replace(b'"title"', b'"title": "x", "title"')).has_repeated_names
    assert not read(b"openapi: 3.1.0\nopenapi: 3.1.0").has_repeated_names


VERSIONS: list[tuple[dict[str, Any], Generation, str | None]] = [
    ({"swagger": "2.0"}, Generation.V2_0, "2.0"),
    ({"openapi": "3.0.3"}, Generation.V3_0, "3.0.3"),
    ({"openapi": "3.0"}, Generation.V3_0, "3.0"),
    ({"openapi": "3.1.1-rc1"}, Generation.V3_1, "3.1.1-rc1"),
    ({"openapi": "3.1.0", "swagger": "2.0"}, Generation.V3_1, "3.1.0"),
    ({"openapi": 3, "swagger": "2.0"}, Generation.V2_0, "2.0"),
    ({"openapi": "3.2.0"}, Generation.OTHER, "3.2.0"),
    ({"openapi": "4.0.0"}, Generation.OTHER, "4.0.0"),
    ({"openapi": "2.0"}, Generation.OTHER, "2.0"),
    ({"swagger": "3.0.0"}, Generation.OTHER, "3.0.0"),
    ({"swagger": "1.2"}, Generation.OTHER, "1.2"),
    ({"openapi": "3"}, Generation.OTHER, None),
    ({"openapi": "latest"}, Generation.OTHER, None),
    ({"openapi": "\u0663.1"}, Generation.OTHER, None),
    ({"openapi": "3.1." + "0" * 100_000}, Generation.OTHER, None),
]


@pytest.mark.parametrize(("members", "generation", "version"), VERSIONS, ids=[str(row[0])[:40] for row in VERSIONS])
def test_versions(members: dict[str, Any], generation: Generation, version: str | None) -> None:
    found = read(json.dumps(members).encode())
    assert (found.generation, found.version) == (generation, version)
    expected = ["TX-4"] if generation is Generation.OTHER else []
    assert [finding.rule for finding in found.findings if finding.is_warning] == expected


YAML: list[tuple[str, Generation, str | None]] = [
    ("openapi: 3.1.0\ninfo:\n", Generation.V3_1, "3.1.0"),
    ('openapi: "3.0.3"', Generation.V3_0, "3.0.3"),
    ("'openapi' : '3.0.3'  # here", Generation.V3_0, "3.0.3"),
    ("# comment\n---\r\nswagger: 2.0\r\n", Generation.V2_0, "2.0"),
    ("info:\n  openapi: 3.0.0\nopenapi: 3.1.0", Generation.V3_1, "3.1.0"),
    ("openapi: latest", Generation.OTHER, None),
    ("openapi: 3.1.0 x", Generation.OTHER, None),
    ("openapi:\n  3.1.0", Generation.OTHER, None),
    (" " * YAML_HEAD + "\nopenapi: 3.1.0", Generation.OTHER, None),
]


@pytest.mark.parametrize(("text", "generation", "version"), YAML, ids=[row[0][:30].strip() for row in YAML])
def test_yaml(text: str, generation: Generation, version: str | None) -> None:
    found = read(b"x: 1\n" + text.encode())
    assert (found.generation, found.version, found.title) == (generation, version, None)


@pytest.mark.parametrize("info", [None, 5, [], {}, {"title": 5}, {"title": ""}], ids=repr)
def test_no_title(info: object) -> None:
    assert read(json.dumps({"openapi": "3.1.0", "info": info}).encode()).title is None


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"openapi": 3}', b"a: b", b'{"openapi": "3.1.0"'], ids=repr
)
def test_anything_else_is_absent(body: bytes) -> None:
    assert isinstance(parse_openapi(body), NotADocument)


@given(st.binary(max_size=80) | st.text(alphabet="openapiswgr:'\" 3.1\n#{}", max_size=80).map(str.encode))
def test_any_bytes_are_read(body: bytes) -> None:
    parse_openapi(body)
    parse_openapi(b"openapi:" + body)
    parse_openapi(b'{"openapi": "3.1.0", "paths":' + body + b"}")
