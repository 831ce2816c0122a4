"""Rules for what a site answers and lists around its actions (UAIX.md §1.7, §5.1, §5.4, §7).

Two-key answers, no-op problems and instructions are bodies that sites send. The listing of GET-Actions and the
index of an llms.txt are no published documents: they carry, as JSON, what those rules are about.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from proxy.discovery.access.manifesturls import MOST_URL_CHARACTERS, UrlRule, characters_of, published_target
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.notes import Notes
from proxy.lint.objects import read_object
from proxy.lint.retrying import RETRY_LOOP, is_retry_loop
from proxy.lint.routes import IDEMPOTENCY, POST_EQUIVALENT, UNNAMED_SITE, carries_key

TWO_KEY_EXACT: Final = "local.two_key_exact"
TWO_KEY_CODE: Final = "local.two_key_code"
MINIMAL_CODE: Final = "local.minimal_code"
PROBLEM_MEMBER: Final = "local.problem_required_member"
PROBLEM_STATUS: Final = "local.problem_status"
PROBLEM_CODE: Final = "local.problem_code"

FALLBACK: Final = "get_action_fallback_required"
LLMS_INSTRUCTION: Final = "llms_minimal_instruction_required"

MOST_ACTIONS: Final = 500

_TWO_KEYS: Final = frozenset({"code", "url"})
_CODES: Final = frozenset({"ok", "human_review_required", "rejected"})
_NO_OP_CODES: Final = frozenset({"human_review_required", "rejected"})
_MINIMAL_CODES: Final = frozenset({200, 202, 303, 400, 403, 410, 428})
_PROBLEM_MEMBERS: Final = ("type", "title", "status", "code", "url")
_SCRIPTED: Final = "javascript_ui"
_DASHBOARDS: Final = ("dashboard", "custom_template")
_COMPLEX_LINKS: Final = ("openapi", "mcp", "a2a", "tool", "tools")


def is_two_key(value: JsonObject) -> bool:
    """Whether an object is a two-key answer, or means to be one."""
    return value.keys() >= _TWO_KEYS


def is_minimal(value: JsonObject) -> bool:
    """Whether an object is an answer of the Minimal Access tier, which alone has numbers for codes."""
    return is_two_key(value) and isinstance(value["code"], int)


def is_problem(value: JsonObject) -> bool:
    """Whether an object is a no-op in problem details."""
    return "title" in value and "status" in value and ("code" in value or "url" in value)


def is_instruction(value: JsonObject) -> bool:
    """Whether an object says what a client does instead of a route."""
    return isinstance(value.get("no_op_behavior"), dict)


def is_action_listing(value: JsonObject) -> bool:
    """Whether an object lists GET-Actions."""
    return isinstance(value.get("actions"), dict)


def is_llms_index(value: JsonObject) -> bool:
    """Whether an object holds what an llms.txt points to."""
    return "minimal_instructions" in value


def lint_two_key(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of `{"code", "url"}` with a code in words."""
    value = read_object(body, TWO_KEY_EXACT)
    if isinstance(value, Finding):
        return (value,)
    code = value.get("code")
    is_known = isinstance(code, str) and code in _CODES
    of_code = () if is_known else (Finding(TWO_KEY_CODE, "/code", "The code is none of the three."),)
    return (*_exactness(value), *of_code, *_url(value, UrlRule.TWO_KEY))


