"""Agent skills: the index, and each artifact held to its digest (SK-4)."""

from __future__ import annotations

import asyncio
from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.digests import matches
from proxy.discovery.findings import Finding
from proxy.discovery.skills import Skill, SkillsIndex, parse_skills
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.reading import Manner, Reading
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.targets import Target
from proxy.lint.skills import lint_skills

_INDEX: Final = "agent-skills"
_ARTIFACT: Final = "skill"
_MOST_ARTIFACTS: Final = 32


async def find_skills(call: Call, index: Target) -> bool:
    """The skills of the index at `index` as documents of the call; whether there is one."""
    reading = await call.read(_INDEX, index, DocumentClass.AGENT_SKILLS, Manner(site=call.domain))
    call.add_document(reading, lint_skills(reading.body, call.clock()) if reading.is_found else ())
    parsed = parse_skills(reading.body, reading.target) if reading.is_found else None
    if not isinstance(parsed, SkillsIndex):
        return reading.is_found
    skills = parsed.skills[:_MOST_ARTIFACTS]
    if len(skills) < len(parsed.skills):
        detail = f"Only the first {_MOST_ARTIFACTS} artifacts are looked at."
        call.steps.note(_ARTIFACT, reading.url, StepOutcome.SKIPPED, detail)
    await asyncio.gather(*(_artifact(call, index, skill) for skill in skills))
    return True


async def _artifact(call: Call, index: Target, skill: Skill) -> None:
    reading = await call.read(_ARTIFACT, skill.url, DocumentClass.OTHER)
    if not reading.is_found:
        call.add_document(reading, document_class=_ARTIFACT)
        return
    if skill.digest is None:
        finding = Finding("SK-4", skill.path, "Without a digest the artifact cannot be verified.", is_warning=True)
        call.add_document(reading, (finding,), document_class=_ARTIFACT)
        return
    if not matches(skill.digest, reading.body):
        reading, skill = await _again(call, index, skill)
    if skill.digest is None or not matches(skill.digest, reading.body):
        detail = "The artifact at the URL is not the one whose digest the index has."
        finding = Finding("SK-4", f"{skill.path}/digest", detail)
        call.add_document(reading, (finding,), trust="rejected", document_class=_ARTIFACT)
        return
    call.add_document(reading, document_class=_ARTIFACT)


async def _again(call: Call, index: Target, skill: Skill) -> tuple[Reading, Skill]:
    """Both once more past every cache: one of the two may only have been older than the other."""
    listed = await call.read_again(_INDEX, index, DocumentClass.AGENT_SKILLS)
    parsed = parse_skills(listed.body, listed.target) if listed.is_found else None
    if isinstance(parsed, SkillsIndex):
        skill = next((one for one in parsed.skills if one.name == skill.name), skill)
    return await call.read_again(_ARTIFACT, skill.url, DocumentClass.OTHER), skill
