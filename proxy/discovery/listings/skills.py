"""The Agent Skills index, v0.2.0 and its predecessor (DISCOVERY_FORMATS §5.3).

An index names skills and, since v0.2.0, the digest of each artifact. `$schema` is an opaque identifier compared
exactly: an unknown one means that nothing below it may be interpreted. The artifacts stay opaque: an archive is
never opened here (SK-7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final, cast

from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.listings.digests import Digest, MalformedDigest, parse_digest
from proxy.discovery.notes import Notes
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

MOST_SKILLS: Final = 2000
SCHEMA: Final = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

_NAME: Final = re.compile(r"[a-z0-9]++(?:-[a-z0-9]++)*+")
_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 1024
_RAW_FILES: Final = "raw.githubusercontent.com"
_FIXED_REVISION: Final = re.compile(r"/[^/]+/[^/]+/(?:refs/tags/|[0-9a-f]{40}/).*", re.DOTALL)


class IndexVersion(StrEnum):
    V0_2 = "0.2.0"
    V0_1 = "0.1.0"


class ArtifactType(StrEnum):
    SKILL_MD = "skill-md"
    ARCHIVE = "archive"


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill; texts are the publisher's. Without a digest the artifact can never be verified."""

    name: str
    type: ArtifactType
    description: str | None
    url: Target
    digest: Digest | None
    path: str
    """JSON pointer to the skill in the index."""


@dataclass(frozen=True, slots=True)
class SkillsIndex:
    version: IndexVersion
    skills: tuple[Skill, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class UnknownSchema:
    """An index of a schema that is not known here: it exists, and nothing of it is read (SK-1)."""

    finding: Finding


def read_skills(index: JsonObject, base: Target | None) -> SkillsIndex | UnknownSchema:
    """The index in an object that has a list of skills."""
    if "$schema" in index and index["$schema"] != SCHEMA:
        return UnknownSchema(Finding("SK-1", "/$schema", "The schema is not the one of v0.2.0."))
    version = IndexVersion.V0_2 if "$schema" in index else IndexVersion.V0_1
    notes = Notes(base)
    if version is IndexVersion.V0_1:
        notes.warn("SK-1", "", "There is no $schema: the index is read as v0.1.0.")
    listed = cast(list[object], index["skills"])
    if len(listed) > MOST_SKILLS:
        notes.warn("SK-2", "/skills", f"Only the first {MOST_SKILLS} skills are read.")
    skills: dict[str, Skill] = {}
    for number, value in enumerate(islice(listed, MOST_SKILLS)):
        skill = _SkillReader(value, f"/skills/{number}", version, notes).skill()
        if skill is not None and skills.setdefault(skill.name, skill) is not skill:
            notes.fail("SK-2", f"{skill.path}/name", "An earlier skill has the same name: this one is passed over.")
    return SkillsIndex(version, tuple(skills.values()), notes.findings())


class _SkillReader:
    """Reads one element of `skills`; everything but name, type and URL may be missing."""

    def __init__(self, value: object, path: str, version: IndexVersion, notes: Notes) -> None:
        self._members = cast(JsonObject, value) if isinstance(value, dict) else {}
        self._path = path
        self._is_legacy = version is IndexVersion.V0_1
        self._notes = notes

    def skill(self) -> Skill | None:
        name = self._name()
        if name is None:
            return None
        artifact_type = self._type()
        if artifact_type is None:
            return None
        url = self._url(name)
        if url is None:
            return None
        return Skill(name, artifact_type, self._description(), url, self._digest(), self._path)

    def _text(self, rule: str, member: str, missing: str | None = None) -> str | None:
        return self._notes.text(self._members, member, rule, self._path, missing)

    def _name(self) -> str | None:
        name = self._text("SK-2", "name", "The skill has no name and is passed over.")
        if name is not None and not _is_name(name):
            detail = "The name is not 1 to 64 characters of a-z, 0-9 and single hyphens between them."
            self._notes.fail("SK-2", f"{self._path}/name", detail)
        return name

    def _type(self) -> ArtifactType | None:
        stated = self._text(
            "SK-2", "type", None if self._is_legacy else "The skill has no type and is passed over."
        )
        if stated is None:
            return ArtifactType.SKILL_MD if self._is_legacy else None
        try:
            return ArtifactType(stated)
        except ValueError:
            detail = "The type is neither skill-md nor archive: the skill is passed over."
            self._notes.fail("SK-2", f"{self._path}/type", detail)
            return None

    def _description(self) -> str | None:
        description = self._text("SK-2", "description", "The skill has no description.")
        if description is not None and len(description) > _LONGEST_DESCRIPTION:
            detail = f"The description is longer than {_LONGEST_DESCRIPTION} characters."
            self._notes.fail("SK-2", f"{self._path}/description", detail)
        return description

    def _url(self, name: str) -> Target | None:
        # v0.1.0 has no URLs but one directory for each skill, beside the index.
        directory = f"{name}/SKILL.md" if self._is_legacy and _is_name(name) else None
        missing = None if directory else "The skill has no URL and is passed over."
        reference = self._text("SK-3", "url", missing) or directory
        if reference is None:
            return None
        try:
            url = self._notes.target(reference)
        except UrlRefused as error:
            self._notes.fail("SK-3", f"{self._path}/url", error.detail)
            return None
        if url.host == _RAW_FILES and _FIXED_REVISION.fullmatch(url.path) is None:
            detail = "The URL is on a branch, so the next commit makes the digest stale: name a commit."
            self._notes.warn("SK-3", f"{self._path}/url", detail)
        return url

    def _digest(self) -> Digest | None:
        missing = "There is no digest: the artifact cannot be verified."
        text = self._text("SK-4", "digest", None if self._is_legacy else missing)
        if text is None:
            return None
        path = f"{self._path}/digest"
        try:
            digest = parse_digest(text)
        except MalformedDigest as error:
            self._notes.fail("SK-4", path, error.detail)
            return None
        if not text.startswith("sha256:") or text != str(digest):
            self._notes.fail("SK-4", path, "The digest is not sha256: and 64 lower-case hex digits.")
        return digest


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None
