"""The vectors for answers of GET-Actions, through lint (UAIX.md §5.1).

Lint tells whether an answer is well formed. What a client does with a well-formed one (`follow_for_human_or_read`,
`noop_halt`, `halt`, `tombstone_and_reresolve`, `surface_but_do_not_fetch`) belongs to the issue about actions; an
unknown code is a failure of the publisher here, whatever a client makes of it (`treat_as_noop`).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from proxy.discovery.findings import failures, warnings
from proxy.lint import kind_of, lint

PATH = Path(__file__).parent.parent / "samples" / "discovery" / "uaix_getaction_vectors.json"
VECTORS: list[dict[str, Any]] = json.loads(PATH.read_bytes())
BROKEN = {
    "third key": {"local.two_key_exact"},
    "unknown code": {"local.two_key_code"},
    "minimal tier bad code": {"local.minimal_code"},
}
WELL_FORMED = {
    "ok",
    "noop_halt",
    "halt",
    "follow_for_human_or_read",
    "tombstone_and_reresolve",
    "surface_but_do_not_fetch",
}


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vectors(vector: dict[str, Any]) -> None:
    body = json.dumps(vector["body"]).encode()
    kind = "minimal-response" if isinstance(vector["body"]["code"], int) else "two-key-response"
    assert kind_of(body) == kind
    findings = lint(kind, body, now=0)
    assert {finding.rule for finding in failures(findings)} == BROKEN.get(vector["name"], set())
    assert warnings(findings) == ()


def test_what_the_vectors_expect_is_told_apart() -> None:
    assert {vector["expect"] for vector in VECTORS if vector["name"] not in BROKEN} == WELL_FORMED
    assert {vector["expect"] for vector in VECTORS if vector["name"] in BROKEN} == {"invalid", "treat_as_noop"}
