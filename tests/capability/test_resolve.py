"""Decisions D1 to D10, the published cases and the table of client classes (UAIX.md §4.3, §4.4)."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.capability.atoms import Atom
from proxy.capability.fallbacks import fall_back
from proxy.capability.ladders import CLASSES, Atoms, ClientClass, atoms_of
from proxy.capability.resolution import (
    Code,
    Execute,
    Fallback,
    Field,
    NoOp,
    Reason,
    Resolution,
    Rule,
    Trigger,
)
from proxy.capability.resolve import Asked, Context, Latched, resolve
from proxy.discovery.access.routereading import parse_route
from proxy.discovery.access.routes import RouteRecord
from proxy.http.targets import parse_target

SITE = parse_target("https://example.com/")
OWN_REVIEW = "https://proxy.example.net/review"
SITE_REVIEW = "https://example.com/review/"
MEMBERS = {field.name for field in fields(RouteRecord)}
CASES = json.loads((Path(__file__).parent.parent / "samples/uaix/resolution-cases.json").read_bytes())["cases"]


def record(published: dict[str, Any]) -> RouteRecord:
    """The route that a site publishes in these members."""
    reading = parse_route(published)
    assert reading.record is not None
    return reading.record


def context(**given: Any) -> Context:
    return Context(**{"proxy_review_url": OWN_REVIEW, "site_review_url": SITE_REVIEW, **given})


def in_words(resolution: Resolution) -> dict[str, str | None]:
    """The outcome in the words of the published cases."""
    match resolution:
        case Execute(_, _, url, field):
            return {"decision": "execute", "via": field, "target": url}
        case Fallback(_, url, field):
            return {"decision": "fallback", "via": field, "target": url}
        case NoOp(_, _, url, trigger, code):
            outcome = {"decision": "no_op", "code": code, "url": url, "trigger": trigger}
            return {**outcome, "reason": resolution.slug}


def case_atoms(case: dict[str, Any]) -> Atoms:
    found = CLASSES[ClientClass(case["client"])]
    return found if case["ctx"].get("tools_up", True) else found - {Atom.MCP, Atom.TOOLS}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_published_case(case: dict[str, Any]) -> None:
    on_record = {name: value for name, value in case["ctx"].items() if name != "tools_up"}
    outcome = in_words(resolve(record(case["route"]), SITE, case_atoms(case), context(**on_record)))
    assert case["expect"].items() <= outcome.items()


# The columns of the table: every route has the fallback natural to it.
REVIEW = {"human_review_url": "https://example.com/review/route"}
LOW = {"lowest_safe_fallback": "/low.html"}
JSON_POST = {"method": "POST", "content_type": "application/json", "side_effect_status": "creates"}
COLUMNS: dict[str, dict[str, Any]] = {
    "static page": {"method": "GET", "highest_supported_path": "/about.html", **LOW},
    "live GET": {
        "method": "GET",
        "highest_supported_path": "/search?q=x",
        "live_get_blocked_fallback": "/live.html",
    },
    "GET-Action": {
        "method": "GET",
        "highest_supported_path": "/start?title=T&idempotency_key=k1",
        "side_effect_status": "creates",
        "get_safety": "bounded_idempotent_action",
        "live_get_blocked_fallback": "/live.html",
        "post_equivalent": "POST /meetings",
    },
    "HTML form": {"method": "POST", "content_type": "application/x-www-form-urlencoded", **LOW},
    "JSON POST": {
        **JSON_POST,
        "post_blocked_fallback": "/post.html",
        "browser_form_equivalent": "/form.html",
    },
    "auth mutation": {
        **JSON_POST,
        "requires_authentication": True,
        "post_blocked_fallback": "/post.html",
        "browser_form_equivalent": "/form.html",
        "auth_unavailable_fallback": "/auth.html",
    },
    "readback": {"method": "GET", "fetch_execution_class": "restore_readback", **LOW},
    "MCP tool": {
        "method": "POST",
        "side_effect_status": "none",
        "fetch_execution_class": "mcp_tool",
        "mcp_unavailable_fallback": "/mcp.json",
        "tool_unavailable_fallback": "/tool.html",
    },
    "A2A task": {"method": "POST", "side_effect_status": "none", "fetch_execution_class": "a2a_task", **LOW},
    "handoff": {"method": "POST", "fetch_execution_class": "multi_agent_handoff", **LOW},
    "site-specific": {"method": "POST", "fetch_execution_class": "site_specific", **LOW},
    "no fallback": JSON_POST,
}
FETCHER = "X live live low post auth low mcp low low low N"
TABLE: dict[str, str] = {
    "unknown": FETCHER,
    "unknown_json": FETCHER,
    "url_chatbot": "X X N low post auth low mcp low low low N",
    "url_synthesizer": "X X X low post auth low mcp low low low N",
    "indexed_fetcher": FETCHER,
    "browser_agent": "X X N X form auth low mcp low low low N",
    "json_post_client": "X X POST-eq low X auth low mcp low low low X",
    "owner_agent": "X X POST-eq low X X low mcp low low low X",
    "restore_agent": "X X POST-eq low X X X mcp low low low X",
    "multi_agent_runtime": "X X POST-eq low X X X mcp low X low X",
    "a2a_peer": "X X POST-eq low X auth low mcp X low low X",
    "mcp_client": "X X N low post auth low X low low low N",
    "mcp_server_capable": "X X POST-eq low X auth low X low low low X",
    "site_negotiated": "X X POST-eq low X X X mcp low X X X",
}
CELL_FIELDS = {
    "live": Field.LIVE_GET_BLOCKED_FALLBACK,
    "low": Field.LOWEST_SAFE_FALLBACK,
    "post": Field.POST_BLOCKED_FALLBACK,
    "auth": Field.AUTH_UNAVAILABLE_FALLBACK,
    "mcp": Field.MCP_UNAVAILABLE_FALLBACK,
    "form": Field.BROWSER_FORM_EQUIVALENT,
}


CELLS = [
    pytest.param(client, column, cell, id=f"{client}-{column.replace(' ', '-')}")
    for client, row in TABLE.items()
    for column, cell in zip(COLUMNS, row.split(), strict=True)
]


@pytest.mark.parametrize(("client", "column", "cell"), CELLS)
def test_table_of_classes_and_routes(client: str, column: str, cell: str) -> None:
    route = record({"highest_supported_path": "/route", **REVIEW, **COLUMNS[column]})
    outcome = resolve(route, SITE, CLASSES[ClientClass(client)], context(idempotency_key="k1"))
    match cell:
        case "X":
            path = route.highest_supported_path
            expected: Resolution = Execute(
                Rule.D7, route.method, f"https://example.com{path}", Field.HIGHEST_SUPPORTED_PATH
            )
        case "POST-eq":
            expected = Execute(Rule.D6, "POST", "https://example.com/meetings", Field.POST_EQUIVALENT)
        case "N":
            assert isinstance(outcome, NoOp)
            assert (outcome.rule, outcome.code, outcome.url) == (
                Rule.D10,
                Code.HUMAN_REVIEW_REQUIRED,
                REVIEW["human_review_url"],
            )
            assert outcome.missing
            return
        case _:
            assert isinstance(outcome, Fallback)
            field = CELL_FIELDS[cell]
            published = getattr(route, field)
            expected = Fallback(Rule.D9, f"https://example.com{published}", field, outcome.missing)
    assert outcome == expected


def test_d10_names_every_missing_atom_in_cause_order() -> None:
    route = record({**PLAIN_POST, "requires_authentication": True, "ability_level": "L1"})
    assert resolve(route, SITE, frozenset(), context()) == NoOp(
        Rule.D10,
        Reason.CAPABILITY_MISSING,
        SITE_REVIEW,
        Trigger.UNSUPPORTED_CAPABILITY_LEVEL,
        Code.HUMAN_REVIEW_REQUIRED,
        (Atom.AUTH, Atom.JSON_POST, Atom.JSON_GET),
    )


def test_the_table_is_whole() -> None:
    assert set(TABLE) == set(ClientClass)


PLAIN_POST = {"method": "POST", "highest_supported_path": "/orders", "content_type": "application/json"}
READ = {"method": "GET", "highest_supported_path": "/about.html"}
ACTION = COLUMNS["GET-Action"]
CONFLICT = {"lowest_safe_fallback": "/low.html", "lowestSafeFallback": "/other.html"}
KEY = {"idempotency_key": "k1"}
LATCH = {"latched": Latched(Code.REJECTED, "https://example.com/review/before")}
POSTED = "https://example.com/orders"

# route members (None: no record), client class, context: rule and what the outcome says
DECISIONS: dict[str, tuple[dict[str, Any] | None, str, dict[str, Any], str]] = {
    "d1-secret-in-the-request": (
        PLAIN_POST,
        "json_post_client",
        {**KEY, "asked": Asked("POST", "https://example.com/orders?api_key=0123456789")},
        "D1 rejected secret_in_url",
    ),
    "d1-secret-in-the-listed-path": (
        {**PLAIN_POST, "highest_supported_path": "/orders?password=0123456789"},
        "json_post_client",
        KEY,
        "D1 rejected secret_in_url",
    ),
    "d1-secret-in-the-listed-fragment": (
        {**READ, "highest_supported_path": "/about.html#access_token=0123456789"},
        "unknown",
        {},
        "D1 rejected secret_in_url",
    ),
    "d1-without-a-record": (
        None,
        "unknown",
        {"asked": Asked("GET", "https://user:pass@example.com/")},
        "D1 rejected secret_in_url",
    ),
    "d1-before-d2": (
        {**PLAIN_POST, "highest_supported_path": "/orders?password=0123456789"},
        "json_post_client",
        LATCH,
        "D1 rejected secret_in_url",
    ),
    "d1-name-allowed-on-this-route": (
        {**READ, "highest_supported_path": "/search?key=word"},
        "url_chatbot",
        {"secret_allowed": frozenset({"key"})},
        "D7 GET https://example.com/search?key=word",
    ),
    "d2-latched": (PLAIN_POST, "json_post_client", {**KEY, **LATCH}, "D2 rejected retry_loop"),
    "d2-before-d3": (None, "json_post_client", LATCH, "D2 rejected retry_loop"),
    "d3-no-record-post": (
        None,
        "json_post_client",
        {**KEY, "asked": Asked("POST", POSTED)},
        "D3 human_review_required route_record_missing",
    ),
    "d3-no-record-get": (
        None,
        "unknown",
        {"asked": Asked("GET", "https://example.com/a?b=c")},
        "D3 GET https://example.com/a?b=c",
    ),
    "d3-no-record-head": (
        None,
        "unknown",
        {"asked": Asked("HEAD", "https://example.com/")},
        "D3 HEAD https://example.com/",
    ),
    "d3-no-record-get-with-key": (
        None,
        "url_synthesizer",
        {**KEY, "asked": Asked("GET", "https://example.com/a?idempotency_key=k1")},
        "D3 human_review_required route_record_missing",
    ),
    "d3-nothing-at-all": (None, "unknown", {}, "D3 human_review_required route_record_missing"),
    "d3-record-without-a-path": (
        {"method": "GET", **LOW},
        "unknown",
        {},
        "D3 human_review_required route_record_unusable",
    ),
    "d3-record-with-an-empty-path": (
        {"method": "GET", "highest_supported_path": ""},
        "unknown",
        {},
        "D3 human_review_required route_record_unusable",
    ),
    "d3-record-with-an-http-url": (
        {**PLAIN_POST, "highest_supported_path": "http://example.com/orders"},
        "json_post_client",
        {**KEY, "asked": Asked("GET", POSTED)},
        "D3 human_review_required route_record_unusable",
    ),
    "d3-record-unusable-reads-go-on": (
        {**READ, "highest_supported_path": "http://example.com/about.html"},
        "unknown",
        {"asked": Asked("GET", "https://example.com/about.html")},
        "D3 GET https://example.com/about.html",
    ),
    "d3-before-d4": (
        {"method": "POST", **CONFLICT},
        "json_post_client",
        KEY,
        "D3 human_review_required route_record_unusable",
    ),
    "d4-before-d5": (
        {**PLAIN_POST, **CONFLICT, "side_effect_status": "pays"},
        "json_post_client",
        KEY,
        "D4 human_review_required route_alias_conflict",
    ),
    "d4-read": (
        {**READ, **CONFLICT},
        "unknown",
        {},
        "D4 human_review_required route_alias_conflict",
    ),
    "d5-delete-without-a-word": (
        {**PLAIN_POST, "method": "DELETE"},
        "json_post_client",
        KEY,
        "D5 human_review_required consent_missing",
    ),
    "d5-consent-required": (
        {**PLAIN_POST, "consent_required": True},
        "json_post_client",
        KEY,
        "D5 human_review_required consent_missing",
    ),
    "d5-consent-required-and-given": (
        {**PLAIN_POST, "consent_required": True},
        "json_post_client",
        {**KEY, "consent": True},
        f"D7 POST {POSTED}",
    ),
    "d5-before-d8": (
        {**PLAIN_POST, "side_effect_status": "publishes"},
        "unknown",
        KEY,
        "D5 human_review_required consent_missing",
    ),
    "d5-consent-is-no-key": (
        {**PLAIN_POST, "side_effect_status": "publishes"},
        "json_post_client",
        {"consent": True},
        "D7 rejected idempotency_missing",
    ),
    "d6-without-equivalent": (
        {**ACTION, "post_equivalent": None},
        "json_post_client",
        KEY,
        "D6 human_review_required post_equivalent_missing",
    ),
    "d6-equivalent-with-a-secret": (
        {**ACTION, "post_equivalent": "POST /meetings?token=0123456789"},
        "json_post_client",
        KEY,
        "D6 human_review_required post_equivalent_missing",
    ),
    "d6-equivalent-by-another-method": (
        {**ACTION, "post_equivalent": "DELETE /meetings"},
        "json_post_client",
        KEY,
        "D6 human_review_required post_equivalent_missing",
    ),
    "d6-equivalent-as-a-bare-url": (
        {**ACTION, "post_equivalent": "https://example.com/meetings"},
        "json_post_client",
        KEY,
        "D6 POST https://example.com/meetings",
    ),
    "d6-equivalent-in-lower-case": (
        {**ACTION, "post_equivalent": "post /meetings"},
        "json_post_client",
        KEY,
        "D6 POST https://example.com/meetings",
    ),
    "d6-without-key": (ACTION, "json_post_client", {}, "D6 rejected idempotency_missing"),
    "d6-key-of-an-unmarked-action": (
        {**ACTION, "side_effect_status": "none", "get_safety": None},
        "json_post_client",
        {},
        "D6 rejected idempotency_missing",
    ),
    "d6-equivalent-needs-auth-too": (
        {**ACTION, "requires_authentication": True, "auth_unavailable_fallback": "/login"},
        "json_post_client",
        KEY,
        "D9 auth_unavailable_fallback https://example.com/login missing auth",
    ),
    "d6-no-restricted-get": (
        {**ACTION, "side_effect_status": "pays"},
        "url_synthesizer",
        {**KEY, "consent": True},
        "D6 human_review_required restricted_get",
    ),
    "d6-restricted-by-post-equivalent": (
        {**ACTION, "side_effect_status": "pays"},
        "json_post_client",
        {**KEY, "consent": True},
        "D6 POST https://example.com/meetings",
    ),
    "d6-mcp-clients-cannot-post": (ACTION, "mcp_client", KEY, "D10 human_review_required missing_url_synth"),
    "d7-read-needs-no-key": (READ, "unknown", {}, "D7 GET https://example.com/about.html"),
    "d7-empty-key-is-none": (
        PLAIN_POST,
        "json_post_client",
        {"idempotency_key": ""},
        "D7 rejected idempotency_missing",
    ),
    "d7-key-in-the-listed-url-is-not-the-clients": (
        ACTION,
        "url_synthesizer",
        {},
        "D7 rejected idempotency_missing",
    ),
    "d7-post-without-effect-needs-no-key": (
        {**PLAIN_POST, "side_effect_status": "none"},
        "json_post_client",
        {},
        f"D7 POST {POSTED}",
    ),
    "d7-url-of-another-origin": (
        {**READ, "highest_supported_path": "https://api.example.net:8443/a"},
        "unknown",
        {},
        "D7 GET https://api.example.net:8443/a",
    ),
    "d7-dot-segments-of-a-path": (
        {**READ, "highest_supported_path": "/a/../b"},
        "unknown",
        {},
        "D7 GET https://example.com/b",
    ),
    "d8-live-request-is-no-synthesizer": (
        {**READ, "highest_supported_path": "/x/{id}"},
        "url_chatbot",
        {"live_request": True},
        "D10 human_review_required missing_url_synth",
    ),
    "d8-auth-missing-first-then-post": (
        {**PLAIN_POST, "requires_authentication": True, "post_blocked_fallback": "/post.html"},
        "url_chatbot",
        KEY,
        "D9 post_blocked_fallback https://example.com/post.html missing auth json_post",
    ),
    "d8-mcp-field-absent": (
        {**COLUMNS["MCP tool"], "highest_supported_path": "/mcp", "mcp_unavailable_fallback": None},
        "unknown",
        {},
        "D9 tool_unavailable_fallback https://example.com/tool.html missing mcp tools",
    ),
    "d8-no-form-for-a-missing-credential": (
        {**PLAIN_POST, "requires_authentication": True, "browser_form_equivalent": "/form.html"},
        "browser_agent",
        KEY,
        "D10 human_review_required missing_auth",
    ),
    "d8-no-form-without-a-browser": (
        {**PLAIN_POST, "browser_form_equivalent": "/form.html"},
        "url_chatbot",
        KEY,
        "D10 human_review_required missing_json_post",
    ),
    "d8-live-field-for-those-without": (
        {**PLAIN_POST, "live_get_blocked_fallback": "/live.html", **LOW},
        "unknown",
        KEY,
        "D9 live_get_blocked_fallback https://example.com/live.html missing json_post",
    ),
    "d8-live-field-not-for-those-with": (
        {**PLAIN_POST, "live_get_blocked_fallback": "/live.html", **LOW},
        "url_chatbot",
        KEY,
        "D9 lowest_safe_fallback https://example.com/low.html missing json_post",
    ),
    "d9-secret-passed-over": (
        {**PLAIN_POST, "post_blocked_fallback": "/post.html?session=0123456789", **LOW},
        "url_chatbot",
        KEY,
        "D9 lowest_safe_fallback https://example.com/low.html missing json_post",
    ),
    "d9-query-passed-over": (
        {**PLAIN_POST, "post_blocked_fallback": "/post.html?from=orders", **LOW},
        "unknown",
        KEY,
        "D9 lowest_safe_fallback https://example.com/low.html missing json_post",
    ),
    "d9-query-opened-live": (
        {**PLAIN_POST, "post_blocked_fallback": "/post.html?from=orders", **LOW},
        "url_chatbot",
        KEY,
        "D9 post_blocked_fallback https://example.com/post.html?from=orders missing json_post",
    ),
    "d9-template-passed-over": (
        {**PLAIN_POST, "post_blocked_fallback": "/post/{id}", **LOW},
        "url_chatbot",
        KEY,
        "D9 lowest_safe_fallback https://example.com/low.html missing json_post",
    ),
    "d9-template-filled-in": (
        {**PLAIN_POST, "post_blocked_fallback": "/post/{id}", **LOW},
        "url_synthesizer",
        KEY,
        "D9 post_blocked_fallback https://example.com/post/{id} missing json_post",
    ),
    "d9-private-address-passed-over": (
        {**PLAIN_POST, "post_blocked_fallback": "https://10.0.0.1/", **LOW},
        "url_chatbot",
        KEY,
        "D9 lowest_safe_fallback https://example.com/low.html missing json_post",
    ),
    "d9-later-stop-word-not-reached": (
        {**PLAIN_POST, "post_blocked_fallback": "/post.html", "lowest_safe_fallback": "no_op"},
        "url_chatbot",
        KEY,
        "D9 post_blocked_fallback https://example.com/post.html missing json_post",
    ),
    "d9-stop-word-after-unusable": (
        {**PLAIN_POST, "post_blocked_fallback": "http://example.com/", "lowest_safe_fallback": "no-op"},
        "url_chatbot",
        KEY,
        "D9 human_review_required lowest_safe_fallback_is_no_op",
    ),
    "d10-nothing-published": (
        PLAIN_POST,
        "url_chatbot",
        KEY,
        "D10 human_review_required missing_json_post",
    ),
}


def summary(outcome: Resolution) -> str:
    match outcome:
        case Execute(rule, method, url):
            return f"{rule} {method} {url}"
        case Fallback(rule, url, field, missing):
            return " ".join([rule, field, url, "missing", *missing])
        case NoOp(rule, _, _, _, code):
            return f"{rule} {code} {outcome.slug}"


@pytest.mark.parametrize(("members", "client", "given_context", "expected"), DECISIONS.values(), ids=DECISIONS)
def test_decision(
    members: dict[str, Any] | None, client: str, given_context: dict[str, Any], expected: str
) -> None:
    route = None if members is None else record(members)
    assert summary(resolve(route, SITE, CLASSES[ClientClass(client)], context(**given_context))) == expected


RESTRICTED = ["publishes", "deletes", "pays", "account_change", "repository_write", "memory_write", "regulated"]


@pytest.mark.parametrize("effect", RESTRICTED)
def test_d5_holds_for_every_restricted_effect(effect: str) -> None:
    route = record({**PLAIN_POST, "side_effect_status": effect})
    atoms = CLASSES[ClientClass.JSON_POST_CLIENT]
    assert summary(resolve(route, SITE, atoms, context(**KEY))) == "D5 human_review_required consent_missing"
    assert summary(resolve(route, SITE, atoms, context(**KEY, consent=True))) == f"D7 POST {POSTED}"


STOP_WORDS = {
    "no_op": "human_review_required",
    "no-op": "human_review_required",
    "human_review": "human_review_required",
    "human_review_required": "human_review_required",
    "Human-Review-Required": "human_review_required",
    "rejected": "rejected",
}


@pytest.mark.parametrize(("word", "code"), STOP_WORDS.items(), ids=STOP_WORDS)
def test_d9_stop_words(word: str, code: str) -> None:
    route = record({**PLAIN_POST, "post_blocked_fallback": word, **LOW})
    outcome = resolve(route, SITE, CLASSES[ClientClass.URL_CHATBOT], context(**KEY))
    assert outcome == NoOp(
        Rule.D9,
        Reason.FALLBACK_IS_NO_OP,
        SITE_REVIEW,
        Trigger.UNSUPPORTED_CAPABILITY_LEVEL,
        Code(code),
        (Atom.JSON_POST,),
        Field.POST_BLOCKED_FALLBACK,
    )


NO_OP = {"no_op_behavior": {"code": "human_review_required", "url": "https://example.com/n"}}
REVIEWS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "route": (REVIEW, {}, REVIEW["human_review_url"]),
    "route-relative": ({"human_review_url": "/r"}, {}, "https://example.com/r"),
    "no-op-object": (NO_OP, {}, "https://example.com/n"),
    "route-before-no-op-object": ({**REVIEW, **NO_OP}, {}, REVIEW["human_review_url"]),
    "plain-http": ({"human_review_url": "http://example.com/r"}, {}, SITE_REVIEW),
    "private-address": ({"human_review_url": "https://192.168.0.1/r"}, {}, SITE_REVIEW),
    "with-a-secret": ({"human_review_url": "https://example.com/r?token=0123456789"}, {}, SITE_REVIEW),
    "site": ({}, {}, SITE_REVIEW),
    "site-with-a-secret": ({}, {"site_review_url": "https://example.com/?token=0123456789"}, OWN_REVIEW),
    "own": ({}, {"site_review_url": None}, OWN_REVIEW),
}


@pytest.mark.parametrize(("members", "given_context", "expected"), REVIEWS.values(), ids=REVIEWS)
def test_d10_review_url(members: dict[str, Any], given_context: dict[str, Any], expected: str) -> None:
    outcome = resolve(record({**PLAIN_POST, **members}), SITE, frozenset(), context(**given_context))
    assert isinstance(outcome, NoOp) and outcome.url == expected


def test_d2_repeats_the_earlier_answer() -> None:
    outcome = resolve(record(READ), SITE, CLASSES[ClientClass.OWNER_AGENT], context(**LATCH))
    assert outcome == NoOp(
        Rule.D2,
        Reason.RETRY_LOOP,
        "https://example.com/review/before",
        Trigger.AUTHORITY_BOUNDARY_CONFLICT,
        Code.REJECTED,
    )


TRIGGERS: dict[str, tuple[dict[str, Any] | None, str]] = {
    "no-record": (None, "missing_profile"),
    "no-path": ({"method": "GET"}, "malformed_schema"),
    "malformed-path": ({**READ, "highest_supported_path": "/%zz"}, "malformed_schema"),
    "private-address": (
        {**READ, "highest_supported_path": "https://169.254.169.254/"},
        "private_network_probe_requested",
    ),
    "localhost": ({**READ, "highest_supported_path": "https://localhost/"}, "private_network_probe_requested"),
    "alias-conflict": ({**READ, **CONFLICT}, "malformed_schema"),
    "consent": ({**PLAIN_POST, "consent_required": True}, "authority_boundary_conflict"),
    "atoms": (PLAIN_POST, "unsupported_capability_level"),
}


@pytest.mark.parametrize(("members", "expected"), TRIGGERS.values(), ids=TRIGGERS)
def test_trigger(members: dict[str, Any] | None, expected: str) -> None:
    route = None if members is None else record(members)
    outcome = resolve(route, SITE, CLASSES[ClientClass.UNKNOWN], context())
    assert isinstance(outcome, NoOp) and outcome.trigger == expected


# level on the exec ladder, route of a manifest: outcome
MARKETS = {"ability_level": "L1", "side_effect_status": "none", **READ, "lowest_safe_fallback": "/markets.html"}
TRANSACTIONS = {
    "ability_level": "L4",
    "requires_authentication": True,
    "auth_unavailable_fallback": "https://example.com/login",
    **PLAIN_POST,
}
LEVELS: dict[str, tuple[str, dict[str, Any], str]] = {
    "l0-json": ("L0", MARKETS, "D9 lowest_safe_fallback https://example.com/markets.html missing json_get"),
    "l1-json": ("L1", MARKETS, "D7 GET https://example.com/about.html"),
    "l4-json": ("L4", MARKETS, "D7 GET https://example.com/about.html"),
    "l3-transactions": (
        "L3",
        TRANSACTIONS,
        "D9 auth_unavailable_fallback https://example.com/login missing auth",
    ),
    "l4-transactions": ("L4", TRANSACTIONS, f"D7 POST {POSTED}"),
    "l7-transactions": ("L7", TRANSACTIONS, f"D7 POST {POSTED}"),
}


@pytest.mark.parametrize(("level", "members", "expected"), LEVELS.values(), ids=LEVELS)
def test_levels_of_the_exec_ladder(level: str, members: dict[str, Any], expected: str) -> None:
    assert summary(resolve(record(members), SITE, atoms_of(level, "exec"), context(**KEY))) == expected


@pytest.mark.parametrize("field", list(Field))
def test_every_field_is_a_member_of_the_record(field: Field) -> None:
    assert field in MEMBERS


def test_paths_are_resolved_against_the_site_url_given() -> None:
    site = parse_target("https://shop.example.org/en/")
    route = RouteRecord("POST", "api/orders", "../low.html")
    outcome = fall_back(route, site, frozenset(), frozenset({Atom.JSON_POST}), frozenset(), OWN_REVIEW)
    assert summary(outcome) == "D9 lowest_safe_fallback https://shop.example.org/low.html missing json_post"
    executed = resolve(route, site, CLASSES[ClientClass.JSON_POST_CLIENT], context(**KEY))
    assert summary(executed) == "D7 POST https://shop.example.org/en/api/orders"


URLS = ["/x", "/x?a=1", "https://example.com/", "no_op", "//", "?", "https://[", "https://10.0.0.1/"]
TEXTS = st.none() | st.text(max_size=40) | st.sampled_from(URLS)
ROUTES = st.builds(
    RouteRecord,
    method=st.sampled_from(["GET", "HEAD", "POST", "DELETE", "", "get"]),
    **{
        name: TEXTS
        for name in sorted(MEMBERS - {"method", "required_fields", "target_clients", "conflicts"})
        if name not in {"requires_authentication", "consent_required"}
    },
    requires_authentication=st.booleans(),
    consent_required=st.booleans(),
)
CONTEXTS = st.builds(
    Context,
    proxy_review_url=st.just(OWN_REVIEW),
    site_review_url=TEXTS,
    asked=st.none() | st.builds(Asked, st.sampled_from(["GET", "POST"]), st.text(max_size=40)),
    consent=st.booleans(),
    idempotency_key=st.none() | st.text(max_size=4),
    live_request=st.booleans(),
)


@settings(max_examples=200)
@given(st.none() | ROUTES, st.frozensets(st.sampled_from(list(Atom))), CONTEXTS)
def test_nothing_raises_and_nothing_is_invented(
    route: RouteRecord | None, atoms: Atoms, given_context: Context
) -> None:
    match resolve(route, SITE, atoms, given_context):
        case Execute(_, _, url, None):
            assert given_context.asked is not None and url == given_context.asked.url
        case Execute(_, method, url):
            assert url.startswith("https://") and route is not None
            assert method == route.method or route.post_equivalent is not None
        case Fallback(_, url, field, missing):
            assert url.startswith("https://") and missing
            assert getattr(route, field)
        case NoOp(_, _, url):
            assert url.startswith("https://")
