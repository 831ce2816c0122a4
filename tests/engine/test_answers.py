"""Answers from the store and of our own making: head, body, and the outcome that tells of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxy.caching.reuse import Forward
from proxy.caching.serving import CacheStatus
from proxy.caching.vouching import unsigned
from proxy.discovery.classes import DocumentClass
from proxy.engine.answers import from_store, refusal
from proxy.engine.outcome import Outcome, Served
from proxy.http.problems import Problem, Slug
from tests.simulators.engine import request
from tests.stores.samples import START, URI, response

HIT = CacheStatus(hit=True, ttl=40)


@pytest.mark.parametrize(
    ("fields", "method", "status", "body"),
    [
        pytest.param({}, "GET", 200, b"0123", id="whole"),
        pytest.param({"If-None-Match": '"1"'}, "GET", 304, b"", id="not-modified"),
        pytest.param({"Range": "bytes=1-2"}, "GET", 206, b"12", id="range"),
        pytest.param({"Range": "bytes=9-"}, "GET", 416, b"", id="not-satisfiable"),
        pytest.param({"Range": "bytes=1-2"}, "HEAD", 200, b"0123", id="head-has-no-ranges"),
    ],
)
def test_from_store(fields: dict[str, str], method: str, status: int, body: bytes) -> None:
    asked = request(URI, fields, method)
    answer = from_store(asked, response(b"0123"), HIT, Served.FRESH, START + 20.7, 0.25)
    assert (answer.head.status, answer.body) == (status, body)
    assert answer.head.fields.get("age") == "20"
    assert (answer.head.fields.get("discovery-trust") or "").startswith("origin-tls")
    assert answer.outcome == Outcome(
        served=Served.FRESH,
        status=status,
        target=asked.target,
        document_class="agent-card",
        cache_status=HIT.serialise(),
        age=20,
        ttl=40,
        upstream_seconds=0.25,
        vouching=unsigned("https", START),
    )


def test_class_other_has_no_trust_to_tell() -> None:
    stored = replace(response(), document_class=DocumentClass.OTHER.value, vouching=None)
    answer = from_store(request(URI), stored, HIT, Served.FRESH, START)
    assert "discovery-trust" not in answer.head.fields


def test_collapsed_and_detail_are_told() -> None:
    status = CacheStatus(forward=Forward.STALE, collapsed=True, detail="stale-if-error")
    outcome = from_store(request(URI), response(), status, Served.SIE, START).outcome
    assert (outcome.collapsed, outcome.detail) == (True, "stale-if-error")


def test_refusal() -> None:
    problem = Problem(Slug.ORIGIN_TIMEOUT, "late")
    answer = refusal(request(URI), problem, CacheStatus(forward=Forward.STALE), DocumentClass.AGENT_CARD, 3.0)
    attempt = {"source": "origin", "url": URI, "outcome": "failed", "reason": "origin-timeout", "ms": 3000.0}
    assert answer.problem == replace(problem, members={"attempts": [attempt]})
    assert answer.outcome == Outcome(
        served=Served.ERROR,
        status=504,
        target=request(URI).target,
        document_class="agent-card",
        cache_status=CacheStatus(forward=Forward.STALE).serialise(),
        upstream_seconds=3.0,
        detail="origin-timeout",
    )
