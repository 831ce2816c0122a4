"""Lint of agent cards and MCP server cards: what their parsers find, and what the formats require beyond that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from proxy.discovery.cards.a2a import (
    MOST_ELEMENTS,
    AgentCard,
    AgentJsonKind,
    Generation,
    read_card,
    sniff_agent_json,
)
from proxy.discovery.cards.mcp import ServerCard, read_server_card
from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.gate import NotADocument
from proxy.discovery.jsontext import JsonDocument, JsonObject
from proxy.discovery.notes import UNPLACED
from proxy.lint.bodies import judged, refusal_finding, repeated_name_findings

_SHAPE: Final = "A2A-2"
_REQUIRED: Final = ("description", "version", "capabilities", "defaultInputModes", "defaultOutputModes", "skills")
_REQUIRED_BY_GENERATION: Final = {
    Generation.V1_0: ("supportedInterfaces",),
    Generation.V0_3: ("url", "protocolVersion"),
    Generation.V0_2: ("url",),
}

# Members of cards alone, whatever else a card lacks.
_OF_AGENT_CARDS: Final = frozenset(
    {"supportedInterfaces", "additionalInterfaces", "preferredTransport", "defaultInputModes", "defaultOutputModes"}
)
_OF_SERVER_CARDS: Final = frozenset({"remotes", "serverInfo", "transport", "transports", "mcpServers"})


def is_agent_card(value: JsonObject) -> bool:
    """Whether an object is an agent card, or means to be one; of a name and a URL alone that cannot be told."""
    if not _OF_AGENT_CARDS.isdisjoint(value) or sniff_agent_json(value) is AgentJsonKind.A2A:
        return True
    return "name" in value and "skills" in value and ("url" in value or "capabilities" in value)


def is_server_card(value: JsonObject) -> bool:
    """Whether an object is an MCP server card of some layout (MCP-3), or means to be one."""
    schema = value.get("$schema")
    return not _OF_SERVER_CARDS.isdisjoint(value) or (isinstance(schema, str) and "/server-card" in schema)


def lint_agent_card(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of A2A in a card of any generation. `now` decides nothing: a card does not end."""
    return judged(DocumentClass.AGENT_CARD, body, _agent_card_findings)


def _agent_card_findings(document: JsonDocument) -> tuple[Finding, ...]:
    card = read_card(document.members, UNPLACED)
    return (refusal_finding(card),) if isinstance(card, NotADocument) else agent_card_findings(document, card)


def agent_card_findings(document: JsonDocument, card: AgentCard) -> tuple[Finding, ...]:
    """Those of the card that was read from `document`."""
    members = document.members
    return (
        *card.findings,
        *_generation_findings(card.generation),
        *_missing_findings(members, card.generation),
        *_version_findings(members),
        *_skill_findings(members),
        *_provider_findings(members),
        *repeated_name_findings(is_repeated=document.has_repeated_names, is_signed=card.is_signed),
    )


def lint_server_card(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of SEP-2127 in a server card of any layout. `now` decides nothing: a card does not end."""
    return judged(
        DocumentClass.MCP_SERVER_CARD,
        body,
        lambda document: server_card_findings(document, read_server_card(document.members, UNPLACED)),
    )


def server_card_findings(document: JsonDocument, card: ServerCard) -> tuple[Finding, ...]:
    """Those of the card that was read from `document`."""
    return (*card.findings, *repeated_name_findings(is_repeated=document.has_repeated_names, is_signed=False))


def _generation_findings(generation: Generation) -> Iterator[Finding]:
    if generation is not Generation.V1_0:
        yield Finding("A2A-1", "", f"The card is in the layout of {generation}; the current one is 1.0.", True)


def _missing_findings(card: JsonObject, generation: Generation) -> Iterator[Finding]:
    for name in (*_REQUIRED, *_REQUIRED_BY_GENERATION[generation]):
        value = card.get(name)
        if value is None or value == "":
            yield Finding(_SHAPE, pointer(name), f"{name} is missing.")
        elif value == []:
            # The specification's own signed example has no skills.
            yield Finding(_SHAPE, pointer(name), f"{name} is empty.", name == "skills")


def _version_findings(card: JsonObject) -> Iterator[Finding]:
    interfaces = card.get("supportedInterfaces")
    yield from _lacking(interfaces, "supportedInterfaces", "protocolVersion", _is_text)


def _skill_findings(card: JsonObject) -> Iterator[Finding]:
    for name in ("id", "name", "description"):
        yield from _lacking(card.get("skills"), "skills", name, _is_text)
    yield from _lacking(card.get("skills"), "skills", "tags", _is_texts)


def _provider_findings(card: JsonObject) -> Iterator[Finding]:
    provider = card.get("provider")
    if provider is not None and not (
        isinstance(provider, dict) and all(_is_text(provider.get(name)) for name in ("organization", "url"))
    ):
        yield Finding(_SHAPE, "/provider", "provider is no object with organization and url.")


def _lacking(listed: object, parent: str, name: str, is_one: Callable[[object], bool]) -> Iterator[Finding]:
    """One finding for a member that objects of a list lack, at the first of them."""
    objects = enumerate(listed[:MOST_ELEMENTS] if isinstance(listed, list) else ())
    wrong = [index for index, value in objects if isinstance(value, dict) and not is_one(value.get(name))]
    if wrong:
        yield Finding(_SHAPE, pointer(parent, wrong[0], name), f"{len(wrong)} of {parent} lack a proper {name}.")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value[:MOST_ELEMENTS]))
