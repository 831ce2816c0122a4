"""The endpoints of an MCP server card: where the server listens, found in whichever layout was deployed.

Each layout says it in another member; MCP-3 orders these *places*. The first place that yields an endpoint counts.
An endpoint is kept only if its URL may be fetched and its transport is one that HTTP carries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.notes import admit_bounded
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

PLACES: Final = "MCP-3"
# What is read of one list; a hostile card lists more.
MOST_ENDPOINTS: Final = 32


class Shape(StrEnum):
    """The layout of a card, told by the place that counted, or by the first one it has."""

    SEP_2127 = "sep2127"
    SEP_1649 = "sep1649"
    RELATIVE = "relative"
    """One server in any layout, by a URL that means something only beside the card's own."""
    LOOSE = "loose"
    FLAT = "flat"
    LIST = "list"
    """Several servers: `servers`, `mcpServers`."""
    CATALOG = "catalog"
    """An AI catalog under the name of a card: its entries are for the parser of catalogs."""
    NO_ENDPOINT = "no-endpoint"


class Transport(StrEnum):
    """In order of preference (MCP-6)."""

    STREAMABLE_HTTP = "streamable-http"
    UNSTATED = "unstated"
    SSE = "sse"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens.

    `identifier` is the URL as published, for the comparison with a protected resource's identifier (OA-3), which no
    URL survives that was parsed and written again; of a relative URL it is the resolved one.
    """

    url: Target
    transport: Transport
    identifier: str


@dataclass(frozen=True, slots=True)
class _Claim:
    """An endpoint as published; `transport` is the member that names it, whatever it holds."""

    path: str
    reference: object
    transport: object


_Read = Callable[[JsonObject, str], Iterator[_Claim]]
_Place = tuple[Shape, _Read]
_TRANSPORTS: Final[Mapping[str, Transport]] = {
    "streamablehttp": Transport.STREAMABLE_HTTP,
    "http": Transport.STREAMABLE_HTTP,
    "sse": Transport.SSE,
}
_PREFERENCE: Final = tuple(Transport)
_JOINERS: Final = re.compile(r"[-_ ]")


def read_endpoints(card: JsonObject, base: Target, findings: list[Finding]) -> tuple[Shape, tuple[Endpoint, ...]]:
    """The card's shape and its endpoints in order of preference; what is wrong with others goes to `findings`.

    `base` is where the card was found.
    """
    absent = Shape.CATALOG if isinstance(card.get("entries"), list) else Shape.NO_ENDPOINT
    for shape, claims in _places(card):
        endpoints = _usable(claims, base, findings)
        if endpoints:
            is_relative = shape is not Shape.LIST and not any(_is_absolute(claim.reference) for claim in claims)
            return Shape.RELATIVE if is_relative else shape, endpoints
        if absent is Shape.NO_ENDPOINT:
            absent = shape
    if absent is not Shape.CATALOG:
        findings.append(Finding(PLACES, "", "The card leads to no endpoint.", True))
    return absent, ()


def _places(card: JsonObject) -> Iterator[tuple[Shape, list[_Claim]]]:
    """The places that the card has. A `url` beside lists of servers may be a home page, so the lists come first."""
    yield from _server_places(card, "", _FIRST_PLACES)
    for name in ("servers", "mcpServers"):
        servers = card.get(name)
        if isinstance(servers, dict | list):
            yield Shape.LIST, list(_listed_servers(servers, pointer(name)))
    yield from _server_places(card, "", _LAST_PLACES)


def _server_places(server: JsonObject, path: str, places: Iterable[_Place]) -> Iterator[tuple[Shape, list[_Claim]]]:
    for shape, read in places:
        claims = list(read(server, path))
        if claims:
            yield shape, claims


def _listed_servers(servers: JsonObject | list[object], path: str) -> Iterator[_Claim]:
    """The first place of each server. The names of a map are the publisher's own, so no path holds them."""
    values = servers if isinstance(servers, list) else servers.values()
    for index, server in enumerate(islice(values, MOST_ENDPOINTS + 1)):
        if isinstance(server, dict):
            at = f"{path}/{index}" if isinstance(servers, list) else path
            places = _server_places(server, at, (*_FIRST_PLACES, *_LAST_PLACES))
            _, claims = next(places, (Shape.LIST, [_Claim(at, None, None)]))
            yield from claims


