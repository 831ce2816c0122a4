"""OpenAPI descriptions, as far as a directory of them needs (TX-4): which version, and how much there is.

Nothing is dereferenced. Of YAML only the version is read, from a bounded head.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, cast

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.gate import MediaKind, NotADocument, gate
from proxy.discovery.jsontext import JsonObject, parse_json

YAML_HEAD: Final = 64 * 1024
"""Octets of a YAML description that are read."""

_METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})
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
    operations: int | None
    """Operations of its own paths, references not followed; None where they were not counted, as in YAML."""
    findings: tuple[Finding, ...]


def parse_openapi(body: bytes) -> Description | NotADocument:
    """The description in the body of a 200. Never raises."""
    verdict = gate(DocumentClass.OPENAPI, None, body)
    if isinstance(verdict, NotADocument):
        return verdict
    if verdict.kind is MediaKind.YAML:
        match = _YAML_VERSION.search(body[:YAML_HEAD])
        stated = (match[1].decode(), match[2].decode()) if match else ("openapi", None)
        return _description(*stated, title=None, operations=None)
    root = cast(JsonObject, parse_json(body))
    member = "openapi" if isinstance(root.get("openapi"), str) else "swagger"
    info = root.get("info")
    title = info.get("title") if isinstance(info, dict) else None
    return _description(
        member,
        cast(str, root[member]),
        title=title if isinstance(title, str) and title else None,
        operations=_operations(root.get("paths")),
    )


def _description(member: str, version: str | None, *, title: str | None, operations: int | None) -> Description:
    match = _VERSION.fullmatch(version or "")
    generation = Generation.OTHER
    if match is not None and match[1] in set(Generation) and (match[1] == Generation.V2_0) is (member == "swagger"):
        generation = Generation(match[1])
    findings = []
    if generation is Generation.OTHER:
        detail = "The version is none of 2.0, 3.0 and 3.1, or could not be read."
        findings.append(Finding("TX-4", f"/{member}", detail, is_warning=True))
    return Description(generation, match[0] if match else None, title, operations, tuple(findings))


def _operations(paths: object) -> int:
    items = paths.values() if isinstance(paths, Mapping) else ()
    return sum(
        1 for item in items if isinstance(item, dict) for name, value in item.items() if _is_operation(name, value)
    )


def _is_operation(name: str, value: object) -> bool:
    return name in _METHODS and isinstance(value, dict)
