"""What lint says of a body before its format is looked at (C-15, C-16)."""

import pytest

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.gate import NotADocument, gate
from proxy.lint.bodies import refusal_finding, repeated_name_findings


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (b"", "C-16"),
        (b"<html>", "C-16"),
        (b"[]", "C-16"),
        (b"{}", "C-16"),
        (b"\xff", "C-15"),
        (b"Not Found", "C-15"),
        (b"[" * 100_000, "C-15"),
        (b"[" + b"{}," * 60_000 + b"1]", "C-15"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_refusals(body: bytes, rule: str) -> None:
    refused = gate(DocumentClass.AGENT_CARD, None, body)
    assert isinstance(refused, NotADocument)
    finding = refusal_finding(refused)
    assert (finding.rule, finding.path, finding.is_warning) == (rule, "", False)


@pytest.mark.parametrize("is_signed", [True, False])
def test_repeated_names(is_signed: bool) -> None:
    assert list(repeated_name_findings(is_repeated=False, is_signed=is_signed)) == []
    assert list(repeated_name_findings(is_repeated=True, is_signed=is_signed)) == [
        Finding("C-15", "", "An object has the same member name twice.", not is_signed)
    ]
