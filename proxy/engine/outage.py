"""What is answered while an origin fails: what is stored of it as far as it allows, else what others keep for its
publisher, else why there is nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from proxy.caching.directives import RequestDirectives
from proxy.caching.generations import Purged, standing
from proxy.caching.reuse import Forward, stale_permit
from proxy.caching.serving import CacheStatus, ttl
from proxy.caching.stored import StoredResponse
from proxy.engine.answers import attempt_of, from_store, refusal
from proxy.engine.collapse import Failed
from proxy.engine.neutral import Neutral
from proxy.engine.outcome import Answer, Complete, Refusal, Served
from proxy.engine.question import Question
from proxy.engine.state import EngineState
from proxy.http.messages import Request
from proxy.http.problems import Problem, Slug

# What is no outage, though nothing usable came: policy refused, or something else than the document was sent.
_UNREACHED: Final = frozenset({Slug.ORIGIN_UNREACHABLE, Slug.ORIGIN_TIMEOUT})
# What policy refuses, and what the origin has said and could not be recorded: nothing stands in for it.
_NO_OUTAGE: Final = frozenset({Slug.EGRESS_DENIED, Slug.INTERNAL})
_DOWN: Final = frozenset({500, 502, 503, 504})
_NOTHING_STANDS_IN: Final = Problem(
    Slug.ORIGIN_UNREACHABLE, "The origin did not answer before, and nothing that is stored may stand in for it."
)
_NO_TRUSTED_COPY: Final = (
    "The origin does not answer, and none of the places that its publisher named has a copy that may be trusted."
)


@dataclass(frozen=True, slots=True)
class NoCopy:
    """Nobody had a copy that may be trusted; what became of each place, as answers have it."""

    attempts: tuple[dict[str, object], ...]


@dataclass(frozen=True, slots=True)
class OriginAnswered:
    """While a copy was looked for the origin has answered, and its word counts."""


Found = StoredResponse | NoCopy | OriginAnswered | None
"""What a search comes to; None where no place is known that keeps a copy."""


class Failover(Protocol):
    """Finds verified copies of documents whose origin is down."""

    async def find(self, request: Request, *, is_silent: bool) -> Found:
        """A verified copy, from now on held for others; or why there is none. `request` is as for everybody.

        `is_silent`: the origin sent nothing at all, as opposed to an error that may be due to who asked.
        """
        ...

    def prepare(self, request: Request) -> None:
        """Look for a copy behind the scenes."""
        ...

    def is_watching(self, uri: str) -> bool:
        """Whether the origin of `uri` is known to be down, and asked again and again until it answers."""
        ...


class Outage:
    """Answers in place of an origin that fails."""

    def __init__(self, state: EngineState, failover: Failover | None) -> None:
        self._failover = failover
        self._neutral = Neutral(state.settings.agent)
        self._copies = state.copies
        self._holdoffs = state.holdoffs
        self._generations = state.generations
        self._rules = state.rules
        self._clock = state.clock
        self._outage_stale = state.settings.outage_stale

    def is_purged(self, stored: StoredResponse) -> bool:
        """Whether a purge came after it was asked for."""
        latest = self._generations.latest
        return stored.generation < latest and isinstance(standing(stored, self._generations.marks), Purged)

    def permit(self, stored: StoredResponse | None, directives: RequestDirectives) -> str | None:
        """Why the stored response may stand in for a failing origin; None when it may not."""
        if stored is None or self.is_purged(stored):
            return None
        permit = stale_permit(stored, directives, self._clock(), self._outage_stale)
        return permit.value if permit.allows else None

    async def copy(self, request: Request, directives: RequestDirectives) -> Complete | None:
        """A verified copy while the origin is known to be down: one that is at hand and fresh, else another.

        Nobody waits for an origin then that is being asked anyway; but who insists on its word.
        """
        if self._failover is None or not self._failover.is_watching(request.target.uri):
            return None
        copy = self._copies.find(request, directives)
        if copy is not None:
            return self._held(request, copy)
        if directives.no_cache or directives.max_age == 0 or directives.only_if_cached:
            return None
        answer = await self._kept_elsewhere(request, Forward.STALE, None)
        return answer if isinstance(answer, Complete) else None

    def _held(self, request: Request, copy: StoredResponse) -> Complete:
        now = self._clock()
        status = CacheStatus(hit=True, ttl=ttl(copy, now), detail=_source(copy))
        return from_store(request, copy, status, Served(_source(copy)), now)

    async def instead(self, question: Question, end: Failed, *, collapsed: bool) -> Answer | None:
        """The answer to a question that the origin failed to answer; None where it has answered by now.

        Who has asked again for that once is not sent round in circles.
        """
        stored = None if end.problem.slug in _NO_OUTAGE else question.stored
        permit = self.permit(stored, question.directives)
        if permit is not None and stored is not None:
            if not collapsed:
                self._holdoffs.failed(question.key, self._clock())
            if _is_outage(end):
                self.prepare(question.request)
            return self._stale(question.request, stored, permit, end)
        if _is_outage(end):
            copy = await self._kept_elsewhere(question.request, question.forward, end)
            if isinstance(copy, Complete | Refusal):
                return copy
            if isinstance(copy, OriginAnswered) and not question.is_repeated:
                return None
        if end.answer is not None and not collapsed:
            return end.answer
        status = CacheStatus(forward=question.forward, collapsed=collapsed, detail=end.problem.slug)
        document_class = self._rules.of(question.request).document_class
        return refusal(question.request, end.problem, status, document_class, end.upstream_seconds)

    def prepare(self, request: Request) -> None:
        """Look for a copy behind the scenes, for when the stale copy that stands in may do so no longer."""
        if self._failover is not None and self._rules.of(request).has_copies:
            self._failover.prepare(self._neutral.of(request))

    async def without_asking(self, request: Request) -> Complete | Refusal:
        """What others keep, for an origin that is known to fail; it is not asked."""
        copy = await self._kept_elsewhere(request, Forward.STALE, None)
        if isinstance(copy, Complete | Refusal):
            return copy
        document_class = self._rules.of(request).document_class
        return refusal(request, _NOTHING_STANDS_IN, CacheStatus(detail="stand-in"), document_class)

    async def _kept_elsewhere(
        self, request: Request, forward: Forward, end: Failed | None
    ) -> Complete | Refusal | OriginAnswered | None:
        rules = self._rules.of(request)
        if self._failover is None or not rules.has_copies:
            return None
        found = await self._failover.find(self._neutral.of(request), is_silent=_forwarded_status(end) is None)
        if isinstance(found, StoredResponse) and self.is_purged(found):
            return OriginAnswered()
        if found is None or isinstance(found, OriginAnswered):
            return found
        status, seconds = _forwarded_status(end), None if end is None else end.upstream_seconds
        if isinstance(found, NoCopy):
            tried = [] if end is None else [attempt_of(request, end.problem, seconds)]
            members = {"attempts": [*tried, *found.attempts]}
            problem = Problem(Slug.NO_TRUSTED_COPY, _NO_TRUSTED_COPY, members, 503 if status else None)
            told = CacheStatus(forward=forward, forward_status=status, detail=problem.slug)
            return refusal(request, problem, told, rules.document_class, seconds)
        now = self._clock()
        told = CacheStatus(forward=forward, forward_status=status, ttl=ttl(found, now), detail=_source(found))
        return from_store(request, found, told, Served(_source(found)), now, seconds)

    def _stale(self, request: Request, stored: StoredResponse, permit: str, end: Failed) -> Complete:
        now = self._clock()
        status = CacheStatus(
            forward=Forward.STALE, forward_status=_forwarded_status(end), ttl=ttl(stored, now), detail=permit
        )
        return from_store(request, stored, status, Served.SIE, now, end.upstream_seconds)


def _is_outage(end: Failed) -> bool:
    """Whether the origin is down (contract §6), as opposed to one that answers in an unusable way."""
    if end.status is not None:
        return end.status in _DOWN
    # One that ends the connection instead of answering is as good as not there.
    is_cut_off = end.is_unanswered and end.problem.slug is Slug.ORIGIN_INVALID_RESPONSE
    return is_cut_off or end.problem.slug in _UNREACHED


def _forwarded_status(end: Failed | None) -> int | None:
    return None if end is None else end.status


def _source(copy: StoredResponse) -> str:
    assert copy.vouching is not None
    return copy.vouching.source
