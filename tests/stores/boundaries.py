"""Conflicts, profiles, and stores to keep them, that the tests of the boundary's records share."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from proxy.boundary.conflicts import Cause, Conflict, Settlement
from proxy.boundary.registration import Registration
from proxy.capability.atoms import Atom
from proxy.capability.profiles import CapabilityProfile, Flag
from proxy.capability.resolution import Code
from proxy.stores.memoryboundary import ON_FILE, BoundaryBounds, MemoryBoundary
from proxy.stores.sqliteboundary import SqliteBoundary

NOW = 1_700_000_000.125
AnyBoundary = MemoryBoundary | SqliteBoundary


def digits(*parts: object) -> str:
    """64 hex digits that stand for these parts."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def refused(number: int = 1, client: str = "agent-7", intent: object = None) -> Conflict:
    """Conflict `number` of this client, of an intent of its own where none is given."""
    return Conflict(
        id=digits("id", number, client)[:32],
        intent=digits("intent", number if intent is None else intent, client),
        client=client,
        method="POST",
        url=f"https://api.example/orders/{number}",
        cause=Cause.PROXY,
        rule="D8",
        reason="capability_missing",
        code=Code.HUMAN_REVIEW_REQUIRED,
        review_url="https://api.example/review",
        observed_at=NOW + number,
        envelope={
            "type": "uai.agent.blocker.v1",
            "body": {"title": "é", "count": number, "share": 0.1, "none": None},
        },
        missing=(Atom.JSON_POST, Atom.AUTH),
        proven=frozenset({Atom.STATIC_GET, Atom.JSON_GET}),
        credential="0a1b",
        challenges=('Bearer realm="x"',),
    )


def released(conflict: Conflict, settlement: Settlement = Settlement.PERSON, at: float = NOW + 500) -> Conflict:
    return conflict.released(settlement, at)


PROFILE = CapabilityProfile(
    profile_id="uai.client.tool-agent.v1",
    client_level="L3",
    client_name="Tool agent",
    flags=frozenset({Flag.CAN_FETCH_JSON, Flag.CAN_POST_DATA}),
    consent_for=("purchases",),
    uaix_profiles=("uai.agent.blocker.v1",),
    fallback_behavior="Show the page to a person.",
    known_limits=("No uploads.",),
    evidence_requirements=(),
    safe_default_response="Stop.",
)


def registered(client: str = "agent-7", version: int = 1, expires_at: float = NOW + 1000) -> Registration:
    return Registration(client, version, PROFILE, NOW, expires_at)


HELD = refused()
OTHER = refused(2, "agent-8")
RELEASED = released(HELD)
GUESSED = replace(HELD, refused_credentials=3)

opened: list[SqliteBoundary] = []


async def on_file(path: Path, operation_timeout: float = 1.0, bounds: BoundaryBounds = ON_FILE) -> SqliteBoundary:
    """Without haste: a busy machine is not to be taken for a slow file."""
    boundary = SqliteBoundary(path, operation_timeout, bounds)
    opened.append(boundary)
    await boundary.open()
    return boundary


async def in_memory(_: Path, operation_timeout: float = 1.0, bounds: BoundaryBounds = ON_FILE) -> MemoryBoundary:
    boundary = MemoryBoundary(bounds)
    await boundary.open()
    return boundary


Kind = Callable[..., Awaitable[AnyBoundary]]


async def closed(boundary: SqliteBoundary) -> None:
    opened.remove(boundary)
    await boundary.close()


async def filled(path: Path, *conflicts: Conflict) -> None:
    """A file with these conflicts, which nobody has open."""
    boundary = await on_file(path)
    await asyncio.gather(*map(boundary.put, conflicts))
    await closed(boundary)


async def ids(boundary: AnyBoundary, client: str | None = None) -> list[str]:
    return [row.conflict.id for row in await boundary.page(client, None, 0, 1_000_000)]
