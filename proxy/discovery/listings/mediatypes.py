"""Media types (RFC 9110 §8.3.1) as catalog entries state them, and the kind of document that each one claims.

A stated type is a claim (CAT-5): what was fetched decides. Types compare by their *essence*, type and subtype in
lower case; parameters are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_ESSENCE: Final = re.compile(rf"[ \t]*+({_TOKEN}++/{_TOKEN}++)[ \t]*+")
_PARAMETER: Final = re.compile(
    rf';[ \t]*+(?:({_TOKEN}++)=(?:({_TOKEN}++)|"((?:[^"\\]|\\.)*+)")[ \t]*+)?+', re.DOTALL
)
_QUOTED_PAIR: Final = re.compile(r"\\(.)", re.DOTALL)


class EntryKind(StrEnum):
    """What an entry of a catalog points to (CAT-6)."""

    AGENT_CARD = "agent-card"
    MCP_SERVER_CARD = "mcp-server-card"
    CATALOG = "catalog"
    SKILL = "skill"
    PLUGIN = "plugin"
    REGISTRY = "registry"
    LINKSET = "linkset"
    OPENAPI = "openapi"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class MediaType:
    """A media type; `parameters` in order, names in lower case, values unquoted."""

    essence: str
    parameters: tuple[tuple[str, str], ...]


LONGEST_TYPE: Final = 1024
"""Characters, parameters included; what is longer is no media type."""

# A legacy type is understood and not to be used for new entries.
LEGACY_TYPES: Final = frozenset({"application/ai-skill", "application/ai-skill+md", "text/markdown"})

_KINDS: Final[Mapping[str, EntryKind]] = {
    "application/a2a-agent-card+json": EntryKind.AGENT_CARD,
    "application/mcp-server-card+json": EntryKind.MCP_SERVER_CARD,
    "application/ai-catalog+json": EntryKind.CATALOG,
    "application/agent-skills+json": EntryKind.SKILL,
    "application/agent-skills+md": EntryKind.SKILL,
    "application/agent-skills+zip": EntryKind.SKILL,
    "application/agent-skills+gzip": EntryKind.SKILL,
    "application/agent-plugins+zip": EntryKind.PLUGIN,
    "application/agent-plugins+gzip": EntryKind.PLUGIN,
    "application/ai-registry+json": EntryKind.REGISTRY,
    "application/linkset+json": EntryKind.LINKSET,
    "application/openapi+json": EntryKind.OPENAPI,
    # TX-4: OpenAPI's own names for it.
    "application/vnd.oai.openapi": EntryKind.OPENAPI,
    "application/vnd.oai.openapi+json": EntryKind.OPENAPI,
    **dict.fromkeys(LEGACY_TYPES, EntryKind.SKILL),
}


def parse_media_type(text: str) -> MediaType | None:
    """The media type that the text states; None when it states none."""
    match = _ESSENCE.match(text) if len(text) <= LONGEST_TYPE else None
    if match is None:
        return None
    essence = match[1].lower()
    parameters: list[tuple[str, str]] = []
    while match.end() < len(text):
        match = _PARAMETER.match(text, match.end())
        if match is None:
            return None
        name, token, quoted = match.groups()
        if name is not None:
            value = _QUOTED_PAIR.sub(r"\1", quoted) if token is None else token
            parameters.append((name.lower(), value))
    return MediaType(essence, tuple(parameters))


def kind_of(essence: str) -> EntryKind:
    """The kind that an essence claims; OTHER for any that says too little or is unknown."""
    return _KINDS.get(essence, EntryKind.OTHER)
