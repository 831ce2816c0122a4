"""A world of its own for each test."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.end_to_end.relocation.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path) as world:
        yield world


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "proxy.yaml"


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The proxy's events from information upwards; whatever happens, none of them is a fault of its own."""
    caplog.set_level(logging.INFO, logger="proxy")
    yield caplog
    assert [event.getMessage() for event in caplog.get_records("call") if event.exc_info] == []
