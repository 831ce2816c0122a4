"""Lint of OAuth metadata (OA-3, OA-4, OA-12, OA-16)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.lint.oauth import lint_authorization_server, lint_protected_resource

NOW = 1_800_000_000.0
SERVER: dict[str, Any] = {
    "issuer": "https://id.example.com",
    "authorization_endpoint": "https://id.example.com/authorize",
    "token_endpoint": "https://id.example.com/token",
    "response_types_supported": ["code"],
    "code_challenge_methods_supported": ["S256"],
}
RESOURCE: dict[str, Any] = {
    "resource": "https://api.example.com/mcp",
    "authorization_servers": ["https://id.example.com"],
}


@pytest.mark.parametrize(
    ("members", "flags"),
    [
        ({}, []),
        ({"token_endpoint": "http://id.example.com/token"}, [("OA-16", "/token_endpoint", True)]),
        ({"token_endpoint": "https://10.0.0.1/"}, [("C-10", "/token_endpoint", False)]),
        ({"issuer": "http://id.example.com"}, [("OA-16", "/issuer", False)]),
        ({"issuer": "https://id.example.com?x"}, [("OA-10", "/issuer", False)]),
        ({"response_types_supported": ["none"]}, [("OA-12", "", False)]),
        ({"code_challenge_methods_supported": ["plain"]}, [("OA-12", "", True)]),
        ({"grant_types_supported": "code"}, [("OA-12", "/grant_types_supported", False), ("OA-12", "", False)]),
    ],
    ids=str,
)
def test_authorization_server_rules(members: dict[str, Any], flags: list[tuple[str, str, bool]]) -> None:
    found = lint_authorization_server(json.dumps({**SERVER, **members}).encode(), NOW)
    assert [(f.rule, f.path, f.is_warning) for f in found] == flags


@pytest.mark.parametrize(
    ("members", "flags"),
    [
        ({}, []),
        ({"authorization_servers": ["http://id.example.com"]}, [("OA-16", "/authorization_servers/0", False)]),
        (
            {"authorization_servers": ["https://id.example.com/.well-known/openid-configuration"]},
            [("OA-4", "/authorization_servers/0", True)],
        ),
        ({"resource": "https://api.example.com/#x"}, [("OA-3", "/resource", False)]),
    ],
    ids=str,
)
def test_protected_resource_rules(members: dict[str, Any], flags: list[tuple[str, str, bool]]) -> None:
    found = lint_protected_resource(json.dumps({**RESOURCE, **members}).encode(), NOW)
    assert [(f.rule, f.path, f.is_warning) for f in found] == flags


def test_repeated_names() -> None:
    body = json.dumps({**SERVER, **RESOURCE}).encode()[:-1] + b', "x": 1, "x": 2}'
    for found in (lint_authorization_server(body, NOW), lint_protected_resource(body, NOW)):
        assert [(f.rule, f.is_warning) for f in found] == [("C-15", True)]


@pytest.mark.parametrize(("body", "rule"), [(b"", "C-16"), (b"{}", "C-16"), (b"x", "C-15"), (b'"\xff"', "C-15")])
def test_no_metadata(body: bytes, rule: str) -> None:
    for found in (lint_authorization_server(body, NOW), lint_protected_resource(body, NOW)):
        assert [(finding.rule, finding.path) for finding in found] == [(rule, "")]


@given(st.binary(max_size=100))
@settings(max_examples=100, deadline=None)
def test_no_bytes_raise(body: bytes) -> None:
    assert lint_authorization_server(body, NOW) and lint_protected_resource(body, NOW)
