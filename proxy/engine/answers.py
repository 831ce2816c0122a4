"""Answers from the store, from an origin, or by ourselves: the place where a decision becomes fields."""

from __future__ import annotations

from dataclasses import replace

from proxy.caching.preconditions import evaluate
from proxy.caching.serving import (
    CacheStatus,
    selected_body,
    served_head,
    ttl,
    with_proxy_fields,
)
from proxy.caching.stored import StoredResponse, variant_name
from proxy.caching.vouching import Vouching, unsigned
from proxy.discovery.classes import DocumentClass
from proxy.engine.outcome import Complete, Outcome, Refusal, Served
from proxy.engine.settings import ClassRules
from proxy.http.messages import Request, ResponseHead
from proxy.http.problems import Problem, Slug

_OF_EXCHANGES = frozenset({Slug.ORIGIN_UNREACHABLE, Slug.ORIGIN_TIMEOUT, Slug.ORIGIN_INVALID_RESPONSE})


def from_store(
    request: Request,
    stored: StoredResponse,
    status: CacheStatus,
    served: Served,
    now: float,
    upstream_seconds: float | None = None,
) -> Complete:
    """The stored response as this client asked for it: whole, a range, or "not modified"."""
    selection = evaluate(request.method, request.fields, stored, now)
    head = served_head(stored, selection, status, now)
    if stored.vouching is not None:
        head = _with_trust(head, stored.vouching, now)
    outcome = Outcome(
        served=served,
        status=head.status,
        target=request.target,
        document_class=stored.document_class,
        cache_status=status.serialise(),
        age=int(stored.age(now)),
        ttl=ttl(stored, now),
        collapsed=status.collapsed,
        upstream_seconds=upstream_seconds,
        vouching=stored.vouching,
        variant=variant_name(stored),
        detail=status.detail,
    )
    return Complete(head, selected_body(stored, selection), outcome)


def refusal(
    request: Request,
    problem: Problem,
    status: CacheStatus,
    document_class: DocumentClass,
    upstream_seconds: float | None = None,
) -> Refusal:
    """`problem` as the answer to `request`; a failed exchange is told among its attempts."""
    if problem.slug in _OF_EXCHANGES:
        problem = replace(
            problem, members={**problem.members, "attempts": [attempt_of(request, problem, upstream_seconds)]}
        )
    outcome = Outcome(
        served=Served.ERROR,
        status=problem.status,
        target=request.target,
        document_class=document_class,
        cache_status=status.serialise(),
        collapsed=status.collapsed,
        upstream_seconds=upstream_seconds,
        detail=problem.slug.value,
    )
    return Refusal(problem, outcome)


def attempt_of(request: Request, problem: Problem, seconds: float | None) -> dict[str, object]:
    """What was tried and how it ended. The query stays out: it may hold a secret."""
    target = request.target
    return {
        "source": "origin",
        "url": f"{target.origin}{target.path}",
        "outcome": "failed",
        "reason": problem.slug.value,
        "ms": round((seconds or 0.0) * 1000, 1),
    }


def forwarded(
    request: Request,
    rules: ClassRules,
    head: ResponseHead,
    status: CacheStatus,
    served: Served,
    upstream_seconds: float,
    now: float,
    vouching: Vouching | None = None,
) -> tuple[ResponseHead, Outcome]:
    """An origin's own head, marked as ours to pass on, and the outcome that tells of it.

    `vouching` is what was found out of a document; without it, the way that it came vouches for it.
    """
    marked = with_proxy_fields(head, status)
    if rules.document_class is not DocumentClass.OTHER:
        vouching = vouching or unsigned(request.target.scheme, now)
        marked = _with_trust(marked, vouching, now)
    outcome = Outcome(
        served=served,
        status=head.status,
        target=request.target,
        document_class=rules.document_class,
        cache_status=status.serialise(),
        upstream_seconds=upstream_seconds,
        vouching=vouching,
        detail=status.detail,
    )
    return marked, outcome


def _with_trust(head: ResponseHead, vouching: Vouching, now: float) -> ResponseHead:
    return ResponseHead(head.status, head.reason, head.fields.plus(("Discovery-Trust", vouching.told(now))))
