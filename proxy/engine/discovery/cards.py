"""Cards that were read: their endpoints, and where their authorization is described."""

from __future__ import annotations

from dataclasses import dataclass, field

from proxy.discovery.a2a import parse_card
from proxy.discovery.gate import NotADocument
from proxy.discovery.mcp import parse_server_card
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.reading import Reading
from proxy.lint.cards import lint_agent_card, lint_server_card


@dataclass(slots=True)
class Leads:
    """What documents say about authorization: metadata URLs, and MCP endpoints, which are protected resources."""

    metadata_urls: list[str] = field(default_factory=list)
    resources: dict[str, str | None] = field(default_factory=dict)
    """By identifier as published; with the metadata URL that its own 401 named."""


def add_agent_card(call: Call, leads: Leads, reading: Reading, source: str) -> None:
    """An A2A card, verified by nothing but its origin."""
    card = parse_card(reading.body, reading.target)
    if isinstance(card, NotADocument):
        call.add_document(reading, document_class="other")
        return
    call.add_document(reading, lint_agent_card(reading.body, call.clock()))
    for interface in card.interfaces:
        call.add_endpoint("a2a", interface.url.uri, source, call.trust(reading), place=reading.url)
    leads.metadata_urls += card.oauth2_metadata_urls


def add_server_card(call: Call, leads: Leads, reading: Reading, source: str) -> None:
    """An MCP server card, verified by nothing but its origin."""
    card = parse_server_card(reading.body, reading.target)
    assert not isinstance(card, NotADocument)  # the reading was let through by the same gate
    call.add_document(reading, lint_server_card(reading.body, call.clock()))
    for endpoint in card.endpoints:
        call.add_endpoint("mcp", endpoint.url.uri, source, call.trust(reading), place=reading.url)
        leads.resources.setdefault(endpoint.identifier, None)
