"""Prometheus metrics: counted from outcomes and from what the Observer port is told.

No label holds a URL, host, path or anything else a client chooses freely; mirrors and gateways have names, but no
more than a hundred. Sizes that some part keeps anyway are asked for at scrape time instead of being pushed.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from proxy import __version__
from proxy.engine.catalogs.watching import Watched
from proxy.engine.failover.recovery import Standing
from proxy.engine.outcome import Outcome, Served
from proxy.relocation.changes import Change

_NAMESPACE: Final = "discovery_proxy"
# Mirrors are named by publishers, so there may be any number.
_MOST_NAMES: Final = 100
# A memory hit takes tenths of a millisecond, an origin at its time limit ten seconds.
_BUCKETS: Final = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025),
    *(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
_REQUESTS: Final = "Requests answered on the data port, by outcome, document class and status."
_DURATION: Final = "Seconds from a request's head to the end of its answer."
_UPSTREAM: Final = (
    "Requests to origins; reason: miss, revalidate, background, pass, upgrade, confirm, relocation, did, "
    "mirror, gateway; result: stored, not-modified, not-stored, absent, error-status, passed, verified, rejected, "
    "confirmed, denied, status-2xx and the like, or the slug of the problem."
)
_UPSTREAM_SECONDS: Final = "Seconds from a request to an origin until its answer was read or began to stream."
_REFRESHED: Final = "Background refreshes ended; result: done, failed."
_EVICTIONS: Final = (
    "Stored responses that left a tier: l1 is memory, l2 the persistent store; "
    "reason: capacity, variants, expired, purged, unwritten."
)
_STORE_ERRORS: Final = (
    "Store operations that failed or were too slow; l2 is the persistent store; op is find, put or another."
)
_STORE_SECONDS: Final = (
    "Seconds of store operations that worked; l2 is the persistent store; op is find, put or another."
)
_CACHE_BYTES: Final = "Bytes that stored responses hold, indexes included, by tier: l1 is memory."
_DEGRADED: Final = "1 while the tier cannot be used, else 0; l2 is the persistent store."
_VERIFICATIONS: Final = (
    "Documents held against a key or a hash; kind: manifest, agent-card, ai-catalog, did, webvh, cid, ipns; "
    "result: verified, or the reason code of what is not believed; of did and webvh what became of the pin, "
    "or the slug of the problem."
)
_RELOCATIONS: Final = (
    "What the origin's word came to; event: recorded, changed, revived, withdrawn, dropped; "
    "state: moved, gone, pending, missing, or none where the record is no more."
)
_MIRROR_UP: Final = "1 while the mirror is asked when an origin is down, 0 while it is spared; by host."
_GATEWAY_SCORE: Final = "What is thought of an IPFS gateway, from 0 to 1, by its URL."
_CATALOG_ENTRIES: Final = (
    "URLs that a watched catalog lists, by what their origins say; verdict: confirmed, superseded, removed, "
    "unconfirmed, pending; catalog is its place in catalogs.watch."
)
_CATALOG_READ: Final = "Seconds since 1970 when a catalog of catalogs.watch, at place `catalog`, was last read."
_BYTES_SAVED: Final = "Body bytes sent to clients that no origin had to send."
_REQUESTS_SAVED: Final = "Requests answered without a request to an origin of their own."
_BUILD: Final = "Always 1; the labels say what is running."
_SAVED_REQUEST: Final = frozenset({Served.FRESH, Served.SWR})
_NO_LOOKUP: Final = frozenset({Served.TUNNEL, Served.LOCAL})
_SAVED_BODY: Final = _SAVED_REQUEST | {Served.SIE, Served.REVALIDATED}


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers that an operator looks at first, since the start of the process; bytes as named."""

    requests: dict[str, int]
    origin_requests_saved: int
    bytes_saved: int
    entries: int
    entry_bytes: int
    background_refreshes: int
    untargeted: int = 0
    """Requests among `requests` refused before they had a target: no cache could have answered them."""

    @property
    def hit_ratio(self) -> float | None:
        """The share of requests answered without waiting for an origin; None before the first request."""
        counted = {name: count for name, count in self.requests.items() if name not in _NO_LOOKUP}
        total = sum(counted.values()) - self.untargeted
        return sum(counted.get(served, 0) for served in _SAVED_REQUEST) / total if total else None


@dataclass(frozen=True, slots=True)
class _Series:
    """What one kind of answer adds to, resolved once."""

    requests: Counter
    duration: Histogram
    saves_request: bool
    saves_body: bool


class _Gauges(Collector):
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


