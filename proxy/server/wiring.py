"""Everything put together, in the one place that knows all parts."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from proxy.config import Settings
from proxy.discovery.classes import POLICIES, ClassPolicy, DocumentClass
from proxy.engine.collapse import Flights
from proxy.engine.control import Control
from proxy.engine.copies import Copies
from proxy.engine.discovery.discoverer import Discoverer, DiscoverySettings, World
from proxy.engine.fill import Filler
from proxy.engine.forwarder import Forwarder
from proxy.engine.gateway import Gateway
from proxy.engine.holdoff import HoldOffs
from proxy.engine.outage import Outage
from proxy.engine.outcome import Outcome
from proxy.engine.refresh import Refresher
from proxy.engine.settings import EngineSettings, Rules
from proxy.engine.state import EngineState
from proxy.engine.trust.known import Turns
from proxy.engine.trust.standby import Standby
from proxy.logs import AccessLog
from proxy.metrics import Metrics
from proxy.ports import Clock
from proxy.server.api import Api
from proxy.server.forms import Site
from proxy.server.handler import Entry, Front
from proxy.server.network import Network
from proxy.server.opening import CannotOpen
from proxy.server.trusting import AGENT, Trusting, build_trust, failover_settings, trust_settings
from proxy.server.usage import Usage
from proxy.stores.files import Claim, StoreInUse
from proxy.stores.generations import MemoryGenerations, SqliteGenerations
from proxy.stores.memory import Memory
from proxy.stores.persistent import Persistent, open_sqlite
from proxy.stores.tiered import Tiered
from proxy.stores.trustrecords import MemoryTrustRecords, SqliteTrustRecords
from proxy.upstream.mirrors import MirrorClient

# A fill may take as long as connecting and answering may, and then store its body.
_LEASE_MARGIN = 5.0

_log = logging.getLogger("proxy.server")


def wall_clock() -> float:
    """Unix seconds: the clock every part is given."""
    return time.time()


@dataclass(frozen=True, slots=True)
class Kept:
    """What a reload keeps: stores, marks, the right to both, fills under way, metrics and the clock."""

    memory: Memory
    store: Tiered
    generations: MemoryGenerations | SqliteGenerations
    records: MemoryTrustRecords | SqliteTrustRecords
    turns: Turns
    claim: Claim | None
    flights: Flights
    metrics: Metrics
    clock: Clock

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why the stores do less than they should; empty when all is well."""
        return (*self.store.degraded, *self.generations.degraded, *self.records.degraded)

    async def tend(self) -> None:
        """Try again what could not be used, as soon as it is ours."""
        if not self.degraded:
            return
        try:
            if self.claim is not None:
                self.claim.take()
        except (OSError, StoreInUse):
            return
        self.generations.retry(self.clock())
        await self.store.probe()
        await self.records.probe()

    async def close(self, seconds: float) -> None:
        """Write what waits and close everything, within `seconds`."""
        await self.store.close(seconds)
        self.generations.close()
        await self.records.close()
        if self.claim is not None:
            self.claim.release()


@dataclass(frozen=True, slots=True)
class Engine:
    """What a reload replaces."""

    front: Front
    control: Control
    refresher: Refresher
    discoverer: Discoverer
    trusting: Trusting
    standby: Standby

    async def close(self) -> None:
        """Stop what it does behind the scenes."""
        await self.standby.close()
        await self.trusting.close()


def class_policies(settings: Settings) -> Mapping[DocumentClass, ClassPolicy]:
    """Each class's defaults with `cache.classes` laid over them."""
    policies = dict(POLICIES)
    for name, override in settings.cache.classes.items():
        given = {key: value for key, value in override.model_dump().items() if value is not None}
        policies[DocumentClass(name)] = replace(policies[DocumentClass(name)], **given)
    return policies


def engine_settings(settings: Settings) -> EngineSettings:
    """The engine's part of the configuration."""
    cache, upstream = settings.cache, settings.upstream
    return EngineSettings(
        max_body=cache.max_body,
        max_fields=upstream.max_header,
        background_refreshes=cache.background_refreshes,
        fills_per_origin=cache.fills_per_origin,
        fill_patience=upstream.connect_timeout,
        refresh_backoff=cache.refresh_backoff,
        flight_lease=upstream.connect_timeout + upstream.total_timeout + _LEASE_MARGIN,
        negative_ttl=cache.negative_ttl,
        outage_stale=cache.outage_stale,
        s_maxage_forbids_stale=cache.s_maxage_forbids_stale,
        agent=AGENT,
    )


