"""Pages of an MCP registry (DISCOVERY_FORMATS.md §4.4): `servers`, each with its remotes.

A registry's status of a server is a hint and no more, and so is which version is the latest. A server that has
packages as well can be had without its remotes, so it stays when they go.
"""

from __future__ import annotations

from typing import Final

from proxy.catalogs.catalog import Pointer
from proxy.catalogs.collecting import Collector
from proxy.discovery.jsontext import JsonObject

_OFFICIAL: Final = "io.modelcontextprotocol.registry/official"


def read_registry_page(root: JsonObject, collector: Collector) -> None:
    """Collect what the page lists, and where the next one is."""
    listed = root["servers"]
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            _read_server(item, index, collector)
    metadata = root.get("metadata")
    if isinstance(metadata, dict):
        cursor = metadata.get("nextCursor") or metadata.get("next_cursor")
        collector.next_cursor = cursor if isinstance(cursor, str) and cursor else None


def _read_server(item: JsonObject, index: int, collector: Collector) -> None:
    path: Pointer = ("servers", index)
    server: object = item.get("server")
    if isinstance(server, dict):
        path = ("servers", index, "server")
    else:
        server = item
    collector.look_for_seals(item)
    collector.look_for_seals(server)
    official = _official(item)
    status = official.get("status") or server.get("status")
    is_older = official.get("isLatest", official.get("is_latest")) is False
    read_remotes(server, path, 2, server.get("name"), collector, status, official.get("updatedAt"), is_older)


def _official(item: JsonObject) -> JsonObject:
    """What the registry itself adds to a server."""
    meta = item.get("_meta")
    if not isinstance(meta, dict):
        return {}
    official = meta.get(_OFFICIAL) or meta.get("official")
    return official if isinstance(official, dict) else {}


def read_remotes(
    server: JsonObject,
    path: Pointer,
    owner: int,
    subject: object,
    collector: Collector,
    hint: object = None,
    updated_at: object = None,
    is_older: bool = False,
) -> None:
    """The remotes of a server, which is at `path`; `owner` goes with the last one if there are no packages."""
    if server.get("packages"):
        owner = len(path) + 1
    remotes = server.get("remotes")
    for index, remote in enumerate(remotes if isinstance(remotes, list) else ()):
        if isinstance(remote, dict):
            at = (*path, "remotes", index, "url")
            collector.add(remote.get("url"), at, owner, subject, hint, updated_at, is_older=is_older)
