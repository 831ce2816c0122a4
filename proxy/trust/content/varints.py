"""Numbers of variable length (unsigned LEB128), as multiformats and protocol buffers write them."""

from __future__ import annotations

from typing import Final

_MOST_OCTETS: Final = 10
_LARGEST: Final = 2**64 - 1


class MalformedVarint(ValueError):
    """The octets are no such number."""


def read_varint(octets: bytes, start: int) -> tuple[int, int]:
    """The number at `start`, at most 64 bits in their shortest form, and where it ends. Raises MalformedVarint."""
    value = 0
    for index in range(start, min(start + _MOST_OCTETS, len(octets))):
        octet = octets[index]
        value |= (octet & 0x7F) << (7 * (index - start))
        if octet < 0x80:
            if value > _LARGEST or (octet == 0 and index > start):
                break
            return value, index + 1
    raise MalformedVarint("A number breaks off, is too large, or is not in its shortest form.")


def to_varint(value: int) -> bytes:
    """A number from 0 to 2^64-1."""
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)
