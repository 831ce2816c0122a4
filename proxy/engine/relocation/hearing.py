"""What an answer to a client says of where a document is, recorded before the client has it (CONTRACT §7)."""

from __future__ import annotations

from enum import Enum
from typing import Final

from proxy.caching.freshness import Exchange
from proxy.caching.vary import parse_vary
from proxy.discovery.classes import DocumentClass
from proxy.engine.acceptance import Refused
from proxy.engine.relocation.asking import HOLDS, SILENCE, Asking, Said, may_vary, said_in
from proxy.engine.relocation.rechecks import Rechecks
from proxy.engine.state import EngineState
from proxy.http.messages import Realm, Request, ResponseHead
from proxy.http.problems import Problem, Slug
from proxy.http.targets import Target
from proxy.ledgers import Ledger, LedgerDamaged, LedgerUnavailable, readable
from proxy.relocation.locations import recordable_location, url_fault
from proxy.relocation.lookup import is_fresh
from proxy.relocation.records import Record, State, record_url
from proxy.relocation.rules import LASTING, NO_ANSWER

_UNRECORDED: Final = Problem(
    Slug.INTERNAL,
    "The origin says that this has moved or is gone for good, which cannot be recorded now, and is not passed on "
    "unrecorded. Ask again; /readyz tells what is wrong with the records.",
    at_status=503,
)

_GONE: Final = 410
_READING: Final = frozenset({"GET", "HEAD"})


class Heard(Enum):
    """To whom the origin says what it has answered."""

    NOT_EXAMINED = "not-examined"
    """It says nothing for good, or nothing that could be recorded."""
    FOR_ALL = "for-all"
    FOR_ONE = "for-one"
    """Nobody else gets this answer, as far as is known."""


class Hearing:
    """Listens to the answers of origins."""

    def __init__(self, state: EngineState, ledger: Ledger, asking: Asking, rechecks: Rechecks) -> None:
        self._ledger = ledger
        self._asking = asking
        self._rechecks = rechecks
        self._rules = state.rules
        self._clock = state.clock

    async def hear(self, request: Request, head: ResponseHead, exchange: Exchange) -> Heard:
        """Record what lasts, if the origin says it to anybody. Raises Refused where that cannot be recorded."""
        target = request.target
        if target.scheme != "https" or request.realm is Realm.LOCAL:
            return Heard.NOT_EXAMINED
        if head.status not in LASTING:
            self._may_contradict(request)
            return Heard.NOT_EXAMINED
        if not _is_recordable(target, head) or self._may_do_something(request):
            return Heard.NOT_EXAMINED
        if request.method not in _READING:
            # What it is for reading is asked behind the answer, which is for this method alone.
            self._rechecks.soon(target, request.realm, is_wanted=not self._asking.has_asked(record_url(target)))
            return Heard.NOT_EXAMINED
        try:
            is_for_all = await self._is_for_all(request, head, exchange)
        except LedgerUnavailable:
            raise Refused(_UNRECORDED) from None
        return Heard.FOR_ALL if is_for_all else Heard.FOR_ONE

    def _may_contradict(self, request: Request) -> None:
        """An origin that answers otherwise than is recorded is asked what it says to anybody."""
        url = record_url(request.target)
        record = readable(self._ledger, url)
        if record is not None and record.is_listed and not self._asking.has_asked(url):
            self._rechecks.soon(request.target, request.realm, is_wanted=True)

    def _may_do_something(self, request: Request) -> bool:
        """Whether asking once more could do once more what no document does: end a subscription, say."""
        is_other = self._rules.of(request).document_class is DocumentClass.OTHER
        return is_other and request.target.query is not None and not request.is_ours

    async def _is_for_all(self, request: Request, head: ResponseHead, exchange: Exchange) -> bool:
        url, said = record_url(request.target), said_in(head)
        if self._asking.has_said(url, said) or self._is_recorded(url, request, said):
            return True
        if self._asking.has_said(url, SILENCE):
            return False
        if self._asking.is_asked_enough(url):
            # Once more, and later: who makes others ask so often makes nobody wait.
            self._rechecks.soon(request.target, request.realm, is_wanted=True, after=HOLDS)
            return False
        is_for_all = await self._is_said_to_anybody(request, head, exchange)
        self._rechecks.follow_up(request.target, request.realm)
        return is_for_all

    async def _is_said_to_anybody(self, request: Request, head: ResponseHead, exchange: Exchange) -> bool:
        if self._is_as_anybody_asks(request, head):
            await self._asking.take(request, head, exchange)
            return True
        sighting = await self._asking.ask_for_client(request.target, request.realm)
        if sighting.status == NO_ANSWER:
            self._rechecks.soon(request.target, request.realm, is_wanted=True)
        return self._asking.has_said(record_url(request.target), said_in(head))

    def _is_as_anybody_asks(self, request: Request, head: ResponseHead) -> bool:
        """Whether nobody would ask otherwise: the proxy itself, for a document at its own place, by its own name.

        That something is gone is asked twice: it ends what others have, and only the body tells of a successor.
        """
        target = request.target
        is_plain = request.is_ours and target.uri == record_url(target) and self._rules.of(request).is_gated
        return is_plain and head.status != _GONE and not may_vary(head)

    def is_gone(self, target: Target) -> bool:
        """Whether the origin has said so; where that cannot be read it is not known."""
        record = readable(self._ledger, record_url(target))
        return record is not None and record.state is State.GONE

    def _is_recorded(self, url: str, request: Request, said: Said) -> bool:
        """Whether just that is recorded, and holds. Raises LedgerUnavailable."""
        try:
            record = self._ledger.get(url)
        except LedgerDamaged:
            return False
        return record is not None and is_fresh(record, self._clock()) and _says(record, request, said)


def _is_recordable(target: Target, head: ResponseHead) -> bool:
    """Whether a record can say it at all; a URL with a secret is above all not asked for once more."""
    if url_fault(target) is not None or parse_vary(head.fields) is None:
        return False
    return head.status == _GONE or isinstance(recordable_location(target, head.fields.get_all("location")), Target)


def _says(record: Record, request: Request, said: Said) -> bool:
    status, locations = said
    if record.status != status:
        return False
    location = recordable_location(request.target, locations) if locations else None
    return record.location == (location.uri if isinstance(location, Target) else None)
