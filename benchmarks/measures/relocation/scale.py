"""A ledger as it grows: its file, what it takes to open it, memory, and look-ups all over it.

Each size is written in one new process and measured in another, whose memory was in nobody's use before.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

import uvloop

from benchmarks.latency import spread
from benchmarks.machine import MIB, resident_bytes
from benchmarks.measures.relocation.recorded import endpoint, endpoint_gone, endpoint_moved, fill
from benchmarks.registry import CannotMeasure
from benchmarks.tables import Row, Table
from proxy.http.targets import parse_target
from proxy.ledgers import LedgerUnavailable
from proxy.relocation.lookup import ASK, answer_of
from proxy.relocation.records import Record, record_url
from proxy.stores.ledger import SqliteLedger
from proxy.stores.ledgerrow import key_of

T = TypeVar("T")

# Coprime to every size, so that a walk in such steps meets each record once before any twice.
_STEP: Final = 7919
_STATUS: Final = Path("/proc/self/status")


def scale(sizes: Sequence[int], lookups: int, now: float) -> Iterator[Table]:
    """What ledgers of these sizes take, and what each of so many look-ups takes in them."""
    footprints: list[Row] = []
    timings: list[Row] = []
    for size in sizes:
        with TemporaryDirectory() as directory:
            path = Path(directory, "ledger")
            _elsewhere(_write, path, size, now)
            octets = path.stat().st_size
            footprint, timed = _elsewhere(_measured, path, size, lookups, now)
        in_file = {"records": size, "file MiB": octets / MIB, "octets each": octets // size}
        footprints.append({**in_file, **footprint})
        timings += timed
    yield Table("Records in a file, half moved and half gone: read into memory by SqliteLedger.open", footprints)
    yield Table(f"Among them: {lookups:,} look-ups of different URLs, each timed alone", timings)


def _elsewhere(work: Callable[..., T], *given: object) -> T:
    """What `work` gives in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, given)


def _write(path: Path, size: int, now: float) -> None:
    """In the order of their keys, in which a file is written fastest."""
    numbers = sorted(range(size), key=lambda number: key_of(endpoint(number)))
    fill(path, (_record(number, now) for number in numbers))


def _record(number: int, now: float) -> Record:
    return endpoint_gone(number, now) if number % 2 else endpoint_moved(number, now)


def _measured(path: Path, size: int, lookups: int, now: float) -> tuple[Row, list[Row]]:
    return uvloop.run(_opened(path, size, lookups, now))


async def _opened(path: Path, size: int, lookups: int, now: float) -> tuple[Row, list[Row]]:
    ledger = SqliteLedger(path)
    before = _resident()
    started = time.perf_counter()
    await ledger.open()
    seconds = time.perf_counter() - started
    most, opened = _most_resident() - before, _resident() - before
    chosen = [index * _STEP % size for index in range(lookups)]
    timed = {
        "not parsed before": _timed(ledger, chosen, now, is_recorded=True),
        "at hand": _timed(ledger, chosen, now, is_recorded=True),
        "of no record": _timed(ledger, [size + number for number in chosen], now, is_recorded=False),
    }
    with_parsed = _resident() - before
    await ledger.close()
    footprint: Row = {
        "opened s": seconds,
        "RSS growth MiB": opened / MIB,
        "RSS octets each": opened // size,
        "most while opening MiB": most / MIB,
        f"with {lookups:,} parsed MiB": with_parsed / MIB,
    }
    return footprint, [{"records": size, "URLs": name, **spread(values, "µs")} for name, values in timed.items()]


def _timed(ledger: SqliteLedger, numbers: Sequence[int], now: float, *, is_recorded: bool) -> list[float]:
    """Microseconds of each, from a target to what is to be answered."""
    figures = []
    for target in [parse_target(endpoint(number)) for number in numbers]:
        started = time.perf_counter_ns()
        try:
            answer = answer_of(ledger.get(record_url(target)), now)
        except LedgerUnavailable as error:
            raise CannotMeasure(f"the ledger tells nothing: {error}") from error
        figures.append((time.perf_counter_ns() - started) / 1000)
        if (answer is ASK) is is_recorded:
            raise CannotMeasure(f"{type(answer).__name__} for a URL with is_recorded={is_recorded}")
    return figures


def _resident() -> int:
    gc.collect()
    return resident_bytes()


def _most_resident() -> int:
    """The largest that the resident set of this process has ever been."""
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024
    except (OSError, StopIteration) as error:
        raise CannotMeasure("the largest resident set is read from /proc, so this needs Linux") from error
