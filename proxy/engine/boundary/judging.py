"""Whether a change at a host may pass: the decision procedure on the data path (UAIX.md §4.3; CONTRACT §8).

Only what changes something is held back. A read that has reached the proxy proves that its client can read, and
goes on; what it may see is the origin's business. Secrets (D1) and former refusals (D2) are looked for before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from proxy.capability.covering import Covered
from proxy.capability.effects import is_change, side_effect
from proxy.capability.ladders import Atoms
from proxy.capability.needs import fetch_class
from proxy.capability.resolution import Code, Execute, Fallback, Field, NoOp, Reason, Rule, Trigger
from proxy.capability.resolve import Context, resolve, review_url
from proxy.discovery.access.routes import RouteRecord
from proxy.engine.boundary.listing import Listing
from proxy.http.messages import Request

_AMBIGUOUS: Final = re.compile(r"%(?:25|2f|5c|2e)|\.\.|;", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Held:
    """Why a request does not pass, and the published lower way where there is one."""

    no_op: NoOp
    fallback: Fallback | None = None


def changes(covered: Covered | None, request: Request) -> bool:
    """Whether the request may change something, by its route record or by itself.

    A record of a POST that changes nothing is believed; of a GET whose query shows an action it is not.
    """
    if covered is None or request.is_safe:
        target = request.target
        shows = not request.is_safe or (
            target.query is not None and is_change(request.method, target.request_target)
        )
        return shows or (covered is not None and side_effect(covered.record).is_change)
    return side_effect(covered.record).is_change


def is_ambiguous(path: str) -> bool:
    """Whether some server reads the path as another one: a record without effect then says nothing of it."""
    return _AMBIGUOUS.search(path) is not None


def judge(
    listing: Listing, covered: Covered | None, atoms: Atoms, key: str | None, proxy_review_url: str
) -> Held | None:
    """Why a change does not pass; None when it does. `key` makes a repetition harmless, None without one."""
    context = Context(
        proxy_review_url,
        listing.review_url,
        idempotency_key=key,
        live_request=True,
        secret_allowed=frozenset() if covered is None else covered.secret_allowed,
    )
    if covered is None:
        url = review_url(None, listing.site, context)
        return Held(NoOp(Rule.D3, Reason.ROUTE_RECORD_MISSING, url, Trigger.MISSING_PROFILE))
    record = _as_asked(covered.record)
    url = review_url(record, listing.site, context)
    match resolve(record, listing.site, atoms, context):
        case Execute(field=Field.POST_EQUIVALENT) as posted:
            way = Fallback(posted.rule, posted.url, Field.POST_EQUIVALENT, ())
            return Held(NoOp(posted.rule, Reason.POST_EQUIVALENT_DUE, url), way)
        case Execute():
            return None
        case Fallback() as way:
            missing = NoOp(
                way.rule,
                Reason.CAPABILITY_MISSING,
                url,
                Trigger.UNSUPPORTED_CAPABILITY_LEVEL,
                missing=way.missing,
            )
            return Held(missing, way)
        case no_op:
            return Held(no_op)


def judge_released(
    listing: Listing, covered: Covered | None, key: str | None, proxy_review_url: str
) -> Held | None:
    """The same for an intent that a person has let pass: nobody may invent the key of a change (D7)."""
    if key is not None:
        return None
    record = None if covered is None else covered.record
    url = review_url(record, listing.site, Context(proxy_review_url, listing.review_url))
    return Held(NoOp(Rule.D7, Reason.IDEMPOTENCY_MISSING, url, code=Code.REJECTED))


def _as_asked(record: RouteRecord) -> RouteRecord:
    """The record of a request that is there: a template has been filled in, and what it says of itself is kept."""
    return replace(
        record,
        highest_supported_path="/",
        fetch_execution_class=fetch_class(record),
        side_effect_status=side_effect(record),
    )
