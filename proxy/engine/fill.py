"""Asking the origin on behalf of everybody who wants the same document: send, judge the answer, store.

A failed answer leaves what is stored alone: a transport error, an incomplete body, a 5xx to a
request that had a stored response to fall back on, a body that is not the document its class declares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from proxy.caching.directives import NO_REQUEST_DIRECTIVES
from proxy.caching.reuse import Forward, stale_permit
from proxy.caching.serving import CacheStatus
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import NotStored, Storable, may_store
from proxy.caching.validation import NotOurs, conditional_request, fill_request, freshen
from proxy.caching.vouching import Vouching
from proxy.engine.acceptance import Refused, accept, is_held_to_format, too_large_for
from proxy.engine.answers import forwarded
from proxy.engine.collapse import Failed, Filled, FillEnd, NotStorable
from proxy.engine.exchanges import LEAVES_STORED, Unanswered, closing_on_error, is_failure, problem_of, unstored
from proxy.engine.neutral import OF_ONE_CLIENT, Confirming, keeping_of
from proxy.engine.outcome import Complete, Outcome, Served, Streaming
from proxy.engine.places import Places
from proxy.engine.relocation.hearing import Heard, Hearing
from proxy.engine.settings import ClassRules
from proxy.engine.state import EngineState
from proxy.engine.vouching import Document, Keeping, Voucher
from proxy.http.fields import Fields
from proxy.http.messages import Realm, Request, ResponseHead, received
from proxy.http.problems import Problem, Slug
from proxy.ports import Interim, Origin, OriginFault, OriginResponse, OriginUnavailable, Overflow
from proxy.stores.variants import variant_of

# Answers to a client's own conditions and Range; stored, they would answer those who sent none.
_OF_CONDITIONS = frozenset({412, 416})
# What shows that an origin is up, whoever asks; another answer may be due to one client's fields.
_OF_DOCUMENTS = frozenset({200, 203, 206, 304})


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the origin. `stored` is what its answer would renew, `reason` names it in metrics.

    `with_conditions`: the client's own conditions and Range go along, and a 304 or 206 is the client's to have.
    """

    request: Request
    rules: ClassRules
    generation: int
    forward: Forward
    reason: str
    stored: StoredResponse | None = None
    interim: Interim | None = None
    with_conditions: bool = False

    @property
    def key(self) -> str:
        """The primary cache key."""
        return self.request.target.uri


@dataclass(frozen=True, slots=True)
class _Received:
    """An answer whose head has come: to which question, to which request, instead of which stored response."""

    ask: Ask
    sent: Request
    response: OriginResponse
    head: ResponseHead
    started: float
    old: StoredResponse | None
    heard: Heard


class _NotOurs:
    """A 304 that says nothing of what is stored."""


