"""Metrics: what each kind of answer adds to, what the port tells, what a scraper and the start page read."""

from __future__ import annotations

import pytest
from prometheus_client import Counter, Histogram
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from proxy import __version__
from proxy.catalogs.verdicts import Verdict
from proxy.engine.catalogs.watching import Watched
from proxy.engine.failover.recovery import Standing
from proxy.engine.outcome import Outcome, Served
from proxy.http.targets import parse_target
from proxy.metrics import Metrics
from proxy.ports import Observer

NOBODY = Standing({}, {})
PREFIX = "discovery_proxy_"
TARGET = parse_target("https://secret-host.example/secret-path?token=secret-value")


def samples(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    _, body = metrics.expose("")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in parse_text(body.decode())
        for sample in family.samples
    }


def value(metrics: Metrics, name: str, **labels: str) -> float:
    """The sample's value; `class_` and `name_` stand for labels that Python or this function cannot name."""
    told = frozenset((label.rstrip("_"), text) for label, text in labels.items())
    return samples(metrics)[f"{PREFIX}{name}", told]


# Served, collapsed: does it spare the origin a request, and a body?
SAVINGS = {
    "fresh": (Served.FRESH, False, 1, 500),
    "stale while revalidating": (Served.SWR, False, 1, 500),
    "stale if error": (Served.SIE, False, 0, 500),
    "revalidated": (Served.REVALIDATED, False, 0, 500),
    "miss": (Served.MISS, False, 0, 0),
    "collapsed miss": (Served.MISS, True, 1, 500),
    "collapsed revalidation": (Served.REVALIDATED, True, 1, 500),
    "expired": (Served.EXPIRED, False, 0, 0),
    "bypass": (Served.BYPASS, False, 0, 0),
    "tunnel": (Served.TUNNEL, False, 0, 0),
    "local": (Served.LOCAL, False, 0, 0),
    "error": (Served.ERROR, False, 0, 0),
}


@pytest.mark.parametrize(("served", "collapsed", "requests", "body"), SAVINGS.values(), ids=SAVINGS)
def test_what_an_answer_adds_to(served: Served, collapsed: bool, requests: int, body: int) -> None:
    metrics = Metrics()
    metrics.served(Outcome(served, 203, TARGET, "agent-card", collapsed=collapsed), 0.003, 500)
    told = {
        "requests": value(metrics, "requests_total", outcome=served, class_="agent-card", code="203"),
        "below 2.5 ms": value(metrics, "request_duration_seconds_bucket", outcome=served, le="0.0025"),
        "below 5 ms": value(metrics, "request_duration_seconds_bucket", outcome=served, le="0.005"),
        "requests saved": value(metrics, "origin_requests_saved_total"),
        "bytes saved": value(metrics, "bytes_saved_total"),
    }
    assert told == {
        "requests": 1,
        "below 2.5 ms": 0,
        "below 5 ms": 1,
        "requests saved": requests,
        "bytes saved": body,
    }


def test_a_kind_of_answer_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = Metrics()
    metrics.served(Outcome(Served.FRESH, 200), 0.001, 1)

    def refuse(*_: object) -> None:
        raise AssertionError("labels looked up on the hot path")

    monkeypatch.setattr(Counter, "labels", refuse)
    monkeypatch.setattr(Histogram, "labels", refuse)
    metrics.served(Outcome(Served.FRESH, 200, TARGET), 0.001, 1)
    assert value(metrics, "requests_total", outcome="fresh", class_="other", code="200") == 2


def test_what_the_port_tells() -> None:
    metrics = Metrics()
    observer: Observer = metrics
    observer.upstream("miss", "200", 0.2)
    observer.collapsed()
    observer.refreshed("failed")
    observer.store_operation("l2", "find", 0.0002)
    observer.store_error("l2", "put")
    observer.evicted("l1", "capacity", 7)
    assert value(metrics, "upstream_requests_total", reason="miss", result="200") == 1
    assert value(metrics, "upstream_duration_seconds_bucket", reason="miss", result="200", le="0.25") == 1
    assert value(metrics, "collapsed_requests_total") == 1
    assert value(metrics, "background_refresh_total", result="failed") == 1
    assert value(metrics, "store_op_seconds_bucket", tier="l2", op="find", le="0.00025") == 1
    assert value(metrics, "store_errors_total", tier="l2", op="put") == 1
    assert value(metrics, "cache_evictions_total", tier="l1", reason="capacity") == 7


