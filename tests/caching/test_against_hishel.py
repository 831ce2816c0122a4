"""A second opinion: thousands of responses, judged by this core and by hishel's (RFC 9111 §3, §4.1, §4.2.1).

The shared ground: a true Date, no Age, dates and numbers that parse, one stored variant, no request directives,
whole seconds. The cases follow from their numbers alone, so a failing one fails again. Where the two may differ
stands in DIFFERENCES, with the reason; each of them must occur, so the list cannot outlive its causes.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypeVar

import hishel
import pytest

from proxy.caching.directives import NO_REQUEST_DIRECTIVES
from proxy.caching.freshness import LifetimeSource
from proxy.caching.reuse import Hit, decide
from proxy.caching.storing import NotStored, NotStoredReason, Storable, StoragePolicy, may_store
from tests.caching.samples import AT_ONCE, NOW, URI, date, fields, head, request

T = TypeVar("T")

SEED = "RFC 9111"
CASES = 3000
# No cap, no defaults of a document class: the letter of the RFC.
POLICY = StoragePolicy(negative_lifetime=float("inf"))
OPTIONS = hishel.CacheOptions(shared=True, supported_methods=["GET"], allow_stale=False)

STATUSES = (200, 200, 200, 203, 204, 206, 301, 302, 304, 307, 308, 400, 404, 410, 500, 501, 503, 599)
DIRECTIVES = (
    *("max-age=0", "max-age=60", "max-age=600", "s-maxage=0", "s-maxage=60", "no-store", "private", 'private="x"'),
    *("no-cache", 'no-cache="x"', "public", "must-revalidate", "proxy-revalidate", "must-understand", "immutable"),
    *("stale-while-revalidate=600", "unknown", 'unknown="no-store, max-age=600"'),
)
EXPIRES = (None, None, None, "0", date(-60), date(60), date(600))
MODIFIED = (None, None, date(-600), date(-100_000))
VARIES = (None, None, None, "Foo", "Foo, Bar", "*")
AGES = (0, 1, 59, 60, 61, 599, 600, 601)


@dataclass(frozen=True, slots=True)
class Case:
    """A response, the request it answered, and the request that comes `age` seconds later."""

    number: int
    status: int
    response: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    age: int

    def says(self, directive: str) -> bool:
        """Whether its Cache-Control has exactly that directive."""
        control = "".join(line for line in self.response if line.startswith("Cache-Control: "))
        return directive in control.removeprefix("Cache-Control: ").split(", ")


@dataclass(frozen=True, slots=True)
class Opinion:
    """May it be stored, and may it answer the second request without asking the origin."""

    stores: bool
    reuses: bool


class Draw:
    """Choices that follow from a case's number alone."""

    def __init__(self, number: int) -> None:
        self._octets = iter(hashlib.shake_128(f"{SEED} {number}".encode()).digest(64))

    def one(self, options: tuple[T, ...]) -> T:
        return options[next(self._octets) % len(options)]

    def some(self, options: tuple[T, ...], most: int) -> list[T]:
        return [self.one(options) for _ in range(next(self._octets) % (most + 1))]


def cases() -> Iterator[Case]:
    for number in range(CASES):
        draw = Draw(number)
        directives = without_repeated_names(draw.some(DIRECTIVES, 4))
        lines = {
            "Cache-Control": ", ".join(directives) or None,
            "Date": date(),
            "Expires": draw.one(EXPIRES),
            "Last-Modified": draw.one(MODIFIED),
            "ETag": draw.one((None, '"1"')),
            "Vary": draw.one(VARIES),
        }
        yield Case(
            number,
            draw.one(STATUSES),
            tuple(f"{name}: {value}" for name, value in lines.items() if value is not None),
            (f"Foo: {draw.one(('1', '2'))}", *draw.one(((), (), ("Authorization: x",)))),
            (f"Foo: {draw.one(('1', '2'))}",),
            draw.one(AGES),
        )


def without_repeated_names(directives: list[str]) -> list[str]:
    """Repeated lifetimes are no shared ground (§4.2.1 leaves the choice); both forms of one directive are."""
    by_name = {
        directive if '"' in directive else directive.partition("=")[0]: directive for directive in directives
    }
    return list(by_name.values())


