"""Results as rows: aligned for a person, and as they were measured for a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Value = str | int | float
Row = Mapping[str, Value]
"""Column heading, unit included, to value."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of the same columns. `raw` holds the single figures behind them, by what they are and their unit."""

    title: str
    rows: Sequence[Row]
    raw: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def text(self) -> str:
        """The title and the rows in columns: words to the left, numbers to the right."""
        headings = tuple(self.rows[0])
        cells = [headings, *(tuple(shown(row[heading]) for heading in headings) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        is_word = [isinstance(self.rows[0][heading], str) for heading in headings]
        lines = (
            "   ".join(
                cell.ljust(width) if word else cell.rjust(width)
                for cell, width, word in zip(line, widths, is_word, strict=True)
            )
            for line in cells
        )
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in lines)])

    def as_json(self) -> dict[str, object]:
        """The same, to be written to a file."""
        raw = {what: [round(figure, 3) for figure in figures] for what, figures in self.raw.items()}
        return {"title": self.title, "rows": list(self.rows), "raw": raw}


def shown(value: Value) -> str:
    """A value as it is printed: three significant digits, thousands separated."""
    if isinstance(value, float):
        decimals = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
        return f"{value:,.{decimals}f}"
    return value if isinstance(value, str) else f"{value:,}"
