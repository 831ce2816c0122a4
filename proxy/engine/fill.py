"""Asking the origin on behalf of everybody who wants the same document: send, judge the answer, store.

A failed answer leaves what is stored alone (contract 4.2): a transport error, an incomplete body, a 5xx to a
request that had a stored response to fall back on, a body that is not the document its class declares.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from proxy.caching.reuse import Forward
from proxy.caching.serving import CacheStatus, trust_field, with_proxy_fields
from proxy.caching.stored import StoredResponse
from proxy.caching.storing import NotStored, Storable, may_store
from proxy.caching.validation import Freshened, NotOurs, conditional_request, fill_request, freshen
from proxy.discovery.classes import DocumentClass
from proxy.discovery.gate import NotADocument, gate
from proxy.engine.collapse import Failed, Filled, FillEnd, NotStorable
from proxy.engine.outcome import Complete, Outcome, Served, Streaming
from proxy.engine.settings import ClassRules, EngineSettings
from proxy.http.codings import CodingFault, decode_body, is_complete
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

# Answers that say "not to you, not now": they go to the client and leave the stored response alone (rule C-17).
_LEAVES_STORED = frozenset({401, 403, 406, 407, 408, 425, 429})
# A decoded document may be this many times its class's limit before it counts as a decompression bomb.
_EXPANSION = 16


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


class _Refused(Exception):
    """The origin answered, but not with something that can be used."""

    def __init__(self, problem: Problem, status: int) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.status = status


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

    async def fill(self, ask: Ask) -> FillEnd:
        """Ask once, or once more without a condition when a 304 turns out not to be ours."""
        started = self._clock()
        try:
            end = await self._exchange(ask, started)
            if end is None:
                end = await self._exchange(replace(ask, stored=None), started, replaced=ask.stored)
            if end is None:
                raise OriginUnavailable(
                    OriginFault.INVALID_RESPONSE, "The origin answered 304 to a request without a condition."
                )
        except OriginUnavailable as error:
            self._observer.upstream(ask.reason, error.fault, self._clock() - started)
            return Failed(problem_of(error), None, self._clock() - started)
        except _Refused as refused:
            self._observer.upstream(ask.reason, refused.problem.slug, self._clock() - started)
            return Failed(refused.problem, None, self._clock() - started)
        self._observer.upstream(ask.reason, _result(end), self._clock() - started)
        return end

    async def _exchange(self, ask: Ask, started: float, replaced: StoredResponse | None = None) -> FillEnd | None:
        sent = ask.request if ask.own else fill_request(ask.request, ask.rules.checkable)
        if ask.stored is not None and ask.stored.has_validator:
            sent = conditional_request(sent, ask.stored)
        response = await self._origin.fetch(sent, None, ask.interim)
        with _closing_on_error(response):
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
        kept = self._publish(ask.key, result, ask.stored)
        return Filled(result.stored, 304, self._clock() - started, kept)

    def _publish(self, key: str, result: Freshened, old: StoredResponse) -> bool:
        if result.withdrawn is not None:
            self._store.discard(key, old)
            return False
        return self._put(key, result.stored, old)

    def _put(self, key: str, stored: StoredResponse, old: StoredResponse | None) -> bool:
        kept = self._store.put(key, stored)
        if old is not None and (old.vary, old.selecting) != (stored.vary, stored.selecting):
            self._store.discard(key, old)
        return kept

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
        is_gated = ask.rules.is_gated and head.status == 200
        if isinstance(verdict, NotStored):
            if old is not None and head.status not in _LEAVES_STORED:
                self._store.discard(ask.key, old)
            if not is_gated:
                return self._passed_on(ask, response, head, b"", started, verdict.reason)
        body = await self._read(ask, response, head)
        if isinstance(body, Overflow):
            return self._passed_on(ask, response, head, body.read, started, "larger-than-max-body")
        response.close()
        _check_coding(head, body, ask.rules.max_body, gated=is_gated)
        if is_gated:
            _check_kind(ask.rules.document_class, head, body, ask.rules.max_body)
        if isinstance(verdict, NotStored):
            return NotStorable(self._own_answer(ask, head, body, started, verdict.reason))
        return self._stored(ask, verdict, body, head, started, old)

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
        return Filled(stored, head.status, self._clock() - started, self._put(ask.key, stored, old))

    async def _read(self, ask: Ask, response: OriginResponse, head: ResponseHead) -> bytes | Overflow:
        """The body, an Overflow for class `other`; any other class is refused beyond its limit (§14.6)."""
        limit = ask.rules.max_body
        declared = head.fields.get("content-length") or ""
        too_large = declared.isascii() and declared.isdigit() and int(declared) > limit
        body: bytes | Overflow = Overflow(b"") if too_large else await response.read(limit)
        if isinstance(body, Overflow) and ask.rules.is_gated:
            raise _Refused(too_large_problem(ask.rules.document_class, limit), head.status)
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


def forwarded(
    request: Request,
    rules: ClassRules,
    head: ResponseHead,
    status: CacheStatus,
    served: Served,
    upstream_seconds: float,
    now: float,
) -> tuple[ResponseHead, Outcome]:
    """An origin's own head, marked as ours to pass on, and the outcome that tells of it."""
    marked = with_proxy_fields(head, status)
    if rules.document_class is not DocumentClass.OTHER:
        marked = replace(marked, fields=marked.fields.plus(trust_field(request.target.scheme, now)))
    outcome = Outcome(
        served=served,
        status=head.status,
        target=request.target,
        document_class=rules.document_class,
        cache_status=status.serialise(),
        upstream_seconds=upstream_seconds,
        detail=status.detail,
    )
    return marked, outcome