def lint_minimal(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of `{"code", "url"}` with a code in numbers."""
    value = read_object(body, TWO_KEY_EXACT)
    if isinstance(value, Finding):
        return (value,)
    code = value.get("code")
    is_known = isinstance(code, int) and not isinstance(code, bool) and code in _MINIMAL_CODES
    of_code = () if is_known else (Finding(MINIMAL_CODE, "/code", "The code is no number of this tier."),)
    return (*_exactness(value), *of_code, *_url(value, UrlRule.TWO_KEY))


def lint_problem(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of a no-op in problem details (RFC 9457 with `code` and `url`)."""
    value = read_object(body, PROBLEM_MEMBER)
    return (value,) if isinstance(value, Finding) else tuple(_problem(value))


def lint_instruction(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of a `no_op_behavior` that stands alone."""
    value = read_object(body, TWO_KEY_EXACT)
    if isinstance(value, Finding):
        return (value,)
    behavior = value.get("no_op_behavior")
    if not isinstance(behavior, dict):
        return (Finding(TWO_KEY_EXACT, "/no_op_behavior", "no_op_behavior is no object."),)
    urls = _url(behavior, UrlRule.REVIEW_NOT_PUBLIC, "/no_op_behavior")
    return (*urls, *_retry_loop(behavior, "/no_op_behavior"))


def lint_action_listing(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of a listing of GET-Actions."""
    value = read_object(body, FALLBACK)
    if isinstance(value, Finding):
        return (value,)
    notes = Notes(None)
    notes.add(_listing(value))
    return notes.findings()


def lint_llms_index(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of what an llms.txt points to."""
    value = read_object(body, LLMS_INSTRUCTION)
    if isinstance(value, Finding):
        return (value,)
    links = value.get("links")
    kinds = [link.get("type") for link in links if isinstance(link, dict)] if isinstance(links, list) else []
    if value.get("minimal_instructions") or not all(kind in _COMPLEX_LINKS for kind in kinds):
        return ()
    detail = "Say in plain words what a client does that reads neither API descriptions nor tools."
    return (Finding(LLMS_INSTRUCTION, "/minimal_instructions", detail),)


def _exactness(value: JsonObject) -> tuple[Finding, ...]:
    if value.keys() == _TWO_KEYS:
        return ()
    return (Finding(TWO_KEY_EXACT, "", "The answer has exactly the members code and url."),)


def _url(value: JsonObject, rule: UrlRule, path: str = "") -> tuple[Finding, ...]:
    """A URL that is there has to be public and without secret; that it is there is another rule's business."""
    url = value.get("url")
    if url is None:
        return ()
    where = path + pointer("url")
    target = published_target(url, None, where, rule) if isinstance(url, str) else Finding(rule, where, "No text.")
    return (target,) if isinstance(target, Finding) else ()


def _retry_loop(value: JsonObject, path: str = "") -> tuple[Finding, ...]:
    if not is_retry_loop(value):
        return ()
    return (Finding(RETRY_LOOP, path, "A no-op tells the client to stop, not to try again."),)


def _problem(value: JsonObject) -> Iterator[Finding]:
    for name in _PROBLEM_MEMBERS:
        if value.get(name) is None:
            yield Finding(PROBLEM_MEMBER, pointer(name), f"A no-op has the member {name}.")
    status, code = value.get("status"), value.get("code")
    if status is not None and (not isinstance(status, int) or status not in range(400, 600)):
        yield Finding(PROBLEM_STATUS, "/status", "The status is no number of an error status.")
    if code is not None and not (isinstance(code, str) and code in _NO_OP_CODES):
        yield Finding(PROBLEM_CODE, "/code", "The code is none of a no-op.")
    yield from _url(value, UrlRule.REVIEW_NOT_PUBLIC)
    yield from _retry_loop(value)


def _listing(value: JsonObject) -> Iterator[Finding]:
    surfaces = value.get("discovery_surface")
    if isinstance(surfaces, list) and surfaces and all(surface == _SCRIPTED for surface in surfaces):
        yield Finding(
            "get_action_js_only_discovery", "/discovery_surface", "The actions are found by script alone."
        )
    if value.get("security_boundaries_first") is False:
        detail = "Say what may be done, and with whose consent, before the examples."
        yield Finding("get_action_security_order_warning", "/security_boundaries_first", detail, is_warning=True)
    if value.get("default_path") in _DASHBOARDS and value.get("generated_path_exists") is True:
        detail = "Make the generated path the default instead of the dashboard."
        yield Finding("dashboard_default_path_warning", "/default_path", detail, is_warning=True)
    actions = value.get("actions")
    if not isinstance(actions, dict):
        yield Finding(FALLBACK, "/actions", "The listing has no actions.")
        return
    room, read = MOST_URL_CHARACTERS, 0
    for name, action in islice(actions.items(), MOST_ACTIONS):
        room -= _url_characters(action)
        if room < 0:
            break
        read += 1
        yield from _action(action, pointer("actions", name))
    if read < len(actions):
        yield Finding(FALLBACK, "/actions", f"Only the first {read} actions are looked at.", is_warning=True)


def _url_characters(action: object) -> int:
    """What counts of the URLs of an action against MOST_URL_CHARACTERS."""
    if not isinstance(action, dict):
        return 0
    answer = action.get("response")
    urls = (action.get("get"), action.get("post"), answer.get("url") if isinstance(answer, dict) else None)
    return characters_of(urls)


def _action(action: object, path: str) -> Iterator[Finding]:
    if not isinstance(action, dict):
        yield Finding(FALLBACK, path, "The action is no object.")
        return
    get, post, answer = action.get("get"), action.get("post"), action.get("response")
    is_write = action.get("write_capable") is not False
    for name, url in (("get", get), ("post", post)):
        if isinstance(url, str):
            target = published_target(url, UNNAMED_SITE, path + pointer(name))
            yield from (target,) if isinstance(target, Finding) else ()
    if isinstance(answer, dict):
        yield from _url(answer, UrlRule.TWO_KEY, path + pointer("response"))
    if isinstance(get, str):
        if is_write and not carries_key(get):
            yield Finding(IDEMPOTENCY, path + pointer("get"), "A GET that changes something carries a key.")
        if not isinstance(post, str):
            yield Finding(POST_EQUIVALENT, path, "Name the POST for clients that can send one.", is_warning=True)
    elif is_write and not isinstance(answer, dict):
        yield Finding(FALLBACK, path, "Name a GET or a review URL for clients that cannot POST.")
