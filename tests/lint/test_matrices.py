"""Lint of the two matrices: each rule both ways, and rows of any sort (UAIX.md §1.8, §7)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.findings import failures, warnings
from proxy.discovery.notes import MOST_FINDINGS
from proxy.lint.matrices import (
    MOST_LEVELS,
    is_executability_matrix,
    is_surface_matrix,
    lint_executability_matrix,
    lint_surface_matrix,
)

SAMPLES = Path(__file__).parent.parent / "samples" / "uaix"
SURFACES: dict[str, Any] = json.loads((SAMPLES / "valid-surface-matrix.json").read_bytes())
LEVELS: dict[str, Any] = json.loads((SAMPLES / "valid-executability-matrix.json").read_bytes())

COLUMNS = "local.surface_columns"
CELL = "local.surface_cell_value"
OVERCLAIM = "local.surface_l0_overclaim"
IDS = "local.level_ids"
FIELDS = "local.level_fields"
UNKNOWN = "local.ability_level_unknown"

Change = Callable[[dict[str, Any]], object]


def judged(lint: Callable[[bytes, float], Any], value: object) -> tuple[set[str], set[str]]:
    """The rules that fail and those that warn."""
    findings = lint(json.dumps(value).encode(), 0.0)
    assert len(findings) <= MOST_FINDINGS + 1
    assert all(finding.detail for finding in findings)
    return {finding.rule for finding in failures(findings)}, {finding.rule for finding in warnings(findings)}


def row(index: int, **cells: object) -> Change:
    return lambda value: value["rows"][index].update(cells)


def level(index: int, **members: object) -> Change:
    return lambda value: value["levels"][index].update(members)


SURFACE_CHANGES: dict[str, tuple[Change, set[str], set[str]]] = {
    "as it is": (lambda value: None, set(), set()),
    "columns in another order": (lambda value: value["columns"].reverse(), set(), set()),
    "one column more": (lambda value: value["columns"].append("voice"), set(), set()),
    "one column less": (lambda value: value["columns"].remove("mcp"), {COLUMNS}, set()),
    "a column twice": (lambda value: value["columns"].append("mcp"), {COLUMNS}, set()),
    "no columns": (lambda value: value.pop("columns"), {COLUMNS}, set()),
    "columns as an object": (lambda value: value.update(columns={"mcp": 1}), {COLUMNS}, set()),
    "no list of cell values": (lambda value: value.pop("allowed_cell_values"), set(), set()),
    "a cell value of its own": (lambda value: value["allowed_cell_values"].append("Maybe"), {CELL}, set()),
    "cell values as a text": (lambda value: value.update(allowed_cell_values="Yes"), {CELL}, set()),
    "a cell of another value": (row(3, mcp="Maybe"), {CELL}, set()),
    "a cell in small letters": (row(3, mcp="yes"), {CELL}, set()),
    "a cell as a truth": (row(3, mcp=True), {CELL}, set()),
    "a cell as a list": (row(0, mcp=["No"]), {CELL}, set()),
    "a cell missing": (lambda value: value["rows"][3].pop("evidence"), {CELL}, set()),
    "L0 posts": (row(0, postJson="Yes"), {OVERCLAIM}, set()),
    "L0 acts after review": (row(0, getAction="Human review"), {OVERCLAIM}, set()),
    "L0 remembers": (row(0, memory="Required for client configuration"), {OVERCLAIM}, set()),
    "L0 reads JSON": (row(0, json="Yes"), set(), set()),
    "L1 posts": (row(1, postJson="Yes"), set(), set()),
    "no rows": (lambda value: value["rows"].clear(), {IDS}, set()),
    "rows as an object": (lambda value: value.update(rows={"L0": "Yes"}), {IDS}, set()),
    "up to L2": (lambda value: value["rows"].__delitem__(slice(3, None)), set(), set()),
    "without L0": (lambda value: value["rows"].pop(0), {IDS}, set()),
    "without L3": (lambda value: value["rows"].pop(3), {IDS}, set()),
    "highest first": (lambda value: value["rows"].reverse(), set(), set()),
    "a level twice": (row(6, level="L5"), {IDS}, set()),
    "a level that nobody knows": (row(6, level="L9"), set(), {UNKNOWN}),
    "a level in small letters": (row(6, level="l6"), set(), {UNKNOWN}),
    "a level as a number": (row(6, level=6), {IDS}, set()),
    "no client": (row(2, client=" "), {FIELDS}, set()),
    "a row that is none": (lambda value: value["rows"].append("L7"), {IDS}, set()),
}

LEVEL_CHANGES: dict[str, tuple[Change, set[str], set[str]]] = {
    "as it is": (lambda value: None, set(), set()),
    "up to L4": (lambda value: value["levels"].__delitem__(slice(5, None)), set(), set()),
    "members of its own": (level(0, note=[1]), set(), set()),
    "a level twice": (level(7, level="L6"), {IDS}, set()),
    "a level left out": (lambda value: value["levels"].pop(4), {IDS}, set()),
    "an unknown level beside": (
        lambda value: value["levels"].append({**value["levels"][7], "level": "L8"}),
        set(),
        {UNKNOWN},
    ),
    "no level": (lambda value: value["levels"][7].pop("level"), {IDS}, set()),
    "a level as an object": (level(7, level={}), {IDS}, set()),
    "no label": (lambda value: value["levels"][2].pop("label"), {FIELDS}, set()),
    "an empty ability": (level(2, agent_ability=""), {FIELDS}, set()),
    "a requirement as a list": (level(2, executable_requirement=["a form"]), {FIELDS}, set()),
    "no levels": (lambda value: value["levels"].clear(), {IDS}, set()),
    "levels as a text": (lambda value: value.update(levels="L0"), {IDS}, set()),
    "a level as a text": (lambda value: value["levels"].append("L0"), {IDS}, set()),
    "any number of levels": (lambda value: value.update(levels=value["levels"] * 10_000), {IDS}, set()),
    "any number of nothing": (lambda value: value.update(levels=[None] * 100_000), {IDS}, set()),
}


@pytest.mark.parametrize(("change", "failing", "warning"), SURFACE_CHANGES.values(), ids=SURFACE_CHANGES)
def test_surface_matrix(change: Change, failing: set[str], warning: set[str]) -> None:
    value = copy.deepcopy(SURFACES)
    change(value)
    assert judged(lint_surface_matrix, value) == (failing, warning)


@pytest.mark.parametrize(("change", "failing", "warning"), LEVEL_CHANGES.values(), ids=LEVEL_CHANGES)
def test_executability_matrix(change: Change, failing: set[str], warning: set[str]) -> None:
    value = copy.deepcopy(LEVELS)
    change(value)
    assert judged(lint_executability_matrix, value) == (failing, warning)


SHOWN: dict[str, tuple[dict[str, Any], bool, bool]] = {
    "surfaces": (SURFACES, True, False),
    "levels": (LEVELS, False, True),
    "rows alone": ({"rows": []}, False, False),
    "rows with columns": ({"rows": None, "columns": None}, True, False),
    "rows with cell values": ({"rows": [], "allowed_cell_values": []}, True, False),
    "levels of another sort": ({"levels": [{"level": "L0", "label": "rule-based"}]}, False, False),
    "levels as an object": ({"levels": {"L0": {"agent_ability": "x"}}, "dogfood_failure": "x"}, False, False),
    "a failure named": ({"levels": [], "dogfood_failure": "x"}, False, True),
    "one level of the sort": ({"levels": ["L0", {"agent_ability": "x"}]}, False, True),
    "one of the sort, too late": ({"levels": [{}] * MOST_LEVELS + [{"agent_ability": "x"}]}, False, False),
}


@pytest.mark.parametrize(("value", "is_surface", "is_executability"), SHOWN.values(), ids=SHOWN)
def test_what_they_show(value: dict[str, Any], is_surface: bool, is_executability: bool) -> None:
    assert is_surface_matrix(value) is is_surface
    assert is_executability_matrix(value) is is_executability


@pytest.mark.parametrize("lint", [lint_surface_matrix, lint_executability_matrix])
@pytest.mark.parametrize(
    ("body", "rules"),
    [(b"<html>", {"C-15"}), (b"\xff", {"C-15"}), (b"[" * 100_000, {"C-15"}), (b'{"a":NaN}', {"C-15"})],
    ids=["html", "not UTF-8", "deep", "NaN"],
)
def test_what_is_no_document(lint: Callable[[bytes, float], Any], body: bytes, rules: set[str]) -> None:
    assert {finding.rule for finding in lint(body, 0.0)} == rules


def test_what_is_no_object() -> None:
    assert judged(lint_surface_matrix, []) == ({COLUMNS}, set())
    assert judged(lint_executability_matrix, None) == ({IDS}, set())


def test_a_name_given_twice_is_a_warning() -> None:
    body = json.dumps(SURFACES).replace('"status"', '"title"').encode()
    assert [(finding.rule, finding.is_warning) for finding in lint_surface_matrix(body, 0.0)] == [("C-15", True)]


CELLS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["Yes", "No", "L0", "L1", ""]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["level", "mcp", "label", "client"]), inner)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["rows", "columns", "allowed_cell_values", "levels"]), CELLS))
def test_any_object(value: dict[str, Any]) -> None:
    assert judged(lint_surface_matrix, value)[0]
    assert judged(lint_executability_matrix, value)[0]
    is_surface_matrix(value)
    is_executability_matrix(value)
