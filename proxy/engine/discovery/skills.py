"""Agent skills: the index, and each artifact held to its digest (SK-4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.listings.digests import matches
from proxy.discovery.listings.skills import Skill, SkillsIndex, read_skills
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.publications import REJECTED
from proxy.engine.discovery.reading import Manner, Reading, document_of
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.targets import Target
from proxy.lint.skills import skills_findings

_INDEX: Final = "agent-skills"
_ARTIFACT: Final = "skill"
_MOST_ARTIFACTS: Final = 32


async def find_skills(call: Call, place: Target) -> bool:
    """The skills of the index at `place` as documents of the call; whether there is one."""
    reading = await call.read(_INDEX, place, DocumentClass.AGENT_SKILLS, Manner(site=call.domain))
    index = _listed(call, reading)
    if index is None:
        return reading.is_found
    skills = index.skills[:_MOST_ARTIFACTS]
    if len(skills) < len(index.skills):
        detail = f"Only the first {_MOST_ARTIFACTS} artifacts are looked at."
        call.steps.note(_ARTIFACT, reading.url, StepOutcome.SKIPPED, detail)
    trust = call.published.trust(reading)
    agree = await asyncio.gather(*(_artifact(call, skill, trust) for skill in skills))
    differing = [skill for skill, agrees in zip(skills, agree, strict=True) if not agrees]
    if differing:
        await _once_more(call, place, differing, trust)
    return True


def _listed(call: Call, reading: Reading) -> SkillsIndex | None:
    """List an index, and what it holds where its schema is known."""
    if not reading.is_found:
        call.published.add_document(reading)
        return None
    document = document_of(reading)
    index = read_skills(document.members, reading.target)
    call.published.add_document(reading, skills_findings(document, index))
    return index if isinstance(index, SkillsIndex) else None


async def _artifact(call: Call, skill: Skill, trust: str) -> bool:
    return _add(call, skill, await call.read_once(_ARTIFACT, skill.url, DocumentClass.OTHER), trust)


def _add(call: Call, skill: Skill, reading: Reading, trust: str) -> bool:
    """List an artifact; not, and False, where it is not the one whose digest the index has.

    One that is, the index vouches for, wherever it lies; `trust` is the index's.
    """
    if not reading.is_found:
        call.published.add_document(reading, document_class=_ARTIFACT)
    elif skill.digest is None:
        finding = Finding("SK-4", skill.path, "Without a digest the artifact cannot be verified.", is_warning=True)
        call.published.add_document(reading, (finding,), document_class=_ARTIFACT)
    elif matches(skill.digest, reading.body):
        call.published.add_document(reading, trust=trust, document_class=_ARTIFACT)
    else:
        return False
    return True


async def _once_more(call: Call, place: Target, skills: Sequence[Skill], trust: str) -> None:
    """Index and artifacts past every cache: one of the two may only have been older than the other."""
    reading = await call.read_again(_INDEX, place, DocumentClass.AGENT_SKILLS, Manner(site=call.domain))
    index = _listed(call, reading) if reading.is_found else None
    newer = {} if index is None else {skill.name: skill for skill in index.skills}
    await asyncio.gather(*(_artifact_again(call, newer.get(skill.name, skill), trust) for skill in skills))


async def _artifact_again(call: Call, skill: Skill, trust: str) -> None:
    reading = await call.read_again(_ARTIFACT, skill.url, DocumentClass.OTHER)
    if not _add(call, skill, reading, trust):
        detail = "The artifact at the URL is not the one whose digest the index has."
        finding = Finding("SK-4", f"{skill.path}/digest", detail)
        call.published.add_document(reading, (finding,), trust=REJECTED, document_class=_ARTIFACT)
