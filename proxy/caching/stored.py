"""The stored response: everything serving needs, derived once at store time, and its versioned record.

A `StoredResponse` is immutable; freshening or marking one stale makes another. Three windows follow its birth, as
in Varnish: fresh (`lifetime`), servable stale (`stale_while_revalidate`, `stale_if_error`), and kept only as the
base of a conditional request (`keep`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from proxy.caching.freshness import Exchange, Lifetime, LifetimeSource
from proxy.caching.vouching import Vouching, from_members, to_members, within
from proxy.http.fields import Fields
from proxy.http.targets import parse_target

# A record of another format is a miss, never an error: a cache may forget.
RECORD_FORMAT = 2
_NUMBERS = ("born", "stale_while_revalidate", "stale_if_error", "keep_until")
_MEMBERS = {
    "uri": str,
    "status": int,
    "reason": str,
    "forbids_stale": bool,
    "must_validate": bool,
    "document_class": str,
    "generation": int,
    "downstream_etag": str | None,
}
# No stored response is kept longer than this past its fetch; purge marks older than it can be forgotten.
MAX_KEEP = 40 * 86_400.0


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response in the cache. Times are Unix seconds, durations seconds."""

    uri: str
    status: int
    reason: str
    fields: Fields
    body: bytes
    vary: tuple[str, ...]
    selecting: tuple[str | None, ...]
    exchange: Exchange
    born: float
    lifetime: Lifetime
    stale_while_revalidate: float
    stale_if_error: float
    forbids_stale: bool
    """must-revalidate, proxy-revalidate, s-maxage or no-cache: §4.2.4 bans serving it stale."""
    must_validate: bool
    """Unqualified no-cache: usable only after validation (§5.2.2.4)."""
    document_class: str
    tags: tuple[str, ...]
    generation: int
    """The purge generation current when its fetch began."""
    downstream_etag: str | None
    """The entity tag to answer clients with; minted when the origin sent no validator."""
    keep_until: float
    """When nothing can be done with it any more and stores may drop it."""
    vouching: Vouching | None = None
    """What vouches for a document of a known class."""
    ends_at: float = field(init=False, compare=False, repr=False)
    """From when on it may not be served without asking again; mostly never."""
    fresh_until: float = field(init=False, compare=False, repr=False)
    """The moment at which it stops being fresh."""
    promised: Fields = field(init=False, compare=False, repr=False)
    """`fields` as clients get them: without any freshness past `ends_at`."""

    def __post_init__(self) -> None:
        ends_at = math.inf if self.vouching is None else self.vouching.ends_at
        object.__setattr__(self, "ends_at", ends_at)
        object.__setattr__(self, "fresh_until", min(self.born + self.lifetime.seconds, ends_at))
        object.__setattr__(self, "promised", within(self.fields, self.born, ends_at))

    def has_ended(self, now: float) -> bool:
        """Whether what vouched for it does so no longer."""
        return now >= self.ends_at

    def age(self, now: float) -> float:
        """Current age in seconds (§4.2.3), never negative."""
        return max(0.0, now - self.born)

    def is_fresh(self, now: float) -> bool:
        """§4.2: response_is_fresh."""
        return self.fresh_until > now

    def staleness(self, now: float) -> float:
        """Seconds past freshness; negative while fresh."""
        return now - self.fresh_until

    @property
    def etag(self) -> str | None:
        """The origin's entity tag, byte for byte."""
        return self.fields.get("etag")

    @property
    def last_modified(self) -> str | None:
        """The origin's Last-Modified, byte for byte."""
        return self.fields.get("last-modified")

    @property
    def has_validator(self) -> bool:
        """Whether a conditional request can be made from it."""
        return self.etag is not None or self.last_modified is not None

    def marked_stale(self, moment: float) -> StoredResponse:
        """The same, its freshness ended at `moment` if not before: a soft purge."""
        if self.fresh_until <= moment:
            return self
        return replace(self, lifetime=Lifetime(max(0.0, moment - self.born), self.lifetime.source))


def variant_name(stored: StoredResponse) -> str | None:
    """The selecting fields and a short digest of their values, which may say much of a client; else None."""
    if not stored.vary:
        return None
    digest = hashlib.sha256(repr(stored.selecting).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{','.join(stored.vary)}:{digest}"


def to_record(stored: StoredResponse) -> str:
    """Everything but the body, as one line of JSON."""
    record = {
        "format": RECORD_FORMAT,
        "uri": stored.uri,
        "status": stored.status,
        "reason": stored.reason,
        "fields": stored.fields.lines,
        "vary": stored.vary,
        "selecting": stored.selecting,
        "exchange": (stored.exchange.request_time, stored.exchange.response_time),
        "born": stored.born,
        "lifetime": (stored.lifetime.seconds, stored.lifetime.source),
        "stale_while_revalidate": stored.stale_while_revalidate,
        "stale_if_error": stored.stale_if_error,
        "forbids_stale": stored.forbids_stale,
        "must_validate": stored.must_validate,
        "document_class": stored.document_class,
        "tags": stored.tags,
        "generation": stored.generation,
        "downstream_etag": stored.downstream_etag,
        "keep_until": stored.keep_until,
        "length": len(stored.body),
        "vouching": None if stored.vouching is None else to_members(stored.vouching),
    }
    return json.dumps(record, separators=(",", ":"))


def parse_record(text: str, body: bytes) -> StoredResponse | None:
    """The stored response of a record; None when the record is foreign, damaged or not of this body.

    Purge scopes are derived from the URI, so one without a usable URI could not be purged: None, too.
    """
    try:
        record = json.loads(text)
        is_ours = record["format"] == RECORD_FORMAT and record["length"] == len(body)
        if not is_ours:
            return None
        parse_target(record["uri"])
        return _from_record(record, body)
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None


def _from_record(record: Mapping[str, Any], body: bytes) -> StoredResponse:
    """Raises ValueError, TypeError, LookupError or OverflowError for what `to_record` did not write."""
    request_time, response_time = map(_number, record["exchange"])
    seconds, source = record["lifetime"]
    vary = tuple(_checked(str, name) for name in record["vary"])
    selecting = tuple(_checked(str | None, value) for value in record["selecting"])
    if len(vary) != len(selecting):
        raise ValueError("selecting values without their fields")
    members = {name: _checked(kind, record[name]) for name, kind in _MEMBERS.items()}
    members.update((name, _number(record[name])) for name in _NUMBERS)
    return StoredResponse(
        body=body,
        fields=Fields((_checked(str, name), _checked(str, value)) for name, value in record["fields"]),
        vary=vary,
        selecting=selecting,
        tags=tuple(_checked(str, tag) for tag in record["tags"]),
        exchange=Exchange(request_time, response_time),
        lifetime=Lifetime(_number(seconds), LifetimeSource(source)),
        vouching=None if record["vouching"] is None else from_members(record["vouching"]),
        **members,
    )


def _checked(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError("a record's member of another type")
    return value


def _number(value: Any) -> float:
    number = float(_checked(int | float, value))
    if not isfinite(number):
        raise ValueError("a time without end")
    return number
