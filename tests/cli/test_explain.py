"""`explain` without a running proxy: the store is all that it needs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from proxy.cli import main
from proxy.config import load
from proxy.metrics import Metrics
from proxy.server.keeping import open_kept
from proxy.server.wiring import wall_clock


def test_what_only_connections_need_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"

    async def make_store() -> None:
        kept = open_kept(load(None, {}, {"store.url": url}), Metrics(), wall_clock)
        await kept.store.probe()
        await kept.close(5)

    asyncio.run(make_store())
    for name, value in {"UPSTREAM__CA_FILE": "nowhere", "DNS__TRUST_ANCHORS": "nowhere", "STORE__URL": url}.items():
        monkeypatch.setenv(f"DISCOVERY_PROXY_{name}", value)
    # Nothing can listen there.
    monkeypatch.setenv("DISCOVERY_PROXY_ADMIN__PORT", "1")
    assert main(["explain", "https://example.com/x"]) == 1
    assert "Nothing is stored for this URL." in capsys.readouterr().out
