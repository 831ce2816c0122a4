"""The ledger of relocations of a process that keeps nothing."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict, defaultdict
from collections.abc import Collection
from dataclasses import replace
from itertools import count, islice

from proxy.http.targets import parse_target
from proxy.ledgers import LedgerChange
from proxy.relocation.records import Observation, Record, State, record_id
from proxy.stores.ledgerfile import IN_MEMORY, Bounds, surplus
from proxy.stores.ledgerhistory import continued, standing, when_withdrawn, with_withdrawal
from proxy.stores.ledgerrow import rank_of


class MemoryLedger:
    """Records that end with the process, within the same bounds as on file."""

    def __init__(self, bounds: Bounds = IN_MEMORY) -> None:
        self._bounds = bounds
        self._records: dict[str, Record] = {}
        self._order: list[str] = []  # the ids, sorted
        self._of_host: defaultdict[str, set[str]] = defaultdict(set)
        self._asked: dict[str, int] = {}
        self._turns = count(1)
        self._withdrawn: OrderedDict[str, Record] = OrderedDict()
        self._cursors: dict[str, int] = {}  # in their order
        self._last_change = 0

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
        withdrawn = self._withdrawn.pop(key, None)
        if standing(record) != standing(self._records.get(key)):
            self._note_change(key)
        if key not in self._records:
            insort(self._order, key)
        self._records[key] = record if withdrawn is None else continued(record, withdrawn.history)
        self._of_host[host].add(key)
        self._make_room(self._of_host[host], self._bounds.of_host, key)
        self._make_room(self._records, self._bounds.of_all, key)

    async def remove(self, url: str, observation: Observation) -> bool:
        """Withdraw the record of a URL; whether there was one."""
        key = record_id(url)
        record = self._records.get(key)
        if record is None:
            return False
        self._take_out(key)
        history = with_withdrawal(record, observation)
        if history:
            self._withdraw(key, replace(record, history=history), is_change=record.is_listed)
        else:
            self._cursors.pop(key, None)
        return True

    async def of_host(
        self, host: str | None, state: State | None, after: str | None, limit: int
    ) -> tuple[Record, ...]:
        """At most `limit` records in order of their ids."""
        keys = self._order if host is None else sorted(self._of_host.get(host, set()))
        records = (self._records[key] for key in islice(keys, bisect_right(keys, after or ""), None))
        wanted = (record for record in records if record.is_listed and state in (None, record.state))
        return tuple(islice(wanted, limit))

    async def changes(self, after: int, limit: int) -> tuple[LedgerChange, ...]:
        """At most `limit` changes in order of their cursors."""
        changed = (self._change(key, cursor) for key, cursor in self._cursors.items() if cursor > after)
        return tuple(islice(changed, limit))

    async def last_change(self) -> int:
        """The cursor of the newest change there ever was."""
        return self._last_change

    async def close(self) -> None:
        """There is nothing to close."""

    def _withdraw(self, key: str, record: Record, *, is_change: bool) -> None:
        self._withdrawn[key] = record
        if is_change:
            self._note_change(key)
        if len(self._withdrawn) > self._bounds.of_host:
            oldest, _ = self._withdrawn.popitem(last=False)
            self._cursors.pop(oldest, None)

    def _note_change(self, key: str) -> None:
        self._last_change += 1
        self._cursors.pop(key, None)
        self._cursors[key] = self._last_change

    def _change(self, key: str, cursor: int) -> LedgerChange:
        record = self._records.get(key)
        if record is not None and record.is_listed:
            return LedgerChange(cursor, record, is_withdrawn=False)
        return LedgerChange(cursor, when_withdrawn(record or self._withdrawn[key]), is_withdrawn=True)

    def _make_room(self, keys: Collection[str], most: int, written: str) -> None:
        """As on file: drop what is too much of these, and not what was just written."""
        going = surplus(len(keys), most)
        if going:
            for key in sorted((key for key in keys if key != written), key=self._turn)[:going]:
                self._take_out(key)
                self._cursors.pop(key, None)

    def _turn(self, key: str) -> tuple[int, int, float]:
        record = self._records[key]
        return rank_of(record), self._asked.get(key, 0), record.checked_at

    def _take_out(self, key: str) -> None:
        host = parse_target(self._records.pop(key).url).host
        del self._order[bisect_left(self._order, key)]
        self._asked.pop(key, None)
        self._of_host[host].discard(key)
        if not self._of_host[host]:
            del self._of_host[host]
