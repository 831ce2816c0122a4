"""DAG-CBOR, as far as the data of IPNS records uses it (RFC 8949 with the strictness of IPLD).

Integers, octets, text, lists, maps, true, false and null; links and floating-point numbers are refused. Lengths are
definite and numbers in their shortest form; a map has text for keys, none twice.
"""

from __future__ import annotations

from typing import Final

DEEPEST: Final = 4

_ARGUMENT_OCTETS: Final = {24: 1, 25: 2, 26: 4, 27: 8}
_SIMPLE: Final = {20: False, 21: True, 22: None}


class MalformedCbor(ValueError):
    """The octets are no such data."""


def parse_cbor(octets: bytes) -> object:
    """The value that the octets are, of ints, bytes, str, lists, dicts, bools and None. Raises MalformedCbor."""
    value, end = _item(octets, 0, 0)
    if end != len(octets):
        raise MalformedCbor("Something follows the data.")
    return value


def _item(octets: bytes, position: int, depth: int) -> tuple[object, int]:
    kind, argument, position = _head(octets, position)
    match kind:
        case 0:
            return argument, position
        case 1:
            return -1 - argument, position
        case 2:
            return _run(octets, position, argument)
        case 3:
            run, position = _run(octets, position, argument)
            return _text(run), position
        case 4 | 5 if depth == DEEPEST:
            raise MalformedCbor("The data is nested too deeply.")
        case 4:
            return _list(octets, position, argument, depth)
        case 5:
            return _map(octets, position, argument, depth)
        case 7 if argument in _SIMPLE:
            return _SIMPLE[argument], position
    raise MalformedCbor("The data has a value of a kind that is not used here.")


def _head(octets: bytes, position: int) -> tuple[int, int, int]:
    """Major type and argument, and where they end."""
    initial, position = _run(octets, position, 1)
    kind, short = initial[0] >> 5, initial[0] & 0x1F
    if short < 24:
        return kind, short, position
    following, position = _run(octets, position, _ARGUMENT_OCTETS.get(short, len(octets)))
    argument = int.from_bytes(following, "big")
    if argument < 24 or (argument < 1 << 4 * len(following) and len(following) > 1):
        raise MalformedCbor("A number is not in its shortest form.")
    return kind, argument, position


def _run(octets: bytes, position: int, length: int) -> tuple[bytes, int]:
    end = position + length
    if end > len(octets):
        raise MalformedCbor("The data breaks off.")
    return octets[position:end], end


def _text(run: bytes) -> str:
    try:
        return run.decode()
    except UnicodeDecodeError:
        raise MalformedCbor("A text is not UTF-8.") from None


def _list(octets: bytes, position: int, length: int, depth: int) -> tuple[list[object], int]:
    values: list[object] = []
    for _ in range(length):
        value, position = _item(octets, position, depth + 1)
        values.append(value)
    return values, position


def _map(octets: bytes, position: int, length: int, depth: int) -> tuple[dict[str, object], int]:
    members: dict[str, object] = {}
    for _ in range(length):
        key, position = _item(octets, position, depth + 1)
        if not isinstance(key, str) or key in members:
            raise MalformedCbor("A map has a key twice, or one that is no text.")
        members[key], position = _item(octets, position, depth + 1)
    return members, position
