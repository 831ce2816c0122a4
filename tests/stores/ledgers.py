"""Records, and ledgers to keep them, that the ledger tests share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from proxy.http.targets import parse_target
from proxy.relocation.records import Observation, Record, State
from proxy.relocation.rules import Seen, observe
from proxy.stores.ledger import SqliteLedger
from proxy.stores.ledgerfile import ON_FILE, Bounds
from proxy.stores.memoryledger import MemoryLedger

NOW = 1_700_000_000.0
URL = "https://example.com/agent.json"
AnyLedger = MemoryLedger | SqliteLedger


def told_by_origin(url: str, status: int, at: float = NOW) -> Record:
    """What is recorded once the origin has answered so."""
    seen = Seen(parse_target(url), status, at, is_origin=True, locations=(f"{url}/new",) if status == 308 else ())
    record = observe(None, seen).record
    assert record is not None
    return record


def moved(url: str = URL, at: float = NOW) -> Record:
    return replace(told_by_origin(url, 308, at), state=State.MOVED)


def gone(url: str = URL, at: float = NOW) -> Record:
    return told_by_origin(url, 410, at)


def counted(url: str = URL, at: float = NOW) -> Record:
    return told_by_origin(url, 404, at)


MOVED, GONE = moved(), gone("https://other.example/card.json")
REVIVED = Observation(NOW + 9, 200, None, None, "The origin has the document.")
NEVER = "https://never.example/"

opened: list[SqliteLedger] = []


async def on_file(path: Path, operation_timeout: float = 1.0, bounds: Bounds = ON_FILE) -> SqliteLedger:
    """Without haste: a busy machine is not to be taken for a slow file."""
    ledger = SqliteLedger(path, operation_timeout, bounds)
    opened.append(ledger)
    await ledger.open()
    return ledger


async def in_memory(_: Path, operation_timeout: float = 1.0, bounds: Bounds = ON_FILE) -> MemoryLedger:
    ledger = MemoryLedger(bounds)
    await ledger.open()
    return ledger


Kind = Callable[..., Awaitable[AnyLedger]]


async def closed(ledger: SqliteLedger) -> None:
    opened.remove(ledger)
    await ledger.close()


async def filled(path: Path, *records: Record) -> None:
    """A file with these records, which nobody has open."""
    ledger = await on_file(path)
    await asyncio.gather(*map(ledger.put, records))
    await closed(ledger)
