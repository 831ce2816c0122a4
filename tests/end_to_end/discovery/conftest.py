"""The zone tree, signed and served once for all, and for each test an internet of its own in front of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from proxy.server.wiring import wall_clock
from tests.end_to_end.discovery.internet import ZONES, Internet
from tests.simulators.knot import Internet as ZoneTree
from tests.simulators.knot import knot, missing_tools


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZoneTree]:
    missing = missing_tools()
    if missing:
        pytest.skip(f"no real name server to ask: {', '.join(missing)} (Knot DNS) not on PATH")
    with knot(tmp_path_factory.mktemp("tree"), int(wall_clock()), ZONES) as running:
        yield running


@pytest.fixture
async def internet(tree: ZoneTree, tmp_path: Path) -> AsyncIterator[Internet]:
    async with Internet(tree, tmp_path) as opened:
        yield opened
