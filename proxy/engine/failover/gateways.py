"""One question to one trustless gateway: asked if it is worth it, held against its name, and remembered.

The score of a gateway follows what it does. Its breaker follows only whether it can be reached: how long it takes
to find content is decided by whoever lists that content, who must not be able to shut a gateway for everybody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from proxy.engine.failover.breakers import Breakers
from proxy.engine.failover.settings import FailoverSettings
from proxy.failover.attempts import Attempt, AttemptOutcome, AttemptReason, shown_url
from proxy.failover.gateways import Gateway, GatewayScores
from proxy.http.messages import Realm
from proxy.http.problems import Slug
from proxy.http.targets import Target
from proxy.ports import Clock, Mirrors, MirrorUnavailable, Observer
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.verdict import CopySource

T = TypeVar("T")

_log = logging.getLogger("proxy.trust")

_REASON: Final = "gateway"
# Whoever sends one of these answered: it does not have the content, or does not give it to anybody.
_WITHOUT_IT: Final = frozenset({"status-404", "status-410", "status-451"})


@dataclass(frozen=True, slots=True)
class GatewayQuestion:
    """What is asked for: its kind in metrics, the field to send, the types to accept, how long it may be."""

    kind: str
    accept: str
    media_types: frozenset[str]
    max_bytes: int


class Gateways:
    """The operator's gateways, with what is known of each."""

    def __init__(
        self, mirrors: Mirrors, breakers: Breakers, observer: Observer, clock: Clock, settings: FailoverSettings
    ) -> None:
        self._mirrors = mirrors
        self._breakers = breakers
        self._observer = observer
        self._clock = clock
        self._settings = settings
        self._scores = GatewayScores()

    @property
    def ordered(self) -> tuple[Gateway, ...]:
        """The best first."""
        return self._scores.ordered(self._settings.rules.gateways, self._clock())

    @property
    def scores(self) -> dict[str, float]:
        """From near 0 to 1, by address."""
        now = self._clock()
        return {shown_url(one.url): self._scores.score(one, now) for one in self._settings.rules.gateways}

    def overtaken(self, gateway: Gateway) -> None:
        """It was asked and took longer than another that was asked later."""
        self._scores = self._scores.failed(gateway, self._clock())

    async def ask(
        self, gateway: Gateway, target: Target, question: GatewayQuestion, read: Callable[[bytes], T]
    ) -> T | Attempt:
        """What `read` makes of the answer, or the attempt that failed. `read` raises Untrusted for a bad answer."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        if not self._breakers.allow(gateway.base.authority):
            return _attempt(target, AttemptOutcome.SKIPPED, AttemptReason.BREAKER_OPEN, 0.0)
        try:
            result = read(await self._fetch(gateway, target, question))
        except MirrorUnavailable as error:
            outcome, reason = AttemptOutcome.FAILED, error.reason
        except Untrusted as error:
            outcome, reason = AttemptOutcome.REFUSED, error.reason.value
            self._tell(gateway, question, reason)
        else:
            self._scores = self._scores.succeeded(gateway, self._clock())
            self._breakers.succeeded(gateway.base.authority)
            self._observer.upstream(_REASON, "verified", loop.time() - began)
            self._tell(gateway, question, "verified")
            return result
        seconds = loop.time() - began
        self._learn(gateway, outcome, reason)
        self._observer.upstream(_REASON, metered(outcome, reason), seconds)
        return _attempt(target, outcome, reason, seconds)

    async def _fetch(self, gateway: Gateway, target: Target, question: GatewayQuestion) -> bytes:
        answer = await self._mirrors.fetch(
            target,
            question.accept,
            question.max_bytes,
            self._settings.mirror_timeout,
            Realm.ANY,
            gateway.may_follow,
        )
        if answer.media_type not in question.media_types:
            raise MirrorUnavailable(
                Slug.NOT_A_DOCUMENT, "The gateway answered with another type than was asked for."
            )
        return answer.body

    def _tell(self, gateway: Gateway, question: GatewayQuestion, result: str) -> None:
        self._observer.verified(question.kind, result)
        level = logging.INFO if result == "verified" else logging.WARNING
        _log.log(
            level, "content", extra={"kind": question.kind, "gateway": shown_url(gateway.url), "result": result}
        )

    def _learn(self, gateway: Gateway, outcome: AttemptOutcome, reason: str) -> None:
        if reason == Slug.ORIGIN_UNREACHABLE:
            self._breakers.failed(gateway.base.authority)
        elif outcome is AttemptOutcome.REFUSED or reason.startswith("status-"):
            self._breakers.succeeded(gateway.base.authority)
        if reason == Reason.CID_MISMATCH:
            self._scores = self._scores.answered_wrongly(gateway, self._clock())
        elif reason not in _WITHOUT_IT:
            self._scores = self._scores.failed(gateway, self._clock())


def metered(outcome: AttemptOutcome, reason: str) -> str:
    """The result of an attempt as metrics have it: of a closed list, whatever is answered."""
    if outcome is AttemptOutcome.REFUSED:
        return "rejected"
    return "error-status" if reason.startswith("status-") else reason


def _attempt(target: Target, outcome: AttemptOutcome, reason: str, seconds: float) -> Attempt:
    return Attempt(CopySource.IPFS, shown_url(target.uri), outcome, str(reason), seconds * 1000, is_of_gateway=True)
