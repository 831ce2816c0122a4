"""What a client's own conditions and Range make of a stored response (RFC 9111 §4.3.2, RFC 9110 §13-14).

Only a stored 200 to GET is subject to them. `Range` on anything that is not one satisfiable byte range is either
ignored (malformed, many ranges) or answered 416.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from proxy.caching.freshness import date_value
from proxy.caching.stored import StoredResponse
from proxy.caching.validation import is_same_etag
from proxy.http.dates import parse_http_date
from proxy.http.fields import Fields, split_list

# RFC 9110 §14.2 lets a server ignore Range; more digits than this name no position in a body that fits memory.
_MAX_DIGITS = 18
# RFC 9110 §8.8.3: a backslash in an entity tag is itself. The second form is for tags that lack their quotes.
_ENTITY_TAG = re.compile(r'(?:W/)?"[^"]*"(?=[ \t]*(?:,|\Z))|[^ \t,][^,]*')


@dataclass(frozen=True, slots=True)
class Whole:
    """Serve the stored response as it is."""


@dataclass(frozen=True, slots=True)
class NotModified:
    """The client's copy is current: 304."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One byte range, `start` inclusive, `stop` exclusive, of `length`: 206."""

    start: int
    stop: int
    length: int

    @property
    def content_range(self) -> str:
        """The Content-Range field value."""
        return f"bytes {self.start}-{self.stop - 1}/{self.length}"


@dataclass(frozen=True, slots=True)
class NotSatisfiable:
    """No byte of the range exists: 416, with the complete `length`."""

    length: int


Selection = Whole | NotModified | Slice | NotSatisfiable


def evaluate(method: str, fields: Fields, stored: StoredResponse, now: float) -> Selection:
    """The precedence of RFC 9110 §13.2.2, from If-None-Match on."""
    if stored.status != 200:
        return Whole()
    if _is_not_modified(fields, stored, now):
        return NotModified()
    ranges = fields.get("range")
    if method != "GET" or ranges is None or not _range_applies(fields, stored, now):
        return Whole()
    return select_range(ranges, len(stored.body))


def _is_not_modified(fields: Fields, stored: StoredResponse, now: float) -> bool:
    none_match = fields.get("if-none-match")
    if none_match is not None:
        return matches_any(none_match, stored.downstream_etag)
    since = fields.get("if-modified-since")
    if since is None:
        return False
    asked = parse_http_date(since, now)
    modified = parse_http_date(stored.last_modified or "", now)
    if modified is None:
        # §4.3.2: the Date, or the time of receipt, is what the client may have compared with.
        modified = date_value(stored.fields, stored.exchange.response_time)
    return asked is not None and modified <= asked


def matches_any(none_match: str, etag: str | None) -> bool:
    """Whether an If-None-Match, a list or `*`, names `etag`, by weak comparison (RFC 9110 §13.1.2).

    An unquoted stored tag matches only itself.
    """
    if none_match.strip(" \t") == "*":
        return True
    if etag is None:
        return False
    return any(is_same_etag(tag.rstrip(" \t"), etag) for tag in _ENTITY_TAG.findall(none_match))


def _range_applies(fields: Fields, stored: StoredResponse, now: float) -> bool:
    """RFC 9110 §13.1.5: with If-Range, only for exactly the stored representation, compared strongly."""
    condition = fields.get("if-range")
    if condition is None:
        return True
    moment = parse_http_date(condition, now)
    if moment is None:
        etag = stored.downstream_etag
        return etag is not None and is_same_etag(condition, etag, strong=True)
    # §8.8.2.2: a second later the document could have changed again under the same Last-Modified.
    is_strong = moment + 1 <= date_value(stored.fields, stored.exchange.response_time)
    return is_strong and condition == stored.last_modified


def select_range(ranges: str, length: int) -> Selection:
    """One range out of `length` bytes (RFC 9110 §14.1.2). Several ranges: the whole, as §14.2 allows."""
    unit, separator, specification = ranges.partition("=")
    if unit.strip().lower() != "bytes" or not separator:
        return Whole()
    members = split_list(specification)
    if len(members) != 1:
        return Whole()
    first, dash, last = members[0].partition("-")
    if not dash or not (_is_position(first) and _is_position(last)) or not (first or last):
        return Whole()
    return _slice(first, last, length)


def _is_position(text: str) -> bool:
    return text == "" or (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS)


def _slice(first: str, last: str, length: int) -> Selection:
    if not first:
        if int(last) == 0:
            return NotSatisfiable(length)
        # The last bytes of an empty body are the whole of it; no Content-Range could name them.
        return Slice(max(0, length - int(last)), length, length) if length else Whole()
    start = int(first)
    if last and int(last) < start:
        return Whole()
    if start >= length:
        return NotSatisfiable(length)
    stop = min(int(last) + 1, length) if last else length
    return Slice(start, stop, length)
