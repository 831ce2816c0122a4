"""Lint of API catalogs: what the reader of linksets finds."""

from __future__ import annotations

from proxy.discovery.findings import Finding
from proxy.discovery.gate import NotADocument
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.linkset import parse_linkset
from proxy.lint.bodies import refusal_finding, repeated_name_findings


def is_linkset(value: JsonObject) -> bool:
    """Whether an object is a linkset."""
    return isinstance(value.get("linkset"), list)


def lint_linkset(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of RFC 9264 and RFC 9727 in a linkset. `now` decides nothing: a linkset does not end."""
    linkset = parse_linkset(body, None)
    if isinstance(linkset, NotADocument):
        return (refusal_finding(linkset),)
    return (*linkset.findings, *repeated_name_findings(body, is_signed=False))
