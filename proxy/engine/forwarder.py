"""Requests that no stored response can answer: passed on as they are, their effects on the store noted."""

from __future__ import annotations

from contextlib import suppress

from proxy.caching.generations import uri_scope
from proxy.caching.invalidation import invalidated_uris
from proxy.caching.reuse import Forward, select
from proxy.caching.serving import CacheStatus
from proxy.caching.validation import update_from_head
from proxy.engine.acceptance import Refused
from proxy.engine.answers import forwarded, refusal
from proxy.engine.exchanges import closing_on_error, problem_of
from proxy.engine.outcome import Answer, Served, Streaming, Switched
from proxy.engine.relocation.hearing import Hearing
from proxy.engine.state import EngineState
from proxy.http.messages import Request, ResponseHead, received
from proxy.http.problems import Problem
from proxy.ports import (
    Body,
    Interim,
    Origin,
    OriginUnavailable,
    StoreUnavailable,
    Upgraded,
)


class Forwarder:
    """Passes requests on. An answer to an unsafe one invalidates before it is given (RFC 9111 §4.4)."""

    def __init__(self, state: EngineState, origin: Origin, hearing: Hearing) -> None:
        self._origin = origin
        self._hearing = hearing
        self._store = state.store
        self._flights = state.flights
        self._generations = state.generations
        self._rules = state.rules
        self._observer = state.observer
        self._clock = state.clock

    async def send(
        self, request: Request, forward: Forward, body: Body = None, interim: Interim | None = None
    ) -> Answer:
        """Pass `request` on and its answer back, unbuffered."""
        started = self._clock()
        rules = self._rules.of(request)
        try:
            response = await self._origin.fetch(request, body, interim)
        except OriginUnavailable as error:
            return self._refused(request, error, forward, started)
        head = received(response.head, response.exchange.response_time)
        try:
            with closing_on_error(response):
                await self._hearing.hear(request, head, response.exchange)
                await self._note(request, head)
        except Refused as refused:
            return self._unanswered(request, refused.problem, forward, started)
        seconds = self._clock() - started
        self._observer.upstream("pass", "passed", seconds)
        status = CacheStatus(forward=forward, forward_status=head.status)
        now = self._clock()
        marked, outcome = forwarded(request, rules, head, status, Served.BYPASS, seconds, now)
        return Streaming(marked, b"", response, outcome)

    async def upgrade(self, request: Request) -> Answer:
        """Ask the origin to switch protocols; whatever else it answers is passed back."""
        started = self._clock()
        rules = self._rules.of(request)
        try:
            result = await self._origin.upgrade(request)
        except OriginUnavailable as error:
            return self._refused(request, error, Forward.BYPASS, started)
        seconds = self._clock() - started
        self._observer.upstream("upgrade", "passed", seconds)
        head = received(result.head, self._clock())
        if not isinstance(result, Upgraded):
            try:
                with closing_on_error(result):
                    await self._hearing.hear(request, head, result.exchange)
            except Refused as refused:
                return self._unanswered(request, refused.problem, Forward.BYPASS, started)
        status = CacheStatus(forward=Forward.BYPASS, forward_status=head.status)
        marked, outcome = forwarded(request, rules, head, status, Served.BYPASS, seconds, self._clock())
        if isinstance(result, Upgraded):
            return Switched(result, outcome)
        return Streaming(marked, b"", result, outcome)

    def _refused(self, request: Request, error: OriginUnavailable, forward: Forward, started: float) -> Answer:
        return self._unanswered(request, problem_of(error), forward, started)

    def _unanswered(self, request: Request, problem: Problem, forward: Forward, started: float) -> Answer:
        seconds = self._clock() - started
        self._observer.upstream("pass", problem.slug, seconds)
        status = CacheStatus(forward=forward, detail=problem.slug)
        return refusal(request, problem, status, self._rules.of(request).document_class, seconds)

    async def _note(self, request: Request, head: ResponseHead) -> None:
        if request.method == "HEAD" and head.status == 200:
            self._update_from_head(request, head)
        held = [uri for uri in invalidated_uris(request, head) if await self._may_hold(uri)]
        if held:
            # A mark that cannot be written still holds here; the origin has acted and its answer is due.
            with suppress(StoreUnavailable):
                self._generations.mark(tuple(map(uri_scope, held)), self._clock(), soft=False)
            for uri in held:
                self._store.remove(uri)

    async def _may_hold(self, uri: str) -> bool:
        """Whether a mark is needed: something is or may be stored, or a fill under way may yet store it."""
        return self._flights.is_busy(uri) or await self._store.may_hold(uri)

    def _update_from_head(self, request: Request, head: ResponseHead) -> None:
        uri = request.target.uri
        stored = select(request.fields, self._store.peek(uri))
        updated = None if stored is None else update_from_head(stored, head, self._clock())
        if updated is not None:
            self._store.put(uri, updated)
