"""Asking again behind the scenes: what is due, what is pending, what somebody wants to know now (OV-5, OV-6).

Records are looked at when somebody asks for their URLs, and all of them in turn. What fails is put off by the
record itself, for longer each time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.names import registrable_domain
from proxy.engine.places import Places
from proxy.engine.relocation.asking import Asking
from proxy.engine.relocation.writing import Writer
from proxy.http.messages import Realm
from proxy.http.targets import Target, parse_target
from proxy.ledgers import Ledger, LedgerUnavailable, readable
from proxy.ports import Clock
from proxy.relocation.changes import Change, Event, Reason, ignored
from proxy.relocation.confirmation import PERMANENT, Ending, Hop, confirmed
from proxy.relocation.lookup import is_due
from proxy.relocation.records import Proof, Record, State, record_id, record_url
from proxy.relocation.rules import RelocationRules
from proxy.relocation.sightings import Sighting

# Under way and waiting, in all and of one registrable domain; and how many of them at once.
_MOST: Final = 512
_MOST_OF_SITE: Final = 32
_AT_ONCE: Final = 32
_AT_ONCE_OF_SITE: Final = 2
_FOLLOWING_SECONDS: Final = 15.0
# A round through all records, and what reading them may take of the time.
_BETWEEN_ROUNDS: Final = 60.0
_PAGE: Final = 200
_SHARE: Final = 20.0


@dataclass(frozen=True, slots=True)
class Followed:
    """All redirects on the way, the recorded one first; what is at their end, and why it may speak for the URL."""

    hops: tuple[Hop, ...]
    ending: Ending
    proof: Proof


Follow = Callable[[Record, Realm], Awaitable[Followed | None]]
"""What there is where the record of a move says, None where it was not asked for. Never raises."""


class Rechecks:
    """What is asked again, once for each URL at a time."""

    def __init__(
        self,
        asking: Asking,
        follow: Follow,
        writer: Writer,
        ledger: Ledger,
        clock: Clock,
        rules: RelocationRules,
    ) -> None:
        self._asking = asking
        self._follow_on = follow
        self._writer = writer
        self._ledger = ledger
        self._clock = clock
        self._rules = rules
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._of_site: Counter[str] = Counter()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._places_of_sites = Places(_AT_ONCE_OF_SITE, None)
        self._rounds: asyncio.Task[None] | None = None

    def begin_rounds(self) -> None:
        """From now on every record has its turn, whether anybody asks for its URL or not."""
        self._rounds = asyncio.get_running_loop().create_task(self._go_round())

    async def end_rounds(self) -> None:
        """From now on only what somebody asks for is looked into."""
        if self._rounds is not None:
            self._rounds.cancel()
            await asyncio.gather(self._rounds, return_exceptions=True)

    async def close(self) -> None:
        """Stop asking."""
        await self.end_rounds()
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._asking.close()

    def soon(
        self, target: Target, realm: Realm = Realm.PUBLIC, *, is_wanted: bool = False, after: float = 0.0
    ) -> None:
        """Look into the record of `target`, unless that or too much is under way: the next one to ask will.

        It is asked again where that is due, or where somebody says that it `is_wanted`, `after` so many seconds.
        """
        url = record_url(target)
        if url in self._under_way or not (is_wanted or self._is_to_ask(url)):
            return
        site = registrable_domain(target.host)
        if len(self._under_way) >= _MOST or self._of_site[site] >= _MOST_OF_SITE:
            return
        task = asyncio.get_running_loop().create_task(self._recheck(target, url, realm, site, is_wanted, after))
        self._under_way[url] = task
        self._of_site[site] += 1
        task.add_done_callback(lambda _: self._ended(url, site))

    def _ended(self, url: str, site: str) -> None:
        del self._under_way[url]
        self._of_site[site] -= 1
        if not self._of_site[site]:
            del self._of_site[site]

    def has_asked(self, url: str) -> bool:
        """Whether the origin was asked less than a minute ago."""
        return self._asking.has_asked(url)

    async def ask(
        self, target: Target, realm: Realm = Realm.PUBLIC, claimed: DocumentClass | None = None
    ) -> Sighting:
        """What the origin says of `target` now, recorded. Raises LedgerUnavailable.

        `claimed` is what somebody says that is there, for where the path does not tell.
        """
        sighting = await self._asking.ask(target, realm, claimed)
        self.follow_up(target, realm)
        return sighting

    def follow_up(self, target: Target, realm: Realm) -> None:
        """After something was recorded: where it moved to is looked at, once for all who come to know of it."""
        if self._is_to_follow(record_url(target)):
            self.soon(target, realm)

    async def settle(self, urls: Iterable[str]) -> None:
        """Wait until nothing is under way for these. Never raises."""
        tasks = [self._under_way[url] for url in urls if url in self._under_way]
        if tasks:
            await asyncio.wait(tasks)

    def _is_to_ask(self, url: str) -> bool:
        """Whether asking may bring anything: lately it has not, or there is only where to follow to."""
        return not self._asking.has_asked(url) or self._is_to_follow(url)

    def _is_to_follow(self, url: str) -> bool:
        """Whether nobody has been where the origin says that it is now."""
        record = readable(self._ledger, url)
        return record is not None and _is_unfollowed(record, self._clock())

    async def _recheck(
        self, target: Target, url: str, realm: Realm, site: str, is_wanted: bool, after: float
    ) -> None:
        await asyncio.sleep(after)
        # How it ends is in the record; what could not be written is asked for again.
        with suppress(LedgerUnavailable):
            # Of a site that keeps everybody waiting only as many wait as leave room for others.
            async with self._places_of_sites.place(site), self._places:
                await self._look_into(target, url, realm, is_wanted=is_wanted)

    async def _look_into(self, target: Target, url: str, realm: Realm, *, is_wanted: bool) -> None:
        record, now = self._ledger.get(url), self._clock()
        if not is_wanted and (record is None or not is_due(record, now)):
            return
        if record is None or is_wanted or not (_is_unfollowed(record, now) or self._asking.has_asked(url)):
            sighting = await self._asking.ask_again(target, realm)
            if sighting.status not in PERMANENT:
                return
            record = self._ledger.get(url)
        if record is not None and record.location is not None:
            await self._follow(record, realm)

    async def _follow(self, record: Record, realm: Realm) -> None:
        try:
            async with asyncio.timeout(_FOLLOWING_SECONDS):
                followed = await self._follow_on(record, realm)
        except TimeoutError:
            followed = Followed((_first_hop(record),), Ending.UNAVAILABLE, Proof.NONE)
        if followed is None:
            return

        def settled(current: Record | None) -> Change:
            if current is None:
                return ignored(None, Reason.NOTHING_PENDING)
            return confirmed(current, followed.hops, followed.ending, followed.proof, self._clock(), self._rules)

        change = await self._writer.change(record.url, settled)
        if change.event is Event.DROPPED:
            self._asking.hold(record.url)

    async def _go_round(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            after: str | None = ""
            while after is not None:
                began = loop.time()
                after = await self._page(after)
                await asyncio.sleep((loop.time() - began) * _SHARE)
            await asyncio.sleep(_BETWEEN_ROUNDS)

    async def _page(self, after: str) -> str | None:
        """Look into what is due of one page of records; where the next one begins."""
        try:
            records = await self._ledger.of_host(None, None, after or None, _PAGE)
        except LedgerUnavailable:
            return None
        now = self._clock()
        for record in records:
            if is_due(record, now):
                self.soon(parse_target(record.url))
        return record_id(records[-1].url) if len(records) == _PAGE else None


def _first_hop(record: Record) -> Hop:
    assert record.location is not None
    return Hop(record.status, parse_target(record.location))


def _is_unfollowed(record: Record, now: float) -> bool:
    return record.state is State.PENDING and record.proof is None and is_due(record, now)
