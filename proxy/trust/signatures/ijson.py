"""Strict JSON: texts that mean the same to every reader (I-JSON, RFC 7493; TRUST.md §6.2 item 2).

What is signed is the canonical form of what was parsed, so a text that two parsers may read differently must not
get that far. Size and depth are held before anything is parsed; time and memory are linear in the size.
"""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import Final, Never

from proxy.trust.reasons import Reason, Untrusted

MOST_OCTETS: Final = 2**20
MAX_DEPTH: Final = 32
LARGEST_INTEGER: Final = 2**53 - 1

JsonObject = dict[str, object]

_LONGEST_INTEGER: Final = len(str(-LARGEST_INTEGER))
# A string, also one that never ends; nothing is tried twice.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_STEPS: Final = tuple(1 if octet in b"[{" else -1 for octet in range(256))


def parse_ijson(body: bytes, most_octets: int = MOST_OCTETS) -> JsonObject:
    """The object that a text of at most `most_octets` is. Raises Untrusted.

    The reasons are TOO_LARGE, JSON_INVALID (also for a byte order mark and for what is not UTF-8), JSON_DEPTH,
    JSON_DUPLICATE_KEY, JSON_NUMBER_RANGE (also for NaN, Infinity and a negative zero), JSON_SURROGATE, NOT_OBJECT.
    """
    if len(body) > most_octets:
        raise Untrusted(Reason.TOO_LARGE, f"The text has more than {most_octets} octets.")
    if _depth(body) > MAX_DEPTH:
        raise Untrusted(Reason.JSON_DEPTH, f"The text is nested deeper than {MAX_DEPTH}.")
    value = _parse(body)
    if _SURROGATE_ESCAPE.search(body):
        _refuse_lone_surrogates(value)
    if not isinstance(value, dict):
        raise Untrusted(Reason.NOT_OBJECT, "The text is JSON, but not an object.")
    return value


def _depth(body: bytes) -> int:
    """How deep brackets outside strings are nested, measured rightly up to the first error of a broken text."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
        return 0
    brackets = _STRING.sub(b"", body).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _parse(body: bytes) -> object:
    try:
        value: object = json.loads(
            body.decode(),
            object_pairs_hook=_members,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_refuse_constant,
        )
    except Untrusted:
        raise
    except ValueError:
        raise Untrusted(Reason.JSON_INVALID, "The text is not JSON in UTF-8.") from None
    return value


def _members(pairs: list[tuple[str, object]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Untrusted(Reason.JSON_DUPLICATE_KEY, "An object names a member twice.")
    return members


def _integer(digits: str) -> int:
    # A literal too long to be in range is not even converted: that takes quadratic time.
    if len(digits) > _LONGEST_INTEGER or abs(value := int(digits)) > LARGEST_INTEGER:
        raise Untrusted(Reason.JSON_NUMBER_RANGE, "An integer is beyond 2^53 - 1.")
    if value == 0 and digits != "0":
        raise _negative_zero()
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise Untrusted(Reason.JSON_NUMBER_RANGE, "A number is too large for a double.")
    if value == 0 and digits.startswith("-"):
        raise _negative_zero()
    return value


def _negative_zero() -> Untrusted:
    # Its canonical form is that of zero, so the signature would not tell the two apart.
    return Untrusted(Reason.JSON_NUMBER_RANGE, "A number is a negative zero.")


def _refuse_constant(_: str) -> Never:
    raise Untrusted(Reason.JSON_NUMBER_RANGE, "NaN and Infinity are not JSON numbers.")


def _refuse_lone_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Untrusted(Reason.JSON_SURROGATE, "A string has half of a surrogate pair.") from None
