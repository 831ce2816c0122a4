"""What outlasts a configuration: stores and records, the right to them, and fills under way."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from proxy.config import Settings
from proxy.engine.boundary.replays import Replays
from proxy.engine.collapse import Flights
from proxy.engine.turns import Turns
from proxy.metrics import Metrics
from proxy.ports import Clock
from proxy.server.enginesettings import engine_settings
from proxy.server.opening import CannotOpen
from proxy.stores.files import Claim, StoreInUse
from proxy.stores.generations import MemoryGenerations, SqliteGenerations
from proxy.stores.ledger import SqliteLedger
from proxy.stores.memory import Memory
from proxy.stores.memoryboundary import MemoryBoundary
from proxy.stores.memoryledger import MemoryLedger
from proxy.stores.persistent import Persistent, open_sqlite
from proxy.stores.sqliteboundary import SqliteBoundary
from proxy.stores.tiered import Tiered
from proxy.stores.trustrecords import MemoryTrustRecords, SqliteTrustRecords

_log = logging.getLogger("proxy.server")


@dataclass(frozen=True, slots=True)
class Durable:
    """What is no cache: purge marks, what is known of domains, relocations, conflicts at the boundary."""

    generations: MemoryGenerations | SqliteGenerations
    records: MemoryTrustRecords | SqliteTrustRecords
    ledger: MemoryLedger | SqliteLedger
    boundary: MemoryBoundary | SqliteBoundary


@dataclass(frozen=True, slots=True)
class Kept:
    """What a reload keeps: stores, marks, the right to both, fills under way, metrics and the clock."""

    memory: Memory
    store: Tiered
    generations: MemoryGenerations | SqliteGenerations
    records: MemoryTrustRecords | SqliteTrustRecords
    turns: Turns
    ledger: MemoryLedger | SqliteLedger
    relocation_turns: Turns
    boundary: MemoryBoundary | SqliteBoundary
    replays: Replays
    claim: Claim | None
    flights: Flights
    metrics: Metrics
    clock: Clock

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why the stores do less than they should; empty when all is well."""
        return (
            *self.store.degraded,
            *self.generations.degraded,
            *self.records.degraded,
            *self.ledger.degraded,
            *self.boundary.degraded,
        )

    async def tend(self) -> None:
        """Try again what could not be used, as soon as it is ours."""
        if not self.degraded:
            return
        try:
            if self.claim is not None:
                self.claim.take()
        except (OSError, StoreInUse):
            return
        self.generations.retry(self.clock())
        await self.store.probe()
        await self.records.probe()
        await self.ledger.probe()
        await self.boundary.probe()

    async def close(self, seconds: float) -> None:
        """Write what waits and close everything, within `seconds`."""
        await self.replays.close()
        await self.store.close(seconds)
        self.generations.close()
        await self.records.close()
        await self.ledger.close()
        await self.boundary.close()
        if self.claim is not None:
            self.claim.release()


def open_kept(settings: Settings, metrics: Metrics, clock: Clock) -> Kept:
    """Memory, the persistent store if there is one, and the purge marks that go with it.

    Raises CannotOpen when another process has the store. One that cannot be used is tried again by `Kept.tend`.
    """
    if settings.store.database is None:
        return keep(settings, metrics, clock, None, passing())
    path = Path(settings.store.database)
    claim = _claimed(path)
    # The marks first: they judge whether what the store holds may still be used.
    generations = SqliteGenerations(marks_of(path), path, clock())
    records = SqliteTrustRecords(records_of(path), settings.store.operation_timeout)
    ledger = SqliteLedger(ledger_of(path), settings.store.operation_timeout)
    boundary = SqliteBoundary(boundary_of(path), settings.store.operation_timeout)
    store = open_sqlite(path, settings.cache.max_variants, clock)
    durable = Durable(generations, records, ledger, boundary)
    return keep(settings, metrics, clock, store, durable, claim)


def passing(generations: MemoryGenerations | SqliteGenerations | None = None) -> Durable:
    """What ends with the process, but for purge marks that are given."""
    return Durable(generations or MemoryGenerations(), MemoryTrustRecords(), MemoryLedger(), MemoryBoundary())


def keep(
    settings: Settings,
    metrics: Metrics,
    clock: Clock,
    store: Persistent | None,
    durable: Durable,
    claim: Claim | None = None,
) -> Kept:
    """Memory in front of `store`, which `durable` and `claim` go with."""
    memory = Memory(
        settings.memory.max_bytes,
        settings.cache.max_variants,
        lambda reason, count: metrics.evicted("l1", reason, count),
    )
    generations = durable.generations
    tiered = Tiered(memory, store, generations, metrics, clock, settings.store.operation_timeout)
    return Kept(
        memory=memory,
        store=tiered,
        generations=generations,
        records=durable.records,
        turns=Turns(),
        ledger=durable.ledger,
        relocation_turns=Turns(),
        boundary=durable.boundary,
        replays=Replays(clock, settings.boundary.idempotency_window),
        claim=claim,
        flights=Flights(clock, engine_settings(settings).flight_lease),
        metrics=metrics,
        clock=clock,
    )


def marks_of(database: Path) -> Path:
    """Where the purge marks of a persistent store are."""
    return database.with_name(database.name + ".marks")


def records_of(database: Path) -> Path:
    """Where the trust records beside a persistent store are."""
    return database.with_name(database.name + ".trust")


def ledger_of(database: Path) -> Path:
    """Where the records of relocations beside a persistent store are."""
    return database.with_name(database.name + ".ledger")


def boundary_of(database: Path) -> Path:
    """Where the conflicts at the boundary beside a persistent store are."""
    return database.with_name(database.name + ".boundary")


def _claimed(database: Path) -> Claim:
    claim = Claim(database)
    try:
        claim.take()
    except StoreInUse as error:
        raise CannotOpen(f"store.url: {error}") from None
    except OSError as error:
        # Mostly nobody can use what is there then, and no request fails for that.
        _log.warning("cannot tell whether another process uses %s (%s)", database, type(error).__name__)
    return claim
