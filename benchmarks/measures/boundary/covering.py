"""One route among many: at a literal path, at a template, and where templates are made to be searched in vain."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Final

from benchmarks import documents
from benchmarks.measures.boundary.published import changing
from benchmarks.tables import Row, Table
from benchmarks.turns import Call, Turns, in_turns, require
from proxy.boundary.intents import folded_path
from proxy.capability.covering import Covered, RouteIndex
from proxy.discovery.access.routereading import parse_route
from proxy.http.targets import parse_target

_SITE: Final = parse_target(documents.HOST)
_MOST_MICROSECONDS: Final = 1_000
_DEPTH: Final = 14
_NOTHING: Final = type(None)


def covering(sizes: Sequence[int], turns: Turns) -> Table:
    """Each size of an index, and look-ups in it."""
    rows: list[Row] = []
    raw: dict[str, list[float]] = {}
    for size in sizes:
        routes = list(_routes(size))
        started = time.perf_counter()
        index = RouteIndex(routes, folded_path)
        built = time.perf_counter() - started
        calls: dict[str, Call] = {}
        for name, (path, expected) in _asked(size).items():
            calls[name] = partial(index.covering, "POST", parse_target(documents.HOST + path))
            require(f"{name} of {size}", calls[name], partial(_is_a, expected))
        timed = dict(zip(calls, in_turns(tuple(calls.values()), turns), strict=True))
        columns = {f"{name} µs": median(figures) for name, figures in timed.items()}
        is_within = max(columns.values()) <= _MOST_MICROSECONDS
        all_within = {f"all ≤ {_MOST_MICROSECONDS:,} µs": "yes" if is_within else "no"}
        rows.append({"routes": size, "built ms": built * 1000, **columns, **all_within})
        raw |= {f"{size} routes, {name}, µs": figures for name, figures in timed.items()}
    return Table(f"RouteIndex.covering: {turns}", rows, raw)


def _asked(size: int) -> Mapping[str, tuple[str, tuple[type[object], ...]]]:
    """What is looked for by its path, and what may be found. A search that takes too long ends with the gravest."""
    middle = size // 2
    return {
        "literal": (f"/api/v1/do{middle}", (Covered,)),
        "template": (f"/api/v1/acme/orders{middle}/7", (Covered,)),
        "none": ("/api/v1/nowhere", (_NOTHING,)),
        "in vain": (f"/deep{'/a' * _DEPTH}/end", (Covered, _NOTHING)),
    }


def _routes(size: int) -> Iterator[Covered]:
    """A third each of literal paths, of templates, and of paths that fit in any of many ways but for their end."""
    middle = size // 2
    for number in range(size - 2):
        deep = "/".join("a" if number >> bit & 1 else "{x}" for bit in range(_DEPTH))
        paths = (f"/api/v1/do{number}", f"/api/v1/{{account}}/orders{number}/{{item}}", f"/deep/{deep}/{number}")
        yield _read(paths[number % len(paths)])
    yield _read(f"/api/v1/do{middle}")
    yield _read(f"/api/v1/{{account}}/orders{middle}/{{item}}")


def _read(path: str) -> Covered:
    record = parse_route(changing(path)).record
    assert record is not None, path
    return Covered(record, _SITE)


def _is_a(expected: tuple[type[object], ...], came_to: object) -> bool:
    return isinstance(came_to, expected)
