"""What a document gets wrong: rule, place and sentence, as `lint` and discovery report it.

A *failure* means that the document breaks its format or contradicts itself; a *warning* that it works less well
than it could. Neither keeps it from being served: documents are served leniently and trusted strictly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_LONGEST_STEP: Final = 256


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach. `path` is a JSON pointer into the document ("" for the whole of it)."""

    rule: str
    path: str
    detail: str
    is_warning: bool = False


def failures(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that make a document invalid."""
    return tuple(finding for finding in findings if not finding.is_warning)


def warnings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that do not."""
    return tuple(finding for finding in findings if finding.is_warning)


def pointer(*steps: str | int) -> str:
    """A JSON pointer (RFC 6901) to a member or element.

    Of a long name the beginning stands there, since a document may hold many elements under one.
    """
    return "".join("/" + str(step)[:_LONGEST_STEP].replace("~", "~0").replace("/", "~1") for step in steps)
