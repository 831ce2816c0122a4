"""Asking the origin on behalf of everybody who wants the same document: send, judge the answer, store.

A failed answer leaves what is stored alone (contract 4.2): a transport error, an incomplete body, a 5xx to a
request that had a stored response to fall back on, a body that is not the document its class declares.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from proxy.caching.directives import NO_REQUEST_DIRECTIVES, parse_response_directives
from proxy.caching.reuse import Forward, stale_permit
from proxy.caching.serving import CacheStatus
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import NotStored, NotStoredReason, Storable, may_store
from proxy.caching.validation import Freshened, NotOurs, conditional_request, fill_request, freshen
from proxy.engine.acceptance import Refused, accept, is_held_to_format, too_large_for
from proxy.engine.answers import forwarded
from proxy.engine.collapse import NO_FIELDS, Failed, Filled, FillEnd, NotStorable
from proxy.engine.outcome import Complete, Outcome, Served, Streaming
from proxy.engine.places import Places
from proxy.engine.settings import ClassRules, EngineSettings
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead, received
from proxy.http.problems import Problem, Slug
from proxy.ports import (
    Clock,
    Interim,
    Observer,
    Origin,
    OriginFault,
    OriginResponse,
    OriginUnavailable,
    Overflow,
)
from proxy.stores.tiered import Tiered
from proxy.stores.variants import variant_of

# Answers that say "not to you, not now": they go to the client and leave the stored response alone (rule C-17).
LEAVES_STORED = frozenset({401, 403, 406, 407, 408, 425, 429})
# Answers to a client's own conditions and Range; stored, they would answer those who sent none.
_OF_CONDITIONS = frozenset({412, 416})
# Why an answer is not stored that says nothing of what other clients may be served.
_OWN_REASONS = frozenset({NotStoredReason.AUTHORIZATION, NotStoredReason.REQUEST_NO_STORE, NotStoredReason.PARTIAL})


def is_failure(status: int) -> bool:
    """A 5xx that speaks of the server's state rather than of the resource; 501 speaks of the method."""
    return status >= 500 and status != 501


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the origin. `stored` is what its answer would renew, `reason` names it in metrics.

    With `own`, the client's conditions and Range go along and a 304 or 206 is its own to have.
    """

    request: Request
    rules: ClassRules
    generation: int
    forward: Forward
    reason: str
    stored: StoredResponse | None = None
    interim: Interim | None = None
    own: bool = False

    @property
    def key(self) -> str:
        """The primary cache key."""
        return self.request.target.uri


class Filler:
    """Sends fills and revalidations and stores what comes of them."""

    def __init__(
        self, origin: Origin, store: Tiered, observer: Observer, clock: Clock, settings: EngineSettings
    ) -> None:
        self._origin = origin
        self._store = store
        self._observer = observer
        self._clock = clock
        self._settings = settings
        self._places = Places(settings.fills_per_origin, settings.fill_patience)

    async def fill(self, ask: Ask) -> FillEnd:
        """The end of one fill; every failure is a value."""
        started = self._clock()
        try:
            async with self._places.place(ask.request.target.origin):
                end = await self._ask(ask, started)
        except OriginUnavailable as error:
            self._observer.upstream(ask.reason, error.fault, self._clock() - started)
            return Failed(problem_of(error), None, self._clock() - started)
        except Refused as refused:
            self._observer.upstream(ask.reason, refused.problem.slug, self._clock() - started)
            return Failed(refused.problem, None, self._clock() - started)
        self._observer.upstream(ask.reason, _result(end), self._clock() - started)
        return end

    async def _ask(self, ask: Ask, started: float) -> FillEnd:
        """Ask once, or once more without a condition when a 304 turns out not to be ours."""
        end = await self._exchange(ask, started)
        if end is None:
            end = await self._exchange(replace(ask, stored=None), started, replaced=ask.stored)
        if end is None:
            raise OriginUnavailable(
                OriginFault.INVALID_RESPONSE, "The origin answered 304 to a request without a condition."
            )
        return end

    async def _exchange(self, ask: Ask, started: float, replaced: StoredResponse | None = None) -> FillEnd | None:
        sent = ask.request if ask.own else fill_request(ask.request, ask.rules.checkable)
        if ask.stored is not None and ask.stored.has_validator:
            sent = conditional_request(sent, ask.stored)
        response = await self._origin.fetch(sent, None, ask.interim)
        with closing_on_error(response):
            head = received(response.head, response.exchange.response_time)
            if head.status == 304:
                response.close()
                if ask.own:
                    return NotStorable(self._own_answer(ask, head, b"", started, "not-modified"))
                return self._not_modified(ask, sent, response, head, started)
            old = ask.stored or replaced
            if is_failure(head.status) and old is not None:
                return await self._failure(ask, response, head, started)
            return await self._answered(ask, sent, response, head, started, old)

    def _not_modified(
        self, ask: Ask, sent: Request, response: OriginResponse, head: ResponseHead, started: float
    ) -> FillEnd | None:
        if ask.stored is None:
            return None
        limit = self._settings.max_fields
        result = freshen(ask.stored, sent, head, response.exchange, ask.rules.storage, ask.generation, limit)
        if isinstance(result, NotOurs):
            return None
        kept = self._publish(ask, result, head, ask.stored)
        return Filled(result.stored, 304, self._clock() - started, kept, _unstored(head))

    def _publish(self, ask: Ask, result: Freshened, head: ResponseHead, old: StoredResponse) -> bool:
        if result.withdrawn is None:
            return self._put(ask.key, result.stored, old)
        self._withdraw(ask, result.withdrawn, head, old)
        return False

    def _put(self, key: str, stored: StoredResponse, old: StoredResponse | None) -> bool:
        kept = not self._is_overtaken(key, stored) and self._store.put(key, stored)
        if old is not None and (old.vary, old.selecting) != (stored.vary, stored.selecting):
            self._store.discard(key, old)
        return kept

    def _is_overtaken(self, key: str, stored: StoredResponse) -> bool:
        """Whether an answer asked for later is there already: versions never go backwards (contract 4.11)."""
        now = self._clock()
        return any(
            stored.exchange.request_time < held.exchange.request_time <= now
            for held in self._store.peek(key)
            if variant_of(held) == variant_of(stored)
        )

    async def _failure(self, ask: Ask, response: OriginResponse, head: ResponseHead, started: float) -> Failed:
        body = await response.read(self._settings.max_body)
        response.close()
        problem = Problem(Slug.ORIGIN_UNREACHABLE, f"The origin answered {head.status}.")
        answer = None if isinstance(body, Overflow) else self._own_answer(ask, head, body, started, "origin-error")
        return Failed(problem, answer, self._clock() - started)

    async def _answered(
        self,
        ask: Ask,
        sent: Request,
        response: OriginResponse,
        head: ResponseHead,
        started: float,
        old: StoredResponse | None,
    ) -> FillEnd:
        verdict = may_store(sent, head, response.exchange, ask.rules.storage, ask.generation)
        if isinstance(verdict, Storable) and self._is_for_one(ask, head, old):
            return self._passed_on(ask, response, head, b"", started, "not-for-others")
        if isinstance(verdict, NotStored) and not is_held_to_format(ask.rules, head.status):
            self._withdraw(ask, verdict, head, old)
            return self._passed_on(ask, response, head, b"", started, verdict.reason)
        body = await self._read(ask, response, head)
        if isinstance(body, Overflow):
            self._discard(ask, old)
            return self._passed_on(ask, response, head, body.read, started, "larger-than-max-body")
        response.close()
        accept(ask.rules, head, body)
        if isinstance(verdict, NotStored):
            self._withdraw(ask, verdict, head, old)
            return NotStorable(self._own_answer(ask, head, body, started, verdict.reason))
        return self._stored(ask, verdict, body, head, started, old)

    def _withdraw(self, ask: Ask, verdict: NotStored, head: ResponseHead, old: StoredResponse | None) -> None:
        """An answer that may not be stored also ends what is (case B12), unless it is due to this one client."""
        is_for_all = verdict.reason not in _OWN_REASONS and "authorization" not in ask.request.fields
        if is_for_all and head.status not in LEAVES_STORED:
            self._discard(ask, old)

    def _discard(self, ask: Ask, old: StoredResponse | None) -> None:
        if old is not None:
            self._store.discard(ask.key, old)

    def _is_for_one(self, ask: Ask, head: ResponseHead, old: StoredResponse | None) -> bool:
        """Whether an answer, though storable, is none for others: they keep `old` while it can be served."""
        if ask.own and head.status in _OF_CONDITIONS:
            return True
        if old is None or head.status not in LEAVES_STORED:
            return False
        now, outage = self._clock(), self._settings.outage_stale
        return old.is_fresh(now) or stale_permit(old, NO_REQUEST_DIRECTIVES, now, outage).allows

    def _stored(
        self,
        ask: Ask,
        verdict: Storable,
        body: bytes,
        head: ResponseHead,
        started: float,
        old: StoredResponse | None,
    ) -> Filled:
        stored = verdict.with_body(body)
        kept = self._put(ask.key, stored, old)
        return Filled(stored, head.status, self._clock() - started, kept, _unstored(head))

    async def _read(self, ask: Ask, response: OriginResponse, head: ResponseHead) -> bytes | Overflow:
        """The body, or an Overflow to stream past the cache; a document is refused beyond its limit (§14.6)."""
        limit = ask.rules.max_body
        declared = head.fields.get("content-length") or ""
        too_large = declared.isascii() and declared.isdigit() and int(declared) > limit
        body: bytes | Overflow = Overflow(b"") if too_large else await response.read(limit)
        if isinstance(body, Overflow) and is_held_to_format(ask.rules, head.status):
            raise too_large_for(ask.rules)
        return body

    def _passed_on(
        self, ask: Ask, response: OriginResponse, head: ResponseHead, read: bytes, started: float, why: str
    ) -> NotStorable:
        marked, outcome = self._mark(ask, head, started, why)
        return NotStorable(Streaming(marked, read, response, outcome))

    def _own_answer(self, ask: Ask, head: ResponseHead, body: bytes, started: float, why: str) -> Complete:
        marked, outcome = self._mark(ask, head, started, why)
        return Complete(marked, body, outcome)

    def _mark(self, ask: Ask, head: ResponseHead, started: float, why: str) -> tuple[ResponseHead, Outcome]:
        status = CacheStatus(forward=ask.forward, forward_status=head.status, detail=why)
        served = Served.EXPIRED if ask.stored is not None else Served.MISS
        return forwarded(ask.request, ask.rules, head, status, served, self._clock() - started, self._clock())


def _unstored(head: ResponseHead) -> Fields:
    """The lines that go to the client of this exchange and to nobody else."""
    names = parse_response_directives(head.fields).withheld | {"set-cookie"}
    if not any(name in head.fields for name in names):
        return NO_FIELDS
    return head.fields.where(lambda name, _: name.lower() in names)


@contextmanager
def closing_on_error(response: OriginResponse) -> Iterator[None]:
    """Let go of `response` when the block fails."""
    try:
        yield
    except BaseException:
        response.close()
        raise


def problem_of(error: OriginUnavailable) -> Problem:
    """The problem a client sees for a failed exchange."""
    return Problem(Slug(error.fault.value), error.detail)


def _result(end: FillEnd) -> str:
    if isinstance(end, Filled):
        return "not-modified" if end.forward_status == 304 else "stored"
    return "error-status" if isinstance(end, Failed) else "not-stored"
