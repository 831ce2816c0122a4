"""The first tier: stored responses in this process, bounded by the bytes they really cost.

Synchronous, for one event loop. What many responses share (field lines, lifetimes) is held once, and every index
a hit needs is built when the response is stored, so that `bytes` counts it and a hit builds nothing.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import Enum, StrEnum
from itertools import starmap
from typing import Any, TypeVar

from proxy.caching.stored import StoredResponse
from proxy.http.fields import Fields
from proxy.stores.variants import is_same_response, variant_of

T = TypeVar("T")

# The two tables' share of one key, between growths (measured; CPython 3.11 to 3.13).
KEY_OVERHEAD = 210
_LEAVES = frozenset({str, bytes, int, float})
_IMMORTAL = (type(None), bool, Enum)
_ALIGNMENT = 16
# Values beyond pymalloc's reach carry a header of the C allocator.
_SMALL = 512
_SHARED_VALUES = 4096
_LONGEST_SHARED_VALUE = 200


class Eviction(StrEnum):
    """Why a response left memory without being asked to."""

    CAPACITY = "capacity"
    VARIANTS = "variants"
    EXPIRED = "expired"


class Memory:
    """Responses by key, least recently used keys first. `now` is in Unix seconds."""

    def __init__(self, max_bytes: int, max_variants: int, evicted: Callable[[str, int], None]) -> None:
        self._max_bytes = max_bytes
        self.max_variants = max_variants
        self._evicted = evicted
        self._variants: OrderedDict[str, tuple[StoredResponse, ...]] = OrderedDict()
        self._costs: dict[str, tuple[int, ...]] = {}
        self._commons = _Commons()
        self._bytes = 0
        self._count = 0

    @property
    def bytes(self) -> int:
        """What everything held costs, indexes and tables included."""
        return self._bytes

    def __len__(self) -> int:
        """How many responses are held."""
        return self._count

    def get(self, key: str, now: float) -> tuple[StoredResponse, ...]:
        """The variants under `key`, newest last; the key counts as used."""
        variants = self._variants.get(key)
        if variants is None:
            return ()
        self._variants.move_to_end(key)
        for stored in variants:
            if stored.keep_until < now:
                return self._without_expired(key, now)
        return variants

    def put(self, key: str, stored: StoredResponse, now: float) -> None:
        """Hold `stored` in place of its variant, and let go of what no longer fits."""
        stored, cost = _compacted(key, stored, self._commons)
        variant = variant_of(stored)
        self._without_expired(key, now)
        held = [pair for pair in self._held(key) if variant_of(pair[0]) != variant]
        # One response may not push out everything else; its older copy must not outlive it either.
        if cost <= self._max_bytes:
            held.append((stored, cost))
        else:
            self._evicted(Eviction.CAPACITY, 1)
        if len(held) > self.max_variants:
            held.remove(min(held, key=lambda pair: pair[0].born))
            self._evicted(Eviction.VARIANTS, 1)
        self._hold(key, held)
        while self._bytes > self._max_bytes:
            self._evicted(Eviction.CAPACITY, self.remove(next(iter(self._variants))))

    def remove(self, key: str) -> int:
        """Let go of every variant under `key`; how many there were."""
        count = len(self._variants.get(key, ()))
        self._hold(key, ())
        return count

    def discard(self, key: str, stored: StoredResponse) -> None:
        """Let go of `stored`, but not of a response that has replaced it."""
        self._hold(key, [pair for pair in self._held(key) if not is_same_response(pair[0], stored)])

    def items(self) -> Iterator[tuple[str, StoredResponse]]:
        """Every key with each of its responses, as they were at the call."""
        for key, variants in tuple(self._variants.items()):
            for stored in variants:
                yield key, stored

    def _held(self, key: str) -> Iterable[tuple[StoredResponse, int]]:
        return zip(self._variants.get(key, ()), self._costs.get(key, ()), strict=True)

    def _without_expired(self, key: str, now: float) -> tuple[StoredResponse, ...]:
        kept = [pair for pair in self._held(key) if pair[0].keep_until >= now]
        expired = len(self._variants.get(key, ())) - len(kept)
        if expired:
            self._hold(key, kept)
            self._evicted(Eviction.EXPIRED, expired)
        return self._variants.get(key, ())

    def _hold(self, key: str, held: Iterable[tuple[StoredResponse, int]]) -> None:
        """Make `held` everything under `key`: the only place that changes the tables and their sums."""
        before = self._costs.pop(key, ())
        if before:
            self._bytes -= sum(before) + _key_cost(key, self._variants[key], before)
            self._count -= len(before)
        variants, costs = tuple(stored for stored, _ in held), tuple(cost for _, cost in held)
        if not costs:
            self._variants.pop(key, None)
            return
        self._variants[key] = variants
        self._variants.move_to_end(key)
        self._costs[key] = costs
        self._bytes += sum(costs) + _key_cost(key, variants, costs)
        self._count += len(costs)


def _key_cost(key: str, variants: tuple[StoredResponse, ...], costs: tuple[int, ...]) -> int:
    parts = (key, variants, costs, *costs)
    return KEY_OVERHEAD + sum(_allocated(part) for part in parts)


class _Commons:
    """Values that many responses have, each held once."""

    def __init__(self) -> None:
        self._first: dict[Any, Any] = {}

    def share(self, value: T, paid_for: set[int]) -> T:
        """The first value equal to this one; if that is held already, `paid_for` gets its parts' ids."""
        before = len(self._first)
        first: T = self._first.setdefault(value, value)
        if len(self._first) == before:
            paid_for.add(id(first))
            if isinstance(first, tuple):
                paid_for.update(map(id, first))
        elif before >= _SHARED_VALUES:
            self._first.clear()  # what is common is back at once
        return first


def _compacted(key: str, stored: StoredResponse, commons: _Commons) -> tuple[StoredResponse, int]:
    """`stored` with its common parts held once for all responses, and the bytes it costs beyond those."""
    paid_for = {id(key)}

    def once(value: T) -> T:
        return commons.share(value, paid_for)

    def line(name: str, value: str) -> tuple[str, str]:
        named = (once(name), value)
        return once(named) if len(value) <= _LONGEST_SHARED_VALUE else named

    fields = Fields(starmap(line, stored.fields))
    fields.get("date")  # builds the index by name
    compact = replace(
        stored,
        uri=key if key == stored.uri else stored.uri,
        reason=once(stored.reason),
        fields=fields,
        vary=once(stored.vary),
        selecting=once(stored.selecting),
        lifetime=once(stored.lifetime),
        document_class=once(stored.document_class),
        tags=once(stored.tags),
    )
    return compact, _footprint(compact, paid_for)


def _footprint(root: Any, seen: set[int]) -> int:
    """Bytes held by `root` and all it refers to, less what `seen` names; `seen` grows."""
    size, waiting = 0, [root]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kind = type(value)
        if kind is tuple:
            waiting += value
        elif kind is dict:
            waiting += value
            waiting += value.values()
        elif kind not in _LEAVES:
            if isinstance(value, _IMMORTAL):
                continue
            waiting += [getattr(value, name) for name in kind.__slots__]
        size += _allocated(value)
    return size


def _allocated(value: object) -> int:
    size = sys.getsizeof(value)
    if size > _SMALL:
        size += _ALIGNMENT
    return (size + _ALIGNMENT - 1) & -_ALIGNMENT
