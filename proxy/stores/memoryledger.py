"""The ledger of relocations of a process that keeps nothing."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Collection
from itertools import count, islice

from proxy.http.targets import parse_target
from proxy.relocation.records import Observation, Record, State, record_id
from proxy.stores.ledgerdesk import continued, with_withdrawal
from proxy.stores.ledgerfile import IN_MEMORY, Bounds, rank_of, surplus


class MemoryLedger:
    """Records that end with the process, within the same bounds as on file."""

    def __init__(self, bounds: Bounds = IN_MEMORY) -> None:
        self._bounds = bounds
        self._records: dict[str, Record] = {}
        self._of_host: defaultdict[str, set[str]] = defaultdict(set)
        self._asked: dict[str, int] = {}
        self._turns = count(1)
        self._withdrawn: OrderedDict[str, tuple[Observation, ...]] = OrderedDict()

    @property
    def degraded(self) -> tuple[str, ...]:
        """Nothing can be wrong with it."""
        return ()

    async def open(self) -> None:
        """There is nothing to read."""

    async def probe(self) -> None:
        """There is nothing to try."""

    def get(self, url: str) -> Record | None:
        """The record of a URL."""
        return self.by_id(record_id(url))

    def by_id(self, record_id: str) -> Record | None:
        """The record with this id."""
        record = self._records.get(record_id)
        if record is not None:
            self._asked[record_id] = next(self._turns)
        return record

    async def put(self, record: Record) -> None:
        """Replace the record of its URL."""
        key, host = record_id(record.url), parse_target(record.url).host
        self._records[key] = continued(record, self._withdrawn.pop(key, ()))
        self._of_host[host].add(key)
        self._make_room(self._of_host[host], self._bounds.of_host, key)
        self._make_room(self._records, self._bounds.of_all, key)

    async def remove(self, url: str, observation: Observation) -> bool:
        """Withdraw the record of a URL; whether there was one."""
        key = record_id(url)
        record = self._records.get(key)
        if record is None:
            return False
        self._drop(key)
        history = with_withdrawal(record, observation)
        if history:
            self._withdrawn[key] = history
        if len(self._withdrawn) > self._bounds.of_host:
            self._withdrawn.popitem(last=False)
        return True

    async def of_host(
        self, host: str | None, state: State | None, after: str | None, limit: int
    ) -> tuple[Record, ...]:
        """At most `limit` records in order of their ids."""
        keys = self._records if host is None else self._of_host.get(host, set())
        records = (self._records[key] for key in sorted(keys) if key > (after or ""))
        wanted = (record for record in records if record.is_listed and state in (None, record.state))
        return tuple(islice(wanted, limit))

    async def close(self) -> None:
        """There is nothing to close."""

    def _make_room(self, keys: Collection[str], most: int, written: str) -> None:
        """As on file: drop what is too much of these, and not what was just written."""
        going = surplus(len(keys), most)
        if going:
            for key in sorted((key for key in keys if key != written), key=self._turn)[:going]:
                self._drop(key)

    def _turn(self, key: str) -> tuple[int, int, float]:
        record = self._records[key]
        return rank_of(record), self._asked.get(key, 0), record.checked_at

    def _drop(self, key: str) -> None:
        host = parse_target(self._records.pop(key).url).host
        self._asked.pop(key, None)
        self._of_host[host].discard(key)
        if not self._of_host[host]:
            del self._of_host[host]
