from __future__ import annotations

import importlib.util
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.run_suite import SCORE_TOOL
from tests.conformance.score import Kind, Outcome, parse_definitions, score, summary, totals

SUITES = [
    {
        "id": "first",
        "tests": [
            {"id": "base", "kind": "check"},
            {"id": "plain"},
            {"id": "child", "depends_on": ["base"]},
            {"id": "grandchild", "kind": "optimal", "depends_on": ["child", "plain"]},
        ],
    },
    {
        "id": "second",
        "tests": [
            {"id": "browser", "browser_only": True},
            {"id": "wish", "kind": "optimal"},
            {"id": "question", "kind": "check", "depends_on": ["wish"]},
        ],
    },
]
DEFINITIONS = parse_definitions(SUITES)
NAMES = [name for name in DEFINITIONS if name != "browser"]
ALL_TRUE: dict[str, Any] = dict.fromkeys(NAMES, True)
ASSERTION = ["Assertion", "Response 2 does not come from cache"]

CASES: dict[str, tuple[dict[str, Any], str, Outcome]] = {
    "pass": ({}, "plain", Outcome.PASS),
    "yes": ({}, "question", Outcome.YES),
    "fail": ({"plain": ASSERTION}, "plain", Outcome.FAIL),
    "no": ({"question": ASSERTION}, "question", Outcome.NO),
    "child of a no": ({"base": ASSERTION}, "child", Outcome.DEPENDENCY),
    "grandchild of a no": ({"base": ASSERTION}, "grandchild", Outcome.DEPENDENCY),
    "one of two": ({"plain": ["Setup", "x"]}, "grandchild", Outcome.DEPENDENCY),
    "failing child of a no": ({"base": ASSERTION, "child": ASSERTION}, "child", Outcome.DEPENDENCY),
    "setup": ({"plain": ["Setup", "Response 1 status is 502"]}, "plain", Outcome.SETUP),
    "retry": ({"plain": ["Setup", "retry"]}, "plain", Outcome.RETRY),
    "client gave up": ({"question": ["AbortError", "aborted"]}, "question", Outcome.HARNESS),
    "another exception": ({"plain": ["TypeError", "fetch failed"]}, "plain", Outcome.FAIL),
}


@pytest.mark.parametrize(("changes", "name", "expected"), CASES.values(), ids=CASES)
def test_outcome(changes: dict[str, Any], name: str, expected: Outcome) -> None:
    assert score(DEFINITIONS, ALL_TRUE | changes)[name] is expected


def test_a_test_without_result_is_untested_and_holds_up_what_builds_on_it() -> None:
    outcomes = score(DEFINITIONS, {name: True for name in NAMES if name != "base"})
    assert (outcomes["base"], outcomes["child"]) == (Outcome.UNTESTED, Outcome.DEPENDENCY)


def test_browser_only_tests_do_not_apply() -> None:
    assert "browser" not in score(DEFINITIONS, ALL_TRUE | {"browser": True})


def test_summary() -> None:
    outcomes = score(DEFINITIONS, ALL_TRUE | {"wish": ASSERTION})
    assert summary(DEFINITIONS, outcomes) == "required 2/2, optimal 1/2, check yes 1/2"


RAW = st.one_of(
    st.just(True),
    st.lists(st.sampled_from(["Assertion", "Setup", "AbortError", "TypeError", "retry"]), min_size=2, max_size=2),
)


@pytest.mark.skipif(
    not SCORE_TOOL.exists(), reason=f"no independent score tool ({SCORE_TOOL.name}) beside the project"
)
@given(results=st.dictionaries(st.sampled_from(NAMES), RAW))
def test_an_independent_score_agrees(results: dict[str, Any]) -> None:
    spec = importlib.util.spec_from_file_location("score_tool", SCORE_TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    scorer = tool.Scorer(SUITES)
    theirs: dict[str, Counter[str]] = scorer.totals(scorer.score(results))
    ours = totals(DEFINITIONS, score(DEFINITIONS, results))
    assert {str(kind): {str(o): n for o, n in ours[kind].items()} for kind in Kind} == theirs
