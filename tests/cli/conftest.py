"""Commands of these tests are configured by nothing but their own flags."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.desk import Desk


@pytest.fixture(autouse=True)
def no_configuration_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith("DISCOVERY_PROXY_") or name in ("NO_COLOR", "TERM"):
            monkeypatch.delenv(name)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A publisher's desk, which is the working directory."""
    return Desk(tmp_path, monkeypatch, capsys)
