"""Validator rules: what a published document gets wrong, before an agent finds out.

A *kind* is a sort of document, told from the document itself unless it is given; a *rule* is a condition with the
id under which it is published (`local.*` where only this project names it); a *finding* is one breach of a rule at
one place. Documents are judged by the readers that discovery uses, and by rules that serving does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import JsonObject, MalformedJson, parse_json
from proxy.lint.cards import is_agent_card, is_server_card, lint_agent_card, lint_server_card
from proxy.lint.catalogs import is_catalog, lint_catalog
from proxy.lint.contracts import (
    is_action_pattern,
    is_compatibility,
    is_minimal_tier,
    lint_action_pattern,
    lint_compatibility,
    lint_minimal_tier,
)
from proxy.lint.envelopes import is_envelope, lint_envelope
from proxy.lint.linksets import is_linkset, lint_linkset
from proxy.lint.manifest import is_manifest, lint_manifest
from proxy.lint.matrices import (
    is_executability_matrix,
    is_surface_matrix,
    lint_executability_matrix,
    lint_surface_matrix,
)
from proxy.lint.oauth import (
    is_authorization_server,
    is_protected_resource,
    lint_authorization_server,
    lint_protected_resource,
)
from proxy.lint.openapi import is_openapi, lint_openapi
from proxy.lint.profiles import is_profile, lint_profile
from proxy.lint.responses import (
    is_action_listing,
    is_instruction,
    is_llms_index,
    is_minimal,
    is_problem,
    is_two_key,
    lint_action_listing,
    lint_instruction,
    lint_llms_index,
    lint_minimal,
    lint_problem,
    lint_two_key,
)
from proxy.lint.routes import is_route, lint_route
from proxy.lint.skills import is_skills_index, lint_skills


@dataclass(frozen=True, slots=True)
class Kind:
    """A sort of document: whether a JSON object shows that it is one, and what a body gets wrong as one.

    `check` takes the time in Unix seconds too. Neither raises anything.
    """

    shows: Callable[[JsonObject], bool]
    check: Callable[[bytes, float], tuple[Finding, ...]]


# In the order in which a document is tried: what has more members of its own comes before what has fewer.
KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "manifest": Kind(is_manifest, lint_manifest),
        "route-record": Kind(is_route, lint_route),
        "envelope": Kind(is_envelope, lint_envelope),
        "capability-profile": Kind(is_profile, lint_profile),
        "surface-matrix": Kind(is_surface_matrix, lint_surface_matrix),
        "executability-matrix": Kind(is_executability_matrix, lint_executability_matrix),
        "get-action-pattern": Kind(is_action_pattern, lint_action_pattern),
        "minimal-access-tier": Kind(is_minimal_tier, lint_minimal_tier),
        "agent-compatibility": Kind(is_compatibility, lint_compatibility),
        "mcp-server-card": Kind(is_server_card, lint_server_card),
        "agent-card": Kind(is_agent_card, lint_agent_card),
        "api-catalog": Kind(is_linkset, lint_linkset),
        "ai-catalog": Kind(is_catalog, lint_catalog),
        "agent-skills": Kind(is_skills_index, lint_skills),
        "openapi": Kind(is_openapi, lint_openapi),
        "oauth-as": Kind(is_authorization_server, lint_authorization_server),
        "oauth-pr": Kind(is_protected_resource, lint_protected_resource),
        "get-action-listing": Kind(is_action_listing, lint_action_listing),
        "llms-index": Kind(is_llms_index, lint_llms_index),
        "no-op-problem": Kind(is_problem, lint_problem),
        "no-op-instruction": Kind(is_instruction, lint_instruction),
        "minimal-response": Kind(is_minimal, lint_minimal),
        "two-key-response": Kind(is_two_key, lint_two_key),
    }
)


class UnknownKind(ValueError):
    """There are no rules for the kind; the text says which kinds have some."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no such kind; use one of {', '.join(KINDS)}")


def lint(kind: str, body: bytes, *, now: float) -> tuple[Finding, ...]:
    """What the document gets wrong. Raises UnknownKind."""
    if kind not in KINDS:
        raise UnknownKind(kind)
    return KINDS[kind].check(body, now)


def kind_of(body: bytes) -> str | None:
    """The kind that the document shows by its members; None when it is of none that is known here."""
    try:
        value = parse_json(body)
    except MalformedJson:
        return None
    if not isinstance(value, dict):
        return None
    return next((name for name, kind in KINDS.items() if kind.shows(value)), None)
