"""The network in its realms: as clients may use it, as far as publishers may lead, and the local link.

Connections of one realm never carry a request of another: an address that was acceptable to one is not for that
reason acceptable to all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network

from proxy.http.addresses import AddressClass, address_class, plain_address
from proxy.http.messages import Realm, Request
from proxy.ports import (
    Body,
    ByteStream,
    Interim,
    Origin,
    OriginFault,
    OriginResponse,
    OriginUnavailable,
    Upgraded,
)
from proxy.upstream.addresses import AddressPolicy
from proxy.upstream.connect_to import ConnectTo, connect_address

Network = IPv4Network | IPv6Network


class PublicAddresses:
    """Refuses every address that is not public, unless the operator named its network (C-11)."""

    def __init__(self, behind: AddressPolicy, allowed: Iterable[Network] = ()) -> None:
        self._behind = behind
        self._allowed = tuple(allowed)

    def check(self, address: str, port: int) -> None:
        """Raises OriginUnavailable (DENIED) unless a connection to the literal `address` may be made."""
        self._behind.check(address, port)
        family = address_class(address)
        if family is AddressClass.PUBLIC or self._is_allowed(address, family):
            return
        detail = f"The host leads to a {family} address; egress.allow_cidrs names those that may be reached."
        raise OriginUnavailable(OriginFault.DENIED, detail)

    def _is_allowed(self, address: str, family: AddressClass) -> bool:
        plain = plain_address(address)
        # An address of cloud metadata is not opened by the range around it.
        exact = family is AddressClass.METADATA
        return any(plain in network and (not exact or network.num_addresses == 1) for network in self._allowed)


class Origins:
    """Implements `ports.Origin` over one for each realm. What `connect_to` redirects is the operator's own word."""

    def __init__(self, realms: Mapping[Realm, Origin], connect_to: Sequence[ConnectTo]) -> None:
        self._realms = dict(realms)
        self._connect_to = tuple(connect_to)

    async def fetch(self, request: Request, body: Body = None, interim: Interim | None = None) -> OriginResponse:
        """Send `request` as it is. Raises OriginUnavailable."""
        return await self._for(request).fetch(request, body, interim)

    async def upgrade(self, request: Request) -> Upgraded | OriginResponse:
        """Send `request` with its Upgrade field. Raises OriginUnavailable."""
        return await self._for(request).upgrade(request)

    async def connect(self, host: str, port: int) -> ByteStream:
        """A connection for a CONNECT tunnel. Raises OriginUnavailable."""
        return await self._realms[Realm.ANY].connect(host, port)

    async def close(self) -> None:
        """Close every idle connection."""
        for origin in self._realms.values():
            await origin.close()

    def _for(self, request: Request) -> Origin:
        target = request.target
        place = (target.host, target.port)
        if connect_address(self._connect_to, *place) != place:
            return self._realms[Realm.ANY]
        origin = self._realms.get(request.realm)
        if origin is None:
            raise OriginUnavailable(OriginFault.DENIED, "The local link is not used (discovery.mdns.enabled).")
        return origin
