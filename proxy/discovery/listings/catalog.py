"""Catalogs of agents and tools: ARD v0.9 and v0.91, and AI Catalog (DISCOVERY_FORMATS §4.1).

Three *dialects* share one shape and often one path; the dialect is told by members, never by the path. An *entry*
names a document by URL or holds it as data; one that cannot be used is dropped, never the catalog. Nothing is
verified here: `is_signed` says that there is something to verify, over the document as published and not over this
notes of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, cast

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.gate import GateReason, NotADocument, read_document
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.listings.catalogentries import Entry, has_signature, read_entries
from proxy.discovery.listings.digests import DataVerdict, data_verdict
from proxy.discovery.notes import Notes
from proxy.http.targets import Target

MOST_ENTRIES: Final = 5000
"""Of one catalog, and of all that are nested in it (CAT-7)."""

_HIGHEST_MAJOR: Final = 1
_VERSION: Final = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")
_LONGEST_VERSION: Final = 32
_AI_CATALOG_ENTRY: Final = ("mediaType", "extensions", "trustManifests")


class Dialect(StrEnum):
    """Whose catalog it is. A catalog that is both ARD v0.9 and AI Catalog counts as the former."""

    ARD_0_9 = "ard-0.9"
    ARD_0_91 = "ard-0.91"
    AI_CATALOG = "ai-catalog"


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog as read; `spec_version` is the publisher's text, cut short, and orders nothing across dialects."""

    dialect: Dialect
    spec_version: str | None
    entries: tuple[Entry, ...]
    is_signed: bool
    """There is a signature over the catalog itself."""
    has_repeated_names: bool
    """An object names a member twice: nothing signed or digested in the document can be trusted (C-15)."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class OpaqueCatalog:
    """A catalog of a later major version: it may be passed on, and nothing of it is read (CAT-8)."""

    finding: Finding


def parse_catalog(body: bytes, base: Target | None) -> Catalog | OpaqueCatalog | NotADocument:
    """The catalog in the body of a 200 from `base` (None: of unknown place). Never raises."""
    document = read_document(DocumentClass.AI_CATALOG, body)
    if isinstance(document, NotADocument):
        return document
    return read_catalog(document.members, base, has_repeated_names=document.has_repeated_names)


def read_catalog(
    value: object, base: Target | None, *, has_repeated_names: bool = False
) -> Catalog | OpaqueCatalog | NotADocument:
    """The catalog in a parsed JSON text, which may be the data of an entry of another one. Never raises."""
    root = cast(JsonObject, value) if isinstance(value, dict) else {}
    listed = root.get("entries")
    if not isinstance(listed, list):
        return NotADocument(GateReason.MEMBERS_MISSING, "expected entries")
    notes = Notes(base)
    version = _version_text(root.get("specVersion"))
    if _major(version) > _HIGHEST_MAJOR:
        return OpaqueCatalog(
            Finding("CAT-8", "/specVersion", "The major version is higher than 1: nothing is read.")
        )
    if root.get("specVersion") is not None and _VERSION.fullmatch(version) is None:
        notes.fail("CAT-8", "/specVersion", "The version is not Major.Minor, two non-negative integers.")
    if "collections" in root:
        notes.warn("CAT-7", "/collections", "collections is no longer part of the format and is not read.")
    read = listed[:MOST_ENTRIES]
    if len(read) < len(listed):
        notes.warn("CAT-7", "/entries", f"Only the first {MOST_ENTRIES} entries are read.")
    return Catalog(
        _dialect(root, version, read),
        version[:_LONGEST_VERSION] or None,
        read_entries(read, base, notes),
        has_signature(root),
        has_repeated_names,
        notes.findings(),
    )


def _version_text(stated: object) -> str:
    """The version, also of one that was written as a number; "" where there is none."""
    if isinstance(stated, str):
        return stated
    return str(stated) if isinstance(stated, int | float) and not isinstance(stated, bool) else ""


def _major(version: str) -> int:
    """The major version, also of texts that are not quite versions; 0 where there is none to be seen."""
    major = version.partition(".")[0]
    return int(major[:10]) if major.isascii() and major.isdecimal() else 0


def _dialect(root: JsonObject, version: str, listed: Sequence[object]) -> Dialect:
    if "@context" in root or version == "0.91":
        return Dialect.ARD_0_91
    if version == "0.9" or "extensions" in root or "signature" in root or any(map(_is_ai_catalog_entry, listed)):
        return Dialect.AI_CATALOG
    return Dialect.ARD_0_9 if version else Dialect.ARD_0_91


def _is_ai_catalog_entry(value: object) -> bool:
    return isinstance(value, dict) and any(name in value for name in _AI_CATALOG_ENTRY)


def inline_verdict(catalog: Catalog, entry: Entry) -> DataVerdict | None:
    """Whether the data of an entry is what its digest is over (CAT-9); None when it has not both.

    Linear in the data but slow, so it is a step of its own.
    """
    if entry.digest is None or entry.data is None:
        return None
    return DataVerdict.NOT_CANONICAL if catalog.has_repeated_names else data_verdict(entry.digest, entry.data)
