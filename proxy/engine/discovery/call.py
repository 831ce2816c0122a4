"""One discovery call on its way: what it may do, what it has read, and what it has found so far."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from proxy.discovery.central import is_central
from proxy.discovery.classes import DocumentClass
from proxy.discovery.names import same_site
from proxy.discovery.redirects import moves
from proxy.engine.discovery.budget import Budget
from proxy.engine.discovery.landing import Landing
from proxy.engine.discovery.publications import Publications
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.reading import (
    CENTRAL,
    CENTRAL_DETAIL,
    OVER_BUDGET,
    PLAINLY,
    Judge,
    Manner,
    Reading,
    ReadOutcome,
    Refused,
    shown,
)
from proxy.engine.discovery.steps import StepEnd, StepOutcome, Steps
from proxy.engine.vouching import DomainTrust
from proxy.http.fields import Fields
from proxy.http.secrets import find_secret
from proxy.http.targets import Target
from proxy.metering import Meter
from proxy.ports import Clock

_DOWN: Final = frozenset({"origin-unreachable", "origin-timeout"})
_PAST_CACHES: Final = Fields((("Cache-Control", "no-cache"),))
_MOST_ALTERNATIVES: Final = 200
# A redirect that leads to no document says nothing of where the document is (OV-10).
_MAY_HAVE_MOVED: Final = frozenset({ReadOutcome.FOUND, ReadOutcome.FAILED})


def at(domain: str, path: str = "/") -> Target:
    """A place at a domain: its landing page, unless `path` says another."""
    return Target("https", domain, 443, path, None)


@dataclass(slots=True)
class Call:
    """What the parts of one call share.

    `fresh_until` is the earliest end of anything that was used, `uris` is what was asked for.
    """

    domain: str
    reader: Reader
    steps: Steps
    meter: Meter
    clock: Clock
    places: asyncio.Semaphore
    budget: Budget
    published: Publications
    trust: DomainTrust | None = None
    uris: set[str] = field(default_factory=set)
    fresh_until: float = math.inf
    relocations: dict[str, dict[str, object]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    alternatives: dict[tuple[DocumentClass, str, str], dict[str, object]] = field(default_factory=dict)
    is_cut_short: bool = False
    """Whether the time was over before everything was read."""
    has_failures: bool = False
    """Whether some place could not be asked, so that nobody knows what is there."""
    _down: set[str] = field(default_factory=set)
    _reads: dict[tuple[str, DocumentClass, Judge | None], asyncio.Future[Reading]] = field(default_factory=dict)

    async def read(
        self, step: str, target: Target, document_class: DocumentClass, manner: Manner = PLAINLY
    ) -> Reading:
        """A document as a step of its own; one that was read already is not read again."""
        key = (target.uri, document_class, manner.judge)
        known = self._reads.get(key)
        if known is None:
            known = asyncio.get_running_loop().create_task(self.read_once(step, target, document_class, manner))
            self._reads[key] = known
        return await known

    async def head(self, target: Target, landing: Landing) -> Reading:
        """The fields of a landing page as a step of its own."""
        async with self.places:
            self.budget.spend(target.host)
            is_down = target.host in self._down
            reading = await self.steps.take(
                "link",
                target.uri,
                lambda: landing.head(target, stored_only=is_down, admit=self._admit),
                step_end,
            )
        self._note(reading)
        return reading

    async def abandon(self) -> None:
        """The time is over: give up what is still being read."""
        self.is_cut_short = True
        self.expire_at(self.clock())
        for read in self._reads.values():
            read.cancel()
        await asyncio.gather(*self._reads.values(), return_exceptions=True)

    async def read_once(
        self, step: str, target: Target, document_class: DocumentClass, manner: Manner = PLAINLY
    ) -> Reading:
        """The same for what nobody else in the call asks for: it is not held longer than the caller does."""
        refusal = self.refusal(target)
        if refusal is not None:
            self.refuse(step, target, refusal)
            asked = Reading(target, target, document_class, ReadOutcome.FAILED)
            return asked.refused(refusal.reason, refusal.detail)
        async with self.places:
            # A host that did not answer is not waited for again: what is stored of it still counts.
            manner = replace(manner, stored_only=target.host in self._down, admit=self._admit)
            reading = await self.steps.take(
                step, target.uri, lambda: self.reader.read(target, document_class, manner), step_end
            )
        self._note(reading)
        return reading

    async def read_again(
        self, step: str, target: Target, document_class: DocumentClass, manner: Manner = PLAINLY
    ) -> Reading:
        """The same past every cache."""
        return await self.read_once(step, target, document_class, replace(manner, fields=_PAST_CACHES))

    def first(self, step: str, listed: Sequence[str], most: int, what: str, at: str | None = None) -> Sequence[str]:
        """The first `most` of what is listed; that there are more is a step, `at` the first of those or a place."""
        if len(listed) > most:
            detail = f"Of {len(listed)} {what} {most} are looked up."
            self.steps.note(step, at or listed[most], StepOutcome.SKIPPED, detail)
        return listed[:most]

    def refusal(self, target: Target) -> Refused | None:
        """Why a target is not even asked for; None when it may be, and is then set against the budget."""
        secret = find_secret(target.uri)
        if secret is not None:
            return Refused("secret-in-url", f"The URL holds a secret ({secret.category}).")
        return self._admit(target)

    def _admit(self, target: Target) -> Refused | None:
        if is_central(target.host, self.domain):
            return Refused(CENTRAL, CENTRAL_DETAIL)
        detail = self.budget.spend(target.host)
        return None if detail is None else Refused(OVER_BUDGET, detail)

    def refuse(self, step: str, target: Target, refusal: Refused) -> None:
        """Tell why a target was not asked for."""
        if refusal.reason == OVER_BUDGET:
            self._exceed(refusal.detail)
        else:
            self.steps.note(step, target.uri, StepOutcome.SKIPPED, refusal.detail)

    def _exceed(self, detail: str) -> None:
        """The budget ended before everything was read."""
        self.published.limit(detail)
        self.has_failures = True

    def _note(self, reading: Reading) -> None:
        self.budget.spend_octets(len(reading.body))
        self.uris |= reading.uris
        if reading.is_gone:
            self.gone.add(reading.target.uri)
        if reading.reason == OVER_BUDGET:
            self._exceed(reading.detail)
        if reading.outcome is ReadOutcome.FAILED:
            self.has_failures = True
            self.fresh_until = min(self.fresh_until, self.clock())
            if reading.reason in _DOWN and not reading.hops:
                self._down.add(reading.asked.host)
        self.fresh_until = min(self.fresh_until, reading.fresh_until)
        self._offer(reading)
        if reading.outcome in _MAY_HAVE_MOVED:
            self._relocate(reading, is_confirmed=False)

    def _offer(self, reading: Reading) -> None:
        """Tell what stands in the place of a document, for the caller to choose; nothing of it is asked for."""
        reason = "multiple-choices" if reading.status == 300 else "successor"
        for one in reading.alternatives:
            key = (reading.document_class, reading.asked.uri, one.url)
            if key not in self.alternatives and len(self.alternatives) == _MOST_ALTERNATIVES:
                self.published.limit(f"An answer lists no more than {_MOST_ALTERNATIVES} alternatives.")
                return
            self.alternatives[key] = {
                "class": reading.document_class.value,
                "for": shown(reading.asked),
                "url": one.url,
                "type": one.type,
                "language": one.language,
                "quality": one.quality,
                "reason": reason,
            }

    def confirm(self, reading: Reading) -> None:
        """The document on another domain vouches for this one: it is where the redirects say (OV-3)."""
        self._relocate(reading, is_confirmed=True)

    def _relocate(self, reading: Reading, *, is_confirmed: bool) -> None:
        is_there = reading.is_found and not reading.needs_proof
        for hop in moves(reading.hops):
            is_settled = is_confirmed or (is_there and same_site(hop.source.host, hop.target.host))
            state = "observed" if is_settled else "pending"
            told = {"url": shown(hop.source), "target": shown(hop.target), "status": hop.status, "state": state}
            self.relocations[hop.source.uri] = told

    def expire_at(self, moment: float) -> None:
        """Something that was used is good until then."""
        self.fresh_until = min(self.fresh_until, moment)


def step_end(reading: Reading) -> StepEnd:
    """What a reading means as the end of a step."""
    detail = reading.detail
    if reading.is_found:
        is_local = reading.cache in ("hit", "stale")
        told = {"revalidated": "unchanged", "stale": "stale, as the origin allows"}.get(reading.cache, "")
        return StepEnd(StepOutcome.CACHED if is_local else StepOutcome.FOUND, told)
    if reading.cache == "remembered":
        detail = f"{detail} (remembered)"
    return StepEnd(StepOutcome(reading.outcome.value), f"{reading.reason}: {detail}" if detail else reading.reason)
