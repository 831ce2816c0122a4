"""URLs looked through for secrets: what is remembered of URLs that came before is not used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import median
from typing import Final

from benchmarks import documents
from benchmarks.tables import Row, Table
from benchmarks.turns import Call, Turns, in_turns, ratio, require
from proxy.http.secrets import find_secret

_OCTETS: Final = 200
_MOST_MICROSECONDS: Final = 10
_KIB: Final = (16, 32, 64)

# In these there is nothing to be found, so each is read to its end: how it begins, and what then is repeated.
_HARMLESS: Final[Mapping[str, tuple[str, str]]] = {
    "a path": ("", "/markets"),
    "a path and three parameters": ("?from=2026-01-01&to=2026-11-30&q=", "lorem+ipsum+"),
    "many short parameters": ("?", "a1=b2&"),
    "one long value": ("?cursor=", "abc123def456-"),
    "percent-encoded text": ("?q=", "%C3%A9t%C3%A9+"),
}

# In these a search might begin again and again.
_HOSTILE: Final[Mapping[str, tuple[str, str]]] = {
    "digits": ("/?q=", "4"),
    "beginnings of tokens": ("/?q=", "eyJ"),
    "parameters": ("/?", "a=&"),
    "encoded percent signs": ("/?", "%25"),
    "matrix parameters": ("/", ";"),
    "schemes": ("/?q=", "Bearer "),
}


def scanning(turns: Turns) -> Table:
    """URLs as agents ask for them."""
    calls: dict[str, Call] = {}
    for name, (beginning, part) in _HARMLESS.items():
        url = _of_length(f"{documents.HOST}/api/v1/markets{beginning}", part, _OCTETS)
        calls[name] = partial(find_secret, url)
        require(name, calls[name], _is_none)
    timed = dict(zip(calls, in_turns(tuple(calls.values()), turns), strict=True))
    rows: list[Row] = [
        {
            f"URL of {_OCTETS} octets": name,
            "µs": median(figures),
            f"≤ {_MOST_MICROSECONDS} µs": "yes" if median(figures) <= _MOST_MICROSECONDS else "no",
        }
        for name, figures in timed.items()
    ]
    return Table(f"find_secret: {turns}", rows, {f"{name}, µs": figures for name, figures in timed.items()})


def lengths(turns: Turns) -> Table:
    """The same shape at one, two and four times the length."""
    rows: list[Row] = []
    raw: dict[str, list[float]] = {}
    for name, (beginning, part) in _HOSTILE.items():
        calls = [partial(find_secret, _of_length(beginning, part, size * 1024)) for size in _KIB]
        timed = dict(zip(_KIB, in_turns(calls, turns), strict=True))
        least, most = timed[_KIB[0]], timed[_KIB[-1]]
        columns = {f"{size} KiB ms": median(figures) / 1000 for size, figures in timed.items()}
        heading = f"{_KIB[-1]} ÷ {_KIB[0]} KiB, linear: {_KIB[-1] // _KIB[0]}"
        rows.append({"URL of": name, **columns, heading: ratio(most, least)})
        raw |= {f"{name}, {size} KiB, µs": figures for size, figures in timed.items()}
    return Table(f"find_secret by length: {turns}", rows, raw)


def _of_length(beginning: str, part: str, octets: int) -> str:
    return (beginning + part * octets)[:octets]


def _is_none(came_to: object) -> bool:
    return came_to is None
