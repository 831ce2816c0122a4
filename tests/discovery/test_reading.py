"""What every reader of a document shares: bounded findings, references against an unknown place."""

import pytest

from proxy.discovery.findings import Finding
from proxy.discovery.reading import LONGEST_REFERENCE, MOST_FINDINGS, Reading, admit_bounded
from proxy.discovery.urls import UrlReason, UrlRefused
from proxy.http.targets import parse_target

BASE = parse_target("https://example.com/a/b")


def test_findings_in_order() -> None:
    reading = Reading(BASE)
    reading.fail("X-1", "/a", "First.")
    reading.warn("X-2", "/b", "Second.")
    assert reading.findings() == (Finding("X-1", "/a", "First."), Finding("X-2", "/b", "Second.", True))


@pytest.mark.parametrize(
    ("left_out", "rule", "is_warning"),
    [("w", "W", True), ("ww", "W", True), ("f", "F", False), ("wf", "F", False), ("fw", "F", False)],
)
def test_findings_are_bounded_and_hide_no_failure(left_out: str, rule: str, is_warning: bool) -> None:
    reading = Reading(BASE)
    for _ in range(MOST_FINDINGS):
        reading.warn("X-1", "", "Again.")
    for kind in left_out:
        (reading.warn if kind == "w" else reading.fail)(kind.upper(), "/x", "More.")
    *kept, last = reading.findings()
    assert len(kept) == MOST_FINDINGS
    assert (last.rule, last.is_warning) == (rule, is_warning)
    assert last.detail.startswith(f"{len(left_out)} further findings")


@pytest.mark.parametrize(
    ("value", "text", "found"),
    [
        ("x", "x", None),
        (None, None, None),
        ("", None, "The member"),
        (5, None, "The member"),
        ([], None, "The member"),
    ],
    ids=str,
)
def test_optional_text(value: object, text: str | None, found: str | None) -> None:
    reading = Reading(BASE)
    assert reading.text(value, "X-1", "/x") == text
    assert [finding.detail[:10] for finding in reading.findings()] == ([found] if found else [])


@pytest.mark.parametrize(("value", "is_missing"), [("x", False), (None, True), ("", True), ({}, True)], ids=str)
def test_required_text(value: object, is_missing: bool) -> None:
    reading = Reading(BASE)
    reading.text(value, "X-1", "/x", "It is missing.")
    assert reading.findings() == ((Finding("X-1", "/x", "It is missing."),) if is_missing else ())


def test_references_are_relative_to_the_document() -> None:
    assert Reading(BASE).target("c").uri == "https://example.com/a/c"
    assert Reading(None).target("c").uri == "https://unplaced.invalid/c"
    assert Reading(None).target("https://example.net/").uri == "https://example.net/"


@pytest.mark.parametrize(
    ("reference", "is_elsewhere"),
    [
        ("", False),
        ("/c", False),
        ("https://EXAMPLE.com/x", False),
        ("https://api.example.com/", True),
        ("http://example.com/", True),
        ("https://example.com:8443/", True),
        ("urn:example:x", True),
    ],
)
def test_elsewhere(reference: str, is_elsewhere: bool) -> None:
    assert Reading(BASE).is_elsewhere(reference) is is_elsewhere
    assert not Reading(None).is_elsewhere(reference)


def test_host() -> None:
    assert (Reading(BASE).host, Reading(None).host) == ("example.com", None)


def test_long_references_are_refused_unread() -> None:
    assert admit_bounded("x" * LONGEST_REFERENCE, BASE).host == "example.com"
    with pytest.raises(UrlRefused) as refused:
        admit_bounded("é" * (LONGEST_REFERENCE + 1), BASE)
    assert refused.value.reason is UrlReason.MALFORMED
