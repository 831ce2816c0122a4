"""What is recorded of relocations, for clients: the list, one record with its history, the feed (CONTRACT.md §7).

Records are told as they are at the moment and kept by nobody: every answer is `no-store`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar
from urllib.parse import parse_qsl

from proxy.caching.serving import CacheStatus
from proxy.engine.outcome import Complete, Served
from proxy.http.problems import Problem, Slug
from proxy.http.targets import MalformedTarget, parse_host
from proxy.ledgers import Ledger, LedgerChange, LedgerUnavailable
from proxy.ports import Clock
from proxy.relocation.records import State, is_record_id, told, told_with_history
from proxy.server.own import JSON, Asked, Own
from proxy.server.recordfeed import LONGEST_WAIT, RecordFeed, TooManyWait, told_change
from proxy.server.recordreading import RecordReading, TooManyRead

RECORDS: Final = "/v1/records"
FEED: Final = f"{RECORDS}/feed"
NDJSON: Final = "application/x-ndjson"
STATES: Final = tuple(state for state in State if state is not State.UNCONFIRMED)
"""Those that are listed."""

_DEFAULT_LIMIT: Final = 100
_HIGHEST_LIMIT: Final = 1000
_HIGHEST_CURSOR: Final = 10**18 - 1
_NOT_FOUND: Final = f"Nothing is recorded under this id, the hex SHA-256 of a URL: {RECORDS} lists what is."
_UNAVAILABLE: Final = Problem(
    Slug.INTERNAL,
    "What is recorded cannot be read now, which says nothing of any URL. Ask again in a few seconds; "
    "/readyz on the admin port and the log say why.",
    at_status=503,
)
_TOO_MANY_READ: Final = Problem(
    Slug.OVERLOADED, "Too many are reading what is recorded already. Ask again in a few seconds."
)
_TOO_MANY_WAIT: Final = Problem(
    Slug.OVERLOADED, "Too many are waiting for changes already. Ask without wait, or again in a few seconds."
)
# What is told in one go, in a few milliseconds; then others get their turn.
_AT_ONCE: Final = 100

_Item = TypeVar("_Item")
_Told = TypeVar("_Told")


class _BadQuery(Exception):
    """The query asks for nothing that there is; `detail` says what would be."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class RecordPages:
    """Answers for what the ledger knows; `catalogs_of` tells which watched catalogs list a URL."""

    def __init__(
        self, ledger: Ledger, clock: Clock, catalogs_of: Callable[[str], tuple[str, ...]] | None = None
    ) -> None:
        self._ledger = ledger
        self._catalogs_of = catalogs_of
        self._reading = RecordReading(ledger)
        self._feed = RecordFeed(ledger, self._reading)
        self._own = Own(clock)

    async def answer(self, asked: Asked) -> Complete | Problem:
        """The answer to a request for `RECORDS` or what is below it."""
        answering = {RECORDS: self._list, FEED: self._changes}.get(asked.path, self._one)
        try:
            return await answering(asked)
        except _BadQuery as error:
            return Problem(Slug.BAD_REQUEST, error.detail)
        except TooManyWait:
            return _TOO_MANY_WAIT
        except TooManyRead:
            return _TOO_MANY_READ
        except LedgerUnavailable:
            return _UNAVAILABLE

    def end_waits(self) -> None:
        """Let nobody wait for changes any more; those who do are answered within the second."""
        self._feed.end_waits()

    async def _list(self, asked: Asked) -> Complete:
        given = _parse_query(asked.query, "host", "state", "cursor", "limit")
        limit = _parse_limit(given)
        records = await self._reading.of_host(
            _parse_host(given), _parse_state(given), _parse_after(given), limit + 1
        )
        page = await _each(records[:limit], told)
        return self._told({"records": page, "next": page[-1]["id"] if len(records) > limit else None})

    async def _one(self, asked: Asked) -> Complete | Problem:
        _parse_query(asked.query)
        wanted = asked.path.removeprefix(f"{RECORDS}/")
        if not is_record_id(wanted):
            raise _BadQuery(f"{RECORDS}/ID: an id has 64 hexadecimal digits in lower case, the SHA-256 of a URL.")
        record = self._ledger.by_id(wanted)
        if record is None or not record.is_listed:
            return Problem(Slug.NOT_FOUND, _NOT_FOUND, {"id": wanted})
        return self._told(told_with_history(record))

    async def _changes(self, asked: Asked) -> Complete:
        given = _parse_query(asked.query, "cursor", "limit", "wait")
        after = _parse_whole(given, "cursor", 0, 0, _HIGHEST_CURSOR)
        wait = _parse_whole(given, "wait", 0, 0, LONGEST_WAIT)
        changes, newest = await self._feed.after(after, _parse_limit(given), wait)
        if newest < after:
            raise _BadQuery(
                "cursor: no change has had this number, so what was recorded when it was given is lost. "
                "Read from cursor=0."
            )
        body = "".join(await _each(changes, self._line))
        last = changes[-1].cursor if changes else after
        # Who reads on reads as before.
        kept = "".join(f"&{name}={given[name]}" for name in ("limit", "wait") if name in given)
        link = f'<{FEED}?cursor={last}{kept}>; rel="next"'
        return self._complete(body.encode(), NDJSON, ("Link", link))

    def _line(self, change: LedgerChange) -> str:
        return json.dumps(told_change(change, self._catalogs_of), separators=(",", ":")) + "\n"

    def _told(self, members: Mapping[str, object]) -> Complete:
        return self._complete(json.dumps(members).encode(), JSON)

    def _complete(self, body: bytes, media_type: str, *extra: tuple[str, str]) -> Complete:
        fields = (("Content-Type", media_type), *extra)
        return self._own.complete(200, body, "no-store", fields, CacheStatus(detail="local"), Served.LOCAL, "other")


async def _each(items: Sequence[_Item], tell: Callable[[_Item], _Told]) -> list[_Told]:
    everything: list[_Told] = []
    for start in range(0, len(items), _AT_ONCE):
        everything += map(tell, items[start : start + _AT_ONCE])
        await asyncio.sleep(0)
    return everything


def _parse_query(query: str, *known: str) -> dict[str, str]:
    """The parameters, each once."""
    pairs = parse_qsl(query, keep_blank_values=True)
    given = dict(pairs)
    if len(given) < len(pairs) or not given.keys() <= set(known):
        allowed = f"Parameters: {', '.join(known)}, each once." if known else "There are no parameters here."
        raise _BadQuery(allowed)
    return given


def _parse_host(given: Mapping[str, str]) -> str | None:
    if "host" not in given:
        return None
    try:
        return parse_host(given["host"])
    except MalformedTarget as error:
        raise _BadQuery(
            f"host: {error.detail} Give it without a port, such as example.com: its records on all ports are told."
        ) from None


def _parse_state(given: Mapping[str, str]) -> State | None:
    if "state" not in given:
        return None
    if given["state"] not in STATES:
        raise _BadQuery(f"state: one of {', '.join(STATES)}.")
    return State(given["state"])


def _parse_after(given: Mapping[str, str]) -> str | None:
    cursor = given.get("cursor")
    if cursor is not None and not is_record_id(cursor):
        raise _BadQuery("cursor: the next of the answer before, as it is.")
    return cursor


def _parse_limit(given: Mapping[str, str]) -> int:
    return _parse_whole(given, "limit", _DEFAULT_LIMIT, 1, _HIGHEST_LIMIT)


def _parse_whole(given: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise _BadQuery(f"{name}: a whole number from {least} to {most}.")
    return int(text)
