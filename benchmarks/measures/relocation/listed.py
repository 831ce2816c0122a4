"""Catalogs of ten thousand endpoints as they are fetched: about 3 MB, written without spaces."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.measures.relocation.recorded import endpoint
from proxy.catalogs.catalog import Catalog
from proxy.catalogs.reading import read_catalog
from proxy.http.targets import Target, parse_target
from proxy.http.timestamps import timestamp

ENTRIES: Final = 10_000
_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_OFFICIAL: Final = "io.modelcontextprotocol.registry/official"


@dataclass(frozen=True, slots=True)
class Listing:
    """The body of a catalog at `url`, whose member `member` lists the endpoints in the order of their numbers."""

    name: str
    url: Target
    media_type: str
    member: str
    body: bytes

    def read(self) -> Catalog:
        """As the engine reads it."""
        return read_catalog(self.body, self.media_type, self.url)

    def urls(self, body: bytes) -> list[str]:
        """The endpoints that an edited body lists."""
        return [_url(element) for element in json.loads(body)[self.member]]


def ai_catalog(now: float) -> Listing:
    """An AI Catalog, every entry with the members that generators write."""
    document = {
        "specVersion": "1.0",
        "host": {"displayName": "Example catalog", "identifier": "did:web:catalog.example.net"},
        "entries": [_entry(number, now) for number in range(ENTRIES)],
    }
    url = parse_target("https://catalog.example.net/.well-known/ai-catalog.json")
    return Listing("AI Catalog", url, "application/ai-catalog+json", "entries", _octets(document))


def registry_list(now: float) -> Listing:
    """The answer of an MCP registry, every server with one remote."""
    document = {
        "servers": [_server(number, now) for number in range(ENTRIES)],
        "metadata": {"count": ENTRIES, "nextCursor": f"com.example/server-{ENTRIES}:1.4.2"},
    }
    url = parse_target("https://registry.example.net/v0.1/servers")
    return Listing("MCP registry list", url, "application/json", "servers", _octets(document))


def _entry(number: int, now: float) -> dict[str, object]:
    return {
        "identifier": f"urn:air:example.com:mcp:server-{number}",
        "displayName": f"Server {number}",
        "type": "application/mcp-server-card+json",
        "url": endpoint(number),
        "description": f"Finds and books on behalf of customer {number}.",
        "tags": ["search", "booking"],
        "version": "1.4.2",
        "updatedAt": timestamp(now - 86_400 - number, "seconds"),
    }


def _server(number: int, now: float) -> dict[str, object]:
    at = timestamp(now - 86_400 - number, "seconds")
    server = {
        "$schema": _SCHEMA,
        "name": f"com.example/server-{number}",
        "description": f"Books for customer {number}.",
        "version": "1.4.2",
        "remotes": [{"type": "streamable-http", "url": endpoint(number)}],
    }
    official = {"status": "active", "publishedAt": at, "updatedAt": at, "isLatest": True}
    return {"server": server, "_meta": {_OFFICIAL: official}}


def _url(element: dict[str, Any]) -> str:
    server = element.get("server")
    return str(element["url"] if server is None else server["remotes"][0]["url"])


def _octets(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
