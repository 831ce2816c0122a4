"""Lint of UAIX documents: the samples' exact rules, each rule both ways, and any input at all (UAIX.md §7)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.findings import failures, warnings
from proxy.lint import KINDS, UnknownKind, kind_of, lint
from proxy.lint.responses import MOST_ACTIONS
from proxy.lint.retrying import is_retry_loop, tells_to_retry

SAMPLES = Path(__file__).parent.parent / "samples"
UAIX_KINDS = [
    "manifest",
    "route-record",
    "get-action-listing",
    "llms-index",
    "no-op-problem",
    "no-op-instruction",
    "minimal-response",
    "two-key-response",
]
MODELLED = json.loads((SAMPLES / "uaix" / "EXPECTED.json").read_bytes())["samples"]
ROWS = [(name, entry) for name, entry in MODELLED.items() if entry["kind"] in UAIX_KINDS]
URL = "https://example.com/r"


def judged(kind: str, value: object) -> tuple[set[str], set[str]]:
    """The rules that fail and those that warn."""
    findings = lint(kind, json.dumps(value).encode(), now=0)
    assert all(finding.detail for finding in findings)
    return {finding.rule for finding in failures(findings)}, {finding.rule for finding in warnings(findings)}


@pytest.mark.parametrize(("name", "entry"), ROWS, ids=[name for name, _ in ROWS])
def test_samples(name: str, entry: dict[str, Any]) -> None:
    body = (SAMPLES / "uaix" / name).read_bytes()
    assert judged(entry["kind"], json.loads(body)) == (set(entry["failures"]), set(entry["warnings"]))
    # A code in words where this tier has numbers makes it a two-key response by all that can be seen.
    told = "two-key-response" if name == "invalid-local.minimal_code-string.json" else entry["kind"]
    assert kind_of(body) == told


def test_every_kind_has_samples() -> None:
    assert {entry["kind"] for _, entry in ROWS} == set(UAIX_KINDS) <= set(KINDS)
    assert len(ROWS) == 56


def test_unknown_kind() -> None:
    with pytest.raises(UnknownKind, match="manifest"):
        lint("poem", b"{}", now=0)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"7", b"\xff", b'{"x": 1}'], ids=repr)
def test_documents_of_no_kind(body: bytes) -> None:
    assert kind_of(body) is None


@pytest.mark.parametrize("kind", UAIX_KINDS)
def test_what_is_no_object(kind: str) -> None:
    [text] = lint(kind, b"<html>", now=0)
    assert (text.rule, text.path) == ("C-15", "")
    [array] = lint(kind, b"[]", now=0)
    assert array.path == "" and not array.is_warning


GET = {"method": "GET", "highest_supported_path": "/a"}
ACTION = {
    **GET,
    "highest_supported_path": "/a?idempotency_key=k",
    "side_effect_status": "creates",
    "get_safety": "bounded_idempotent_action",
    "live_get_blocked_fallback": "/a.html",
    "restore_readback_url_field": "url",
    "post_equivalent": "POST /a",
}
POST = {
    "method": "POST",
    "highest_supported_path": "/a",
    "content_type": "application/json",
    "post_blocked_fallback": "/a.html",
}
NO_LIVE = {"live_get_blocked_fallback": None}
MCP = {**POST, "fetch_execution_class": "mcp_tool"}

ROUTES: dict[str, tuple[dict[str, Any], set[str], set[str]]] = {
    "plain GET": (GET, set(), set()),
    "GET-Action": (ACTION, set(), set()),
    "plain POST": (POST, set(), set()),
    "live GET, generic fallback": (
        {**GET, "fetch_execution_class": "live_dynamic_get", "lowest_safe_fallback": "/"},
        set(),
        {"live_get_blocked_fallback_required"},
    ),
    "live GET by its query, nothing": (
        {**GET, "highest_supported_path": "/a?x=1"},
        {"live_get_blocked_fallback_required"},
        set(),
    ),
    "GET-Action, no fallback": ({**ACTION, **NO_LIVE}, {"live_get_blocked_fallback_required"}, set()),
    "GET-Action, no key": (
        {**ACTION, "highest_supported_path": "/a"},
        {"get_action_idempotency_required"},
        set(),
    ),
    "GET-Action, key among its fields": (
        {**ACTION, "highest_supported_path": "/a", "required_fields": ["nonce"]},
        set(),
        set(),
    ),
    "GET-Action, nonce": ({**ACTION, "highest_supported_path": "/a?x=1&nonce=k"}, set(), set()),
    "GET-Action, no POST": ({**ACTION, "post_equivalent": None}, set(), {"post_equivalent_recommended"}),
    "GET-Action, a link": (
        {**ACTION, "get_safety": "safe_read"},
        set(),
        {"side_effecting_get_discovery_warning"},
    ),
    "GET-Action, unbounded": (
        {**ACTION, "get_safety": None},
        set(),
        {"side_effecting_get_discovery_warning"},
    ),
    "GET-Action, not for discovery": ({**ACTION, "get_safety": "not-for-discovery"}, set(), set()),
    "POST, no fallback": (
        {**POST, "post_blocked_fallback": None},
        {"get_action_fallback_required"},
        set(),
    ),
    "POST, review URL": (
        {**POST, "post_blocked_fallback": None, "human_review_url": URL},
        set(),
        {"post_blocked_fallback_required"},
    ),
    "POST, no-op URL": (
        {**POST, "post_blocked_fallback": None, "no_op_behavior": {"code": "rejected", "url": URL}},
        set(),
        {"post_blocked_fallback_required"},
    ),
    "JSON POST, no type": (
        {**POST, "content_type": None, "fetchExecutionClass": "http_json_post"},
        set(),
        {"local.content_type_missing"},
    ),
    "POST, no type and no class": ({**POST, "content_type": None}, set(), set()),
    "POST for browsers": (
        {**POST, "targetClients": ["browser-assisted"]},
        set(),
        {"browser_form_fallback_required"},
    ),
    "POST of L2": ({**POST, "abilityLevel": "L2"}, set(), {"browser_form_fallback_required"}),
    "POST of L2 with a form": ({**POST, "abilityLevel": "L2", "browser_form_equivalent": "/form"}, set(), set()),
    "auth, nothing": (
        {**POST, "requires_authentication": True},
        {"local.auth_unavailable_fallback_required"},
        set(),
    ),
    "auth, generic fallback": (
        {**GET, "requires_authentication": True, "lowest_safe_fallback": "/"},
        set(),
        {"local.auth_unavailable_fallback_required"},
    ),
    "auth, own fallback": ({**GET, "requires_authentication": True, "authUnavailableFallback": "/"}, set(), set()),
    "mcp, nothing": (
        MCP,
        {"local.mcp_unavailable_fallback_required", "local.tool_unavailable_fallback_required"},
        set(),
    ),
    "mcp, generic fallback": (
        {**MCP, "lowest_safe_fallback": "/"},
        set(),
        {"local.mcp_unavailable_fallback_required", "local.tool_unavailable_fallback_required"},
    ),
    "mcp, own fallbacks": (
        {**MCP, "mcp_unavailable_fallback": "/", "tool_unavailable_fallback": "no_op"},
        set(),
        set(),
    ),
    "handoff, nothing": (
        {**POST, "fetch_execution_class": "multi_agent_handoff"},
        {"local.route_without_safe_fallback"},
        set(),
    ),
    "handoff, no-op": (
        {**POST, "fetch_execution_class": "multi_agent_handoff", "no_op_behavior": "no_op"},
        set(),
        set(),
    ),
    "update, no readback": (
        {**POST, "side_effect_status": "updates"},
        set(),
        {"restore_readback_required"},
    ),
    "delete": ({**POST, "side_effect_status": "deletes"}, set(), set()),
    "private text in the query": (
        {**ACTION, "highest_supported_path": "/say?body=x&nonce=k"},
        set(),
        {"get_action_query_secret"},
    ),
    "secret": ({**GET, "highest_supported_path": "/a;sid=1"}, {"get_action_query_secret"}, set()),
    "retrying no-op": (
        {**GET, "noOpBehavior": {"code": "rejected", "retry_after": 30}},
        {"retry_loop_no_op_violation"},
        set(),
    ),
    "alias conflict": (
        {**GET, "lowest_safe_fallback": "/b", "lowestSafeFallback": "/c"},
        {"local.route_alias_conflict"},
        set(),
    ),
    "unknown level": ({**GET, "ability_level": "L9"}, set(), {"local.ability_level_unknown"}),
    "plain http": ({**GET, "lowest_safe_fallback": "http://example.com/"}, {"U-S1"}, set()),
    "no method": ({"highest_supported_path": "/a"}, {"local.route_required_field"}, set()),
    "no path": ({"method": "GET"}, {"local.route_required_field"}, set()),
}


@pytest.mark.parametrize(("value", "failed", "warned"), ROUTES.values(), ids=ROUTES)
def test_routes(value: dict[str, Any], failed: set[str], warned: set[str]) -> None:
    assert judged("route-record", value) == (failed, warned)


def test_findings_point_into_the_document() -> None:
    manifest = {
        "profileId": "uaix.ai-ready-web.manifest.v1",
        "site": {"url": "https://example.com/"},
        "readinessProfiles": [],
        "supportBoundary": "x",
        "routes": [GET, {"method": "POST", "highestSupportedPath": "/a?token=1", "abilityLevel": "L9"}],
    }
    findings = lint("manifest", json.dumps(manifest).encode(), now=0)
    assert {(finding.rule, finding.path) for finding in findings} == {
        ("local.ability_level_unknown", "/routes/1/abilityLevel"),
        ("get_action_query_secret", "/routes/1/highestSupportedPath"),
        ("get_action_fallback_required", "/routes/1/post_blocked_fallback"),
    }
    assert "token" in next(finding.detail for finding in findings if "secret" in finding.rule)


MANIFEST = {
    "profileId": "uaix.ai-ready-web.manifest.v1",
    "readinessProfiles": [],
    "supportBoundary": "x",
    "routes": [],
}
MANIFESTS: dict[str, tuple[dict[str, Any], set[str], set[str]]] = {
    "no site": (MANIFEST, {"local.manifest_required_field"}, set()),
    "no routes": (
        {**MANIFEST, "site": {"url": URL}, "routes": None},
        {"local.manifest_required_field"},
        set(),
    ),
    "plain http site, relative paths": (
        {**MANIFEST, "site": {"url": "http://example.com/"}, "routes": [GET]},
        {"local.site_url_not_public"},
        set(),
    ),
    "digest that names no host": (
        {"title": "x", "human_page": "/p", "routes": [], "support_boundary": "x", "readiness_profiles": []},
        set(),
        set(),
    ),
}


@pytest.mark.parametrize(("value", "failed", "warned"), MANIFESTS.values(), ids=MANIFESTS)
def test_manifests(value: dict[str, Any], failed: set[str], warned: set[str]) -> None:
    assert judged("manifest", value) == (failed, warned)
    assert kind_of(json.dumps({"site": {}, **value}).encode()) == "manifest"


def test_a_repeated_name_is_warned_about_and_fails_what_is_signed() -> None:
    body = json.dumps({**MANIFEST, "site": {"url": URL}}).encode()
    assert lint("manifest", body, now=0) == ()
    [finding] = lint("manifest", body[:-1] + b', "routes": []}', now=0)
    assert (finding.rule, finding.is_warning) == ("C-15", True)
    [finding] = lint("manifest", body[:-1] + b', "routes": [], "proof": {"type": "x"}}', now=0)
    assert (finding.rule, finding.is_warning) == ("C-15", False)


PROBLEM = {"type": "x", "title": "x", "status": 403, "code": "human_review_required", "url": URL}
LISTED = {"get": "/a?nonce=1", "post": "/a", "write_capable": True}
SENT = {"post": "/a"}
PLAIN = "http://example.com/"
REVIEW = {"code": "human_review_required", "url": URL}

RESPONSES: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "two keys": ("two-key-response", {"code": "ok", "url": URL}, set()),
    "no url": ("two-key-response", {"code": "ok"}, {"local.two_key_exact"}),
    "code of another type": ("two-key-response", {"code": ["ok"], "url": URL}, {"local.two_key_code"}),
    "url of another type": ("two-key-response", {"code": "ok", "url": 7}, {"local.two_key_url"}),
    "relative url": ("two-key-response", {"code": "ok", "url": "/r"}, {"local.two_key_url"}),
    "minimal": ("minimal-response", {"code": 410, "url": URL}, set()),
    "minimal, other number": ("minimal-response", {"code": 404, "url": URL}, {"local.minimal_code"}),
    "minimal, true": ("minimal-response", {"code": True, "url": URL}, {"local.minimal_code"}),
    "minimal, three keys": ("minimal-response", {"code": 200, "url": URL, "x": 1}, {"local.two_key_exact"}),
    "problem": ("no-op-problem", PROBLEM, set()),
    "problem, ok": ("no-op-problem", {**PROBLEM, "code": "ok"}, {"local.problem_code"}),
    "problem, code of another type": ("no-op-problem", {**PROBLEM, "code": {}}, {"local.problem_code"}),
    "problem, 200": ("no-op-problem", {**PROBLEM, "status": 200}, {"local.problem_status"}),
    "problem, no type": ("no-op-problem", {**PROBLEM, "type": None}, {"local.problem_required_member"}),
    "problem, local url": (
        "no-op-problem",
        {**PROBLEM, "url": "https://localhost/"},
        {"local.human_review_url_not_public"},
    ),
    "problem, retrying": (
        "no-op-problem",
        {**PROBLEM, "detail": "Please try again in a minute."},
        {"retry_loop_no_op_violation"},
    ),
    "instruction": ("no-op-instruction", {"no_op_behavior": REVIEW}, set()),
    "instruction, no object": ("no-op-instruction", {"no_op_behavior": "no_op"}, {"local.two_key_exact"}),
    "instruction, secret": (
        "no-op-instruction",
        {"no_op_behavior": {**REVIEW, "url": f"{URL}?token=1"}},
        {"get_action_query_secret"},
    ),
    "listing": ("get-action-listing", {"actions": {"a": LISTED}}, set()),
    "listing, no actions": ("get-action-listing", {"actions": []}, {"get_action_fallback_required"}),
    "listing, no object": ("get-action-listing", {"actions": {"a": 7}}, {"get_action_fallback_required"}),
    "listing, by script": (
        "get-action-listing",
        {"actions": {}, "discovery_surface": ["javascript_ui"]},
        {"get_action_js_only_discovery"},
    ),
    "listing, also by script": (
        "get-action-listing",
        {"actions": {}, "discovery_surface": ["javascript_ui", "llms.txt"]},
        set(),
    ),
    "listing, no key": (
        "get-action-listing",
        {"actions": {"a": {**LISTED, "get": "/a"}}},
        {"get_action_idempotency_required"},
    ),
    "listing, read": ("get-action-listing", {"actions": {"a": {"get": "/a", "write_capable": False}}}, set()),
    "listing, POST alone": ("get-action-listing", {"actions": {"a": SENT}}, {"get_action_fallback_required"}),
    "listing, POST and review": ("get-action-listing", {"actions": {"a": {**SENT, "response": REVIEW}}}, set()),
    "listing, plain http answer": (
        "get-action-listing",
        {"actions": {"a": {**LISTED, "response": {"url": PLAIN}}}},
        {"local.two_key_url"},
    ),
    "listing, plain http": ("get-action-listing", {"actions": {"a": {**LISTED, "post": PLAIN}}}, {"U-S1"}),
    "listing, dashboard alone": ("get-action-listing", {"actions": {}, "default_path": "dashboard"}, set()),
    "llms, a page": ("llms-index", {"links": [{"type": "html"}, 7], "minimal_instructions": []}, set()),
    "llms, nothing": ("llms-index", {"minimal_instructions": []}, {"llms_minimal_instruction_required"}),
    "llms, tools": ("llms-index", {"links": [{"type": "mcp"}]}, {"llms_minimal_instruction_required"}),
}


@pytest.mark.parametrize(("kind", "value", "failed"), RESPONSES.values(), ids=RESPONSES)
def test_responses(kind: str, value: dict[str, Any], failed: set[str]) -> None:
    assert judged(kind, value)[0] == failed


@pytest.mark.parametrize(
    "text",
    ["Retry in 5 s.", "Stop. Then try again.", "Guess another route", "Keep polling until it works", "retrying"],
)
def test_texts_that_tell_to_retry(text: str) -> None:
    assert tells_to_retry(text)


STOPPING = [
    "",
    "Do not retry.",
    "Open the page and stop; never guess.",
    "The country is unknown.",
    "Without retries",
]


@pytest.mark.parametrize("text", STOPPING)
def test_texts_that_do_not(text: str) -> None:
    assert not tells_to_retry(text)


@pytest.mark.parametrize(
    ("members", "is_loop"),
    [
        ({"retry_after": 30}, True),
        ({"Retry-After": "30"}, True),
        ({"maxRetries": 3}, True),
        ({"retry_count": 0, "retry": False, "retries": None}, False),
        ({"country": "x", "forwarded_retries": 1}, False),
        ({"detail": "retry"}, True),
        ({"detail": ["retry"]}, False),
    ],
    ids=str,
)
def test_retry_loops(members: dict[str, object], is_loop: bool) -> None:
    assert is_retry_loop(members) is is_loop


def test_of_a_long_answer_the_head_is_looked_at() -> None:
    assert is_retry_loop({"detail": "x" * 200 + " retry"})
    assert not is_retry_loop({"detail": "x" * 300 + " retry"})
    assert not is_retry_loop({**{f"m{number}": 0 for number in range(50)}, "retry": 1})


READ = {"post": "/b", "write_capable": False}


@pytest.mark.parametrize(
    ("actions", "read"),
    [
        ({f"a{number}": {**READ, "get": "/a"} for number in range(MOST_ACTIONS)}, None),
        ({f"a{number}": {**READ, "get": "/a"} for number in range(MOST_ACTIONS + 1)}, MOST_ACTIONS),
        ({f"a{number}": {**READ, "get": "/" + "a" * 8000} for number in range(9)}, 8),
        ({f"a{number}": number for number in range(200)}, None),
    ],
    ids=["all", "many", "long", "numbers"],
)
def test_actions_are_bounded(actions: dict[str, object], read: int | None) -> None:
    findings = lint("get-action-listing", json.dumps({"actions": actions}).encode(), now=0)
    told = [finding.detail for finding in findings if finding.path == "/actions"]
    assert told == ([] if read is None else [f"Only the first {read} actions are looked at."])
    assert len(findings) <= 101


NAMES = sorted(
    {"code", "url", "status", "title", "actions", "get", "links", "site", "routes", "method", "no_op_behavior"}
    | {"highest_supported_path", "discovery_surface", "default_path", "generated_path_exists", "response", "type"}
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([*NAMES, "GET", URL]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=12,
)


@given(JSON)
def test_any_document_is_judged(value: object) -> None:
    body = json.dumps(value).encode()
    assert kind_of(body) in {*KINDS, None}
    for kind in UAIX_KINDS:
        lint(kind, body, now=0)


@given(st.binary(max_size=100))
def test_any_bytes_are_judged(body: bytes) -> None:
    for kind in UAIX_KINDS:
        assert lint(kind, body, now=0)
