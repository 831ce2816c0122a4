"""What was seen of an origin's answer to a URL, whether or not it is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """How it is known."""

    PROBE = "probe"
    """The origin was asked, with nothing of a client's."""
    CACHE = "cache"


@dataclass(frozen=True, slots=True)
class Sighting:
    """An answer of `status` at `at`, Unix seconds; 0 where none came, or none that is for everybody.

    `is_document`: the body was a valid document of its kind.
    """

    status: int
    at: float
    is_document: bool
    source: Source
