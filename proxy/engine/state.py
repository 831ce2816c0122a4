"""What the parts of the engine share."""

from __future__ import annotations

from dataclasses import dataclass

from proxy.engine.collapse import Flights
from proxy.engine.copies import Copies
from proxy.engine.holdoff import HoldOffs
from proxy.engine.settings import EngineSettings, Rules
from proxy.ports import Clock, Generations, Observer
from proxy.stores.tiered import Tiered


@dataclass(frozen=True, slots=True)
class EngineState:
    """One engine's store and memory of what is under way and stands in, its rules, its clock and who watches it."""

    store: Tiered
    flights: Flights
    holdoffs: HoldOffs
    generations: Generations
    rules: Rules
    observer: Observer
    clock: Clock
    settings: EngineSettings
    copies: Copies
