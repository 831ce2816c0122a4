"""Lint of capability profiles: the samples' exact rules, and what shows a profile (UAIX.md §3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.findings import failures, warnings
from proxy.lint.profiles import is_profile, lint_profile

SAMPLES = Path(__file__).parent.parent / "samples/uaix"
EXPECTED = json.loads((SAMPLES / "EXPECTED.json").read_bytes())["samples"]
ROWS = {name: entry for name, entry in EXPECTED.items() if entry["kind"] == "capability-profile"}


@pytest.mark.parametrize(("name", "entry"), ROWS.items(), ids=list(ROWS))
def test_samples(name: str, entry: dict[str, Any]) -> None:
    body = (SAMPLES / name).read_bytes()
    findings = lint_profile(body, 0)
    assert {finding.rule for finding in failures(findings)} == set(entry["failures"])
    assert {finding.rule for finding in warnings(findings)} == set(entry["warnings"])
    assert is_profile(json.loads(body))


def test_all_samples_are_run() -> None:
    assert len(ROWS) == 13


@pytest.mark.parametrize(
    "name", [name for name, entry in EXPECTED.items() if entry["kind"] != "capability-profile"]
)
def test_other_samples_are_no_profiles(name: str) -> None:
    value = json.loads((SAMPLES / name).read_bytes())
    assert not isinstance(value, dict) or not is_profile(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"profile": "uai.client.tool-agent.v1", "body": {}}, True),
        ({"profile": "uai.capability.profile.v1", "body": {}}, True),
        ({"profile": "uai.capability.negotiation.v1", "body": {}}, True),
        ({"profile": "uai.client.unheard-of.v1", "body": {}}, True),
        ({"profile": "x", "body": {"client_level": "L1"}}, True),
        ({"body": {"client_level": "L1"}}, True),
        ({"profile": 7, "body": {"client_level": None}}, True),
        ({"profile": "uai.capability.statement.v1", "body": {}}, False),
        ({"profile": "uai.client.tool-agent.v1"}, False),
        ({"profile": "uai.client.tool-agent.v1", "body": []}, False),
        ({"profile": "uai.client.tool-agent.v1", "body": {}, "uai_version": "1.0"}, False),
        ({"client_level": "L1"}, False),
        ({}, False),
    ],
    ids=repr,
)
def test_what_shows_a_profile(value: dict[str, Any], expected: bool) -> None:
    assert is_profile(value) is expected


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (b"", "C-15"),
        (b"\xff", "C-15"),
        (b"<html>", "C-15"),
        (b"[" * 100_000, "C-15"),
        (b"[]", "local.R1_profile_required_fields"),
        (b"null", "local.R1_profile_required_fields"),
        (b"{}", "local.R1_profile_required_fields"),
    ],
    ids=lambda value: repr(value[:10]),
)
def test_what_is_no_profile(body: bytes, rule: str) -> None:
    [finding] = lint_profile(body, 0)
    assert finding.rule == rule and finding.detail and not finding.is_warning


def test_repeated_names_are_a_warning() -> None:
    text = (SAMPLES / "valid-capability-profile-l1.json").read_text()
    repeated = text.replace('"can_post_data": false', '"can_post_data": true, "can_post_data": false')
    [finding] = lint_profile(repeated.encode(), 0)
    assert (finding.rule, finding.is_warning) == ("C-15", True)


def test_in_an_envelope() -> None:
    value = json.loads((SAMPLES / "invalid-local.R10_uaix_runtime_claim.json").read_bytes())
    [finding] = lint_profile(json.dumps({"uai_version": "1.0", **value}).encode(), 0)
    assert finding.rule == "local.R10_uaix_runtime_claim"


@given(st.binary() | st.text().map(str.encode))
def test_any_octets(body: bytes) -> None:
    lint_profile(body, 0)
