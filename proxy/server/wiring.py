"""Everything put together, in the one place that knows all parts."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from proxy.config import Settings
from proxy.engine.boundary.settings import Mode
from proxy.engine.catalogs.watching import WatchList
from proxy.engine.control import Control
from proxy.engine.copies import Copies
from proxy.engine.discovery.discoverer import Discoverer, World
from proxy.engine.fill import Filler
from proxy.engine.forwarder import Forwarder
from proxy.engine.gateway import Gateway
from proxy.engine.holdoff import HoldOffs
from proxy.engine.outage import Outage
from proxy.engine.outcome import Outcome
from proxy.engine.refresh import Refresher
from proxy.engine.settings import EngineSettings, Rules
from proxy.engine.state import EngineState
from proxy.engine.trust.standby import Standby
from proxy.logs import AccessLog
from proxy.metrics import Metrics
from proxy.server.api import Api
from proxy.server.bounding import Bounding, build_boundary
from proxy.server.catalogs import build_catalogs
from proxy.server.clients import build_clients
from proxy.server.enginesettings import class_policies, discovery_settings, engine_settings
from proxy.server.forms import Site
from proxy.server.handler import Front
from proxy.server.journal import Entry
from proxy.server.keeping import Kept
from proxy.server.network import Network
from proxy.server.owndocuments import OwnDocuments
from proxy.server.recordpages import RecordPages
from proxy.server.relocating import Relocating, build_relocation, relocation_rules
from proxy.server.trusting import AGENT, Trusting, build_trust, failover_settings, trust_settings
from proxy.server.usage import Usage
from proxy.upstream.mirrors import MirrorClient

_log = logging.getLogger("proxy.server")


def wall_clock() -> float:
    """Unix seconds: the clock every part is given."""
    return time.time()


@dataclass(frozen=True, slots=True)
class Engine:
    """What a reload replaces."""

    front: Front
    gateway: Gateway
    control: Control
    refresher: Refresher
    discoverer: Discoverer
    trusting: Trusting
    standby: Standby
    relocating: Relocating
    records: RecordPages
    watch: WatchList
    bounding: Bounding

    def begin(self) -> None:
        """Start what it does behind the scenes."""
        self.trusting.pinning.begin()
        self.relocating.rechecks.begin_rounds()
        self.watch.begin()

    async def retire(self) -> None:
        """Begin nothing new: another engine is in force, and this one only ends what is under way."""
        self.records.end_waits()
        await self.watch.close()
        await self.relocating.rechecks.end_rounds()

    async def close(self) -> None:
        """Stop what it does behind the scenes."""
        await self.watch.close()
        await self.relocating.close()
        await self.standby.close()
        await self.trusting.close()


def _state(limits: EngineSettings, rules: Rules, kept: Kept) -> EngineState:
    return EngineState(
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


def build_engine(settings: Settings, kept: Kept, network: Network) -> Engine:
    """The engine under `settings`, on the stores of `kept`. Raises CannotOpen."""
    limits = engine_settings(settings)
    state = _state(limits, Rules(limits, class_policies(settings)), kept)
    origin, trust = network.origin, trust_settings(settings)
    mirrors = MirrorClient(origin, AGENT)
    trusting = build_trust(trust, failover_settings(settings), state, kept.records, kept.turns, origin, mirrors)
    relocating = build_relocation(
        state, origin, kept.ledger, kept.relocation_turns, relocation_rules(settings), trusting.voucher
    )
    hearing = relocating.hearing
    filler = Filler(state, origin, hearing, trusting.voucher)
    refresher = Refresher(state, filler)
    standby = trusting.standby(state, refresher, trust)
    forwarder = Forwarder(state, origin, hearing)
    gateway = Gateway(state, relocating.answering, filler, refresher, forwarder, Outage(state, standby))
    control = Control(state, refresher, relocating.answering, relocating.rechecks, trusting.control)
    world = World(gateway, origin, network.dns, network.link, trusting.voucher)
    discoverer = Discoverer(state, world, discovery_settings(settings), relocating.rechecks.settle)
    relocating.writer.tell(discoverer.told)
    relocating.writer.tell(kept.metrics.relocated)
    catalogs = build_catalogs(settings, state, gateway, relocating)
    records = RecordPages(kept.ledger, kept.clock, catalogs.watch.catalogs_of)
    bounding = build_boundary(settings, state, gateway, relocating.answering, kept.boundary, kept.replays)
    clients = build_clients(settings)
    pages = bounding.pages(clients.ids, settings.boundary.profile_lifetime)
    front = Front(
        boundary=bounding.boundary,
        settings=bounding.settings,
        clients=clients,
        origin=origin,
        api=Api(discoverer, records, catalogs.pages, pages, _documents(settings, kept), kept.clock),
        sites=_sites(settings),
        connect=settings.forward.connect == "tunnel",
        connect_ports=settings.forward.connect_ports,
        usage=Usage(),
    )
    return Engine(
        front,
        gateway,
        control,
        refresher,
        discoverer,
        trusting,
        standby,
        relocating,
        records,
        catalogs.watch,
        bounding,
    )


def _documents(settings: Settings, kept: Kept) -> OwnDocuments:
    return OwnDocuments(settings.listen.public_url, kept.clock, settings.boundary.review_url)


def _sites(settings: Settings) -> tuple[Site, ...]:
    return tuple(
        Site(site.hosts, site.origin, None if site.boundary is None else Mode(site.boundary))
        for site in settings.sites
    )


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
