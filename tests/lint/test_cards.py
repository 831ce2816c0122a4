"""Lint of agent cards and MCP server cards (A2A-1, A2A-2, A2A-4, MCP-2 to MCP-4)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.findings import Finding, failures
from proxy.lint.cards import lint_agent_card, lint_server_card

SAMPLES = Path(__file__).parent.parent / "samples" / "discovery"
NOW = 1_800_000_000.0
CURRENT: dict[str, Any] = json.loads((SAMPLES / "a2a_card_v10.json").read_bytes())
COMMON = {name: CURRENT[name] for name in CURRENT if name not in ("supportedInterfaces", "securitySchemes")}
EARLIER: dict[str, Any] = {**COMMON, "url": "https://a.example.com/", "protocolVersion": "0.3.0"}
LEGACY: dict[str, Any] = {**COMMON, "url": "https://a.example.com/"}
SKILL: dict[str, Any] = CURRENT["skills"][0]
ABSENT = object()


def lint(document: dict[str, Any], **members: Any) -> list[tuple[str, str, bool]]:
    merged = {name: value for name, value in {**document, **members}.items() if value is not ABSENT}
    return [(f.rule, f.path, f.is_warning) for f in lint_agent_card(json.dumps(merged).encode(), NOW)]


def test_complete_cards() -> None:
    assert lint(CURRENT) == []
    assert lint(EARLIER) == lint(LEGACY) == [("A2A-1", "", True)]


@pytest.mark.parametrize("name", ["description", "version", "capabilities", "skills", "defaultInputModes"])
@pytest.mark.parametrize("document", [CURRENT, EARLIER, LEGACY], ids=["1.0", "0.3", "0.2"])
def test_required_members(document: dict[str, Any], name: str) -> None:
    assert ("A2A-2", f"/{name}", False) in lint(document, **{name: ABSENT})
    assert ("A2A-2", f"/{name}", False) in lint(document, **{name: None})


@pytest.mark.parametrize(
    ("document", "members", "flags"),
    [
        (CURRENT, {"supportedInterfaces": []}, [("A2A-2", "", False), ("A2A-2", "/supportedInterfaces", False)]),
        (EARLIER, {"url": ABSENT}, [("A2A-2", "", False), ("A2A-1", "", True), ("A2A-2", "/url", False)]),
        (
            EARLIER,
            {"protocolVersion": ABSENT, "preferredTransport": "GRPC"},
            [("A2A-1", "", True), ("A2A-2", "/protocolVersion", False)],
        ),
        (CURRENT, {"description": ""}, [("A2A-2", "/description", False)]),
        (CURRENT, {"defaultOutputModes": []}, [("A2A-2", "/defaultOutputModes", False)]),
        (CURRENT, {"skills": []}, [("A2A-2", "/skills", True)]),
        (CURRENT, {"skills": [SKILL, {**SKILL, "id": ""}]}, [("A2A-2", "/skills/1/id", False)]),
        (CURRENT, {"skills": [{**SKILL, "name": 5}]}, [("A2A-2", "/skills/0/name", False)]),
        (CURRENT, {"skills": [{**SKILL, "description": None}]}, [("A2A-2", "/skills/0/description", False)]),
        (CURRENT, {"skills": [{**SKILL, "tags": []}]}, [("A2A-2", "/skills/0/tags", False)]),
        (CURRENT, {"skills": [{**SKILL, "tags": "x"}]}, [("A2A-2", "/skills/0/tags", False)]),
        (CURRENT, {"skills": [{**SKILL, "tags": ["x", 1]}]}, [("A2A-2", "/skills/0/tags", False)]),
        (CURRENT, {"skills": ["x"]}, [("A2A-2", "/skills/0", False)]),
        (CURRENT, {"provider": ABSENT}, []),
        (CURRENT, {"provider": "Example"}, [("A2A-2", "/provider", False)]),
        (CURRENT, {"provider": {"organization": "Example"}}, [("A2A-2", "/provider", False)]),
        (CURRENT, {"capabilities": ["x"]}, [("A2A-2", "/capabilities", False)]),
        (CURRENT, {"signatures": [{}]}, [("A2A-4", "/signatures/0", False)]),
    ],
    ids=lambda value: str(value)[:50],
)  # fmt: skip
def test_agent_card_rules(
    document: dict[str, Any], members: dict[str, Any], flags: list[tuple[str, str, bool]]
) -> None:
    assert lint(document, **members) == flags


def test_an_interface_says_its_version() -> None:
    interfaces = [CURRENT["supportedInterfaces"][0], {**CURRENT["supportedInterfaces"][1], "protocolVersion": 1}]
    assert lint(CURRENT, supportedInterfaces=interfaces) == [
        ("A2A-2", "/supportedInterfaces/1/protocolVersion", False)
    ]


def test_repeated_names_break_what_is_signed() -> None:
    signed = {**CURRENT, "signatures": [{"protected": "e30", "signature": "AA"}]}
    for document, is_warning in ((CURRENT, True), (signed, False)):
        body = json.dumps(document).encode().replace(b'"version":', b'"version": "0", "version":', 1)
        assert [(f.rule, f.is_warning) for f in lint_agent_card(body, NOW)] == [("C-15", is_warning)]


def test_very_many_breaches_make_few_findings() -> None:
    document = {
        **CURRENT,
        "skills": [{}] * 50_000,
        "defaultInputModes": ["text"] * 50_000,
        "signatures": [1] * 50_000,
    }
    assert len(lint(document)) < 20


SERVER: dict[str, Any] = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
    "name": "com.example/mcp",
    "version": "1.0.0",
    "description": "d",
    "remotes": [{"type": "streamable-http", "url": "https://mcp.example.com/mcp"}],
}


@pytest.mark.parametrize(
    ("members", "rules"),
    [
        ({}, []),
        ({"name": "mcp"}, ["MCP-2"]),
        ({"version": "^1"}, ["MCP-2"]),
        ({"tools": []}, ["MCP-2"]),
        ({"remotes": [{"type": "sse", "url": "http://mcp.example.com/"}]}, ["MCP-3", "MCP-3"]),
    ],
    ids=str,
)
def test_server_card_rules(members: dict[str, Any], rules: list[str]) -> None:
    found = lint_server_card(json.dumps({**SERVER, **members}).encode(), NOW)
    assert [finding.rule for finding in found] == rules


def test_server_cards_of_earlier_layouts_are_warned_of() -> None:
    for vector in json.loads((SAMPLES / "mcp_wellknown_shape_vectors.json").read_bytes()):
        found = lint_server_card(json.dumps(vector["doc"]).encode(), NOW)
        assert (found == ()) is (vector["shape"] == "sep2127")
        assert failures(found) == ()


def test_a_server_card_with_repeated_names() -> None:
    body = json.dumps(SERVER).encode().replace(b'"version":', b'"version": "0", "version":', 1)
    assert lint_server_card(body, NOW) == (Finding("C-15", "", "An object has the same member name twice.", True),)


@pytest.mark.parametrize(("body", "rule"), [(b"", "C-16"), (b"{}", "C-16"), (b"x", "C-15"), (b'"\xff"', "C-15")])
def test_no_card(body: bytes, rule: str) -> None:
    for found in (lint_agent_card(body, NOW), lint_server_card(body, NOW)):
        assert [(finding.rule, finding.path) for finding in found] == [(rule, "")]


@given(st.binary(max_size=100))
@settings(max_examples=100, deadline=None)
def test_no_bytes_raise(body: bytes) -> None:
    assert lint_agent_card(body, NOW) and lint_server_card(body, NOW)
