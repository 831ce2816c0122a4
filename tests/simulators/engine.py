"""The whole engine in memory, on a fake clock and a simulated origin."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from proxy.discovery.classes import POLICIES, ClassPolicy, DocumentClass
from proxy.engine.collapse import Flights
from proxy.engine.control import Control
from proxy.engine.copies import Copies
from proxy.engine.failover.settings import FailoverSettings
from proxy.engine.fill import Filler
from proxy.engine.forwarder import Forwarder
from proxy.engine.gateway import Gateway
from proxy.engine.holdoff import HoldOffs
from proxy.engine.outage import Outage
from proxy.engine.outcome import Answer, Complete, Outcome, Refusal, Served, Streaming, Switched
from proxy.engine.refresh import Refresher
from proxy.engine.settings import EngineSettings, Rules
from proxy.engine.state import EngineState
from proxy.engine.trust.settings import TrustSettings
from proxy.engine.trust.standby import Standby
from proxy.engine.turns import Turns
from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.targets import parse_target
from proxy.ports import Body, Generations, Interim
from proxy.relocation.rules import DEFAULT_RULES, RelocationRules
from proxy.server.relocating import Relocating, build_relocation
from proxy.server.trusting import Trusting, build_trust
from proxy.stores.generations import MemoryGenerations
from proxy.stores.memory import Memory
from proxy.stores.memoryledger import MemoryLedger
from proxy.stores.tiered import Tiered
from proxy.stores.trustrecords import MemoryTrustRecords
from proxy.stores.variants import VariantStore
from tests.simulators.clock import FakeClock
from tests.simulators.mirror import MirrorSimulator
from tests.simulators.origin import OriginSimulator

SITE = "https://example.com"


@dataclass
class Noted:
    """Implements `ports.Observer`: keeps what it is told."""

    upstreams: list[tuple[str, str]] = field(default_factory=list)
    refreshes: list[str] = field(default_factory=list)
    evictions: list[tuple[str, str, int]] = field(default_factory=list)
    collapses: int = 0
    verdicts: list[tuple[str, str]] = field(default_factory=list)

    def upstream(self, reason: str, result: str, seconds: float) -> None:
        self.upstreams.append((str(reason), str(result)))

    def collapsed(self) -> None:
        self.collapses += 1

    def refreshed(self, result: str) -> None:
        self.refreshes.append(result)

    def store_operation(self, tier: str, operation: str, seconds: float) -> None:
        pass

    def store_error(self, tier: str, operation: str) -> None:
        pass

    def boundary(self, decision: str, rule: str, mode: str) -> None:
        pass

    def evicted(self, tier: str, reason: str, count: int) -> None:
        self.evictions.append((tier, reason, count))

    def verified(self, kind: str, result: str) -> None:
        self.verdicts.append((str(kind), str(result)))


@dataclass(frozen=True)
class Got:
    """An answer as a client sees it. `body` is None where it broke off."""

    status: int
    fields: Fields
    body: bytes | None
    outcome: Outcome

    @property
    def served(self) -> Served:
        return self.outcome.served

    @property
    def cache_status(self) -> str:
        return self.outcome.cache_status or ""

    def field(self, name: str) -> str | None:
        return self.fields.get(name)


@dataclass
class TrustSimulation:
    """What judges signatures, and the mirrors that it may turn to."""

    records: MemoryTrustRecords
    mirrors: MirrorSimulator
    trusting: Trusting
    standby: Standby

    async def close(self) -> None:
        """Stop what runs behind the scenes."""
        await self.standby.close()
        await self.trusting.close()


@dataclass
class Simulation:
    """Every part of an engine, and the questions that tests put to it."""

    clock: FakeClock
    origin: OriginSimulator
    noted: Noted
    memory: Memory
    store: Tiered
    generations: Generations
    flights: Flights
    holdoffs: HoldOffs
    filler: Filler
    refresher: Refresher
    forwarder: Forwarder
    gateway: Gateway
    control: Control
    rules: Rules
    state: EngineState
    relocating: Relocating
    trust: TrustSimulation | None = None

    async def ask(
        self,
        path: str,
        fields: Mapping[str, str] | Iterable[tuple[str, str]] = (),
        method: str = "GET",
        body: Body = None,
        interim: Interim | None = None,
    ) -> Got:
        """The answer to one request, read to its end."""
        return await received(await self.gateway.handle(request(path, fields, method), body, interim))

    def start(self, path: str, fields: Mapping[str, str] = {}, method: str = "GET") -> asyncio.Task[Got]:
        """A request on its way."""
        return asyncio.get_running_loop().create_task(self.ask(path, fields, method))

    async def settle(self) -> None:
        """Let everything happen that can happen now."""
        for _ in range(100):
            await asyncio.sleep(0)

    async def refreshed(self) -> None:
        """Wait until no fill is under way."""
        await self.flights.close(1.0)


def request(path: str, fields: Mapping[str, str] | Iterable[tuple[str, str]] = (), method: str = "GET") -> Request:
    """A request for a path of the site, or for a URI."""
    uri = SITE + path if path.startswith("/") else path
    lines = fields.items() if isinstance(fields, Mapping) else fields
    return Request(method, parse_target(uri), Fields(lines))


async def received(answer: Answer) -> Got:
    """What a client gets of `answer`."""
    match answer:
        case Complete(head, body, outcome):
            return Got(head.status, head.fields, body, outcome)
        case Streaming(head, read, response, outcome):
            try:
                rest = b"".join([piece async for piece in response.chunks()])
            except Exception:
                return Got(head.status, head.fields, None, outcome)
            finally:
                response.close()
            return Got(head.status, head.fields, read + rest, outcome)
        case Switched(upgraded, outcome):
            return Got(upgraded.head.status, upgraded.head.fields, b"", outcome)
        case Refusal(problem, outcome):
            fields = Fields([("Cache-Status", outcome.cache_status or "")])
            return Got(problem.status, fields, problem.body("id"), outcome)


def engine(
    settings: EngineSettings | None = None,
    *,
    policies: Mapping[DocumentClass, ClassPolicy] = POLICIES,
    store: VariantStore | None = None,
    generations: Generations | None = None,
    max_bytes: int = 2**24,
    trust: TrustSettings | None = None,
    failover: FailoverSettings | None = None,
    relocation: RelocationRules = DEFAULT_RULES,
) -> Simulation:
    """An engine with nothing behind it but simulators; with `trust` it judges signatures and turns to mirrors."""
    settings = settings or EngineSettings()
    clock, noted = FakeClock(), Noted()
    origin = OriginSimulator(clock)
    memory = Memory(max_bytes, 64, lambda reason, count: noted.evicted("memory", reason, count))
    marks = generations or MemoryGenerations()
    tiered = Tiered(memory, store, marks, noted, clock, 0.05)
    rules = Rules(settings, policies)
    flights = Flights(clock, settings.flight_lease)
    holdoffs = HoldOffs(settings.refresh_backoff)
    state = EngineState(tiered, flights, holdoffs, marks, rules, noted, clock, settings, Copies(marks, clock))
    parts = None
    mirrors, records = MirrorSimulator(), MemoryTrustRecords()
    if trust is not None:
        parts = build_trust(trust, failover or FailoverSettings(), state, records, Turns(), origin, mirrors)
    voucher = None if parts is None else parts.voucher
    relocating = build_relocation(state, origin, MemoryLedger(), Turns(), relocation, voucher)
    filler = Filler(state, origin, relocating.hearing, voucher)
    refresher = Refresher(state, filler)
    standby = None if parts is None or trust is None else parts.standby(state, refresher, trust)
    forwarder = Forwarder(state, origin, relocating.hearing)
    gateway = Gateway(state, relocating.answering, filler, refresher, forwarder, Outage(state, standby))
    control = Control(
        state, refresher, relocating.answering, relocating.rechecks, None if parts is None else parts.control
    )
    simulated = None
    if parts is not None and standby is not None:
        simulated = TrustSimulation(records, mirrors, parts, standby)
    return Simulation(
        clock,
        origin,
        noted,
        memory,
        tiered,
        marks,
        flights,
        holdoffs,
        filler,
        refresher,
        forwarder,
        gateway,
        control,
        rules,
        state,
        relocating,
        simulated,
    )
