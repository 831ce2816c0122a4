from __future__ import annotations

import pytest

from tests.conformance.accepted import Acceptance, disagreements, parse_accepted
from tests.conformance.score import parse_definitions, score

ENTRY = '[npm."a"]\nreason = "the sentence permits it"\n'

SOURCES = {
    "section": "RFC 9111 §4.2.1",
    "two sections": "RFC 9110 §13.1, §15",
    "library": "library",
}
MALFORMED = {
    "no source": (ENTRY, "npm.a: needs reason and source"),
    "more than that": (ENTRY + 'source = "library"\nnote = "x"', "nothing else"),
    "empty reason": ('[npm.a]\nreason = " "\nsource = "library"', "the reason is empty"),
    "no section": (ENTRY + 'source = "RFC 9111"', "'RFC 9111' is neither"),
    "hearsay": (ENTRY + 'source = "others do it too"', "is neither"),
    "no TOML": ("[npm", "Expected"),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_an_entry_names_its_source(source: str) -> None:
    accepted = parse_accepted(ENTRY + f'source = "{source}"', "npm")
    assert accepted == {"a": Acceptance("the sentence permits it", source)}


def test_editions_have_lists_of_their_own() -> None:
    assert parse_accepted(ENTRY + 'source = "library"', "git") == {}


@pytest.mark.parametrize(("text", "fault"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_list_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        parse_accepted(text, "npm")


DEFINITIONS = parse_definitions(
    [
        {
            "tests": [
                {"id": "good"},
                {"id": "bad"},
                {"id": "above", "depends_on": ["bad"]},
                {"id": "o", "kind": "optimal"},
            ]
        }
    ]
)
RESULTS = {"good": True, "bad": ["Assertion", "not reused"], "above": True, "o": ["Assertion", "not reused"]}
BAD = "bad: fail, and not accepted: not reused"
ABOVE = "above: dep, and not accepted: True"

LISTS: dict[str, tuple[list[str], list[str]]] = {
    "nothing accepted": ([], [ABOVE, BAD]),
    "all failures accepted": (["bad", "above"], []),
    "a passing test": (["bad", "above", "good"], ["good: accepted, but it passes: remove the entry"]),
    "an optimal test": (
        ["bad", "above", "o"],
        ["o: accepted, but it is no required test of this edition: remove the entry"],
    ),
    "an unknown test": (
        ["bad", "above", "x"],
        ["x: accepted, but it is no required test of this edition: remove the entry"],
    ),
}


@pytest.mark.parametrize(("names", "expected"), LISTS.values(), ids=LISTS)
def test_the_list_is_exact(names: list[str], expected: list[str]) -> None:
    accepted = {name: Acceptance("the sentence permits it", "library") for name in names}
    assert disagreements(DEFINITIONS, score(DEFINITIONS, RESULTS), RESULTS, accepted) == expected
