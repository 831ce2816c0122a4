"""The parts of the configuration that the engine and discovery go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from proxy.config import Settings
from proxy.discovery.classes import POLICIES, ClassPolicy, DocumentClass
from proxy.engine.discovery.discoverer import DiscoverySettings
from proxy.engine.settings import EngineSettings
from proxy.server.trusting import AGENT

# A fill may take as long as connecting and answering may, and then store its body.
_LEASE_MARGIN = 5.0


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
