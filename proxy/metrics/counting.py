"""Prometheus metrics: counted from outcomes and from what the Observer port is told.

No label holds a URL, host, path or anything else a client chooses freely; mirrors and gateways have names, but no
more than a hundred. Sizes that some part keeps anyway are asked for at scrape time instead of being pushed.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector

from proxy import __version__
from proxy.engine.catalogs.watching import Watched
from proxy.engine.failover.recovery import Standing
from proxy.engine.outcome import Outcome, Served
from proxy.metrics.gauges import NAMESPACE, Gauges
from proxy.relocation.changes import Change

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
_VERIFICATIONS: Final = (
    "Documents held against a key or a hash; kind: manifest, agent-card, ai-catalog, did, webvh, cid, ipns; "
    "result: verified, or the reason code of what is not believed; of did and webvh what became of the pin, "
    "or the slug of the problem."
)
_RELOCATIONS: Final = (
    "What the origin's word came to; event: recorded, changed, revived, withdrawn, dropped; "
    "state: moved, gone, pending, missing, or none where the record is no more."
)
_BOUNDARY: Final = (
    "Changes that the boundary judged; decision: execute, no-op, or report for what was only to be told of; "
    "rule: the step of the procedure that decided, D1 to D11; mode: enforce, report."
)
_BYTES_SAVED: Final = "Body bytes sent to clients that no origin had to send."
_REQUESTS_SAVED: Final = "Requests answered without a request to an origin of their own."
_BUILD: Final = "Always 1; the labels say what is running."
_SAVED_REQUEST: Final = frozenset({Served.FRESH, Served.SWR})
_NO_LOOKUP: Final = frozenset({Served.TUNNEL, Served.LOCAL, Served.NO_OP})
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


class Metrics:
    """Implements ports.Observer. For one event loop; nothing here waits."""

    def __init__(self, revision: str = "") -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._gauges: Gauges | None = None
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
        self._boundary = self._counter("boundary_decisions", _BOUNDARY, "decision", "rule", "mode")
        self._bytes_saved = self._counter("bytes_saved", _BYTES_SAVED)
        self._requests_saved = self._counter("origin_requests_saved", _REQUESTS_SAVED)
        build = {"version": __version__, "revision": revision, "python": platform.python_version()}
        Info("build", _BUILD, namespace=NAMESPACE, registry=self._registry).info(build)
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

    def boundary(self, decision: str, rule: str, mode: str) -> None:
        """The boundary judged a request."""
        self._boundary.labels(decision, rule, mode).inc()

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
        self._gauges = Gauges(entries, bytes_, inflight, degraded, standing, watched)
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
        return Counter(name, help_text, labels, namespace=NAMESPACE, registry=self._registry)

    def _histogram(self, name: str, help_text: str, *labels: str) -> Histogram:
        return Histogram(name, help_text, labels, namespace=NAMESPACE, registry=self._registry, buckets=_BUCKETS)


def _value(counter: Counter) -> int:
    return int(sum(sample.value for metric in counter.collect() for sample in metric.samples))
