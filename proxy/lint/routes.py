"""Rules for route records: is there a way down for everybody who cannot take the highest path (UAIX.md §4.5, §7)?

A missing fallback of its own is a warning while a generic one is left (`lowest_safe_fallback`, a review URL, a
no-op), and a failure when nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from proxy.capability.effects import SideEffect, side_effect, token
from proxy.capability.needs import FetchClass, fetch_class
from proxy.discovery.access.manifesturls import UrlRule
from proxy.discovery.access.routereading import REQUIRED, parse_route, spelled, url_findings
from proxy.discovery.access.routes import RouteRecord
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject
from proxy.http.messages import SAFE_METHODS
from proxy.http.secrets import find_private_text
from proxy.http.targets import parse_target
from proxy.lint.objects import read_object
from proxy.lint.retrying import RETRY_LOOP, is_retry_loop

UNNAMED_SITE: Final = parse_target("https://site.invalid/")
"""Against which paths are judged when nothing says which site they belong to."""

IDEMPOTENCY: Final = "get_action_idempotency_required"
POST_EQUIVALENT: Final = "post_equivalent_recommended"

_PUBLISHED: Final = frozenset({"post_blocked_fallback", "live_get_blocked_fallback"})
_KEYS: Final = frozenset({"idempotency_key", "idempotencyKey", "nonce"})
_KEY_IN_QUERY: Final = re.compile(r"[?&;](?:idempotency_key|idempotencyKey|nonce)=")
_BOUNDED: Final = frozenset({"bounded_idempotent_action", "not_for_discovery", "get_action"})
# Ways in which nobody can go who was not made for them.
_RICH: Final = frozenset(
    {
        FetchClass.A2A_TASK,
        FetchClass.MULTI_AGENT_HANDOFF,
        FetchClass.RESTORE_READBACK,
        FetchClass.SITE_SPECIFIC,
    }
)


def is_route(value: JsonObject) -> bool:
    """Whether an object has what only a route record has."""
    return "method" in value and ("highest_supported_path" in value or "highestSupportedPath" in value)


def lint_route(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of a route record that stands alone."""
    value = read_object(body, REQUIRED)
    if isinstance(value, Finding):
        return (value,)
    reading = parse_route(value)
    if reading.record is None:
        return reading.findings
    urls = url_findings(value, reading.record, UNNAMED_SITE)
    return (*reading.findings, *urls, *policy_findings(value, reading.record))


def policy_findings(value: JsonObject, record: RouteRecord, path: str = "") -> tuple[Finding, ...]:
    """What is wrong with a route that is well formed; `value` is the object that it was read from."""
    route = _Route(value, record, path)
    checks = (_action_findings, _sending_findings, _way_findings, _result_findings, _no_op_findings, _text_findings)
    return tuple(finding for check in checks for finding in check(route))


def carries_key(url: str) -> bool:
    """Whether the query names an idempotency key or a nonce."""
    return _KEY_IN_QUERY.search(url) is not None


class _Route:
    """A route under judgement, with what several rules ask about it."""

    def __init__(self, value: JsonObject, record: RouteRecord, path: str) -> None:
        self.value = value
        self.record = record
        self.path = path
        self.way = fetch_class(record)
        self.effect = side_effect(record)
        self.is_read = record.method in SAFE_METHODS
        self.has_generic_fallback = any(
            (record.lowest_safe_fallback, record.human_review_url, record.no_op_behavior, record.no_op_url)
        )

    def states(self, name: str) -> bool:
        return self.value.get(spelled(self.value, name)) is not None

    def finding(self, rule: str, name: str, detail: str, *, is_warning: bool = False) -> Finding:
        return Finding(rule, self.path + pointer(spelled(self.value, name)), detail, is_warning)

    def warning(self, rule: str, name: str, detail: str) -> Finding:
        return self.finding(rule, name, detail, is_warning=True)

    def missing(self, name: str, who: str) -> Finding:
        """That a way down of its own is missing, which weighs less where a generic one is left."""
        rule = name if name in _PUBLISHED else f"local.{name}"
        detail = f"Name where clients go that {who}."
        return self.finding(f"{rule}_required", name, detail, is_warning=self.has_generic_fallback)


