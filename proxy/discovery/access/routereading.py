"""Reading a route record: both spellings into one value, with what was wrong with it (UAIX.md §4.1, U-R*).

A member that cannot be used is absent and found fault with; the rest of the route stands. What an absent member
means (the default class of §4.1, whether a method changes something) is not decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, cast

from proxy.discovery.access.manifesturls import UrlRule, characters_of, published_target
from proxy.discovery.access.routes import RouteRecord
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject
from proxy.http.fields import is_token
from proxy.http.targets import Target

REQUIRED: Final = "local.route_required_field"
MEMBER_TYPE: Final = "local.route_member_type"
ALIAS_CONFLICT: Final = "local.route_alias_conflict"
LEVEL_UNKNOWN: Final = "local.ability_level_unknown"

MOST_TEXTS: Final = 100
"""Elements of one list of a route."""

_LEVELS: Final = frozenset(f"L{step}" for step in range(8))
_HARMLESS: Final = frozenset({"none", "read_only"})
_STATUS: Final = "side_effect_status"
_URL_MEMBERS: Final = (
    "highest_supported_path",
    "lowest_safe_fallback",
    "browser_form_equivalent",
    "post_blocked_fallback",
    "live_get_blocked_fallback",
    "mcp_unavailable_fallback",
    "auth_unavailable_fallback",
    "tool_unavailable_fallback",
)
_OTHER_URLS: Final = ("post_equivalent", "human_review_url", "no_op_url")


@dataclass(frozen=True, slots=True)
class RouteReading:
    """What became of a published route; `record` is None when it has no usable method or is no object."""

    record: RouteRecord | None
    findings: tuple[Finding, ...]


def parse_route(value: object, path: str = "") -> RouteReading:
    """The route that a JSON value describes. `path` is the pointer to it in its document."""
    if not isinstance(value, dict):
        return RouteReading(None, (Finding(REQUIRED, path, "A route is an object."),))
    members = _Members(value, path)
    method = _method(members)
    record = None if method is None else _record(members, method)
    return RouteReading(record, tuple(members.findings))


def url_findings(value: JsonObject, record: RouteRecord, site: Target, path: str = "") -> tuple[Finding, ...]:
    """What is wrong with the URLs and paths of the route that was read from `value`."""
    urls = _published_urls(value, record)
    judged = (published_target(url, site, path + place, rule) for place, url, rule in urls)
    return tuple(outcome for outcome in judged if isinstance(outcome, Finding))


def url_characters(record: RouteRecord) -> int:
    """What counts of the URLs and paths of a route against MOST_URL_CHARACTERS."""
    return characters_of(getattr(record, name) for name in (*_URL_MEMBERS, *_OTHER_URLS))


@cache
def camel_case(name: str) -> str:
    """The other spelling of a snake_case name, which is one of those known here and never a document's."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def spelled(value: JsonObject, name: str) -> str:
    """The spelling in which a member is present, the snake_case `name` when it is in neither."""
    camel = camel_case(name)
    return camel if value.get(camel) is not None else name


class _Members:
    """The members of one route by snake_case name; gathers what is wrong with them on the way."""

    def __init__(self, value: JsonObject, path: str) -> None:
        self._value = value
        self._path = path
        self.findings: list[Finding] = []
        self.conflicts: list[str] = []

    def has(self, name: str) -> bool:
        return self._value.get(spelled(self._value, name)) is not None

    def get(self, name: str) -> object:
        """The value in either spelling, null being none; the camelCase one of two that differ."""
        camel = camel_case(name)
        one, other = self._value.get(camel), self._value.get(name)
        if camel != name and one is not None and other is not None and one != other:
            self.conflict(name)
        return other if one is None else one

    def conflict(self, name: str) -> None:
        self.conflicts.append(name)
        self.fault(ALIAS_CONFLICT, name, f"Two spellings of {name} say different things.")

    def fault(self, rule: str, name: str, detail: str, *, is_warning: bool = False) -> None:
        where = self._path + pointer(spelled(self._value, name))
        self.findings.append(Finding(rule, where, detail, is_warning))

    def text(self, name: str) -> str | None:
        return self.as_text(name, self.get(name))

    def as_text(self, name: str, value: object) -> str | None:
        if value is None or (isinstance(value, str) and value):
            return value
        self.fault(MEMBER_TYPE, name, f"{name} is no text.")
        return None

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.get(name)
        if value is None:
            return ()
        listed = value[:MOST_TEXTS] if isinstance(value, list) else []
        usable = tuple(item for item in listed if isinstance(item, str) and item)
        if not isinstance(value, list) or len(usable) < len(value):
            self.fault(MEMBER_TYPE, name, f"{name} is no list of at most {MOST_TEXTS} texts.")
        return usable

    def flag(self, name: str) -> bool | None:
        value = self.get(name)
        if value is None or isinstance(value, bool):
            return value
        self.fault(MEMBER_TYPE, name, f"{name} is neither true nor false.")
        return None


