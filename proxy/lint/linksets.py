"""Lint of API catalogs: what the reader of linksets finds."""

from __future__ import annotations

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import JsonDocument, JsonObject
from proxy.discovery.listings.linkset import Linkset, read_linkset
from proxy.lint.bodies import judged, repeated_name_findings


def is_linkset(value: JsonObject) -> bool:
    """Whether an object is a linkset."""
    return isinstance(value.get("linkset"), list)


def lint_linkset(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of RFC 9264 and RFC 9727 in a linkset. `now` decides nothing: a linkset does not end."""
    return judged(
        DocumentClass.API_CATALOG,
        body,
        lambda document: linkset_findings(document, read_linkset(document.members, None)),
    )


def linkset_findings(document: JsonDocument, linkset: Linkset) -> tuple[Finding, ...]:
    """Those of the linkset that was read from `document`."""
    return (*linkset.findings, *repeated_name_findings(is_repeated=document.has_repeated_names, is_signed=False))
