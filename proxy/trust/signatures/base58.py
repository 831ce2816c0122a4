"""Base58 in the Bitcoin alphabet (base58btc of Multibase): every octet string has one text."""

from __future__ import annotations

from typing import Final

MULTIBASE: Final = "z"
"""The prefix that says base58 in Multibase; not read or written here."""

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES: Final = {character: value for value, character in enumerate(_ALPHABET)}
_ZERO: Final = _ALPHABET[0]
_CHARACTERS_PER_OCTET: Final = 1.366  # log 256 / log 58, rounded up


def encode(octets: bytes) -> str:
    """The text of `octets`. Takes quadratic time, so it is for keys, hashes and signatures."""
    number = int.from_bytes(octets, "big")
    characters = []
    while number:
        number, value = divmod(number, 58)
        characters.append(_ALPHABET[value])
    zeros = len(octets) - len(octets.lstrip(b"\0"))
    return _ZERO * zeros + "".join(reversed(characters))


def decode(text: str, most: int) -> bytes:
    """The octets that `text` spells. Raises ValueError if it is no base58, or for more than `most` octets.

    A text that must be longer than `most` octets is refused unread.
    """
    if len(text) > most * _CHARACTERS_PER_OCTET + 1:
        raise ValueError("too long")
    number = 0
    try:
        for character in text:
            number = number * 58 + _VALUES[character]
    except KeyError:
        raise ValueError("a character of no base58") from None
    zeros = len(text) - len(text.lstrip(_ZERO))
    length = zeros + (number.bit_length() + 7) // 8
    if length > most:
        raise ValueError("too long")
    return number.to_bytes(length, "big")