def _record(members: _Members, method: str) -> RouteRecord:
    text, texts = members.text, members.texts
    code, url = _no_op(members)
    return RouteRecord(
        method=method,
        highest_supported_path=_highest_path(members),
        lowest_safe_fallback=text("lowest_safe_fallback"),
        content_type=text("content_type"),
        side_effect_status=_side_effect_status(members),
        fetch_execution_class=text("fetch_execution_class"),
        required_fields=texts("required_fields"),
        result_url_field=text("result_url_field"),
        restore_readback_url_field=text("restore_readback_url_field"),
        write_credential_response_path=text("write_credential_response_path"),
        browser_form_equivalent=text("browser_form_equivalent"),
        get_safety=text("get_safety"),
        post_blocked_fallback=text("post_blocked_fallback"),
        live_get_blocked_fallback=text("live_get_blocked_fallback"),
        mcp_unavailable_fallback=text("mcp_unavailable_fallback"),
        auth_unavailable_fallback=text("auth_unavailable_fallback"),
        tool_unavailable_fallback=text("tool_unavailable_fallback"),
        human_review_url=text("human_review_url"),
        no_op_behavior=code,
        no_op_url=url,
        ability_level=_ability_level(members),
        requires_authentication=members.flag("requires_authentication") or False,
        post_equivalent=text("post_equivalent"),
        target_clients=texts("target_clients"),
        consent_required=members.flag("consent_required") or False,
        conflicts=tuple(members.conflicts),
    )


def _method(members: _Members) -> str | None:
    method = members.get("method")
    if isinstance(method, str) and is_token(method):
        return method.upper()
    members.fault(REQUIRED, "method", "A route names its HTTP method.")
    return None


def _highest_path(members: _Members) -> str | None:
    name = "highest_supported_path"
    if not members.has(name):
        members.fault(REQUIRED, name, "A route names its highest supported path.")
    return members.text(name)


def _ability_level(members: _Members) -> str | None:
    level = members.text("ability_level")
    if level is not None and level not in _LEVELS:
        members.fault(LEVEL_UNKNOWN, "ability_level", "ability_level is none of L0 to L7.", is_warning=True)
    return level


def _side_effect_status(members: _Members) -> str | None:
    """The status, or what the flag of the other spelling means; the status when both say the same."""
    status, changes = members.text(_STATUS), members.flag("side_effecting")
    if status is None:
        return None if changes is None else "side_effecting" if changes else "none"
    if changes is not None and changes == (status.lower() in _HARMLESS):
        members.conflict(_STATUS)
    return status


def _no_op(members: _Members) -> tuple[str | None, str | None]:
    """Code and URL of `no_op_behavior`, which is a code or an object."""
    behavior = members.get("no_op_behavior")
    if not isinstance(behavior, dict):
        return members.as_text("no_op_behavior", behavior), None
    code, url = behavior.get("code"), behavior.get("url")
    if not isinstance(code, str) or not code or not (url is None or isinstance(url, str)):
        members.fault(MEMBER_TYPE, "no_op_behavior", "no_op_behavior has no code, or a url that is no text.")
    return code if isinstance(code, str) and code else None, url if isinstance(url, str) and url else None


def _published_urls(value: JsonObject, record: RouteRecord) -> Iterator[tuple[str, str, UrlRule | None]]:
    """Pointer, text and own rule of every URL; a fallback that is a code reads as a path and does no harm."""
    for name in _URL_MEMBERS:
        url = cast("str | None", getattr(record, name))
        if url is not None:
            yield pointer(spelled(value, name)), url, None
    if record.post_equivalent is not None:
        # Also published as "POST /path".
        yield pointer(spelled(value, "post_equivalent")), record.post_equivalent.rpartition(" ")[2], None
    if record.human_review_url is not None:
        yield pointer(spelled(value, "human_review_url")), record.human_review_url, UrlRule.REVIEW_NOT_PUBLIC
    if record.no_op_url is not None:
        yield pointer(spelled(value, "no_op_behavior"), "url"), record.no_op_url, UrlRule.REVIEW_NOT_PUBLIC
