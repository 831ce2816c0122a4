"""The head of a problem document (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from proxy.caching.serving import VIA
from proxy.caching.vouching import rejected
from proxy.discovery.classes import DocumentClass
from proxy.engine.outcome import Outcome
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import ResponseHead
from proxy.http.problems import MEDIA_TYPE, Problem, Slug

# Problems that there is a document of the origin's behind.
_OF_DOCUMENTS: Final = frozenset({Slug.NOT_A_DOCUMENT, Slug.TOO_LARGE})


def problem_head(
    problem: Problem, outcome: Outcome, now: float, extra: tuple[tuple[str, str], ...]
) -> ResponseHead:
    """The head that `problem` is answered with: marked as ours, kept by nobody, with `extra` lines."""
    lines = [("Date", format_http_date(now)), ("Content-Type", MEDIA_TYPE)]
    lines += [("Cache-Control", "no-store"), ("Via", VIA)]
    lines += [("Cache-Status", outcome.cache_status)] if outcome.cache_status else []
    lines += _vouching(problem, outcome, now)
    # Only the proxy's own resources refuse methods (RFC 9110 §15.5.6).
    lines += [("Allow", str(problem.members["allow"]))] if "allow" in problem.members else []
    lines += extra
    return ResponseHead(problem.status, HTTPStatus(problem.status).phrase, Fields(lines))


def _refused_from(problem: Problem) -> str | None:
    """Where a copy came from that was not believed; None where no copy came at all."""
    attempts = problem.members.get("attempts")
    refused = (one for one in attempts if one["outcome"] == "refused") if isinstance(attempts, list) else ()
    return next((str(one["source"]) for one in refused), None)


def _vouching(problem: Problem, outcome: Outcome, now: float) -> list[tuple[str, str]]:
    """Discovery-Trust of a problem: the origin's own word, or a document that came and is not believed."""
    if outcome.vouching is not None:
        return [("Discovery-Trust", outcome.vouching.told(now))]
    source = "origin" if problem.slug in _OF_DOCUMENTS else _refused_from(problem)
    if source is None or outcome.document_class == DocumentClass.OTHER:
        return []
    return [("Discovery-Trust", rejected(source, now).told(now))]
