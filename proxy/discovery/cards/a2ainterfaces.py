"""The interfaces of an agent card: where the agent listens, and in which *binding* (the protocol spoken there).

Read leniently, kept strictly: an interface is kept if it names its binding and its URL may be fetched. All others
are findings of rule A2A-2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.notes import admit_bounded
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

SHAPE: Final = "A2A-2"

# What is read of one list; a hostile card lists more.
MOST_INTERFACES: Final = 32

_CORE_BINDINGS: Final[Mapping[str, str]] = {"JSONRPC": "JSONRPC", "GRPC": "GRPC", "HTTP+JSON": "HTTP+JSON"}
# gRPC libraries take a channel's address, so cards of such servers give `host:port` for a URL.
_GRPC_ADDRESS: Final = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class Interface:
    """One usable place of an agent. `binding`: JSONRPC, GRPC, HTTP+JSON or a name of the publisher's own.

    `protocol_version` is as published, None where the card does not say.
    """

    url: Target
    binding: str
    protocol_version: str | None


@dataclass(frozen=True, slots=True)
class _Claim:
    """An interface as published, before its URL is believed."""

    path: str
    reference: object
    binding: str
    protocol_version: str | None


def read_interfaces(card: JsonObject, base: Target, findings: list[Finding]) -> tuple[Interface, ...]:
    """The usable interfaces in the publisher's order, each once; what is wrong with others goes to `findings`.

    A card of 1.0 may hold interfaces of 0.3 for older clients; those come last. `base` is where the card was found.
    """
    usable: dict[tuple[Target, str], Interface] = {}
    for claim in (*_supported(card, findings), *_earlier(card, findings)):
        url = _url(claim, base, findings)
        if url is not None:
            usable.setdefault((url, claim.binding), Interface(url, claim.binding, claim.protocol_version))
    if not usable:
        findings.append(Finding(SHAPE, "", "The card has no usable interface."))
    return tuple(usable.values())


def stated(value: object) -> str | None:
    """A member that is a text with something in it."""
    return value if isinstance(value, str) and value else None


def _supported(card: JsonObject, findings: list[Finding]) -> Iterator[_Claim]:
    """The interfaces of 1.0."""
    for path, entry in _entries(card, "supportedInterfaces", findings):
        binding = _binding(entry, path, findings)
        if binding is not None:
            yield _Claim(f"{path}/url", entry.get("url"), binding, stated(entry.get("protocolVersion")))


def _earlier(card: JsonObject, findings: list[Finding]) -> Iterator[_Claim]:
    """The interfaces of 0.3 and before."""
    version = stated(card.get("protocolVersion"))
    if "url" in card:
        transport = stated(card.get("preferredTransport")) or "JSONRPC"
        yield _Claim("/url", card["url"], _canonical(transport), version)
    for path, entry in _entries(card, "additionalInterfaces", findings):
        listed = stated(entry.get("transport"))
        if listed is None:
            findings.append(Finding(SHAPE, path, "The interface names no transport."))
        else:
            yield _Claim(f"{path}/url", entry.get("url"), _canonical(listed), version)


def _entries(card: JsonObject, name: str, findings: list[Finding]) -> Iterator[tuple[str, JsonObject]]:
    """Path and value of the objects listed as `name`."""
    listed = card.get(name, [])
    if not isinstance(listed, list):
        findings.append(Finding(SHAPE, pointer(name), f"{name} is no list."))
        return
    if len(listed) > MOST_INTERFACES:
        findings.append(Finding(SHAPE, pointer(name), f"Only the first {MOST_INTERFACES} interfaces are read."))
    for index, entry in enumerate(listed[:MOST_INTERFACES]):
        path = pointer(name, index)
        if isinstance(entry, dict):
            yield path, entry
        else:
            findings.append(Finding(SHAPE, path, "The interface is no object."))


def _binding(entry: JsonObject, path: str, findings: list[Finding]) -> str | None:
    """The binding of a 1.0 interface; under another member's name only if it is one that A2A defines."""
    binding = stated(entry.get("protocolBinding"))
    if binding is not None:
        canonical = _canonical(binding)
        if canonical != binding:
            findings.append(Finding(SHAPE, f"{path}/protocolBinding", f"The binding is written {canonical}.", True))
        return canonical
    for name in ("protocol", "transport"):
        core = _CORE_BINDINGS.get((stated(entry.get(name)) or "").upper())
        if core is not None:
            findings.append(Finding(SHAPE, f"{path}/{name}", "The binding belongs in protocolBinding."))
            return core
    findings.append(Finding(SHAPE, path, "The interface has no protocolBinding."))
    return None


def _canonical(binding: str) -> str:
    return _CORE_BINDINGS.get(binding.upper(), binding)


def _url(claim: _Claim, base: Target, findings: list[Finding]) -> Target | None:
    reference = stated(claim.reference)
    if reference is None:
        findings.append(Finding(SHAPE, claim.path, "The interface has no URL."))
        return None
    if "{" in reference:
        findings.append(Finding(SHAPE, claim.path, "The URL is a template."))
        return None
    if claim.binding == "GRPC" and _GRPC_ADDRESS.fullmatch(reference) is not None:
        findings.append(Finding(SHAPE, claim.path, "The URL is an address without https://.", True))
        reference = f"https://{reference}"
    elif "://" not in reference:
        findings.append(Finding(SHAPE, claim.path, "The URL is not absolute.", True))
    try:
        return admit_bounded(reference, base)
    except UrlRefused as error:
        findings.append(Finding(SHAPE, claim.path, error.detail))
        return None
