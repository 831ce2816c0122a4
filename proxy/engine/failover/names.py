"""What an IPNS name stands for now (TRUST.md §7.4): the newest of the records that two gateways have.

A record is signed by the key that the name is made of, so a gateway can withhold a newer one and nothing more.
Asking two makes that harder; a record older than one seen before is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proxy.engine.failover.content import AttemptLog, ContentMissing
from proxy.engine.failover.gateways import GatewayQuestion, Gateways
from proxy.engine.failover.settings import FailoverSettings
from proxy.failover.attempts import Attempt, AttemptOutcome, AttemptReason
from proxy.failover.gateways import Gateway
from proxy.ports import Clock
from proxy.trust.content.cid import Cid
from proxy.trust.content.ipns import LARGEST_RECORD, IpnsName, IpnsRecord, verify_record
from proxy.trust.reasons import Reason, Untrusted

_TYPE: Final = "application/vnd.ipfs.ipns-record"
_RECORD: Final = GatewayQuestion("ipns", _TYPE, frozenset({_TYPE}), LARGEST_RECORD)
_ASKED_TOGETHER: Final = 2


@dataclass(frozen=True, slots=True)
class NameSeen:
    """What a name stood for: content, in the version `sequence`, good for `seconds` more."""

    name: IpnsName
    cid: Cid
    sequence: int
    seconds: float


class Names:
    """Resolves names."""

    def __init__(self, gateways: Gateways, clock: Clock, settings: FailoverSettings) -> None:
        self._gateways = gateways
        self._clock = clock
        self._hedge_delay = settings.hedge_delay

    async def resolve(self, name: IpnsName, known: int, log: AttemptLog) -> NameSeen | ContentMissing:
        """What `name` stands for; `known` is the highest sequence seen before, 0 when none was."""
        missing = ContentMissing(AttemptOutcome.SKIPPED, AttemptReason.NO_GATEWAY)
        gateways = self._gateways.ordered
        for start in range(0, len(gateways), _ASKED_TOGETHER):
            answers = await self._ask(gateways[start : start + _ASKED_TOGETHER], name, log)
            records = [answer for answer in answers if isinstance(answer, IpnsRecord)]
            newest = max(records, key=lambda record: (record.sequence, record.valid_until), default=None)
            if newest is not None and newest.sequence >= known:
                return self._seen(name, newest)
            if newest is not None:
                missing = ContentMissing(AttemptOutcome.REFUSED, Reason.ROLLBACK)
            else:
                last = answers[-1]
                assert isinstance(last, Attempt)
                missing = ContentMissing(last.outcome, last.reason)
        return missing

    async def _ask(
        self, gateways: Sequence[Gateway], name: IpnsName, log: AttemptLog
    ) -> list[IpnsRecord | Attempt]:
        """The answers of all, but when one has a record the others are not waited for much longer."""
        loop = asyncio.get_running_loop()
        tasks = {loop.create_task(self._from(gateway, name)): gateway for gateway in gateways}
        try:
            await self._patiently(set(tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        answers = []
        for task, gateway in tasks.items():
            if task.cancelled():
                continue
            answer = task.result()
            if isinstance(answer, Attempt):
                log.note(gateway, answer)
            answers.append(answer)
        return answers

    async def _patiently(self, running: set[asyncio.Task[IpnsRecord | Attempt]]) -> None:
        while running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            if running and any(isinstance(task.result(), IpnsRecord) for task in done):
                await asyncio.wait(running, timeout=self._hedge_delay)
                return

    async def _from(self, gateway: Gateway, name: IpnsName) -> IpnsRecord | Attempt:
        def verified(octets: bytes) -> IpnsRecord:
            return verify_record(octets, name, self._clock())

        return await self._gateways.ask(gateway, gateway.record(name.text), _RECORD, verified)

    def _seen(self, name: IpnsName, record: IpnsRecord) -> NameSeen | ContentMissing:
        try:
            cid = record.content()
        except Untrusted as error:
            return ContentMissing(AttemptOutcome.REFUSED, error.reason)
        left = record.valid_until - self._clock()
        return NameSeen(name, cid, record.sequence, max(0.0, min(record.ttl_seconds, left)))
