"""The three scenarios by which discovery without a centre is measured (seed report, "Test Scenarios").

Each prints its figures: Discovery Success Rate, bytes before the first action, Dependence on Central Services and
Safe Degradation Success; `pytest -s` shows them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from proxy.discovery.central import is_central
from tests.end_to_end.relocation.world import CATALOG, HOST, World, ai_catalog, ask, catalog, gateway
from tests.end_to_end.running import Running
from tests.end_to_end.trust.world import signed_manifest
from tests.trust.publisher import did_document, method

MANIFEST: Final = f"https://{HOST}/.well-known/uaix-agent-access.json"
SECURE: Final = f"https://{HOST}/api/v1/secure/transactions"
HANDOFF: Final = f"https://{HOST}/api/v1/handoff"
REVIEW: Final = f"https://{HOST}/review/agent"
TOKEN: Final = "owner-token"
TOKENS: Final = [{"id": "owner", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest()}]
ROUTES: Final = [
    {"method": "GET", "highestSupportedPath": "/api/v1/public/markets", "abilityLevel": "L1"},
    {
        "method": "POST",
        "highestSupportedPath": "/api/v1/secure/transactions",
        "abilityLevel": "L4",
        "requiresAuthentication": True,
        "humanReviewUrl": REVIEW,
    },
    {
        "method": "POST",
        "highestSupportedPath": "/api/v1/handoff",
        "abilityLevel": "L6",
        "requiresAuthentication": True,
        "humanReviewUrl": REVIEW,
    },
]
ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Figures:
    """What a scenario comes to. Shares from 0 to 1; None where it does not apply."""

    discovered: float
    bytes_before_action: int
    central: float
    degraded: float | None = None

    def __str__(self) -> str:
        degraded = "-" if self.degraded is None else f"{self.degraded:.0%}"
        return (
            f"Discovery Success Rate {self.discovered:.0%}, "
            f"{self.bytes_before_action} bytes before the first action, "
            f"Dependence on Central Services {self.central:.0%}, Safe Degradation Success {degraded}"
        )


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path) as world:
        world.has(MANIFEST, signed_manifest(routes=ROUTES))
        world.has(f"https://{HOST}/.well-known/did.json", did_document(method("key-1")))
        for url in (SECURE, HANDOFF):
            world.answers(
                url, 201, ("Content-Type", "application/json"), body=b'{"done": true}', cache_control=None
            )
        yield world


async def discover(proxy: Running) -> dict[str, Any]:
    answer = await ask(proxy, f"/v1/discover/{HOST}")
    told: dict[str, Any] = json.loads(answer.body)
    return told


async def measured(world: World, proxy: Running) -> Figures:
    """Discovery, cold and then warm; nothing is at hand the first time."""
    found = [await discover(proxy) for _ in range(ATTEMPTS)]
    succeeded = [one for one in found if one["outcome"] == "found" and one["manifest"] is not None]
    cost = [one["overhead"] for one in found]
    requests = sum(one["http_requests"] for one in cost)
    central = sum(one["central_services"] for one in cost)
    asked = [asked.question[0].rstrip(".") for asked in world.nameserver.asked]
    assert not [name for name in asked if is_central(name, HOST)]
    total = sum(one["bytes_sent"] + one["bytes_received"] for one in cost)
    return Figures(len(succeeded) / ATTEMPTS, total, central / max(requests, 1))


async def test_the_central_site_is_unavailable(world: World) -> None:
    """No name of a central service leads anywhere: agents find each other all the same."""
    async with world.proxy() as proxy:
        figures = await measured(world, proxy)
    print(f"\nthe central site is down: {figures}")
    assert (figures.discovered, figures.central) == (1.0, 0.0)
    assert 0 < figures.bytes_before_action < 100_000


async def test_a_registry_excludes_a_compatible_implementation(world: World) -> None:
    """A registry does not list the domain; its signature and its routes are there for whoever asks the domain."""
    world.has(CATALOG, ai_catalog(), media_type="application/ai-catalog+json")
    async with world.proxy(clients__tokens=TOKENS) as proxy:
        assert json.loads((await catalog(proxy, CATALOG)).body)["entries"] == []
        figures = await measured(world, proxy)
        assert (await discover(proxy))["trust"]["state"] == "verified"
        lines = ("Content-Type: application/json", "Idempotency-Key: k1", f"Proxy-Authorization: Bearer {TOKEN}")
        acted = await ask(proxy, gateway(SECURE), *lines, method="POST", body=b"{}")
    print(f"\na registry excludes the domain: {figures}")
    assert (acted.status, len(world.asked(SECURE))) == (201, 1)
    assert (figures.discovered, figures.central) == (1.0, 0.0)


async def test_an_unfamiliar_client_has_no_certification(world: World) -> None:
    """An unknown client at an L6 endpoint is stopped by one answer, with where a person decides."""
    lines = ("Content-Type: application/json", "Accept: application/problem+json")
    async with world.proxy() as proxy:
        figures = await measured(world, proxy)
        answers = [
            await ask(
                proxy,
                f"{gateway(HANDOFF)}?attempt={number}",
                *lines,
                f"Idempotency-Key: {number}",
                f"Agent-Capability: L{number};ladder=exec",
                method="POST",
                body=b"{}",
            )
            for number in range(ATTEMPTS)
        ]
    stopped = [
        one
        for one in answers
        if one.status == 403
        and {"code": "human_review_required", "url": REVIEW}.items() <= json.loads(one.body).items()
    ]
    figures = Figures(figures.discovered, figures.bytes_before_action, figures.central, len(stopped) / ATTEMPTS)
    print(f"\na client without certification: {figures}")
    assert (figures.discovered, figures.central, figures.degraded) == (1.0, 0.0, 1.0)
    assert world.asked(HANDOFF) == [] and len(answers[0].body) < 2_000
