"""Why a request would be answered as it would: the decision and its arithmetic, as plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proxy.caching.directives import RequestDirectives
from proxy.caching.freshness import apparent_age, date_value
from proxy.caching.generations import Mark, MarkedStale, Purged, standing
from proxy.caching.reuse import Hit, Miss, Revalidate, StaleHit, Unsatisfiable, decide, stale_permit
from proxy.caching.serving import ttl
from proxy.caching.stored import StoredResponse
from proxy.discovery.classes import DocumentClass
from proxy.http.messages import Request
from proxy.http.timestamps import timestamp


def explanation(
    request: Request,
    directives: RequestDirectives,
    variants: Sequence[StoredResponse],
    selected: StoredResponse | None,
    marks: Mapping[str, Mark],
    outage_stale: float,
    document_class: DocumentClass,
    now: float,
) -> dict[str, object]:
    """Everything `explain` tells of one target URI."""
    answer, why = _decision(request, directives, variants, now)
    return {
        "url": request.target.uri,
        "key": request.target.uri,
        "class": document_class.value,
        "now": timestamp(now),
        "decision": {"answer": answer, "why": why},
        "variants": [
            {
                "selected": stored is selected,
                **summary(stored, now),
                "freshness": _freshness(stored, directives, outage_stale, now),
                "purge": {"generation": stored.generation, "standing": _standing(stored, marks)},
            }
            for stored in variants
        ],
    }


def summary(stored: StoredResponse, now: float) -> dict[str, object]:
    """One stored response in a few members."""
    return {
        "url": stored.uri,
        "status": stored.status,
        "class": stored.document_class,
        "vary": list(stored.vary),
        "selecting": dict(zip(stored.vary, stored.selecting, strict=True)),
        "stored_at": timestamp(stored.exchange.response_time),
        "source": "origin" if stored.vouching is None else stored.vouching.source,
        "trust": None if stored.vouching is None else stored.vouching.told(now),
        "body_bytes": len(stored.body),
        "etag": stored.downstream_etag,
        "last_modified": stored.last_modified,
        "age": int(stored.age(now)),
        "ttl": ttl(stored, now),
        "tags": list(stored.tags),
        "keep_until": timestamp(stored.keep_until),
    }


def _freshness(
    stored: StoredResponse, directives: RequestDirectives, outage_stale: float, now: float
) -> dict[str, object]:
    """RFC 9111 §4.2.3 with the numbers of this response; seconds, moments as timestamps."""
    received_at = stored.exchange.response_time
    date = date_value(stored.fields, received_at)
    initial_age = received_at - stored.born
    apparent = apparent_age(stored.fields, received_at)
    return {
        "lifetime_seconds": stored.lifetime.seconds,
        "lifetime_source": stored.lifetime.source.value,
        "date_value": timestamp(date),
        "response_time": timestamp(received_at),
        # Age itself is not stored: where it decided, it follows from the initial age.
        "age_value": 0.0 if initial_age <= apparent else round(initial_age - stored.exchange.delay, 3),
        "apparent_age": round(apparent, 3),
        "response_delay": round(stored.exchange.delay, 3),
        "corrected_initial_age": round(initial_age, 3),
        "resident_time": round(now - received_at, 3),
        "current_age": round(stored.age(now), 3),
        "fresh_until": timestamp(stored.fresh_until),
        "ttl": ttl(stored, now),
        "is_fresh": stored.is_fresh(now),
        "stale_while_revalidate": stored.stale_while_revalidate,
        "stale_if_error": stored.stale_if_error,
        "forbids_stale": stored.forbids_stale,
        "must_validate": stored.must_validate,
        "stale_permit": stale_permit(stored, directives, now, outage_stale).value,
    }


def _standing(stored: StoredResponse, marks: Mapping[str, Mark]) -> str:
    match standing(stored, marks):
        case Purged(scope):
            return f"purged by {scope}"
        case MarkedStale(at):
            return f"marked stale at {timestamp(at)}"
    return "valid"


def _decision(
    request: Request, directives: RequestDirectives, variants: Sequence[StoredResponse], now: float
) -> tuple[str, str]:
    match decide(request, directives, variants, now):
        case Hit(stored):
            return "hit", f"fresh for another {stored.fresh_until - now:.0f} s"
        case StaleHit(stored):
            return "stale-hit", f"stale for {stored.staleness(now):.0f} s, served while one refresh runs"
        case Revalidate(stored, forward):
            how = "conditionally" if stored.has_validator else "without a validator"
            return "revalidate", f"the origin must be asked first, {how} (fwd={forward})"
        case Miss(forward):
            return "miss", f"nothing stored answers (fwd={forward})"
        case Unsatisfiable():
            return "unsatisfiable", "only-if-cached, and nothing stored may answer"
