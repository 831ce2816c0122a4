"""A world of its own for each test, and a log to read what was looked for."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.end_to_end.trust.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path) as world:
        yield world


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The proxy's events from information upwards."""
    caplog.set_level(logging.INFO, logger="proxy")
    return caplog
