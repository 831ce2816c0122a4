"""Lint of what a site publishes for the least capable clients (UAIX.md §1.4, §1.5, §1.7, §7).

That is the index of its endpoints, the contract of its GET-Actions and the contract of its Minimal Access tier.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from proxy.capability.ladders import Label
from proxy.capability.resolution import Code
from proxy.discovery.access.manifest import is_digest
from proxy.discovery.access.manifesturls import (
    LONGEST_URL,
    MOST_URL_CHARACTERS,
    UrlRule,
    characters_of,
    published_target,
    secret_detail,
)
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.notes import Notes
from proxy.http.secrets import find_secret
from proxy.lint.bodies import repeated_name_findings
from proxy.lint.objects import object_document
from proxy.lint.responses import MINIMAL_CODE, TWO_KEY_CODE, TWO_KEY_EXACT, lint_minimal
from proxy.lint.routes import IDEMPOTENCY, UNNAMED_SITE, carries_key

COMPAT_FIELD: Final = "local.compat_required_field"
COMPAT_ENDPOINT: Final = "local.compat_access_endpoint"
PATTERN_CONTROLS: Final = "local.pattern_controls"
REQUEST_CONTRACT: Final = "local.minimal_request_contract"

_ACCESS: Final = "uaix_agent_access"
_URL_LISTS: Final = ("json_endpoints", "human_pages")
_QUICK_START: Final = "low_capability_quick_start"

_CONTROLS: Final = (
    "idempotency",
    "consent",
    "rate_limits",
    "auditability",
    "crawler_protection",
    "no_query_string_secrets",
    "matching_post_endpoint",
)
_PROMISES: Final = (
    "required_idempotency_key",
    "matching_post_endpoint_required_for_l2_plus",
    "not_a_post_replacement",
)
_GET_ACTION_LEVELS: Final = (Label.L0, Label.L1)
_WORDS: Final = frozenset({"ok", *Code})

_TWO_KEYS: Final = ("code", "url")
_NUMBERS: Final = (200, 202, 303, 400, 403, 410, 428)
_NOT_ASKED: Final = (
    "body_allowed",
    "authentication_required",
    "custom_headers_required",
    "client_side_javascript_required",
    "state_mutation_allowed",
)
_OF_TIERS_ALONE: Final = frozenset({"response_keys", "allowed_codes", "minimal_response_example"})


def is_compatibility(value: JsonObject) -> bool:
    """Whether an object is an index of endpoints (`agent-compatibility`), or means to be one."""
    return "json_endpoints" in value or _QUICK_START in value


def is_action_pattern(value: JsonObject) -> bool:
    """Whether an object is the contract of GET-Actions; that of their security has controls alone."""
    return "route_template" in value or any(name in value for name in _PROMISES)


def is_minimal_tier(value: JsonObject) -> bool:
    """Whether an object is the contract of a Minimal Access tier."""
    return not _OF_TIERS_ALONE.isdisjoint(value)


def lint_compatibility(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of an index of endpoints. `now` decides nothing: it does not end."""
    return _judged(body, COMPAT_FIELD, _compatibility)


