"""Asking the origin: the request of a fill, its conditional form, and what a 304 does (RFC 9111 §4.3).

Entity tags travel byte for byte as the origin sent them, unquoted ones included; only comparing
looks inside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from proxy.caching.directives import parse_response_directives
from proxy.caching.freshness import Exchange, Lifetime, LifetimeSource, born
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import NotStored, StoragePolicy, may_store, stored_fields
from proxy.caching.vary import normalise_codings
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields, split_list
from proxy.http.messages import Request, ResponseHead

# A client's conditions and ranges are answered from the stored response, never sent with a fill (§4.3.2).
CLIENT_CONDITIONS = ("if-none-match", "if-modified-since", "if-range", "range")
# Conditions on the state of the target, which only the origin can judge (§4.3.2).
ORIGIN_CONDITIONS = ("if-match", "if-unmodified-since")
# Fields that describe the stored body and are never taken from a 304 (§3.2).
_OF_THE_BODY = frozenset(
    {"content-digest", "content-encoding", "content-length", "content-md5", "content-range", "repr-digest"}
)
_WEAK = 'W/"'


class NotOursReason(StrEnum):
    """Why a 304 cannot be used."""

    UNCONDITIONAL = "304-without-condition"
    OTHER_VALIDATOR = "304-for-another-validator"
    FIELDS_TOO_LARGE = "304-makes-fields-too-large"


@dataclass(frozen=True, slots=True)
class Freshened:
    """The stored response with the 304's fields; when `withdrawn`, good for this answer but not to be kept."""

    stored: StoredResponse
    withdrawn: NotStored | None = None


@dataclass(frozen=True, slots=True)
class NotOurs:
    """The 304 says nothing of the stored response: ask again without a condition."""

    reason: NotOursReason


def fill_request(request: Request, checkable: frozenset[str] | None = None) -> Request:
    """The request whose answer may serve every client alike. `checkable`: the codings that can be verified."""
    fields = request.fields.without(CLIENT_CONDITIONS)
    accepted = request.fields.get("accept-encoding")
    if accepted is not None:
        fields = fields.with_value("Accept-Encoding", normalise_codings(accepted, checkable))
    return replace(request, fields=fields)


def conditional_request(request: Request, stored: StoredResponse) -> Request:
    """`request` made conditional on the stored validators, both where both are known (§4.3.1)."""
    lines = []
    if stored.etag is not None:
        lines.append(("If-None-Match", stored.etag))
    if stored.last_modified is not None:
        lines.append(("If-Modified-Since", stored.last_modified))
    return replace(request, fields=request.fields.plus(*lines))


def opaque_tag(etag: str) -> str:
    """The entity tag less its weakness prefix, for the weak comparison (RFC 9110 §8.8.3.2)."""
    return etag[2:] if is_weak_etag(etag) else etag


def is_weak_etag(etag: str) -> bool:
    """Whether it says of itself that it is weak (RFC 9110 §8.8.3); `"W/a"` is a strong tag of that text."""
    return etag.startswith(_WEAK)


def is_same_etag(first: str, second: str, *, strong: bool = False) -> bool:
    """Weak comparison, or the strong one, in which no weak tag equals anything."""
    if strong:
        return first == second and not is_weak_etag(first)
    return opaque_tag(first) == opaque_tag(second)


def freshen(
    stored: StoredResponse,
    request: Request,
    head: ResponseHead,
    exchange: Exchange,
    policy: StoragePolicy,
    generation: int,
    max_fields: int,
) -> Freshened | NotOurs:
    """What a 304 to `request` makes of `stored` (§4.3.4). `max_fields` bounds the merged fields, in bytes."""
    mismatch = _mismatch(stored, request, head)
    if mismatch is not None:
        return NotOurs(mismatch)
    fields = _merge(stored, head, exchange)
    if sum(len(name) + len(value) + 4 for name, value in fields) > max_fields:
        return NotOurs(NotOursReason.FIELDS_TOO_LARGE)
    merged = ResponseHead(stored.status, stored.reason, fields)
    # A 304's own Age counts; the stored one was dropped when it was stored.
    verdict = may_store(request, merged, exchange, policy, generation)
    if isinstance(verdict, NotStored):
        return Freshened(_for_once(stored, fields, exchange), verdict)
    return Freshened(verdict.with_body(stored.body))


def _for_once(stored: StoredResponse, fields: Fields, exchange: Exchange) -> StoredResponse:
    """Validated just now and for one client: its age starts again, and it is fresh for nobody else."""
    return replace(
        stored,
        fields=fields.without(("age",)),
        exchange=exchange,
        born=born(fields, exchange),
        lifetime=Lifetime(0.0, LifetimeSource.NONE),
        stale_while_revalidate=0.0,
        stale_if_error=0.0,
        forbids_stale=True,
    )


def _mismatch(stored: StoredResponse, request: Request, head: ResponseHead) -> NotOursReason | None:
    if "if-none-match" not in request.fields and "if-modified-since" not in request.fields:
        return NotOursReason.UNCONDITIONAL
    etag = head.fields.get("etag")
    modified = head.fields.get("last-modified")
    if etag is not None:
        is_ours = stored.etag is not None and is_same_etag(etag, stored.etag)
    else:
        # §4.3.4 has no validator to go by when there is none at all: then it can only answer the one we sent.
        is_ours = modified is None or modified == stored.last_modified
    return None if is_ours else NotOursReason.OTHER_VALIDATOR


def _merge(stored: StoredResponse, head: ResponseHead, exchange: Exchange) -> Fields:
    """§3.2: each field of the 304 replaces all of its name, except those that describe the stored body."""
    directives = parse_response_directives(head.fields)
    incoming = stored_fields(head.fields, directives).without(_OF_THE_BODY)
    if stored.etag is not None and is_weak_etag(stored.etag):
        # A 304 is made before a coding is applied, so its tag may be the strong one of other bytes.
        incoming = incoming.without(("etag",))
    if "date" not in incoming:
        incoming = incoming.plus(("Date", format_http_date(exchange.response_time)))
    age = tuple(("Age", value) for value in head.fields.get_all("age"))
    kept = stored.fields.without(name for name, _ in incoming)
    return Fields(kept.lines + incoming.lines + age)


def update_from_head(stored: StoredResponse, head: ResponseHead, now: float) -> StoredResponse | None:
    """What a 200 to HEAD makes of a stored GET (§4.3.5): itself if it still fits, else the same marked stale.

    None when nothing changes. A HEAD never refreshes a lifetime here: that takes a request made for the purpose.
    """
    for name, current in (("etag", stored.etag), ("last-modified", stored.last_modified)):
        reported = head.fields.get(name)
        if reported is not None and reported != current:
            return stored.marked_stale(now)
    length = head.fields.get("content-length")
    if length is not None and length != str(len(stored.body)) and not _differs_in_coding(stored, head):
        return stored.marked_stale(now)
    return None


def _differs_in_coding(stored: StoredResponse, head: ResponseHead) -> bool:
    return split_list(head.fields.get("content-encoding") or "") != split_list(
        stored.fields.get("content-encoding") or ""
    )
