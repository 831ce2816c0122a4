"""Requests of the proxy's own, past every cache: what an origin says now, to nobody in particular."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from proxy.caching.directives import parse_response_directives
from proxy.caching.freshness import Exchange, corrected_initial_age, freshness_lifetime
from proxy.discovery.gate import is_of_kind
from proxy.engine.acceptance import OF_DOCUMENTS
from proxy.engine.neutral import Neutral
from proxy.engine.places import Places
from proxy.engine.settings import ClassRules
from proxy.engine.state import EngineState
from proxy.http.codings import CodingFault, decode_body
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead, received
from proxy.ports import Origin, OriginUnavailable, Overflow

# What a refusal says of a successor is short.
_MOST_OF_REFUSALS: Final = 64 * 2**10
# As unlike the request of a program as can be: who sends the same to both does not look at who asks.
_UNLIKE: Final = Fields(
    (
        ("User-Agent", "Mozilla/5.0 (compatible)"),
        ("Accept", "text/html, application/xhtml+xml;q=0.9, */*;q=0.8"),
        ("Accept-Language", "fr, de;q=0.5"),
        ("Accept-Encoding", "gzip, deflate"),
    )
)


@dataclass(frozen=True, slots=True)
class Told:
    """An origin's answer. `body` has its content coding removed, and is None where it is too large or does not
    decode; `is_document`: it is a whole document of its kind, and no page for people where the kind is not known.
    """

    head: ResponseHead
    exchange: Exchange
    body: bytes | None
    is_document: bool

    @property
    def lifetime(self) -> float | None:
        """Seconds left of the explicit freshness, None without any; what must not be kept, or be asked for each
        time, has none left."""
        directives = parse_response_directives(self.head.fields)
        if directives.no_store or directives.no_cache or directives.private:
            return 0.0
        received_at = self.exchange.response_time
        lifetime = freshness_lifetime(self.head.status, self.head.fields, directives, received_at, 0.0)
        if not lifetime.is_explicit:
            return None
        return max(0.0, lifetime.seconds - corrected_initial_age(self.head.fields, self.exchange))

    @property
    def is_whole(self) -> bool:
        """Whether it is the thing itself that was asked for, of whatever kind."""
        return self.head.status in OF_DOCUMENTS


class Inquiry:
    """Asks origins; `reason="relocation"` in metrics."""

    def __init__(self, state: EngineState, origin: Origin) -> None:
        self._origin = origin
        self._rules = state.rules
        self._observer = state.observer
        self._clock = state.clock
        self._neutral = Neutral(state.settings.agent)

    async def get(self, request: Request, places: Places, share: str = "") -> Told:
        """The answer to `request` made neutral, read within a place of its origin. Raises OriginUnavailable.

        With a `share` the places are those of whoever is named so: nobody takes another's.
        """
        return await self._get(self._neutral.of(request), places, share)

    async def get_unlike(self, request: Request, places: Places) -> Told:
        """The same, asked by somebody who has nothing in common with the first. Raises OriginUnavailable."""
        return await self._get(replace(self._neutral.of(request), fields=_UNLIKE), places, "")

    async def _get(self, sent: Request, places: Places, share: str) -> Told:
        started = self._clock()
        try:
            async with places.place(f"{share} {sent.target.origin}"):
                told = await self._read(sent)
        except OriginUnavailable as error:
            self._observer.upstream("relocation", error.fault.value, self._clock() - started)
            raise
        self._observer.upstream("relocation", f"status-{told.head.status // 100}xx", self._clock() - started)
        return told

    async def _read(self, sent: Request) -> Told:
        response = await self._origin.fetch(sent)
        try:
            head = received(response.head, response.exchange.response_time)
            rules = self._rules.of(sent)
            is_whole = head.status in OF_DOCUMENTS
            read = await response.read(rules.max_body if is_whole else _MOST_OF_REFUSALS)
        finally:
            response.close()
        body = _decoded(head, read, rules)
        return Told(head, response.exchange, body, is_whole and _is_document(rules, head, body))


def _decoded(head: ResponseHead, read: bytes | Overflow, rules: ClassRules) -> bytes | None:
    if isinstance(read, Overflow):
        return None
    body = decode_body(head.fields.get("content-encoding"), read, rules.max_body)
    return None if isinstance(body, CodingFault) else body


def _is_document(rules: ClassRules, head: ResponseHead, body: bytes | None) -> bool:
    media_type = head.fields.get("content-type")
    if body is None:
        # What cannot be read as a whole is of no class that has a gate; its media type may tell that it is a page.
        return not rules.is_gated and is_of_kind(rules.document_class, media_type, b"")
    return is_of_kind(rules.document_class, media_type, body)
