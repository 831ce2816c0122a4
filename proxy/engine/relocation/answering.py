"""Answers from what is recorded, in place of the origin (CONTRACT §7, §14.15)."""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from typing import Final

from proxy.caching.directives import parse_request_directives
from proxy.caching.serving import CacheStatus
from proxy.caching.vouching import unsigned
from proxy.discovery.classes import DocumentClass
from proxy.engine.answers import forwarded
from proxy.engine.outcome import Complete, Outcome, Refusal, Served
from proxy.engine.relocation.rechecks import Rechecks
from proxy.engine.state import EngineState
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import Realm, Request, ResponseHead
from proxy.http.problems import Problem, Slug
from proxy.http.secrets import masked
from proxy.http.targets import Target, parse_target
from proxy.http.timestamps import timestamp
from proxy.ledgers import Ledger, readable
from proxy.relocation.lookup import Gone, Relocated, answer_of, is_due
from proxy.relocation.records import Record, record_url

_GONE: Final = (
    "The origin says that this is gone for good. Nothing else may stand in for it, a mirror or catalog least."
)
_MOST_MOVES: Final = 5
_MOST_PARSED: Final = 4_096
_PERMANENT: Final = HTTPStatus.PERMANENT_REDIRECT


@lru_cache(_MOST_PARSED)
def _parsed(location: str) -> Target:
    """The target of a recorded URL; the same ones are answered again and again."""
    return parse_target(location)


class Answering:
    """Answers 308 and 410 from the ledger."""

    def __init__(self, state: EngineState, ledger: Ledger, rechecks: Rechecks) -> None:
        self._ledger = ledger
        self._rechecks = rechecks
        self._rules = state.rules
        self._clock = state.clock

    def record(self, url: str) -> Record | None:
        """The record of a URL in normal form. Raises LedgerUnavailable."""
        return self._ledger.get(url)

    def answer(self, request: Request) -> Complete | Refusal | None:
        """The recorded answer, whatever the method; None where the origin, or what it said before, answers."""
        target, record = request.target, self._recorded(request)
        if record is None or not record.is_listed:
            return None
        now = self._clock()
        if is_due(record, now):
            self._rechecks.soon(target, request.realm)
        match answer_of(record, now):
            case Gone() as gone:
                return self._gone(request, record, gone)
            case Relocated(location, ttl) if not parse_request_directives(request.fields).no_cache:
                end = self._end_of(record.url, location, ttl, now)
                if end is not None:
                    return self._moved(request, *end, now)
                # What was moved has been moved back: the origin of one of them knows.
                self._rechecks.soon(target, request.realm, is_wanted=not self._rechecks.has_asked(record.url))
        return None

    def gone(self, request: Request) -> Refusal | None:
        """The recorded refusal, if that is what is recorded."""
        record = self._recorded(request)
        decided = answer_of(record, self._clock())
        return self._gone(request, record, decided) if record and isinstance(decided, Gone) else None

    def _recorded(self, request: Request) -> Record | None:
        """Where records cannot be read the origin is asked, and its word is not passed on before it is recorded."""
        if request.target.scheme != "https" or request.realm is Realm.LOCAL:
            return None
        return readable(self._ledger, record_url(request.target))

    def _end_of(self, url: str, location: str, ttl: float, now: float) -> tuple[str, float] | None:
        """Where the moves from `url` lead that are recorded one after another, and how long all of them hold; None
        where they lead round in a circle."""
        seen = {url, location}
        for _ in range(_MOST_MOVES):
            record = readable(self._ledger, record_url(_parsed(location)))
            onwards = answer_of(record, now)
            if not isinstance(onwards, Relocated):
                break
            if onwards.target in seen:
                return None
            location, ttl = onwards.target, min(ttl, onwards.ttl)
            seen.add(location)
        return location, ttl

    def _moved(self, request: Request, location: str, ttl: float, now: float) -> Complete:
        target = _parsed(location)
        # Within its origin the reference fits whatever name the client has for that.
        is_within = target.origin == request.target.origin and not target.path.startswith("//")
        reference = target.request_target if is_within else location
        lines = (
            ("Date", format_http_date(now)),
            ("Location", reference),
            ("Cache-Control", f"max-age={int(ttl)}"),
        )
        head = ResponseHead(_PERMANENT, _PERMANENT.phrase, Fields(lines))
        status = CacheStatus(hit=True, ttl=int(ttl), detail="moved")
        marked, outcome = forwarded(request, self._rules.of(request), head, status, Served.FRESH, 0.0, now)
        return Complete(marked, b"", outcome)

    def _gone(self, request: Request, record: Record, gone: Gone) -> Refusal:
        rules, now = self._rules.of(request), self._clock()
        members: dict[str, object] = {
            "url": masked(record.url),
            "since": timestamp(gone.since),
            "checked": timestamp(gone.checked),
        }
        if record.successor is not None:
            members["successor"] = record.successor
        status = CacheStatus(hit=True, ttl=int(gone.ttl), detail=Slug.GONE)
        outcome = Outcome(
            Served.FRESH,
            HTTPStatus.GONE,
            target=request.target,
            document_class=rules.document_class,
            cache_status=status.serialise(),
            ttl=int(gone.ttl),
            vouching=unsigned("https", now) if rules.document_class is not DocumentClass.OTHER else None,
            detail=Slug.GONE,
        )
        return Refusal(Problem(Slug.GONE, _GONE, members), outcome)
