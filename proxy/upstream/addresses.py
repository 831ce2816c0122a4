"""From a host to the addresses that a connection may go to.

Every connection of this package, for a request, an upgrade or a tunnel, gets its addresses from `CheckedResolver`
and from nowhere else: a name is resolved once, each address of the answer is checked, and the connection goes to a
checked address without another look-up (so a name cannot change its mind in between).
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Protocol

from aiohappyeyeballs import AddrInfoType
from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from proxy.http.addresses import Address, plain_address
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
        self._listeners: set[tuple[Address, int]] = set()

    def add(self, host: str, port: int) -> None:
        """A socket is bound to the literal address `host`; an unspecified one means every local address."""
        self._listeners.add((plain_address(host), port))

    def check(self, address: str, port: int) -> None:
        """Raises OriginUnavailable (DENIED) for an address that reaches one of the listeners."""
        if any(port == own_port and _reaches(address, own) for own, own_port in self._listeners):
            raise OriginUnavailable(OriginFault.DENIED, "The target is this proxy itself: the request would loop.")


Lookup = Callable[[str], Awaitable[tuple[str, ...]]]
"""The literal addresses of a host name; none when there are none to be had."""


class CheckedResolver(AbstractResolver):
    """Resolvers of whose answers only those that pass the policy as a whole come through.

    Names of domains are asked of `lookup`, where there is one, and all others of the system; `asks` is told where
    other names are to be asked of it.
    """

    def __init__(
        self, policy: AddressPolicy, lookup: Lookup | None = None, asks: Callable[[str], bool] | None = None
    ) -> None:
        self._policy = policy
        self._lookup = lookup
        self._asks = asks or _is_domain
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of `host`. Raises OSError for a name without any, OriginUnavailable for a denied one."""
        if self._lookup is not None and self._asks(host):
            results = _results(host, await self._lookup(host), port, family)
        else:
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


def _is_domain(host: str) -> bool:
    """Whether DNS is to be asked: itself and the local link (RFC 6762 §3) the system alone knows."""
    is_own = host.endswith((".localhost", ".local"))
    return "." in host and not is_own and not is_address(host)


def _results(host: str, addresses: tuple[str, ...], port: int, family: socket.AddressFamily) -> list[ResolveResult]:
    """What aiohttp wants to know of the addresses of `family`. Raises OSError when there are none."""
    results = [
        ResolveResult(
            hostname=host,
            host=address,
            port=port,
            family=socket.AF_INET6 if ":" in address else socket.AF_INET,
            proto=socket.IPPROTO_TCP,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for address in addresses
    ]
    matching = [result for result in results if family in (socket.AF_UNSPEC, result["family"])]
    if not matching:
        raise socket.gaierror(socket.EAI_NONAME, "DNS knows no address of the host.")
    return matching


def _reaches(address: str, listener: Address) -> bool:
    target = plain_address(address)
    # Connecting to the unspecified address reaches loopback, and so in the end whatever listens on the port.
    return target == listener or target.is_unspecified or (listener.is_unspecified and _is_local(address))


def _is_local(address: str) -> bool:
    """Whether the address belongs to this machine: only those can be bound to."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
