"""The wire format of protocol buffers, as far as blocks and IPNS records use it: varints and runs of octets.

Reading is lazy, so that whoever counts fields can stop at too many; a step costs as much as its field is long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from proxy.trust.content.varints import MalformedVarint, read_varint, to_varint

_VARINT: Final = 0
_OCTETS: Final = 2

Field = tuple[int, int | bytes]


class MalformedProtobuf(ValueError):
    """The octets are no such message."""


def fields(message: bytes) -> Iterator[Field]:
    """Number and value of each field in its order: an int for a varint, bytes for what states its length.

    Raises MalformedProtobuf where the next field is broken or of another wire type.
    """
    position = 0
    while position < len(message):
        tag, position = _number(message, position)
        value, position = _number(message, position)
        field, wire_type = tag >> 3, tag & 7
        if field == 0 or wire_type not in (_VARINT, _OCTETS):
            raise MalformedProtobuf("A field has no number or a wire type that is not used here.")
        if wire_type == _VARINT:
            yield field, value
            continue
        end = position + value
        if end > len(message):
            raise MalformedProtobuf("A field ends after the message.")
        yield field, message[position:end]
        position = end


def numbers(packed: bytes) -> Iterator[int]:
    """The numbers of a packed field. Raises MalformedProtobuf where the next is broken."""
    position = 0
    while position < len(packed):
        value, position = _number(packed, position)
        yield value


def to_field(field: int, value: int | bytes) -> bytes:
    """A field as `fields` reads it."""
    if isinstance(value, bytes):
        return to_varint(field << 3 | _OCTETS) + to_varint(len(value)) + value
    return to_varint(field << 3 | _VARINT) + to_varint(value)


def _number(message: bytes, position: int) -> tuple[int, int]:
    try:
        return read_varint(message, position)
    except MalformedVarint:
        raise MalformedProtobuf("A number is broken.") from None