@contextmanager
def _closing_on_error(response: OriginResponse) -> Iterator[None]:
    try:
        yield
    except BaseException:
        response.close()
        raise


def _check_coding(head: ResponseHead, body: bytes, limit: int, *, gated: bool) -> None:
    """A cut or corrupt coding is an incomplete response (contract 4.5); one we cannot read only matters to a gate."""
    fault = is_complete(head.fields.get("content-encoding"), body, limit * _EXPANSION)
    if fault is None or (not gated and fault in (CodingFault.UNKNOWN_CODING, CodingFault.TOO_LARGE)):
        return
    detail = f"The body does not decode by its Content-Encoding: {fault}."
    raise _Refused(Problem(Slug.ORIGIN_INVALID_RESPONSE, detail), head.status)


def _check_kind(document_class: DocumentClass, head: ResponseHead, body: bytes, limit: int) -> None:
    """Contract 4.8: only a document of the declared format is an answer."""
    decoded = decode_body(head.fields.get("content-encoding"), body, limit)
    if isinstance(decoded, CodingFault):
        raise _Refused(too_large_problem(document_class, limit), head.status)
    verdict = gate(document_class, head.fields.get("content-type"), decoded)
    if isinstance(verdict, NotADocument):
        members = {"class": document_class.value, "reason": verdict.reason.value}
        raise _Refused(Problem(Slug.NOT_A_DOCUMENT, verdict.detail, members), head.status)


def too_large_problem(document_class: DocumentClass, limit: int) -> Problem:
    """§14.6: over its class limit."""
    detail = f"The origin's {document_class.value} document is larger than {limit} bytes."
    return Problem(Slug.TOO_LARGE, detail, {"limit": limit, "class": document_class.value})


def problem_of(error: OriginUnavailable) -> Problem:
    """The problem a client sees for a failed exchange."""
    return Problem(Slug(error.fault.value), error.detail)


def _result(end: FillEnd) -> str:
    if isinstance(end, Filled):
        return "not-modified" if end.forward_status == 304 else "stored"
    return "error-status" if isinstance(end, Failed) else "not-stored"
