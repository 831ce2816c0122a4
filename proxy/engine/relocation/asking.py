"""Asking an origin what it says to anybody of a URL, and recording that (OV-1).

A client's own fields reach the origin and may bring about an answer that nobody else gets; so what is recorded was
said to a request with nothing of a client's. One request for each URL is under way at a time, and at most two at an
origin that no client waits for.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from proxy.caching.directives import parse_response_directives
from proxy.caching.freshness import Exchange, corrected_initial_age, freshness_lifetime
from proxy.caching.vary import parse_vary
from proxy.catalogs.verdicts import Sighting
from proxy.discovery.gate import Document, gate
from proxy.discovery.pages.alternatives import successor_of
from proxy.engine.neutral import Neutral
from proxy.engine.places import Places
from proxy.engine.relocation.writing import Writer
from proxy.engine.settings import ClassRules
from proxy.engine.state import EngineState
from proxy.http.codings import CodingFault, decode_body
from proxy.http.fields import NO_FIELDS, essence
from proxy.http.messages import Realm, Request, ResponseHead, received
from proxy.http.targets import Target
from proxy.ports import Origin, OriginFault, OriginResponse, OriginUnavailable, Overflow
from proxy.relocation.changes import Change
from proxy.relocation.records import record_url
from proxy.relocation.rules import LASTING, NO_ANSWER, RelocationRules, Seen, observe
from proxy.single import SingleCalls

# At one origin, and how long the next one waits; clients wait for what their own requests have brought about.
_AT_ONCE: Final = 2
_PATIENCE: Final = 20.0
_AT_ONCE_FOR_CLIENTS: Final = 32
_SECONDS_FOR_CLIENTS: Final = 5.0
# The origin was not asked, which says nothing of it.
_UNASKED: Final = frozenset({OriginFault.DENIED, OriginFault.OVERLOADED})
_SOURCE: Final = "probe"
# What was said so lately is not asked for again.
_HOLDS: Final = 60.0
_HOLDS_NOTHING: Final = 3600.0
_MOST_HEARD: Final = 10_000
_OF_DOCUMENTS: Final = frozenset({200, 203})
# What a refusal says of a successor is short.
_MOST_OF_REFUSALS: Final = 64 * 2**10

PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
"""Media types of what is meant for people."""

Said = tuple[int, tuple[str, ...]]
"""A status, and the Location lines that came with it."""


# An answer that is selected by any of these is not the same for everybody, and so is nobody's last word.
_OF_CLIENTS: Final = frozenset({"accept", "accept-language", "authorization", "cookie", "user-agent"})


@dataclass(frozen=True, slots=True)
class _Heard:
    said: Said
    until: float


class Asking:
    """Asks with requests of the proxy's own, each in `reason="relocation"`."""

    def __init__(self, state: EngineState, origin: Origin, writer: Writer, rules: RelocationRules) -> None:
        self._origin = origin
        self._writer = writer
        self._relocation = rules
        self._rules = state.rules
        self._observer = state.observer
        self._clock = state.clock
        self._neutral = Neutral(state.settings.agent)
        self._places = Places(_AT_ONCE, _PATIENCE)
        self._places_for_clients = Places(_AT_ONCE_FOR_CLIENTS, _SECONDS_FOR_CLIENTS)
        self._calls: SingleCalls[str, Sighting] = SingleCalls()
        self._heard: OrderedDict[str, _Heard] = OrderedDict()

    async def ask(self, target: Target, realm: Realm) -> Sighting:
        """What the origin says now, recorded. Raises LedgerUnavailable."""
        return await self._call(target, realm, self._places)

    async def ask_for_client(self, target: Target, realm: Realm) -> Sighting:
        """The same while a client waits, and so within a few seconds. Raises LedgerUnavailable."""
        try:
            async with asyncio.timeout(_SECONDS_FOR_CLIENTS):
                return await self._call(target, realm, self._places_for_clients)
        except TimeoutError:
            return Sighting(NO_ANSWER, self._clock(), is_document=False, source=_SOURCE)

    async def _call(self, target: Target, realm: Realm, places: Places) -> Sighting:
        request = Request("GET", target, NO_FIELDS, realm)
        return await self._calls.call(record_url(target), lambda: self._ask(request, places))

    async def take(self, request: Request, head: ResponseHead, exchange: Exchange) -> Change:
        """Record what an answer says that is good for everybody. Raises LedgerUnavailable."""
        return await self._record(self._seen(request.target, head, exchange, b"", is_document=False))

    def has_said(self, url: str, said: Said) -> bool:
        """Whether the origin said just that to anybody, less than a minute ago."""
        heard = self._heard.get(url)
        return heard is not None and heard.said == said and self._clock() < heard.until

    def has_asked(self, url: str) -> bool:
        """Whether the origin was asked less than a minute ago."""
        heard = self._heard.get(url)
        return heard is not None and self._clock() < heard.until

    def hold(self, url: str) -> None:
        """What the origin says of this has come to nothing: for long it is not asked again because of that."""
        heard = self._heard.get(url)
        if heard is not None:
            self._heard[url] = _Heard(heard.said, self._clock() + _HOLDS_NOTHING)

    def forget(self, url: str) -> None:
        """What was said before is no reason not to ask again."""
        self._heard.pop(url, None)

    async def close(self) -> None:
        """Give up what is under way."""
        await self._calls.close()

    async def _ask(self, request: Request, places: Places) -> Sighting:
        sent, started = self._neutral.of(request), self._clock()
        try:
            async with places.place(request.target.origin):
                response = await self._origin.fetch(sent)
            seen, is_page = await self._read(sent, response)
        except OriginUnavailable as error:
            self._observer.upstream("relocation", error.fault.value, self._clock() - started)
            if error.fault in _UNASKED:
                return Sighting(NO_ANSWER, self._clock(), is_document=False, source=_SOURCE)
            seen, is_page = Seen(request.target, NO_ANSWER, self._clock(), is_origin=False), False
        else:
            self._observer.upstream("relocation", f"status-{seen.status // 100}xx", self._clock() - started)
        await self._record(seen)
        # That something is there again revives a page for people too; no catalog meant one.
        return Sighting(seen.status, seen.at, seen.is_document and not is_page, _SOURCE)

    async def _read(self, sent: Request, response: OriginResponse) -> tuple[Seen, bool]:
        """What was answered, and whether it is a page for people."""
        try:
            head = received(response.head, response.exchange.response_time)
            rules = self._rules.of(sent)
            is_whole = head.status in _OF_DOCUMENTS
            body = await response.read(rules.max_body if is_whole else _MOST_OF_REFUSALS)
        finally:
            response.close()
        is_document = is_whole and _is_document(rules, head, body)
        octets = b"" if isinstance(body, Overflow) else body
        is_page = essence(head.fields.get("content-type")) in PAGES
        return self._seen(sent.target, head, response.exchange, octets, is_document=is_document), is_page

    def _seen(
        self, target: Target, head: ResponseHead, exchange: Exchange, body: bytes, *, is_document: bool
    ) -> Seen:
        # What depends on who asks is an answer, and none for everybody.
        status = NO_ANSWER if head.status in LASTING and varies(head) else head.status
        return Seen(
            target,
            status,
            exchange.response_time,
            is_origin=target.scheme == "https",
            locations=tuple(head.fields.get_all("location")),
            lifetime=_lifetime(head, exchange),
            is_document=is_document,
            successor=successor_of(head, body, target) if head.status == 410 else None,
        )

    async def _record(self, seen: Seen) -> Change:
        url = record_url(seen.url)
        change = await self._writer.change(url, lambda record: observe(record, seen, self._relocation))
        self._heard[url] = _Heard((seen.status, seen.locations), self._clock() + _HOLDS)
        self._heard.move_to_end(url)
        if len(self._heard) > _MOST_HEARD:
            self._heard.popitem(last=False)
        return change


def varies(head: ResponseHead) -> bool:
    """Whether an answer depends on what clients say of themselves."""
    names = parse_vary(head.fields)
    return names is None or not _OF_CLIENTS.isdisjoint(names)


def _is_document(rules: ClassRules, head: ResponseHead, body: bytes | Overflow) -> bool:
    if isinstance(body, Overflow):
        return not rules.is_gated
    decoded = decode_body(head.fields.get("content-encoding"), body, rules.max_body)
    if isinstance(decoded, CodingFault):
        return not rules.is_gated
    return isinstance(gate(rules.document_class, head.fields.get("content-type"), decoded), Document)


def _lifetime(head: ResponseHead, exchange: Exchange) -> float | None:
    """Seconds left of the explicit freshness, None without any; what must not be kept, or be asked for each time,
    has none left."""
    directives = parse_response_directives(head.fields)
    if directives.no_store or directives.no_cache or directives.private:
        return 0.0
    lifetime = freshness_lifetime(head.status, head.fields, directives, exchange.response_time, 0.0)
    if not lifetime.is_explicit:
        return None
    return max(0.0, lifetime.seconds - corrected_initial_age(head.fields, exchange))
