"""Requests to hosts on the local link: by the addresses multicast DNS gave, and to none outside the link (MD-3)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from proxy.discovery.names import is_local
from proxy.discovery.records.localservices import Browsed, Link, is_acceptable
from proxy.ports import OriginFault, OriginUnavailable
from proxy.upstream.addresses import AddressPolicy, CheckedResolver
from proxy.upstream.mdns import ZeroconfLink

_MOST_HOSTS: Final = 256


class LocalNetwork:
    """Implements `ports.LocalLink`, and is the address policy of the local link's connections."""

    def __init__(self, zeroconf: ZeroconfLink, behind: AddressPolicy) -> None:
        self._zeroconf = zeroconf
        self._behind = behind
        self._links: tuple[Link, ...] = ()
        self._hosts: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    async def browse(self, seconds: float) -> Browsed:
        """Every agent service heard within `seconds`. Failures are values."""
        browsed = await self._zeroconf.browse(seconds)
        self._links = browsed.links
        return browsed

    def admit(self, host: str, addresses: tuple[str, ...]) -> None:
        """From now on requests for `host` go to these addresses."""
        self._hosts[host] = addresses
        self._hosts.move_to_end(host)
        if len(self._hosts) > _MOST_HOSTS:
            self._hosts.popitem(last=False)

    def resolver(self) -> CheckedResolver:
        """What connections of the local link get their addresses from."""
        return CheckedResolver(self, self._addresses, asks=is_local)

    async def _addresses(self, host: str) -> tuple[str, ...]:
        return self._hosts.get(host, ())

    def check(self, address: str, port: int) -> None:
        """Raises OriginUnavailable (DENIED) for an address that is not on the link."""
        self._behind.check(address, port)
        if not is_acceptable(address, self._links):
            raise OriginUnavailable(OriginFault.DENIED, "The host is not on the local link.")

    async def close(self) -> None:
        """Leave the multicast groups."""
        await self._zeroconf.close()
