"""The required tests that may fail, each with the sentence that permits it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from tests.conformance.score import Definitions, Kind, Outcome, RawResults

SECTION = r"§\d+(?:\.\d+)*"
SOURCE = re.compile(rf"RFC \d+ {SECTION}(?:, {SECTION})*|library")


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Why one required test need not pass. `source` is an RFC section or `library`."""

    reason: str
    source: str


def parse_accepted(text: str, edition: str) -> dict[str, Acceptance]:
    """The entries of one edition of the suite, by test id. Raises ValueError with every fault named."""
    entries = tomllib.loads(text).get(edition, {})
    faults = [f"{edition}.{name}: {fault}" for name, entry in entries.items() for fault in _faults(entry)]
    if faults:
        raise ValueError("; ".join(faults))
    return {name: Acceptance(**entry) for name, entry in entries.items()}


def _faults(entry: Mapping[str, str]) -> list[str]:
    if entry.keys() != {"reason", "source"}:
        return ["needs reason and source, nothing else"]
    faults = []
    if not entry["reason"].strip():
        faults.append("the reason is empty")
    if not SOURCE.fullmatch(entry["source"]):
        faults.append(f'source {entry["source"]!r} is neither like "RFC 9111 §4.2" nor "library"')
    return faults


def disagreements(
    definitions: Definitions,
    outcomes: Mapping[str, Outcome],
    results: RawResults,
    accepted: Mapping[str, Acceptance],
) -> list[str]:
    """One line for each required test whose outcome is not what the list says, and each entry without use."""
    failing = {
        name: outcome
        for name, outcome in outcomes.items()
        if definitions[name].kind is Kind.REQUIRED and outcome is not Outcome.PASS
    }
    found = [
        f"{name}: {outcome}, and not accepted: {_message(results.get(name))}"
        for name, outcome in failing.items()
        if name not in accepted
    ]
    for name in accepted.keys() - failing.keys():
        is_required = name in outcomes and definitions[name].kind is Kind.REQUIRED
        why = "passes" if is_required else "is no required test of this edition"
        found.append(f"{name}: accepted, but it {why}: remove the entry")
    return sorted(found)


def _message(result: object) -> str:
    return str(result[1]) if isinstance(result, list) else str(result)
