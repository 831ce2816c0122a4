"""Cards that were read: their endpoints, and where their authorization is described."""

from __future__ import annotations

from dataclasses import dataclass, field

from proxy.discovery.cards.a2a import read_card
from proxy.discovery.cards.mcp import read_server_card
from proxy.discovery.classes import DocumentClass
from proxy.discovery.gate import NotADocument, read_document
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.reading import Reading, document_of
from proxy.lint.cards import agent_card_findings, server_card_findings


@dataclass(slots=True)
class Leads:
    """What documents say about authorization: metadata URLs, and MCP endpoints, which are protected resources."""

    metadata_urls: list[str] = field(default_factory=list)
    resources: dict[str, str | None] = field(default_factory=dict)
    """By identifier as published; with the metadata URL that its own 401 named."""


def add_agent_card(call: Call, leads: Leads, reading: Reading, source: str) -> None:
    """An A2A card, verified by nothing but its origin."""
    document = read_document(DocumentClass.AGENT_CARD, reading.body)
    card = document if isinstance(document, NotADocument) else read_card(document.members, reading.target)
    if isinstance(document, NotADocument) or isinstance(card, NotADocument):
        call.published.add_document(reading, document_class="other")
        return
    call.published.add_document(reading, agent_card_findings(document, card))
    for interface in card.interfaces:
        call.published.add_endpoint(
            "a2a", interface.url.uri, source, call.published.trust(reading), place=reading.place
        )
    leads.metadata_urls += card.oauth2_metadata_urls


def add_server_card(call: Call, leads: Leads, reading: Reading, source: str) -> None:
    """An MCP server card, verified by nothing but its origin."""
    document = document_of(reading)
    card = read_server_card(document.members, reading.target)
    call.published.add_document(reading, server_card_findings(document, card))
    for endpoint in card.endpoints:
        call.published.add_endpoint(
            "mcp", endpoint.url.uri, source, call.published.trust(reading), place=reading.place
        )
        leads.resources.setdefault(endpoint.identifier, None)
