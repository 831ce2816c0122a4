"""`discover --via` and a proxy that really runs: the same object as in this process."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from proxy.cli import main
from proxy.server.schema import DISCOVERY
from tests.cli.internet import internet
from tests.end_to_end.running import running

CARD = {"/.well-known/agent-card.json": {"name": "a", "url": "https://example.com/a2a", "skills": []}}


@pytest.mark.parametrize(
    ("documents", "outcome", "code"), [(CARD, "found", 0), ({}, "not-found", 1)], ids=["found", "not found"]
)
async def test_a_running_proxy_tells_the_same(
    documents: dict[str, object], outcome: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["discover", "example.com", "--json"]

    async def told(*more: str) -> dict[str, Any]:
        capsys.readouterr()
        assert await asyncio.to_thread(main, [*argv, *more]) == code
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        jsonschema.validate(answer, DISCOVERY)
        assert answer["outcome"] == outcome and answer["overhead"]["elapsed_ms"] > 0
        return answer

    with internet(tmp_path, documents) as net:
        here = await told("--config", net.config)
        async with running(**net.flags) as proxy:
            there = await told("--via", f"http://127.0.0.1:{proxy.port}")
    for answer in (here, there):
        # Of one class, those that were answered first come first.
        answer["documents"].sort(key=lambda document: document["url"])
    stable = ("domain", "documents", "endpoints", "dns", "routes", "static", "client")
    assert {name: here[name] for name in stable} == {name: there[name] for name in stable}
