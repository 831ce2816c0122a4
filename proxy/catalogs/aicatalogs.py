"""AI Catalog and ARD in all three dialects (DISCOVERY_FORMATS.md §4.1): `entries`, each with a URL or with data.

Data may be a catalog, a card or an API catalog itself, and then lists URLs of its own. An entry that leads to
another catalog is an entry like any other.
"""

from __future__ import annotations

from typing import Final

from proxy.catalogs.agentcards import read_card_urls
from proxy.catalogs.catalog import Pointer
from proxy.catalogs.claims import class_of_type
from proxy.catalogs.collecting import Collector
from proxy.catalogs.linksets import read_contexts
from proxy.catalogs.listing import Number
from proxy.catalogs.mcpregistries import read_remotes
from proxy.catalogs.seals import SEALED
from proxy.discovery.cards.a2a import is_plainly_card
from proxy.discovery.classes import DocumentClass
from proxy.discovery.jsontext import JsonObject

MOST_DEPTH: Final = 4
"""Catalogs inside each other that are read, the outermost one included (CAT-7)."""

_HIGHEST_MAJOR: Final = 1
# Proposed for AI Catalog (DISCOVERY_FORMATS.md §12.6).
_LIFECYCLE: Final = "https://ai-catalog.org/extensions/lifecycle"


def read_ai_catalog(root: JsonObject, collector: Collector) -> None:
    """Collect what the catalog lists."""
    if _major(root.get("specVersion")) > _HIGHEST_MAJOR:
        collector.limit_note = "The major version of the format is higher than 1: nothing is read (CAT-8)."
        return
    host = root.get("host")
    if isinstance(host, dict):
        collector.look_for_seals(host)
    _read_entries(root["entries"], ("entries",), 1, collector)


def _read_entries(listed: object, path: Pointer, depth: int, collector: Collector) -> None:
    owner = len(path) + 1
    for index, entry in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(entry, dict):
            continue
        if not SEALED.isdisjoint(entry):
            collector.look_for_seals(entry)
        get = entry.get
        extensions = get("extensions")
        hint = None if extensions is None else _lifecycle(extensions)
        claimed = _claimed(entry)
        at = (*path, index, "url")
        collector.add(get("url"), at, owner, get("identifier"), hint, get("updatedAt"), claimed)
        data = get("data")
        if isinstance(data, dict):
            _read_data(entry, data, (*path, index, "data"), depth, collector)


def _read_data(entry: JsonObject, data: JsonObject, path: Pointer, depth: int, collector: Collector) -> None:
    """The document that an entry holds. One under a digest would not be what the entry names once it is edited."""
    before = len(collector.entries)
    collector.look_for_seals(data)
    subject = entry.get("identifier")
    owner = len(path) - 1
    if isinstance(data.get("entries"), list):
        if depth == MOST_DEPTH:
            collector.limit_note = f"Catalogs inside each other are read {MOST_DEPTH} deep (CAT-7)."
            return
        _read_entries(data["entries"], (*path, "entries"), depth + 1, collector)
    elif isinstance(data.get("linkset"), list):
        read_contexts(data, path, collector, owner)
    elif _claimed(entry) is DocumentClass.AGENT_CARD or is_plainly_card(data):
        read_card_urls(data, path, owner, subject, collector)
    elif _claimed(entry) is DocumentClass.MCP_SERVER_CARD:
        read_remotes(data, path, owner, subject, collector)
    if entry.get("digest") and len(collector.entries) > before:
        collector.is_sealed = True


def _claimed(entry: JsonObject) -> DocumentClass | None:
    return class_of_type(entry.get("type") or entry.get("mediaType"))


def _lifecycle(extensions: object) -> object:
    lifecycle = extensions.get(_LIFECYCLE) if isinstance(extensions, dict) else None
    return lifecycle.get("status") if isinstance(lifecycle, dict) else lifecycle


def _major(stated: object) -> int:
    """The major version, also of one that was written as a number; 0 where there is none to be seen."""
    text = stated.text if isinstance(stated, Number) else stated
    major = text.partition(".")[0][:10] if isinstance(text, str) else ""
    return int(major) if major.isascii() and major.isdecimal() else 0
