"""How many requests for costly resources are under way: so many in all, and so many that wait for one host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class NoSlot(Exception):
    """As many are under way as may be."""


class Slots:
    """At most `most` in all, and of those `most_of_host` for each host."""

    def __init__(self, most: int, most_of_host: int) -> None:
        self._most = most
        self._most_of_host = most_of_host
        self._taken = 0
        self._of_host: Counter[str] = Counter()

    @contextmanager
    def slot(self, hosts: Iterable[str]) -> Iterator[None]:
        """One of them, for a request that waits for these hosts, each counted once. Raises NoSlot."""
        waited_for = set(hosts)
        if self._taken >= self._most or any(self._of_host[host] >= self._most_of_host for host in waited_for):
            raise NoSlot
        self._taken += 1
        self._of_host.update(waited_for)
        try:
            yield
        finally:
            self._taken -= 1
            self._of_host.subtract(waited_for)
            # Only hosts that somebody waits for take room.
            self._of_host = +self._of_host
