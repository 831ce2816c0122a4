"""The gate: are these bytes a document of the class at whose path they were served?

A 200 is often something else: one page for every path, an empty body, an error as JSON. Such an answer is
absence and never replaces a good copy. The gate asks for identifying members only, because deployed
documents break their schemas in many harmless ways: what passes here may still fail `lint`.

Invariants: no bytes make it raise; no part of the body appears in a verdict; the media type is a hint, and
the only thing it can tell is that the body is HTML. `read_document` is the gate for those who go on reading: one
parse serves both. `is_of_kind` is for those who may know of no class: what is for people can be told even then.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, cast

from proxy.discovery.classes import POLICIES, DocumentClass, DocumentFormat
from proxy.discovery.jsontext import JsonDocument, JsonObject, MalformedJson, parse_json, read_json
from proxy.http.fields import essence


class MediaKind(StrEnum):
    """What an accepted body turned out to be."""

    JSON = "json"
    YAML = "yaml"
    TEXT = "text"
    XML = "xml"
    OPAQUE = "opaque"


class GateReason(StrEnum):
    EMPTY = "empty"
    HTML = "html"
    NOT_UTF_8 = "not-utf-8"
    NOT_JSON = "not-json"
    TOO_DEEP = "too-deep"
    TOO_MANY = "too-many"
    NOT_AN_OBJECT = "not-an-object"
    MEMBERS_MISSING = "members-missing"
    NOT_TEXT = "not-text"
    NOT_A_SITEMAP = "not-a-sitemap"


@dataclass(frozen=True, slots=True)
class Document:
    """A body that is of its class."""

    kind: MediaKind


@dataclass(frozen=True, slots=True)
class NotADocument:
    """A body that is something else; `detail` is for people and repeats nothing of the body."""

    reason: GateReason
    detail: str


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_text_or_object(value: object) -> bool:
    return _is_text(value) or _is_object(value)


def _is_site(value: object) -> bool:
    return isinstance(value, dict) and _is_text(value.get("url"))


def _is_mcp_endpoints(value: object) -> bool:
    return isinstance(value, dict) and "mcp" in value


def _is_did(value: object) -> bool:
    return isinstance(value, str) and value.startswith("did:")


def _is_aid_version(value: object) -> bool:
    return isinstance(value, str) and value.startswith("aid")


# Any one row of a class identifies it; a row needs all its members. One row per generation or dialect.
_IDENTIFYING_MEMBERS: Final[Mapping[DocumentClass, tuple[Mapping[str, Callable[[object], bool]], ...]]] = {
    # A missing profileId or routes downgrades the client, it does not reject (U-M2, U-M5). The titled rows
    # are the header with which UAIX digests begin; a live manifest may be one of those.
    DocumentClass.MANIFEST: (
        {"profileId": _is_text},
        {"profile_id": _is_text},
        {"site": _is_site},
        {"title": _is_text, "canonical_url": _is_text},
        {"title": _is_text, "canonical_route": _is_text},
        {"title": _is_text, "human_page": _is_text},
    ),
    DocumentClass.AI_CATALOG: ({"entries": _is_list},),  # CAT-1, all three dialects
    DocumentClass.AGENT_CARD: (  # A2A-1
        {"name": _is_text, "supportedInterfaces": _is_list},
        {"name": _is_text, "protocolVersion": _is_text},
        {"name": _is_text, "preferredTransport": _is_text},
        {"name": _is_text, "url": _is_text},
        {"aid_version": _is_text, "identity": _is_object},  # DA-11: DNS-AID's document under the same old name
    ),
    # MCP-2 and the shapes of MCP-3; the lists are what `mcp/catalog.json` and `mcp.json` hold. A bare `url`
    # or `endpoints` is found in error bodies as well.
    DocumentClass.MCP_SERVER_CARD: (
        {"remotes": _is_list},
        {"serverInfo": _is_object},
        {"transport": _is_text_or_object},
        {"transports": _is_object},
        {"endpoint": _is_text},
        {"serverUrl": _is_text},
        {"endpoints": _is_mcp_endpoints},
        {"name": _is_text, "version": _is_text},
        {"name": _is_text, "url": _is_text},
        {"servers": _is_list},
        {"mcpServers": _is_object},
        {"entries": _is_list},
    ),
    DocumentClass.API_CATALOG: ({"linkset": _is_list},),
    DocumentClass.AGENT_SKILLS: ({"skills": _is_list},),
    DocumentClass.OAUTH_AS: ({"issuer": _is_text},),
    DocumentClass.OAUTH_PR: ({"resource": _is_text},),
    DocumentClass.DID: ({"id": _is_did},),
    DocumentClass.OPENAPI: ({"openapi": _is_text}, {"swagger": _is_text}),
    DocumentClass.AID: ({"v": _is_aid_version, "uri": _is_text}, {"v": _is_aid_version, "u": _is_text}),
}

_EMPTY: Final = NotADocument(GateReason.EMPTY, "the body is empty")
_HTML: Final = NotADocument(GateReason.HTML, "the body is markup or declared as text/html")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_CONTROL_OCTETS: Final = bytes(set(range(0x20)) - set(b"\t\n\v\f\r")) + b"\x7f"
_YAML_OPENAPI: Final = re.compile(rb"""^["']?(?:openapi|swagger)["']?[ \t]*:""", re.MULTILINE)
# The first element's local name, after declaration, comments and document type. Possessive: no backtracking.
_XML_ROOT: Final = re.compile(
    rb"(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>]*>)*+<(?:[\w.-]+:)?([\w.-]+)", re.DOTALL | re.IGNORECASE
)

PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
"""Media types of what is meant for people."""
_DOCTYPE: Final = b"<!doctype html"
# Where a page begins to be one; nothing after it is looked at.
_BEGINNING: Final = 1024

_WEB_PAGE: Final = re.compile(
    rb"<(?:[!?]|(?:html|head|body|title|meta|link|script|style|base|div|span|p|h[1-6]|a|table|form|main|section|"
    rb"article|nav|header|footer|center|br|hr|img|ul|ol|svg|pre|error)\b)",
    re.IGNORECASE,
)


def gate(document_class: DocumentClass, media_type: str | None, body: bytes) -> Document | NotADocument:
    """Judge the body of a 200, content coding removed (C-15, C-16). Never raises.

    `media_type` is the Content-Type value, parameters included. An empty robots.txt is a document: it allows
    everything (RFC 9309 §2.2.2).
    """
    accepted = POLICIES[document_class].format
    if accepted is DocumentFormat.ANY:
        return Document(MediaKind.OPAQUE)
    content = body.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not content:
        if document_class is DocumentClass.ROBOTS:
            return Document(MediaKind.TEXT)
        return _EMPTY
    if accepted is DocumentFormat.XML_OR_TEXT:
        return _gate_sitemap(content)
    if essence(media_type) == "text/html" or _is_markup(document_class, content):
        return _HTML
    if accepted is DocumentFormat.TEXT:
        return _gate_text(content)
    if accepted is DocumentFormat.JSON_OR_YAML and not content.startswith(b"{"):
        return _gate_openapi_yaml(content)
    return _gate_json(document_class, body)


def read_document(document_class: DocumentClass, body: bytes) -> JsonDocument | NotADocument:
    """What a JSON body of the class holds, or the gate's refusal of it. Never raises."""
    content = body.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not content:
        return _EMPTY
    if content.startswith(b"<"):
        return _HTML
    try:
        text = read_json(body)
    except MalformedJson as error:
        return NotADocument(GateReason(error.reason), error.detail)
    refused = _refusal(document_class, text.value)
    return refused or JsonDocument(cast(JsonObject, text.value), text.has_repeated_names)


def is_page(media_type: str | None, body: bytes) -> bool:
    """Whether a body, content coding removed, is a web page, which no agent was looking for. Never raises.

    By its media type, or by how it begins: a document type or a root element of HTML. `media_type` as for `gate`.
    """
    if essence(media_type) in PAGES:
        return True
    content = body[:_BEGINNING].removeprefix(_BYTE_ORDER_MARK).lstrip()
    root = _XML_ROOT.match(content)
    return content[: len(_DOCTYPE)].lower() == _DOCTYPE or (root is not None and root[1].lower() == b"html")


def is_of_kind(document_class: DocumentClass, media_type: str | None, body: bytes) -> bool:
    """Whether a body passes the gate, and as OTHER, which has none, is at least no web page. Never raises."""
    if POLICIES[document_class].format is DocumentFormat.ANY:
        return not is_page(media_type, body)
    return isinstance(gate(document_class, media_type, body), Document)


def _is_markup(document_class: DocumentClass, content: bytes) -> bool:
    """Markdown for agents may begin with a tag of its own making; every web page begins with one of HTML's."""
    if document_class is DocumentClass.LLMS:
        return _WEB_PAGE.match(content) is not None
    return content.startswith(b"<")


def _gate_json(document_class: DocumentClass, body: bytes) -> Document | NotADocument:
    try:
        value = parse_json(body)
    except MalformedJson as error:
        return NotADocument(GateReason(error.reason), error.detail)
    return _refusal(document_class, value) or Document(MediaKind.JSON)


def _refusal(document_class: DocumentClass, value: object) -> NotADocument | None:
    """Why a JSON value is no document of the class."""
    if not isinstance(value, dict):
        return NotADocument(GateReason.NOT_AN_OBJECT, "the JSON text is not an object")
    rows = _IDENTIFYING_MEMBERS[document_class]
    if any(all(check(value.get(name)) for name, check in row.items()) for row in rows):
        return None
    expected = ", or ".join(" with ".join(row) for row in rows)
    return NotADocument(GateReason.MEMBERS_MISSING, f"expected {expected}")


def _is_json(content: bytes) -> bool:
    try:
        parse_json(content)
    except MalformedJson:
        return False
    return True


def _is_plain(content: bytes) -> bool:
    """No control octets; any charset that extends ASCII, since robots.txt in Latin-1 is still one."""
    return len(content.translate(None, _CONTROL_OCTETS)) == len(content)


def _gate_text(content: bytes) -> Document | NotADocument:
    if not _is_plain(content):
        return NotADocument(GateReason.NOT_TEXT, "the body holds control octets")
    # An error as JSON; a Markdown text may begin with a bracket too, so it has to parse.
    if content.startswith((b"{", b"[", b'"')) and _is_json(content):
        return NotADocument(GateReason.NOT_TEXT, "the body is a JSON text")
    return Document(MediaKind.TEXT)


def _gate_openapi_yaml(content: bytes) -> Document | NotADocument:
    if not _is_plain(content):
        return NotADocument(GateReason.NOT_TEXT, "the body holds control octets")
    if not _YAML_OPENAPI.search(content):
        return NotADocument(GateReason.MEMBERS_MISSING, "expected openapi, or swagger")
    return Document(MediaKind.YAML)


def _gate_sitemap(content: bytes) -> Document | NotADocument:
    if not content.startswith(b"<"):
        if all(line.startswith((b"http://", b"https://")) for line in content.split(b"\n") if line.strip()):
            return Document(MediaKind.TEXT)
        return NotADocument(GateReason.NOT_A_SITEMAP, "neither XML nor a list of URLs")
    root = _XML_ROOT.match(content)
    name = root[1].lower() if root else b""
    if name in (b"urlset", b"sitemapindex"):
        return Document(MediaKind.XML)
    if name == b"html":
        return NotADocument(GateReason.HTML, "the root element is html")
    return NotADocument(GateReason.NOT_A_SITEMAP, "the root element is neither urlset nor sitemapindex")
