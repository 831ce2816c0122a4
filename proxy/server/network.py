"""The network's edge under a configuration: origins, resolvers and the local link, opened and closed together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_network
from pathlib import Path

from proxy.config import Settings
from proxy.http.messages import Realm
from proxy.ports import Clock, Dns, LocalLink, Origin
from proxy.server.opening import CannotOpen, opening
from proxy.upstream.addresses import AddressPolicy, CheckedResolver, Lookup
from proxy.upstream.dns.anchors import NO_ANCHORS, ROOT_ANCHORS, Anchors, BadAnchors, parse_anchors
from proxy.upstream.dns.client import DnsClient
from proxy.upstream.dns.hosts import HostsFile
from proxy.upstream.dns.resolvers import (
    BadResolver,
    Resolver,
    Transport,
    parse_resolver,
    system_resolvers,
)
from proxy.upstream.dns.rounds import Rounds
from proxy.upstream.dns.settings import Dnssec, DnsSettings
from proxy.upstream.dns.validation import Validator
from proxy.upstream.local import LocalNetwork
from proxy.upstream.mdns import ZeroconfLink
from proxy.upstream.origin import AiohttpOrigin, UpstreamLimits
from proxy.upstream.origins import Origins, PublicAddresses


@dataclass(frozen=True, slots=True)
class Network:
    """What the engine reaches the world by; `link` None: the local link is not used."""

    origin: Origin
    dns: Dns
    link: LocalLink | None

    async def close(self) -> None:
        """Close every connection."""
        links = () if self.link is None else (self.link.close(),)
        await asyncio.gather(self.origin.close(), self.dns.close(), *links)


def open_network(settings: Settings, own: AddressPolicy, clock: Clock) -> Network:
    """The network under `settings`; `own` refuses this process's own ports. Raises CannotOpen."""
    dns = _dns(settings, clock)
    lookup = _lookup(dns)
    limits = _limits(settings)
    public = PublicAddresses(own, tuple(ip_network(text) for text in settings.egress.allow_cidrs))
    with opening(f"upstream.ca_file {settings.upstream.ca_file}"):
        open_origin = partial(_origin, limits, clock)
        realms: dict[Realm, Origin] = {
            # Clients may use names that only the system's own ways of looking up know, unless told otherwise.
            Realm.ANY: open_origin(CheckedResolver(own, lookup if settings.dns.resolvers else None)),
            Realm.PUBLIC: open_origin(CheckedResolver(public, lookup)),
        }
        mdns = settings.discovery.mdns
        link = LocalNetwork(ZeroconfLink(mdns.interfaces), own) if mdns.enabled else None
        if link is not None:
            realms[Realm.LOCAL] = open_origin(link.resolver())
    return Network(Origins(realms, settings.upstream.connect_to), dns, link)


def _lookup(dns: DnsClient) -> Lookup:
    """Addresses by the machine's own list, else by DNS, where each query counts for the call that needs it."""
    hosts = HostsFile()

    async def addresses(host: str) -> tuple[str, ...]:
        return hosts.addresses(host) or await dns.addresses(host)

    return addresses


def _origin(limits: UpstreamLimits, clock: Clock, resolver: CheckedResolver) -> AiohttpOrigin:
    return AiohttpOrigin(limits, resolver, clock)


def _limits(settings: Settings) -> UpstreamLimits:
    upstream = settings.upstream
    return UpstreamLimits(
        connect_timeout=upstream.connect_timeout,
        total_timeout=upstream.total_timeout,
        idle_timeout=upstream.idle_timeout,
        max_header=upstream.max_header,
        max_connections=upstream.max_connections,
        ca_file=upstream.ca_file,
        connect_to=upstream.connect_to,
    )


def _dns(settings: Settings, clock: Clock) -> DnsClient:
    transport = Transport(settings.dns.transport)
    dns = DnsSettings(
        resolvers=_resolvers(settings, transport),
        transport=transport,
        dnssec=Dnssec(settings.dns.dnssec),
        trust_ad_from=frozenset(settings.dns.trust_ad_from),
    )
    rounds = Rounds(dns)
    return DnsClient(rounds, clock, Validator(rounds.exchange, _anchors(settings), clock))


def _resolvers(settings: Settings, transport: Transport) -> tuple[Resolver, ...]:
    if settings.dns.resolvers:
        return tuple(parse_resolver(text, transport) for text in settings.dns.resolvers)
    try:
        return system_resolvers(transport)
    except BadResolver:
        # A machine without DNS may still have everything else; each question fails and says so.
        return ()


def _anchors(settings: Settings) -> Anchors:
    name = settings.dns.trust_anchors
    if name is None:
        return ROOT_ANCHORS
    if name == "none":
        return NO_ANCHORS
    with opening(f"dns.trust_anchors {name}"):
        text = Path(name).read_text(encoding="utf-8")
    try:
        return parse_anchors(text)
    except BadAnchors as error:
        raise CannotOpen(f"dns.trust_anchors {name}: {error}") from None
