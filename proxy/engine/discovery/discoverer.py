"""The story of a discovery call: DNS, then documents, then what they lead to, then the answer (§10).

An answer that is still good is sent as it is; calls for the same that come together share one. Whatever happens,
there is an answer within the deadline, and it says what was not waited for.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass

from proxy.discovery.aidrecord import AidRecord
from proxy.discovery.dnsvalues import Security
from proxy.discovery.names import is_local
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.client import client_of
from proxy.engine.discovery.description import Discovered, costing_nothing, members, prepared
from proxy.engine.discovery.landing import Landing
from proxy.engine.discovery.locallink import find_local
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.records import DnsRound
from proxy.engine.discovery.results import Prepared, Question, Results
from proxy.engine.discovery.sources import Reach, Sources
from proxy.engine.discovery.steps import StepOutcome, Steps
from proxy.engine.gateway import Gateway
from proxy.engine.state import EngineState
from proxy.metering import Meter, current_meter
from proxy.ports import Dns, LocalLink, Origin


@dataclass(frozen=True, slots=True)
class DiscoverySettings:
    """Bounds of a call: seconds, and fetches at once. `agent` is the User-Agent of its requests.

    `isolated`: there is no public DNS. `requires_dnssec`: without signatures nothing is followed.
    """

    deadline: float = 10.0
    concurrency: int = 4
    negative_ttl: float = 30.0
    agent: str = "discovery-proxy"
    anp: bool = False
    isolated: bool = False
    requires_dnssec: bool = False


@dataclass(frozen=True, slots=True)
class World:
    """What discovery reaches the world by; `link` None: the local link is not used."""

    gateway: Gateway
    origin: Origin
    dns: Dns
    link: LocalLink | None


class Discoverer:
    """Answers what a domain publishes for agents."""

    def __init__(self, state: EngineState, world: World, settings: DiscoverySettings) -> None:
        self._world = world
        self._settings = settings
        self._clock = state.clock
        self._generations = state.generations
        self._reader = Reader(
            world.gateway, state.rules, state.generations, state.clock, settings.agent, settings.negative_ttl
        )
        self._landing = Landing(self._reader, state.generations, state.clock, settings.negative_ttl)
        self._dns = DnsRound(world.dns, secrets.token_bytes(16))
        self._results = Results(state.generations, state.clock)
        self._under_way: dict[Question, asyncio.Task[Prepared]] = {}

    @property
    def is_isolated(self) -> bool:
        """Whether single labels may name hosts of the local link."""
        return self._settings.isolated

    @property
    def hears_local_names(self) -> bool:
        """Whether names in `.local` can be asked about."""
        return self._world.link is not None

    def warm(self, question: Question) -> Prepared | None:
        """The answer that is ready; None when it has to be found out."""
        return self._results.get(question)

    async def discover(self, question: Question) -> Prepared:
        """The answer, found out now. A call that waited for another's is told what it cost itself: nothing."""
        task = self._under_way.get(question)
        if task is not None:
            await asyncio.shield(task)
            return self._results.get(question) or task.result()
        task = asyncio.get_running_loop().create_task(self._discover(question))
        self._under_way[question] = task
        task.add_done_callback(lambda _: self._under_way.pop(question, None))
        return await asyncio.shield(task)

    async def _discover(self, question: Question) -> Prepared:
        meter = Meter()
        current_meter.set(meter)
        generation = self._generations.latest
        call = Call(
            domain=question.domain,
            reader=self._reader,
            steps=Steps(self._clock, meter),
            meter=meter,
            clock=self._clock,
            places=asyncio.Semaphore(self._settings.concurrency),
        )
        discovered = Discovered(call, client_of(question.level, question.ladder))
        await self._gather_in_time(discovered)
        told = members(discovered)
        now, fresh_until = self._clock(), call.fresh_until
        ready = prepared(costing_nothing(told, now, fresh_until), fresh_until)
        self._results.put(question, ready, generation)
        return prepared(told, fresh_until)

    async def _gather_in_time(self, discovered: Discovered) -> None:
        """Find out as much as the deadline allows."""
        call = discovered.call
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.deadline):
                await self._gather(discovered)
                return
        call.expire_at(self._clock())
        await call.abandon()

    async def _gather(self, discovered: Discovered) -> None:
        call, link = discovered.call, self._world.link
        if is_local(call.domain) or self._settings.isolated:
            if link is None:
                detail = "Names in .local are heard on the local link only (discovery.mdns.enabled)."
                call.steps.note("mdns", call.domain, StepOutcome.SKIPPED, detail)
                return
            discovered.found = await find_local(call, link)
            return
        facts = discovered.dns = await self._dns.run(call)
        if self._settings.requires_dnssec and facts.security is not Security.SECURE:
            call.refused.add("dnssec")
            detail = f"DNSSEC is required (dns.dnssec) and the answer is {facts.security}."
            call.steps.note("dnssec", call.domain, StepOutcome.REFUSED, detail)
            return
        if isinstance(facts.agent.aid, AidRecord):
            discovered.coexisting.append(facts.agent.aid.version.value)
        reach = Reach(self._landing, self._world.origin, self._settings.agent, self._settings.anp)
        await Sources(discovered, facts, reach).gather()
