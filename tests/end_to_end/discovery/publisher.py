"""Everything that a host can publish for agents, each document with all of its kind's parts in it."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from tests.end_to_end.discovery.internet import MANIFEST, Internet
from tests.simulators.knot import TESTS

SKILL: Final = b"---\nname: quote\ndescription: Quotes an item.\n---\n\nAsk for a price.\n"
ISSUER: Final = "https://auth.example.com"


def sample(name: str) -> Any:
    """A published sample, read as JSON."""
    return json.loads((TESTS / "samples" / name).read_text(encoding="utf-8"))


def manifest(host: str) -> Any:
    """A valid manifest of `host`."""
    text = json.dumps(sample("uaix/valid-manifest-camel.json"))
    return json.loads(text.replace("https://example.com/", f"https://{host}/"))


def agent_card(host: str) -> Any:
    """An A2A card (version 1.0) whose interfaces are at `host`."""
    text = json.dumps(sample("discovery/a2a_card_v10.json"))
    return json.loads(text.replace("https://api.example.com", f"https://{host}").replace("id.", "auth."))


def server_card(host: str) -> Any:
    """An MCP server card."""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "com.example/quotes",
        "version": "1.0.0",
        "description": "Prices.",
        "remotes": [{"type": "streamable-http", "url": f"https://{host}/mcp"}],
    }


def authorization_server(issuer: str = ISSUER) -> Any:
    """Metadata of an authorization server (RFC 8414)."""
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "token_endpoint_auth_methods_supported": ["private_key_jwt"],
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    }


def protected_resource(host: str, issuer: str = ISSUER) -> Any:
    """Metadata of the MCP endpoint of `host` (RFC 9728)."""
    return {"resource": f"https://{host}/mcp", "authorization_servers": [issuer]}


def catalog(host: str, *entries: tuple[str, str]) -> Any:
    """An AI Catalog of (type, URL)."""
    listed = [
        {"identifier": f"urn:air:{host}:entry{number}", "type": media_type, "url": url}
        for number, (media_type, url) in enumerate(entries)
    ]
    return {"specVersion": "1.0", "entries": listed}


def publish_everything(internet: Internet, host: str, max_age: int = 300) -> None:
    """Every document there is, in the places where they are looked for; all of them good for `max_age` seconds."""

    def publish(path: str, document: object, at: str = host, **how: Any) -> None:
        internet.publish(at, path, document, **{"max_age": max_age, **how})

    publish(MANIFEST, manifest(host))
    publish("/.well-known/agent-card.json", agent_card(host))
    publish("/.well-known/mcp/server-card.json", server_card(host))
    skill = {"name": "quote", "type": "skill-md", "description": "Quotes an item.", "url": "quote/SKILL.md"}
    digest = f"sha256:{hashlib.sha256(SKILL).hexdigest()}"
    schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
    publish("/.well-known/agent-skills/index.json", {"$schema": schema, "skills": [{**skill, "digest": digest}]})
    publish("/.well-known/agent-skills/quote/SKILL.md", SKILL, media_type="text/markdown")
    publish(
        "/.well-known/pointed.json",
        catalog(host, ("application/mcp-server-card+json", f"https://{host}/cards/quotes.json")),
    )
    publish("/cards/quotes.json", server_card(host), media_type="application/mcp-server-card+json")
    publish("/.well-known/ai-catalog.json", catalog(host))
    publish("/.well-known/ard.json", catalog(host))
    described_by = [{"anchor": f"https://{host}/", "service-desc": [{"href": f"https://{host}/openapi.json"}]}]
    publish("/.well-known/api-catalog", {"linkset": described_by}, media_type="application/linkset+json")
    publish(
        "/robots.txt",
        f"User-agent: *\nAllow: /\nSitemap: https://{host}/sitemap.xml\n".encode(),
        media_type="text/plain",
    )
    publish("/llms.txt", f"# Quotes\n\n- [Prices](https://{host}/prices.md)\n".encode(), media_type="text/markdown")
    publish(
        "/", b"<html></html>", media_type="text/html", fields=(("Link", '</openapi.json>; rel="service-desc"'),)
    )
    publish("/.well-known/oauth-authorization-server", authorization_server(), "auth.example.com")
