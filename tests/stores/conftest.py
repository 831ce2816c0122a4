"""What the ledger tests share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.stores.ledgers import AnyLedger, in_memory, on_file, opened


@pytest_asyncio.fixture
async def ledgers_closed() -> AsyncIterator[None]:
    yield
    while opened:
        await opened.pop().close()


@pytest_asyncio.fixture(params=[in_memory, on_file], ids=["memory", "sqlite"])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AnyLedger:
    made: AnyLedger = await request.param(tmp_path / "new" / "folder" / "ledger.db")
    return made
