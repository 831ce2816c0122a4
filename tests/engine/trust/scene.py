"""example.com, which signs its manifest, publishes its keys and names mirrors, and an engine that looks at it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from proxy.engine.failover.settings import FailoverSettings
from proxy.engine.trust.settings import TrustSettings
from proxy.failover.gateways import parse_gateway
from proxy.failover.plan import PlanRules
from proxy.trust.content.unixfs import add_file
from tests.simulators.engine import Got, Simulation, TrustSimulation, engine
from tests.trust.publisher import ED, Json, did_document, manifest, method, signed

PATH: Final = "/.well-known/uaix-agent-access.json"
DID_PATH: Final = "/.well-known/did.json"
URI: Final = f"https://example.com{PATH}"
GATEWAY: Final = "https://gateway.example.net"
FIRST: Final = "https://mirror1.example.net/manifest.json"
SECOND: Final = "https://mirror2.example.org/manifest.json"
# Whole seconds: START of the simulators' clock is 2027-01-15T08:00:00Z.
CREATED: Final = "2027-01-10T00:00:00Z"
LATER: Final = "2027-01-12T00:00:00Z"


def octets(document: Json) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def signed_manifest(
    *mirrors: str, created: str = CREATED, key: Any = ED, fragment: str = "key-1", **members: Any
) -> bytes:
    """A manifest with these mirrors and a proof; options of the proof are given as `expires` and so on."""
    options = {name: members.pop(name) for name in ("expires", "verificationMethod") if name in members}
    listed = {"x-independent-mirrors": list(mirrors)} if mirrors else {"x-independent-mirrors": None}
    document = manifest(**listed, **members)
    return octets(signed(document, created=created, key=key, fragment=fragment, **options))


MIRRORED: Final = signed_manifest(FIRST, SECOND)


@dataclass
class Scene:
    """The engine and the publisher."""

    sim: Simulation
    trust: TrustSimulation = field(init=False)

    def __post_init__(self) -> None:
        assert self.sim.trust is not None
        self.trust = self.sim.trust
        self.publish_keys(method("key-1"))

    def publish_keys(self, *methods: Json) -> None:
        self.sim.origin.respond(DID_PATH, content_type="application/json", body=octets(did_document(*methods)))

    def publish(self, body: bytes, cache_control: str = "max-age=60", path: str = PATH, **members: Any) -> None:
        self.sim.origin.respond(
            path, content_type="application/json", cache_control=cache_control, body=body, **members
        )

    async def get(self, fields: dict[str, str] | None = None) -> Got:
        got = await self.sim.ask(PATH, fields or {})
        await self.sim.settle()
        return got

    async def known(self, cache_control: str = "max-age=60", body: bytes = MIRRORED) -> None:
        """The proxy has seen the manifest; then its freshness ends and the origin dies."""
        self.publish(body, cache_control)
        assert (await self.get()).status == 200
        self.sim.clock += 61
        self.sim.origin.fail()

    def mirror(self, url: str, body: bytes, **members: Any) -> None:
        self.trust.mirrors.respond(url, body, **members)

    def pin_on_ipfs(self, body: bytes) -> str:
        """Keep `body` at the gateway; the URL that names it."""
        cid, blocks = add_file(body)
        self.trust.mirrors.keep(GATEWAY, blocks)
        return f"ipfs://{cid.text}"

    @property
    def verdicts(self) -> list[tuple[str, str]]:
        return self.sim.noted.verdicts


def scene(trust: TrustSettings | None = None, **settings: Any) -> Scene:
    """A scene whose engine has one gateway, and hedges after a hundredth of a second."""
    rules = PlanRules(gateways=(parse_gateway(GATEWAY),))
    failover = FailoverSettings(rules=rules, hedge_delay=0.01, deadline=1.0, mirror_timeout=0.5)
    return Scene(engine(trust=trust or TrustSettings(patience=0.2), failover=failover, **settings))


def trust_of(got: Got) -> tuple[str, dict[str, str]]:
    """State and parameters of Discovery-Trust, but the time."""
    state, *rest = (got.field("Discovery-Trust") or "").split(";")
    parameters = dict(one.split("=", 1) for one in rest)
    parameters.pop("checked", None)
    return state, parameters
