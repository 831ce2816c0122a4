"""Authorities whose records may be forgotten, so that whoever answers for many hosts cannot fill the records."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from typing import Final

from proxy.trust.records.knowledge import Knowledge, is_expendable

MOST_EXPENDABLE: Final = 10_000
"""Records without keys and mirrors; those that have them are never forgotten."""


class Expendable:
    """At most `most` of them are to be kept; the one untouched longest goes first."""

    def __init__(self, most: int, authorities: Iterable[str] = ()) -> None:
        self._most = most
        self._touched = OrderedDict.fromkeys(authorities)

    def written(self, knowledge: Knowledge) -> None:
        """After something was learnt of an authority: it may be worth keeping now, or no more."""
        self.forgotten(knowledge.authority)
        if is_expendable(knowledge):
            self._touched[knowledge.authority] = None

    def touch(self, authority: str) -> None:
        """After it was asked for."""
        if authority in self._touched:
            self._touched.move_to_end(authority)

    def forgotten(self, authority: str) -> None:
        """After its record has gone."""
        self._touched.pop(authority, None)

    @property
    def surplus(self) -> tuple[str, ...]:
        """Those that are to go."""
        return tuple(islice(self._touched, max(0, len(self._touched) - self._most)))