def lint_action_pattern(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of a contract of GET-Actions. `now` decides nothing: it does not end."""
    return _judged(body, PATTERN_CONTROLS, _pattern)


def lint_minimal_tier(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of a contract of a Minimal Access tier. `now` decides nothing: it does not end."""
    return _judged(body, REQUEST_CONTRACT, _tier)


def _judged(body: bytes, rule: str, check: Callable[[JsonObject], Iterator[Finding]]) -> tuple[Finding, ...]:
    document = object_document(body, rule)
    if isinstance(document, Finding):
        return (document,)
    notes = Notes(None)
    notes.add(repeated_name_findings(is_repeated=document.has_repeated_names, is_signed=False))
    notes.add(check(document.members))
    return notes.findings()


def _compatibility(value: JsonObject) -> Iterator[Finding]:
    if not is_digest(value):
        yield Finding(COMPAT_FIELD, "/title", "The index has a title and a URL such as canonical_url.")
    if not any(_is_text(value.get(name)) for name in ("package_version", "version")):
        yield Finding(COMPAT_FIELD, "/package_version", "The index has a version.")
    for name in _URL_LISTS:
        if not isinstance(value.get(name), dict):
            yield Finding(COMPAT_FIELD, pointer(name), f"The index has {name}, each with its URL.")
    steps = value.get(_QUICK_START)
    if not isinstance(steps, list) or not steps or not all(map(_is_text, steps)):
        yield Finding(COMPAT_FIELD, pointer(_QUICK_START), "Say how to start for clients that only open links.")
    endpoints = value.get("json_endpoints")
    if isinstance(endpoints, dict) and not _is_text(endpoints.get(_ACCESS)):
        yield Finding(COMPAT_ENDPOINT, pointer("json_endpoints", _ACCESS), "Name the URL of the entry manifest.")
    yield from _listed_urls(value)


def _listed_urls(value: JsonObject) -> Iterator[Finding]:
    room = MOST_URL_CHARACTERS
    for parent in _URL_LISTS:
        listed = value.get(parent)
        for name, url in listed.items() if isinstance(listed, dict) else ():
            path = pointer(parent, name)
            if not isinstance(url, str):
                yield Finding(COMPAT_FIELD, path, "The URL is no text.")
                continue
            room -= characters_of((url,))
            if room < 0:
                detail = f"Of the URLs only {MOST_URL_CHARACTERS} characters are looked at."
                yield Finding(COMPAT_FIELD, path, detail, is_warning=True)
                return
            target = published_target(url, UNNAMED_SITE, path)
            if isinstance(target, Finding):
                yield target


def _pattern(value: JsonObject) -> Iterator[Finding]:
    controls = value.get("required_controls")
    absent = [name for name in _CONTROLS if not isinstance(controls, list) or name not in controls]
    if absent:
        yield Finding(PATTERN_CONTROLS, "/required_controls", f"These controls are missing: {', '.join(absent)}.")
    for name in _PROMISES:
        if value.get(name) is not True:
            yield Finding(PATTERN_CONTROLS, pointer(name), f"The contract says that {name} is true.")
    levels = value.get("allowed_capability_levels")
    if not isinstance(levels, list) or not levels or any(level not in _GET_ACTION_LEVELS for level in levels):
        detail = "GET-Actions are for L0 and L1 alone; whoever can POST does that."
        yield Finding(PATTERN_CONTROLS, "/allowed_capability_levels", detail)
    yield from _template(value.get("route_template"))
    yield from _schema(value.get("response_schema"))


def _template(template: object) -> Iterator[Finding]:
    path = "/route_template"
    method, _, url = template.partition(" ") if isinstance(template, str) else ("", "", "")
    if method != "GET" or not url or len(url) > LONGEST_URL:
        yield Finding(
            PATTERN_CONTROLS, path, f"The template is GET and a path of at most {LONGEST_URL} characters."
        )
        return
    if not carries_key(url):
        yield Finding(IDEMPOTENCY, path, "A GET that changes something carries a key.")
    secret = find_secret(url)
    if secret is not None:
        yield Finding(UrlRule.SECRET, path, secret_detail(secret))


def _schema(schema: object) -> Iterator[Finding]:
    if not isinstance(schema, dict) or schema.keys() != set(_TWO_KEYS):
        yield Finding(TWO_KEY_EXACT, "/response_schema", "The answer has exactly the members code and url.")
        return
    codes = schema["code"]
    if not isinstance(codes, str) or not _WORDS.issuperset(codes.split("|")):
        yield Finding(TWO_KEY_CODE, "/response_schema/code", "The code is one of the three, with | between them.")


def _tier(value: JsonObject) -> Iterator[Finding]:
    request = value.get("request")
    asked = request if isinstance(request, dict) else {}
    if asked.get("method") != "GET":
        yield Finding(REQUEST_CONTRACT, "/request/method", "The tier is for GET.")
    for name in _NOT_ASKED:
        if asked.get(name) is not False:
            yield Finding(REQUEST_CONTRACT, pointer("request", name), f"The tier says that {name} is false.")
    keys = value.get("response_keys")
    if not isinstance(keys, list) or len(keys) != len(_TWO_KEYS) or any(key not in keys for key in _TWO_KEYS):
        yield Finding(TWO_KEY_EXACT, "/response_keys", "The answer has exactly the members code and url.")
    yield from _example(value)
    yield from _codes(value)


def _example(value: JsonObject) -> Iterator[Finding]:
    name = "minimal_response_example"
    if name in value:
        for finding in lint_minimal(json.dumps(value[name]).encode(), 0):
            yield replace(finding, path=pointer(name) + finding.path)


def _codes(value: JsonObject) -> Iterator[Finding]:
    codes = value.get("allowed_codes")
    if not isinstance(codes, list) or not codes or not all(map(_is_code, codes)):
        yield Finding(MINIMAL_CODE, "/allowed_codes", "The codes are numbers of this tier.")
    rows = value.get("status_mapping", [])
    for index, row in enumerate(rows if isinstance(rows, list) else [None]):
        if not isinstance(row, dict) or not _is_code(row.get("code")):
            path = pointer("status_mapping", index, "code")
            yield Finding(MINIMAL_CODE, path, "The code is no number of this tier.")


def _is_code(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _NUMBERS


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""
