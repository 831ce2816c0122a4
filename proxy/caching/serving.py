"""The fields of a served response: Age, Cache-Status, Via, entity tag (RFC 9111 §4, RFC 9211, RFC 9110 §7.6.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from proxy.caching.preconditions import NotModified, NotSatisfiable, Selection, Slice
from proxy.caching.reuse import Forward
from proxy.caching.stored import StoredResponse
from proxy.http.messages import ResponseHead
from proxy.http.structured import Token, serialise_item

IDENTITY = "discovery-proxy"
VIA = f"1.1 {IDENTITY}"
# RFC 9110 §15.4.5: what a 304 carries; anything else would describe a body that is not there.
_NOT_MODIFIED_FIELDS = frozenset(
    {
        "cache-control",
        "cdn-cache-control",
        "content-location",
        "date",
        "etag",
        "expires",
        "vary",
        "last-modified",
    }
)
# Digests of the message's content (RFC 9530 §2): false of any part of it.
_OF_THE_WHOLE = ("content-digest", "content-md5")
# What would be false of a 416 beside the fields named content-…, and what would let another cache
# store it in place of the document.
_OF_THE_200 = frozenset(
    {"cache-control", "cdn-cache-control", "surrogate-control", "etag", "expires", "last-modified"}
)


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """One member of Cache-Status. `ttl` is remaining freshness in seconds, negative when stale."""

    hit: bool = False
    ttl: int | None = None
    forward: Forward | None = None
    forward_status: int | None = None
    stored: bool = False
    collapsed: bool = False
    detail: str | None = None

    def serialise(self) -> str:
        """The member as RFC 9211 writes it."""
        parameters: dict[str, Token | str | int | bool] = {}
        if self.hit:
            parameters["hit"] = True
        if self.forward is not None:
            parameters["fwd"] = Token(self.forward.value)
        if self.forward_status is not None:
            parameters["fwd-status"] = self.forward_status
        if self.ttl is not None:
            parameters["ttl"] = self.ttl
        if self.stored:
            parameters["stored"] = True
        if self.collapsed:
            parameters["collapsed"] = True
        if self.detail is not None:
            parameters["detail"] = Token(self.detail)
        return serialise_item(Token(IDENTITY), parameters)


def ttl(stored: StoredResponse, now: float) -> int:
    """Whole seconds of freshness left, negative when stale; Age and it make up the lifetime."""
    left = math.ceil(stored.fresh_until - now)
    return left if stored.is_fresh(now) else min(-1, left)


def served_head(stored: StoredResponse, selection: Selection, status: CacheStatus, now: float) -> ResponseHead:
    """Status and fields of an answer made from the store. Content-Length is the writer's."""
    head = _selected(stored, selection)
    lines: list[tuple[str, str]] = []
    if "etag" not in head.fields and stored.downstream_etag and not isinstance(selection, NotSatisfiable):
        lines.append(("ETag", stored.downstream_etag))
    lines.append(("Age", str(int(stored.age(now)))))
    return with_proxy_fields(ResponseHead(head.status, head.reason, head.fields.plus(*lines)), status)


def _selected(stored: StoredResponse, selection: Selection) -> ResponseHead:
    if isinstance(selection, NotModified):
        kept = stored.promised.where(lambda name, _: name.lower() in _NOT_MODIFIED_FIELDS)
        return ResponseHead(304, "Not Modified", kept)
    if isinstance(selection, Slice):
        fields = stored.promised.without(_OF_THE_WHOLE).with_value("Content-Range", selection.content_range)
        return ResponseHead(206, "Partial Content", fields)
    if isinstance(selection, NotSatisfiable):
        fields = stored.promised.where(lambda name, _: _suits_416(name.lower()))
        return ResponseHead(
            416, "Range Not Satisfiable", fields.plus(("Content-Range", f"bytes */{selection.length}"))
        )
    return ResponseHead(stored.status, stored.reason, stored.promised)


def _suits_416(name: str) -> bool:
    return name not in _OF_THE_200 and not name.startswith("content-")


def selected_body(stored: StoredResponse, selection: Selection) -> bytes:
    """The bytes that go with `served_head`."""
    if isinstance(selection, Slice):
        return stored.body[selection.start : selection.stop]
    return b"" if isinstance(selection, NotModified | NotSatisfiable) else stored.body


def with_proxy_fields(head: ResponseHead, status: CacheStatus) -> ResponseHead:
    """`head` with our Via and our member at the end of Cache-Status (RFC 9211 §2: one per cache, in order)."""
    return ResponseHead(
        head.status, head.reason, head.fields.plus(("Via", VIA), ("Cache-Status", status.serialise()))
    )
