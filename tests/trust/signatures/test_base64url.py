"""Unpadded base64url, in its one form."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.signatures.base64url import decode, encode


@pytest.mark.parametrize(
    ("octets", "text"), [(b"", ""), (b"\0", "AA"), (b"\xfb\xff", "-_8"), (b"abc", "YWJj"), (b"abcd", "YWJjZA")]
)
def test_texts(octets: bytes, text: str) -> None:
    assert encode(octets) == text
    assert decode(text) == octets


@pytest.mark.parametrize(
    "text", ["A", "AAAAA", "AB", "AA==", "YWJjZB", "+/8", "-_9", "YW Jj", "YWJj\n", "é", "=", "AA=A"]
)
def test_other_texts(text: str) -> None:
    with pytest.raises(ValueError):
        decode(text)


@given(st.binary())
def test_both_ways(octets: bytes) -> None:
    assert decode(encode(octets)) == octets


@given(st.text())
def test_nothing_else_is_raised(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert encode(decode(text)) == text
