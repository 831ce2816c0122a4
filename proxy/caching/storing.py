"""May a response be stored, and as what (RFC 9111 §3).

`may_store` looks at the heads alone, so that a body which may not be stored is never buffered. A `Storable`
carries the stored response less its body; `with_body` completes it.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum

from proxy.caching.directives import ResponseDirectives, parse_request_directives, parse_response_directives
from proxy.caching.freshness import HEURISTIC_STATUSES, Exchange, Lifetime, born, freshness_lifetime
from proxy.caching.stored import MAX_KEEP, StoredResponse
from proxy.caching.vary import parse_vary, selecting_values
from proxy.caching.vouching import Vouching, unsigned
from proxy.http.fields import Fields, end_to_end, essence, split_list
from proxy.http.messages import Request, ResponseHead
from proxy.http.secrets import known_secret

# Statuses that say "nothing here": kept for a short while only, so that a new publication shows.
NEGATIVE_STATUSES = frozenset({404, 405, 410, 414, 501})
# Statuses whose caching requirements this module implements, for must-understand (§5.2.2.3).
UNDERSTOOD_STATUSES = frozenset({200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501})
# Seconds that a response with a validator outlives its last use as stale: it can still save a body.
KEEP_FOR_VALIDATION = 86_400.0
# Never part of a stored response: framing is ours, cookies are one client's, age is counted anew.
_NOT_STORED_FIELDS = ("age", "content-length", "set-cookie")
_CREDENTIALS = frozenset({"authorization", "cookie"})


class NotStoredReason(StrEnum):
    """Why a response is not stored."""

    METHOD = "method"
    REQUEST_NO_STORE = "request-no-store"
    INTERIM = "interim"
    PARTIAL = "partial"
    NOT_MODIFIED = "not-modified"
    NOT_UNDERSTOOD = "status-not-understood"
    NO_STORE = "no-store"
    PRIVATE = "private"
    AUTHORIZATION = "authorization"
    VARY_ANY = "vary-any"
    VARY_CREDENTIALS = "vary-credentials"
    STATUS = "status-without-explicit-freshness"
    SET_COOKIE = "set-cookie"
    SECRET = "secret-in-url"
    """In the target, which would be its key, or in a Location."""
    NO_USE = "no-freshness-or-validator"


@dataclass(frozen=True, slots=True)
class StoragePolicy:
    """What configuration and document class say about storing. Seconds."""

    document_class: str = "other"
    lifetime: float = 0.0
    stale_while_revalidate: float = 0.0
    stale_if_error: float = 0.0
    negative_lifetime: float = 30.0
    outage_stale: float = 0.0
    s_maxage_forbids_stale: bool = True
    mints_etag: bool = False


@dataclass(frozen=True, slots=True)
class Storable:
    """The response may be stored; `draft` lacks only its body."""

    draft: StoredResponse
    mints_etag: bool

    def with_body(self, body: bytes) -> StoredResponse:
        """The stored response, with a minted entity tag where the origin sent no validator."""
        minted = self.mints_etag and not self.draft.has_validator and self.draft.status == 200
        return replace(self.draft, body=body, downstream_etag=mint_etag(body) if minted else self.draft.etag)


@dataclass(frozen=True, slots=True)
class NotStored:
    """The response may be passed on but not stored."""

    reason: NotStoredReason


def mint_etag(body: bytes) -> str:
    """A strong entity tag of exactly these bytes."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=")
    return f'"sha256-{digest.decode("ascii")}"'


def may_store(
    request: Request, head: ResponseHead, exchange: Exchange, policy: StoragePolicy, generation: int
) -> Storable | NotStored:
    """RFC 9111 §3 for a shared cache. `request` is the one that was sent, `generation` the one at its start."""
    directives = parse_response_directives(head.fields)
    refusal = _refusal(request, head, directives)
    if refusal is not None:
        return NotStored(refusal)
    lifetime = freshness_lifetime(head.status, head.fields, directives, exchange.response_time, policy.lifetime)
    if "set-cookie" in head.fields and not lifetime.is_explicit and policy.lifetime == 0:
        return NotStored(NotStoredReason.SET_COOKIE)
    draft = _draft(request, head, exchange, policy, generation, directives, lifetime)
    if draft.keep_until <= exchange.response_time or (draft.must_validate and not draft.has_validator):
        return NotStored(NotStoredReason.NO_USE)
    return Storable(draft, policy.mints_etag)


def _refusal(request: Request, head: ResponseHead, directives: ResponseDirectives) -> NotStoredReason | None:
    by_status = _status_refusal(request, head, directives)
    if by_status is not None:
        return by_status
    # §5.2.2.3: must-understand makes no-store void for a status whose requirements are implemented.
    if directives.no_store and not directives.must_understand:
        return NotStoredReason.NO_STORE
    if parse_request_directives(request.fields).no_store:
        return NotStoredReason.REQUEST_NO_STORE
    # §3: "the private response directive is not present, if the cache is shared".
    if directives.private:
        return NotStoredReason.PRIVATE
    # §3.5: responses to requests with Authorization need the origin's explicit word.
    if "authorization" in request.fields and not (
        directives.public or directives.must_revalidate or directives.s_maxage is not None
    ):
        return NotStoredReason.AUTHORIZATION
    if not _is_cacheable(head, directives):
        return NotStoredReason.STATUS
    return _vary_refusal(request, head) or _secret_refusal(request, head)


def _secret_refusal(request: Request, head: ResponseHead) -> NotStoredReason | None:
    """What a store may not hold in clear (UAIX.md §5.5)."""
    urls = (request.target.uri, *head.fields.get_all("location"))
    return NotStoredReason.SECRET if any(known_secret(url) for url in urls) else None


