"""Base58: both ways, canonical, bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multiformats import multibase

from proxy.trust.signatures.base58 import decode, encode


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"", ""),
        (b"\0", "1"),
        (b"\0\0\x01", "112"),
        (b"\x39", "z"),
        (b"\x3a", "21"),
        (b"Hello World!", "2NEpo7TZRRrLZSi2U"),
        (b"\0\0\x28\x7f\xb4\xcd", "11233QC4"),
        (b"\xff" * 32, "JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG"),
    ],
)
def test_texts(octets: bytes, text: str) -> None:
    assert encode(octets) == text
    assert decode(text, len(octets)) == octets


@pytest.mark.parametrize("text", ["0", "O", "I", "l", " ", "1 ", "z\n", "é", "1" * 31 + "²", "z-"])
def test_a_character_of_no_base58(text: str) -> None:
    with pytest.raises(ValueError):
        decode(text, 64)


@pytest.mark.parametrize(
    ("text", "most"),
    [("1", 0), ("11", 1), ("z" * 11, 7), ("JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG", 31), ("1" * 10**7, 64)],
)
def test_too_long(text: str, most: int) -> None:
    with pytest.raises(ValueError):
        decode(text, most)


@given(st.binary(max_size=100))
def test_both_ways_and_as_another_implementation(octets: bytes) -> None:
    text = encode(octets)
    assert decode(text, len(octets)) == octets
    assert "z" + text == multibase.encode(octets, "base58btc")


@given(st.text(alphabet="123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", max_size=60))
def test_every_text_is_canonical(text: str) -> None:
    assert encode(decode(text, 60)) == text
