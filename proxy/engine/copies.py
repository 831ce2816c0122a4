"""Verified copies that stand in for an origin that is down. They live beside the store and never in it: none
overwrites what the origin sent, and all are given up as soon as it answers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from proxy.caching.directives import RequestDirectives
from proxy.caching.freshness import Exchange, Lifetime, LifetimeSource
from proxy.caching.generations import Purges, Valid, standing
from proxy.caching.reuse import Hit, decide
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import mint_etag
from proxy.caching.vouching import Vouching
from proxy.discovery.classes import DocumentClass
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.ports import Clock

# Copies held at once, in number and in octets; the one asked for longest ago goes first.
_MOST: Final = 1_000
_ROOM: Final = 32 * 2**20


@dataclass(slots=True, eq=False)
class Search:
    """A search for a copy; `is_overtaken` once the origin has answered since it began."""

    uri: str
    is_overtaken: bool = False


@dataclass(slots=True)
class _Held:
    stored: StoredResponse
    asked_at: float


class Copies:
    """One copy for each target URI whose origin is down."""

    def __init__(self, purges: Purges, clock: Clock) -> None:
        self._purges = purges
        self._clock = clock
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._octets = 0
        self._searches: dict[str, set[Search]] = {}

    @contextmanager
    def search(self, uri: str) -> Iterator[Search]:
        """Begin a search for a copy, to be told whether the origin answers meanwhile."""
        search = Search(uri)
        under_way = self._searches.setdefault(uri, set())
        under_way.add(search)
        try:
            yield search
        finally:
            under_way.discard(search)
            if not under_way and self._searches.get(uri) is under_way:
                del self._searches[uri]

    def __contains__(self, uri: str) -> bool:
        return uri in self._held

    def find(self, request: Request, directives: RequestDirectives) -> StoredResponse | None:
        """The copy that may answer `request` now; None when there is none, or not one that is fresh for it."""
        held = self._held.get(request.target.uri)
        if held is None:
            return None
        held.asked_at = self._clock()
        self._held.move_to_end(request.target.uri)
        if not isinstance(standing(held.stored, self._purges.marks), Valid):
            self.drop(request.target.uri)
            return None
        decision = decide(request, directives, (held.stored,), held.asked_at)
        return decision.stored if isinstance(decision, Hit) else None

    def get(self, uri: str) -> StoredResponse | None:
        """The copy of `uri`, fresh or not; None without one."""
        held = self._held.get(uri)
        return None if held is None else held.stored

    def fresh_until(self, uri: str) -> float:
        """When the copy of `uri` stops being fresh, Unix seconds; long ago when there is none."""
        held = self._held.get(uri)
        return 0.0 if held is None else held.stored.fresh_until

    def asked_at(self, uri: str) -> float:
        """When somebody last asked for `uri`, Unix seconds."""
        held = self._held.get(uri)
        return 0.0 if held is None else held.asked_at

    def put(self, stored: StoredResponse) -> None:
        """Hold a copy in place of the one before, which was asked for when that one was."""
        asked_at = self.asked_at(stored.uri) or self._clock()
        self.drop(stored.uri)
        self._held[stored.uri] = _Held(stored, asked_at)
        self._octets += len(stored.body)
        while len(self._held) > _MOST or self._octets > _ROOM:
            self.drop(next(iter(self._held)))

    def answered(self, uri: str) -> None:
        """The origin of `uri` has answered: its copy is given up, and what is still searched for is in vain."""
        self.drop(uri)
        for search in self._searches.get(uri, ()):
            search.is_overtaken = True

    def drop_all_of(self, origin: str) -> None:
        """Give up every copy of an origin, such as "https://example.com": what verified them has changed."""
        for uri in [uri for uri in self._held if uri.startswith(f"{origin}/")]:
            self.drop(uri)

    def drop(self, uri: str) -> None:
        """Give up the copy of `uri`."""
        held = self._held.pop(uri, None)
        if held is not None:
            self._octets -= len(held.stored.body)


def copy_of(
    uri: str, body: bytes, vouching: Vouching, seconds: float, exchange: Exchange, generation: int
) -> StoredResponse:
    """A verified copy of the manifest at `uri` as it is served: fresh for `seconds`, and never stale."""
    now = exchange.response_time
    lines = (
        ("Content-Type", "application/json"),
        ("Cache-Control", f"max-age={int(seconds)}"),
        ("Date", format_http_date(now)),
    )
    return StoredResponse(
        uri=uri,
        status=200,
        reason="OK",
        fields=Fields(lines),
        body=body,
        vary=(),
        selecting=(),
        exchange=exchange,
        born=now,
        lifetime=Lifetime(seconds, LifetimeSource.MAX_AGE),
        stale_while_revalidate=0.0,
        stale_if_error=0.0,
        forbids_stale=True,
        must_validate=False,
        document_class=DocumentClass.MANIFEST.value,
        tags=(),
        generation=generation,
        downstream_etag=mint_etag(body),
        keep_until=now + seconds,
        vouching=vouching,
    )
