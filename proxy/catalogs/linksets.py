"""API catalogs as JSON linksets (RFC 9727, RFC 9264; DISCOVERY_FORMATS.md §5.4).

Every target of every context is an entry; its subject is what the link is from and what kind of link it is. The
shapes that LS-2 tells of are read as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from proxy.catalogs.catalog import Pointer
from proxy.catalogs.claims import class_of_type
from proxy.catalogs.collecting import Collector
from proxy.discovery.classes import DocumentClass
from proxy.discovery.jsontext import JsonObject

# RFC 9727 §2: what such a link leads to lists APIs.
_API_CATALOG: Final = "api-catalog"


def read_linkset(root: JsonObject, collector: Collector) -> None:
    """Collect what the linkset lists."""
    read_contexts(root, (), collector, None)


def read_contexts(document: JsonObject, path: Pointer, collector: Collector, owner: int | None) -> None:
    """The links of a document at `path` that has a `linkset`; without an `owner` each context is its own."""
    listed = document["linkset"]
    for index, context in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(context, dict):
            continue
        collector.look_for_seals(context)
        at = (*path, "linkset", index)
        anchor = context.get("anchor")
        about = collector.name_of(anchor if isinstance(anchor, str) else "")
        for relation, link, where in _links(context, at):
            relation = relation.lower()
            claimed = _claimed(relation, link)
            subject = f"{about} {relation}"
            collector.add(link.get("href"), (*where, "href"), owner or len(at), subject, claimed=claimed)


def _claimed(relation: str, link: JsonObject) -> DocumentClass | None:
    """By its media type, without one by its relation."""
    stated = link.get("type")
    if stated is None and relation == _API_CATALOG:
        return DocumentClass.API_CATALOG
    return class_of_type(stated)


def _links(context: JsonObject, at: Pointer) -> Iterator[tuple[str, JsonObject, Pointer]]:
    """Relation type, target object and where it is."""
    own = context.get("rel")
    if isinstance(own, str):
        yield own, context, at
        return
    for name, targets in context.items():
        if isinstance(targets, dict):
            yield name, targets, (*at, name)
        elif isinstance(targets, list):
            for index, link in enumerate(targets):
                if isinstance(link, dict):
                    own = link.get("rel") if name == "links" else None
                    yield own if isinstance(own, str) else name, link, (*at, name, index)
