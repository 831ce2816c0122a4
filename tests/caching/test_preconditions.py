"""A client's conditions and ranges (RFC 9111 §4.3.2; RFC 9110 §13, §14; bug cases B13, B16, B17, B33)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.caching.preconditions import (
    NotModified,
    NotSatisfiable,
    Selection,
    Slice,
    Whole,
    evaluate,
    select_range,
)
from proxy.caching.storing import StoragePolicy
from tests.caching.samples import BODY, NOW, date, fields, stored

FRESH = "Cache-Control: max-age=3600"


def word(selection: Selection) -> str:
    """The selection as the tables write it."""
    match selection:
        case Slice():
            return selection.content_range
        case NotSatisfiable(length):
            return f"bytes */{length}"
        case NotModified():
            return "304"
        case Whole():
            return "whole"


TAGGED = ('ETag: "a"',)
MODIFIED = (f"Last-Modified: {date(-1000)}", f"Date: {date(-100)}")

# stored lines, request lines, what is selected
CONDITIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "none": (TAGGED, (), "whole"),
    "9110-13.1.2-same": (TAGGED, ('If-None-Match: "a"',), "304"),
    "9110-13.1.2-other": (TAGGED, ('If-None-Match: "b"',), "whole"),
    "9110-13.1.2-weak-comparison": (TAGGED, ('If-None-Match: W/"a"',), "304"),
    "9110-13.1.2-weak-stored": (('ETag: W/"a"',), ('If-None-Match: "a"',), "304"),
    "9110-13.1.2-list": (TAGGED, ('If-None-Match: "x", W/"y",, "a"',), "304"),
    "9110-13.1.2-list-of-lines": (TAGGED, ('If-None-Match: "x"', 'If-None-Match: "a"'), "304"),
    "9110-13.1.2-list-without": (TAGGED, ('If-None-Match: "x", "y"',), "whole"),
    "9110-13.1.2-any": (TAGGED, ("If-None-Match: *",), "304"),
    "9110-13.1.2-any-without-etag": ((), ("If-None-Match: *",), "304"),
    "9110-13.1.2-tag-without-etag": ((), ('If-None-Match: "a"',), "whole"),
    "9110-13.1.2-empty": (TAGGED, ("If-None-Match: ",), "whole"),
    "9110-8.8.3-comma-in-a-tag": (('ETag: "a,b"',), ('If-None-Match: "x", "a,b"',), "304"),
    "9110-8.8.3-comma-does-not-split": (('ETag: "b"',), ('If-None-Match: "a, b,c"',), "whole"),
    "9110-8.8.3-backslash-is-itself": (('ETag: "b"',), ('If-None-Match: "a\\", "b"',), "304"),
    "9110-8.8.3-backslash-kept": (('ETag: "a\\"',), ('If-None-Match: "a\\"',), "304"),
    "9110-8.8.3-case-of-the-weak-flag": (TAGGED, ('If-None-Match: w/"a"',), "whole"),
    "9110-8.8.3-lower-case-flag-as-it-is": (('ETag: w/"a"',), ('If-None-Match: w/"a"',), "304"),
    "C-33-text-that-looks-weak": (('ETag: "W/3a2b1c"',), ('If-None-Match: W/"3a2b1c"',), "whole"),
    "C-33-text-that-looks-weak-same": (('ETag: "W/3a2b1c"',), ('If-None-Match: "W/3a2b1c"',), "304"),
    "B13-other-coding": (TAGGED, ('If-None-Match: "a-gzip"',), "whole"),
    "B33-unquoted-both": (("ETag: abc",), ("If-None-Match: x , abc ",), "304"),
    "B33-unquoted-stored": (("ETag: abc",), ('If-None-Match: "abc"',), "whole"),
    "B33-unquoted-asked": (('ETag: "abc"',), ("If-None-Match: abc",), "whole"),
    "B33-half-quoted-asked": (("ETag: abc",), ('If-None-Match: "abc',), "whole"),
    "quoted-with-a-tail": (TAGGED, ('If-None-Match: "a"x',), "whole"),
    "9110-13.1.3-same": (MODIFIED, (f"If-Modified-Since: {date(-1000)}",), "304"),
    "9110-13.1.3-later": (MODIFIED, (f"If-Modified-Since: {date(-500)}",), "304"),
    "9110-13.1.3-earlier": (MODIFIED, (f"If-Modified-Since: {date(-1001)}",), "whole"),
    "9110-13.1.3-other-form": (MODIFIED, ("If-Modified-Since: Fri Jan 15 07:43:20 2027",), "304"),
    "9110-13.1.3-unparsable": (MODIFIED, ("If-Modified-Since: yesterday",), "whole"),
    "9110-13.1.3-list": (MODIFIED, (f"If-Modified-Since: {date()}", f"If-Modified-Since: {date()}"), "whole"),
    "9111-4.3.2-date-for-last-modified": ((f"Date: {date(-100)}",), (f"If-Modified-Since: {date(-100)}",), "304"),
    "9111-4.3.2-before-date": ((f"Date: {date(-100)}",), (f"If-Modified-Since: {date(-101)}",), "whole"),
    "9111-4.3.2-receipt-for-date": ((), (f"If-Modified-Since: {date()}",), "304"),
    "9111-4.3.2-before-receipt": ((), (f"If-Modified-Since: {date(-1)}",), "whole"),
    "unparsable-last-modified-counts-as-none": (
        ("Last-Modified: yesterday", f"Date: {date(-100)}"),
        (f"If-Modified-Since: {date(-100)}",),
        "304",
    ),
    "9110-13.2.2-etag-before-date": (
        (*TAGGED, *MODIFIED),
        ('If-None-Match: "b"', f"If-Modified-Since: {date()}"),
        "whole",
    ),
    "9110-13.2.2-etag-before-date-304": (
        (*TAGGED, *MODIFIED),
        ('If-None-Match: "a"', f"If-Modified-Since: {date(-5000)}"),
        "304",
    ),
    "9110-13.2.2-condition-before-range": (TAGGED, ('If-None-Match: "a"', "Range: bytes=0-1"), "304"),
    "9110-13.2.2-range-after-condition": (TAGGED, ('If-None-Match: "b"', "Range: bytes=0-1"), "bytes 0-1/10"),
    "9110-14.2-range": (TAGGED, ("Range: bytes=2-4",), "bytes 2-4/10"),
    "9110-13.1.5-same-etag": (TAGGED, ("Range: bytes=2-4", 'If-Range: "a"'), "bytes 2-4/10"),
    "9110-13.1.5-other-etag": (TAGGED, ("Range: bytes=2-4", 'If-Range: "b"'), "whole"),
    "9110-13.1.5-weak-etag": (('ETag: W/"a"',), ("Range: bytes=2-4", 'If-Range: W/"a"'), "whole"),
    "9110-13.1.5-weak-asked": (TAGGED, ("Range: bytes=2-4", 'If-Range: W/"a"'), "whole"),
    "9110-13.1.5-no-etag": ((), ("Range: bytes=2-4", 'If-Range: "a"'), "whole"),
    "9110-13.1.5-same-date": (MODIFIED, ("Range: bytes=2-4", f"If-Range: {date(-1000)}"), "bytes 2-4/10"),
    "9110-13.1.5-later-date": (MODIFIED, ("Range: bytes=2-4", f"If-Range: {date(-999)}"), "whole"),
    "9110-13.1.5-earlier-date": (MODIFIED, ("Range: bytes=2-4", f"If-Range: {date(-1001)}"), "whole"),
    "9110-13.1.5-same-date-in-another-form": (
        MODIFIED,
        ("Range: bytes=2-4", "If-Range: Fri Jan 15 07:43:20 2027"),
        "whole",
    ),
    "9110-8.8.2.2-date-within-the-second": (
        (f"Last-Modified: {date(-100)}", f"Date: {date(-100)}"),
        ("Range: bytes=2-4", f"If-Range: {date(-100)}"),
        "whole",
    ),
    "9110-8.8.2.2-date-a-second-later": (
        (f"Last-Modified: {date(-101)}", f"Date: {date(-100)}"),
        ("Range: bytes=2-4", f"If-Range: {date(-101)}"),
        "bytes 2-4/10",
    ),
    "9110-13.1.5-unsatisfiable": (TAGGED, ("Range: bytes=99-", 'If-Range: "a"'), "bytes */10"),
    "9110-13.1.5-false-and-unsatisfiable": (TAGGED, ("Range: bytes=99-", 'If-Range: "b"'), "whole"),
}


@pytest.mark.parametrize(("lines", "asked", "selected"), CONDITIONS.values(), ids=CONDITIONS)
def test_evaluate(lines: tuple[str, ...], asked: tuple[str, ...], selected: str) -> None:
    assert word(evaluate("GET", fields(*asked), stored(FRESH, *lines), NOW)) == selected


@pytest.mark.parametrize(
    ("method", "asked", "selected"),
    [
        pytest.param("HEAD", ("Range: bytes=2-4",), "whole", id="9110-14.2-range-is-for-get"),
        pytest.param("HEAD", ('If-None-Match: "a"',), "304", id="9110-13.1.2-condition"),
        pytest.param("HEAD", ('If-None-Match: "b"', "Range: bytes=2-4"), "whole", id="9110-14.2-after-condition"),
    ],
)
def test_head(method: str, asked: tuple[str, ...], selected: str) -> None:
    assert word(evaluate(method, fields(*asked), stored(FRESH, *TAGGED), NOW)) == selected


@pytest.mark.parametrize("status", [203, 301, 404, 503])
@pytest.mark.parametrize(
    "asked", ["If-None-Match: *", 'If-None-Match: "a"', f"If-Modified-Since: {date()}", "Range: bytes=0-1"]
)
def test_9111_4_3_2_only_a_200_is_subject_to_conditions(status: int, asked: str) -> None:
    kept = stored("Cache-Control: max-age=20", *TAGGED, status=status)
    assert evaluate("GET", fields(asked), kept, NOW) == Whole()


def test_a_minted_etag_answers_conditions_and_ranges() -> None:
    kept = stored(FRESH, policy=StoragePolicy(mints_etag=True))
    assert kept.etag is None
    assert evaluate("GET", fields(f"If-None-Match: {kept.downstream_etag}"), kept, NOW) == NotModified()
    ranged = fields("Range: bytes=0-1", f"If-Range: {kept.downstream_etag}")
    assert evaluate("GET", ranged, kept, NOW) == Slice(0, 2, len(BODY))


# Range, length of the body, what is selected
RANGES: dict[str, tuple[str, int, str]] = {
    "9110-14.1.2-first-and-last": ("bytes=0-1", 10, "bytes 0-1/10"),
    "9110-14.1.2-one-byte": ("bytes=9-9", 10, "bytes 9-9/10"),
    "9110-14.1.2-open-end": ("bytes=3-", 10, "bytes 3-9/10"),
    "9110-14.1.2-last-beyond-the-end": ("bytes=8-99", 10, "bytes 8-9/10"),
    "9110-14.1.2-suffix": ("bytes=-3", 10, "bytes 7-9/10"),
    "9110-14.1.2-suffix-of-everything": ("bytes=-99", 10, "bytes 0-9/10"),
    "9110-14.1.2-suffix-of-nothing": ("bytes=-0", 10, "bytes */10"),
    "9110-14.1.2-suffix-of-an-empty-body": ("bytes=-5", 0, "whole"),
    "9110-14.1.2-suffix-of-nothing-of-an-empty-body": ("bytes=-0", 0, "bytes */0"),
    "9110-15.5.17-first-beyond-the-end": ("bytes=10-", 10, "bytes */10"),
    "9110-15.5.17-far-beyond": ("bytes=999999-", 10, "bytes */10"),
    "9110-15.5.17-empty-body": ("bytes=0-", 0, "bytes */0"),
    "9110-14.1.1-last-before-first": ("bytes=9-1", 10, "whole"),
    "9110-14.1.1-nothing": ("bytes=", 10, "whole"),
    "9110-14.1.1-no-equals": ("bytes", 10, "whole"),
    "9110-14.1.1-dash-alone": ("bytes=-", 10, "whole"),
    "9110-14.1.1-no-dash": ("bytes=5", 10, "whole"),
    "9110-14.1.1-two-dashes": ("bytes=1-2-3", 10, "whole"),
    "9110-14.1.1-sign": ("bytes=+1-2", 10, "whole"),
    "9110-14.1.1-not-ascii": ("bytes=\u0661-", 10, "whole"),
    "9110-14.1.1-spaces-inside": ("bytes=1 - 2", 10, "whole"),
    "9110-5.6.1-white-space-and-empty-elements": ("bytes= ,1-2, ", 10, "bytes 1-2/10"),
    "9110-14.1-unit-ignores-case": ("Bytes=0-1", 10, "bytes 0-1/10"),
    "9110-14.2-unknown-unit": ("items=0-1", 10, "whole"),
    "9110-14.2-several": ("bytes=0-0,2-2", 10, "whole"),
    "9110-14.2-two-hundred": ("bytes=" + ",".join(f"{n}-{n}" for n in range(200)), 1000, "whole"),
    "9110-14.2-two-lines": ("bytes=0-0, bytes=2-2", 10, "whole"),
    "9110-14.2-more-digits-than-a-position": ("bytes=0-" + "9" * 19, 10, "whole"),
    "9110-14.2-most-digits": ("bytes=0-" + "9" * 18, 10, "bytes 0-9/10"),
}


@pytest.mark.parametrize(("ranges", "length", "selected"), RANGES.values(), ids=RANGES)
def test_select_range(ranges: str, length: int, selected: str) -> None:
    assert word(select_range(ranges, length)) == selected


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.one_of(
        st.text(st.sampled_from("bytes=-,0123456789 "), max_size=24),
        st.from_regex(r"bytes=[0-9]{0,4}-[0-9]{0,4}", fullmatch=True),
    ),
    st.integers(0, 2000),
)
def test_a_slice_lies_within_the_body(ranges: str, length: int) -> None:
    selected = select_range(ranges, length)
    if isinstance(selected, Slice):
        assert 0 <= selected.start < selected.stop <= selected.length == length
    assert not isinstance(selected, NotModified)


@settings(derandomize=True, deadline=None)
@given(st.text(st.sampled_from('Wa"b\\/,* \t'), max_size=24))
def test_no_if_none_match_raises_or_matches_a_tag_it_does_not_hold(value: str) -> None:
    kept = stored(FRESH, 'ETag: "zz"')
    expected = NotModified() if value.strip(" \t") == "*" else Whole()
    assert evaluate("GET", fields(f"If-None-Match:{value}"), kept, NOW) == expected
