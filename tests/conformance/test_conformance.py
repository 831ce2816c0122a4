"""The public HTTP cache suite, run once through the proxy as a process on loopback."""

from __future__ import annotations

import pytest

from tests.conformance.run_suite import SCORE_TOOL, Report, score_tool_line
from tests.conformance.score import Kind, Outcome, totals

REQUIRED_AT_LEAST = 150

pytestmark = pytest.mark.conformance


def test_required_tests_pass(report: Report) -> None:
    passed = totals(report.definitions, report.outcomes)[Kind.REQUIRED][Outcome.PASS]
    assert passed >= REQUIRED_AT_LEAST, report.line


def test_the_accepted_failures_are_exactly_the_failures(report: Report) -> None:
    assert not report.disagreements, "\n" + "\n".join(report.disagreements)


@pytest.mark.skipif(not SCORE_TOOL.exists(), reason=f"no independent score tool at {SCORE_TOOL.name}")
def test_an_independent_score_agrees(report: Report) -> None:
    required = totals(report.definitions, report.outcomes)[Kind.REQUIRED]
    assert f"required: {required[Outcome.PASS]}/{required.total()}" in score_tool_line(report.suite)
