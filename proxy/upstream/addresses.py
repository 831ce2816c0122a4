"""From a host to the addresses that a connection may go to.

Every connection of this package, for a request, an upgrade or a tunnel, gets its addresses from `CheckedResolver`
and from nowhere else: a name is resolved once, each address of the answer is checked, and the connection goes to a
checked address without another look-up (so a name cannot change its mind in between).
"""

from __future__ import annotations

import socket
from contextlib import closing
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Protocol

from aiohappyeyeballs import AddrInfoType
from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from proxy.http.targets import is_address
from proxy.ports import OriginFault, OriginUnavailable


class AddressPolicy(Protocol):
    """Which addresses may be connected to."""

    def check(self, address: str, port: int) -> None:
        """Raises OriginUnavailable (DENIED) unless a connection to the literal `address` may be made."""
        ...


class OwnListeners:
    """Refuses what this process listens on itself: a request sent there would come back as another request."""

    def __init__(self) -> None:
        self._listeners: set[tuple[IPv4Address | IPv6Address, int]] = set()

    def add(self, host: str, port: int) -> None:
        """A socket is bound to the literal address `host`; an unspecified one means every local address."""
        self._listeners.add((_plain(host), port))

    def check(self, address: str, port: int) -> None:
        """Raises OriginUnavailable (DENIED) for an address that reaches one of the listeners."""
        if any(port == own_port and _reaches(address, own) for own, own_port in self._listeners):
            raise OriginUnavailable(OriginFault.DENIED, "The target is this proxy itself: the request would loop.")


class CheckedResolver(AbstractResolver):
    """The system's resolver, of whose answers only those that pass the policy as a whole come through."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of `host`. Raises OSError for a name without any, OriginUnavailable for a denied one."""
        results = await self._system.resolve(host, port, family)
        for result in results:
            self._policy.check(result["host"], result["port"])
        return results

    async def addresses(self, host: str, port: int) -> list[AddrInfoType]:
        """The addresses of a name or an address, as `socket.getaddrinfo` gives them. Raises as `resolve` does."""
        results = await self.resolve(host, port)
        return [
            (result["family"], socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (result["host"], result["port"]))
            for result in results
        ]

    def check_literal(self, host: str, port: int) -> None:
        """The policy's say on a host that is an address already: aiohttp does not ask a resolver about those."""
        if is_address(host):
            self._policy.check(host, port)

    async def close(self) -> None:
        """There is nothing to close."""


def _reaches(address: str, listener: IPv4Address | IPv6Address) -> bool:
    target = _plain(address)
    # Connecting to the unspecified address reaches loopback, and so in the end whatever listens on the port.
    return target == listener or target.is_unspecified or (listener.is_unspecified and _is_local(address))


def _plain(address: str) -> IPv4Address | IPv6Address:
    """The address without zone, and IPv4 out of its IPv6 mapping."""
    parsed = ip_address(address.partition("%")[0])
    return getattr(parsed, "ipv4_mapped", None) or parsed


def _is_local(address: str) -> bool:
    """Whether the address belongs to this machine: only those can be bound to."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
