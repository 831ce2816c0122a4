"""Moments as signed documents write them: XML Schema's dateTimeStamp, of which the time zone is a part."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

FIRST: Final = -62_135_596_800.0
"""The beginning of the year 1 in UTC."""
LAST: Final = 253_402_300_800.0
"""The end of the year 9999."""

_FORM: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?"
    r"(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])"
)


def parse_date_time_stamp(text: object) -> float:
    """ "2026-11-30T12:00:00Z", also with a fraction or an offset, in Unix seconds. Raises ValueError.

    A moment without a time zone is refused: readers differ on what it means. So is one that falls out of the years
    1 to 9999 in UTC, where it could not be written again.
    """
    if not isinstance(text, str) or (match := _FORM.fullmatch(text)) is None:
        raise ValueError("no dateTimeStamp")
    fraction = match[1] or ""
    moment = datetime.fromisoformat(text.replace(fraction, "", 1)).timestamp() + float(f"0{fraction}")
    if not FIRST <= moment < LAST:
        raise ValueError("out of range")
    return moment