def _remotes(server: JsonObject, path: str) -> Iterator[_Claim]:
    remotes = server.get("remotes")
    for index, remote in enumerate(remotes[: MOST_ENDPOINTS + 1] if isinstance(remotes, list) else ()):
        if isinstance(remote, dict):
            yield _Claim(f"{path}/remotes/{index}/url", remote.get("url"), remote.get("type"))


def _transport(server: JsonObject, path: str) -> Iterator[_Claim]:
    transport = server.get("transport")
    for name in ("endpoint", "url"):
        if isinstance(transport, dict) and name in transport:
            yield _Claim(f"{path}/transport/{name}", transport[name], transport.get("type"))


def _member(name: str) -> _Read:
    def read(server: JsonObject, path: str) -> Iterator[_Claim]:
        if name in server:
            yield _Claim(f"{path}/{name}", server[name], _stated_transport(server, path))

    return read


def _stated_transport(server: JsonObject, path: str) -> object:
    """What `transport` says; in a list of servers `type` says it as well, elsewhere that is any type."""
    transport = server.get("transport")
    if isinstance(transport, dict):
        return transport.get("type")
    return transport if transport is not None or not path else server.get("type")


def _mcp_endpoints(server: JsonObject, path: str) -> Iterator[_Claim]:
    endpoints = server.get("endpoints")
    named = endpoints.get("mcp") if isinstance(endpoints, dict) else None
    if isinstance(named, dict):
        yield _Claim(f"{path}/endpoints/mcp/primary", named.get("primary"), None)
    elif named is not None:
        yield _Claim(f"{path}/endpoints/mcp", named, None)


def _transports(server: JsonObject, path: str) -> Iterator[_Claim]:
    transports = server.get("transports")
    listed = transports.items() if isinstance(transports, dict) else ()
    for name, transport in islice(listed, MOST_ENDPOINTS + 1):
        if isinstance(transport, dict):
            yield _Claim(f"{path}/transports", transport.get("url", transport.get("endpoint")), name)


_FIRST_PLACES: Final[tuple[_Place, ...]] = (
    (Shape.SEP_2127, _remotes),
    (Shape.SEP_1649, _transport),
    (Shape.LOOSE, _member("endpoint")),
    (Shape.LOOSE, _member("serverUrl")),
)
_LAST_PLACES: Final[tuple[_Place, ...]] = (
    (Shape.FLAT, _member("url")),
    (Shape.LOOSE, _mcp_endpoints),
    (Shape.LOOSE, _transports),
)


def _usable(claims: list[_Claim], base: Target, findings: list[Finding]) -> tuple[Endpoint, ...]:
    usable: dict[tuple[Target, Transport], Endpoint] = {}
    if len(claims) > MOST_ENDPOINTS:
        findings.append(Finding(PLACES, "", f"Only the first {MOST_ENDPOINTS} endpoints are read."))
    for claim in claims[:MOST_ENDPOINTS]:
        found = _endpoint(claim, base)
        if isinstance(found, Finding):
            findings.append(found)
            continue
        if found.identifier != claim.reference:
            findings.append(Finding(PLACES, claim.path, "The URL is not absolute.", True))
        usable.setdefault((found.url, found.transport), found)
    return tuple(sorted(usable.values(), key=lambda endpoint: _PREFERENCE.index(endpoint.transport)))


def _endpoint(claim: _Claim, base: Target) -> Endpoint | Finding:
    """What is no endpoint for a good reason, such as a server on the reader's own machine, is a warning."""
    transport = _named_transport(claim.transport)
    if transport is None:
        return Finding(PLACES, claim.path, "The transport is none that HTTP carries.", True)
    if claim.reference is None:
        return Finding(PLACES, claim.path, "The server has no URL.", True)
    if not isinstance(claim.reference, str) or not claim.reference:
        return Finding(PLACES, claim.path, "The URL is no text.")
    if "{" in claim.reference:
        return Finding(PLACES, claim.path, "The URL is a template.", True)
    try:
        url = admit_bounded(claim.reference, base)
    except UrlRefused as error:
        return Finding(PLACES, claim.path, error.detail)
    return Endpoint(url, transport, claim.reference if _is_absolute(claim.reference) else url.uri)


def _named_transport(name: object) -> Transport | None:
    if not isinstance(name, str):
        return Transport.UNSTATED
    return _TRANSPORTS.get(_JOINERS.sub("", name).lower())


def _is_absolute(reference: object) -> bool:
    return isinstance(reference, str) and "://" in reference
