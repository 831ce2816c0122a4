"""What example.com publishes, not yet signed: records in DNS, documents, and a page for everything else."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

HOST: Final = "example.com"
AUTHORIZATION_HOST: Final = "auth.example.com"
REGISTRY_HOST: Final = "registry.example.net"
MIRROR_HOSTS: Final = ("mirror1.example.net", "mirror2.example.org")
REVIEW_URL: Final = "https://example.com/review/transactions"
ZONE: Final = """\
$ORIGIN example.com.
$TTL 300
@ SOA ns hostmaster 1 3600 600 86400 60
@ NS ns
_agent TXT "v=uaix1; endpoint=https://example.com/.well-known/uaix-agent-access.json; did=did:web:example.com"
_agent TXT "v=aid2;u=https://example.com/mcp;p=mcp;s=Market tools"
_index._agents SVCB 1 @ alpn="h2" port=443 key65280="/.well-known/ai-catalog.json"
"""


@dataclass(frozen=True)
class Document:
    """One resource of `host`. `name` is for people; an empty `cache_control` is not sent."""

    name: str
    path: str
    media_type: str
    body: bytes
    cache_control: str = ""
    host: str = HOST

    @property
    def url(self) -> str:
        """Where agents find it."""
        return f"https://{self.host}{self.path}"

    @cached_property
    def etag(self) -> str:
        """A strong validator: another body has another one."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=2).encode()


_MANIFEST: Final[dict[str, Any]] = {
    "profileId": "uaix.ai-ready-web.manifest.v1",
    "site": {"name": "Decentralized Finance Node", "url": "https://example.com/"},
    "readinessProfiles": ["ARW-F0", "ARW-F1", "ARW-F2", "ARW-F3"],
    "discovery": {
        "robots": "https://example.com/robots.txt",
        "llms": "https://example.com/llms.txt",
        "openapi": "https://example.com/api/v1/openapi.json",
        "x-auth-metadata": "https://auth.example.com/.well-known/oauth-authorization-server",
    },
    "routes": [
        {
            "abilityLevel": "L1",
            "method": "GET",
            "highestSupportedPath": "/api/v1/public/markets",
            "lowestSafeFallback": "/markets.html",
            "sideEffecting": False,
        },
        {
            "abilityLevel": "L4",
            "method": "POST",
            "highestSupportedPath": "/api/v1/secure/transactions",
            "requiresAuthentication": True,
            "authUnavailableFallback": "https://example.com/login",
            "noOpBehavior": "human_review_required",
            "humanReviewUrl": REVIEW_URL,
        },
    ],
    "x-independent-mirrors": [
        "https://mirror1.example.net/.well-known/uaix-agent-access.json",
        "ipfs://QmYwAPJzv5CZsnA625s3Xf2sm5Dsg7C733d",  # as people mistype it: no CID at all
        "https://mirror2.example.org/.well-known/uaix-agent-access.json",
    ],
    "supportBoundary": "Public discovery and evidence only; no runtime authority.",
}

# Lifetimes of seconds, where a publisher would take minutes to days, so that the demo can wait for their end.
MANIFEST: Final = Document(
    "manifest",
    "/.well-known/uaix-agent-access.json",
    "application/json",
    _json(_MANIFEST),
    "public, max-age=2, stale-while-revalidate=2, stale-if-error=6",
)
REVISED_MANIFEST: Final = replace(
    MANIFEST, body=_json(_MANIFEST | {"site": {"name": "Finance Node, renamed", "url": "https://example.com/"}})
)

_FOR_THE_WHOLE_DEMO: Final = "public, max-age=600, stale-if-error=86400"

AGENT_CARD: Final = Document(
    "agent-card",
    "/.well-known/agent-card.json",
    "application/json",
    _json(
        {
            "name": "Market Agent",
            "description": "Answers questions about public markets.",
            "version": "1.0.0",
            "supportedInterfaces": [
                {
                    "url": "https://example.com/a2a",
                    "protocolBinding": "HTTP+JSON",
                    "protocolVersion": "1.0",
                }
            ],
            "capabilities": {"streaming": False},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["application/json"],
            "skills": [
                {
                    "id": "quote",
                    "name": "Quote",
                    "description": "The last price of a market.",
                    "tags": ["markets"],
                }
            ],
        }
    ),
    _FOR_THE_WHOLE_DEMO,
)

LLMS: Final = Document(
    "llms.txt",
    "/llms.txt",
    "text/markdown; charset=utf-8",
    b"# Decentralized Finance Node\n\n> Public market data for people and agents.\n\n"
    b"## Data\n\n- [Markets](https://example.com/markets.html): every market, as a page\n",
    _FOR_THE_WHOLE_DEMO,
)

AUTHORIZATION: Final = Document(
    "oauth",
    "/.well-known/oauth-authorization-server",
    "application/json",
    _json(
        {
            "issuer": "https://auth.example.com",
            "authorization_endpoint": "https://auth.example.com/authorize",
            "token_endpoint": "https://auth.example.com/token",
            "token_endpoint_auth_methods_supported": ["private_key_jwt"],
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
    ),
    _FOR_THE_WHOLE_DEMO,
)

SERVER_CARD: Final = Document(
    "mcp card",
    "/.well-known/mcp/server-card.json",
    "application/json",
    _json(
        {
            "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
            "name": "com.example/markets",
            "version": "1.0.0",
            "description": "Prices of public markets.",
            "remotes": [{"type": "streamable-http", "url": "https://example.com/mcp"}],
        }
    ),
    _FOR_THE_WHOLE_DEMO,
)

ROBOTS: Final = Document("robots", "/robots.txt", "text/plain", b"User-agent: *\nAllow: /\n", _FOR_THE_WHOLE_DEMO)

PUBLISHED: Final = (MANIFEST, AGENT_CARD, SERVER_CARD, LLMS, ROBOTS, AUTHORIZATION)

MOVED_CARD: Final = replace(AGENT_CARD, path="/agents/market.json")

CATALOG: Final = Document(
    "catalog",
    "/catalog.json",
    "application/ai-catalog+json",
    _json(
        {
            "specVersion": "1.0",
            "host": {"displayName": "A registry that nobody has to believe"},
            "entries": [
                {
                    "identifier": f"urn:air:{HOST}:{kind}:market",
                    "displayName": f"Market {kind}",
                    "type": media_type,
                    "url": document.url,
                }
                for kind, media_type, document in (
                    ("agent", "application/a2a-agent-card+json", AGENT_CARD),
                    ("server", "application/mcp-server-card+json", SERVER_CARD),
                )
            ],
        }
    ),
    _FOR_THE_WHOLE_DEMO,
    REGISTRY_HOST,
)

# Nothing to be read: what agents post.
ORDER: Final = Document(
    "order",
    "/api/v1/secure/transactions",
    "application/json",
    _json({"market": "EUR-CHF", "side": "buy", "amount": "100.00"}),
)

CATCH_ALL: Final = Document(
    "page",
    "/",
    "text/html; charset=utf-8",
    b"<!doctype html><title>Decentralized Finance Node</title><p>There is nothing else here.</p>",
    "public, max-age=600",
)

# Published nowhere: the origin answers these with its page.
AI_CATALOG: Final = Document("ai-catalog", "/.well-known/ai-catalog.json", "application/json", b"")
OPENAPI: Final = Document("openapi", "/api/v1/openapi.json", "application/json", b"")
