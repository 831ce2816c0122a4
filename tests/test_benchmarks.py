"""The benchmarks run and measure what they say; how fast anything is, no test says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
ROWS = {
    "policy": [8],
    "herd": [1],
    "growth": [1, 1, 1],
    "trust": [8, 5, 3, 7, 2, 3],
    "outage": [12, 7, 12, 7],
    "relocation": [7, 7, 4, 4, 1, 3, 3],
    "boundary": [5, 4, 5, 6, 3, 2],
}
MIRRORED = "mirrors, no stale copy"


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m benchmarks`, warnings being errors, as everywhere in the tests."""
    command = (sys.executable, "-W", "error", "-m", "benchmarks", *arguments)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The figures of a smoke run."""
    directory = tmp_path_factory.mktemp("results")
    process = ran(*ROWS, "--quick", "--results", str(directory))
    assert (process.returncode, process.stderr) == (0, ""), process.stderr
    return directory


def tables(results: Path, name: str) -> list[dict[str, Any]]:
    figures = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
    assert figures["benchmark"] == name and figures["quick"] and figures["machine"]["cores"] > 0
    return list(figures["tables"])


@pytest.mark.parametrize(("name", "rows"), ROWS.items(), ids=ROWS)
def test_each_keeps_what_it_measured(results: Path, name: str, rows: list[int]) -> None:
    assert [len(table["rows"]) for table in tables(results, name)] == rows


def test_a_herd_is_one_request_to_the_origin(results: Path) -> None:
    (table,) = tables(results, "herd")
    assert [row["origin requests"] for row in table["rows"]] == [1]


def test_a_domain_with_mirrors_is_answered_for_through_every_outage(results: Path) -> None:
    refusing, first, silent, second = tables(results, "outage")
    rows = [row for table in (refusing, silent) for row in table["rows"] if row["the domain has"] == MIRRORED]
    assert [row["answered %"] for row in rows] == [100] * 8
    assert all("by IPFS" in table["rows"][3]["until"] for table in (first, second))


def test_one_without_mirrors_is_not(results: Path) -> None:
    for table in tables(results, "outage")[::2]:
        answered = {(row["while"], row["the domain has"]): row["answered %"] for row in table["rows"]}
        assert answered["mirrors and cache are gone too", "neither"] == 0
        assert answered["all are back", "neither"] == 100


def test_an_unknown_name_is_told() -> None:
    process = ran("speed")
    assert process.returncode == 2
    assert (
        "no benchmark is called speed; there are boundary, discovery, growth, herd, outage, policy, relocation, "
        "stale, trust" in process.stderr
    )
