"""Lint of OAuth metadata. Whether it belongs to the issuer or resource that it names, only its place can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxy.discovery.findings import Finding
from proxy.discovery.gate import NotADocument
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.oauth import Problem
from proxy.discovery.oauthmetadata import parse_authorization_server, parse_protected_resource
from proxy.lint.bodies import refusal_finding, repeated_name_findings


def is_authorization_server(value: JsonObject) -> bool:
    """Whether an object is the metadata of an authorization server, which has an issuer."""
    return isinstance(value.get("issuer"), str)


def is_protected_resource(value: JsonObject) -> bool:
    """Whether an object is the metadata of a protected resource, which names itself by its URL."""
    resource = value.get("resource")
    return isinstance(resource, str) and "://" in resource


def lint_authorization_server(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of RFC 8414 and of what MCP asks beyond it. `now` decides nothing: metadata does not end."""
    server = parse_authorization_server(body)
    if isinstance(server, NotADocument):
        return (refusal_finding(server),)
    return (*_findings(server.problems), *repeated_name_findings(body, is_signed=False))


def lint_protected_resource(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of RFC 9728. `now` decides nothing: metadata does not end."""
    resource = parse_protected_resource(body)
    if isinstance(resource, NotADocument):
        return (refusal_finding(resource),)
    return (*_findings(resource.problems), *repeated_name_findings(body, is_signed=False))


def _findings(problems: Iterable[Problem]) -> Iterator[Finding]:
    for problem in problems:
        yield Finding(problem.rule, problem.path, problem.detail, problem.is_warning)
