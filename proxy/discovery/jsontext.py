"""JSON texts as published (C-15): UTF-8, no NaN or Infinity, bounded depth, and no name twice where it matters."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from typing import Final, Never

MAX_DEPTH: Final = 32

JsonObject = dict[str, object]
_Container = JsonObject | list[object]


class JsonReason(StrEnum):
    """Why bytes are no usable JSON text."""

    NOT_UTF_8 = "not-utf-8"
    NOT_JSON = "not-json"
    TOO_DEEP = "too-deep"
    REPEATED_NAME = "repeated-name"


class MalformedJson(ValueError):
    """The bytes are no usable JSON text; `detail` repeats nothing of them."""

    def __init__(self, reason: JsonReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def parse_json(body: bytes, *, unique_names: bool = False) -> object:
    """The value of a JSON text; a byte order mark is passed over. Raises MalformedJson.

    `unique_names`: a member name that comes twice in one object is refused, as what is signed or digested must
    mean the same to every reader. Elsewhere the last one wins.
    """
    try:
        text = body.decode("utf-8-sig")
        value: object = json.loads(
            text,
            parse_float=_parse_finite,
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique if unique_names else None,
        )
    except UnicodeDecodeError:
        raise MalformedJson(JsonReason.NOT_UTF_8, "the body is not UTF-8") from None
    except RecursionError:
        raise MalformedJson(JsonReason.TOO_DEEP, f"nested deeper than {MAX_DEPTH}") from None
    except MalformedJson:
        raise
    except ValueError:
        raise MalformedJson(JsonReason.NOT_JSON, "the body is not a JSON text") from None
    if _is_deeper(value, MAX_DEPTH):
        raise MalformedJson(JsonReason.TOO_DEEP, f"nested deeper than {MAX_DEPTH}")
    return value


def _unique(pairs: list[tuple[str, object]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedJson(JsonReason.REPEATED_NAME, "an object has the same member name twice")
    return members


def _parse_finite(number: str) -> float:
    # `1e999` obeys the grammar and still reads as Infinity, which could not be written out again.
    value = float(number)
    if math.isinf(value):
        raise ValueError("out of range")
    return value


def _refuse_constant(_: str) -> Never:
    raise ValueError("NaN and Infinity are not JSON")


def _is_deeper(value: object, limit: int) -> bool:
    containers = _nested([value])
    for _ in range(limit):
        containers = [inner for outer in containers for inner in _nested(outer)]
        if not containers:
            return False
    return True


def _nested(container: _Container) -> list[_Container]:
    values = container.values() if isinstance(container, dict) else container
    return [value for value in values if isinstance(value, dict | list)]
