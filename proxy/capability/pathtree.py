"""Templates of paths, and which of them a path is made from (RFC 6570, as far as route records need it).

An expression fills a part of one segment, or, with one of the operators + and / or the modifier *, one or more
whole segments. Where several templates fit, the literal goes before the variable, segment by segment from the left;
of two variable segments the one with more literal characters goes first, and one segment goes before several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

# Looked at for one path. Published templates need a handful; hostile ones shall cost no more than this.
_MOST_STEPS: Final = 1_500

# Expansions that only add to a URL, those that begin a segment of their own, and all that are left.
_ADDED: Final = re.compile(r"\{[?&#][^{}]*\}")
_SEGMENTS: Final = re.compile(r"\{/[^{}]*\}")
_EXPRESSION: Final = re.compile(r"\{([^{}]*)\}")
_ONE: Final = "{}"
_SEVERAL: Final = "{+}"

_Shape = tuple[int, int, int, int, int]
"""How a variable segment is looked for, in this order: as a single one, the last or one more of several; less its
literal characters; those in front and those behind; the fewest characters between them.
"""
_SINGLE: Final = 0
_LAST: Final = 1
_MORE: Final = 2

ValueT = TypeVar("ValueT")


class TooManySteps(Exception):
    """The templates were made to be slow: there is no telling in time whether one of them fits."""


def placeheld(template: str) -> str:
    """The template of a URL with a placeholder for each expression, those left out that only add a query to it."""
    if "{" not in template:
        return template
    return _EXPRESSION.sub(_placeholder, _SEGMENTS.sub("/" + _SEVERAL, _ADDED.sub("", template)))


def is_variable(path: str) -> bool:
    """Whether there is a placeholder in the path, or in a segment of one."""
    return _ONE in path or _SEVERAL in path


class PathTree(Generic[ValueT]):
    """Values by paths with placeholders."""

    def __init__(self) -> None:
        self._root: _Node[ValueT] = _Node()

    def add(self, path: str, value: ValueT) -> None:
        """Put a value there; one that was there before is replaced."""
        node = self._root
        for segment in path.split("/"):
            node = node.behind(segment)
        node.value = value

    def find(self, path: str) -> ValueT | None:
        """The value of the first template that fits; None when none does. Raises TooManySteps."""
        segments = path.split("/")
        room, open_ends = _MOST_STEPS, [(self._root, 0)]
        while open_ends:
            node, depth = open_ends.pop()
            if depth == len(segments):
                if node.value is not None:
                    return node.value
                continue
            room -= 1 + len(node.shapes)
            if room < 0:
                raise TooManySteps
            open_ends += [(follower, depth + 1) for follower in node.following(segments[depth])]
        return None


@dataclass(slots=True, eq=False)
class _Node(Generic[ValueT]):
    """What may follow after the same beginning of a path. Of `shapes` the last one is tried first."""

    value: ValueT | None = None
    literals: dict[str, _Node[ValueT]] = field(default_factory=dict)
    variables: dict[_Shape, dict[tuple[str, str], _Node[ValueT]]] = field(default_factory=dict)
    shapes: list[_Shape] = field(default_factory=list)
    is_sorted: bool = True

    def behind(self, segment: str) -> _Node[ValueT]:
        """The node behind a segment of a template; made if there is none."""
        if not is_variable(segment):
            return self.literals.setdefault(segment, _Node())
        front = segment.partition("{")[0]
        back = segment.rpartition("}")[2]
        if _SEVERAL not in segment:
            return self._variable(_SINGLE, front, back, 1, _Node())
        end = self._variable(_LAST, front, back, 1, _Node())
        inside = self._variable(_MORE, front, "", 0, _Node())
        inside._variable(_MORE, "", "", 0, inside)
        return inside._variable(_LAST, "", back, 0, end)

    def _variable(self, rank: int, front: str, back: str, least: int, node: _Node[ValueT]) -> _Node[ValueT]:
        shape = (rank, -len(front) - len(back), len(front), len(back), least)
        table = self.variables.get(shape)
        if table is None:
            table = self.variables[shape] = {}
            self.shapes.append(shape)
            self.is_sorted = False
        return table.setdefault((front, back), node)

    def following(self, segment: str) -> Iterator[_Node[ValueT]]:
        """The nodes behind a segment of a path; the last one is tried first."""
        if not self.is_sorted:
            self.shapes.sort(reverse=True)
            self.is_sorted = True
        length = len(segment)
        for shape in self.shapes:
            _, _, front, back, least = shape
            if front + back + least <= length:
                node = self.variables[shape].get((segment[:front], segment[length - back :]))
                if node is not None:
                    yield node
        literal = self.literals.get(segment)
        if literal is not None:
            yield literal


def _placeholder(match: re.Match[str]) -> str:
    return _ONE if {"+", "*", "/"}.isdisjoint(match[1]) else _SEVERAL