def test_gauges_are_read_at_scrape_time() -> None:
    metrics = Metrics()
    now = {"entries": 1, "bytes": 2048, "inflight": 0, "degraded": False}
    metrics.attach_gauges(
        lambda: int(now["entries"]),
        lambda: int(now["bytes"]),
        lambda: int(now["inflight"]),
        lambda: bool(now["degraded"]),
        lambda: Standing({"mirror.example": False}, {"https://gateway.example": 0.5}),
        lambda: (Watched(0, "registry.example", {Verdict.REMOVED: 2}, 1_800_000_000.0, None),),
    )
    now.update(entries=3, inflight=2, degraded=True)
    assert value(metrics, "cache_entries", tier="l1") == 3
    assert value(metrics, "cache_bytes", tier="l1") == 2048
    assert value(metrics, "background_refresh_inflight") == 2
    assert value(metrics, "store_degraded", tier="l2") == 1
    assert value(metrics, "mirror_up", name_="mirror.example") == 0
    assert value(metrics, "gateway_score", name_="https://gateway.example") == 0.5
    assert value(metrics, "catalog_entries", catalog="0", host="registry.example", verdict="removed") == 2
    assert value(metrics, "catalog_read_timestamp_seconds", catalog="0", host="registry.example") == 1_800_000_000


def test_no_publisher_fills_the_metrics_with_names() -> None:
    metrics = Metrics()
    standing = Standing({f"mirror{n}.example": True for n in range(1000)}, {})
    metrics.attach_gauges(lambda: 0, lambda: 0, lambda: 0, lambda: False, lambda: standing, lambda: ())
    assert sum(name == f"{PREFIX}mirror_up" for name, _ in samples(metrics)) == 100
    # Those heard of last are the ones told.
    assert value(metrics, "mirror_up", name_="mirror999.example") == 1


def test_verdicts_are_counted() -> None:
    metrics = Metrics()
    metrics.verified("manifest", "verified")
    metrics.verified("manifest", "rollback")
    metrics.verified("manifest", "rollback")
    assert value(metrics, "verification_total", kind="manifest", result="rollback") == 2


def test_build_info_and_process_are_told() -> None:
    told = {name: dict(labels) for name, labels in samples(Metrics(revision="abc123"))}
    assert told[f"{PREFIX}build_info"].items() >= {"version": __version__, "revision": "abc123"}.items()
    assert "process_start_time_seconds" in told


def test_a_revision_that_is_not_known_is_empty() -> None:
    told = {name: dict(labels) for name, labels in samples(Metrics())}
    assert told[f"{PREFIX}build_info"]["revision"] == ""


def test_every_metric_says_what_it_counts() -> None:
    metrics = Metrics()
    metrics.attach_gauges(lambda: 0, lambda: 0, lambda: 0, lambda: False, lambda: NOBODY, lambda: ())
    _, body = metrics.expose("")
    told = {family.name: family.documentation for family in parse_text(body.decode())}
    own = {name.removeprefix(PREFIX): text for name, text in told.items() if name.startswith(PREFIX)}
    assert [f"{name}: {text}" for name, text in own.items() if len(text) < 25 or not text.endswith(".")] == []
    assert {name: text for name, text in own.items() if name.endswith("_seconds") and "Seconds" not in text} == {}


def test_both_formats_parse_and_tell_no_target() -> None:
    metrics = Metrics()
    metrics.served(Outcome(Served.MISS, 200, TARGET), 0.1, 10)
    text_type, text = metrics.expose("text/plain")
    open_type, openmetrics = metrics.expose("application/openmetrics-text; version=1.0.0")
    assert text_type.startswith("text/plain") and open_type.startswith("application/openmetrics-text")
    assert list(parse_text(text.decode())) and list(parse_openmetrics(openmetrics.decode()))
    assert b"secret" not in text + openmetrics
    assert b"_created" not in text + openmetrics


def test_totals() -> None:
    metrics = Metrics()
    assert metrics.totals().hit_ratio is None
    for served, times in ((Served.FRESH, 6), (Served.SWR, 1), (Served.MISS, 3), (Served.TUNNEL, 5)):
        for status in range(200, 200 + times):
            metrics.served(Outcome(served, status, TARGET), 0.001, 100)
    metrics.served(Outcome(Served.ERROR, 400), 0.001, 100)
    metrics.attach_gauges(lambda: 3, lambda: 4096, lambda: 2, lambda: False, lambda: NOBODY, lambda: ())
    totals = metrics.totals()
    assert totals.requests == {"fresh": 6, "swr": 1, "miss": 3, "tunnel": 5, "error": 1}
    assert totals.hit_ratio == 0.7, "neither tunnels nor requests without a target are look-ups"
    assert (totals.origin_requests_saved, totals.bytes_saved) == (7, 700)
    assert (totals.entries, totals.entry_bytes, totals.background_refreshes) == (3, 4096, 2)
