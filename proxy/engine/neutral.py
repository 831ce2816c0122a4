"""What the origin says to anybody: asked with nothing of a client's, so that no client can make it say it.

A client's own fields reach the origin and may well bring about an answer that nobody else gets. What ends something
for everybody, a withdrawal or the memory of a manifest, therefore counts only once the origin says it to a request
of this kind (contract §4.3, §6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from proxy.caching.freshness import Exchange
from proxy.caching.storing import NotStored, NotStoredReason, may_store
from proxy.engine.settings import ClassRules
from proxy.engine.state import EngineState
from proxy.engine.vouching import Keeping, Voucher
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead, received
from proxy.ports import Origin, OriginUnavailable

# What the origin says of the place of a document: there is none, it is gone, it has moved for good.
_WITHDRAWALS: Final = frozenset({301, 308, 404, 410})
OF_ONE_CLIENT: Final = frozenset(
    {NotStoredReason.AUTHORIZATION, NotStoredReason.REQUEST_NO_STORE, NotStoredReason.PARTIAL}
)
"""Why an answer is not stored that says nothing of what other clients may be served."""

Says = Callable[[Request, ResponseHead, Exchange], bool]


class Neutral:
    """Requests with nothing of a client's."""

    def __init__(self, agent: str) -> None:
        self._fields = Fields(
            (("User-Agent", agent), ("Accept", "application/json, */*;q=0.1"), ("Accept-Encoding", "gzip, deflate"))
        )

    def of(self, request: Request) -> Request:
        """A GET for everybody of the same target."""
        return replace(request, method="GET", fields=self._fields, is_ours=True)


class Confirming:
    """Asks once more where one client's answer would end something for all."""

    def __init__(self, state: EngineState, origin: Origin, voucher: Voucher) -> None:
        self._origin = origin
        self._voucher = voucher
        self._neutral = Neutral(state.settings.agent)
        self._observer = state.observer
        self._clock = state.clock
        self._copies = state.copies

    async def withdraws(self, request: Request, rules: ClassRules, status: int, *, is_known: bool) -> None:
        """Note it durably if an answer of `status` ends the place of a manifest that is remembered.

        `is_known`: that it says so to anybody need not be found out any more.
        """

        def says(_: Request, head: ResponseHead, __: Exchange) -> bool:
            return head.status in _WITHDRAWALS

        is_for_all = rules.has_copies and "authorization" not in request.fields
        if not is_for_all or status not in _WITHDRAWALS or not await self._voucher.remembers(request.target):
            return
        if is_known or await self._is_said_to_all(request, says):
            await self._voucher.withdrawn(request.target)
            self._copies.answered(request.target.uri)

    async def keeping(self, request: Request, rules: ClassRules, generation: int, keeping: Keeping) -> Keeping:
        """How a document may be kept; that it must not be counts for others only if it is so for anybody."""

        def says(sent: Request, head: ResponseHead, exchange: Exchange) -> bool:
            verdict = may_store(sent, head, exchange, rules.storage, generation)
            return isinstance(verdict, NotStored) and keeping_of(verdict) is Keeping.MUST_NOT

        if keeping is not Keeping.MUST_NOT or not rules.has_copies or await self._is_said_to_all(request, says):
            return keeping
        return Keeping.NOT_FOR_OTHERS

    async def _is_said_to_all(self, request: Request, says: Says) -> bool:
        """Whether what the answer would end is remembered, and the origin says the same to anybody."""
        if not await self._voucher.remembers(request.target):
            return False
        return request.is_ours or await self._confirms(request, says)

    async def _confirms(self, request: Request, says: Says) -> bool:
        """Whether the origin says so to anybody. One that does not answer confirms nothing."""
        sent, started = self._neutral.of(request), self._clock()
        try:
            response = await self._origin.fetch(sent)
        except OriginUnavailable as error:
            self._observer.upstream("confirm", error.fault.value, self._clock() - started)
            return False
        try:
            exchange = response.exchange
            confirmed = says(sent, received(response.head, exchange.response_time), exchange)
        finally:
            response.close()
        self._observer.upstream("confirm", "confirmed" if confirmed else "denied", self._clock() - started)
        return confirmed


def keeping_of(verdict: NotStored | None) -> Keeping:
    """Whether what an answer says may be remembered, by why it is not stored; None where it is."""
    if verdict is None or verdict.reason is NotStoredReason.NO_USE:
        return Keeping.MAY
    return Keeping.NOT_FOR_OTHERS if verdict.reason in OF_ONE_CLIENT else Keeping.MUST_NOT