def _action_findings(route: _Route) -> Iterator[Finding]:
    """GETs: those that change something, and those that have to be asked live."""
    record = route.record
    if not route.is_read:
        return
    if route.way is FetchClass.LIVE_DYNAMIC_GET and record.live_get_blocked_fallback is None:
        yield route.missing("live_get_blocked_fallback", "cannot ask live")
    if not route.effect.is_change:
        return
    if not carries_key(record.highest_supported_path or "") and _KEYS.isdisjoint(record.required_fields):
        yield route.finding(IDEMPOTENCY, "highest_supported_path", "A GET that changes something carries a key.")
    if record.post_equivalent is None:
        yield route.warning(POST_EQUIVALENT, "post_equivalent", "Name the POST for clients that can send one.")
    if record.get_safety is None or token(record.get_safety) not in _BOUNDED:
        detail = "A GET that changes something is no link to be discovered: say how it is bounded."
        yield route.warning("side_effecting_get_discovery_warning", "get_safety", detail)


def _sending_findings(route: _Route) -> Iterator[Finding]:
    """Requests with a body."""
    record = route.record
    if route.is_read:
        return
    if record.post_blocked_fallback is None and route.has_generic_fallback:
        yield route.missing("post_blocked_fallback", f"cannot {record.method}")
    elif record.post_blocked_fallback is None:
        detail = "Name a lower path or a review URL for clients that cannot send this."
        yield route.finding("get_action_fallback_required", "post_blocked_fallback", detail)
    is_stated = route.way is FetchClass.HTTP_JSON_POST and route.states("fetch_execution_class")
    if is_stated and record.content_type is None:
        yield route.warning("local.content_type_missing", "content_type", "Name the media type of the body.")
    for_browsers = record.ability_level == "L2" or any("browser" in name.lower() for name in record.target_clients)
    if for_browsers and record.browser_form_equivalent is None:
        detail = "Name the visible form for clients that work a browser."
        yield route.warning("browser_form_fallback_required", "browser_form_equivalent", detail)


def _way_findings(route: _Route) -> Iterator[Finding]:
    """Ways that not every client can go, each with the way down that it needs."""
    record = route.record
    if record.requires_authentication and record.auth_unavailable_fallback is None:
        yield route.missing("auth_unavailable_fallback", "have no credential")
    if route.way is FetchClass.MCP_TOOL and record.mcp_unavailable_fallback is None:
        yield route.missing("mcp_unavailable_fallback", "have no MCP host")
    if route.way is FetchClass.MCP_TOOL and record.tool_unavailable_fallback is None:
        yield route.missing("tool_unavailable_fallback", "cannot call tools")
    if route.way in _RICH and not route.has_generic_fallback:
        detail = "Name a lower path or a review URL for everybody else."
        yield route.finding("local.route_without_safe_fallback", "lowest_safe_fallback", detail)


def _result_findings(route: _Route) -> Iterator[Finding]:
    is_kept = route.effect in (SideEffect.CREATES, SideEffect.UPDATES)
    if is_kept and route.record.restore_readback_url_field is None:
        name = "restore_readback_url_field"
        detail = "Name where the answer says how the result is read back."
        yield route.warning("restore_readback_required", name, detail)


def _no_op_findings(route: _Route) -> Iterator[Finding]:
    behavior = route.value.get(spelled(route.value, "no_op_behavior"))
    if isinstance(behavior, dict) and is_retry_loop(behavior):
        yield route.finding(RETRY_LOOP, "no_op_behavior", "A no-op tells the client to stop, not to try again.")


def _text_findings(route: _Route) -> Iterator[Finding]:
    name = find_private_text(route.record.highest_supported_path or "")
    if name is not None:
        detail = f"The query parameter {name} holds what people write: it belongs into a body."
        yield route.warning(UrlRule.SECRET, "highest_supported_path", detail)
