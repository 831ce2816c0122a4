"""Lint of OpenAPI descriptions: what can be told of them without following a reference (TX-4)."""

from __future__ import annotations

from proxy.discovery.cards.openapi import parse_openapi
from proxy.discovery.findings import Finding
from proxy.discovery.gate import NotADocument
from proxy.discovery.jsontext import JsonObject
from proxy.lint.bodies import refusal_finding, repeated_name_findings


def is_openapi(value: JsonObject) -> bool:
    """Whether an object names the version of OpenAPI, or of Swagger, that it is written in."""
    return any(isinstance(value.get(name), str) for name in ("openapi", "swagger"))


def lint_openapi(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of OpenAPI in a description, JSON or YAML. `now` decides nothing: a description does not end."""
    description = parse_openapi(body)
    if isinstance(description, NotADocument):
        return (refusal_finding(description),)
    repeated = repeated_name_findings(is_repeated=description.has_repeated_names, is_signed=False)
    return (*description.findings, *repeated)
