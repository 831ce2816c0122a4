"""A JSON text that lists things: its value, and where in the text each element of its lists is.

So a few elements of many can be written anew and all others stay as they were, octet for octet. The bounds are held
before anything is parsed (C-15), and an object that names a member twice is no usable text: what one reader would
edit is not what another one reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Never

from proxy.discovery.jsontext import (
    MAX_DEPTH,
    MOST_CONTAINERS,
    OCTETS_EACH,
    JsonObject,
    JsonReason,
    MalformedJson,
)

LISTS: Final = frozenset({"entries", "linkset", "servers", "items", "interfaces", "agents", "cards"})
"""Members of the outermost object whose elements are located."""

_TO_BRACES: Final = bytes.maketrans(b"[]", b"{}")
_NO_STRUCTURE: Final = bytes(set(range(256)) - set(b'[]{}"'))
_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_COLON: Final = re.compile(r"[ \t\n\r]*+:[ \t\n\r]*+")
# What follows an element or a member; the group is there when another one comes.
_AFTER_ELEMENT: Final = re.compile(r"[ \t\n\r]*+(?:(,)[ \t\n\r]*+|\])")
_AFTER_MEMBER: Final = re.compile(r"[ \t\n\r]*+(?:(,)[ \t\n\r]*+|\})")


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: no two programs keep 1.10 or a hundred digits in the same way."""

    text: str


@dataclass(frozen=True, slots=True)
class Spans:
    """Where a list is: all between its brackets, and from where to where each element reaches."""

    start: int
    end: int
    starts: Sequence[int]
    ends: Sequence[int]


@dataclass(frozen=True, slots=True)
class ListingText:
    """`value` is that of `text`, with a `Number` for every number; `lists` has the spans of each of LISTS that is
    there, or under None those of a text that is itself a list.
    """

    text: str
    value: object
    lists: Mapping[str | None, Spans]


def read_listing(body: bytes) -> ListingText:
    """The JSON text in `body`; a byte order mark is passed over. Raises MalformedJson."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise MalformedJson(JsonReason.NOT_UTF_8, "the body is not UTF-8") from None
    _check_bounds(body)
    try:
        return _Scanner(text).listing()
    except MalformedJson:
        raise
    except ValueError:
        raise _not_json() from None


def _not_json() -> MalformedJson:
    return MalformedJson(JsonReason.NOT_JSON, "the body is not a JSON text")


def _check_bounds(body: bytes) -> None:
    """Depth and number of objects and arrays, from the brackets that stand outside strings.

    Taking two quotes away that stand side by side changes nothing of what is outside; taking away every pair of
    brackets with nothing between them makes the text one level less deep.
    """
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    structure = unescaped.translate(_TO_BRACES, _NO_STRUCTURE).replace(b'""', b"")
    braces = b"".join(structure.split(b'"')[::2])
    most = max(MOST_CONTAINERS, len(body) // OCTETS_EACH)
    if braces.count(b"{") > most:
        raise MalformedJson(JsonReason.TOO_MANY, f"more than {most} objects and arrays")
    for _ in range(MAX_DEPTH):
        braces = braces.replace(b"{}", b"")
    if braces:
        detail = f"nested deeper than {MAX_DEPTH}, or with brackets that do not match"
        raise MalformedJson(JsonReason.TOO_DEEP, detail)


def _members(pairs: list[tuple[str, object]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _named_twice()
    return members


def _named_twice() -> MalformedJson:
    return MalformedJson(JsonReason.NOT_JSON, "an object names a member twice")


def _refuse_constant(_: str) -> Never:
    raise _not_json()


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=Number, parse_float=Number, parse_constant=_refuse_constant
)


@dataclass(slots=True)
class _Scanner:
    """Reads the outermost level itself, and leaves what is below it to the decoder. Raises ValueError."""

    text: str
    lists: dict[str | None, Spans] = field(default_factory=dict)

    def listing(self) -> ListingText:
        at = self._after(_SPACE, 0)
        if self.text.startswith("{", at):
            value, at = self._object(at + 1)
        else:
            value, at = self._value(None, at)
        if self._after(_SPACE, at) != len(self.text):
            raise _not_json()
        return ListingText(self.text, value, self.lists)

    def _object(self, at: int) -> tuple[object, int]:
        """The object whose brace is before `at`, and where it ends."""
        at = self._after(_SPACE, at)
        if self.text.startswith("}", at):
            return {}, at + 1
        pairs: list[tuple[str, object]] = []
        while True:
            name, at = _DECODER.raw_decode(self.text, at)
            if not isinstance(name, str):
                raise _not_json()
            value, at = self._value(name, self._after(_COLON, at))
            pairs.append((name, value))
            following = _AFTER_MEMBER.match(self.text, at)
            if following is None:
                raise _not_json()
            at = following.end()
            if following[1] is None:
                return _members(pairs), at

    def _value(self, name: str | None, at: int) -> tuple[object, int]:
        is_list = (name is None or name in LISTS) and self.text.startswith("[", at)
        return self._list(name, at + 1) if is_list else _DECODER.raw_decode(self.text, at)

    def _list(self, name: str | None, start: int) -> tuple[list[object], int]:
        """The list whose bracket is before `start`, and where it ends."""
        text, decode, after = self.text, _DECODER.raw_decode, _AFTER_ELEMENT.match
        elements: list[object] = []
        starts: list[int] = []
        ends: list[int] = []
        at = self._after(_SPACE, start)
        is_open = not text.startswith("]", at)
        if not is_open:
            at += 1
        while is_open:
            element, end = decode(text, at)
            elements.append(element)
            starts.append(at)
            ends.append(end)
            following = after(text, end)
            if following is None:
                raise _not_json()
            at = following.end()
            is_open = following.lastindex is not None
        self.lists[name] = Spans(start, at - 1, starts, ends)
        return elements, at

    def _after(self, pattern: re.Pattern[str], at: int) -> int:
        match = pattern.match(self.text, at)
        if match is None:
            raise _not_json()
        return match.end()


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False)


def written(value: object) -> str:
    """The JSON text of a value out of a `ListingText`, with nothing between its parts."""
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join(f"{_ENCODER.encode(name)}:{written(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return _ENCODER.encode(value)
