"""The story of a discovery call: DNS, then documents, then what they lead to, then the answer (§10).

An answer that is still good is sent as it is; calls for the same that come together share one. Whatever happens,
there is an answer within the deadline, and it says what was not waited for.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from proxy.caching.generations import is_touched
from proxy.discovery.authorization.identifiers import IssuerSlash
from proxy.discovery.names import BadDomain, is_local
from proxy.discovery.records.dnsvalues import Security
from proxy.engine.discovery.budget import Budget
from proxy.engine.discovery.call import Call, at
from proxy.engine.discovery.client import client_of
from proxy.engine.discovery.description import Discovered, members
from proxy.engine.discovery.landing import Landing
from proxy.engine.discovery.locallink import find_local
from proxy.engine.discovery.preparation import costing_nothing, etag_of, prepared
from proxy.engine.discovery.publications import Publications
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.records import DnsRound, DnsTrust
from proxy.engine.discovery.results import Prepared, Question, Results
from proxy.engine.discovery.sources import Reach, Sources
from proxy.engine.discovery.steps import StepOutcome, Steps
from proxy.engine.gateway import Gateway
from proxy.engine.state import EngineState
from proxy.engine.vouching import DomainTrust
from proxy.http.problems import Problem, Slug
from proxy.http.targets import parse_target
from proxy.metering import Meter, current_meter
from proxy.ports import Dns, LocalLink, Origin
from proxy.relocation.changes import Change
from proxy.relocation.records import State, record_url
from proxy.single import SingleCalls

# What DNS may take of the time for a call; documents have places of their own.
_DNS_SHARE: Final = 0.25
_DNS_SECONDS: Final = 2.0
# Discoveries that go on at once, and those that may be under way with the ones that wait.
_MOST_AT_ONCE: Final = 64
_MOST_UNDER_WAY: Final = 512
# Purges may come one after another; what the last run read is told, and not kept.
_MOST_RUNS: Final = 3
# For where redirects lead, which the call itself has mostly read already.
_SETTLING_SECONDS: Final = 2.0
_OVERLOADED: Final = Problem(
    Slug.OVERLOADED, "Too many domains are being discovered at once. Ask again in a few seconds.", {"steps": []}
)


@dataclass(frozen=True, slots=True)
class DiscoverySettings:
    """Bounds of a call: seconds, and fetches at once. `agent` is the User-Agent of its requests.

    `isolated`: there is no public DNS. `requires_dnssec`: only signed answers are believed. `off_domain`: and then
    also where they lead out of the domain. `issuer_slash` as in `identifiers.check_issuer`.
    """

    deadline: float = 10.0
    concurrency: int = 4
    negative_ttl: float = 30.0
    agent: str = "discovery-proxy"
    anp: bool = False
    isolated: bool = False
    requires_dnssec: bool = False
    off_domain: bool = False
    issuer_slash: IssuerSlash = "strict"


@dataclass(frozen=True, slots=True)
class World:
    """What discovery reaches the world by; without `link` no local link is used, without `trust` no signature."""

    gateway: Gateway
    origin: Origin
    dns: Dns
    link: LocalLink | None
    trust: DomainTrust | None = None


Settle = Callable[[Iterable[str]], Awaitable[None]]
"""Waits until nothing is under way for recorded URLs."""


@dataclass(frozen=True, slots=True)
class _Found:
    """One answer, with what it cost, for who caused it; and as one that cost nothing."""

    for_caller: Prepared
    for_others: Prepared


class Discoverer:
    """Answers what a domain publishes for agents."""

    def __init__(
        self, state: EngineState, world: World, settings: DiscoverySettings, settle: Settle | None = None
    ) -> None:
        self._world = world
        self._settle = settle
        self._settings = settings
        self._clock = state.clock
        self._generations = state.generations
        self._reader = Reader(
            world.gateway, state.rules, state.generations, state.clock, settings.agent, settings.negative_ttl
        )
        self._landing = Landing(self._reader, state.generations, state.clock, settings.negative_ttl)
        trust = DnsTrust(settings.off_domain, settings.requires_dnssec)
        patience = min(settings.deadline * _DNS_SHARE, _DNS_SECONDS)
        self._dns = DnsRound(world.dns, secrets.token_bytes(16), patience, trust)
        self._results = Results(state.generations, state.clock)
        self._under_way: SingleCalls[Question, _Found | Problem] = SingleCalls()
        self._places = asyncio.Semaphore(_MOST_AT_ONCE)

    @property
    def is_isolated(self) -> bool:
        """Whether single labels may name hosts of the local link."""
        return self._settings.isolated

    def check(self, domain: str) -> None:
        """Raises BadDomain for a canonical name that cannot be asked about where this runs (MD-1)."""
        if is_local(domain) and self._world.link is None:
            raise BadDomain("Names in .local are heard on the local link only: set discovery.mdns.enabled.")
        if self._settings.isolated and "." in domain and not is_local(domain):
            raise BadDomain("There is no public DNS here (discovery.mdns.isolated): give a name of the local link.")

    def warm(self, question: Question) -> Prepared | None:
        """The answer that is ready; None when it has to be found out."""
        return self._results.get(question)

    def told(self, url: str, change: Change) -> None:
        """The origin's word on `url` has changed: no answer made of it before is given any more."""
        self._results.forget(url, is_gone=change.record is not None and change.record.state is State.GONE)

    async def discover(self, question: Question) -> Prepared | Problem:
        """The answer, found out now; a problem when too many are being found out.

        A call that waited for another's is told what it cost itself: nothing.
        """
        is_joined = question in self._under_way
        if not is_joined and len(self._under_way) >= _MOST_UNDER_WAY:
            return _OVERLOADED
        found = await self._under_way.call(question, lambda: self._discover(question))
        if isinstance(found, Problem):
            return found
        return found.for_others if is_joined else found.for_caller

    async def _discover(self, question: Question) -> _Found | Problem:
        meter = Meter()
        current_meter.set(meter)
        ends_at = asyncio.get_running_loop().time() + self._settings.deadline
        try:
            async with asyncio.timeout_at(ends_at):
                await self._places.acquire()
        except TimeoutError:
            return _OVERLOADED
        try:
            return await self._find_out(question, meter, ends_at)
        finally:
            self._places.release()

    async def _find_out(self, question: Question, meter: Meter, ends_at: float) -> _Found:
        """Find out, and again where a purge came between: nothing that it concerns is told any more."""
        budget = Budget(question.domain, meter)
        for _ in range(_MOST_RUNS):
            generation, began = self._generations.latest, self._clock()
            call = self._call(question.domain, meter, budget)
            discovered = Discovered(call, client_of(question.level, question.ladder, question.proven))
            await self._gather_in_time(discovered, ends_at)
            await self._settle_in_time(call, ends_at)
            uris = frozenset((at(question.domain).uri, *call.uris))
            is_late = asyncio.get_running_loop().time() >= ends_at
            if is_late or not is_touched(self._generations, generation, uris):
                break
        told = members(discovered)
        now, fresh_until = self._clock(), call.fresh_until
        etag = etag_of(told)
        for_others = prepared(costing_nothing(told, now, fresh_until), fresh_until, etag)
        self._results.put(question, for_others, uris, generation, call.gone, began)
        return _Found(prepared(told, fresh_until, etag), for_others)

    def _call(self, domain: str, meter: Meter, budget: Budget) -> Call:
        steps = Steps(self._clock, meter)
        return Call(
            domain=domain,
            reader=self._reader,
            steps=steps,
            meter=meter,
            clock=self._clock,
            places=asyncio.Semaphore(self._settings.concurrency),
            budget=budget,
            published=Publications(domain, steps),
            trust=self._world.trust,
        )

    async def _settle_in_time(self, call: Call, ends_at: float) -> None:
        """What the call has seen move is recorded as moved, or not, when it answers (contract §14.1)."""
        if self._settle is None or not call.relocations:
            return
        ends_at = min(ends_at, asyncio.get_running_loop().time() + _SETTLING_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(ends_at):
                await self._settle(tuple(record_url(parse_target(uri)) for uri in call.relocations))

    async def _gather_in_time(self, discovered: Discovered, ends_at: float) -> None:
        """Find out as much as the time allows."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(ends_at):
                await self._gather(discovered)
                return
        await discovered.call.abandon()

    async def _gather(self, discovered: Discovered) -> None:
        call, link = discovered.call, self._world.link
        if link is not None and (is_local(call.domain) or "." not in call.domain):
            discovered.found = await find_local(call, link)
            return
        facts = discovered.dns = await self._dns.run(call)
        if self._settings.requires_dnssec and facts.security is not Security.SECURE:
            discovered.is_refused = True
            detail = f"DNSSEC is required (dns.dnssec) and the answer is {facts.security}."
            call.steps.note("dnssec", call.domain, StepOutcome.REFUSED, detail)
            return
        settings = self._settings
        reach = Reach(self._landing, self._world.origin, settings.agent, settings.anp, settings.issuer_slash)
        await Sources(discovered, facts, reach).gather()
