"""What a benchmark is: a module of `measures` with one registered function."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from benchmarks import measures
from benchmarks.tables import Table

Measure = Callable[[bool], Iterator[Table]]
"""Yields each table when it is measured; True asks for a smoke run of a second or so."""

_registered: dict[str, Benchmark] = {}


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A measure by the name that the command line knows it by; `about` completes "measures …"."""

    name: str
    about: str
    measure: Measure


class CannotMeasure(Exception):
    """The benchmark cannot run here, or what ran was not what was to be measured."""


def benchmark(name: str, about: str) -> Callable[[Measure], Measure]:
    """Registers the function under `name`."""

    def register(measure: Measure) -> Measure:
        _registered[name] = Benchmark(name, about, measure)
        return measure

    return register


def benchmarks() -> Mapping[str, Benchmark]:
    """Every benchmark by its name."""
    for module in pkgutil.iter_modules(measures.__path__):
        import_module(f"{measures.__name__}.{module.name}")
    return dict(sorted(_registered.items()))
