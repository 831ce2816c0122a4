"""A catalog from its octets: which format it is in, and what it lists."""

from __future__ import annotations

from typing import Final

from proxy.catalogs.agentcards import LISTED_AS, are_cards, read_cards
from proxy.catalogs.aicatalogs import read_ai_catalog
from proxy.catalogs.anpdescriptions import is_description, read_description
from proxy.catalogs.catalog import Catalog, CatalogKind, NotACatalog
from proxy.catalogs.collecting import Collector
from proxy.catalogs.linksets import read_linkset
from proxy.catalogs.listing import ListingText, read_listing
from proxy.catalogs.mcpregistries import read_registry_page
from proxy.discovery.gate import PAGES
from proxy.discovery.jsontext import JsonObject, MalformedJson
from proxy.discovery.listings.mediatypes import MediaType, parse_media_type
from proxy.http.targets import Target
from proxy.relocation.records import LONGEST_URL

_AI_CATALOG: Final = "application/ai-catalog+json"
_LINKSET: Final = "application/linkset+json"
_JSON: Final = "application/json"
_MEDIA_TYPES: Final = {
    CatalogKind.AI_CATALOG: _AI_CATALOG,
    CatalogKind.LINKSET: _LINKSET,
    CatalogKind.MCP_REGISTRY: _JSON,
    CatalogKind.CARDS: _JSON,
    CatalogKind.ANP: _JSON,
}
_CLAIMS: Final = {_AI_CATALOG: CatalogKind.AI_CATALOG, _LINKSET: CatalogKind.LINKSET}
_EXPECTED: Final = "expected entries, linkset, servers, a list of agent cards, or ANP's items or interfaces"


def read_catalog(body: bytes, media_type: str | None, url: Target) -> Catalog:
    """The catalog in the body of a 200 from `url`, content coding removed; the caller bounds its size.

    `media_type` is the Content-Type value. Raises NotACatalog and nothing else, whatever the octets.
    """
    stated = None if media_type is None else parse_media_type(media_type)
    if stated is not None and stated.essence in PAGES:
        raise NotACatalog("the body is declared as HTML")
    if len(url.path) > LONGEST_URL:
        raise NotACatalog(f"the path of the catalog has more than {LONGEST_URL} characters")
    try:
        source = read_listing(body)
    except MalformedJson as error:
        raise NotACatalog(error.detail) from None
    collector = Collector(url, source.has_seals)
    kind = _read(source, stated, collector)
    return Catalog(
        kind,
        _answered_as(kind, media_type, stated),
        source,
        tuple(collector.entries),
        collector.is_sealed,
        collector.next_cursor,
        collector.limit_note,
    )


def _read(source: ListingText, stated: MediaType | None, collector: Collector) -> CatalogKind:
    root = source.value
    if isinstance(root, list) and are_cards(root):
        read_cards(root, (), collector)
        return CatalogKind.CARDS
    if not isinstance(root, dict):
        raise NotACatalog(_EXPECTED)
    kind = _kind(root, stated)
    collector.look_for_seals(root)
    match kind:
        case CatalogKind.AI_CATALOG:
            read_ai_catalog(root, collector)
        case CatalogKind.LINKSET:
            read_linkset(root, collector)
        case CatalogKind.MCP_REGISTRY:
            read_registry_page(root, collector)
        case CatalogKind.ANP:
            read_description(root, collector)
        case _:
            for name in LISTED_AS:
                listed = root.get(name)
                if isinstance(listed, list):
                    read_cards(listed, (name,), collector)
    return kind


def _kind(root: JsonObject, stated: MediaType | None) -> CatalogKind:
    """Told by its members; by its media type only where they allow of more than one."""
    kinds = []
    if isinstance(root.get("entries"), list):
        kinds.append(CatalogKind.AI_CATALOG)
    if isinstance(root.get("linkset"), list):
        kinds.append(CatalogKind.LINKSET)
    if _has_servers(root.get("servers")):
        kinds.append(CatalogKind.MCP_REGISTRY)
    if is_description(root):
        kinds.append(CatalogKind.ANP)
    if any(isinstance(listed := root.get(name), list) and are_cards(listed) for name in LISTED_AS):
        kinds.append(CatalogKind.CARDS)
    if not kinds:
        raise NotACatalog(_EXPECTED)
    claimed = None if stated is None else _CLAIMS.get(stated.essence)
    return claimed if claimed in kinds and claimed is not None else kinds[0]


def _has_servers(listed: object) -> bool:
    """An OpenAPI description has `servers` too, but they have no name."""
    if not isinstance(listed, list):
        return False
    return not listed or any(
        isinstance(item, dict) and (isinstance(item.get("server"), dict) or isinstance(item.get("name"), str))
        for item in listed
    )


def _answered_as(kind: CatalogKind, media_type: str | None, stated: MediaType | None) -> str:
    """Its own media type if that is one of JSON, which is always UTF-8."""
    if stated is None or media_type is None or not (stated.essence == _JSON or stated.essence.endswith("+json")):
        return _MEDIA_TYPES[kind]
    return stated.essence if any(name == "charset" for name, _ in stated.parameters) else media_type.strip()
