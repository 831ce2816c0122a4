"""A file by its hash, out of blocks from whichever gateway has them (TRUST.md §7.2, §7.4).

Two gateways are asked for a block at once at most, the better first. Wrong bytes are that gateway's fault and the
next is asked; only when none has a block, or the blocks make no file, there is no file.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Final

from proxy.engine.failover.gateways import GatewayQuestion, Gateways
from proxy.engine.failover.race import RaceTerms, RunState, race
from proxy.engine.failover.settings import FailoverSettings
from proxy.failover.attempts import Attempt, AttemptOutcome, AttemptReason
from proxy.failover.gateways import Gateway
from proxy.trust.content.blocks import LARGEST_BLOCK, check_block
from proxy.trust.content.cid import Cid
from proxy.trust.content.unixfs import Walk, WalkLimits
from proxy.trust.reasons import Untrusted

_BLOCK: Final = GatewayQuestion(
    "cid",
    "application/vnd.ipld.raw",
    frozenset({"application/vnd.ipld.raw", "application/octet-stream"}),
    LARGEST_BLOCK,
)
_GATEWAYS_AT_ONCE: Final = 2
_BLOCKS_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class ContentMissing:
    """No file: how that is to be told."""

    outcome: AttemptOutcome
    reason: str


class AttemptLog:
    """Failed attempts at gateways: the first for each gateway and reason, however many blocks there are."""

    def __init__(self) -> None:
        self._first: dict[tuple[Gateway, str], Attempt] = {}

    def note(self, gateway: Gateway, attempt: Attempt) -> None:
        self._first.setdefault((gateway, attempt.reason), attempt)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """In the order in which they ended."""
        return tuple(self._first.values())


class Content:
    """Fetches files."""

    def __init__(self, gateways: Gateways, settings: FailoverSettings) -> None:
        self._gateways = gateways
        self._terms = RaceTerms(settings.hedge_delay, settings.deadline, _GATEWAYS_AT_ONCE)
        self._limits = WalkLimits(file=settings.max_manifest)

    async def fetch(self, cid: Cid, log: AttemptLog) -> bytes | ContentMissing:
        """The file that `cid` names, every block of it checked; failures of gateways go to `log`."""
        try:
            walk = Walk(cid, self._limits)
            while (file := walk.file) is None:
                missing = await self._advance(walk, log)
                if missing is not None:
                    return missing
            return file
        except Untrusted as error:
            return ContentMissing(AttemptOutcome.REFUSED, error.reason.value)

    async def _advance(self, walk: Walk, log: AttemptLog) -> ContentMissing | None:
        """Give the walk the blocks that it wants next. Raises Untrusted when they make no file."""
        wanted = walk.wanted[:_BLOCKS_AT_ONCE]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._block(cid, log)) for cid in wanted]
        for cid, task in zip(wanted, tasks, strict=True):
            block = task.result()
            if isinstance(block, ContentMissing):
                return block
            walk.received(cid, block)
        return None

    async def _block(self, cid: Cid, log: AttemptLog) -> bytes | ContentMissing:
        gateways = self._gateways.ordered
        contenders = [partial(self._from, gateway, cid) for gateway in gateways]
        finish = await race(contenders, lambda result: isinstance(result, bytes), self._terms)
        missing = ContentMissing(AttemptOutcome.FAILED, AttemptReason.DEADLINE)
        for gateway, run in zip(gateways, finish.runs, strict=False):
            if run.state is RunState.OVERTAKEN and run.seconds >= self._terms.hedge_delay:
                self._gateways.overtaken(gateway)
            if isinstance(run.result, Attempt):
                log.note(gateway, run.result)
                missing = ContentMissing(run.result.outcome, run.result.reason)
        return finish.winner if isinstance(finish.winner, bytes) else missing

    async def _from(self, gateway: Gateway, cid: Cid) -> bytes | Attempt:
        def checked(octets: bytes) -> bytes:
            check_block(cid, octets)
            return octets

        return await self._gateways.ask(gateway, gateway.block(cid.text), _BLOCK, checked)
