"""The story of a request: look up, decide, then serve, refresh, fill or pass on.

`hit` is the seam of the hot path: it answers a fresh hit in memory without awaiting. No await stands between
reading what is shared (store, flights, hold-offs) and acting on it.
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from proxy.caching.directives import RequestDirectives, parse_request_directives
from proxy.caching.reuse import (
    Decision,
    Forward,
    Hit,
    Miss,
    Revalidate,
    StaleHit,
    Unsatisfiable,
    decide,
)
from proxy.caching.serving import CacheStatus, ttl
from proxy.caching.stored import StoredResponse
from proxy.caching.validation import CLIENT_CONDITIONS, ORIGIN_CONDITIONS
from proxy.engine.answers import from_store, refusal
from proxy.engine.collapse import Failed, Filled, FillEnd, NotStorable, flight_key
from proxy.engine.exchanges import is_failure
from proxy.engine.fill import Ask, Filler
from proxy.engine.forwarder import Forwarder
from proxy.engine.outage import Outage
from proxy.engine.outcome import Answer, Complete, Refusal, Served, Streaming
from proxy.engine.question import Question, as_filled
from proxy.engine.refresh import Refresher
from proxy.engine.relocation.answering import Answering
from proxy.engine.state import EngineState
from proxy.http.messages import Request
from proxy.http.problems import Problem, Slug
from proxy.ports import Body, Interim

_ONLY_IF_CACHED = Problem(
    Slug.ONLY_IF_CACHED,
    "The request says only-if-cached and no stored response may answer it. Ask again without that directive.",
)


class Gateway:
    """Answers requests for target URIs, in whichever form they came, from the store and the origin."""

    def __init__(
        self,
        state: EngineState,
        answering: Answering,
        filler: Filler,
        refresher: Refresher,
        forwarder: Forwarder,
        outage: Outage,
    ) -> None:
        self._answering = answering
        self._filler = filler
        self._refresher = refresher
        self._forwarder = forwarder
        self._outage = outage
        self._store = state.store
        self._flights = state.flights
        self._holdoffs = state.holdoffs
        self._generations = state.generations
        self._rules = state.rules
        self._observer = state.observer
        self._clock = state.clock

    def hit(self, request: Request) -> Complete | None:
        """The answer to a GET or HEAD that memory holds fresh; None when anything else is needed."""
        variants = self._store.peek(request.target.uri)
        if not variants or any(name in request.fields for name in ORIGIN_CONDITIONS):
            return None
        now = self._clock()
        decision = decide(request, parse_request_directives(request.fields), variants, now)
        return self._fresh(request, decision.stored, now) if isinstance(decision, Hit) else None

    async def handle(self, request: Request, body: Body = None, interim: Interim | None = None) -> Answer:
        """The answer to any request but CONNECT. `interim` is told of 1xx responses on the way.

        A document is only ever read: what else a request for one carries (a body, an upgrade, conditions on the
        origin's state) is left out, or it would lead past the document's gate.
        """
        recorded = self._answering.answer(request)
        if recorded is not None:
            return recorded
        if request.method not in ("GET", "HEAD") or request.is_action:
            forward = Forward.BYPASS if request.is_action else Forward.METHOD
            return await self._forwarder.send(request, forward, body, interim)
        if not self._rules.of(request).is_gated:
            if "upgrade" in request.fields:
                return await self._forwarder.upgrade(request)
            if body is not None or any(name in request.fields for name in ORIGIN_CONDITIONS):
                return await self._forwarder.send(request, Forward.BYPASS, body, interim)
        return self.hit(request) or self._if_not_gone(request, await self._look_up(request, interim))

    def _if_not_gone(self, request: Request, answer: Answer) -> Answer:
        """`answer`, unless the origin has said meanwhile that what it tells is gone."""
        if answer.outcome.status == HTTPStatus.GONE:
            return answer
        gone = self._answering.gone(request)
        if gone is not None and isinstance(answer, Streaming):
            answer.response.close()
        return gone or answer

    async def stand_in(self, request: Request) -> Complete | Refusal:
        """What is stored in place of an origin that is known to fail; it is not asked."""
        recorded = self._answering.answer(request)
        if recorded is not None:
            return recorded
        request = as_filled(request, self._rules.of(request))
        directives = parse_request_directives(request.fields)
        variants = await self._store.find(request.target.uri, request.fields)
        match decide(request, directives, variants, self._clock()):
            case Hit(stored):
                return self._fresh(request, stored, self._clock())
            case StaleHit(stored) | Revalidate(stored):
                permit = self._outage.permit(stored, directives)
                if permit is not None:
                    return self._behind(request, stored, Served.SIE, permit)
        return await self._outage.copy(request, directives) or await self._outage.without_asking(request)

    async def _look_up(self, request: Request, interim: Interim | None, *, is_repeated: bool = False) -> Answer:
        request = as_filled(request, self._rules.of(request))
        directives = parse_request_directives(request.fields)
        uri = request.target.uri
        variants = self._store.peek(uri)
        decision = decide(request, directives, variants, self._clock())
        if isinstance(decision, Miss | Unsatisfiable):
            variants = await self._store.find(uri, request.fields)
            decision = decide(request, directives, variants, self._clock())
        copy = None if self._serves_itself(decision, directives) else await self._outage.copy(request, directives)
        if copy is not None:
            return copy
        key = flight_key(request, variants)
        question = Question(request, directives, key, Forward.URI_MISS, None, interim, is_repeated)
        return await self._act(question, decision)

    def _serves_itself(self, decision: Decision, directives: RequestDirectives) -> bool:
        """Whether what is stored will serve, be it stale: a copy from elsewhere comes after that."""
        if isinstance(decision, Revalidate):
            return self._outage.permit(decision.stored, directives) is not None
        return isinstance(decision, Hit | StaleHit)

    async def _act(self, question: Question, decision: Decision) -> Answer:
        request = question.request
        match decision:
            case Hit(stored):
                return self._fresh(request, stored, self._clock())
            case StaleHit(stored):
                self._refresher.start(request, stored, question.key)
                return self._behind(request, stored, Served.SWR, None)
            case Unsatisfiable():
                rules = self._rules.of(request)
                status = CacheStatus(detail=_ONLY_IF_CACHED.slug)
                return refusal(request, _ONLY_IF_CACHED, status, rules.document_class)
            case Revalidate(stored, forward):
                return await self._revalidate(replace(question, forward=forward, stored=stored))
            case Miss(forward):
                if self._goes_as_head(request):
                    return await self._forwarder.send(request, forward, None, question.interim)
                return await self._fill(replace(question, forward=forward))

    async def _revalidate(self, question: Question) -> Answer:
        request, stored = question.request, question.stored
        assert stored is not None
        if self._holdoffs.get(question.key) is not None:
            permit = self._outage.permit(stored, question.directives)
            if permit is not None:
                self._refresher.start(request, stored, question.key)
                return self._behind(request, stored, Served.SIE, permit)
        return await (self._ask_by_head(question) if self._goes_as_head(request) else self._fill(question))

    def _goes_as_head(self, request: Request) -> bool:
        """HEAD goes on as it is; for a document it is asked by GET, or its answer could not be judged."""
        return request.method == "HEAD" and not self._rules.of(request).is_gated

    async def _ask_by_head(self, question: Question) -> Answer:
        """A HEAD goes to the origin as it is; when that fails it is answered as a GET would be."""
        answer = await self._forwarder.send(question.request, question.forward, None, question.interim)
        if not is_failure(answer.outcome.status):
            return answer
        seconds = answer.outcome.upstream_seconds or 0.0
        if isinstance(answer, Refusal):
            return await self._instead(question, Failed(answer.problem, None, seconds), collapsed=False)
        assert isinstance(answer, Streaming)
        problem = Problem(Slug.ORIGIN_UNREACHABLE, f"The origin answered {answer.head.status}.")
        given = await self._instead(question, Failed(problem, answer, seconds, answer.head.status), collapsed=False)
        if given is not answer:
            answer.response.close()
        return given

    async def _fill(self, question: Question) -> Answer:
        if not question.is_shareable or self._goes_alone(question):
            return await self._lead(question, shared=False)
        flight = self._flights.joinable(question.key, self._generations.latest)
        if self._refresher.gives_way(question.key) or flight is None:
            return await self._lead(question, shared=True)
        self._observer.collapsed()
        end = await self._flights.end_of(flight)
        return await (self._fill(question) if end is None else self._follow(question, end))

    def _goes_alone(self, question: Question) -> bool:
        """Keys known not to be storable, and ranges of large bodies, are nobody else's business."""
        return self._flights.is_uncollapsed(question.key) or self._wants_range(question)

    def _wants_range(self, question: Question) -> bool:
        is_gated = self._rules.of(question.request).is_gated
        return question.stored is None and not is_gated and "range" in question.request.fields

    def _sends_conditions(self, question: Question) -> bool:
        """The client's own conditions travel only where no stored response could answer them."""
        if question.stored is not None or self._rules.of(question.request).is_gated:
            return False
        has_conditions = any(name in question.request.fields for name in CLIENT_CONDITIONS)
        return has_conditions and self._goes_alone(question)

    async def _lead(self, question: Question, *, shared: bool) -> Answer:
        ask = Ask(
            request=replace(question.request, method="GET"),
            rules=self._rules.of(question.request),
            generation=self._generations.latest,
            forward=question.forward,
            reason="miss" if question.stored is None else "revalidate",
            stored=question.stored,
            interim=question.interim,
            with_conditions=self._sends_conditions(question),
        )
        flight = self._flights.start(
            question.key, ask.generation, lambda: self._filler.fill(ask), led=True, shared=shared
        )
        try:
            end = await flight.end()
        except BaseException:
            self._flights.abandon(flight)
            raise
        if self._is_overtaken(question, end):
            return await self._look_up(question.request, question.interim, is_repeated=True)
        return await self._ended(question, end, collapsed=False)

    def _is_overtaken(self, question: Question, end: FillEnd) -> bool:
        """Whether a purge came after this answer was asked for: it is not served any more."""
        return isinstance(end, Filled) and self._outage.is_purged(end.stored) and not question.is_repeated

    async def _follow(self, question: Question, end: FillEnd) -> Answer:
        """What a fill that somebody else caused makes of this request: decide again with its own fields."""
        if isinstance(end, Failed):
            return await self._ended(question, end, collapsed=True)
        if isinstance(end, NotStorable):
            return await self._lead(question, shared=False)
        if self._is_overtaken(question, end):
            return await self._look_up(question.request, question.interim, is_repeated=True)
        variants = (*self._store.peek(question.request.target.uri), end.stored)
        decision = decide(question.request, question.directives, variants, self._clock())
        if isinstance(decision, Hit | StaleHit):
            return self._filled(question, end, decision.stored, collapsed=True)
        return await self._lead(question, shared=False)

    async def _ended(self, question: Question, end: FillEnd, *, collapsed: bool) -> Answer:
        if isinstance(end, Failed):
            return await self._instead(question, end, collapsed=collapsed)
        self._holdoffs.succeeded(question.key)
        if isinstance(end, NotStorable):
            return end.answer
        answer = self._filled(question, end, end.stored, collapsed=collapsed)
        return replace(answer, head=replace(answer.head, fields=answer.head.fields.plus(*end.for_leader)))

    async def _instead(self, question: Question, end: Failed, *, collapsed: bool) -> Answer:
        """The answer to what the origin failed to answer; once more if it has answered somebody meanwhile."""
        answer = await self._outage.instead(question, end, collapsed=collapsed)
        return answer or await self._look_up(question.request, question.interim, is_repeated=True)

    def _filled(self, question: Question, end: Filled, stored: StoredResponse, *, collapsed: bool) -> Complete:
        now = self._clock()
        status = CacheStatus(
            forward=question.forward,
            forward_status=end.forward_status,
            ttl=ttl(stored, now),
            stored=end.kept and not collapsed and end.forward_status != 304,
            collapsed=collapsed,
        )
        served = Served.MISS if question.stored is None else Served.EXPIRED
        if end.forward_status == 304:
            served = Served.REVALIDATED
        return from_store(question.request, stored, status, served, now, end.upstream_seconds)

    def _fresh(self, request: Request, stored: StoredResponse, now: float) -> Complete:
        return from_store(request, stored, CacheStatus(hit=True, ttl=ttl(stored, now)), Served.FRESH, now)

    def _behind(self, request: Request, stored: StoredResponse, served: Served, detail: str | None) -> Complete:
        """`stored` at once, stale as it is; the origin is asked behind the answer."""
        now = self._clock()
        return from_store(request, stored, CacheStatus(hit=True, ttl=ttl(stored, now), detail=detail), served, now)
