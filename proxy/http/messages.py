"""A request and the head of a response, as values (RFC 9110 §6). Bodies travel beside them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from proxy.http.dates import format_http_date
from proxy.http.fields import Fields, end_to_end
from proxy.http.targets import Target

# RFC 9110 §9.2.1. Everything else may change state at the origin.
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class Realm(Enum):
    """Which addresses a target may lead to: any, where a client chose it; public ones, where a record or document
    of a publisher did; those of the local link, where multicast DNS did."""

    ANY = "any"
    PUBLIC = "public"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the target URI, and how far that may lead. `fields` are end-to-end.

    `document_class`: what the target's own site says it is, for where the path does not tell. `is_ours`: the proxy
    asks on its own account, with no field of a client's. `is_action`: it may change something though its method is
    safe, so it is never stored, repeated or asked for ahead (UAIX.md §5.4).
    """

    method: str
    target: Target
    fields: Fields
    realm: Realm = Realm.ANY
    document_class: str | None = None
    is_ours: bool = False
    is_action: bool = False

    @property
    def is_safe(self) -> bool:
        """Whether the method is defined as safe; unknown methods are not."""
        return self.method in SAFE_METHODS


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status line and fields of a response."""

    status: int
    reason: str
    fields: Fields


# Fields that could change an answer without being part of the cache key: whoever sends one would
# choose what everybody else gets. `Host` is the target's own.
UNKEYED_FIELDS = frozenset(
    {
        "forwarded",
        "host",
        "x-host",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "x-original-url",
        "x-rewrite-url",
    }
)


def forwardable(fields: Fields) -> Fields:
    """A client's request fields less hop-by-hop and unkeyed ones."""
    return end_to_end(fields).where(lambda name, _: not _is_unkeyed(name.lower().replace("_", "-")))


def _is_unkeyed(name: str) -> bool:
    """`name` with its underscores as hyphens: the gateways of old that origins run on take one for the other."""
    return name in UNKEYED_FIELDS or name.startswith("x-forwarded-")


def received(head: ResponseHead, response_time: float) -> ResponseHead:
    """An origin's head as a recipient passes it on: end-to-end fields, dated when it was not (RFC 9110 §6.6.1)."""
    fields = end_to_end(head.fields)
    if "date" not in fields:
        fields = fields.plus(("Date", format_http_date(response_time)))
    return ResponseHead(head.status, head.reason, fields)
