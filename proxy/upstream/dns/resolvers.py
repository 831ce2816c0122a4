"""The resolvers that are asked: written down by the operator, or taken from the system."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import Final

import dns.exception
import dns.resolver

from proxy.http.targets import MalformedTarget, is_address, parse_host


class Transport(StrEnum):
    """How queries travel (RFC 1035 §4.2; RFC 7858 for TLS)."""

    UDP = "udp"
    TCP = "tcp"
    TLS = "tls"


DEFAULT_PORTS: Final = {Transport.UDP: 53, Transport.TCP: 53, Transport.TLS: 853}
_FORMS: Final = "Write 9.9.9.9, 127.0.0.1:5353, [::1]:53 or, for tls, 9.9.9.9:853#dns.example."


@dataclass(frozen=True, slots=True)
class Resolver:
    """Where to ask. `address` is a literal IP address; `tls_name` is verified over TLS, None: the address is."""

    address: str
    port: int
    tls_name: str | None = None

    def __str__(self) -> str:
        """As diagnostics name it: "127.0.0.1:53", "[::1]:53"."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class BadResolver(ValueError):
    """The text names no resolver; `detail` says why and what would."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


def parse_resolver(text: str, transport: Transport) -> Resolver:
    """The resolver written as ADDRESS[:PORT][#TLS-NAME], an IPv6 address with a port in brackets.

    A host name will not do, since nobody is there yet to resolve it. Raises BadResolver.
    """
    place, mark, name = text.strip().partition("#")
    address, port = _split(place)
    if not is_address(address):
        raise BadResolver(f"A resolver is given by its IP address. {_FORMS}")
    return Resolver(str(ip_address(address)), _port(port, transport), _tls_name(name, transport) if mark else None)


def _split(place: str) -> tuple[str, str | None]:
    """Address and port; a bare IPv6 address has no port."""
    if place.startswith("["):
        address, bracket, rest = place[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")) or ":" not in address:
            raise BadResolver(f"Brackets hold an IPv6 address, and a colon and the port may follow. {_FORMS}")
        return address, rest[1:] if rest else None
    if is_address(place):
        return place, None
    address, colon, port = place.rpartition(":")
    return (address, port) if colon and ":" not in address else (place, None)


def _port(text: str | None, transport: Transport) -> int:
    if text is None:
        return DEFAULT_PORTS[transport]
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and 0 < int(text) < 65536):
        raise BadResolver(f"The port of a resolver is a number from 1 to 65535. {_FORMS}")
    return int(text)


def _tls_name(text: str, transport: Transport) -> str:
    if transport is not Transport.TLS:
        raise BadResolver("A name after # is verified over TLS only: set the transport to tls or leave it out.")
    try:
        return parse_host(text)
    except MalformedTarget:
        raise BadResolver(f"After # comes the host name in the resolver's certificate. {_FORMS}") from None


def system_resolvers(transport: Transport, path: str = "/etc/resolv.conf") -> tuple[Resolver, ...]:
    """The system's resolvers, in its order; over TLS their addresses are verified. Raises BadResolver."""
    configuration = dns.resolver.Resolver(configure=False)
    try:
        configuration.read_resolv_conf(path)
    except (dns.exception.DNSException, ValueError):
        raise BadResolver("The system names no usable resolver: list resolvers in the configuration.") from None
    return tuple(parse_resolver(str(server), transport) for server in configuration.nameservers)
