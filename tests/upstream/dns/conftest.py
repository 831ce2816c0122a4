"""The internet of the tests, started once for all that ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.simulators.knot import Internet, knot, missing_tools
from tests.upstream.dns.signed import NOW


@pytest.fixture(scope="session")
def internet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Internet]:
    missing = missing_tools()
    if missing:
        pytest.skip(f"no real name server to ask: {', '.join(missing)} (Knot DNS) not on PATH")
    with knot(tmp_path_factory.mktemp("internet"), NOW) as running:
        yield running
