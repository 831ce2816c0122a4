"""Discovery classes: which documents are known, how they are found by path, what holds for them.

Paths match `/.well-known/NAME` at the root or under any path prefix. RFC 8414 and RFC 9728 insert the
well-known part before the path of the issuer or resource, so those names also match with a path behind them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class DocumentClass(StrEnum):
    MANIFEST = "manifest"
    AI_CATALOG = "ai-catalog"
    AGENT_CARD = "agent-card"
    MCP_SERVER_CARD = "mcp-server-card"
    API_CATALOG = "api-catalog"
    AGENT_SKILLS = "agent-skills"
    OAUTH_AS = "oauth-as"
    OAUTH_PR = "oauth-pr"
    DID = "did"
    OPENAPI = "openapi"
    LLMS = "llms"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    AID = "aid"
    OTHER = "other"


class DocumentFormat(StrEnum):
    """What the bytes of a class may be; the gate holds them to it."""

    JSON = "json"
    JSON_OR_YAML = "json-or-yaml"
    TEXT = "text"
    XML_OR_TEXT = "xml-or-text"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class ClassPolicy:
    """What holds for a class; durations in seconds, sizes in bytes after content coding is removed.

    The three lifetimes apply only where the origin says nothing. `max_body` None: the configured
    `cache.max_body` applies.
    """

    format: DocumentFormat
    lifetime: float
    stale_while_revalidate: float
    stale_if_error: float
    max_body: int | None


_HOUR: Final = 3600.0
_DAY: Final = 86400.0

# The numbers AID itself prescribes, those for cards and catalogs, those for long texts.
_AID_BODY: Final = 64 * 1024
_CARD_BODY: Final = 1024 * 1024
_TEXT_BODY: Final = 4 * 1024 * 1024


def _card(lifetime: float, stale_while_revalidate: float, stale_if_error: float = _DAY) -> ClassPolicy:
    return ClassPolicy(DocumentFormat.JSON, lifetime, stale_while_revalidate, stale_if_error, _CARD_BODY)


def _text(accepted: DocumentFormat, stale_while_revalidate: float = _DAY) -> ClassPolicy:
    return ClassPolicy(accepted, _HOUR, stale_while_revalidate, _DAY, _TEXT_BODY)


POLICIES: Final[Mapping[DocumentClass, ClassPolicy]] = MappingProxyType(
    {
        DocumentClass.MANIFEST: _card(300, _HOUR),
        DocumentClass.AI_CATALOG: _card(300, _HOUR),
        DocumentClass.AGENT_CARD: _card(300, _HOUR),
        DocumentClass.MCP_SERVER_CARD: _card(_HOUR, _HOUR),
        DocumentClass.API_CATALOG: _card(_HOUR, _HOUR),
        DocumentClass.AGENT_SKILLS: _card(300, _HOUR),
        DocumentClass.OAUTH_AS: _card(_HOUR, 300),
        DocumentClass.OAUTH_PR: _card(_HOUR, 300),
        # Keys decide what is trusted, so they age faster than what they vouch for.
        DocumentClass.DID: _card(300, 300, _HOUR),
        # As long-lived as the api-catalog that points to it.
        DocumentClass.OPENAPI: _text(DocumentFormat.JSON_OR_YAML, _HOUR),
        DocumentClass.LLMS: _text(DocumentFormat.TEXT),
        # RFC 9309 §2.4: not used for more than 24 hours while it can be fetched.
        DocumentClass.ROBOTS: _text(DocumentFormat.TEXT, _DAY - _HOUR),
        DocumentClass.SITEMAP: _text(DocumentFormat.XML_OR_TEXT),
        DocumentClass.AID: ClassPolicy(DocumentFormat.JSON, 300, 0, 0, _AID_BODY),
        DocumentClass.OTHER: ClassPolicy(DocumentFormat.ANY, 0, 0, 0, None),
    }
)

# By what follows `/.well-known/`, case-sensitively and to the end: a trailing slash is another resource.
_WELL_KNOWN: Final[Mapping[str, DocumentClass]] = {
    "uaix-agent-access.json": DocumentClass.MANIFEST,
    "ai-catalog.json": DocumentClass.AI_CATALOG,
    "ard.json": DocumentClass.AI_CATALOG,
    "agent-card.json": DocumentClass.AGENT_CARD,
    "agent.json": DocumentClass.AGENT_CARD,  # A2A up to 0.2
    "mcp/server-card.json": DocumentClass.MCP_SERVER_CARD,
    "mcp/server-card": DocumentClass.MCP_SERVER_CARD,
    "mcp/catalog.json": DocumentClass.MCP_SERVER_CARD,
    "mcp-server-card": DocumentClass.MCP_SERVER_CARD,
    "mcp-server-card.json": DocumentClass.MCP_SERVER_CARD,
    "mcp.json": DocumentClass.MCP_SERVER_CARD,
    "mcp": DocumentClass.MCP_SERVER_CARD,
    "api-catalog": DocumentClass.API_CATALOG,
    "agent-skills/index.json": DocumentClass.AGENT_SKILLS,
    "skills/index.json": DocumentClass.AGENT_SKILLS,  # v0.1.0
    "did.json": DocumentClass.DID,
    "agent": DocumentClass.AID,
}

# RFC 8414 §3.1, RFC 9728 §3.1 and the OpenID form, with or without an inserted path behind.
_PATH_INSERTED: Final[Mapping[str, DocumentClass]] = {
    "oauth-authorization-server": DocumentClass.OAUTH_AS,
    "openid-configuration": DocumentClass.OAUTH_AS,
    "oauth-protected-resource": DocumentClass.OAUTH_PR,
}

_ROOT_FILES: Final[Mapping[str, DocumentClass]] = {
    "openapi.json": DocumentClass.OPENAPI,
    "openapi.yaml": DocumentClass.OPENAPI,
    "llms.txt": DocumentClass.LLMS,
    "llms-full.txt": DocumentClass.LLMS,
    "sitemap.xml": DocumentClass.SITEMAP,
    "robots.txt": DocumentClass.ROBOTS,  # RFC 9309 §2.3: nowhere but at the root
}

# A DID without a path lives under `/.well-known/`, so `/did.json` itself belongs to no DID.
_PREFIXED_FILES: Final[Mapping[str, DocumentClass]] = {
    **{name: found for name, found in _ROOT_FILES.items() if found is not DocumentClass.ROBOTS},
    "did.json": DocumentClass.DID,
}


WELL_KNOWN_PATHS: Final = (*(f"/.well-known/{name}" for name in _WELL_KNOWN), *(f"/{name}" for name in _ROOT_FILES))
"""Where the documents of a whole domain lie."""


def classify(path: str) -> DocumentClass:
    """The class of the document at `path` (RFC 3986 normal form, no query)."""
    _, well_known, name = path.partition("/.well-known/")
    if well_known:
        found = _WELL_KNOWN.get(name) or _PATH_INSERTED.get(name.partition("/")[0])
        if found is not None:
            return found
    directory, _, file = path.rpartition("/")
    return (_PREFIXED_FILES if directory else _ROOT_FILES).get(file, DocumentClass.OTHER)
