"""Lint of OAuth metadata. Whether it belongs to the issuer or resource that it names, only its place can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxy.discovery.authorization.identifiers import MetadataProblem
from proxy.discovery.authorization.metadata import (
    AuthorizationServer,
    ProtectedResource,
    read_authorization_server,
    read_protected_resource,
)
from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import JsonDocument, JsonObject
from proxy.lint.bodies import judged, repeated_name_findings


def is_authorization_server(value: JsonObject) -> bool:
    """Whether an object is the metadata of an authorization server, which has an issuer."""
    return isinstance(value.get("issuer"), str)


def is_protected_resource(value: JsonObject) -> bool:
    """Whether an object is the metadata of a protected resource, which names itself by its URL."""
    resource = value.get("resource")
    return isinstance(resource, str) and "://" in resource


def lint_authorization_server(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of RFC 8414 and of what MCP asks beyond it. `now` decides nothing: metadata does not end."""
    return judged(
        DocumentClass.OAUTH_AS,
        body,
        lambda document: metadata_findings(document, read_authorization_server(document.members)),
    )


def lint_protected_resource(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of RFC 9728. `now` decides nothing: metadata does not end."""
    return judged(
        DocumentClass.OAUTH_PR,
        body,
        lambda document: metadata_findings(document, read_protected_resource(document.members)),
    )


def metadata_findings(
    document: JsonDocument, metadata: AuthorizationServer | ProtectedResource
) -> tuple[Finding, ...]:
    """Those of the metadata that was read from `document`."""
    repeated = repeated_name_findings(is_repeated=document.has_repeated_names, is_signed=False)
    return (*_findings(metadata.problems), *repeated)


def _findings(problems: Iterable[MetadataProblem]) -> Iterator[Finding]:
    for problem in problems:
        yield Finding(problem.rule, problem.path, problem.detail, problem.is_warning)
