"""The text of TXT records (DISCOVERY_FORMATS C-18, C-20)."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.records.dnsvalues import Txt
from proxy.discovery.records.pairs import MalformedPairs, decoded, joined, parse_pairs, shown, version_of


@pytest.mark.parametrize(
    ("strings", "text"),
    [
        ((), ""),
        ((b"",), ""),
        (
            (b"v=uaix1; endpoint=https://a.example.com/.well-", b"known/x"),
            "v=uaix1; endpoint=https://a.example.com/.well-known/x",
        ),
        ((b"a b", b" c"), "a b c"),
        (("é".encode()[:1], "é".encode()[1:]), "é"),
        ((b"x",) * 40, "x" * 40),
        ((b"v=aid2\xff",), None),
    ],
    ids=[
        "no string",
        "empty string",
        "no separator",
        "spaces kept",
        "a character across the seam",
        "forty",
        "not UTF-8",
    ],
)
def test_strings_are_joined_with_nothing_between(strings: tuple[bytes, ...], text: str | None) -> None:
    assert decoded(joined(Txt(strings))) == text


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1;b=2", {"a": "1", "b": "2"}),
        ("  A = 1 ;; b=2 ;", {"a": "1", "b": "2"}),
        ("u=https://a.example.com/?x=1&y=2", {"u": "https://a.example.com/?x=1&y=2"}),
        ("", {}),
        (" ; ;", {}),
        ("\u212a=1;k=2", {"\u212a": "1", "k": "2"}),  # KELVIN SIGN, whose lower case is k
    ],
    ids=["plain", "white space and blanks", "equals in a value", "empty", "only blanks", "a key that looks like k"],
)
def test_pairs(text: str, pairs: dict[str, str]) -> None:
    assert parse_pairs(text.split(";")) == pairs


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a", "not_a_pair"),
        ("a=1;b", "not_a_pair"),
        ("=1", "empty"),
        ("a=", "empty"),
        ("a= ", "empty"),
        ("a=1;A=1", "duplicate_key"),
    ],
)
def test_malformed_pairs(text: str, reason: str) -> None:
    with pytest.raises(MalformedPairs) as error:
        parse_pairs(text.split(";"))
    assert error.value.reason == reason
    assert error.value.detail.endswith(".")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v=aid2;u=x", "aid2"),
        (" V = aid2 ; u=x", "aid2"),
        ("v=", ""),
        ("v", None),
        ("u=x;v=aid2", None),
        ("v2=aid2", None),
        ("", None),
        ("v=a=b", "a=b"),
    ],
)
def test_version_in_front(text: str, version: str | None) -> None:
    assert version_of(text) == version


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("plain text, é 漢", "plain text, é 漢"),
        ("a\x00b\x1b[31mc\x7fd\x85e", "ab[31mcde"),
        ("a\u202eb\u2028c\ufeffd\u200be", "abcde"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "…"),
    ],
    ids=["plain", "controls", "direction, separators, invisible", "as long as allowed", "longer"],
)
def test_what_may_be_shown(text: str, listed: str) -> None:
    assert shown(text) == listed


@given(st.binary(max_size=400))
def test_no_octets_break_them(octets: bytes) -> None:
    text = octets.decode("utf-8", "replace")
    assert len(shown(text)) <= 201
    version_of(text)
    with suppress(MalformedPairs):
        parse_pairs(text.split(";"))
