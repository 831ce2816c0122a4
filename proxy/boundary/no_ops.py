"""No-op answers: nothing was done, here is where a person decides (UAIX.md §5.1; CONTRACT §8).

One decision in four shapes, chosen by what the client takes: problem details, the two keys, the numbers of the
Minimal Access tier, a page for people. A shape has exactly its members. No answer may be stored, and none tells a
client to come again.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from html import escape
from typing import Final

from proxy.boundary.conflicts import Cause
from proxy.capability.atoms import Atom
from proxy.capability.resolution import Code, Reason
from proxy.http.fields import split_list

TYPE_PREFIX: Final = "https://uaix.org/errors/"


class Shape(StrEnum):
    PROBLEM = "problem"
    TWO_KEY = "two-key"
    MINIMAL = "minimal"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class NoOpOutcome:
    """What is to be answered.

    `url`: where a person decides. `reason`: a Reason, or the slug that goes into more detail. `rule`: the step that
    decided. `detail`: what to do next, in sentences. `missing`: in cause order. `fallback`: the URL of a lower way
    that the site publishes, with the member of the route that names it. `challenges`: values of WWW-Authenticate.
    URLs are as Target.uri writes them.
    """

    code: Code
    url: str
    reason: str
    rule: str
    detail: str
    missing: tuple[Atom, ...] = ()
    fallback: str | None = None
    fallback_field: str | None = None
    challenges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoOpAnswer:
    """The answer; `fields` has all that says something of the body, its media type included."""

    status: int
    media_type: str
    body: bytes
    fields: tuple[tuple[str, str], ...]


_STATUSES: Final[Mapping[Code, int]] = {Code.HUMAN_REVIEW_REQUIRED: 403, Code.REJECTED: 400}
_MEDIA_TYPES: Final[Mapping[Shape, str]] = {
    Shape.PROBLEM: "application/problem+json",
    Shape.TWO_KEY: "application/json",
    Shape.MINIMAL: "application/json",
    Shape.HTML: "text/html; charset=utf-8",
}
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_MANIFEST_REASONS: Final = (
    Reason.ROUTE_RECORD_MISSING,
    Reason.ROUTE_RECORD_UNUSABLE,
    Reason.ROUTE_ALIAS_CONFLICT,
)
# Types with their titles; the first stands for every other reason.
_REVIEW: Final = ("human-review-required", "A person has to decide")
_PROBLEMS: Final[Mapping[str, tuple[str, str]]] = {
    Reason.CONSENT_MISSING: ("consent-required", "Consent needed"),
    Reason.SECRET_IN_URL: ("secret-in-url", "Secret in the URL"),
    Reason.IDEMPOTENCY_MISSING: ("idempotency-missing", "Idempotency key needed"),
    Reason.RETRY_LOOP: ("retry-loop", "Refused before"),
    **dict.fromkeys(_MANIFEST_REASONS, ("manifest-invalid", "No usable route record")),
}
# What is not public: the site itself wants somebody it knows. All else lacks a capability, consent or a lower way.
_NOT_PUBLIC: Final = frozenset({Cause.UPSTREAM_401, Cause.UPSTREAM_403})

_STOP: Final = "Show the URL to a person and stop."
_DETAILS: Final[Mapping[str, str]] = {
    Reason.SECRET_IN_URL: (
        "The URL carries a secret, and URLs are logged and stored. Nothing was sent."
        " Take the secret out, count it as known to others, and show the URL of this answer to a person."
    ),
    Reason.RETRY_LOOP: f"This was refused before and nothing has been proven since. {_STOP}",
    Reason.ROUTE_RECORD_MISSING: f"The site publishes no route for this change. {_STOP}",
    Reason.ROUTE_RECORD_UNUSABLE: f"The route that the site publishes for this cannot be used. {_STOP}",
    Reason.ROUTE_ALIAS_CONFLICT: f"The route that the site publishes for this contradicts itself. {_STOP}",
    Reason.CONSENT_MISSING: f"This takes the consent of a person, and none is on record. {_STOP}",
    Reason.POST_EQUIVALENT_MISSING: (
        f"A client that can send POST may not do this by GET, and the site names no POST for it. {_STOP}"
    ),
    Reason.POST_EQUIVALENT_DUE: (
        "A client that can send POST may not do this by GET. Send the POST that the site names,"
        " with an Idempotency-Key, or show the URL to a person and stop."
    ),
    Reason.RESTRICTED_GET: f"No GET may do this, whoever sends it. {_STOP}",
    Reason.IDEMPOTENCY_MISSING: (
        "A change needs an idempotency key, and the proxy makes none up."
        " Choose one for this change and send it as Idempotency-Key."
    ),
    Reason.FALLBACK_IS_NO_OP: f"The site itself says that a client without this capability does nothing. {_STOP}",
    Cause.UPSTREAM_401: f"The site asks for a credential that it knows. Without one: {_STOP[0].lower()}{_STOP[1:]}",
    Cause.UPSTREAM_403: f"The site refused this. {_STOP}",
    Cause.UPSTREAM_428: f"The site wants a condition met before it does this. {_STOP}",
    Cause.UPSTREAM_BODY: f"The site answered that a person has to decide. {_STOP}",
}

_PROBLEM_TYPE: Final = "application/problem+json"
# A qvalue (RFC 9110 §12.4.2).
_WEIGHT: Final = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")

_STYLE: Final = """
:root { color-scheme: light dark; --page: #fff; --text: #1b1b1f; --quiet: #56565e; --link: #0a58ca; }
@media (prefers-color-scheme: dark) {
  :root { --page: #17171a; --text: #ececf1; --quiet: #a5a5ae; --link: #8ab4f8; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem;
  background: var(--page); color: var(--text); }
h1 { font-size: 1.5rem; line-height: 1.25; }
a { color: var(--link); overflow-wrap: anywhere; }
small { color: var(--quiet); }
"""
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def shape_for(accept: str | None, *, is_minimal: bool) -> Shape:
    """The shape for a client with this Accept field; `is_minimal`: the route is of the Minimal Access tier."""
    if is_minimal:
        return Shape.MINIMAL
    weights = _weights(accept or "")
    if weights.get(_PROBLEM_TYPE, 0.0) > 0.0:
        return Shape.PROBLEM
    for_page = max(weights.get(name, 0.0) for name in _HTML)
    for_json = max((weight for name, weight in weights.items() if _is_json(name)), default=0.0)
    return Shape.HTML if for_page > for_json else Shape.TWO_KEY


def detail_of(reason: str, missing: tuple[Atom, ...] = ()) -> str:
    """What happened and what to do next, in sentences; `reason` as in NoOpOutcome."""
    if reason.endswith(Reason.FALLBACK_IS_NO_OP.removeprefix("fallback")):
        reason = Reason.FALLBACK_IS_NO_OP
    if reason not in _DETAILS and missing:
        names = ", ".join(missing)
        return f"This takes what the client is not proven to be able to do: {names}. {_STOP}"
    return _DETAILS.get(reason, f"This is not done without a person. {_STOP}")


def no_op_answer(
    outcome: NoOpOutcome, shape: Shape, instance: str, *, two_key_status: int | None = None
) -> NoOpAnswer:
    """The answer. `instance`: the request id; `two_key_status` replaces the status of the two-key shape alone, for
    clients whose fetchers drop the body of an error.
    """
    status = _STATUSES[outcome.code]
    match shape:
        case Shape.PROBLEM:
            body = _json(_problem(outcome, status, instance))
        case Shape.TWO_KEY:
            body = _json({"code": outcome.code, "url": outcome.url})
            status = status if two_key_status is None else two_key_status
        case Shape.MINIMAL:
            body = _json({"code": _number_of(outcome), "url": outcome.url})
        case Shape.HTML:
            body = _page(outcome, instance).encode()
    return NoOpAnswer(status, _MEDIA_TYPES[shape], body, tuple(_fields(outcome, shape)))


def _weights(accept: str) -> dict[str, float]:
    """The media types that are named, with their weights; a malformed weight counts as none (RFC 9110 §12.5.1)."""
    weights: dict[str, float] = {}
    for element in split_list(accept):
        name, *parameters = (part.strip(" \t").lower() for part in element.split(";"))
        stated = next((part.removeprefix("q=") for part in parameters if part.startswith("q=")), "1")
        weight = float(stated) if _WEIGHT.fullmatch(stated) else 0.0
        weights[name] = max(weight, weights.get(name, 0.0))
    return weights


def _is_json(name: str) -> bool:
    return name == "application/json" or name.endswith("+json")


def _problem(outcome: NoOpOutcome, status: int, instance: str) -> dict[str, object]:
    slug, title = _PROBLEMS.get(outcome.reason, _REVIEW)
    document: dict[str, object] = {
        "type": TYPE_PREFIX + slug,
        "title": title,
        "status": status,
        "detail": outcome.detail,
        "code": outcome.code,
        "url": outcome.url,
        "instance": instance,
        "rule": outcome.rule,
        "reason": outcome.reason,
    }
    if outcome.missing:
        document["missing"] = outcome.missing
    if outcome.fallback is not None:
        document["fallback"] = {"url": outcome.fallback, "field": outcome.fallback_field}
    return document


def _number_of(outcome: NoOpOutcome) -> int:
    if outcome.code is Code.REJECTED:
        return 400
    return 403 if outcome.reason in _NOT_PUBLIC else 428


def _json(document: Mapping[str, object]) -> bytes:
    return json.dumps(document).encode("ascii")


def _fields(outcome: NoOpOutcome, shape: Shape) -> Iterator[tuple[str, str]]:
    yield "Content-Type", _MEDIA_TYPES[shape]
    yield "Cache-Control", "no-store"
    yield "Vary", "Accept"
    yield "Link", f'<{outcome.url}>; rel="help"'
    if outcome.fallback is not None:
        yield "Link", f'<{outcome.fallback}>; rel="alternate"'
    yield from (("WWW-Authenticate", challenge) for challenge in outcome.challenges)
    if shape is Shape.HTML:
        yield "Content-Security-Policy", _POLICY
        yield "X-Content-Type-Options", "nosniff"


def _page(outcome: NoOpOutcome, instance: str) -> str:
    """The page for people, without scripts."""
    _, title = _PROBLEMS.get(outcome.reason, _REVIEW)
    heading = escape(f"Not done: {title[0].lower()}{title[1:]}")
    source = escape(f"Rule {outcome.rule}, {outcome.reason}; request {instance}")
    leads_to = "Read on" if outcome.code is Code.REJECTED else "Decide"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{heading}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{heading}</h1>
<p>{escape(outcome.detail)}</p>
<p>{leads_to} here: {_link(outcome.url)}</p>
{_lower_way(outcome.fallback)}<p><small>{source}</small></p>
</main>
</body>
</html>
"""


def _lower_way(url: str | None) -> str:
    return "" if url is None else f"<p>The site names another way for this: {_link(url)}</p>\n"


def _link(url: str) -> str:
    shown = escape(url)
    return f'<a href="{shown}" rel="noreferrer">{shown}</a>'
