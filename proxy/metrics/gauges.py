"""Values that some part keeps anyway, read when they are scraped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from proxy.engine.catalogs.watching import Watched
from proxy.engine.failover.recovery import Standing

NAMESPACE: Final = "discovery_proxy"

# Mirrors are named by publishers, so there may be any number.
_MOST_NAMES: Final = 100
_CACHE_BYTES: Final = "Bytes that stored responses hold, indexes included, by tier: l1 is memory."
_DEGRADED: Final = "1 while the tier cannot be used, else 0; l2 is the persistent store."
_MIRROR_UP: Final = "1 while the mirror is asked when an origin is down, 0 while it is spared; by host."
_GATEWAY_SCORE: Final = "What is thought of an IPFS gateway, from 0 to 1, by its URL."
_CATALOG_ENTRIES: Final = (
    "URLs that a watched catalog lists, by what their origins say; verdict: confirmed, superseded, removed, "
    "unconfirmed, pending; catalog is its place in catalogs.watch."
)
_CATALOG_READ: Final = "Seconds since 1970 when a catalog of catalogs.watch, at place `catalog`, was last read."


class Gauges(Collector):
    """Values read when they are scraped."""

    def __init__(
        self,
        entries: Callable[[], int],
        bytes_: Callable[[], int],
        inflight: Callable[[], int],
        degraded: Callable[[], bool],
        standing: Callable[[], Standing],
        watched: Callable[[], tuple[Watched, ...]],
    ) -> None:
        self.standing = standing
        self.watched = watched
        self.entries = entries
        self.bytes = bytes_
        self.inflight = inflight
        self.degraded = degraded

    def collect(self) -> Iterator[Metric]:
        yield _gauge("cache_entries", "Stored responses, by tier: l1 is memory.", self.entries(), tier="l1")
        yield _gauge("cache_bytes", _CACHE_BYTES, self.bytes(), tier="l1")
        yield _gauge("background_refresh_inflight", "Background refreshes under way.", self.inflight())
        yield _gauge("store_degraded", _DEGRADED, int(self.degraded()), tier="l2")
        standing = self.standing()
        yield _gauges("mirror_up", _MIRROR_UP, {name: float(up) for name, up in standing.mirror_up.items()})
        yield _gauges("gateway_score", _GATEWAY_SCORE, standing.gateway_score)
        yield from _of_catalogs(self.watched())


def _gauge(name: str, help_text: str, value: int, **labels: str) -> Metric:
    family = GaugeMetricFamily(f"{NAMESPACE}_{name}", help_text, labels=tuple(labels))
    family.add_metric(tuple(labels.values()), value)
    return family


def _gauges(name: str, help_text: str, values: Mapping[str, float]) -> Metric:
    """One value for each name; by whom the operator is to know it."""
    family = GaugeMetricFamily(f"{NAMESPACE}_{name}", help_text, labels=("name",))
    # The last ones heard of are the ones in use.
    for key, value in list(values.items())[-_MOST_NAMES:]:
        family.add_metric((key,), value)
    return family


def _of_catalogs(watched: Sequence[Watched]) -> Iterator[Metric]:
    """Each watched catalog under its place in the configuration and its host: its URL may hold a secret."""
    labels = ("catalog", "host")
    entries = GaugeMetricFamily(f"{NAMESPACE}_catalog_entries", _CATALOG_ENTRIES, labels=(*labels, "verdict"))
    looked_at = GaugeMetricFamily(f"{NAMESPACE}_catalog_read_timestamp_seconds", _CATALOG_READ, labels=labels)
    for one in watched:
        names = (str(one.position), one.host)
        for verdict, count in one.counts.items():
            entries.add_metric((*names, verdict.value), count)
        if one.looked_at is not None:
            looked_at.add_metric(names, one.looked_at)
    yield from (entries, looked_at)
