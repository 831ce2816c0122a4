"""JSON texts as published (C-15): UTF-8, no NaN or Infinity, and bounded in depth and in number of parts.

The bounds are held before anything is parsed, so a hostile text costs no more than one look at its octets. Whether
an object names a member twice is told where it matters: what is signed or digested must mean the same to every
reader. Elsewhere the last one wins.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Final, Never

MAX_DEPTH: Final = 32
MOST_CONTAINERS: Final = 50_000
"""Objects and arrays of one text; of a longer one, OCTETS_EACH must come on each. It takes two octets to write one
and a hundred times as many to keep it.
"""
OCTETS_EACH: Final = 20

JsonObject = dict[str, object]

_OPENING: Final = (b"[", b"{")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_STEPS: Final = tuple(1 if octet in b"[{" else -1 for octet in range(256))


class JsonReason(StrEnum):
    """Why bytes are no usable JSON text."""

    NOT_UTF_8 = "not-utf-8"
    NOT_JSON = "not-json"
    TOO_DEEP = "too-deep"
    TOO_MANY = "too-many"


class MalformedJson(ValueError):
    """The bytes are no usable JSON text; `detail` repeats nothing of them."""

    def __init__(self, reason: JsonReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class JsonText:
    """A parsed text, and whether an object in it names a member twice."""

    value: object
    has_repeated_names: bool


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """A parsed text that is an object."""

    members: JsonObject
    has_repeated_names: bool


def parse_json(body: bytes) -> object:
    """The value of a JSON text; a byte order mark is passed over. Raises MalformedJson."""
    return _parse(body, None)


def read_json(body: bytes) -> JsonText:
    """The value of a JSON text, with what a signature over it depends on. Raises MalformedJson."""
    repeated = False

    def members(pairs: list[tuple[str, object]]) -> JsonObject:
        nonlocal repeated
        named = dict(pairs)
        repeated = repeated or len(named) != len(pairs)
        return named

    value = _parse(body, members)
    return JsonText(value, repeated)


def _parse(body: bytes, members: Callable[[list[tuple[str, object]]], JsonObject] | None) -> object:
    try:
        text = body.decode("utf-8-sig")
        _check_bounds(body)
        value: object = json.loads(
            text, parse_float=_parse_finite, parse_constant=_refuse_constant, object_pairs_hook=members
        )
    except UnicodeDecodeError:
        raise MalformedJson(JsonReason.NOT_UTF_8, "the body is not UTF-8") from None
    except MalformedJson:
        raise
    except ValueError:
        raise MalformedJson(JsonReason.NOT_JSON, "the body is not a JSON text") from None
    return value


def _check_bounds(body: bytes) -> None:
    """Depth and number of containers, from the brackets that stand outside strings.

    What comes before the first error of a text that is none is measured rightly too, so the parser's own depth is
    bounded.
    """
    if sum(map(body.count, _OPENING)) <= MAX_DEPTH:
        return
    most = max(MOST_CONTAINERS, len(body) // OCTETS_EACH)
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = b"".join(unescaped.split(b'"')[::2]).translate(None, _NO_BRACKETS)
    if max(accumulate(map(_STEPS.__getitem__, brackets[: 2 * most])), default=0) > MAX_DEPTH:
        raise MalformedJson(JsonReason.TOO_DEEP, f"nested deeper than {MAX_DEPTH}")
    if sum(map(brackets.count, _OPENING)) > most:
        raise MalformedJson(JsonReason.TOO_MANY, f"more than {most} objects and arrays")


def _parse_finite(number: str) -> float:
    # `1e999` obeys the grammar and still reads as Infinity, which could not be written out again.
    value = float(number)
    if math.isinf(value):
        raise ValueError("out of range")
    return value


def _refuse_constant(_: str) -> Never:
    raise ValueError("NaN and Infinity are not JSON")
