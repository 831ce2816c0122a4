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
from proxy.lint.envelopes import is_envelope

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
    "a count as a text": ({"delivery": {**BLOCKER["delivery"], "retry_count": "3"}}, True),
    "a later time": ({"delivery": {**BLOCKER["delivery"], "retry_after": 30}}, True),
    "a directive": ({"delivery": {**BLOCKER["delivery"], "fallback_directive": "retry_later"}}, True),
    "a directive that denies": ({"delivery": {**BLOCKER["delivery"], "fallback_directive": "do_not_retry"}}, False),
    "a directive as a list": ({"delivery": {**BLOCKER["delivery"], "fallback_directive": ["retry"]}}, False),
    "a key": ({"delivery": {**BLOCKER["delivery"], "idempotency_key": "retry-1"}}, False),
    "an id": ({"body": {**BLOCKER["body"], "blocker_id": "retry-1"}}, False),
    "a path": ({"body": {**BLOCKER["body"], "description": "POST /v1.0/retry answered 403."}}, False),
    "a member": ({"body": {**BLOCKER["body"], "max_retries": 3}}, True),
    "no delivery": ({"delivery": None}, False),
    "a request": ({"profile": "uai.intent.request.v1", "delivery": {"retry_count": 3}}, False),
    "an error": (
        {"profile": "uai.error.v1", "body": {"status": 403, "code": "rejected", "detail": "Try again."}},
        True,
    ),
    "an error of another sort": (
        {"profile": "uai.error.v1", "body": {"status": 503, "code": "busy", "detail": "Try again."}},
        False,
    ),
    "an error without a proper code": ({"profile": "uai.error.v1", "body": {"code": ["rejected"]}}, False),
    "sent on": ({"extensions": {"x-talkback": {"forwarded_retries": 1}}}, True),
    "not sent on": ({"extensions": {"x-talkback": {"forwarded_retries": 0}}}, False),
    "sent on, unsaid": ({"extensions": {"x-talkback": []}}, False),
}


@pytest.mark.parametrize(("members", "is_loop"), LOOPS.values(), ids=LOOPS)
def test_blockers_that_tell_to_go_on(members: dict[str, Any], is_loop: bool) -> None:
    assert ("retry_loop_no_op_violation" in failing({**BLOCKER, **members})) is is_loop


def test_time_ends_an_envelope() -> None:
    expires_at = 1_798_675_200.0  # 2026-12-31T00:00:00Z
    assert failing(BLOCKER, expires_at - 1) == set()
    assert failing(BLOCKER, expires_at) == {"local.E8_expired"}


SECRET_URLS: dict[str, tuple[object, bool]] = {
    "in a sentence": ("A person opens https://example.com/?token=a1 and decides.", True),
    "in userinfo": ("https://u:p@example.com/", True),
    "in a path": ("/a;sid=1", True),
    "none in a URL": ("https://example.com/review/1", False),
    "none in a path": ("/a?x=1", False),
    "no URL": ("token=a1", False),
    "no text": (5, False),
}


@pytest.mark.parametrize(("member", "is_told"), SECRET_URLS.values(), ids=SECRET_URLS)
def test_urls_with_secrets(member: object, is_told: bool) -> None:
    found = failing({**BLOCKER, "extensions": {"x": [member]}})
    assert found == ({"get_action_query_secret"} if is_told else set())


def test_so_many_urls_are_looked_at() -> None:
    urls = ["/" + "a" * 1000] * 100
    value = {**BLOCKER, "extensions": {"x": urls}}
    assert failing(value) == set()
    [finding] = [finding for finding in lint("envelope", json.dumps(value).encode(), now=0.0) if finding.is_warning]
    assert finding.rule == "get_action_query_secret"
    secrets = {**BLOCKER, "extensions": {"x": ["/a?pin=1"] * 100}}
    assert len(lint("envelope", json.dumps(secrets).encode(), now=0.0)) == 11


def test_a_name_given_twice_is_a_failure() -> None:
    body = json.dumps(BLOCKER).replace('"role"', '"agent_id"', 1).encode()
    assert {(finding.rule, finding.is_warning) for finding in lint("envelope", body, now=0.0)} >= {("C-15", False)}


SHOWN: dict[str, tuple[dict[str, Any], bool]] = {
    "four of its members": ({name: 1 for name in ("uai_version", "profile", "body", "source")}, False),
    "five of its members": ({name: 1 for name in ("uai_version", "profile", "body", "source", "trust")}, True),
    "a profile on its own": ({"profile": "uai.client.tool-agent.v1", "body": {}}, False),
    "nothing": ({}, False),
}


@pytest.mark.parametrize(("value", "is_one"), SHOWN.values(), ids=SHOWN)
def test_what_shows_an_envelope(value: dict[str, Any], is_one: bool) -> None:
    assert is_envelope(value) is is_one


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"\xff", b"{" * 100_000, b'{"a":' * 40 + b"1" + b"}" * 40])
def test_what_is_no_object(body: bytes) -> None:
    [finding] = lint("envelope", body, now=0.0)
    assert finding.path == "" and not finding.is_warning


@given(st.binary(max_size=200))
def test_any_octets(body: bytes) -> None:
    assert all(finding.detail for finding in lint("envelope", body, now=0.0))
