"""Commands of these tests are configured by nothing but their own flags."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_configuration_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith("DISCOVERY_PROXY_") or name in ("NO_COLOR", "TERM"):
            monkeypatch.delenv(name)
