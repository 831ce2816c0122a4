"""What a terminal is fit for."""

from __future__ import annotations

import os
from typing import TextIO


def may_colour(stream: TextIO) -> bool:
    """Whether colours are welcome there (NO_COLOR)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
