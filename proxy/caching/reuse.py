"""May a stored response answer this request (RFC 9111 §4, RFC 5861).

`decide` gives one of five closed answers, each holding what happens next. Nothing here parses anything that was
known at store time: a fresh hit is a selection and two comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from proxy.caching.directives import RequestDirectives
from proxy.caching.stored import StoredResponse
from proxy.caching.vary import favourite_language, selecting_values
from proxy.http.fields import Fields
from proxy.http.messages import Request


class Forward(StrEnum):
    """Why a request goes to the origin: the `fwd` tokens of RFC 9211 §2.2."""

    BYPASS = "bypass"
    METHOD = "method"
    URI_MISS = "uri-miss"
    VARY_MISS = "vary-miss"
    REQUEST = "request"
    STALE = "stale"


class StalePermit(StrEnum):
    """Whether an expired response may stand in for an origin that fails (§4.2.4, RFC 5861 §4)."""

    STALE_IF_ERROR = "stale-if-error"
    OUTAGE = "outage-stale"
    FORBIDDEN = "forbidden"
    TOO_OLD = "too-old"
    ITSELF_AN_ERROR = "itself-an-error"
    TRUST_ENDED = "trust-ended"

    @property
    def allows(self) -> bool:
        """Whether the stale response may be served."""
        return self in (StalePermit.STALE_IF_ERROR, StalePermit.OUTAGE)


@dataclass(frozen=True, slots=True)
class Hit:
    """Fresh: serve it."""

    stored: StoredResponse


@dataclass(frozen=True, slots=True)
class StaleHit:
    """Stale within stale-while-revalidate or the client's max-stale: serve it, refresh behind the answer."""

    stored: StoredResponse


@dataclass(frozen=True, slots=True)
class Revalidate:
    """Selected, but the origin must be asked first."""

    stored: StoredResponse
    forward: Forward


@dataclass(frozen=True, slots=True)
class Miss:
    """Nothing stored answers; ask the origin."""

    forward: Forward


@dataclass(frozen=True, slots=True)
class Unsatisfiable:
    """The client wants no forwarding and the cache has nothing usable: 504 (§5.2.1.7)."""


Decision = Hit | StaleHit | Revalidate | Miss | Unsatisfiable


def select(request: Fields, variants: Sequence[StoredResponse]) -> StoredResponse | None:
    """The most recent variant whose selecting fields the request matches (§4.1)."""
    presented: dict[tuple[str, ...], tuple[str | None, ...]] = {}
    matching: list[StoredResponse] = []
    for stored in variants:
        vary = stored.vary
        values = presented.get(vary)
        if values is None:
            values = presented[vary] = selecting_values(vary, request)
        if values == stored.selecting or _matches_by_language(request, values, stored):
            matching.append(stored)
    if len(matching) < 2:
        return matching[0] if matching else None
    # Dates count whole seconds: of one second's responses the last received is the most recent.
    return max(matching, key=lambda stored: (stored.born, stored.exchange.response_time))


def _matches_by_language(request: Fields, values: tuple[str | None, ...], stored: StoredResponse) -> bool:
    """Nothing but the languages differs, and the stored one serves this client best."""
    if "accept-language" not in stored.vary:
        return False
    pairs = zip(stored.vary, values, stored.selecting, strict=True)
    others_match = all(value == known for name, value, known in pairs if name != "accept-language")
    return others_match and _speaks(request.get("accept-language"), stored)


def _speaks(presented: str | None, stored: StoredResponse) -> bool:
    """The stored language is the client's single favourite: no answer could suit it better."""
    language = stored.fields.get("content-language")
    return language is not None and favourite_language(presented) == language.lower()


def decide(
    request: Request, directives: RequestDirectives, variants: Sequence[StoredResponse], now: float
) -> Decision:
    """What to do with a GET or HEAD for which `variants` are stored under its target URI."""
    answer = _consider(request, directives, variants, now)
    if directives.only_if_cached and isinstance(answer, Miss | Revalidate):
        return Unsatisfiable()
    return answer


def _consider(
    request: Request, directives: RequestDirectives, variants: Sequence[StoredResponse], now: float
) -> Decision:
    stored = select(request.fields, variants) if variants else None
    if stored is None:
        return Miss(Forward.VARY_MISS if variants else Forward.URI_MISS)
    if _is_declined(stored, directives, now):
        return Revalidate(stored, Forward.REQUEST if stored.is_fresh(now) else Forward.STALE)
    if stored.must_validate:
        return Revalidate(stored, Forward.STALE)
    if stored.is_fresh(now):
        return Hit(stored)
    if may_serve_while_revalidating(stored, directives, now):
        return StaleHit(stored)
    return Revalidate(stored, Forward.STALE)


def _is_declined(stored: StoredResponse, directives: RequestDirectives, now: float) -> bool:
    """The client's own terms exclude it, fresh or not (§5.2.1.1, §5.2.1.3, §5.2.1.4)."""
    if directives.no_cache:
        return True
    if directives.max_age is not None and stored.age(now) > directives.max_age:
        return True
    return directives.min_fresh is not None and -stored.staleness(now) < directives.min_fresh


def _declines_stale(directives: RequestDirectives) -> bool:
    """§5.2.1.1: with max-age the client wants nothing stale, unless max-stale is there too."""
    return directives.max_age is not None and directives.max_stale is None


def may_serve_while_revalidating(stored: StoredResponse, directives: RequestDirectives, now: float) -> bool:
    """RFC 5861 §3, or the client's own max-stale (§5.2.1.2); never against a ban on stale (§4.2.4)."""
    if stored.forbids_stale or _declines_stale(directives) or stored.has_ended(now):
        return False
    accepted = max(stored.stale_while_revalidate, directives.max_stale or 0.0)
    return stored.staleness(now) < accepted


def stale_permit(
    stored: StoredResponse, directives: RequestDirectives, now: float, outage_stale: float
) -> StalePermit:
    """May `stored` be served though the origin failed? `outage_stale` is the operator's contract, seconds."""
    if stored.forbids_stale or _declines_stale(directives) or _is_declined(stored, directives, now):
        return StalePermit.FORBIDDEN
    if stored.has_ended(now):
        return StalePermit.TRUST_ENDED
    if stored.status >= 500:
        return StalePermit.ITSELF_AN_ERROR
    staleness = stored.staleness(now)
    if staleness < max(stored.stale_if_error, stored.stale_while_revalidate):
        return StalePermit.STALE_IF_ERROR
    return StalePermit.OUTAGE if staleness < outage_stale else StalePermit.TOO_OLD
