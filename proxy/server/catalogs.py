"""The parts that read and judge catalogs of others, put together under a configuration."""

from __future__ import annotations

from dataclasses import dataclass

from proxy.config import Settings
from proxy.engine.catalogs.judging import Judgement
from proxy.engine.catalogs.reading import CatalogReader
from proxy.engine.catalogs.watching import WatchList
from proxy.engine.gateway import Gateway
from proxy.engine.state import EngineState
from proxy.server.catalogpages import CatalogPages
from proxy.server.relocating import Relocating


@dataclass(frozen=True, slots=True)
class Catalogs:
    """Who answers for catalogs, and who watches those that the operator names."""

    pages: CatalogPages
    watch: WatchList


def build_catalogs(settings: Settings, state: EngineState, gateway: Gateway, relocating: Relocating) -> Catalogs:
    """The parts, reading through `gateway` and judging by what `relocating` knows."""
    catalogs, clock = settings.catalogs, state.clock
    reader = CatalogReader(gateway, clock, state.settings.agent)
    answering, rechecks = relocating.answering, relocating.rechecks
    judgement = Judgement(answering.record, rechecks, state.store, clock, catalogs.probe_concurrency)
    watch = WatchList(reader, judgement, clock, catalogs.watch, catalogs.interval)
    return Catalogs(CatalogPages(reader, judgement, clock), watch)
