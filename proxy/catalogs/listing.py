"""A JSON text that lists things: its value, and where in the text each element of its lists is.

So a few elements of many can be written anew and all others stay as they were, octet for octet. The bounds are held
before anything is parsed (C-15), and an object that names a member twice is no usable text: what one reader would
edit is not what another one reads.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from json.scanner import make_scanner
from typing import Any, Final, Never, cast

from proxy.catalogs.seals import SEALED, has_seal
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
MOST_VALUES: Final = 200_000
"""Values of one text; of a longer one, OCTETS_A_VALUE must come on each. It takes two octets to write one and fifty
times as many to keep it.
"""
OCTETS_A_VALUE: Final = 16

_TO_BRACES: Final = bytes.maketrans(b"[]", b"{}")
_NO_STRUCTURE: Final = bytes(set(range(256)) - set(b'[]{}"'))
_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_COLON: Final = re.compile(r"[ \t\n\r]*+:[ \t\n\r]*+")
# What follows an element or a member; the group is there when another one comes.
_AFTER_ELEMENT: Final = re.compile(r"[ \t\n\r]*+(?:(,)[ \t\n\r]*+|\])")
_AFTER_MEMBER: Final = re.compile(r"[ \t\n\r]*+(?:(,)[ \t\n\r]*+|\})")
# Different numbers of one text that are kept once only.
_MOST_SHARED: Final = 1_000


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
    there, or under None those of a text that is itself a list. `has_seals`: some object in it has one.
    """

    text: str
    value: object
    lists: Mapping[str | None, Spans]
    has_seals: bool


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
    except (ValueError, StopIteration):
        raise _not_json() from None


def _not_json() -> MalformedJson:
    return MalformedJson(JsonReason.NOT_JSON, "the body is not a JSON text")


def _check_bounds(body: bytes) -> None:
    """Number of values, from the commas; depth and number of objects and arrays, from the brackets outside strings.

    Taking two quotes away that stand side by side changes nothing of what is outside; taking away every pair of
    brackets with nothing between them makes the text one level less deep.
    """
    most = max(MOST_VALUES, len(body) // OCTETS_A_VALUE)
    if body.count(b",") > most:
        raise MalformedJson(JsonReason.TOO_MANY, f"more than {most} commas, and so too many values")
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in body else body
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


def _refuse_constant(_: str) -> Never:
    raise _not_json()


class _Numbers(dict[str, Number]):
    """Numbers by how they are written; the few that most of a text consists of are one value each."""

    def __missing__(self, text: str) -> Number:
        number = Number(text)
        if len(self) < _MOST_SHARED:
            self[text] = number
        return number


@dataclass(slots=True)
class _Members:
    """Makes objects of their members, and notes whether one of them had a seal."""

    has_seals: bool = False

    def of(self, pairs: list[tuple[str, object]]) -> JsonObject:
        """The object of these members. Raises MalformedJson where two have the same name."""
        members = dict(pairs)
        if len(members) != len(pairs):
            raise MalformedJson(JsonReason.NOT_JSON, "an object names a member twice")
        if not SEALED.isdisjoint(members) and has_seal(members):
            self.has_seals = True
        return members


@dataclass(slots=True)
class _Scanner:
    """Reads the outermost level itself, and leaves what is below it to the decoder's own scanner.

    That raises ValueError, and StopIteration where it finds no value.
    """

    text: str
    lists: dict[str | None, Spans] = field(default_factory=dict)
    members: _Members = field(default_factory=_Members)
    decode: Callable[[str, int], tuple[Any, int]] = field(init=False)

    def __post_init__(self) -> None:
        number = _Numbers().__getitem__
        decoder = json.JSONDecoder(
            object_pairs_hook=self.members.of, parse_int=number, parse_float=number, parse_constant=_refuse_constant
        )
        self.decode = make_scanner(cast(Any, decoder))

    def listing(self) -> ListingText:
        at = self._after(_SPACE, 0)
        if self.text.startswith("{", at):
            value, at = self._object(at + 1)
        else:
            value, at = self._value(None, at)
        if self._after(_SPACE, at) != len(self.text):
            raise _not_json()
        return ListingText(self.text, value, self.lists, self.members.has_seals)

    def _object(self, at: int) -> tuple[object, int]:
        """The object whose brace is before `at`, and where it ends."""
        at = self._after(_SPACE, at)
        if self.text.startswith("}", at):
            return {}, at + 1
        pairs: list[tuple[str, object]] = []
        while True:
            name, at = self.decode(self.text, at)
            if not isinstance(name, str):
                raise _not_json()
            value, at = self._value(name, self._after(_COLON, at))
            pairs.append((name, value))
            following = _AFTER_MEMBER.match(self.text, at)
            if following is None:
                raise _not_json()
            at = following.end()
            if following[1] is None:
                return self.members.of(pairs), at

    def _value(self, name: str | None, at: int) -> tuple[object, int]:
        is_list = (name is None or name in LISTS) and self.text.startswith("[", at)
        return self._list(name, at + 1) if is_list else self.decode(self.text, at)

    def _list(self, name: str | None, start: int) -> tuple[list[object], int]:
        """The list whose bracket is before `start`, and where it ends."""
        text, decode, after = self.text, self.decode, _AFTER_ELEMENT.match
        elements: list[object] = []
        starts, ends = array("q"), array("q")
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


def encoded(text: str) -> bytes:
    """The octets of a JSON text. Half of a surrogate pair, which UTF-8 has not, becomes the escape that it was."""
    return text.encode("utf-8", "backslashreplace")
