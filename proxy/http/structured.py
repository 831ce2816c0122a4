"""Structured fields (RFC 9651): dictionaries read through http_sf, items written for the answer path.

Reading drops the parameters of members: no field the proxy decides by gives them a meaning.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeAlias, cast

import http_sf
from http_sf.types import BareItemType

_SPECIAL: Final = re.compile(r"[^ !#-\[\]-~]")


class Token(str):
    """A token (RFC 9651 §3.3.4), as opposed to a string of the same text; the grammar is not checked."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Date:
    """A date (RFC 9651 §3.3.7) in whole Unix seconds."""

    seconds: int


BareItem: TypeAlias = bool | int | Decimal | str | Token | bytes | Date
InnerList: TypeAlias = tuple[BareItem, ...]
_Parameters: TypeAlias = dict[str, BareItemType]
_Item: TypeAlias = tuple[BareItemType, _Parameters]
_Dictionary: TypeAlias = dict[str, tuple[BareItemType | list[_Item], _Parameters]]


def parse_dictionary(values: Sequence[str]) -> Mapping[str, BareItem | InnerList] | None:
    """The members of a dictionary field given by its lines; None when it is malformed and counts as absent.

    RFC 9651 §4.2: one bad member voids the whole field. A display string becomes a str.
    """
    try:
        members = http_sf.parse(", ".join(values).encode("ascii"), tltype="dictionary")
    except (UnicodeEncodeError, http_sf.StructuredFieldError):
        return None
    return {name: _member(value) for name, (value, _) in cast(_Dictionary, members).items()}


def serialise_item(
    value: Token | str | int | bool,
    parameters: Mapping[str, Token | str | int | bool | Date],
    *,
    spaced: bool = True,
) -> str:
    """An item with parameters (RFC 9651 §4.1.3); `spaced` as RFC 9211 shows them: `discovery-proxy; hit; ttl=-12`.

    Characters a string cannot hold become "?". Keys and tokens are the proxy's own and are written as they
    are; integers have at most 15 digits.
    """
    text = _serialise_bare_item(value)
    separator = "; " if spaced else ";"
    for key, parameter in parameters.items():
        text += separator + (key if parameter is True else f"{key}={_serialise_bare_item(parameter)}")
    return text


def _member(value: BareItemType | list[_Item]) -> BareItem | InnerList:
    if isinstance(value, list):
        return tuple(_bare_item(item) for item, _ in value)
    return _bare_item(value)


def _bare_item(value: BareItemType) -> BareItem:
    if isinstance(value, http_sf.Token):
        return Token(value)
    if isinstance(value, http_sf.DisplayString):
        return str(value)
    if isinstance(value, datetime):
        return Date(int(value.timestamp()))
    return cast(BareItem, value)


def _serialise_bare_item(value: Token | str | int | bool | Date) -> str:
    if isinstance(value, Token):
        return value
    if isinstance(value, str):
        return f'"{_SPECIAL.sub(_escape, value)}"'
    if isinstance(value, bool):
        return "?1" if value else "?0"
    if isinstance(value, Date):
        return f"@{value.seconds}"
    return str(value)


def _escape(match: re.Match[str]) -> str:
    return f"\\{match[0]}" if match[0] in '"\\' else "?"