class Metrics:
    """Implements ports.Observer. For one event loop; nothing here waits."""

    def __init__(self, revision: str = "") -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._gauges: _Gauges | None = None
        self._series: dict[tuple[Served, str, int], _Series] = {}
        self._untargeted = 0
        self._requests = self._counter("requests", _REQUESTS, "outcome", "class", "code")
        self._duration = self._histogram("request_duration_seconds", _DURATION, "outcome")
        self._upstream = self._counter("upstream_requests", _UPSTREAM, "reason", "result")
        self._upstream_seconds = self._histogram("upstream_duration_seconds", _UPSTREAM_SECONDS, "reason", "result")
        self._collapsed = self._counter("collapsed_requests", "Requests that waited for another request's fill.")
        self._refreshed = self._counter("background_refresh", _REFRESHED, "result")
        self._evictions = self._counter("cache_evictions", _EVICTIONS, "tier", "reason")
        self._store_errors = self._counter("store_errors", _STORE_ERRORS, "tier", "op")
        self._store_seconds = self._histogram("store_op_seconds", _STORE_SECONDS, "tier", "op")
        self._verifications = self._counter("verification", _VERIFICATIONS, "kind", "result")
        self._relocations = self._counter("relocations", _RELOCATIONS, "event", "state")
        self._bytes_saved = self._counter("bytes_saved", _BYTES_SAVED)
        self._requests_saved = self._counter("origin_requests_saved", _REQUESTS_SAVED)
        build = {"version": __version__, "revision": revision, "python": platform.python_version()}
        Info("build", _BUILD, namespace=_NAMESPACE, registry=self._registry).info(build)
        ProcessCollector(registry=self._registry)

    def served(self, outcome: Outcome, seconds: float, body_bytes: int) -> None:
        """A request was answered, `seconds` after it arrived, with `body_bytes` sent to the client."""
        key = (outcome.served, outcome.document_class, outcome.status)
        series = self._series.get(key) or self._new_series(key)
        series.requests.inc()
        if outcome.target is None and outcome.served is Served.ERROR:
            self._untargeted += 1
        series.duration.observe(seconds)
        if series.saves_request or outcome.collapsed:
            self._requests_saved.inc()
        if series.saves_body or outcome.collapsed:
            self._bytes_saved.inc(body_bytes)

    def upstream(self, reason: str, result: str, seconds: float) -> None:
        """A request to an origin ended."""
        self._upstream.labels(reason, result).inc()
        self._upstream_seconds.labels(reason, result).observe(seconds)

    def collapsed(self) -> None:
        """A request waited for another's fill."""
        self._collapsed.inc()

    def refreshed(self, result: str) -> None:
        """A background refresh ended."""
        self._refreshed.labels(result).inc()

    def store_operation(self, tier: str, operation: str, seconds: float) -> None:
        """A store answered."""
        self._store_seconds.labels(tier, operation).observe(seconds)

    def store_error(self, tier: str, operation: str) -> None:
        """A store failed or was too slow."""
        self._store_errors.labels(tier, operation).inc()

    def evicted(self, tier: str, reason: str, count: int) -> None:
        """Stored responses left a tier."""
        self._evictions.labels(tier, reason).inc(count)

    def verified(self, kind: str, result: str) -> None:
        """Something was held against a key or a hash."""
        self._verifications.labels(kind, result).inc()

    def relocated(self, _: str, change: Change) -> None:
        """The record of a URL stands otherwise than before."""
        state = "none" if change.record is None else change.record.state.value
        self._relocations.labels(change.event.value, state).inc()

    def attach_gauges(
        self,
        entries: Callable[[], int],
        bytes_: Callable[[], int],
        inflight: Callable[[], int],
        degraded: Callable[[], bool],
        standing: Callable[[], Standing],
        watched: Callable[[], tuple[Watched, ...]],
    ) -> None:
        """What to ask at scrape: what memory holds, refreshes under way, is the store out, who is up, catalogs."""
        self._gauges = _Gauges(entries, bytes_, inflight, degraded, standing, watched)
        self._registry.register(self._gauges)

    def expose(self, accept: str) -> tuple[str, bytes]:
        """Content type and body for a scraper's Accept field: OpenMetrics when asked for, else text."""
        encode, content_type = choose_encoder(accept)
        return content_type, encode(self._registry)

    def totals(self) -> Totals:
        """The numbers of the moment."""
        requests: dict[str, int] = {}
        for (served, _, _), series in self._series.items():
            requests[served] = requests.get(served, 0) + _value(series.requests)
        gauges = self._gauges
        return Totals(
            requests,
            _value(self._requests_saved),
            _value(self._bytes_saved),
            gauges.entries() if gauges else 0,
            gauges.bytes() if gauges else 0,
            gauges.inflight() if gauges else 0,
            self._untargeted,
        )

    def _new_series(self, key: tuple[Served, str, int]) -> _Series:
        served, document_class, status = key
        series = _Series(
            self._requests.labels(served.value, document_class, str(status)),
            self._duration.labels(served.value),
            served in _SAVED_REQUEST,
            served in _SAVED_BODY,
        )
        self._series[key] = series
        return series

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(name, help_text, labels, namespace=_NAMESPACE, registry=self._registry)

    def _histogram(self, name: str, help_text: str, *labels: str) -> Histogram:
        return Histogram(name, help_text, labels, namespace=_NAMESPACE, registry=self._registry, buckets=_BUCKETS)


def _gauge(name: str, help_text: str, value: int, **labels: str) -> Metric:
    family = GaugeMetricFamily(f"{_NAMESPACE}_{name}", help_text, labels=tuple(labels))
    family.add_metric(tuple(labels.values()), value)
    return family


def _gauges(name: str, help_text: str, values: Mapping[str, float]) -> Metric:
    """One value for each name; by whom the operator is to know it."""
    family = GaugeMetricFamily(f"{_NAMESPACE}_{name}", help_text, labels=("name",))
    # The last ones heard of are the ones in use.
    for key, value in list(values.items())[-_MOST_NAMES:]:
        family.add_metric((key,), value)
    return family


def _of_catalogs(watched: Sequence[Watched]) -> Iterator[Metric]:
    """Each watched catalog under its place in the configuration and its host: its URL may hold a secret."""
    labels = ("catalog", "host")
    entries = GaugeMetricFamily(f"{_NAMESPACE}_catalog_entries", _CATALOG_ENTRIES, labels=(*labels, "verdict"))
    looked_at = GaugeMetricFamily(f"{_NAMESPACE}_catalog_read_timestamp_seconds", _CATALOG_READ, labels=labels)
    for one in watched:
        names = (str(one.position), one.host)
        for verdict, count in one.counts.items():
            entries.add_metric((*names, verdict.value), count)
        if one.looked_at is not None:
            looked_at.add_metric(names, one.looked_at)
    yield from (entries, looked_at)


def _value(counter: Counter) -> int:
    return int(sum(sample.value for metric in counter.collect() for sample in metric.samples))
