"""Catalogs for tests, and origins that have said something of what they list."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from proxy.catalogs.applying import Applied, applied
from proxy.catalogs.catalog import Catalog
from proxy.catalogs.reading import read_catalog
from proxy.catalogs.verdicts import Standing, standing_of
from proxy.http.targets import parse_target
from proxy.relocation.records import Proof, Record, State
from proxy.relocation.sightings import Sighting
from tests.relocation.origin import DAY, NOW

BASE = parse_target("https://catalogs.example.org/all/catalog.json")
ONE, TWO, THREE = (f"https://agents.example.com/{name}.json" for name in ("one", "two", "three"))
NEW = "https://agents.example.com/new.json"

Lookup = Callable[[str], Record | None]


def moved(url: str, target: str = NEW, **members: Any) -> Record:
    """The record of a move, settled unless `members` say otherwise."""
    record = Record(
        url, State.MOVED, 308, NOW, NOW, NOW + DAY, NOW + DAY, location=target, target=target, proof=Proof.SAME_SITE
    )
    return replace(record, **members)


def gone(url: str, **members: Any) -> Record:
    return replace(Record(url, State.GONE, 410, NOW, NOW, NOW + DAY, NOW + DAY), **members)


def ledger(*records: Record) -> Lookup:
    return {record.url: record for record in records}.get


def read(value: object, media_type: str | None = None) -> Catalog:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return read_catalog(body, media_type, BASE)


def standings(
    catalog: Catalog, *records: Record, sightings: Mapping[str, Sighting] | None = None, now: float = NOW
) -> dict[str, Standing]:
    """Where everything in the catalog stands by these records."""
    lookup = ledger(*records)
    return {
        entry.key: standing_of(entry.key, lookup, (sightings or {}).get(entry.key), now)
        for entry in catalog.entries
        if entry.key is not None
    }


def apply(value: object, *records: Record, now: float = NOW) -> Applied:
    catalog = read(value)
    return applied(catalog, standings(catalog, *records, now=now))


def left(value: object, *records: Record, now: float = NOW) -> Any:
    """What is left of a catalog, as parsed; its value itself where nothing changes."""
    body = apply(value, *records, now=now).body
    return value if body is None else json.loads(body)


def urls(catalog: Catalog) -> list[str]:
    return [entry.url for entry in catalog.entries]


def ai_entry(url: str, name: str = "one", **members: Any) -> dict[str, Any]:
    return {"identifier": f"urn:air:example.com:{name}", "type": "application/json", "url": url, **members}


def ai_catalog(*listed: Any, **members: Any) -> dict[str, Any]:
    return {"specVersion": "1.0", "entries": list(listed), **members}


def mcp_item(
    *remotes: str, name: str = "com.example/one", status: str = "active", **members: Any
) -> dict[str, Any]:
    server = {"name": name, "remotes": [{"type": "streamable-http", "url": url} for url in remotes], **members}
    official = {"status": status, "updatedAt": "2026-11-01T00:00:00Z"}
    return {"server": server, "_meta": {"io.modelcontextprotocol.registry/official": official}}
