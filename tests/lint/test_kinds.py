"""Kinds: which one a document shows, and that each has rules that raise nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.lint import KINDS, UnknownKind, kind_of, lint

SAMPLES = Path(__file__).parent.parent / "samples"
CARD = json.loads((SAMPLES / "discovery" / "a2a_card_v10.json").read_bytes())
SHAPES = json.loads((SAMPLES / "discovery" / "mcp_wellknown_shape_vectors.json").read_bytes())
URL = "https://example.com/"

SHOWN: dict[str, tuple[Any, str | None]] = {
    "card of 1.0": (CARD, "agent-card"),
    "card of 0.3": ({"name": "a", "url": URL, "protocolVersion": "0.3.0"}, "agent-card"),
    "card of 0.2": ({"name": "a", "url": URL, "skills": []}, "agent-card"),
    "card without where to call": ({"name": "a", "skills": [], "capabilities": {}}, "agent-card"),
    "card without a name": ({"defaultInputModes": ["text/plain"]}, "agent-card"),
    "name and URL": ({"name": "a", "url": URL}, None),
    "server card by its schema": ({"$schema": "https://x.example/v1/server-card.schema.json"}, "mcp-server-card"),
    "server card of a later schema without members": ({"$schema": 5, "name": "a"}, None),
    "servers by name": ({"mcpServers": {}}, "mcp-server-card"),
    "server with its own version of MCP": (
        {"protocolVersion": "2025-06-18", "serverInfo": {"name": "a"}},
        "mcp-server-card",
    ),
    "AI Catalog": ({"specVersion": "1.0", "entries": []}, "ai-catalog"),
    "entries by name": ({"entries": {}}, None),
    "skills": ({"skills": []}, "agent-skills"),
    "skills by name": ({"skills": {}}, None),
    "linkset": ({"linkset": []}, "api-catalog"),
    "linkset as one link": ({"linkset": {}}, None),
    "authorization server": ({"issuer": "id.example.com"}, "oauth-as"),
    "authorization server without a text": ({"issuer": 5}, None),
    "protected resource": ({"resource": URL}, "oauth-pr"),
    "resource of another sense": ({"resource": "printer"}, None),
    "resource as an object": ({"resource": {}}, None),
    "manifest before all": (
        {"profileId": "uaix.ai-ready-web.manifest.v1", "skills": [], "issuer": URL},
        "manifest",
    ),
}


@pytest.mark.parametrize(("value", "kind"), SHOWN.values(), ids=SHOWN)
def test_shown_kinds(value: Any, kind: str | None) -> None:
    assert kind_of(json.dumps(value).encode()) == kind


@pytest.mark.parametrize("row", SHAPES, ids=[row["shape"] for row in SHAPES])
def test_server_cards_in_the_wild(row: dict[str, Any]) -> None:
    told = None if row["shape"] == "no-endpoint" else "mcp-server-card"
    assert kind_of(json.dumps(row["doc"]).encode()) == told


@pytest.mark.parametrize(
    ("name", "told"),
    [("poem", "there is no such kind"), ("", "there is no such kind")],
)
def test_kinds_without_rules(name: str, told: str) -> None:
    with pytest.raises(UnknownKind) as refused:
        lint(name, b"{}", now=0)
    assert str(refused.value).startswith(f"{told}; use one of manifest, ")


def test_the_kinds() -> None:
    assert {
        *("manifest", "route-record", "agent-card", "mcp-server-card", "ai-catalog", "agent-skills"),
        *("api-catalog", "oauth-as", "oauth-pr"),
    } <= set(KINDS)


MEMBERS = st.sampled_from(
    ["skills", "url", "name", "entries", "linkset", "issuer", "resource", "$schema", "transport", "routes", "code"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(MEMBERS, VALUES, max_size=6))
def test_any_object(value: dict[str, object]) -> None:
    body = json.dumps(value).encode()
    kind = kind_of(body)
    for name in KINDS if kind is None else (kind,):
        assert all(finding.rule and finding.detail for finding in lint(name, body, now=0))


@given(st.binary(max_size=60))
def test_any_bytes(body: bytes) -> None:
    kind_of(body)
    for name in KINDS:
        assert all(finding.detail for finding in lint(name, body, now=0))
