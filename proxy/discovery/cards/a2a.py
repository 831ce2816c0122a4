"""A2A agent cards: what an agent says it is (DISCOVERY_FORMATS §5.1).

Three *generations* are read into one value. A card is a claim: it is served whatever its findings, and routed to
only where it has a usable interface. Nothing is verified here; `is_signed` says that there is something to verify.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final, cast

from proxy.discovery.cards.a2ainterfaces import SHAPE, Interface, read_interfaces, stated
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.gate import GateReason, NotADocument
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.notes import admit_bounded
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

# What is read of one card; a hostile one lists more.
MOST_SCHEMES: Final = 32
MOST_ELEMENTS: Final = 1000
_OF_AGENT_CARDS: Final = ("supportedInterfaces", "preferredTransport", "defaultInputModes")


class Generation(StrEnum):
    """The layout of a card (A2A-1)."""

    V1_0 = "1.0"
    V0_3 = "0.3"
    V0_2 = "0.2"


class AgentJsonKind(StrEnum):
    """What `/.well-known/agent.json` may hold: formats that collide there (DA-11)."""

    A2A_LEGACY = "a2a<=0.2"
    A2A = "a2a"
    """A card of a later generation, served under the old name too."""
    DNS_AID = "dns-aid-agent-json"
    AID = "aid-wellknown"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AgentCard:
    """A card as read; texts are the publisher's, None where absent or no text."""

    generation: Generation
    name: str
    description: str | None
    version: str | None
    interfaces: tuple[Interface, ...]
    """In the publisher's order of preference."""
    oauth2_metadata_urls: tuple[str, ...]
    """Absolute https URLs as published, because they are compared with derived ones as they stand (OA-13)."""
    is_signed: bool
    findings: tuple[Finding, ...]


def read_card(card: JsonObject, base: Target) -> AgentCard | NotADocument:
    """The card in an object that the gate lets pass as one.

    Refused is what it lets pass only because it is served under the name of a card (DA-11).
    """
    if sniff_agent_json(card) not in (AgentJsonKind.A2A, AgentJsonKind.A2A_LEGACY):
        return NotADocument(GateReason.MEMBERS_MISSING, "expected name with an interface of some generation")
    unsigned = list(_signature_findings(card))
    findings = [*_shape_findings(card), *unsigned]
    return AgentCard(
        _generation(card),
        cast("str", card["name"]),
        stated(card.get("description")),
        stated(card.get("version")),
        read_interfaces(card, base, findings),
        _oauth2_metadata_urls(card, findings),
        bool(card.get("signatures")) and not unsigned,
        tuple(findings),
    )


def sniff_agent_json(value: object) -> AgentJsonKind:
    """Which format the JSON value of an `agent.json` is in; that of a card comes first (A2A-1, DA-11)."""
    if not isinstance(value, dict):
        return AgentJsonKind.UNKNOWN
    if stated(value.get("name")) and _is_card(value):
        return AgentJsonKind.A2A_LEGACY if _generation(value) is Generation.V0_2 else AgentJsonKind.A2A
    if stated(value.get("aid_version")) and isinstance(value.get("identity"), dict):
        return AgentJsonKind.DNS_AID
    if (stated(value.get("v")) or "").startswith("aid") and (stated(value.get("u")) or stated(value.get("uri"))):
        return AgentJsonKind.AID
    return AgentJsonKind.UNKNOWN


def is_plainly_card(value: object) -> bool:
    """Whether a JSON value has what only agent cards have, whatever a catalog says that it is (CAT-5)."""
    return (
        sniff_agent_json(value) in (AgentJsonKind.A2A, AgentJsonKind.A2A_LEGACY)
        and isinstance(value, dict)
        and any(name in value for name in _OF_AGENT_CARDS)
    )


def _is_card(value: JsonObject) -> bool:
    authentication = value.get("authentication")
    return (
        any(stated(value.get(name)) for name in ("url", "protocolVersion", "preferredTransport"))
        or isinstance(value.get("supportedInterfaces"), list)
        or (isinstance(authentication, dict) and isinstance(authentication.get("schemes"), list))
    )


def _generation(card: JsonObject) -> Generation:
    """A2A-1. A later version number on the layout of 0.3 is 0.3: the layout says how to read the card."""
    if isinstance(card.get("supportedInterfaces"), list):
        return Generation.V1_0
    version = stated(card.get("protocolVersion"))
    if version is None:
        return Generation.V0_3 if stated(card.get("preferredTransport")) else Generation.V0_2
    return Generation.V0_2 if version.startswith(("0.1", "0.2")) else Generation.V0_3


def _shape_findings(card: JsonObject) -> Iterator[Finding]:
    for name in ("description", "version"):
        if not isinstance(card.get(name, ""), str):
            yield Finding(SHAPE, pointer(name), f"{name} is no text.")
    if not isinstance(card.get("capabilities", {}), dict):
        yield Finding(SHAPE, "/capabilities", "capabilities is no object.")
    yield from _element_findings(card, "skills", "object", lambda skill: isinstance(skill, dict))
    for name in ("defaultInputModes", "defaultOutputModes"):
        yield from _element_findings(card, name, "media type", lambda mode: isinstance(mode, str) and "/" in mode)


def _signature_findings(card: JsonObject) -> Iterator[Finding]:
    """A2A-4: what is called a signature and cannot be verified as one."""
    yield from _element_findings(card, "signatures", "signature", _is_signature, "A2A-4")


def _is_signature(value: object) -> bool:
    return isinstance(value, dict) and all(stated(value.get(name)) for name in ("protected", "signature"))


def _element_findings(
    card: JsonObject, name: str, noun: str, is_one: Callable[[object], bool], rule: str = SHAPE
) -> Iterator[Finding]:
    """One finding for the list `name`, at the first element that is none of what it should be."""
    listed = card.get(name, [])
    if not isinstance(listed, list):
        yield Finding(rule, pointer(name), f"{name} is no list.")
        return
    if len(listed) > MOST_ELEMENTS:
        yield Finding(rule, pointer(name), f"Only the first {MOST_ELEMENTS} of {name} are looked at.", True)
    looked_at = listed[:MOST_ELEMENTS]
    if wrong := [index for index, element in enumerate(looked_at) if not is_one(element)]:
        yield Finding(rule, pointer(name, wrong[0]), f"{len(wrong)} of {len(looked_at)} in {name}: no {noun}.")


def _oauth2_metadata_urls(card: JsonObject, findings: list[Finding]) -> tuple[str, ...]:
    """`oauth2MetadataUrl` of every scheme, inside the wrapper of 1.0 or bare as in 0.3."""
    schemes = card.get("securitySchemes", {})
    if not isinstance(schemes, dict):
        findings.append(Finding(SHAPE, "/securitySchemes", "securitySchemes is no object."))
        return ()
    if len(schemes) > MOST_SCHEMES:
        detail = f"Only the first {MOST_SCHEMES} security schemes are read."
        findings.append(Finding(SHAPE, "/securitySchemes", detail, True))
    found: dict[str, None] = {}
    for scheme in islice(schemes.values(), MOST_SCHEMES):
        inner = scheme.get("oauth2SecurityScheme", scheme) if isinstance(scheme, dict) else None
        url = inner.get("oauth2MetadataUrl") if isinstance(inner, dict) else None
        if url is None:
            continue
        try:
            admit_bounded(url if isinstance(url, str) else "", None)
            found[url] = None
        except UrlRefused as error:
            findings.append(Finding("OA-13", "/securitySchemes", error.detail))
    return tuple(found)
