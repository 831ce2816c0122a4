"""What a catalog claims of a URL: of which class the document there is.

A claim is not believed (CAT-5). It tells what to hold the document to where its path does not: an answer of another
kind than was listed is none (C-15). Nothing is claimed of an endpoint, which is no document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from proxy.catalogs.catalog import Entry
from proxy.discovery.classes import DocumentClass
from proxy.discovery.listings.mediatypes import LONGEST_TYPE, EntryKind, kind_of, parse_media_type

_CLASSES: Final[Mapping[EntryKind, DocumentClass]] = {
    EntryKind.AGENT_CARD: DocumentClass.AGENT_CARD,
    EntryKind.MCP_SERVER_CARD: DocumentClass.MCP_SERVER_CARD,
    EntryKind.CATALOG: DocumentClass.AI_CATALOG,
    EntryKind.LINKSET: DocumentClass.API_CATALOG,
    EntryKind.OPENAPI: DocumentClass.OPENAPI,
}
# Of skills the index alone has a class; the others are texts and archives.
_SKILLS_INDEX: Final = "application/agent-skills+json"


def class_of_type(stated: object) -> DocumentClass | None:
    """The class that a media type stands for, from a member as it is in the document; None for any other."""
    return _class_of(stated) if isinstance(stated, str) and len(stated) <= LONGEST_TYPE else None


# A catalog of thousands of entries has a few media types.
@lru_cache(maxsize=64)
def _class_of(stated: str) -> DocumentClass | None:
    media_type = parse_media_type(stated)
    if media_type is None:
        return None
    if media_type.essence == _SKILLS_INDEX:
        return DocumentClass.AGENT_SKILLS
    return _CLASSES.get(kind_of(media_type.essence))


def claims_of(entries: Iterable[Entry]) -> dict[str, DocumentClass]:
    """What entries claim of their URLs, by keys; nothing where they contradict each other."""
    claims: dict[str, DocumentClass] = {}
    contested: set[str] = set()
    for entry in entries:
        key, claimed = entry.key, entry.claimed
        if key is not None and claimed is not None and claims.setdefault(key, claimed) is not claimed:
            contested.add(key)
    return {key: claimed for key, claimed in claims.items() if key not in contested} if contested else claims
