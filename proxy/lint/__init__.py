"""Validator rules: what a published document gets wrong, before an agent finds out.

A *kind* is a sort of document, told from the document itself unless it is given; a *rule* is a condition with the
id under which it is published (`local.*` where only this project names it); a *finding* is one breach of a rule at
one place. Documents are judged by the readers that discovery uses, and by rules that serving does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import JsonObject, MalformedJson, parse_json
from proxy.lint.manifest import is_manifest, lint_manifest
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

Check = Callable[[bytes, float], tuple[Finding, ...]]
"""The findings of a body at a time in Unix seconds; raises nothing."""

KINDS: Final[Mapping[str, Check]] = MappingProxyType(
    {
        "manifest": lint_manifest,
        "route-record": lint_route,
        "get-action-listing": lint_action_listing,
        "llms-index": lint_llms_index,
        "no-op-problem": lint_problem,
        "no-op-instruction": lint_instruction,
        "minimal-response": lint_minimal,
        "two-key-response": lint_two_key,
    }
)

# In this order: what has more members of its own comes before what has fewer.
_SIGNS: Final[Mapping[str, Callable[[JsonObject], bool]]] = MappingProxyType(
    {
        "manifest": is_manifest,
        "route-record": is_route,
        "get-action-listing": is_action_listing,
        "llms-index": is_llms_index,
        "no-op-problem": is_problem,
        "no-op-instruction": is_instruction,
        "minimal-response": is_minimal,
        "two-key-response": is_two_key,
    }
)


class UnknownKind(ValueError):
    """There are no rules for a kind of this name."""

    def __init__(self) -> None:
        super().__init__(f"no such kind: use one of {', '.join(KINDS)}")


def lint(kind: str, body: bytes, *, now: float) -> tuple[Finding, ...]:
    """What the document gets wrong. Raises UnknownKind."""
    check = KINDS.get(kind)
    if check is None:
        raise UnknownKind
    return check(body, now)


def kind_of(body: bytes) -> str | None:
    """The kind that the document shows by its members; None when it is of none that is known here."""
    try:
        value = parse_json(body)
    except MalformedJson:
        return None
    if not isinstance(value, dict):
        return None
    return next((kind for kind, shows in _SIGNS.items() if shows(value)), None)
