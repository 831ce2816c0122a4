"""A whole discovery in memory: engine, origin and resolvers are simulated, the clock stands still."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from proxy.engine.discovery.discoverer import Discoverer, DiscoverySettings, World
from proxy.engine.discovery.results import Prepared, Question
from proxy.engine.trust.settings import TrustSettings
from proxy.http.problems import Problem
from proxy.ports import LocalLink
from tests.simulators.dns import DnsSimulator
from tests.simulators.engine import Simulation, engine


@dataclass
class Described:
    """An answer, read as a client reads it."""

    prepared: Prepared
    told: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.told[name]

    @property
    def status(self) -> int:
        return 200 if self.prepared.problem is None else self.prepared.problem.status

    def step(self, name: str, target: str = "") -> dict[str, Any]:
        """The first step of a name whose target ends so."""
        return next(step for step in self["steps"] if step["step"] == name and step["target"].endswith(target))

    def document(self, url: str) -> dict[str, Any]:
        """The document whose URL ends so."""
        return next(document for document in self["documents"] if document["url"].endswith(url))

    @property
    def endpoints(self) -> set[tuple[str, str, str, str]]:
        return {(one["protocol"], one["url"], one["from"], one["trust"]) for one in self["endpoints"]}


@dataclass
class Neighbourhood:
    """A domain with everything around it."""

    engine: Simulation
    dns: DnsSimulator
    discoverer: Discoverer

    async def discover(
        self, domain: str = "example.com", level: str | None = None, ladder: str | None = None
    ) -> Described:
        """The answer to a call, from what is ready where there is something."""
        question = Question(domain, level, ladder)
        prepared = self.discoverer.warm(question) or await self.discoverer.discover(question)
        assert isinstance(prepared, Prepared)
        return Described(prepared, json.loads(prepared.body(0.0)))

    async def problem(self, domain: str) -> Problem:
        """Why there is no answer to a call."""
        refused = await self.discoverer.discover(Question(domain, None, None))
        assert isinstance(refused, Problem)
        return refused

    def start(self, domain: str = "example.com", level: str | None = None) -> asyncio.Task[Described]:
        """A call on its way."""
        return asyncio.get_running_loop().create_task(self.discover(domain, level))

    def publish(self, path: str, document: object, **how: Any) -> None:
        """From now on the origin has `document` at `path`, for five minutes unless `how` says otherwise.

        A whole URI in the place of the path is that of one host alone.
        """
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        how.setdefault("content_type", "application/json")
        if "cache_control" not in how:
            how.setdefault("max_age", 300)
        how.setdefault("etag", f'"{hash(body)}"')
        self.engine.origin.respond(path, body=body, **how)

    def asked(self, host: str) -> list[str]:
        """What one host was asked for."""
        return [sent.path for sent in self.engine.origin.requests if sent.request.target.host == host]

    @property
    def paths(self) -> list[str]:
        """What the origin was asked for."""
        return self.engine.origin.paths


def neighbourhood(
    settings: DiscoverySettings | None = None,
    link: LocalLink | None = None,
    trust: TrustSettings | None = None,
) -> Neighbourhood:
    """An origin that publishes nothing, resolvers that know nothing; with `trust` signatures are judged."""
    simulation = engine(trust=trust)
    dns = DnsSimulator(simulation.clock)
    voucher = None if simulation.trust is None else simulation.trust.trusting.voucher
    world = World(simulation.gateway, simulation.origin, dns, link, voucher)
    discoverer = Discoverer(simulation.state, world, settings or DiscoverySettings())
    return Neighbourhood(simulation, dns, discoverer)
