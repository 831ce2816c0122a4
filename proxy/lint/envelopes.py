"""Lint of UAI-1 envelopes: their own rules, and those for all no-ops and all URLs (UAIX.md §5.5, §6.4, §7)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from proxy.boundary.enveloperules import REQUIRED, envelope_findings, places
from proxy.boundary.envelopes import BLOCKER, FIELDS, TALKBACK
from proxy.capability.resolution import Code
from proxy.discovery.access.manifesturls import MOST_URL_CHARACTERS, UrlRule
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject
from proxy.http.secrets import find_secret, masked
from proxy.lint.bodies import repeated_name_findings
from proxy.lint.objects import object_document
from proxy.lint.retrying import RETRY_LOOP, is_retry_loop

# So many of its members that no other kind of document shares them.
_FEWEST_FIELDS: Final = 5
_MOST_SECRETS: Final = 10
_REFERENCES: Final = ("/", "http://", "https://")
_QUOTES: Final = "(<[\"'`"
_NO_OP_CODES: Final = tuple(code.value for code in Code)


def is_envelope(value: JsonObject) -> bool:
    """Whether an object is an envelope, or means to be one."""
    return sum(name in value for name in FIELDS) >= _FEWEST_FIELDS


def lint_envelope(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of an envelope of any profile; `now` in Unix seconds decides whether it has expired."""
    document = object_document(body, REQUIRED)
    if isinstance(document, Finding):
        return (document,)
    value = document.members
    return (
        *repeated_name_findings(is_repeated=document.has_repeated_names, is_signed=True),
        *_retry_findings(value),
        *islice(_secret_findings(value), _MOST_SECRETS),
        *envelope_findings(value, now),
    )


def _retry_findings(value: JsonObject) -> Iterator[Finding]:
    """What tells a client to try again after a no-op, or says that the sender did."""
    body, delivery = _part(value, "body"), _part(value, "delivery")
    if value.get("profile") == BLOCKER or body.get("code") in _NO_OP_CODES:
        told = {name: _prose(member) for name, member in body.items() if not name.endswith("_id")}
        for name, part in (("body", told), ("delivery", _directions(delivery))):
            if is_retry_loop(part):
                yield Finding(RETRY_LOOP, pointer(name), "A no-op tells the client to stop, not to try again.")
    if _part(_part(value, "extensions"), TALKBACK).get("forwarded_retries") not in (None, 0):
        path = pointer("extensions", TALKBACK, "forwarded_retries")
        yield Finding(RETRY_LOOP, path, "What met the boundary is not sent on again.")


def _directions(delivery: JsonObject) -> JsonObject:
    """The directive as words, and of the other members whether they say anything: they are keys and names."""
    directive = delivery.get("fallback_directive")
    words = directive.replace("_", " ") if isinstance(directive, str) else ""
    others = {name: bool(member) for name, member in delivery.items() if name != "fallback_directive"}
    return {"fallback_directive": words, **others}


def _prose(value: object) -> object:
    """A text without the paths and URLs in it, which may be called anything."""
    if not isinstance(value, str):
        return value
    return " ".join(word for word in value.split(" ") if not word.lstrip(_QUOTES).startswith(_REFERENCES))


def _secret_findings(value: JsonObject) -> Iterator[Finding]:
    room = MOST_URL_CHARACTERS
    for steps, part in places(value):
        if not isinstance(part, str) or not (part.startswith("/") or "://" in part):
            continue
        room -= len(part)
        if room < 0:
            detail = f"Of the URLs only {MOST_URL_CHARACTERS} characters are looked at."
            yield Finding(UrlRule.SECRET, pointer(*steps), detail, is_warning=True)
            return
        if (find_secret(part) is not None) if part.startswith("/") else (masked(part) != part):
            yield Finding(UrlRule.SECRET, pointer(*steps), "A URL in this text carries a secret.")


def _part(value: JsonObject, name: str) -> JsonObject:
    part = value.get(name)
    return part if isinstance(part, dict) else {}
