"""The benchmarks run and measure what they say; how fast anything is, no test says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
QUICK = ("policy", "herd", "growth")


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m benchmarks`, warnings being errors, as everywhere in the tests."""
    command = (sys.executable, "-W", "error", "-m", "benchmarks", *arguments)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The figures of a smoke run."""
    directory = tmp_path_factory.mktemp("results")
    process = ran(*QUICK, "--quick", "--results", str(directory))
    assert (process.returncode, process.stderr) == (0, ""), process.stderr
    return directory


def tables(results: Path, name: str) -> list[dict[str, Any]]:
    figures = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
    assert figures["benchmark"] == name and figures["quick"] and figures["machine"]["cores"] > 0
    return list(figures["tables"])


@pytest.mark.parametrize(("name", "rows"), [("policy", [8]), ("herd", [1]), ("growth", [1, 1, 1])], ids=QUICK)
def test_each_keeps_what_it_measured(results: Path, name: str, rows: list[int]) -> None:
    assert [len(table["rows"]) for table in tables(results, name)] == rows


def test_a_herd_is_one_request_to_the_origin(results: Path) -> None:
    (table,) = tables(results, "herd")
    assert [row["origin requests"] for row in table["rows"]] == [1]


def test_an_unknown_name_is_told() -> None:
    process = ran("speed")
    assert process.returncode == 2
    assert "no benchmark is called speed; there are discovery, growth, herd, policy, stale" in process.stderr
