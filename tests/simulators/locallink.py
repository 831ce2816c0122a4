"""The local link in memory: a test says what is heard, and reads who was admitted.

link = LinkSimulator((announced("Printer", "printer.local."),))
...
assert link.admitted == {"printer.local": ("192.168.7.5",)}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network

from proxy.discovery.records.localservices import SERVICE_TYPE, Browsed, Link, Service

ADDRESS = "192.168.7.5"
LINK = Link("eth0", "2", (ip_network("192.168.7.0/24"), ip_network("fe80::/64")))


def announced(
    name: str = "Printer",
    host: str = "printer.local.",
    *,
    port: int = 443,
    addresses: tuple[str, ...] = (ADDRESS,),
    attributes: Mapping[bytes, bytes | None] | None = None,
    ttl: int = 120,
) -> Service:
    """An instance as it is heard."""
    said = {b"v": b"uaix1"} if attributes is None else attributes
    return Service(f"{name}.{SERVICE_TYPE}", host, port, addresses, said, ttl)


@dataclass
class LinkSimulator:
    """Implements `ports.LocalLink`."""

    services: tuple[Service, ...] = ()
    problem: str | None = None
    browses: int = 0
    admitted: dict[str, tuple[str, ...]] = field(default_factory=dict)

    async def browse(self, seconds: float) -> Browsed:
        self.browses += 1
        return Browsed(self.services, self.problem, (LINK,))

    def admit(self, host: str, addresses: tuple[str, ...]) -> None:
        self.admitted[host] = addresses

    async def close(self) -> None:
        pass
