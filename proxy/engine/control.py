"""What an operator asks of the engine: purge, refresh, explain, list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass

from proxy.caching.directives import parse_request_directives
from proxy.caching.generations import (
    EVERYTHING,
    host_scope,
    host_scopes,
    scopes,
    tag_scope,
    uri_scope,
)
from proxy.caching.reuse import select
from proxy.caching.stored import StoredResponse
from proxy.engine.collapse import flight_key
from proxy.engine.explanation import explanation, summary
from proxy.engine.refresh import Refresher
from proxy.engine.relocation.answering import Answering
from proxy.engine.relocation.rechecks import Rechecks
from proxy.engine.state import EngineState
from proxy.engine.trust.control import TrustControl
from proxy.engine.trust.known import authority_of
from proxy.http.fields import NO_FIELDS, Fields
from proxy.http.messages import Realm, Request
from proxy.http.targets import Target, parse_authority, parse_target
from proxy.ledgers import LedgerUnavailable
from proxy.relocation.lookup import Ask as AskOrigin
from proxy.relocation.lookup import Gone, answer_of
from proxy.relocation.records import record_url
from proxy.relocation.records import told as relocation_told
from proxy.trustrecords import TrustRecordsUnavailable


@dataclass(frozen=True, slots=True)
class ByUri:
    """One target URI with all its variants."""

    uri: str


@dataclass(frozen=True, slots=True)
class ByHost:
    """A host: `example.com` on every port, `example.com:8443` on one."""

    authority: str


@dataclass(frozen=True, slots=True)
class ByTag:
    """Everything that carries a purge tag."""

    tag: str


@dataclass(frozen=True, slots=True)
class Everything:
    """The whole cache."""


# Keys of the persistent store listed at once, for an operator's question about a host or everything.
_ALL_KEYS = 1_000_000
# Stored responses looked at between two turns of the loop: about a millisecond.
_AT_ONCE = 64

Scope = ByUri | ByHost | ByTag | Everything


class Control:
    """The engine as an operator sees it. Malformed URLs and hosts raise MalformedTarget."""

    def __init__(
        self,
        state: EngineState,
        refresher: Refresher,
        answering: Answering,
        rechecks: Rechecks,
        trust: TrustControl | None = None,
    ) -> None:
        self._refresher = refresher
        self._answering = answering
        self._rechecks = rechecks
        self._trust = trust
        self._copies = state.copies
        self._store = state.store
        self._flights = state.flights
        self._holdoffs = state.holdoffs
        self._generations = state.generations
        self._rules = state.rules
        self._clock = state.clock
        self._settings = state.settings

    async def purge(self, scope: Scope, *, soft: bool) -> int:
        """Mark `scope` purged: exact and durable when this returns, whatever is in which tier.

        The count is of what is known to be affected; by tag, of what is in memory.
        """
        name = scope_name(scope)
        if isinstance(scope, ByUri):
            return await self._purge_uri(parse_target(scope.uri).uri, name, soft=soft)
        affected = await self._under(name)
        elsewhere = 0 if isinstance(scope, ByTag) else await self._only_stored(scope, affected)
        self._generations.mark((name,), self._clock(), soft=soft)
        if not soft and not isinstance(scope, ByTag):
            await self._store.unlist(name if isinstance(scope, ByHost) else None)
        async for stored in _in_turns([] if soft else affected):
            # Reading applies the marks: what was purged leaves memory.
            self._store.peek(stored.uri)
        return len(affected) + elsewhere

    async def _only_stored(self, scope: ByHost | Everything, in_memory: list[StoredResponse]) -> int:
        """How many more target URIs only the persistent store holds."""
        host = scope_name(scope) if isinstance(scope, ByHost) else None
        known = {stored.uri for stored in in_memory}
        return sum(uri not in known for uri in await self._store.keys(host, _ALL_KEYS))

    async def _purge_uri(self, uri: str, name: str, *, soft: bool) -> int:
        purged = await self._store.count(uri)
        self._generations.mark((name,), self._clock(), soft=soft)
        if not soft:
            self._store.remove(uri)
        return purged

    async def _under(self, name: str) -> list[StoredResponse]:
        """What memory holds within a scope."""
        held = _in_turns(stored for _, stored in self._store.entries())
        return [stored async for stored in held if name in scopes(stored.uri, stored.tags)]

    async def refresh_uri(self, uri: str) -> bool:
        """Start a refresh of `uri` behind the scenes; False when one is under way or held off."""
        target = parse_target(uri)
        self._recheck(target)
        variants = await self._store.find(target.uri, NO_FIELDS)
        stored = variants[-1] if variants else None
        return self._refresh(target, stored)

    async def refresh_host(self, authority: str) -> int:
        """Refresh everything of a host that either tier holds; how many refreshes began."""
        held = [stored async for stored in self._of_host(authority)]
        return sum(self._refresh(parse_target(stored.uri), stored) for stored in held)

    async def _of_host(self, authority: str | None) -> AsyncIterator[StoredResponse]:
        """What either tier holds of a host, or of all: memory first."""
        name = None if authority is None else host_scope(_canonical_authority(authority))
        seen: set[str] = set()
        async for stored in _in_turns(stored for _, stored in self._store.entries()):
            if name is None or name in host_scopes(stored.uri):
                seen.add(stored.uri)
                yield stored
        for uri in await self._store.keys(name, _ALL_KEYS):
            if uri not in seen:
                for stored in await self._store.variants(uri):
                    yield stored

    def _refresh(self, target: Target, stored: StoredResponse | None) -> bool:
        names = () if stored is None else zip(stored.vary, stored.selecting, strict=True)
        fields = Fields((name, value) for name, value in names if value is not None)
        document_class = None if stored is None else stored.document_class
        request = Request("GET", target, fields, document_class=document_class)
        key = flight_key(request, () if stored is None else (stored,))
        return self._refresher.start(request, stored, key)

    async def explain(self, uri: str, fields: Fields = NO_FIELDS) -> dict[str, object]:
        """How a GET for `uri` with `fields` would be answered now, and the arithmetic behind it."""
        request = Request("GET", parse_target(uri), fields)
        variants = await self._store.find(request.target.uri, fields)
        now = self._clock()
        told = explanation(
            request,
            parse_request_directives(fields),
            variants,
            select(fields, variants),
            self._generations.marks,
            self._settings.outage_stale,
            self._rules.of(request).document_class,
            now,
        )
        key = flight_key(request, variants)
        held_off = self._holdoffs.get(key)
        flight = self._flights.joinable(key, self._generations.latest)
        told["flight"] = None if flight is None else {"generation": flight.generation}
        told["hold_off"] = None if held_off is None else {"failures": held_off.failures, "until": held_off.until}
        copy = self._copies.get(request.target.uri)
        told["copy"] = None if copy is None else summary(copy, now)
        told |= self._recorded(request.target, now)
        told["trust"] = await self._known(request.target)
        return told

    def _recheck(self, target: Target) -> None:
        """Ask the origin again, if it has said anything of the target that lasts."""
        with suppress(LedgerUnavailable):
            if self._answering.record(record_url(target)) is not None:
                self._rechecks.soon(target, Realm.ANY, is_wanted=True)

    def _recorded(self, target: Target, now: float) -> dict[str, object]:
        """What the origin said of where the target is, and what that decides; or why it cannot be told."""
        try:
            record = self._answering.record(record_url(target)) if target.scheme == "https" else None
        except LedgerUnavailable as error:
            return {"relocation": {"error": str(error)}}
        is_told = record is not None and record.is_listed
        told: dict[str, object] = {"relocation": relocation_told(record) if record and is_told else None}
        decided = answer_of(record, now)
        if not isinstance(decided, AskOrigin):
            why = "The origin has said so, and it is recorded; what is stored does not matter."
            told["decision"] = {"answer": "gone" if isinstance(decided, Gone) else "moved", "why": why}
        return told

    async def _known(self, target: Target) -> dict[str, object] | None:
        """What is known of the target's domain; why nothing can be is told in the place of it."""
        authority = authority_of(target)
        if self._trust is None or not authority:
            return None
        try:
            return await self._trust.of_authority(authority)
        except TrustRecordsUnavailable as error:
            return {"authority": authority, "error": str(error)}

    async def entries(self, host: str | None, limit: int) -> list[dict[str, object]]:
        """What is stored, at most `limit` responses, of one host or of all; what is in memory comes first."""
        listed: list[dict[str, object]] = []
        async for stored in self._of_host(host):
            listed.append(summary(stored, self._clock()))
            if len(listed) >= limit:
                break
        return listed


async def _in_turns(stored: Iterable[StoredResponse]) -> AsyncIterator[StoredResponse]:
    """Each of many, letting requests have their turn in between."""
    for n, each in enumerate(stored, 1):
        yield each
        if n % _AT_ONCE == 0:
            await asyncio.sleep(0)


def scope_name(scope: Scope) -> str:
    """The generation scope of a purge. Raises MalformedTarget."""
    match scope:
        case ByUri(uri):
            return uri_scope(parse_target(uri).uri)
        case ByHost(authority):
            return host_scope(_canonical_authority(authority))
        case ByTag(tag):
            return tag_scope(tag)
        case Everything():
            return EVERYTHING


def _canonical_authority(authority: str) -> str:
    """`authority` as `caching.generations.scopes` spells it: with its port only where one was given."""
    host, port = parse_authority(authority, 0)
    bracketed = f"[{host}]" if ":" in host else host
    return f"{bracketed}:{port}" if port else bracketed