def discovery_settings(settings: Settings) -> DiscoverySettings:
    """Discovery's part of the configuration."""
    discovery = settings.discovery
    return DiscoverySettings(
        deadline=discovery.deadline,
        concurrency=discovery.concurrency,
        negative_ttl=settings.cache.negative_ttl,
        agent=AGENT,
        anp=discovery.anp,
        isolated=discovery.mdns.isolated,
        requires_dnssec=settings.dns.dnssec == "require",
        off_domain=discovery.off_domain,
        issuer_slash=discovery.issuer_slash,
    )


def build_engine(settings: Settings, kept: Kept, network: Network) -> Engine:
    """The engine under `settings`, on the stores of `kept`. Raises CannotOpen."""
    limits = engine_settings(settings)
    rules = Rules(limits, class_policies(settings))
    state = EngineState(
        store=kept.store,
        flights=kept.flights,
        holdoffs=HoldOffs(limits.refresh_backoff),
        generations=kept.generations,
        rules=rules,
        observer=kept.metrics,
        clock=kept.clock,
        settings=limits,
        copies=Copies(kept.generations, kept.clock),
    )
    origin, trust = network.origin, trust_settings(settings)
    mirrors = MirrorClient(origin, AGENT)
    trusting = build_trust(trust, failover_settings(settings), state, kept.records, kept.turns, origin, mirrors)
    filler = Filler(state, origin, trusting.voucher)
    refresher = Refresher(state, filler)
    standby = trusting.standby(state, refresher, trust)
    gateway = Gateway(state, filler, refresher, Forwarder(state, origin), Outage(state, standby))
    control = Control(state, refresher, trusting.control)
    world = World(gateway, origin, network.dns, network.link, trusting.voucher)
    discoverer = Discoverer(state, world, discovery_settings(settings))
    front = Front(
        gateway=gateway,
        origin=origin,
        api=Api(discoverer, kept.clock),
        sites=tuple(Site(site.hosts, site.origin) for site in settings.sites),
        connect=settings.forward.connect == "tunnel",
        connect_ports=settings.forward.connect_ports,
        usage=Usage(),
    )
    return Engine(front, control, refresher, discoverer, trusting, standby)


def open_kept(settings: Settings, metrics: Metrics, clock: Clock) -> Kept:
    """Memory, the persistent store if there is one, and the purge marks that go with it.

    Raises CannotOpen when another process has the store. One that cannot be used is tried again by `Kept.tend`.
    """
    if settings.store.database is None:
        return keep(settings, metrics, clock, None, MemoryGenerations(), MemoryTrustRecords())
    path = Path(settings.store.database)
    claim = _claimed(path)
    # The marks first: they judge whether what the store holds may still be used.
    generations = SqliteGenerations(marks_of(path), path, clock())
    records = SqliteTrustRecords(records_of(path), settings.store.operation_timeout)
    store = open_sqlite(path, settings.cache.max_variants, clock)
    return keep(settings, metrics, clock, store, generations, records, claim)


def keep(
    settings: Settings,
    metrics: Metrics,
    clock: Clock,
    store: Persistent | None,
    generations: MemoryGenerations | SqliteGenerations,
    records: MemoryTrustRecords | SqliteTrustRecords,
    claim: Claim | None = None,
) -> Kept:
    """Memory in front of `store`, which `generations` and `claim` go with."""
    memory = Memory(
        settings.memory.max_bytes,
        settings.cache.max_variants,
        lambda reason, count: metrics.evicted("l1", reason, count),
    )
    tiered = Tiered(memory, store, generations, metrics, clock, settings.store.operation_timeout)
    flights = Flights(clock, engine_settings(settings).flight_lease)
    return Kept(memory, tiered, generations, records, Turns(), claim, flights, metrics, clock)


def marks_of(database: Path) -> Path:
    """Where the purge marks of a persistent store are."""
    return database.with_name(database.name + ".marks")


def records_of(database: Path) -> Path:
    """Where the trust records beside a persistent store are."""
    return database.with_name(database.name + ".trust")


def _claimed(database: Path) -> Claim:
    claim = Claim(database)
    try:
        claim.take()
    except StoreInUse as error:
        raise CannotOpen(f"store.url: {error}") from None
    except OSError as error:
        # Mostly nobody can use what is there then, and no request fails for that.
        _log.warning("cannot tell whether another process uses %s (%s)", database, type(error).__name__)
    return claim


class AccessJournal:
    """Where a request's outcome becomes a log line and metrics: the handler's Journal."""

    def __init__(self, metrics: Metrics, log: AccessLog) -> None:
        self._metrics = metrics
        self._log = log

    def ended(self, entry: Entry, outcome: Outcome, seconds: float, body_bytes: int) -> None:
        """Log and count one request."""
        self._metrics.served(outcome, seconds, body_bytes)
        self._log.write(
            outcome,
            request_id=entry.request_id,
            method=entry.method,
            received=entry.request_target,
            form=entry.form.value,
            seconds=seconds,
            body_bytes=body_bytes,
            traceparent=entry.traceparent,
        )
