"""What kind of network an IP address belongs to: which ones a publisher may send us to.

`ipaddress.is_global` alone is no guard: it holds for multicast, for IPv4 embedded in IPv6 and for site-local
addresses. The registries of special-purpose addresses (RFC 6890) decide, embedded forms are refused outright.
"""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address


class AddressClass(StrEnum):
    """The families of which only `PUBLIC` is anybody's to name."""

    PUBLIC = "public"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    LINK_LOCAL = "link-local"
    METADATA = "metadata"
    RESERVED = "reserved"
    MULTICAST = "multicast"
    EMBEDDED = "embedded"


# RFC 6890 and its registries, less what has a row of its own.
_SPECIAL: Final = (
    *("100.64.0.0/10", "198.18.0.0/15", "192.0.0.0/24", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),
    *("192.88.99.0/24", "240.0.0.0/4", "2001:db8::/32", "3fff::/20", "100::/64", "2001::/23", "5f00::/16"),
)
# The first row that holds the address decides, so the narrow ones come first.
_FAMILIES: Final = (
    (AddressClass.METADATA, ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254")),
    (AddressClass.LOOPBACK, ("127.0.0.0/8", "::1", "0.0.0.0/8", "::")),
    (AddressClass.PRIVATE, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")),
    (AddressClass.LINK_LOCAL, ("169.254.0.0/16", "fe80::/10", "fec0::/10")),
    (AddressClass.MULTICAST, ("224.0.0.0/4", "ff00::/8", "255.255.255.255")),
    (AddressClass.EMBEDDED, ("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")),
    (AddressClass.RESERVED, _SPECIAL),
)
_NETWORKS: Final[tuple[tuple[AddressClass, tuple[IPv4Network | IPv6Network, ...]], ...]] = tuple(
    (family, tuple(ip_network(network) for network in networks)) for family, networks in _FAMILIES
)


def address_class(address: str) -> AddressClass:
    """The family of a literal address; a zone is ignored, IPv4 mapped into IPv6 is taken out of it.

    Raises ValueError for what is no address.
    """
    plain = plain_address(address)
    for family, networks in _NETWORKS:
        if any(plain in network for network in networks):
            return family
    return AddressClass.PUBLIC if plain.is_global else AddressClass.RESERVED


def plain_address(address: str) -> Address:
    """The address without zone, and IPv4 out of its IPv6 mapping. Raises ValueError for what is no address."""
    parsed = ip_address(address.partition("%")[0])
    return getattr(parsed, "ipv4_mapped", None) or parsed
