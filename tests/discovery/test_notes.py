"""What every reader of a document shares: bounded findings, references against an unknown place."""

import pytest

from proxy.discovery.findings import Finding, pointer
from proxy.discovery.notes import LONGEST_REFERENCE, MOST_FINDINGS, MOST_REFERENCE_TEXT, Notes, admit_bounded
from proxy.discovery.urls import UrlReason, UrlRefused
from proxy.http.targets import parse_target

BASE = parse_target("https://example.com/a/b")


def test_a_pointer_holds_no_long_name() -> None:
    assert pointer("a/b", 5, "c~") == "/a~1b/5/c~0"
    assert pointer("a" * 1000) == "/" + "a" * 256


def test_findings_in_order() -> None:
    notes = Notes(BASE)
    notes.fail("X-1", "/a", "First.")
    notes.warn("X-2", "/b", "Second.")
    assert notes.findings() == (Finding("X-1", "/a", "First."), Finding("X-2", "/b", "Second.", True))


@pytest.mark.parametrize(
    ("left_out", "rule", "is_warning"),
    [("w", "W", True), ("ww", "W", True), ("f", "F", False), ("wf", "F", False), ("fw", "F", False)],
)
def test_findings_are_bounded_and_hide_no_failure(left_out: str, rule: str, is_warning: bool) -> None:
    notes = Notes(BASE)
    for _ in range(MOST_FINDINGS):
        notes.warn("X-1", "", "Again.")
    for kind in left_out:
        (notes.warn if kind == "w" else notes.fail)(kind.upper(), "/x", "More.")
    *kept, last = notes.findings()
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
    notes = Notes(BASE)
    assert notes.text({"x": value}, "x", "X-1", "") == text
    assert [finding.detail[:10] for finding in notes.findings()] == ([found] if found else [])


@pytest.mark.parametrize(("value", "is_missing"), [("x", False), (None, True), ("", True), ({}, True)], ids=str)
def test_required_text(value: object, is_missing: bool) -> None:
    notes = Notes(BASE)
    notes.text({"x": value}, "x", "X-1", "/a", "It is missing.")
    assert notes.findings() == ((Finding("X-1", "/a/x", "It is missing."),) if is_missing else ())


def test_references_are_relative_to_the_document() -> None:
    assert Notes(BASE).target("c").uri == "https://example.com/a/c"
    assert Notes(None).target("c").uri == "https://unplaced.invalid/c"
    assert Notes(None).target("https://example.net/").uri == "https://example.net/"


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
    assert Notes(BASE).is_elsewhere(reference) is is_elsewhere
    assert not Notes(None).is_elsewhere(reference)


def test_host() -> None:
    assert (Notes(BASE).host, Notes(None).host) == ("example.com", None)


def test_findings_of_others_count_as_well() -> None:
    notes = Notes(BASE)
    notes.add(Finding("X-1", f"/{number}", "Bad.", is_warning=True) for number in range(MOST_FINDINGS + 2))
    notes.add((Finding("X-2", "/b", "Worse."),))
    *kept, last = notes.findings()
    assert kept == [Finding("X-1", f"/{number}", "Bad.", is_warning=True) for number in range(MOST_FINDINGS)]
    assert (last.rule, last.detail[:10], last.is_warning) == ("X-2", "3 further ", False)


def test_references_are_bounded_together() -> None:
    notes = Notes(BASE)
    reference = "/" + "x" * 1023
    for _ in range(MOST_REFERENCE_TEXT // 1024 - 1):
        notes.target(reference)
    assert not notes.is_elsewhere(reference)
    assert notes.is_elsewhere(reference)
    with pytest.raises(UrlRefused) as refused:
        notes.target("/a")
    assert refused.value.reason is UrlReason.MALFORMED


def test_long_references_are_refused_unread() -> None:
    assert admit_bounded("x" * LONGEST_REFERENCE, BASE).host == "example.com"
    with pytest.raises(UrlRefused) as refused:
        admit_bounded("é" * (LONGEST_REFERENCE + 1), BASE)
    assert refused.value.reason is UrlReason.MALFORMED
