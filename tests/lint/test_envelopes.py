"""Lint of UAI-1 envelopes: the samples' exact rules, blockers that loop, and any input at all (UAIX.md §6.4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.boundary.envelopes import checksum_of
from proxy.discovery.findings import failures, warnings
from proxy.lint import kind_of, lint

SAMPLES = Path(__file__).parent.parent / "samples" / "uaix"
ROWS = {
    name: entry
    for name, entry in json.loads((SAMPLES / "EXPECTED.json").read_bytes())["samples"].items()
    if entry["kind"] == "envelope"
}
BLOCKER = json.loads((SAMPLES / "valid-envelope-blocker-boundary-conflict.json").read_bytes())


def failing(value: dict[str, Any], now: float = 0.0) -> set[str]:
    """The rules that an envelope breaks, with the checksum that is true of it."""
    integrity = {"algorithm": "sha-256", "canonicalization": "RFC8785", "checksum": checksum_of(value)}
    findings = lint("envelope", json.dumps({**value, "integrity": integrity}).encode(), now=now)
    return {finding.rule for finding in failures(findings)}


@pytest.mark.parametrize(("name", "entry"), ROWS.items(), ids=ROWS)
def test_samples(name: str, entry: dict[str, Any]) -> None:
    body = (SAMPLES / name).read_bytes()
    findings = lint("envelope", body, now=0.0)
    assert {finding.rule for finding in failures(findings)} == set(entry["failures"])
    assert {finding.rule for finding in warnings(findings)} == set(entry["warnings"])
    assert kind_of(body) == "envelope"


LOOPS: dict[str, tuple[dict[str, Any], bool]] = {
    "a count": ({"delivery": {**BLOCKER["delivery"], "retry_count": 1}}, True),
    "no count": ({"delivery": {**BLOCKER["delivery"], "retry_count": 0}}, False),
    "words": ({"body": {**BLOCKER["body"], "proposed_resolution": "Retry until it works."}}, True),
    "words that deny": ({"body": {**BLOCKER["body"], "proposed_resolution": "Do not retry."}}, False),
    "an address": (
        {
            "body": {
                **BLOCKER["body"],
                "proposed_resolution": "A person opens https://example.com/retry and decides.",
            }
        },
        False,
    ),
}


@pytest.mark.parametrize(("members", "is_loop"), LOOPS.values(), ids=LOOPS)
def test_blockers_that_tell_to_go_on(members: dict[str, Any], is_loop: bool) -> None:
    assert ("retry_loop_no_op_violation" in failing({**BLOCKER, **members})) is is_loop


def test_time_ends_an_envelope() -> None:
    expires_at = 1_798_675_200.0  # 2026-12-31T00:00:00Z
    assert failing(BLOCKER, expires_at - 1) == set()
    assert failing(BLOCKER, expires_at) == {"local.E8_expired"}


@given(st.binary(max_size=200))
def test_any_octets(body: bytes) -> None:
    assert all(finding.detail for finding in lint("envelope", body, now=0.0))
