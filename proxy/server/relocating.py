"""The parts that hear, record and repeat the origin's word, put together under a configuration."""

from __future__ import annotations

from dataclasses import dataclass

from proxy.config import Settings
from proxy.engine.relocation.answering import Answering
from proxy.engine.relocation.asking import Asking
from proxy.engine.relocation.control import RelocationControl
from proxy.engine.relocation.dependents import Dependents
from proxy.engine.relocation.following import Following
from proxy.engine.relocation.hearing import Hearing
from proxy.engine.relocation.inquiry import Inquiry
from proxy.engine.relocation.rechecks import Rechecks
from proxy.engine.relocation.writing import Writer
from proxy.engine.state import EngineState
from proxy.engine.turns import Turns
from proxy.engine.vouching import DomainTrust
from proxy.ledgers import Ledger
from proxy.ports import Origin
from proxy.relocation.rules import CrossDomain, RelocationRules


@dataclass(frozen=True, slots=True)
class Relocating:
    """Who hears what lasts, writes it down, answers from it, asks again, and what an operator may do."""

    ledger: Ledger
    writer: Writer
    rechecks: Rechecks
    hearing: Hearing
    answering: Answering
    control: RelocationControl

    async def close(self) -> None:
        """Stop what is done behind the scenes."""
        await self.rechecks.close()


def build_relocation(
    state: EngineState,
    origin: Origin,
    ledger: Ledger,
    turns: Turns,
    rules: RelocationRules,
    trust: DomainTrust | None,
) -> Relocating:
    """The parts, on the ledger that outlasts them; `trust` tells whose signature a document has."""
    writer = Writer(ledger, turns)
    writer.tell(Dependents(state).told)
    inquiry = Inquiry(state, origin)
    asking = Asking(state, inquiry, writer, rules)
    rechecks = Rechecks(asking, Following(inquiry, trust).follow, writer, ledger, state.clock, rules)
    hearing = Hearing(state, ledger, asking, rechecks)
    answering = Answering(state, ledger, rechecks)
    control = RelocationControl(ledger, writer, asking, state.clock)
    return Relocating(ledger, writer, rechecks, hearing, answering, control)


def relocation_rules(settings: Settings) -> RelocationRules:
    """The part of the configuration on relocations."""
    relocation = settings.relocation
    return RelocationRules(relocation.max_age, CrossDomain(relocation.cross_domain))
