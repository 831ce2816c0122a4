"""Finished answers, kept ready to be sent until the first of their sources is to be read again.

An answer is kept as the bytes of a call that costs nothing: only the time it took is filled in when it is sent.
Purge and invalidation end every answer: what they concern is not known here.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from proxy.capability.ladders import Label, Ladder, parse_level
from proxy.http.problems import Problem
from proxy.ports import Clock, Generations

MAX_BYTES: Final = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the domain, and the client's claim."""

    domain: str
    level: str | None
    ladder: str | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """An answer, to be sent as `before`, the milliseconds it took, `after`. Times in Unix seconds.

    `etag` is weak: the same for every answer that tells the same of the domain, whatever the call cost. `problem`
    stands in for the bytes where nothing was found.
    """

    before: bytes
    after: bytes
    etag: str
    fresh_until: float
    problem: Problem | None = None

    @property
    def size(self) -> int:
        """What it takes of the memory set aside."""
        return len(self.before) + len(self.after)

    def body(self, milliseconds: float) -> bytes:
        """The bytes to send."""
        return b"%b%.2f%b" % (self.before, milliseconds, self.after)


def question_of(domain: str, level: str | None, ladder: str | None) -> Question:
    """The question of a canonical domain and of a claim in anybody's words: few enough to be told apart by.

    A level that no ladder has counts as L0 (U-D8); a ladder that nobody knows is no ladder.
    """
    if level is None:
        return Question(domain, None, None)
    label = level if parse_level(level, None) is not None else Label.L0.value
    known = ladder is None or ladder in frozenset(Ladder)
    return Question(domain, label, ladder if known else "unknown")


class Results:
    """Prepared answers by question, bounded in bytes; the one that was longest not asked for goes first."""

    def __init__(self, generations: Generations, clock: Clock, max_bytes: int = MAX_BYTES) -> None:
        self._generations = generations
        self._clock = clock
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[Question, tuple[Prepared, int]] = OrderedDict()

    def get(self, question: Question) -> Prepared | None:
        """The answer, while it is good."""
        kept = self._kept.get(question)
        if kept is None:
            return None
        prepared, generation = kept
        if generation == self._generations.latest and self._clock() < prepared.fresh_until:
            self._kept.move_to_end(question)
            return prepared
        self._drop(question)
        return None

    def put(self, question: Question, prepared: Prepared, generation: int) -> None:
        """Keep an answer made of what was read since `generation`."""
        if question in self._kept:
            self._drop(question)
        if generation != self._generations.latest or not self._clock() < prepared.fresh_until < math.inf:
            return
        self._kept[question] = (prepared, generation)
        self._bytes += prepared.size
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, question: Question) -> None:
        prepared, _ = self._kept.pop(question)
        self._bytes -= prepared.size
