"""The no-op as an answer: in the shape that the client takes, marked as ours."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from proxy.boundary.conflicts import Conflict
from proxy.boundary.no_ops import NoOpOutcome, detail_of, no_op_answer, shape_for
from proxy.caching.serving import CacheStatus, with_proxy_fields
from proxy.capability.atoms import Atom
from proxy.capability.resolution import Code, Fallback, Reason, Rule
from proxy.engine.boundary.asking import Asking
from proxy.engine.boundary.settings import BoundarySettings
from proxy.engine.outcome import Complete, Outcome, Served
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import ResponseHead
from proxy.http.secrets import known_secret
from proxy.http.targets import Target


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that does not pass. `is_minimal`: its route is one of the Minimal Access tier."""

    code: Code
    url: str
    reason: str
    rule: Rule
    missing: tuple[Atom, ...] = ()
    fallback: Fallback | None = None
    is_minimal: bool = False
    challenges: tuple[str, ...] = ()


def refused_again(conflict: Conflict) -> Refused:
    """The answer that the intent got before, from its record (D2)."""
    return Refused(
        conflict.code,
        conflict.review_url,
        Reason.RETRY_LOOP,
        Rule.D2,
        conflict.missing,
        challenges=conflict.challenges,
    )


def to_answer(refused: Refused, asking: Asking, settings: BoundarySettings, now: float) -> Complete:
    """What the client gets at `now`, in Unix seconds: nobody stores it, and nothing tells it to come back."""
    way = refused.fallback
    told = NoOpOutcome(
        code=refused.code,
        url=refused.url,
        reason=refused.reason,
        rule=refused.rule,
        detail=detail_of(refused.reason, refused.missing),
        missing=refused.missing,
        fallback=None if way is None else way.url,
        fallback_field=None if way is None else way.field,
        challenges=refused.challenges,
    )
    shape = shape_for(asking.accept, is_minimal=refused.is_minimal)
    answer = no_op_answer(told, shape, asking.request_id, two_key_status=settings.two_key_status)
    status = CacheStatus(detail=f"no-op-{refused.rule}")
    head = ResponseHead(
        answer.status, HTTPStatus(answer.status).phrase, Fields((("Date", format_http_date(now)), *answer.fields))
    )
    outcome = Outcome(
        Served.NO_OP,
        answer.status,
        target=_tellable(asking.request.target),
        cache_status=status.serialise(),
        detail=refused.reason,
    )
    return Complete(with_proxy_fields(head, status), answer.body, outcome)


def _tellable(target: Target) -> Target:
    """The target as log and metrics may have it: of one that holds a secret, its origin alone."""
    if known_secret(target.uri) is None:
        return target
    return Target(target.scheme, target.host, target.port, "/", None)
