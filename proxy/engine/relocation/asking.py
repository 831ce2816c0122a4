"""Asking an origin what it says to anybody of a URL, and recording that (OV-1).

A client's own fields reach the origin and may bring about an answer that nobody else gets; so what is recorded was
said to a request with nothing of a client's. One request for each URL is under way at a time, and at most two at an
origin that no client waits for.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from proxy.caching.freshness import Exchange
from proxy.caching.vary import parse_vary
from proxy.discovery.classes import DocumentClass, classify
from proxy.discovery.pages.alternatives import successor_of
from proxy.engine.places import Places
from proxy.engine.relocation.inquiry import Inquiry, Told
from proxy.engine.relocation.writing import Writer
from proxy.engine.state import EngineState
from proxy.http.fields import NO_FIELDS
from proxy.http.messages import Realm, Request, ResponseHead
from proxy.http.targets import Target, parse_target
from proxy.ports import OriginFault, OriginUnavailable
from proxy.relocation.records import record_url
from proxy.relocation.rules import LASTING, NO_ANSWER, RelocationRules, Seen, observe
from proxy.relocation.sightings import Sighting, Source
from proxy.single import SingleCalls

# At one origin, and how long the next one waits; clients wait for what their own requests have brought about.
_AT_ONCE: Final = 2
_PATIENCE: Final = 20.0
_AT_ONCE_FOR_CLIENTS: Final = 32
_SECONDS_FOR_CLIENTS: Final = 5.0
# The origin was not asked, which says nothing of it.
_UNASKED: Final = frozenset({OriginFault.DENIED, OriginFault.OVERLOADED})
# What was said so lately is not asked for again.
HOLDS: Final = 60.0
_HOLDS_NOTHING: Final = 3600.0
_MOST_HEARD: Final = 10_000
_MOST_TIMES: Final = 8

Said = tuple[int, tuple[str, ...]]
"""A status, and the Location lines that came with it."""

SILENCE: Final[Said] = (NO_ANSWER, ())
"""No answer, or none that is for everybody."""


# An answer that is selected by any of these may be another for somebody else.
_OF_CLIENTS: Final = frozenset({"accept", "accept-language", "user-agent"})


@dataclass(frozen=True, slots=True)
class _Heard:
    """What was said last to anybody, as a digest; how often that was asked for since `since`, Unix seconds."""

    said: int
    until: float
    since: float
    times: int


class Asking:
    """Asks, and records what it hears."""

    def __init__(self, state: EngineState, inquiry: Inquiry, writer: Writer, rules: RelocationRules) -> None:
        self._inquiry = inquiry
        self._writer = writer
        self._relocation = rules
        self._clock = state.clock
        self._places = Places(_AT_ONCE, _PATIENCE)
        self._places_for_records = Places(_AT_ONCE, _PATIENCE)
        self._places_for_clients = Places(_AT_ONCE_FOR_CLIENTS, _SECONDS_FOR_CLIENTS)
        self._calls: SingleCalls[tuple[str, DocumentClass | None], Sighting] = SingleCalls()
        self._heard: OrderedDict[str, _Heard] = OrderedDict()

    async def ask_again(self, target: Target, realm: Realm) -> Sighting:
        """What the origin of a recorded URL says now, recorded: nothing that strangers have asked about keeps it
        waiting. Raises LedgerUnavailable."""
        return await self._call(target, realm, self._places_for_records)

    async def ask(self, target: Target, realm: Realm, claimed: DocumentClass | None = None) -> Sighting:
        """What the origin says now, recorded. Raises LedgerUnavailable.

        `claimed` is what somebody says that is there, for where the path does not tell; a document is one of it.
        """
        return await self._call(target, realm, self._places, claimed)

    async def ask_for_client(self, target: Target, realm: Realm) -> Sighting:
        """The same while a client waits, and so within a few seconds. Raises LedgerUnavailable."""
        try:
            async with asyncio.timeout(_SECONDS_FOR_CLIENTS):
                return await self._call(target, realm, self._places_for_clients)
        except TimeoutError:
            self._note(record_url(target), SILENCE)
            return Sighting(NO_ANSWER, self._clock(), is_document=False, source=Source.PROBE)

    async def _call(
        self, target: Target, realm: Realm, places: Places, claimed: DocumentClass | None = None
    ) -> Sighting:
        url = record_url(target)
        # By the name it is recorded under: another spelling may be another thing to its origin.
        request = Request("GET", parse_target(url), NO_FIELDS, realm, claimed)
        return await self._calls.call((url, claimed), lambda: self._ask(request, places))

    async def take(self, request: Request, head: ResponseHead, exchange: Exchange) -> None:
        """Record what an answer says that is good for everybody. Raises LedgerUnavailable."""
        told = Told(head, exchange, None, is_document=False)
        await self._record(_seen(request.target, told, is_document=False))

    def has_said(self, url: str, said: Said) -> bool:
        """Whether the origin said just that to anybody, less than a minute ago."""
        heard = self._heard.get(url)
        return heard is not None and heard.said == hash(said) and self._clock() < heard.until

    def has_asked(self, url: str) -> bool:
        """Whether the origin was asked less than a minute ago."""
        heard = self._heard.get(url)
        return heard is not None and self._clock() < heard.until

    def is_asked_enough(self, url: str) -> bool:
        """Whether the origin was asked as often within a minute as is good for it, whatever it says each time."""
        heard = self._heard.get(url)
        return heard is not None and heard.times >= _MOST_TIMES and self._clock() < heard.since + HOLDS

    def hold(self, url: str) -> None:
        """What the origin says of this has come to nothing: for long it is not asked again because of that."""
        heard = self._heard.get(url)
        if heard is not None:
            self._heard[url] = replace(heard, until=self._clock() + _HOLDS_NOTHING)

    def forget(self, url: str) -> None:
        """What was said before is no reason not to ask again."""
        self._heard.pop(url, None)

    async def close(self) -> None:
        """Give up what is under way."""
        await self._calls.close()

    async def _ask(self, request: Request, places: Places) -> Sighting:
        try:
            told = await self._inquiry.get(request, places)
            is_for_all = await self._is_for_all(request, told, places)
        except OriginUnavailable as error:
            if error.fault not in _UNASKED:
                await self._record(Seen(request.target, NO_ANSWER, self._clock(), is_origin=False))
            return Sighting(NO_ANSWER, self._clock(), is_document=False, source=Source.PROBE)
        # Where the path tells of no kind, whatever is there again ends a record: no claim of others may keep it.
        is_other = classify(request.target.normal_path) is DocumentClass.OTHER
        is_there = told.is_document or (told.is_whole and is_other)
        seen = _seen(request.target, told, is_document=is_there)
        # What depends on who asks is an answer, and none for everybody.
        await self._record(seen if is_for_all else replace(seen, status=NO_ANSWER))
        return Sighting(seen.status if is_for_all else NO_ANSWER, seen.at, told.is_document, Source.PROBE)

    async def _is_for_all(self, request: Request, told: Told, places: Places) -> bool:
        """Whether what is said for good is said whoever asks, although it is selected by that."""
        if told.head.status not in LASTING or not may_vary(told.head):
            return True
        return said_in(told.head) == said_in((await self._inquiry.get_unlike(request, places)).head)

    async def _record(self, seen: Seen) -> None:
        url = record_url(seen.url)
        await self._writer.change(url, lambda record: observe(record, seen, self._relocation))
        self._note(url, (seen.status, seen.locations))

    def _note(self, url: str, said: Said) -> None:
        now, before = self._clock(), self._heard.get(url)
        is_again = before is not None and now < before.since + HOLDS
        since, times = (before.since, before.times + 1) if before is not None and is_again else (now, 1)
        self._heard[url] = _Heard(hash(said), now + HOLDS, since, times)
        self._heard.move_to_end(url)
        if len(self._heard) > _MOST_HEARD:
            self._heard.popitem(last=False)


def _uncoded(head: ResponseHead) -> ResponseHead:
    """The head of what has been decoded."""
    return replace(head, fields=head.fields.without(("content-encoding",)))


def said_in(head: ResponseHead) -> Said:
    """What a head says of where things are."""
    return head.status, tuple(head.fields.get_all("location"))


def may_vary(head: ResponseHead) -> bool:
    """Whether an answer may depend on what clients say of themselves."""
    names = parse_vary(head.fields)
    return names is None or not _OF_CLIENTS.isdisjoint(names)


def _seen(target: Target, told: Told, *, is_document: bool) -> Seen:
    head = told.head
    return Seen(
        target,
        head.status,
        told.exchange.response_time,
        is_origin=target.scheme == "https",
        locations=tuple(head.fields.get_all("location")),
        lifetime=told.lifetime,
        is_document=is_document,
        successor=successor_of(_uncoded(head), told.body or b"", target) if head.status == 410 else None,
    )
