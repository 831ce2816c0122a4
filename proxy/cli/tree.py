"""Lines of text as a tree, drawn in ASCII."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from proxy.cli.terminal import Paint

# What is longer does not push the column behind it away from all others.
_WIDEST: Final = 72


@dataclass(frozen=True, slots=True)
class Branch:
    """A line with what hangs below it; `style` None: plain."""

    text: str
    branches: tuple[Branch, ...] = ()
    style: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A line in columns; a column that is None is left empty."""

    columns: Sequence[str | None]
    style: str | None = None


def draw(root: Branch, paint: Paint) -> Iterator[str]:
    """The lines of a tree."""
    yield _painted(root, paint)
    yield from _below(root, "", paint)


def aligned(rows: Iterable[Row]) -> tuple[Branch, ...]:
    """Rows as branches, each column as wide as its widest text."""
    table = [([text or "" for text in row.columns], row.style) for row in rows]
    count = max((len(texts) for texts, _ in table), default=0)
    widths = [_width([texts[n] for texts, _ in table if n < len(texts)]) for n in range(count)]
    return tuple(Branch(_line(texts, widths), style=style) for texts, style in table)


def _width(texts: Sequence[str]) -> int:
    """The width of a column; 0 for one that nobody fills."""
    if not any(texts):
        return 0
    return max((len(text) for text in texts if len(text) <= _WIDEST), default=1)


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{text:<{width}}" for text, width in zip(texts, widths, strict=False) if width).rstrip()


def _below(branch: Branch, indent: str, paint: Paint) -> Iterator[str]:
    last = len(branch.branches) - 1
    for number, inner in enumerate(branch.branches):
        mark, further = ("`-- ", "    ") if number == last else ("|-- ", "|   ")
        yield f"{indent}{mark}{_painted(inner, paint)}"
        yield from _below(inner, indent + further, paint)


def _painted(branch: Branch, paint: Paint) -> str:
    return branch.text if branch.style is None else paint(branch.text, branch.style)
