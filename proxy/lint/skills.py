"""Lint of Agent Skills indexes: what their reader finds. Digests need the artifacts, so nothing is said of them."""

from __future__ import annotations

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import JsonDocument, JsonObject
from proxy.discovery.listings.skills import SkillsIndex, UnknownSchema, read_skills
from proxy.lint.bodies import judged, repeated_name_findings


def is_skills_index(value: JsonObject) -> bool:
    """Whether an object lists skills, as agent cards do too."""
    return isinstance(value.get("skills"), list)


def lint_skills(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of the format in an index. `now` decides nothing: an index does not end."""
    return judged(
        DocumentClass.AGENT_SKILLS,
        body,
        lambda document: skills_findings(document, read_skills(document.members, None)),
    )


def skills_findings(document: JsonDocument, index: SkillsIndex | UnknownSchema) -> tuple[Finding, ...]:
    """Those of the index that was read from `document`."""
    if isinstance(index, UnknownSchema):
        return (index.finding,)
    has_digests = any(skill.digest is not None for skill in index.skills)
    return (
        *index.findings,
        *repeated_name_findings(is_repeated=document.has_repeated_names, is_signed=has_digests),
    )
