"""`evidence`: what a running proxy held back at its boundary, and its release by an operator."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final
from urllib.parse import urlencode

from proxy.boundary.conflicts import State
from proxy.boundary.telling import HIGHEST_LIMIT, is_conflict_id
from proxy.cli.arguments import Unusable
from proxy.cli.parts import Part
from proxy.cli.ports import admin_port
from proxy.cli.remote import AdminPort, RemoteFailure
from proxy.cli.terminal import BOLD, GREEN, YELLOW, Paint, may_colour, paint_for, waiting
from proxy.config import load

MOST_SHOWN: Final = 100
"""Conflicts that are shown to people, who would not read more."""

_FINE, _NEGATIVE = 0, 1
_CUT: Final = (
    f"These are the first {MOST_SHOWN}: name a --client or a --state, or take all of them with --json or --jsonl."
)
_RELEASING: Final = "To let a held one pass once a person agrees: discovery-proxy evidence release ID"
_HEADINGS: Final = ("when", "client", "what", "code", "why", "state", "id")
_STYLES: Final = {State.HELD.value: YELLOW, State.RELEASED.value: GREEN}
_STATE_COLUMN: Final = _HEADINGS.index("state")
# A cell that is longer is not padded to, or one long URL would push everything off the page.
_WIDEST: Final = 60

_Row = Mapping[str, object]


def evidence(arguments: Namespace) -> int:
    """List conflicts, 1 where there are none; or have one released."""
    if arguments.decision is None:
        return _tell(arguments)
    return _release(arguments)


def describe(rows: list[_Row], *, colour: bool) -> str:
    """The conflicts as a table, from the JSON objects of `/admin/boundary`."""
    cells = [_cells(Part(row)) for row in rows]
    widths = [
        max(len(cell) for cell in column if len(cell) <= _WIDEST or cell is column[0])
        for column in zip(_HEADINGS, *cells, strict=True)
    ]
    paint = paint_for(colour=colour)
    head = paint(_line(_HEADINGS, widths, paint_for(colour=False)), BOLD)
    return "\n".join([head, *(_line(row, widths, paint) for row in cells)])


def _tell(arguments: Namespace) -> int:
    given = {"client": arguments.client, "state": arguments.state}
    narrowed = {name: value for name, value in given.items() if value is not None}
    rows = _listed(admin_port(arguments, load(arguments.config, os.environ, {})), narrowed)
    if arguments.jsonl:
        return _print_lines(rows)
    with waiting("reading the evidence"):
        found = list(islice(rows, None if arguments.json else MOST_SHOWN))
        is_cut = next(rows, None) is not None
    if arguments.json:
        print(json.dumps({"evidence": found}, indent=2))
    elif not found:
        print(f"no evidence{_of_what(arguments)}: nothing was held back")
    else:
        print(describe(found, colour=may_colour(sys.stdout)))
        print(f"\n{_CUT if is_cut else _RELEASING}")
    return _FINE if found else _NEGATIVE


def _print_lines(rows: Iterator[_Row]) -> int:
    code = _NEGATIVE
    for row in rows:
        print(json.dumps(row))
        code = _FINE
    return code


def _release(arguments: Namespace) -> int:
    if arguments.client is not None or arguments.state is not None or arguments.jsonl:
        raise Unusable("--client, --state and --jsonl are for the list: leave them out where one is released")
    wanted = arguments.id.lower()
    if not is_conflict_id(wanted):
        raise Unusable("ID: the id of a conflict, 32 hexadecimal digits, as `discovery-proxy evidence` prints it")
    port = admin_port(arguments, load(arguments.config, os.environ, {}))
    answer = port.ask("POST", f"/admin/boundary/{wanted}/release")
    if arguments.json:
        print(json.dumps(answer, indent=2))
    else:
        released = Part(answer).part("released")
        print(f"released: {released.text('client') or '?'} may {_what(released)}")
    return _FINE


def _listed(port: AdminPort, narrowed: Mapping[str, str]) -> Iterator[_Row]:
    """What `/admin/boundary` lists, each page when it is needed. Raises as AdminPort.ask does."""
    query, after = {**narrowed, "limit": str(HIGHEST_LIMIT)}, 0
    while True:
        answer = port.ask("GET", f"/admin/boundary?{urlencode(query)}")
        rows = answer.get("evidence")
        if not isinstance(rows, list):
            raise RemoteFailure(f"{port.base.origin} lists no evidence; is it a proxy of this version?")
        yield from (row for row in rows if isinstance(row, dict))
        following = _cursor(answer.get("next"))
        # One that does not lead on would be followed for ever.
        if following <= after:
            return
        after, query["cursor"] = following, str(following)


def _cursor(text: object) -> int:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 18 else 0


def _cells(row: Part) -> tuple[str, ...]:
    moment = row.text("observed_at")
    when = None if moment is None else moment.partition(".")[0] + ("Z" if "." in moment else "")
    texts = (when, row.text("client"), _what(row), *map(row.text, ("code", "reason", "state", "id")))
    return tuple(text or "?" for text in texts)


def _what(row: Part) -> str:
    return f"{row.text('method') or '?'} {row.text('url') or '?'}"


def _line(cells: tuple[str, ...], widths: list[int], paint: Paint) -> str:
    """One line; only a state that is known has a style."""
    *padded, last = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    style = _STYLES.get(cells[_STATE_COLUMN])
    if style is not None:
        padded[_STATE_COLUMN] = padded[_STATE_COLUMN].replace(
            cells[_STATE_COLUMN], paint(cells[_STATE_COLUMN], style)
        )
    return "  ".join([*padded, last.rstrip()])


def _of_what(arguments: Namespace) -> str:
    of = "" if arguments.client is None else f" of {arguments.client}"
    return f"{of} that is {arguments.state}" if arguments.state else of
