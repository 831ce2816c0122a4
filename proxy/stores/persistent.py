"""The second tier: stored responses in one of hishel's storages, through its public interface only.

A response without Vary lies under the key itself, so that the usual look-up reads once. Others lie under a key per
variant, and an index under the key names them. Of the request nothing is written but what selected the variant;
responses selected by a credential are not written at all.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anysqlite
from hishel import AsyncBaseStorage, AsyncSqliteStorage, Entry, Headers, Request, Response

from proxy.caching.stored import StoredResponse, parse_record, to_record
from proxy.http.fields import Fields
from proxy.ports import Clock
from proxy.single import SingleCalls
from proxy.stores.catalogue import Catalogue
from proxy.stores.faults import StoreDamaged, faults_raised, take_over_storage_log
from proxy.stores.files import open_read_only, set_aside
from proxy.stores.index import VariantIndex, digest_of, parse_index, to_text
from proxy.stores.variants import variant_of

OpenStorage = Callable[[bool], Awaitable[AsyncBaseStorage]]
"""Opens the storage; given True it first sets aside what is there, because that is damaged."""

RECORD = "record"
INDEX = "index"
# Credentials never reach a store, so neither does a variant that they select.
CREDENTIALS = frozenset({"authorization", "cookie", "proxy-authorization"})
# Bodies are read at once, so a removed row needs to stay only for as long as one call may last.
REMOVED_ROW_SECONDS = 10.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Primary:
    """What lies under a key itself."""

    stored: StoredResponse | None
    index: VariantIndex


class Persistent:
    """A store on a hishel storage, opened at the first call and again after it failed to open or was damaged."""

    def __init__(self, open_storage: OpenStorage, max_variants: int, clock: Clock, catalogue: Catalogue) -> None:
        self._open_storage = open_storage
        self._catalogue = catalogue
        self._max_variants = max_variants
        self._clock = clock
        self._storage: AsyncBaseStorage | None = None
        self._is_damaged = False
        self._opening = asyncio.Lock()
        # Read, publish and remove must not interleave: two writers would each remove the other's entry.
        self._writing = asyncio.Lock()
        self._primaries: SingleCalls[str, _Primary] = SingleCalls()
        self._variants: SingleCalls[str, StoredResponse | None] = SingleCalls()
        take_over_storage_log()

    async def open(self) -> None:
        """Open the storage now; one that is damaged is replaced. Raises StoreUnavailable."""
        try:
            await self._probed()
        except StoreDamaged:
            await self._probed()

    async def _probed(self) -> None:
        async with self._in_use() as storage:
            await storage.get_entries("")

    async def find(self, key: str, request: Fields) -> tuple[StoredResponse, ...]:
        """The variants under `key` that `request` selects, newest last. Raises StoreUnavailable."""
        primary = await self._primaries.call(key, lambda: self._primary(key))
        return await self._gathered(key, primary, primary.index.matching(request))

    async def variants(self, key: str) -> tuple[StoredResponse, ...]:
        """Every variant under `key`, newest last. Raises StoreUnavailable."""
        primary = await self._primary(key)
        return await self._gathered(key, primary, primary.index.digests)

    async def put(self, key: str, stored: StoredResponse) -> None:
        """Publish `stored` under `key`, then remove what it replaces. Raises StoreUnavailable."""
        seconds = stored.keep_until - self._clock()
        if seconds <= 0 or not CREDENTIALS.isdisjoint(stored.vary):
            await self.discard(key, stored)
            return
        place = _place(key, stored)
        async with self._writing, self._in_use() as storage:
            await _publish(storage, place, RECORD, to_record(stored), stored.body, seconds)
            if place != key:
                await self._list_variant(storage, key, stored, seconds)
        self._catalogue.add(key, stored.uri, stored.keep_until)

    async def keys(self, host: str | None, limit: int) -> tuple[str, ...]:
        """At most `limit` keys, of a host scope or of all."""
        return self._catalogue.keys(host, limit, self._clock())

    async def unlist(self, host: str | None) -> None:
        """Leave a host scope, or everything, out of `keys`."""
        self._catalogue.forget_host(host)

    async def remove(self, key: str) -> int:
        """Remove every variant under `key`; how many there were. Raises StoreUnavailable."""
        async with self._writing, self._in_use() as storage:
            primary = await _read_primary(storage, key)
            places = [_variant_key(key, digest) for digest in primary.index.digests]
            # The index goes last: after a crash the rest can still be found.
            counts = [await _clear(storage, place) for place in places]
            await _clear(storage, key)
            self._catalogue.forget(key)
            return sum(map(bool, counts)) + (primary.stored is not None)

    async def discard(self, key: str, stored: StoredResponse) -> None:
        """Remove what is held under `key` for the variant of `stored`. Raises StoreUnavailable."""
        async with self._writing, self._in_use() as storage:
            await _clear(storage, _place(key, stored), RECORD)

    async def close(self) -> None:
        """Close the storage. Raises StoreUnavailable."""
        async with self._opening:
            storage, self._storage = self._storage, None
            if storage is not None:
                with faults_raised():
                    await storage.close()
        self._catalogue.close()

    @asynccontextmanager
    async def _in_use(self) -> AsyncIterator[AsyncBaseStorage]:
        """The storage, its faults raised; a damaged one is replaced at the next call."""
        with faults_raised():
            storage = await self._opened()
        try:
            with faults_raised():
                yield storage
        except StoreDamaged:
            if self._storage is storage:
                self._is_damaged = True
                await self.close()
            raise

    async def _opened(self) -> AsyncBaseStorage:
        async with self._opening:
            if self._storage is None:
                self._storage = await self._open_storage(self._is_damaged)
                self._is_damaged = False
            return self._storage

    async def _primary(self, key: str) -> _Primary:
        async with self._in_use() as storage:
            return await _read_primary(storage, key)

    async def _variant(self, place: str) -> StoredResponse | None:
        async with self._in_use() as storage:
            return _newest(await _records(storage, await _entries(storage, place, RECORD)))

    async def _gathered(self, key: str, primary: _Primary, digests: Iterable[str]) -> tuple[StoredResponse, ...]:
        found = [primary.stored]
        for digest in digests:
            place = _variant_key(key, digest)
            found.append(await self._variants.call(place, partial(self._variant, place)))
        return tuple(sorted(filter(None, found), key=lambda stored: stored.exchange.response_time))

    async def _list_variant(
        self, storage: AsyncBaseStorage, key: str, stored: StoredResponse, seconds: float
    ) -> None:
        """Name the variant in the index under `key`; the longest listed leave beyond the limit."""
        index = (await _read_primary(storage, key)).index
        digest = digest_of(variant_of(stored))
        if digest in index.digests and index.until >= stored.keep_until:
            return
        # Twice the time needed, so that freshening a variant seldom writes the index again.
        until = max(index.until, self._clock() + 2 * seconds)
        index = index.with_variant(stored.vary, digest, until)
        for _, dropped in index.variants[: -self._max_variants]:
            await _clear(storage, _variant_key(key, dropped))
        index = VariantIndex(until, index.variants[-self._max_variants :])
        await _publish(storage, key, INDEX, to_text(index), b"", until - self._clock())


def open_sqlite(path: Path, max_variants: int, clock: Clock) -> Persistent:
    """A store in the SQLite file `path`, made with its folder when first used."""
    catalogue = Catalogue(path.with_name(path.name + ".keys"))
    return Persistent(partial(_sqlite, path), max_variants, clock, catalogue)


async def _sqlite(path: Path, is_damaged: bool) -> AsyncBaseStorage:
    if is_damaged:
        _log.warning("the persistent store is unreadable and set aside as %s: it starts empty", set_aside(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Opened here because the storage itself would drop a .gitignore beside the file.
        connection = await anysqlite.connect(path, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        _log.warning("the persistent store cannot be opened at %s (%s)", path, type(error).__name__)
        raise
    return AsyncSqliteStorage(connection=connection, soft_delete_ttl=REMOVED_ROW_SECONDS)


def open_snapshot(path: Path, max_variants: int, clock: Clock) -> Persistent:
    """What the SQLite file `path` holds now, read without a trace; changes stay in memory. Raises sqlite3.Error."""
    # The storage writes even when it only reads, so it gets a copy.
    copy = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    try:
        with closing(open_read_only(path)) as file:
            file.backup(copy)
    except BaseException:
        copy.close()
        raise
    return Persistent(partial(_snapshot, copy), max_variants, clock, Catalogue(None))


async def _snapshot(copy: sqlite3.Connection, _: bool) -> AsyncBaseStorage:
    return AsyncSqliteStorage(connection=anysqlite.Connection(copy), soft_delete_ttl=REMOVED_ROW_SECONDS)


def _variant_key(key: str, digest: str) -> str:
    return f"{key}\n{digest}"  # no key of ours has a line break in it


def _place(key: str, stored: StoredResponse) -> str:
    return _variant_key(key, digest_of(variant_of(stored))) if stored.vary else key


def _newest(records: Iterable[StoredResponse]) -> StoredResponse | None:
    """More than one is there only when removing the older failed."""
    return max(records, key=lambda stored: stored.exchange.response_time, default=None)


async def _entries(storage: AsyncBaseStorage, place: str, kind: str) -> list[Entry]:
    return [entry for entry in await storage.get_entries(place) if kind in entry.request.headers]


async def _read_primary(storage: AsyncBaseStorage, key: str) -> _Primary:
    entries = await storage.get_entries(key)
    stored = _newest(await _records(storage, (entry for entry in entries if RECORD in entry.request.headers)))
    indexes = [index for entry in entries if (index := parse_index(entry.request.headers.get(INDEX, "")))]
    return _Primary(stored, max(indexes, key=lambda index: index.until, default=VariantIndex()))


async def _records(storage: AsyncBaseStorage, entries: Iterable[Entry]) -> list[StoredResponse]:
    """The stored responses of `entries`; those that cannot be read are removed."""
    records = []
    for entry in entries:
        body = await _body(entry)
        stored = None if body is None else parse_record(entry.request.headers[RECORD], body)
        if stored is None:
            await storage.remove_entry(entry.id)
        else:
            records.append(stored)
    return records


async def _body(entry: Entry) -> bytes | None:
    chunks = entry.response.stream
    assert isinstance(chunks, AsyncIterator)
    try:
        return b"".join([chunk async for chunk in chunks])
    except RuntimeError:
        return None  # part of it has been deleted


async def _publish(
    storage: AsyncBaseStorage, place: str, kind: str, text: str, body: bytes, seconds: float
) -> None:
    """Store one entry for `seconds`, then remove the ones of its kind that were there."""
    replaced = await _entries(storage, place, kind)
    request = Request("GET", "", Headers({kind: text}))
    response = Response(200, Headers({}), _whole(body))
    entry = await storage.create_entry(request, response, place, ttl=seconds)
    assert isinstance(entry.response.stream, AsyncIterator)
    async for _ in entry.response.stream:
        pass  # an entry exists once its body has been read to the end
    for old in replaced:
        await storage.remove_entry(old.id)


async def _whole(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _clear(storage: AsyncBaseStorage, place: str, kind: str | None = None) -> int:
    """Remove the entries there, of one kind or all; how many there were."""
    entries = await storage.get_entries(place) if kind is None else await _entries(storage, place, kind)
    for entry in entries:
        await storage.remove_entry(entry.id)
    return len(entries)
