"""Scores a result of the public HTTP cache suite by the suite's own rules.

A raw `true` says little: a test counts only when every test it depends on, recursively, holds too. So a cache
that stores nothing cannot collect points from tests that want a response *not* to be reused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

RawResults = Mapping[str, Any]
"""By test id: `True`, or `[exception name, message]` of the client."""


class Kind(StrEnum):
    REQUIRED = "required"
    OPTIMAL = "optimal"
    CHECK = "check"


class Outcome(StrEnum):
    PASS = "pass"
    YES = "yes"
    FAIL = "fail"
    NO = "no"
    DEPENDENCY = "dep"
    """A test this one builds on did not hold, so this one says nothing."""
    SETUP = "setup"
    RETRY = "retry"
    """The origin got one request twice."""
    HARNESS = "harness"
    """The client gave up waiting."""
    UNTESTED = "untested"


HOLDING = frozenset({Outcome.PASS, Outcome.YES})


@dataclass(frozen=True, slots=True)
class Definition:
    """One test of the suite."""

    id: str
    kind: Kind
    depends_on: tuple[str, ...]
    browser_only: bool


Definitions = Mapping[str, Definition]


def parse_definitions(suites: Iterable[Mapping[str, Any]]) -> Definitions:
    """The tests of the suite's own definition files, by id.

    Raises KeyError or ValueError for another shape than `[{"tests": [{"id", "kind", …}]}]`.
    """
    return {
        test["id"]: Definition(
            id=test["id"],
            kind=Kind(test.get("kind", Kind.REQUIRED)),
            depends_on=tuple(test.get("depends_on", ())),
            browser_only=bool(test.get("browser_only", False)),
        )
        for suite in suites
        for test in suite["tests"]
    }


def score(definitions: Definitions, results: RawResults) -> dict[str, Outcome]:
    """The outcome of every test that applies to a proxy, by id."""
    known: dict[str, Outcome] = {}
    return {
        test.id: _outcome(test, definitions, results, known)
        for test in definitions.values()
        if not test.browser_only
    }


def _outcome(test: Definition, definitions: Definitions, results: RawResults, known: dict[str, Outcome]) -> Outcome:
    if test.id not in known:
        rests = (_outcome(definitions[name], definitions, results, known) for name in test.depends_on)
        if test.id not in results:
            known[test.id] = Outcome.UNTESTED
        elif any(outcome not in HOLDING for outcome in rests):
            known[test.id] = Outcome.DEPENDENCY
        else:
            known[test.id] = _own_outcome(test.kind, results[test.id])
    return known[test.id]


def _own_outcome(kind: Kind, result: Any) -> Outcome:
    match result:
        case True:
            return Outcome.YES if kind is Kind.CHECK else Outcome.PASS
        case ["Setup", "retry"]:
            return Outcome.RETRY
        case ["Setup", *_]:
            return Outcome.SETUP
        case ["AbortError", *_]:
            return Outcome.HARNESS
        case _:
            return Outcome.NO if kind is Kind.CHECK else Outcome.FAIL


def totals(definitions: Definitions, outcomes: Mapping[str, Outcome]) -> dict[Kind, Counter[Outcome]]:
    """How often each outcome came, by kind of test."""
    table: dict[Kind, Counter[Outcome]] = {kind: Counter() for kind in Kind}
    for name, outcome in outcomes.items():
        table[definitions[name].kind][outcome] += 1
    return table


def summary(definitions: Definitions, outcomes: Mapping[str, Outcome]) -> str:
    """`required 152/165, optimal 80/95, check yes 60/90`"""
    table = totals(definitions, outcomes)
    labels = {Kind.REQUIRED: "required", Kind.OPTIMAL: "optimal", Kind.CHECK: "check yes"}
    return ", ".join(
        f"{label} {sum(table[kind][outcome] for outcome in HOLDING)}/{table[kind].total()}"
        for kind, label in labels.items()
    )
