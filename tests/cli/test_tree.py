"""Trees and aligned rows."""

from __future__ import annotations

import pytest

from proxy.cli.terminal import RED, paint_for
from proxy.cli.tree import Branch, Row, aligned, draw

PLAIN = paint_for(colour=False)


def test_a_tree() -> None:
    leaf = Branch("leaf")
    tree = Branch("root", (Branch("first", (leaf, Branch("inner", (leaf,)))), Branch("last", (leaf,))))
    assert list(draw(tree, PLAIN)) == [
        "root",
        "|-- first",
        "|   |-- leaf",
        "|   `-- inner",
        "|       `-- leaf",
        "`-- last",
        "    `-- leaf",
    ]


def test_styles() -> None:
    tree = Branch("root", (Branch("bad", (Branch("plain"),), RED),))
    assert list(draw(tree, paint_for(colour=True))) == ["root", "`-- \x1b[31mbad\x1b[0m", "    `-- plain"]
    assert list(draw(tree, PLAIN))[1] == "`-- bad"


LONG = "x" * 100
ALIGNED: dict[str, tuple[list[Row], list[str]]] = {
    "nothing": ([], []),
    "columns": ([Row(("a", "bb")), Row(("aaa", "b"))], ["a    bb", "aaa  b"]),
    "an empty column": ([Row(("a", None, "c")), Row(("b", "", "d"))], ["a  c", "b  d"]),
    "a text that is missing": ([Row(("a", None, "c")), Row(("b", "bb", "d"))], ["a      c", "b  bb  d"]),
    "rows of several lengths": ([Row(("a",)), Row(("b", "c"))], ["a", "b  c"]),
    "a long text": ([Row((LONG, "c")), Row(("b", "d"))], [f"{LONG}  c", "b  d"]),
    "long texts alone": ([Row((LONG, "c"))], [f"{LONG}  c"]),
    "no text at all": ([Row((None, ""))], [""]),
}


@pytest.mark.parametrize(("rows", "lines"), ALIGNED.values(), ids=ALIGNED)
def test_aligned(rows: list[Row], lines: list[str]) -> None:
    assert [branch.text for branch in aligned(rows)] == lines


def test_a_row_keeps_its_style() -> None:
    assert [branch.style for branch in aligned([Row(("a",), RED), Row(("b",))])] == [RED, None]
