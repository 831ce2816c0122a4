"""OpenAPI descriptions, as far as can be told without following a reference (TX-4): which version, of what.

Nothing is dereferenced. Of YAML only the version is read, from a bounded head.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.gate import NotADocument, gate, read_document
from proxy.discovery.jsontext import JsonObject

YAML_HEAD: Final = 64 * 1024
"""Octets of a YAML description that are read."""

_RULE: Final = "TX-4"
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# One of these is there (OpenAPI 3.1 §4.8.1); before 3.1 it is the first.
_CONTENT: Final = ("paths", "components", "webhooks")
_VERSION: Final = re.compile(r"([0-9]{1,3}\.[0-9]{1,3})(?:\.[0-9]{1,3})?(?:[-+][A-Za-z0-9.-]{1,20})?", re.ASCII)
_YAML_VERSION: Final = re.compile(
    rb"""^["']?(openapi|swagger)["']?[ \t]*+:[ \t]*+["']?([0-9A-Za-z.+-]{1,32})["']?[ \t]*+(?:#.*)?\r?$""",
    re.MULTILINE,
)


class Generation(StrEnum):
    """The feature set (OpenAPI 3.1 §4.1): major and minor version."""

    V2_0 = "2.0"
    V3_0 = "3.0"
    V3_1 = "3.1"
    OTHER = "other"
    """A later one, or none that could be read."""


@dataclass(frozen=True, slots=True)
class Description:
    """An OpenAPI description; `version` and `title` are the publisher's, None where absent or not read."""

    generation: Generation
    version: str | None
    title: str | None
    has_repeated_names: bool
    """An object names a member twice; False in YAML, where nobody looks."""
    findings: tuple[Finding, ...]


def parse_openapi(body: bytes) -> Description | NotADocument:
    """The description in the body of a 200. Never raises."""
    if not body.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"{"):
        return _parse_yaml(body)
    document = read_document(DocumentClass.OPENAPI, body)
    if isinstance(document, NotADocument):
        return document
    root = document.members
    member = "openapi" if isinstance(root.get("openapi"), str) else "swagger"
    generation, version = _version(root[member], member)
    info = root.get("info")
    title = info.get("title") if isinstance(info, dict) else None
    return Description(
        generation,
        version,
        title if isinstance(title, str) and title else None,
        document.has_repeated_names,
        (*_version_findings(generation, member), *_content_findings(root, generation)),
    )


def _parse_yaml(body: bytes) -> Description | NotADocument:
    verdict = gate(DocumentClass.OPENAPI, None, body)
    if isinstance(verdict, NotADocument):
        return verdict
    match = _YAML_VERSION.search(body[:YAML_HEAD])
    member, stated = (match[1].decode(), match[2].decode()) if match else ("openapi", None)
    generation, version = _version(stated, member)
    return Description(generation, version, None, False, tuple(_version_findings(generation, member)))


def _version(stated: object, member: str) -> tuple[Generation, str | None]:
    match = _VERSION.fullmatch(stated) if isinstance(stated, str) else None
    if match is None:
        return Generation.OTHER, None
    is_known = match[1] in set(Generation) and (match[1] == Generation.V2_0) is (member == "swagger")
    return Generation(match[1]) if is_known else Generation.OTHER, match[0]


def _version_findings(generation: Generation, member: str) -> Iterator[Finding]:
    if generation is Generation.OTHER:
        detail = "The version is none of 2.0, 3.0 and 3.1, or could not be read."
        yield Finding(_RULE, pointer(member), detail, is_warning=True)


def _content_findings(root: JsonObject, generation: Generation) -> Iterator[Finding]:
    """What every version requires; where a later one is read, no more than 3.1 does."""
    info = root.get("info")
    for name in ("title", "version"):
        if not isinstance(info, dict) or not isinstance(info.get(name), str):
            yield Finding(_RULE, pointer("info", name), f"The info has no {name}.")
    names = _CONTENT[:1] if generation in (Generation.V2_0, Generation.V3_0) else _CONTENT
    if not any(isinstance(root.get(name), dict) for name in names):
        yield Finding(_RULE, pointer("paths"), f"The description has no {' nor '.join(names)}.")