def ours(case: Case) -> tuple[Opinion, Storable | NotStored]:
    verdict = may_store(request(*case.first), head(*case.response, status=case.status), AT_ONCE, POLICY, 0)
    if isinstance(verdict, NotStored):
        return Opinion(False, False), verdict
    found = decide(request(*case.second), NO_REQUEST_DIRECTIVES, [verdict.with_body(b"")], NOW + case.age)
    return Opinion(True, isinstance(found, Hit)), verdict


def as_headers(lines: tuple[str, ...]) -> hishel.Headers:
    return hishel.Headers({name: list(fields(*lines).get_all(name)) for name, _ in fields(*lines)})


def theirs(case: Case, clock: SimpleNamespace) -> Opinion:
    clock.now = NOW
    asked = hishel.Request("GET", URI, as_headers(case.first))
    answer = hishel.Response(case.status, as_headers(case.response))
    state = hishel.CacheMiss(request=asked, options=OPTIONS).next(answer)
    if not isinstance(state, hishel.StoreAndUse):
        return Opinion(False, False)
    clock.now = NOW + case.age
    entry = hishel.Entry(uuid.UUID(int=case.number), asked, state.response)
    again = hishel.Request("GET", URI, as_headers(case.second))
    return Opinion(True, isinstance(hishel.IdleClient(options=OPTIONS).next(again, [entry]), hishel.FromCache))


def is_refused_for(verdict: Storable | NotStored, reason: NotStoredReason) -> bool:
    return isinstance(verdict, NotStored) and verdict.reason is reason


Difference = Callable[[Case, Storable | NotStored, Opinion], bool]

DIFFERENCES: dict[str, Difference] = {
    # §3 allows storing what can never be reused; it would only cost memory here. hishel never reuses it either.
    "nothing to gain": lambda case, verdict, other: (
        is_refused_for(verdict, NotStoredReason.NO_USE) and not other.reuses
    ),
    # The same of `Vary: *` (§4.1).
    "vary any": lambda case, verdict, other: is_refused_for(verdict, NotStoredReason.VARY_ANY) and not other.reuses,
    # §4.2.1: the most restrictive directive should be honoured. In hishel the qualified form replaces the other.
    "private in both forms": lambda case, verdict, other: case.says("private") and case.says('private="x"'),
    # The same of no-cache.
    "no-cache in both forms": lambda case, verdict, other: case.says("no-cache") and case.says('no-cache="x"'),
    # §5.2.2.3: hishel parses the directive and does not act on it.
    "must-understand": lambda case, verdict, other: case.says("must-understand"),
    # §4.2.2 leaves the heuristic open: ours is counted to the Date, at most a day; hishel's grows with the age.
    "heuristic": lambda case, verdict, other: (
        isinstance(verdict, Storable) and verdict.draft.lifetime.source is LifetimeSource.HEURISTIC
    ),
}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """hishel reads the time itself; here it reads this."""
    clock = SimpleNamespace(now=NOW)
    clock.time = lambda: clock.now
    monkeypatch.setattr("hishel._core._spec.time", clock)
    return clock


def test_the_two_agree_or_the_difference_is_known(clock: SimpleNamespace) -> None:
    seen: Counter[str] = Counter()
    unexplained = []
    for case in cases():
        mine, verdict = ours(case)
        other = theirs(case, clock)
        if mine == other:
            seen[
                "agreed to reuse" if mine.reuses else "agreed to store" if mine.stores else "agreed to refuse"
            ] += 1
            continue
        known = [name for name, applies in DIFFERENCES.items() if applies(case, verdict, other)]
        seen.update(known)
        if not known:
            unexplained.append(f"{case}\n  ours {mine} {verdict}\n  theirs {other}")
    assert not unexplained, "\n".join(unexplained[:5])
    assert set(DIFFERENCES) <= set(seen), seen
    assert min(seen["agreed to reuse"], seen["agreed to store"], seen["agreed to refuse"]) > CASES // 20, seen
