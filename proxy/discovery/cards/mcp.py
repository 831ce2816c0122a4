"""MCP server cards: what a server says it is, and where its card is looked for (DISCOVERY_FORMATS §5.2).

A card is advisory: what the running server says wins, and tools listed in a card are never its live list (MCP-4).
It is served whatever its findings, and routed to only where it has an endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from proxy.discovery.cards.mcpendpoints import MOST_ENDPOINTS, Endpoint, Shape, read_endpoints
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject
from proxy.http.targets import Target

WELL_KNOWN_CARD: Final = "/.well-known/mcp/server-card.json"

_RULES: Final = "MCP-2"
_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_NAME: Final = re.compile(r"[A-Za-z0-9.-]+/[A-Za-z0-9._-]+")
# `^1.2`, `>=1`, `1.x`, `1 || 2`: a card describes one version.
_RANGE: Final = re.compile(r"[\^~<>=*|\s]|(?:^|\.)[xX](?:\.|\Z)")
_LIVE_LISTS: Final = ("tools", "resources", "prompts")


@dataclass(frozen=True, slots=True)
class ServerCard:
    """A card as read; texts are the publisher's, None where absent or no text."""

    shape: Shape
    name: str | None
    version: str | None
    description: str | None
    endpoints: tuple[Endpoint, ...]
    """Streamable HTTP first, SSE last (MCP-6), otherwise in the card's order."""
    findings: tuple[Finding, ...]


def read_server_card(card: JsonObject, base: Target) -> ServerCard:
    """The card in an object, whatever its layout."""
    findings: list[Finding] = []
    shape, endpoints = read_endpoints(card, base, findings)
    findings += _layout_findings(card)
    server = card.get("serverInfo")
    named: JsonObject = {**server, **card} if isinstance(server, dict) else card
    name, version, description = (_text(named.get(member)) for member in ("name", "version", "description"))
    return ServerCard(shape, name, version, description, endpoints, tuple(findings))


def server_card_url(endpoint: Target) -> Target:
    """Where the card of a Streamable HTTP endpoint is served (MCP-1); the endpoint's query is not carried there."""
    return replace(endpoint, path=f"{endpoint.path.removesuffix('/')}/server-card", query=None)


def card_probes(site: Target, catalogued: Target | None, endpoint: Target | None) -> tuple[Target, ...]:
    """The places to ask for the card of `site`, in the order of MCP-1; there are no others.

    `catalogued`: the URL that a catalog gives. `endpoint`: where the server is known to listen.
    """
    derived = None if endpoint is None else server_card_url(endpoint)
    well_known = replace(site, path=WELL_KNOWN_CARD, query=None)
    return tuple(dict.fromkeys(place for place in (catalogued, derived, well_known) if place is not None))


def _layout_findings(card: JsonObject) -> Iterator[Finding]:
    """SEP-2127 for a card that means to be one; any other layout is a warning."""
    is_current = "$schema" in card or isinstance(card.get("remotes"), list)
    if is_current:
        yield from _member_findings(card)
    else:
        yield Finding(_RULES, "", "The card is not in the layout of SEP-2127.", True)
    for name in _LIVE_LISTS:
        if isinstance(card.get(name), list):
            detail = f"A card lists no {name}: the running server does."
            yield Finding(_RULES if is_current else "MCP-4", pointer(name), detail, not is_current)


def _member_findings(card: JsonObject) -> Iterator[Finding]:
    if card.get("$schema") != _SCHEMA:
        yield Finding(_RULES, "/$schema", "$schema is not that of server cards, version 1, without a date.")
    name = _text(card.get("name"))
    if name is None or not 3 <= len(name) <= 200 or _NAME.fullmatch(name) is None:
        yield Finding(_RULES, "/name", "name is no reverse-DNS name, slash and server name of 3 to 200 characters.")
    version = _text(card.get("version"))
    if version is None or len(version) > 255 or _RANGE.search(version) is not None:
        yield Finding(_RULES, "/version", "version is no single version of at most 255 characters.")
    description = _text(card.get("description"))
    if description is None or len(description) > 100:
        yield Finding(_RULES, "/description", "description is no text of 1 to 100 characters.")
    remotes = card.get("remotes", [])
    if not isinstance(remotes, list):
        yield Finding(_RULES, "/remotes", "remotes is no list.")
    elif wrong := [index for index, remote in enumerate(remotes[:MOST_ENDPOINTS]) if not _is_remote(remote)]:
        yield Finding(
            _RULES,
            pointer("remotes", wrong[0]),
            f"{len(wrong)} of the remotes lack url or a type of the two defined.",
        )


def _is_remote(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") in ("streamable-http", "sse")
        and _text(value.get("url")) is not None
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
