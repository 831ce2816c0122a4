"""Agents on the local link, as heard by multicast DNS (MD-1 to MD-4, RFC 6762, RFC 6763).

`Service` is one resolved instance of `_agent._tcp.local.`; what its TXT record says is a claim that nothing vouches
for, so it is `unverified-local` throughout.

Invariants: a service is of use only under a name in `.local` and at addresses of the link on which it was heard, so
the local link never answers for a public name; whatever was heard makes nothing here raise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from proxy.discovery.findings import Finding
from proxy.discovery.names import is_local
from proxy.discovery.records.localtxt import read_text
from proxy.discovery.urls import UrlRefused, checked
from proxy.http.addresses import AddressClass, address_class, plain_address
from proxy.http.targets import MalformedTarget, Target, parse_host

SERVICE_TYPE: Final = "_agent._tcp.local."

_VERSION: Final = "uaix1"
_LINK_CLASSES: Final = frozenset({AddressClass.PRIVATE, AddressClass.LINK_LOCAL, AddressClass.LOOPBACK})
_MOST_ADDRESSES: Final = 16
_LONGEST_NAME: Final = 63


@dataclass(frozen=True, slots=True)
class Service:
    """One instance: its full name, where it listens, its TXT attributes as received (value None: no "=").

    An IPv6 address of link-local scope carries its zone, "fe80::1%2"; all of it holds for `ttl` seconds.
    """

    name: str
    host: str
    port: int
    addresses: tuple[str, ...]
    attributes: Mapping[bytes, bytes | None]
    ttl: int


@dataclass(frozen=True, slots=True)
class Link:
    """An interface that is browsed: its name, its zone in IPv6 addresses (RFC 4007 §11), its prefixes."""

    name: str
    zone: str
    networks: tuple[IPv4Network | IPv6Network, ...]


@dataclass(frozen=True, slots=True)
class Browsed:
    """What a browse came to, and on which links; `problem` says in sentences what could not be heard, and why."""

    services: tuple[Service, ...]
    problem: str | None = None
    links: tuple[Link, ...] = ()


class ServiceReason(StrEnum):
    """Why an instance is of no use."""

    VERSION = "version"
    HOST = "host"
    PORT = "port"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True)
class LocalAgent:
    """An agent on the local link, in its own words.

    `name` is the instance as people read it, `host` canonical and in `.local`, `addresses` those of the link, never
    none; the others are as in `LocalText`. `problems` are warnings about what was passed over.
    """

    name: str
    host: str
    port: int
    addresses: tuple[str, ...]
    path: str
    did: str | None
    proto: str | None
    version: str
    capabilities: tuple[str, ...]
    problems: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class UnusableService:
    """An instance that was heard and is not used; `detail` is for people."""

    name: str
    reason: ServiceReason
    detail: str


def is_acceptable(address: str, links: tuple[Link, ...]) -> bool:
    """Whether a service at `address` is on one of the links that are browsed (MD-3).

    Private and link-local addresses on a prefix of the link; loopback only where that is the link. An IPv6 address
    of link-local scope belongs to the link of its zone; without a zone it leads nowhere.
    """
    try:
        family, plain = address_class(address), plain_address(address)
    except ValueError:
        return False
    zone = address.partition("%")[2]
    if family not in _LINK_CLASSES or (plain.version == 6 and plain.is_link_local and not zone):
        return False
    zoned = (link for link in links if not zone or zone in (link.zone, link.name))
    return any(plain in network for link in zoned for network in link.networks)


def read_service(service: Service, links: tuple[Link, ...]) -> LocalAgent | UnusableService:
    """What an instance heard on `links` offers, or why it is of no use. Never raises."""
    name = _shown(service.name)
    text = read_text(service.attributes)
    if text.version != _VERSION:
        return UnusableService(name, ServiceReason.VERSION, f"Its TXT record does not say v={_VERSION}.")
    host = _local_host(service.host)
    if host is None:
        return UnusableService(name, ServiceReason.HOST, "Its host is no name in .local.")
    if not _is_port(host, service.port):
        return UnusableService(name, ServiceReason.PORT, "Its port is none, or that of another protocol.")
    known = dict.fromkeys(service.addresses)
    addresses = tuple(address for address in known if is_acceptable(address, links))
    if not addresses:
        return UnusableService(name, ServiceReason.ADDRESS, "It has no address on the link that was browsed.")
    problems = text.problems
    if len(addresses) < len(known):
        problems += (Finding("MD-3", "", "Some of its addresses are not on the link.", is_warning=True),)
    return LocalAgent(
        name=name,
        host=host,
        port=service.port,
        addresses=addresses[:_MOST_ADDRESSES],
        path=text.path,
        did=text.did,
        proto=text.proto,
        version=text.version,
        capabilities=text.capabilities,
        problems=problems,
    )


def _shown(name: str) -> str:
    """The instance without its type, fit to be shown: it may be any UTF-8 (RFC 6763 §4.1.1)."""
    if name.lower().endswith(f".{SERVICE_TYPE}"):
        name = name[: -len(SERVICE_TYPE) - 1]
    shown = (character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name)
    return "".join(shown)[:_LONGEST_NAME]


def _local_host(host: str) -> str | None:
    try:
        name = parse_host(host)
    except MalformedTarget:
        return None
    return name if is_local(name) else None


def _is_port(host: str, port: int) -> bool:
    try:
        checked(Target("https", host, port, "/", None))
    except UrlRefused:
        return False
    return 0 < port < 65536
