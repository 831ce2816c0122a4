"""ANP agent descriptions: a collection of them, or the interfaces of one (DISCOVERY_FORMATS.md §8).

Read as plain JSON, as discovery does: no context is loaded.
"""

from __future__ import annotations

from typing import Final

from proxy.catalogs.collecting import Collector
from proxy.discovery.jsontext import JsonObject

_LISTS: Final = ("items", "interfaces")
_TYPES: Final = frozenset({"CollectionPage", "AgentDescription"})
_MOST_TYPES: Final = 16


def is_description(root: JsonObject) -> bool:
    """Whether an object is a page of a collection or a description, under whatever prefix."""
    stated = root.get("@type") or root.get("type")
    types = stated[:_MOST_TYPES] if isinstance(stated, list) else [stated]
    is_typed = any(isinstance(term, str) and term.rpartition(":")[2] in _TYPES for term in types)
    return is_typed and any(isinstance(root.get(name), list) for name in _LISTS)


def read_description(root: JsonObject, collector: Collector) -> None:
    """Collect what the document lists."""
    for name in _LISTS:
        listed = root.get(name)
        for index, item in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(item, dict):
                collector.look_for_seals(item)
                for member in ("@id", "url"):
                    collector.add(item.get(member), (name, index, member), 2, item.get("did"))
            else:
                collector.add(item, (name, index), 2, None)
