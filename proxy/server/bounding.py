"""The parts of the boundary, put together under a configuration."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from proxy.boundaries import BoundaryRecords
from proxy.config import Settings
from proxy.config.bounding import ALLOWED, BoundaryHost
from proxy.discovery.access.routereading import parse_route
from proxy.engine.boundary.control import BoundaryControl
from proxy.engine.boundary.enforcing import Boundary
from proxy.engine.boundary.latching import Latching
from proxy.engine.boundary.listings import Listings
from proxy.engine.boundary.replays import Replays
from proxy.engine.boundary.settings import BoundarySettings, HostRules, Mode, OperatorRoute
from proxy.engine.discovery.reader import Reader
from proxy.engine.gateway import Gateway
from proxy.engine.relocation.answering import Answering
from proxy.engine.state import EngineState
from proxy.http.targets import parse_target
from proxy.ports import Clock
from proxy.server.boundedpages import BoundedPages
from proxy.server.evidencepages import EvidencePages
from proxy.server.profilepages import ProfilePages
from proxy.server.resolvepages import ResolvePages


@dataclass(frozen=True, slots=True)
class Bounding:
    """What lets requests pass or holds them back, and what an operator may do about that."""

    boundary: Boundary
    listings: Listings
    latching: Latching
    control: BoundaryControl
    settings: BoundarySettings
    clock: Clock

    def pages(self, ids: frozenset[str], profile_lifetime: float) -> BoundedPages:
        """The resources of the boundary; `ids` are the configured clients, profiles count for so many seconds."""
        records = self.control.records
        return BoundedPages(
            ResolvePages(self.listings, self.latching, self.settings, self.clock),
            EvidencePages(records, self.clock),
            ProfilePages(records, self.clock, profile_lifetime),
            ids,
        )


def build_boundary(
    settings: Settings,
    state: EngineState,
    gateway: Gateway,
    recorded: Answering,
    records: BoundaryRecords,
    replays: Replays,
) -> Bounding:
    """The parts, on the records and results that outlast them; `recorded` tells what origins have ended."""
    own = boundary_settings(settings)
    limits = state.settings
    reader = Reader(gateway, state.rules, state.generations, state.clock, limits.agent, limits.negative_ttl)
    listings = Listings(state, reader, own)
    latching = Latching(records, own, state.clock)
    replays.window = own.idempotency_window
    boundary = Boundary(state, gateway, recorded, listings, latching, replays, own)
    control = BoundaryControl(records, state.clock)
    return Bounding(boundary, listings, latching, control, own, state.clock)


def boundary_settings(settings: Settings) -> BoundarySettings:
    """The part of the configuration on the boundary."""
    boundary, public_url = settings.boundary, settings.listen.public_url
    return BoundarySettings(
        mode=Mode(boundary.mode),
        holds_unlisted=boundary.unlisted == "no-op",
        secrets_listed=Mode(boundary.secrets.listed),
        secrets_unlisted=Mode(boundary.secrets.unlisted),
        hosts={name: _rules(host) for name, host in boundary.hosts.items()},
        review_url=boundary.review_url,
        released_for=boundary.released_for,
        idempotency_window=boundary.idempotency_window,
        two_key_status=200 if boundary.no_op_status == "200" else None,
        agent="discovery-proxy" if public_url is None else parse_target(public_url).host,
    )


def _rules(host: BoundaryHost) -> HostRules:
    routes = (_route(route) for route in host.routes)
    return HostRules(
        mode=None if host.mode is None else Mode(host.mode),
        secrets=None if host.secrets is None else Mode(host.secrets),
        routes=tuple(route for route in routes if route is not None),
        allowed_parameters=frozenset(host.allow_parameters),
    )


def _route(value: JsonValue) -> OperatorRoute | None:
    record = parse_route(value).record
    names = value.get(ALLOWED, []) if isinstance(value, dict) else []
    if record is None or not isinstance(names, list):
        return None
    return OperatorRoute(record, frozenset(map(str, names)))