class Filler:
    """Sends fills and revalidations and stores what comes of them."""

    def __init__(
        self, state: EngineState, origin: Origin, hearing: Hearing, voucher: Voucher | None = None
    ) -> None:
        self._origin = origin
        self._hearing = hearing
        self._voucher = voucher
        self._store = state.store
        self._copies = state.copies
        self._observer = state.observer
        self._clock = state.clock
        self._settings = state.settings
        self._confirming = None if voucher is None else Confirming(state, origin, voucher)
        self._places = Places(state.settings.fills_per_origin, state.settings.fill_patience)

    async def fill(self, ask: Ask) -> FillEnd:
        """The end of one fill; every failure is a value."""
        started = self._clock()
        try:
            async with self._places.place(ask.request.target.origin):
                end = await self._ask(ask, started)
        except Unanswered as unanswered:
            return replace(self._failed(ask, problem_of(unanswered.error), started), is_unanswered=True)
        except OriginUnavailable as error:
            return self._failed(ask, problem_of(error), started)
        except Refused as refused:
            if ask.request.is_ours:
                self._copies.answered(ask.key)
            return self._failed(ask, refused.problem, started)
        self._observer.upstream(ask.reason, _result(end), self._clock() - started)
        if not isinstance(end, Failed) and (ask.request.is_ours or _status(end) in _OF_DOCUMENTS):
            self._copies.answered(ask.key)
        return end

    def _failed(self, ask: Ask, problem: Problem, started: float) -> Failed:
        seconds = self._clock() - started
        self._observer.upstream(ask.reason, problem.slug, seconds)
        return Failed(problem, None, seconds)

    async def _ask(self, ask: Ask, started: float) -> FillEnd:
        """Ask once, or once more without a condition when a 304 turns out not to be ours."""
        end = await self._exchange(ask, started)
        if isinstance(end, _NotOurs):
            end = await self._exchange(replace(ask, stored=None), started, replaced=ask.stored)
        if isinstance(end, _NotOurs):
            raise OriginUnavailable(
                OriginFault.INVALID_RESPONSE, "The origin answered 304 to a request without a condition."
            )
        return end

    async def _exchange(
        self, ask: Ask, started: float, replaced: StoredResponse | None = None
    ) -> FillEnd | _NotOurs:
        sent = ask.request if ask.with_conditions else fill_request(ask.request, ask.rules.checkable)
        if ask.stored is not None and ask.stored.has_validator:
            sent = conditional_request(sent, ask.stored)
        try:
            response = await self._origin.fetch(sent, None, ask.interim)
        except OriginUnavailable as error:
            raise Unanswered(error) from error
        with closing_on_error(response):
            head = received(response.head, response.exchange.response_time)
            heard = await self._hearing.hear(ask.request, head, response.exchange)
            got = _Received(ask, sent, response, head, started, ask.stored or replaced, heard)
            if head.status == 304:
                response.close()
                return await self._not_modified(got)
            if is_failure(head.status) and (got.old is not None or ask.rules.has_copies):
                return await self._failure(got)
            return await self._answered(got)

    async def _not_modified(self, got: _Received) -> FillEnd | _NotOurs:
        ask = got.ask
        if ask.with_conditions:
            return NotStorable(self._whole(got, b"", "not-modified"))
        if ask.stored is None:
            return _NotOurs()
        limit, rules = self._settings.max_fields, ask.rules.storage
        result = freshen(ask.stored, got.sent, got.head, got.response.exchange, rules, ask.generation, limit)
        if isinstance(result, NotOurs):
            return _NotOurs()
        stored = await self._vouched(got, result.stored, keeping_of(result.withdrawn))
        kept = self._publish(got, stored, result.withdrawn)
        return Filled(stored, 304, self._clock() - got.started, kept, unstored(got.head))

    async def _vouched(self, got: _Received, stored: StoredResponse, keeping: Keeping) -> StoredResponse:
        """`stored` with what its signature is worth."""
        vouching = await self._vouching(got, stored.status, stored.fields, stored.body, keeping)
        return stored if vouching is None else replace(stored, vouching=vouching)

    async def _vouching(
        self, got: _Received, status: int, fields: Fields, body: bytes, keeping: Keeping
    ) -> Vouching | None:
        request = got.ask.request
        if self._voucher is None or request.realm is Realm.LOCAL:
            return None
        assert self._confirming is not None
        keeping = await self._confirming.keeping(request, got.ask.rules, got.ask.generation, keeping)
        document = Document(request.target, got.ask.rules.document_class, status, fields, body)
        return await self._voucher.vouch(document, keeping)

    def _publish(self, got: _Received, stored: StoredResponse, withdrawn: NotStored | None) -> bool:
        if withdrawn is None:
            return self._put(got, stored)
        self._withdraw(got, withdrawn)
        return False

    def _put(self, got: _Received, stored: StoredResponse) -> bool:
        is_late = self._is_overtaken(got.ask.key, stored) or self._hearing.is_gone(got.ask.request.target)
        kept = not is_late and self._store.put(got.ask.key, stored)
        if got.old is not None and variant_of(got.old) != variant_of(stored):
            self._store.discard(got.ask.key, got.old)
        return kept

    def _is_overtaken(self, key: str, stored: StoredResponse) -> bool:
        """Whether an answer asked for later is there already: versions never go backwards."""
        now = self._clock()
        return any(
            stored.exchange.request_time < held.exchange.request_time <= now
            for held in self._store.peek(key)
            if variant_of(held) == variant_of(stored)
        )

    async def _failure(self, got: _Received) -> Failed:
        status = got.head.status
        try:
            body = await got.response.read(self._settings.max_body)
        except OriginUnavailable:
            body = Overflow(b"")
        got.response.close()
        problem = Problem(Slug.ORIGIN_UNREACHABLE, f"The origin answered {status}.")
        answer = None if isinstance(body, Overflow) else self._whole(got, body, "origin-error")
        return Failed(problem, answer, self._clock() - got.started, status)

    async def _answered(self, got: _Received) -> FillEnd:
        ask, head = got.ask, got.head
        if got.heard is Heard.FOR_ONE:
            return self._passed_on(got, b"", "not-for-others")
        if self._confirming is not None and not ask.with_conditions:
            is_known = got.heard is Heard.FOR_ALL
            await self._confirming.withdraws(ask.request, ask.rules, head.status, is_known=is_known)
        verdict = may_store(got.sent, head, got.response.exchange, ask.rules.storage, ask.generation)
        if isinstance(verdict, Storable) and self._is_for_one(got):
            return self._passed_on(got, b"", "not-for-others")
        if isinstance(verdict, NotStored) and not is_held_to_format(ask.rules, head.status):
            self._withdraw(got, verdict)
            return self._passed_on(got, b"", verdict.reason)
        body = await self._read(got)
        if isinstance(body, Overflow):
            self._discard(got)
            return self._passed_on(got, body.read, "larger-than-max-body")
        got.response.close()
        accept(ask.rules, head, body)
        if isinstance(verdict, NotStored):
            self._withdraw(got, verdict)
            vouching = await self._vouching(got, head.status, head.fields, body, keeping_of(verdict))
            return NotStorable(self._whole(got, body, verdict.reason, vouching))
        stored = await self._vouched(got, verdict.with_body(body), Keeping.MAY)
        kept = self._put(got, stored)
        return Filled(stored, head.status, self._clock() - got.started, kept, unstored(head))

    def _withdraw(self, got: _Received, verdict: NotStored) -> None:
        """An answer that may not be stored also ends what is, unless it is due to this one client."""
        is_for_all = verdict.reason not in OF_ONE_CLIENT and "authorization" not in got.ask.request.fields
        if is_for_all and got.head.status not in LEAVES_STORED:
            self._discard(got)

    def _discard(self, got: _Received) -> None:
        if got.old is not None:
            self._store.discard(got.ask.key, got.old)

    def _is_for_one(self, got: _Received) -> bool:
        """Whether an answer, though storable, is none for others: they keep what is stored while it can serve."""
        if got.ask.with_conditions and got.head.status in _OF_CONDITIONS:
            return True
        if got.old is None or got.head.status not in LEAVES_STORED:
            return False
        now, outage = self._clock(), self._settings.outage_stale
        return got.old.is_fresh(now) or stale_permit(got.old, NO_REQUEST_DIRECTIVES, now, outage).allows

    async def _read(self, got: _Received) -> bytes | Overflow:
        """The body, or an Overflow to stream past the cache; a document is refused beyond its limit."""
        rules, head = got.ask.rules, got.head
        declared = head.fields.get("content-length") or ""
        too_large = declared.isascii() and declared.isdigit() and int(declared) > rules.max_body
        body: bytes | Overflow = Overflow(b"") if too_large else await got.response.read(rules.max_body)
        if isinstance(body, Overflow) and is_held_to_format(rules, head.status):
            raise too_large_for(rules)
        return body

    def _passed_on(self, got: _Received, read: bytes, why: str) -> NotStorable:
        marked, outcome = self._mark(got, why)
        return NotStorable(Streaming(marked, read, got.response, outcome))

    def _whole(self, got: _Received, body: bytes, why: str, vouching: Vouching | None = None) -> Complete:
        marked, outcome = self._mark(got, why, vouching)
        return Complete(marked, body, outcome)

    def _mark(self, got: _Received, why: str, vouching: Vouching | None = None) -> tuple[ResponseHead, Outcome]:
        ask, now = got.ask, self._clock()
        status = CacheStatus(forward=ask.forward, forward_status=got.head.status, detail=why)
        served = Served.EXPIRED if ask.stored is not None else Served.MISS
        return forwarded(ask.request, ask.rules, got.head, status, served, now - got.started, now, vouching)


def _status(end: Filled | NotStorable) -> int:
    return end.forward_status if isinstance(end, Filled) else end.answer.head.status


def _result(end: FillEnd) -> str:
    if isinstance(end, Filled):
        return "not-modified" if end.forward_status == 304 else "stored"
    return "error-status" if isinstance(end, Failed) else "not-stored"
