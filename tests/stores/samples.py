"""Stored responses, requests and doubles that the store tests share."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from proxy.caching.freshness import Exchange, Lifetime, LifetimeSource
from proxy.caching.generations import host_scopes
from proxy.caching.stored import StoredResponse
from proxy.caching.vary import selecting_values
from proxy.caching.vouching import unsigned
from proxy.http.fields import Fields
from proxy.ports import StoreUnavailable
from proxy.stores.variants import variant_of

T = TypeVar("T")

START = 1_800_000_000.0
URI = "https://example.com/.well-known/agent-card.json"
NO_FIELDS = Fields()

_PLAIN = StoredResponse(
    uri=URI,
    status=200,
    reason="OK",
    fields=Fields([("Content-Type", "application/json"), ("ETag", '"1"')]),
    body=b"{}",
    vary=(),
    selecting=(),
    exchange=Exchange(START, START),
    born=START,
    lifetime=Lifetime(60.0, LifetimeSource.MAX_AGE),
    stale_while_revalidate=0.0,
    stale_if_error=0.0,
    forbids_stale=False,
    must_validate=False,
    document_class="agent-card",
    tags=(),
    generation=0,
    downstream_etag='"1"',
    keep_until=START + 3600,
    vouching=unsigned("https", START),
)


def response(body: bytes = b"{}", *, born: float = START, **changes: Any) -> StoredResponse:
    """A response fresh for a minute and kept for an hour from `born`."""
    times = {"born": born, "exchange": Exchange(born, born), "keep_until": born + 3600}
    return replace(_PLAIN, body=body, **{**times, **changes})


def speaking(language: str) -> Fields:
    """A request's fields in one language."""
    return Fields([("Accept-Language", language)])


def variant(language: str, body: bytes | None = None, **changes: Any) -> StoredResponse:
    """The response to a request in `language`, the body by default naming it."""
    vary = ("accept-language",)
    selecting = selecting_values(vary, speaking(language))
    return response(language.encode() if body is None else body, vary=vary, selecting=selecting, **changes)


def bodies(variants: tuple[StoredResponse, ...]) -> list[bytes]:
    """What the variants say, in their order."""
    return [stored.body for stored in variants]


def started(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """`work` as a task of its own; the caller keeps it."""
    return asyncio.get_running_loop().create_task(work)


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class Observations:
    """An Observer that remembers what concerns stores."""

    errors: list[tuple[str, str]] = field(default_factory=list)
    evictions: list[tuple[str, str, int]] = field(default_factory=list)
    operations: list[tuple[str, str]] = field(default_factory=list)

    def upstream(self, reason: str, result: str, seconds: float) -> None:
        raise AssertionError("no store asks an origin")

    def collapsed(self) -> None:
        raise AssertionError("no store collapses requests")

    def refreshed(self, result: str) -> None:
        raise AssertionError("no store refreshes")

    def store_operation(self, tier: str, operation: str, seconds: float) -> None:
        self.operations.append((tier, operation))

    def store_error(self, tier: str, operation: str) -> None:
        self.errors.append((tier, operation))

    def boundary(self, decision: str, rule: str, mode: str) -> None:
        pass

    def evicted(self, tier: str, reason: str, count: int) -> None:
        self.evictions.append((tier, reason, count))


class StoreSimulator:
    """A store in a dictionary that can fail, hang or wait, and counts its calls."""

    def __init__(self) -> None:
        self.held: dict[str, dict[object, StoredResponse]] = {}
        self.calls: list[str] = []
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.is_closed = False

    async def _called(self, operation: str) -> None:
        self.calls.append(operation)
        await self.gate.wait()
        if self.error is not None:
            raise self.error

    async def open(self) -> None:
        await self._called("open")

    async def find(self, key: str, request: Fields) -> tuple[StoredResponse, ...]:
        found = await self.variants(key)
        return tuple(s for s in found if s.selecting == selecting_values(s.vary, request))

    async def variants(self, key: str) -> tuple[StoredResponse, ...]:
        held = tuple(self.held.get(key, {}).values())
        await self._called("find")
        return held

    async def keys(self, host: str | None, limit: int) -> tuple[str, ...]:
        await self._called("keys")
        held = (
            key
            for key, variants in self.held.items()
            if host is None or any(host in host_scopes(stored.uri) for stored in variants.values())
        )
        return tuple(sorted(held))[:limit]

    async def unlist(self, host: str | None) -> None:
        await self._called("unlist")

    async def put(self, key: str, stored: StoredResponse) -> None:
        await self._called("put")
        self.held.setdefault(key, {})[variant_of(stored)] = stored

    async def remove(self, key: str) -> int:
        await self._called("remove")
        return len(self.held.pop(key, {}))

    async def discard(self, key: str, stored: StoredResponse) -> None:
        await self._called("discard")
        self.held.get(key, {}).pop(variant_of(stored), None)

    async def close(self) -> None:
        self.is_closed = True


UNAVAILABLE = StoreUnavailable("simulated")
