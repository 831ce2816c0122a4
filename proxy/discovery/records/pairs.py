"""The text of TXT records: octets to text, text to `key=value` pairs, text to what may be shown (C-18, C-20).

A record is one text, its character-strings joined with nothing between; a name such as DNS-SD's, where each
string is an attribute, has a reader of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from proxy.discovery.records.dnsvalues import Txt

_LONGEST_SHOWN: Final = 200


class PairsReason(StrEnum):
    """Why a text is no list of pairs."""

    NOT_A_PAIR = "not_a_pair"
    EMPTY = "empty"
    DUPLICATE_KEY = "duplicate_key"


class MalformedPairs(ValueError):
    """The text is no list of pairs; `detail` repeats nothing of it."""

    def __init__(self, reason: PairsReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def joined(record: Txt) -> bytes:
    """The octets of a record, its strings joined without a separator."""
    return b"".join(record.strings)


def decoded(octets: bytes) -> str | None:
    """The text; None when the octets are not UTF-8."""
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return None


def shown(text: str) -> str:
    """The text as it may be listed or logged: no control or format characters, at most 200 characters and "…"."""
    plain = "".join(char for char in text if _is_plain(char))
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}…"


def _is_plain(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] != "C" and category not in ("Zl", "Zp")


def parse_pairs(segments: Iterable[str]) -> dict[str, str]:
    """The values by key of `key=value` segments, blank ones passed over. Raises MalformedPairs.

    Keys compare without regard to ASCII case and are lower case here; white space around key and value is not
    part of them; a value may hold "=" (AID-1 and the grammar of `uaix1`).
    """
    pairs: dict[str, str] = {}
    for segment in segments:
        if segment.strip():
            key, value = _pair(segment)
            if key in pairs:
                raise MalformedPairs(PairsReason.DUPLICATE_KEY, "A key comes twice.")
            pairs[key] = value
    return pairs


def _pair(segment: str) -> tuple[str, str]:
    key, equals, value = (part.strip() for part in segment.partition("="))
    if not equals:
        raise MalformedPairs(PairsReason.NOT_A_PAIR, "A part of the text has no equals sign.")
    if not key or not value:
        raise MalformedPairs(PairsReason.EMPTY, "A key or a value is empty.")
    # Some letters outside ASCII become ASCII ones in lower case and would pass for another key.
    return (key.lower() if key.isascii() else key), value


def version_of(text: str) -> str | None:
    """The value of `v` if that is the first pair of a text with semicolons: it partitions the records."""
    key, equals, value = text.partition(";")[0].partition("=")
    return value.strip() if equals and key.strip().lower() == "v" else None
