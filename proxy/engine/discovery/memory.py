"""What was made of the web and is kept: bounded, and ended by every purge that concerns a URI it was made of."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from proxy.caching.generations import is_touched
from proxy.ports import Generations

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(slots=True)
class _Kept(Generic[Value]):
    """`generation` is the newest one that is known not to concern any of `uris`."""

    value: Value
    uris: frozenset[str]
    generation: int
    size: int


class Memory(Generic[Key, Value]):
    """Values by key, of no more than `room` octets in all; the one that was longest not asked for goes first."""

    def __init__(self, generations: Generations, room: int) -> None:
        self._generations = generations
        self._room = room
        self._taken = 0
        self._kept: OrderedDict[Key, _Kept[Value]] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """The value, unless a purge came since that concerns it."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        latest = self._generations.latest
        if kept.generation != latest:
            if is_touched(self._generations, kept.generation, kept.uris):
                self.drop(key)
                return None
            kept.generation = latest
        self._kept.move_to_end(key)
        return kept.value

    def put(self, key: Key, value: Value, uris: frozenset[str], generation: int, size: int) -> None:
        """Keep what was made of `uris`, read since `generation` began; `size` is the room it takes without them."""
        self.drop(key)
        size += sum(map(len, uris))
        self._kept[key] = _Kept(value, uris, generation, size)
        self._taken += size
        while self._taken > self._room:
            self.drop(next(iter(self._kept)))

    def forget(self, uri: str) -> None:
        """Forget everything that was made of `uri`."""
        for key in [key for key, kept in self._kept.items() if uri in kept.uris]:
            self.drop(key)

    def drop(self, key: Key) -> None:
        """Forget it, where it is known."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._taken -= kept.size
