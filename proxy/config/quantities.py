"""Durations and sizes: what an operator writes, and the text that says the same again.

Durations are float seconds in code, sizes int bytes. Parsing what was formatted gives the same value.
"""

import re
from typing import Final

_DURATION: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?(ms|s|m|h|d)?")
_SECONDS: Final = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_SIZE: Final = re.compile(r"([0-9]{1,15}) ?(B|KB|MB|GB|KIB|MIB|GIB)?", re.IGNORECASE)
_BYTES: Final = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "GB": 10**9, "MB": 10**6, "KB": 10**3, "B": 1}
_FACTORS: Final = {unit.upper(): factor for unit, factor in _BYTES.items()}
# The longest lifetime a cache must be able to represent (RFC 9111 §1.2.2); it keeps sums of times finite too.
LONGEST_SECONDS: Final = 2**31


def parse_duration(value: object) -> float:
    """Seconds of a number, or of text with a unit; raises ValueError."""
    seconds: float = -1
    if isinstance(value, str) and (match := _DURATION.fullmatch(value)):
        number, unit = float(match[1]), match[2] or "s"
        seconds = number / 1000 if unit == "ms" else number * _SECONDS[unit]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise ValueError("no duration")
    return float(seconds)


def format_duration(seconds: float) -> str | float:
    """The text with the largest unit that is exact; the bare number below the millisecond."""
    if seconds % 1:
        milliseconds = round(seconds * 1000)
        return f"{milliseconds}ms" if milliseconds / 1000 == seconds else seconds
    unit = next(unit for unit, factor in _SECONDS.items() if seconds % factor == 0 and (seconds or unit == "s"))
    return f"{int(seconds) // _SECONDS[unit]}{unit}"


def parse_size(value: object) -> int:
    """Bytes of an integer, or of text with a unit; raises ValueError. A size is above 0."""
    size = 0
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        size = int(match[1]) * _FACTORS[(match[2] or "B").upper()]
    elif isinstance(value, int) and not isinstance(value, bool):
        size = value
    if not 0 < size < 2**63:
        raise ValueError("no size")
    return size


def format_size(size: int) -> str | int:
    """The text with the first unit, binary before decimal, that divides the size; else the bare number."""
    return next(
        (f"{size // factor}{unit}" for unit, factor in _BYTES.items() if factor > 1 and size % factor == 0),
        size,
    )
