"""`ports.LocalLink` over python-zeroconf: browsing for agents on the local link (RFC 6762, RFC 6763, MD-3 to MD-6).

A browse listens for a window of one to three seconds and never longer, whatever the network does; those that begin
within it share it. What could not be heard is told in a sentence.

An instance counts as long as its SRV, TXT and address records do. Its PTR record says little: python-zeroconf keeps
one for at least 1125 seconds, however short its TTL, so an instance of which only that is left is asked for anew
and left out until it answers (MD-4).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Final

import ifaddr
from zeroconf import (
    BadTypeInNameException,
    DNSQuestionType,
    NotRunningException,
    ServiceStateChange,
    Zeroconf,
    current_time_millis,
)
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from proxy.discovery.records.localservices import SERVICE_TYPE, Browsed, Link, Service

_SHORTEST_WINDOW: Final = 1.0
_USUAL_WINDOW: Final = 2.0
_LONGEST_WINDOW: Final = 3.0
_START_TIMEOUT: Final = 1.0
_MOST_INSTANCES: Final = 64
# Answers by multicast: those by unicast reach one of the processes that share the port, any one (RFC 6762 §15.1).
_QUESTIONS: Final = DNSQuestionType.QM
_SERVICE_RECORDS: Final = frozenset({1, 16, 28, 33})  # A, TXT, AAAA, SRV


class ZeroconfLink:
    """Browses on some interfaces, by name ("eth0") or address; none given means all but loopback.

    The multicast groups are joined at the first browse and left by `close`, or when the interfaces have changed.
    """

    def __init__(self, interfaces: tuple[str, ...] = ()) -> None:
        self._interfaces = interfaces
        self._places: tuple[_Place, ...] = ()
        self._zeroconf: AsyncZeroconf | None = None
        self._window: asyncio.Task[Browsed] | None = None
        self._closing = asyncio.Event()

    async def browse(self, seconds: float = _USUAL_WINDOW) -> Browsed:
        """Every agent service heard within `seconds`, brought within one to three. Failures are values.

        A caller that is cancelled leaves the others' window open.
        """
        if self._window is None or self._window.done():
            if self._closing.is_set():
                return Browsed((), "Browsing has ended.")
            bounded = min(max(seconds, _SHORTEST_WINDOW), _LONGEST_WINDOW)
            self._window = asyncio.get_running_loop().create_task(self._listen(bounded))
        return await asyncio.shield(self._window)

    async def close(self) -> None:
        """Leave the multicast groups; a browse under way ends with what it has heard."""
        self._closing.set()
        if self._window is not None:
            await asyncio.wait([self._window])
        await self._leave()

    async def _listen(self, seconds: float) -> Browsed:
        try:
            zeroconf = await self._join(_places(self._interfaces))
        except (OSError, RuntimeError, NotRunningException) as error:
            await self._leave()
            return Browsed((), f"No multicast DNS: {_reason(error)}.")
        links = tuple(place.link for place in self._places)
        heard = _Heard(zeroconf, links, seconds)
        browser = AsyncServiceBrowser(zeroconf, SERVICE_TYPE, handlers=[heard.changed], question_type=_QUESTIONS)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._closing.wait()
        finally:
            await browser.async_cancel()
            await heard.end()
        services = heard.services()
        known = {name for place in self._places for name in place.names}
        problems = [f"There is no interface {name}." for name in self._interfaces if name not in known]
        problems += heard.problems(services)
        return Browsed(services, " ".join(problems) or None, links)

    async def _join(self, places: tuple[_Place, ...]) -> Zeroconf:
        if places != self._places:
            await self._leave()
        if not places:
            raise OSError("no interface to browse on has an address")
        if self._zeroconf is None:
            self._zeroconf = AsyncZeroconf(interfaces=[group for place in places for group in place.joins])
            self._places = places
        zeroconf = self._zeroconf.zeroconf
        await zeroconf.async_wait_for_start(_START_TIMEOUT)
        if not zeroconf.engine.senders:
            raise OSError("no interface takes part in multicast")
        return zeroconf

    async def _leave(self) -> None:
        opened, self._zeroconf, self._places = self._zeroconf, None, ()
        if opened is not None:
            await opened.async_close()


class _Heard:
    """The instances announced within one window; each is asked for what its announcement left out."""

    def __init__(self, zeroconf: Zeroconf, links: tuple[Link, ...], seconds: float) -> None:
        self._zeroconf = zeroconf
        self._links = links
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + seconds
        self._names: dict[str, None] = {}
        self._questions: list[asyncio.Task[bool]] = []
        self._is_full = False
        # A PTR record whose owner is spelt otherwise is never announced to `changed`, so never looked at.
        cache = zeroconf.cache
        strays = [record for record in cache.async_entries_with_name(SERVICE_TYPE) if record.name != SERVICE_TYPE]
        cache.async_remove_records(strays)

    def changed(self, zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange) -> None:
        """An instance came, or left with a goodbye (RFC 6762 §10.1). Called by zeroconf, with these names."""
        if state_change is ServiceStateChange.Removed:
            self._names.pop(name, None)
        elif state_change is ServiceStateChange.Added:
            self._add(name)

    def _add(self, name: str) -> None:
        try:
            instance = AsyncServiceInfo(SERVICE_TYPE, name)
        except BadTypeInNameException:
            self._forget(name)
            return
        if len(self._questions) >= _MOST_INSTANCES:
            self._is_full = True
            self._forget(name)
            return
        self._names[name] = None
        left = max(self._deadline - self._loop.time(), 0.0)
        question = self._loop.create_task(instance.async_request(self._zeroconf, left * 1000, _QUESTIONS))
        self._questions.append(question)

    def _forget(self, name: str) -> None:
        """Take it out of the cache: a query repeats the PTR records there, and fails at one it cannot write."""
        record = self._zeroconf.cache.current_entry_with_name_and_alias(SERVICE_TYPE, name)
        if record is not None:
            self._zeroconf.cache.async_remove_records([record])

    async def end(self) -> None:
        """Stop asking."""
        for question in self._questions:
            question.cancel()
        await asyncio.gather(*self._questions, return_exceptions=True)

    def services(self) -> tuple[Service, ...]:
        """The instances of which everything is known now."""
        found = (self._service(name) for name in self._names)
        return tuple(service for service in found if service is not None)

    def _service(self, name: str) -> Service | None:
        instance = AsyncServiceInfo(SERVICE_TYPE, name)
        now = current_time_millis()
        if not instance.load_from_cache(self._zeroconf, now):
            return None
        server = instance.server or ""
        cache = self._zeroconf.cache
        records = (
            record
            for record in (*cache.async_entries_with_name(name), *cache.async_entries_with_name(server))
            if record.type in _SERVICE_RECORDS and not record.is_expired(now)
        )
        return Service(
            name=name,
            host=server,
            port=instance.port or 0,
            addresses=tuple(self._zoned(address) for address in instance.parsed_scoped_addresses()),
            attributes=dict(instance.properties),
            ttl=min(int(record.get_remaining_ttl(now)) for record in records),
        )

    def _zoned(self, address: str) -> str:
        """With its zone, which zeroconf knows only of what came from a link-local address itself."""
        parsed = ip_address(address)
        if len(self._links) > 1 or parsed.version == 4 or parsed.scope_id or not parsed.is_link_local:
            return address
        return f"{address}%{self._links[0].zone}"

    def problems(self, services: tuple[Service, ...]) -> list[str]:
        found = []
        unanswered = len(self._names) - len(services)
        if unanswered:
            found.append(f"{unanswered} announced instances did not say in time where they are.")
        if self._is_full:
            found.append(f"Only the first {_MOST_INSTANCES} instances count.")
        return found


@dataclass(frozen=True, slots=True)
class _Place:
    """A link, what it is called in the configuration, and what zeroconf joins there.

    That is IPv4 addresses, and the index of the interface for IPv6.
    """

    link: Link
    names: frozenset[str]
    joins: tuple[str | int, ...]


def _places(interfaces: tuple[str, ...]) -> tuple[_Place, ...]:
    """Where to browse, as the interfaces are now. Raises OSError."""
    found = (_place(adapter, interfaces) for adapter in ifaddr.get_adapters())
    return tuple(place for place in found if place.joins)


def _place(adapter: ifaddr.Adapter, interfaces: tuple[str, ...]) -> _Place:
    joins: dict[str | int, None] = {}
    names, networks = {adapter.name}, []
    for ip in adapter.ips:
        address = ip_address(ip.ip if isinstance(ip.ip, str) else ip.ip[0])
        group = str(address) if address.version == 4 else adapter.index
        is_named = adapter.name in interfaces or str(address) in interfaces
        # IPv6 has no multicast on loopback.
        is_deaf = address.is_loopback and (address.version == 6 or not is_named)
        if group is not None and not is_deaf and (is_named or not interfaces):
            joins[group] = None
            names.add(str(address))
            networks.append(ip_network(f"{address}/{ip.network_prefix}", strict=False))
    return _Place(Link(adapter.name, str(adapter.index), tuple(networks)), frozenset(names), tuple(joins))


def _reason(error: Exception) -> str:
    if isinstance(error, NotRunningException):
        return "the sockets did not open in time"
    return getattr(error, "strerror", None) or str(error)
