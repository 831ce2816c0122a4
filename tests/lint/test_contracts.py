"""Lint of matrices and contracts of a UAIX site: the exact rules of the samples, and any input (UAIX.md §7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.findings import failures, warnings
from proxy.lint import kind_of, lint

SAMPLES = Path(__file__).parent.parent / "samples" / "uaix"
KINDS = (
    "surface-matrix",
    "executability-matrix",
    "get-action-pattern",
    "minimal-access-tier",
    "agent-compatibility",
)
ROWS = {
    name: entry
    for name, entry in json.loads((SAMPLES / "EXPECTED.json").read_bytes())["samples"].items()
    if entry["kind"] in KINDS
}
VALID = {
    entry["kind"]: json.loads((SAMPLES / name).read_bytes())
    for name, entry in ROWS.items()
    if not entry["failures"]
}
ODD: tuple[object, ...] = (None, 7, "", [], {}, [None], [{}], {"a": []}, True)


@pytest.mark.parametrize(("name", "entry"), ROWS.items(), ids=ROWS)
def test_samples(name: str, entry: dict[str, Any]) -> None:
    body = (SAMPLES / name).read_bytes()
    findings = lint(entry["kind"], body, now=0.0)
    assert {finding.rule for finding in failures(findings)} == set(entry["failures"])
    assert {finding.rule for finding in warnings(findings)} == set(entry["warnings"])
    assert kind_of(body) == entry["kind"]


def test_every_kind_has_samples() -> None:
    assert set(VALID) == set(KINDS)
    assert len(ROWS) == 13


@pytest.mark.parametrize("kind", KINDS)
def test_members_of_any_type(kind: str) -> None:
    for name in VALID[kind]:
        for value in ODD:
            lint(kind, json.dumps({**VALID[kind], name: value}).encode(), now=0.0)


@pytest.mark.parametrize("kind", KINDS)
@given(st.binary(max_size=200))
def test_any_octets(kind: str, body: bytes) -> None:
    assert all(finding.detail for finding in lint(kind, body, now=0.0))
