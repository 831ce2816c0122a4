"""Finished answers, kept ready to be sent until the first of their sources is to be read again.

An answer is kept as the bytes of a call that costs nothing: only the time it took is filled in when it is sent.
A purge that concerns any of them ends it too.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from proxy.capability.ladders import Atoms, Label, Ladder, parse_level
from proxy.engine.discovery.memory import Memory
from proxy.http.problems import Problem
from proxy.ports import Clock, Generations

MAX_BYTES: Final = 32 * 2**20
# One answer above this is not worth the place of many others.
_LARGEST: Final = 2**20
_MEMBERS_SIZE: Final = 6
# Longer than any discovery takes they need not be known.
_MOST_WITHDRAWN: Final = 4_096


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the domain, the client's claim, and what a credential proves of it; None without one."""

    domain: str
    level: str | None
    ladder: str | None
    proven: Atoms | None = None


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
        """What it takes of the memory set aside; a problem's members take several times their text."""
        return (len(self.before) + len(self.after)) * (1 if self.problem is None else _MEMBERS_SIZE)

    def body(self, milliseconds: float) -> bytes:
        """The bytes to send."""
        return b"%b%.2f%b" % (self.before, milliseconds, self.after)


def question_of(domain: str, level: str | None, ladder: str | None, proven: Atoms | None = None) -> Question:
    """The question of a canonical domain and of a claim in anybody's words: few enough to be told apart by.

    A level that no ladder has counts as L0 (U-D8); a ladder that nobody knows is no ladder.
    """
    if level is None:
        return Question(domain, None, None, proven)
    label = level if parse_level(level, None) is not None else Label.L0.value
    known = ladder is None or ladder in frozenset(Ladder)
    return Question(domain, label, ladder if known else "unknown", proven)


class Results:
    """Prepared answers by question, bounded in bytes."""

    def __init__(self, generations: Generations, clock: Clock, max_bytes: int = MAX_BYTES) -> None:
        self._clock = clock
        self._kept: Memory[Question, Prepared] = Memory(generations, max_bytes)
        self._withdrawn: OrderedDict[str, float] = OrderedDict()

    def get(self, question: Question) -> Prepared | None:
        """The answer, while it is good."""
        prepared = self._kept.get(question)
        if prepared is None or self._clock() < prepared.fresh_until:
            return prepared
        self._kept.drop(question)
        return None

    def forget(self, uri: str, *, is_gone: bool) -> None:
        """What was made of `uri` is told no more; where it is gone, nor what is being made of it now."""
        self._kept.forget(uri)
        if is_gone:
            self._withdrawn[uri] = self._clock()
            self._withdrawn.move_to_end(uri)
        if len(self._withdrawn) > _MOST_WITHDRAWN:
            self._withdrawn.popitem(last=False)

    def put(
        self,
        question: Question,
        prepared: Prepared,
        uris: frozenset[str],
        generation: int,
        gone: Collection[str] = (),
        began: float = math.inf,
    ) -> None:
        """Keep an answer made of `uris`, read since `generation` and the Unix time `began`.

        It tells of those in `gone` that they are, and of no others.
        """
        self._kept.drop(question)
        if any(self._withdrawn.get(uri, 0.0) >= began for uri in uris.difference(gone)):
            return
        if self._clock() < prepared.fresh_until < math.inf and prepared.size <= _LARGEST:
            self._kept.put(question, prepared, uris, generation, prepared.size)