def _vary_refusal(request: Request, head: ResponseHead) -> NotStoredReason | None:
    vary = parse_vary(head.fields)
    # §4.1: a Vary of "*" never matches, so storing it would only cost memory.
    if vary is None:
        return NotStoredReason.VARY_ANY
    # Selecting values are stored, credentials never; for requests without them it may be stored.
    if any(name in _CREDENTIALS and name in request.fields for name in vary):
        return NotStoredReason.VARY_CREDENTIALS
    return None


def _status_refusal(request: Request, head: ResponseHead, directives: ResponseDirectives) -> NotStoredReason | None:
    if request.method != "GET":
        return NotStoredReason.METHOD
    if head.status < 200:
        return NotStoredReason.INTERIM
    if head.status == 206:
        return NotStoredReason.PARTIAL
    if head.status == 304:
        return NotStoredReason.NOT_MODIFIED
    if directives.must_understand and head.status not in UNDERSTOOD_STATUSES:
        return NotStoredReason.NOT_UNDERSTOOD
    return None


def _is_cacheable(head: ResponseHead, directives: ResponseDirectives) -> bool:
    """§3, last item: a status that caches may keep unasked, or the origin's word for it."""
    return (
        head.status in HEURISTIC_STATUSES
        or directives.public
        or directives.max_age is not None
        or directives.s_maxage is not None
        or ("expires" in head.fields and not directives.targeted)
    )


def _forbids_stale(directives: ResponseDirectives, policy: StoragePolicy) -> bool:
    """§4.2.4, §5.2.2.10: s-maxage implies proxy-revalidate unless the operator lets explicit windows win."""
    explicit_window = bool(directives.stale_while_revalidate or directives.stale_if_error)
    by_s_maxage = directives.s_maxage is not None and (policy.s_maxage_forbids_stale or not explicit_window)
    return directives.must_revalidate or directives.proxy_revalidate or directives.no_cache or by_s_maxage


def _windows(
    status: int, directives: ResponseDirectives, lifetime: Lifetime, policy: StoragePolicy
) -> tuple[float, float]:
    """stale-while-revalidate and stale-if-error. A stale refusal or failure helps nobody."""
    if _forbids_stale(directives, policy) or status in NEGATIVE_STATUSES or status >= 500:
        return 0.0, 0.0
    swr, sie = directives.stale_while_revalidate, directives.stale_if_error
    silent = not lifetime.is_explicit
    return (
        policy.stale_while_revalidate if swr is None and silent else swr or 0.0,
        policy.stale_if_error if sie is None and silent else sie or 0.0,
    )


def _is_negative(status: int, policy: StoragePolicy) -> bool:
    """Whether it says "nothing here"; in the place of a document of a known class every error says no more."""
    return status in NEGATIVE_STATUSES or (status >= 400 and policy.document_class != "other")


def _draft(
    request: Request,
    head: ResponseHead,
    exchange: Exchange,
    policy: StoragePolicy,
    generation: int,
    directives: ResponseDirectives,
    lifetime: Lifetime,
) -> StoredResponse:
    vary = _selecting_names(head, policy)
    fields = stored_fields(head.fields, directives)
    birth = born(head.fields, exchange)
    if _is_negative(head.status, policy):
        lifetime = lifetime.capped(policy.negative_lifetime)
    swr, sie = _windows(head.status, directives, lifetime, policy)
    forbids_stale = _forbids_stale(directives, policy)
    outage = 0.0 if forbids_stale or head.status >= 500 else policy.outage_stale
    useful = max(swr, sie, outage)
    if "etag" in fields or "last-modified" in fields:
        useful += KEEP_FOR_VALIDATION
    return StoredResponse(
        uri=request.target.uri,
        status=head.status,
        reason=head.reason,
        fields=fields,
        body=b"",
        vary=vary,
        selecting=selecting_values(vary, request.fields),
        exchange=exchange,
        born=birth,
        lifetime=lifetime,
        stale_while_revalidate=swr,
        stale_if_error=sie,
        forbids_stale=forbids_stale,
        must_validate=directives.no_cache,
        document_class=policy.document_class,
        tags=response_tags(head.fields),
        generation=generation,
        downstream_etag=fields.get("etag"),
        keep_until=min(birth + lifetime.seconds + useful, exchange.request_time + MAX_KEEP),
        vouching=_vouching(request, policy, exchange),
    )


def _vouching(request: Request, policy: StoragePolicy, exchange: Exchange) -> Vouching | None:
    """The way a document came vouches for it, until somebody looks at its signature."""
    if policy.document_class == "other":
        return None
    return unsigned(request.target.scheme, exchange.response_time)


def _selecting_names(head: ResponseHead, policy: StoragePolicy) -> tuple[str, ...]:
    """The fields that select the response: those of Vary, and of a page in Markdown Accept in any case.

    A page that is Markdown for agents and HTML for people, without saying so, would reach the wrong ones.
    """
    vary = parse_vary(head.fields) or ()
    media_type = essence(head.fields.get("content-type"))
    if media_type != "text/markdown" or policy.document_class != "other" or "accept" in vary:
        return vary
    return tuple(sorted((*vary, "accept")))


def stored_fields(fields: Fields, directives: ResponseDirectives) -> Fields:
    """§3.1: end-to-end fields less those that may not be replayed or that qualified directives name."""
    return end_to_end(fields).without(directives.withheld.union(_NOT_STORED_FIELDS))


def response_tags(fields: Fields) -> tuple[str, ...]:
    """Purge tags the origin put on the response: `Surrogate-Key` (by space) and `Cache-Tag` (by comma)."""
    keys = [tag for value in fields.get_all("surrogate-key") for tag in value.split()]
    tags = [tag for value in fields.get_all("cache-tag") for tag in split_list(value)]
    return tuple(dict.fromkeys(keys + tags))
