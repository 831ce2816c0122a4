"""Documents that several tests of discovery publish: small, and by the book unless their text says otherwise."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "discovery"
SITE = "https://example.com"
CARD_AT = "/.well-known/agent-card.json"
OLD_CARD_AT = "/.well-known/agent.json"
MCP_CARD_AT = "/.well-known/mcp/server-card.json"
ARD_AT = "/.well-known/ard.json"
CATALOG_AT = "/.well-known/ai-catalog.json"
APIS_AT = "/.well-known/api-catalog"
SKILLS_AT = "/.well-known/agent-skills/index.json"
AID_AT = "/.well-known/agent"
MANIFEST_AT = "/.well-known/uaix-agent-access.json"
HTML = b"<!doctype html><title>Welcome</title>"
AGENT_TYPE = "application/a2a-agent-card+json"
MCP_TYPE = "application/mcp-server-card+json"
CATALOG_TYPE = "application/ai-catalog+json"
SKILLS_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"


def sample(name: str) -> Any:
    """A file of the samples, as JSON."""
    return json.loads((SAMPLES / name).read_bytes())


def octets(document: object) -> bytes:
    """A document as the simulated origin sends it."""
    return document if isinstance(document, bytes) else json.dumps(document).encode()


def digest(document: object) -> str:
    """The digest of a document, as catalogs and indexes state it."""
    return f"sha256:{hashlib.sha256(octets(document)).hexdigest()}"


def agent_card(url: str = "https://example.com/a2a", **members: object) -> dict[str, object]:
    """An A2A card of 1.0."""
    return {
        "name": "Agent",
        "description": "Answers.",
        "version": "1.0.0",
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "s", "description": "d", "tags": ["t"]}],
        **members,
    }


def old_card(url: str = "https://example.com/old") -> dict[str, object]:
    """An A2A card of 0.2."""
    return {"name": "Old", "description": "d", "version": "1", "url": url, "capabilities": {}, "skills": []}


def server_card(url: str = "https://example.com/mcp", kind: str = "streamable-http") -> dict[str, object]:
    """An MCP server card of SEP-2127."""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "com.example/mcp",
        "version": "1.0.0",
        "description": "Tools.",
        "remotes": [{"type": kind, "url": url}],
    }


def entry(name: str, url: str, kind: str = AGENT_TYPE, **members: object) -> dict[str, object]:
    """An entry of a catalog for a document at a URL."""
    return {"identifier": f"urn:air:example.com:{name}", "displayName": name, "type": kind, "url": url, **members}


def catalog(*entries: Mapping[str, object], **members: object) -> dict[str, object]:
    """A catalog with these entries."""
    return {"specVersion": "1.0", "entries": list(entries), **members}


def skill(name: str, body: object, url: str | None = None, **members: object) -> dict[str, object]:
    """A skill of an index, with the digest of `body`."""
    return {
        "name": name,
        "type": "skill-md",
        "description": "Helps.",
        "url": url or f"/skills/{name}/SKILL.md",
        "digest": digest(body),
        **members,
    }


def skills_index(*skills: Mapping[str, object]) -> dict[str, object]:
    """An index of skills, v0.2.0."""
    return {"$schema": SKILLS_SCHEMA, "skills": list(skills)}


def linkset(*targets: str, rel: str = "service-desc", anchor: str | None = None) -> dict[str, object]:
    """An API catalog with these targets in one context."""
    context: dict[str, object] = {rel: [{"href": target} for target in targets]}
    return {"linkset": [context if anchor is None else {"anchor": anchor, **context}]}


def manifest(**discovery: str) -> dict[str, object]:
    """An access manifest without routes; `discovery` by member, `x_auth_metadata` for `x-auth-metadata`."""
    return {
        "profileId": "uaix.ai-ready-web.manifest.v1",
        "site": {"name": "Example", "url": SITE},
        "discovery": {name.replace("_", "-"): url for name, url in discovery.items()},
        "routes": [],
        "supportBoundary": "All of it.",
    }


def issuer_metadata(issuer: str, **members: object) -> dict[str, object]:
    """Metadata of an authorization server that MCP clients accept."""
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer.removesuffix('/')}/authorize",
        "token_endpoint": f"{issuer.removesuffix('/')}/token",
        "response_types_supported": ["code"],
        "token_endpoint_auth_methods_supported": ["private_key_jwt"],
        "code_challenge_methods_supported": ["S256"],
        **members,
    }


def resource_metadata(resource: str, *issuers: str) -> dict[str, object]:
    """Metadata of a protected resource."""
    return {"resource": resource, "authorization_servers": list(issuers)}
