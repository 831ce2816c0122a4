"""Documents from their octets: by the gate of their class, then by their reader, as discovery takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from proxy.discovery.authorization.metadata import (
    AuthorizationServer,
    ProtectedResource,
    read_authorization_server,
    read_protected_resource,
)
from proxy.discovery.cards.a2a import AgentCard, read_card
from proxy.discovery.cards.mcp import ServerCard, read_server_card
from proxy.discovery.classes import DocumentClass
from proxy.discovery.gate import NotADocument, read_document
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.listings.linkset import Linkset, read_linkset
from proxy.discovery.listings.skills import SkillsIndex, UnknownSchema, read_skills
from proxy.http.targets import Target

Value = TypeVar("Value")


def _read(
    document_class: DocumentClass, body: bytes, reader: Callable[[JsonObject], Value]
) -> Value | NotADocument:
    document = read_document(document_class, body)
    return document if isinstance(document, NotADocument) else reader(document.members)


def parse_card(body: bytes, base: Target) -> AgentCard | NotADocument:
    return _read(DocumentClass.AGENT_CARD, body, lambda members: read_card(members, base))


def parse_server_card(body: bytes, base: Target) -> ServerCard | NotADocument:
    return _read(DocumentClass.MCP_SERVER_CARD, body, lambda members: read_server_card(members, base))


def parse_linkset(body: bytes, base: Target | None) -> Linkset | NotADocument:
    return _read(DocumentClass.API_CATALOG, body, lambda members: read_linkset(members, base))


def parse_skills(body: bytes, base: Target | None) -> SkillsIndex | UnknownSchema | NotADocument:
    return _read(DocumentClass.AGENT_SKILLS, body, lambda members: read_skills(members, base))


def parse_authorization_server(body: bytes) -> AuthorizationServer | NotADocument:
    return _read(DocumentClass.OAUTH_AS, body, read_authorization_server)


def parse_protected_resource(body: bytes) -> ProtectedResource | NotADocument:
    return _read(DocumentClass.OAUTH_PR, body, read_protected_resource)
