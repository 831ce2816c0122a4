"""Content by its hash over simulated gateways."""

from __future__ import annotations

from dataclasses import dataclass, field

from proxy.engine.failover.breakers import Breakers
from proxy.engine.failover.content import AttemptLog, Content, ContentMissing
from proxy.engine.failover.gateways import Gateways
from proxy.engine.failover.settings import FailoverSettings
from proxy.failover.gateways import parse_gateway
from proxy.failover.plan import PlanRules
from proxy.trust.content.cid import Cid
from proxy.trust.content.unixfs import add_file
from tests.simulators.clock import FakeClock
from tests.simulators.engine import Noted
from tests.simulators.mirror import MirrorSimulator

FIRST, SECOND, THIRD = "https://first.example", "https://second.example", "https://third.example"
BODY = b'{"profileId": "x"}'
CID, BLOCKS = add_file(BODY)


@dataclass
class Network:
    """Content over simulated gateways."""

    gateways: tuple[str, ...] = (FIRST, SECOND, THIRD)
    hedge_delay: float = 0.05
    deadline: float = 5.0
    mirrors: MirrorSimulator = field(default_factory=MirrorSimulator)
    clock: FakeClock = field(default_factory=FakeClock)
    noted: Noted = field(default_factory=Noted)

    def __post_init__(self) -> None:
        rules = PlanRules(tuple(map(parse_gateway, self.gateways)))
        self.settings = FailoverSettings(rules, self.hedge_delay, deadline=self.deadline)
        self.asked = Gateways(self.mirrors, Breakers(self.clock), self.noted, self.clock, self.settings)
        self.content = Content(self.asked, self.settings)
        self.log = AttemptLog()

    async def fetch(self, cid: Cid = CID) -> bytes | ContentMissing:
        """The file; nothing is left under way."""
        file = await self.content.fetch(cid, self.log)
        assert self.mirrors.under_way == 0
        return file

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """What the log has: gateway, outcome, reason."""
        return [
            (attempt.url.partition("/ipfs/")[0], attempt.outcome.value, attempt.reason)
            for attempt in self.log.attempts
        ]

    @property
    def order(self) -> list[str]:
        """The gateways, best first."""
        return [gateway.url for gateway in self.asked.ordered]
