"""Lint of the two matrices of a site: its surfaces, and what is executable, at each level (UAIX.md §1.8, §7).

They are kept apart on purpose: cells say what a site supports, requirements say what an agent can then do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from proxy.capability.ladders import Label
from proxy.discovery.access.routereading import LEVEL_UNKNOWN
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonDocument, JsonObject
from proxy.discovery.notes import Notes
from proxy.lint.bodies import repeated_name_findings
from proxy.lint.objects import object_document

COLUMNS_RULE: Final = "local.surface_columns"
CELL_VALUE: Final = "local.surface_cell_value"
L0_OVERCLAIM: Final = "local.surface_l0_overclaim"
LEVEL_IDS: Final = "local.level_ids"
LEVEL_FIELDS: Final = "local.level_fields"

MOST_LEVELS: Final = 50

_COLUMNS: Final = (
    "staticHtml",
    "llmsTxt",
    "sitemap",
    "json",
    "getAction",
    "postJson",
    "openApi",
    "mcp",
    "a2a",
    "memory",
    "evidence",
)
_NO: Final = "No"
_CELL_VALUES: Final = ("Yes", _NO, "Required for client configuration", "Human review")
# Whoever only opens URLs can make use of none of these.
_BEYOND_L0: Final = ("getAction", "postJson", "openApi", "mcp", "a2a", "memory")
_FIELDS_OF_ROWS: Final = ("client",)
_FIELDS_OF_LEVELS: Final = ("label", "agent_ability", "executable_requirement")
_OF_LEVELS_ALONE: Final = frozenset({"agent_ability", "executable_requirement"})
_LABELS: Final = tuple(label.value for label in Label)


def is_surface_matrix(value: JsonObject) -> bool:
    """Whether an object is a capability surface matrix, or means to be one."""
    return "rows" in value and ("columns" in value or "allowed_cell_values" in value)


def is_executability_matrix(value: JsonObject) -> bool:
    """Whether an object is an agent executability matrix; other documents have levels too, of another sort."""
    levels = value.get("levels")
    if not isinstance(levels, list):
        return False
    rows = (level for level in levels[:MOST_LEVELS] if isinstance(level, dict))
    return "dogfood_failure" in value or any(not _OF_LEVELS_ALONE.isdisjoint(row) for row in rows)


def lint_surface_matrix(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of a surface matrix. `now` decides nothing: a matrix does not end."""
    document = object_document(body, COLUMNS_RULE)
    return (document,) if isinstance(document, Finding) else _noted(document, _surface(document.members))


def lint_executability_matrix(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of an executability matrix. `now` decides nothing: a matrix does not end."""
    document = object_document(body, LEVEL_IDS)
    return (document,) if isinstance(document, Finding) else _noted(document, _executability(document.members))


def _noted(document: JsonDocument, findings: Iterator[Finding]) -> tuple[Finding, ...]:
    notes = Notes(None)
    notes.add(repeated_name_findings(is_repeated=document.has_repeated_names, is_signed=False))
    notes.add(findings)
    return notes.findings()


def _surface(value: JsonObject) -> Iterator[Finding]:
    columns, allowed = value.get("columns"), value.get("allowed_cell_values", [])
    if not isinstance(columns, list) or any(columns.count(name) != 1 for name in _COLUMNS):
        yield Finding(COLUMNS_RULE, "/columns", f"Each of {', '.join(_COLUMNS)} is a column, once.")
    if not isinstance(allowed, list) or any(cell not in _CELL_VALUES for cell in allowed):
        yield Finding(CELL_VALUE, "/allowed_cell_values", f"A cell is one of {', '.join(_CELL_VALUES)}.")
    yield from _levels(value, "rows", _FIELDS_OF_ROWS)
    for index, row in _rows(value, "rows"):
        yield from _cells(row, pointer("rows", index))


def _executability(value: JsonObject) -> Iterator[Finding]:
    yield from _levels(value, "levels", _FIELDS_OF_LEVELS)


def _cells(row: JsonObject, path: str) -> Iterator[Finding]:
    for name in _COLUMNS:
        cell = row.get(name)
        if cell not in _CELL_VALUES:
            yield Finding(CELL_VALUE, path + pointer(name), f"The cell is none of {', '.join(_CELL_VALUES)}.")
        elif row.get("level") == Label.L0 and name in _BEYOND_L0 and cell != _NO:
            yield Finding(L0_OVERCLAIM, path + pointer(name), "A client that only opens URLs cannot use this.")


def _levels(value: JsonObject, parent: str, fields: tuple[str, ...]) -> Iterator[Finding]:
    """That each level stands there once, none below it left out, with texts for its fields."""
    rows = list(_rows(value, parent))
    levels = [row.get("level") for _, row in rows]
    known = [label for label in _LABELS if label in levels]
    if not known or known != list(_LABELS[: len(known)]):
        yield Finding(LEVEL_IDS, pointer(parent), "The levels go up from L0 and leave none out.")
    for place, (index, row) in enumerate(rows):
        yield from _level_id(levels, place, pointer(parent, index, "level"))
        for name in fields:
            text = row.get(name)
            if not isinstance(text, str) or not text.strip():
                yield Finding(LEVEL_FIELDS, pointer(parent, index, name), f"A level has a text {name}.")
    listed = value.get(parent)
    if isinstance(listed, list) and len(rows) < len(listed):
        detail = f"What is no object, or comes after {MOST_LEVELS} levels, is not looked at."
        yield Finding(LEVEL_IDS, pointer(parent), detail)


def _level_id(levels: list[object], place: int, path: str) -> Iterator[Finding]:
    level = levels[place]
    if not isinstance(level, str):
        yield Finding(LEVEL_IDS, path, "The level has no id.")
    elif level not in _LABELS:
        yield Finding(LEVEL_UNKNOWN, path, "The level is none of L0 to L7.", is_warning=True)
    elif level in levels[:place]:
        yield Finding(LEVEL_IDS, path, "The level is there more than once.")


def _rows(value: JsonObject, parent: str) -> Iterator[tuple[int, JsonObject]]:
    listed = value.get(parent)
    for index, row in enumerate(listed[:MOST_LEVELS] if isinstance(listed, list) else ()):
        if isinstance(row, dict):
            yield index, row
