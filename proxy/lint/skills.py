"""Lint of Agent Skills indexes: what their reader finds. Digests need the artifacts, so nothing is said of them."""

from __future__ import annotations

from proxy.discovery.findings import Finding
from proxy.discovery.gate import NotADocument
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.skills import UnknownSchema, parse_skills
from proxy.lint.bodies import refusal_finding, repeated_name_findings


def is_skills_index(value: JsonObject) -> bool:
    """Whether an object lists skills, as agent cards do too."""
    return isinstance(value.get("skills"), list)


def lint_skills(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of the format in an index. `now` decides nothing: an index does not end."""
    index = parse_skills(body, None)
    if isinstance(index, NotADocument):
        return (refusal_finding(index),)
    if isinstance(index, UnknownSchema):
        return (index.finding,)
    has_digests = any(skill.digest is not None for skill in index.skills)
    return (*index.findings, *repeated_name_findings(body, is_signed=has_digests))
