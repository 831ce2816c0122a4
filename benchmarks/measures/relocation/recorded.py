"""What is recorded in these measures: endpoints of MCP servers that have moved, or are gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.registry import CannotMeasure
from proxy.http.targets import parse_target
from proxy.relocation.changes import Change
from proxy.relocation.codec import to_record
from proxy.relocation.confirmation import Ending, Hop, confirmed
from proxy.relocation.records import Observation, Proof, Record
from proxy.relocation.rules import Seen, observe
from proxy.stores.ledgerfile import ON_FILE, LedgerFile
from proxy.stores.ledgerrow import row_of
from proxy.stores.packing import packed

_OF_HOST: Final = 20
_BUSY_SECONDS: Final = 1.0
_FOLLOWED_AFTER: Final = 0.25
# Answers have come in the course of an hour, at moments with a fraction, as a clock tells them.
_MOMENTS: Final = 7919
_APART_SECONDS: Final = 3600 / _MOMENTS


def endpoint(number: int) -> str:
    """The URL of server `number`; twenty of them are on a host."""
    return f"https://mcp-{number // _OF_HOST}.example.com/servers/{number:07d}/mcp"


def successor(number: int) -> str:
    """Where it is once it has moved."""
    return f"{endpoint(number)}/v2"


def moved(url: str, location: str, at: float) -> Record:
    """A 308 that was answered at `at`, Unix seconds, and has been followed to a document of the same site."""
    target = parse_target(location)
    pending = _came_of(observe(None, Seen(parse_target(url), 308, at, is_origin=True, locations=(location,))))
    followed_at = at + _FOLLOWED_AFTER
    return _came_of(confirmed(pending, (Hop(308, target),), Ending.DOCUMENT, Proof.SAME_SITE, followed_at))


def gone(url: str, at: float) -> Record:
    """A 410 that was answered at `at`."""
    return _came_of(observe(None, Seen(parse_target(url), 410, at, is_origin=True)))


def _came_of(change: Change) -> Record:
    if change.record is None:
        raise CannotMeasure(f"nothing was recorded: {change.reason}")
    return change.record


# At the beginning of all time, so that any other is added to theirs.
_MOVED: Final = moved(endpoint(0), successor(0), 0.0)
_GONE: Final = gone(endpoint(0), 0.0)


def endpoint_moved(number: int, now: float) -> Record:
    """Server `number` has moved within the hour before `now`."""
    return _told_of(number, _MOVED, now)


def endpoint_gone(number: int, now: float) -> Record:
    """Server `number` has gone within the hour before `now`."""
    return _told_of(number, _GONE, now)


def _told_of(number: int, pattern: Record, now: float) -> Record:
    """The same of another server, at another time: quicker than to have each of a million observed."""
    later = now - 60 - number % _MOMENTS * _APART_SECONDS
    location = None if pattern.location is None else successor(number)
    return replace(
        pattern,
        url=endpoint(number),
        observed_at=pattern.observed_at + later,
        checked_at=pattern.checked_at + later,
        fresh_until=pattern.fresh_until + later,
        due_at=pattern.due_at + later,
        location=location,
        target=location,
        history=tuple(_at_another_time(seen, later, location) for seen in pattern.history),
    )


def _at_another_time(seen: Observation, later: float, target: str | None) -> Observation:
    fresh_until = None if seen.fresh_until is None else seen.fresh_until + later
    return replace(seen, at=seen.at + later, target=target, fresh_until=fresh_until)


def fill(path: Path, records: Iterable[Record]) -> None:
    """Put records into the file of a ledger, which is made where there is none, all in one go."""
    file = LedgerFile(path, _BUSY_SECONDS, ON_FILE)
    try:
        with file.writing():
            for record in records:
                file.write(row_of(record, packed(to_record(record)), is_withdrawn=False), is_change=True)
    finally:
        file.close()
