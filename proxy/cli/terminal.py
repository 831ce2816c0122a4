"""What a terminal is fit for: colours, and a word on what is being waited for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from proxy.logs.redaction import plain

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"

Paint = Callable[[str, str], str]
"""Puts a text into one of the styles."""

# A line that wraps could not be taken back.
_WIDEST: Final = 70


def may_colour(stream: TextIO) -> bool:
    """Whether colours are welcome there (NO_COLOR)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint_for(*, colour: bool) -> Paint:
    """How to put text into a style, where there is colour and where there is none."""
    return _coloured if colour else _uncoloured


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Tell a person at a terminal what takes its time; afterwards nothing is left of it."""
    if not sys.stderr.isatty():
        yield
        return
    line = plain(what, _WIDEST) + " ..."
    print(line, end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r" + " " * len(line) + "\r", end="", file=sys.stderr, flush=True)


def _coloured(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def _uncoloured(text: str, _: str) -> str:
    return text
