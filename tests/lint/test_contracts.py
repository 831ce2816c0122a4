"""Lint of matrices and contracts of a UAIX site: the samples, each rule both ways, any input (UAIX.md §1, §7)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.access.manifesturls import LONGEST_URL, MOST_URL_CHARACTERS
from proxy.discovery.findings import failures, warnings
from proxy.discovery.notes import MOST_FINDINGS
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


FIELD = "local.compat_required_field"
ENDPOINT = "local.compat_access_endpoint"
CONTROLS = "local.pattern_controls"
CONTRACT = "local.minimal_request_contract"
EXACT = "local.two_key_exact"
WORDS = "local.two_key_code"
NUMBERS = "local.minimal_code"
KEY = "get_action_idempotency_required"
SECRET = "get_action_query_secret"
ABSENT = object()


def changed(kind: str, path: str, member: object) -> dict[str, Any]:
    """The valid document with another member at `path`."""
    value: dict[str, Any] = copy.deepcopy(VALID[kind])
    *parents, name = path.split(".")
    holder = value
    for step in parents:
        holder = holder[step]
    holder.pop(name, None)
    if member is not ABSENT:
        holder[name] = member
    return value


COMPATIBILITY: dict[str, tuple[str, object, set[str]]] = {
    "no title": ("title", ABSENT, {FIELD}),
    "no version": ("package_version", ABSENT, {FIELD}),
    "a version as a number": ("package_version", 1.0, {FIELD}),
    "no URL of its own": ("canonical_url", ABSENT, {FIELD}),
    "no endpoints": ("json_endpoints", ABSENT, {FIELD}),
    "endpoints as a list": ("json_endpoints", ["https://example.com/"], {FIELD}),
    "no human pages": ("human_pages", None, {FIELD}),
    "no page among them": ("human_pages", {}, set()),
    "no start": ("low_capability_quick_start", [], {FIELD}),
    "a start as a text": ("low_capability_quick_start", "Read.", {FIELD}),
    "an empty step": ("low_capability_quick_start", ["Read.", " "], {FIELD}),
    "no entry manifest": ("json_endpoints.uaix_agent_access", "", {ENDPOINT}),
    "another endpoint": ("json_endpoints.memory_firewall", "/memory-firewall.json/", set()),
    "an endpoint as a number": ("json_endpoints.get_action_pattern", 5, {FIELD}),
    "an endpoint in the clear": ("json_endpoints.get_action_pattern", "http://example.com/x", {"U-S1"}),
    "an endpoint at home": ("json_endpoints.get_action_pattern", "https://127.0.0.1/x", {"C-10"}),
    "an endpoint with a secret": ("json_endpoints.get_action_pattern", "https://example.com/?token=a1", {SECRET}),
    "a page with a secret": ("human_pages.x", "https://u:p@example.com/", {SECRET}),
    "a long URL": ("human_pages.x", "/" + "a" * LONGEST_URL, {"C-10"}),
    "unknown members": ("x-note", [1], set()),
}

PATTERN: dict[str, tuple[str, object, set[str]]] = {
    "no controls": ("required_controls", ABSENT, {CONTROLS}),
    "controls as a text": ("required_controls", "idempotency", {CONTROLS}),
    "one more control": ("required_controls", [*VALID["get-action-pattern"]["required_controls"], "x"], set()),
    "no key asked": ("required_idempotency_key", False, {CONTROLS}),
    "a key asked in a text": ("required_idempotency_key", "true", {CONTROLS}),
    "a POST replaced": ("not_a_post_replacement", ABSENT, {CONTROLS}),
    "no POST beside": ("matching_post_endpoint_required_for_l2_plus", None, {CONTROLS}),
    "for L0": ("allowed_capability_levels", ["L0"], set()),
    "for L2": ("allowed_capability_levels", ["L0", "L2"], {CONTROLS}),
    "for nobody": ("allowed_capability_levels", [], {CONTROLS}),
    "for anybody": ("allowed_capability_levels", ABSENT, {CONTROLS}),
    "levels as lists": ("allowed_capability_levels", [["L0"]], {CONTROLS}),
    "no template": ("route_template", ABSENT, {CONTROLS}),
    "a template of POST": ("route_template", "POST /a?nonce=1", {CONTROLS}),
    "a template without method": ("route_template", "/a?nonce=1", {CONTROLS}),
    "a long template": ("route_template", "GET /a?nonce=" + "a" * LONGEST_URL, {CONTROLS}),
    "a template with a nonce": ("route_template", "GET /{x}?nonce=1", set()),
    "a template without key": ("route_template", "GET /{x}?a=1", {KEY}),
    "a template with a secret": ("route_template", "GET /a?nonce=1&api_key=a1", {SECRET}),
    "no schema": ("response_schema", ABSENT, {EXACT}),
    "a schema of three": ("response_schema", {"code": "ok", "url": "x", "note": "x"}, {EXACT}),
    "a schema of one": ("response_schema", {"code": "ok"}, {EXACT}),
    "a code of its own": ("response_schema.code", "ok|maybe", {WORDS}),
    "codes as a list": ("response_schema.code", ["ok"], {WORDS}),
    "fewer codes": ("response_schema.code", "human_review_required|rejected", set()),
}

TIER: dict[str, tuple[str, object, set[str]]] = {
    "no request": ("request", ABSENT, {CONTRACT}),
    "a request as a text": ("request", "GET", {CONTRACT}),
    "a request of POST": ("request.method", "POST", {CONTRACT}),
    "a body": ("request.body_allowed", True, {CONTRACT}),
    "who is asked": ("request.authentication_required", None, {CONTRACT}),
    "script as a number": ("request.client_side_javascript_required", 0, {CONTRACT}),
    "no keys": ("response_keys", ABSENT, {EXACT}),
    "keys in another order": ("response_keys", ["url", "code"], set()),
    "three keys": ("response_keys", ["code", "url", "note"], {EXACT}),
    "a key twice": ("response_keys", ["code", "code"], {EXACT}),
    "no codes": ("allowed_codes", ABSENT, {NUMBERS}),
    "an empty list of codes": ("allowed_codes", [], {NUMBERS}),
    "fewer codes": ("allowed_codes", [200, 428], set()),
    "a code of its own": ("allowed_codes", [200, 500], {NUMBERS}),
    "a code in words": ("allowed_codes", ["ok"], {NUMBERS}),
    "a code as a truth": ("allowed_codes", [True], {NUMBERS}),
    "no example": ("minimal_response_example", ABSENT, set()),
    "an example as a text": ("minimal_response_example", "200", {EXACT}),
    "an example of three": ("minimal_response_example.note", 1, {EXACT}),
    "an example in words": ("minimal_response_example.code", "ok", {NUMBERS}),
    "an example in the clear": ("minimal_response_example.url", "http://example.com/", {"local.two_key_url"}),
    "an example with a secret": ("minimal_response_example.url", "https://example.com/?pin=1", {SECRET}),
    "a mapping": ("status_mapping", [{"code": 200, "meaning": "x"}, {"code": 428}], set()),
    "a mapping of others": ("status_mapping", [{"code": 200}, {"code": 404}], {NUMBERS}),
    "a mapping of nothing": ("status_mapping", [None], {NUMBERS}),
    "a mapping as an object": ("status_mapping", {"200": "x"}, {NUMBERS}),
    "any number of mappings": ("status_mapping", [{}] * 10_000, {NUMBERS}),
}

CHANGES = {
    f"{kind}: {name}": (kind, *row)
    for kind, rows in (
        ("agent-compatibility", COMPATIBILITY),
        ("get-action-pattern", PATTERN),
        ("minimal-access-tier", TIER),
    )
    for name, row in rows.items()
}


@pytest.mark.parametrize(("kind", "path", "member", "expected"), CHANGES.values(), ids=CHANGES)
def test_each_rule(kind: str, path: str, member: object, expected: set[str]) -> None:
    findings = lint(kind, json.dumps(changed(kind, path, member)).encode(), now=0.0)
    assert {finding.rule for finding in findings} == expected
    assert len(findings) <= MOST_FINDINGS + 1
    assert all(finding.detail and not finding.is_warning for finding in findings)


def test_version_of_the_other_name() -> None:
    value = changed("agent-compatibility", "package_version", ABSENT) | {"version": "1.0.0"}
    assert lint("agent-compatibility", json.dumps(value).encode(), now=0.0) == ()


def test_so_many_urls_are_looked_at() -> None:
    pages = {f"page{index}": "/" + "a" * 1000 for index in range(MOST_URL_CHARACTERS // 1000 + 1)}
    body = json.dumps(changed("agent-compatibility", "human_pages", pages)).encode()
    [finding] = lint("agent-compatibility", body, now=0.0)
    assert finding.rule == FIELD and finding.is_warning


def test_an_example_is_pointed_at() -> None:
    body = json.dumps(changed("minimal-access-tier", "minimal_response_example.code", 5)).encode()
    [finding] = lint("minimal-access-tier", body, now=0.0)
    assert finding.path == "/minimal_response_example/code"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "break_", [lambda body: b"[%s]" % body, lambda body: body[:-1], lambda body: b"\xff" + body]
)
def test_what_is_no_object(kind: str, break_: Callable[[bytes], bytes]) -> None:
    [finding] = lint(kind, break_(json.dumps(VALID[kind]).encode()), now=0.0)
    assert finding.path == "" and not finding.is_warning


@pytest.mark.parametrize("kind", KINDS)
@given(st.binary(max_size=200))
def test_any_octets(kind: str, body: bytes) -> None:
    assert all(finding.detail for finding in lint(kind, body, now=0.0))
