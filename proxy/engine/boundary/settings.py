"""The boundary's part of the configuration, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from proxy.discovery.access.routes import RouteRecord


class Mode(StrEnum):
    """What becomes of a request that the boundary holds back."""

    ENFORCE = "enforce"
    REPORT = "report"
    """It is passed on; log and metrics tell of it."""
    OFF = "off"


@dataclass(frozen=True, slots=True)
class OperatorRoute:
    """A route record of the operator's, and the parameter names that mean nothing secret on it."""

    record: RouteRecord
    allowed_parameters: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HostRules:
    """What the operator says of one host; None and () where nothing."""

    mode: Mode | None = None
    secrets: Mode | None = None
    routes: tuple[OperatorRoute, ...] = ()
    allowed_parameters: frozenset[str] = frozenset()


PLAIN = HostRules()


@dataclass(frozen=True, slots=True)
class BoundarySettings:
    """Durations in seconds. `hosts`: by authority, without the port where it is a default one.

    `holds_unlisted`: changes at hosts without any route record are held back as well.
    """

    mode: Mode = Mode.ENFORCE
    holds_unlisted: bool = False
    secrets_listed: Mode = Mode.ENFORCE
    secrets_unlisted: Mode = Mode.REPORT
    hosts: Mapping[str, HostRules] = field(default_factory=dict)
    review_url: str | None = None
    released_for: float = 86400.0
    idempotency_window: float = 86400.0
    two_key_status: int | None = None
    agent: str = "discovery-proxy"
    """By what name the proxy signs its evidence."""
