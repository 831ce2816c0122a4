"""Which atoms a route needs (UAIX.md §4.1, §4.4; §2 rule 4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.capability.atoms import Atom
from proxy.capability.needs import FetchClass, fetch_class, is_template, needs
from proxy.discovery.access.routes import RouteRecord

JSON_TYPE = "application/json; charset=utf-8"

# method, members: fetch class
FETCH_CLASSES: dict[str, tuple[str, dict[str, Any], str]] = {
    "get": ("GET", {"highest_supported_path": "/x"}, "static"),
    "get-without-path": ("GET", {}, "static"),
    "get-query": ("GET", {"highest_supported_path": "/x?a=1"}, "live_dynamic_get"),
    "get-empty-query": ("GET", {"highest_supported_path": "/x?"}, "live_dynamic_get"),
    "head": ("HEAD", {"highest_supported_path": "/x"}, "static"),
    "get-with-form-type": ("GET", {"content_type": "multipart/form-data"}, "static"),
    "post": ("POST", {}, "http_json_post"),
    "post-json": ("POST", {"content_type": JSON_TYPE}, "http_json_post"),
    "post-form": ("POST", {"content_type": "application/x-www-form-urlencoded"}, "browser_form"),
    "post-multipart": ("POST", {"content_type": " Multipart/Form-Data; boundary=x"}, "browser_form"),
    "delete": ("DELETE", {}, "http_json_post"),
    "stated-wins-over-method": ("POST", {"fetch_execution_class": "static"}, "static"),
    "stated-wins-over-type": (
        "POST",
        {"fetch_execution_class": "http_json_post", "content_type": "multipart/form-data"},
        "http_json_post",
    ),
    "stated-in-another-case": ("GET", {"fetch_execution_class": "MCP-Tool"}, "mcp_tool"),
    "short-cached": ("GET", {"fetch_execution_class": "cached"}, "cached_or_indexed"),
    "short-live": ("GET", {"fetch_execution_class": "live"}, "live_dynamic_get"),
    "short-dynamic": ("GET", {"fetch_execution_class": "dynamic"}, "live_dynamic_get"),
    "short-live-dynamic": ("GET", {"fetch_execution_class": "live_dynamic"}, "live_dynamic_get"),
    "unknown-word-get": ("GET", {"fetch_execution_class": "telepathy"}, "static"),
    "unknown-word-post": ("POST", {"fetch_execution_class": "telepathy"}, "http_json_post"),
    "empty-word": ("GET", {"fetch_execution_class": ""}, "static"),
}

# members beside the method GET and the path "/x": atoms
NEEDS: dict[str, tuple[dict[str, Any], str]] = {
    "static": ({"fetch_execution_class": "static"}, "static_get"),
    "cached": ({"fetch_execution_class": "cached_or_indexed"}, "static_get"),
    "compact-json": ({"fetch_execution_class": "compact_json"}, "json_get"),
    "live": ({"fetch_execution_class": "live_dynamic_get"}, "live_get"),
    "form": ({"fetch_execution_class": "browser_form", "method": "POST"}, "browser_ui"),
    "json-post": ({"fetch_execution_class": "http_json_post", "method": "POST"}, "json_post"),
    "readback": ({"fetch_execution_class": "restore_readback"}, "readback"),
    "readback-by-post": ({"fetch_execution_class": "restore_readback", "method": "POST"}, "readback json_post"),
    "mcp": ({"fetch_execution_class": "mcp_tool", "method": "POST"}, "mcp tools"),
    "a2a": ({"fetch_execution_class": "a2a_task", "method": "POST"}, "a2a"),
    "handoff": ({"fetch_execution_class": "multi_agent_handoff", "method": "POST"}, "coordinate"),
    "site-specific": ({"fetch_execution_class": "site_specific", "method": "POST"}, "negotiate"),
    "static-by-post": ({"fetch_execution_class": "static", "method": "POST"}, "static_get json_post"),
    "live-by-delete": ({"fetch_execution_class": "live_dynamic_get", "method": "DELETE"}, "live_get json_post"),
    "get-action": ({"get_safety": "bounded_idempotent_action"}, "static_get live_get url_synth"),
    "get-action-live": (
        {"fetch_execution_class": "live_dynamic_get", "side_effect_status": "creates"},
        "live_get url_synth",
    ),
    "mcp-change-by-get": ({"fetch_execution_class": "mcp_tool", "side_effect_status": "creates"}, "mcp tools"),
    "template": ({"highest_supported_path": "/x/{id}"}, "static_get url_synth"),
    "auth": ({"requires_authentication": True}, "static_get auth"),
    "auth-post": ({"requires_authentication": True, "method": "POST"}, "json_post auth"),
    "level-0": ({"ability_level": "L0"}, "static_get"),
    "level-1": ({"ability_level": "L1"}, "static_get json_get"),
    "level-2": ({"ability_level": "L2"}, "static_get browser_ui"),
    "level-3": ({"ability_level": "L3"}, "static_get json_post"),
    "level-4": ({"ability_level": "L4", "method": "POST"}, "json_post auth"),
    "level-5": ({"ability_level": "L5"}, "static_get readback"),
    "level-6": ({"ability_level": "L6"}, "static_get coordinate"),
    "level-7": ({"ability_level": "L7"}, "static_get negotiate"),
    "level-takes-nothing-away": (
        {"ability_level": "L0", "fetch_execution_class": "mcp_tool", "requires_authentication": True},
        "static_get mcp tools auth",
    ),
    "level-unknown": ({"ability_level": "L9"}, "static_get"),
    "level-empty": ({"ability_level": ""}, "static_get"),
}


@pytest.mark.parametrize(("method", "members", "expected"), FETCH_CLASSES.values(), ids=FETCH_CLASSES)
def test_fetch_class(method: str, members: dict[str, Any], expected: str) -> None:
    assert fetch_class(RouteRecord(method, **members)) == expected


@pytest.mark.parametrize("name", list(FetchClass))
def test_a_stated_class_is_taken_as_it_is(name: FetchClass) -> None:
    assert fetch_class(RouteRecord("GET", fetch_execution_class=name.value)) is name


@pytest.mark.parametrize(("members", "expected"), NEEDS.values(), ids=NEEDS)
def test_needs(members: dict[str, Any], expected: str) -> None:
    route = RouteRecord(**{"method": "GET", "highest_supported_path": "/x", **members})
    assert needs(route) == frozenset(Atom(name) for name in expected.split())


@pytest.mark.parametrize(("url", "expected"), [("/x", False), ("/x/{id}", True), ("/x?a={a}", True), ("", False)])
def test_template(url: str, expected: bool) -> None:
    assert is_template(url) is expected


@given(st.text(max_size=12), st.text(max_size=20), st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_every_route_needs_something(method: str, path: str, way: str, media_type: str, level: str) -> None:
    assert needs(RouteRecord(method, path, None, media_type, None, way, ability_level=level))
