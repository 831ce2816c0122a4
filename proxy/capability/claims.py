"""What a request says that its client can do, and what that comes to (UAIX.md §2; CONTRACT §8).

A claim never grants a write atom: an unknown client gets at most the reads that all its claims have in common, and
of what an authenticated one has proven, its claims take away what they do not claim. The lower always wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeAlias, cast

import http_sf
from http_sf.types import BareItemType

from proxy.capability.atoms import Atom
from proxy.capability.ladders import UNKNOWN, Atoms, Label, Ladder, atoms_of, parse_level
from proxy.http.fields import split_list

AGENT_CAPABILITY: Final = "Agent-Capability"

_READS: Final[Atoms] = frozenset({Atom.STATIC_GET, Atom.JSON_GET, Atom.LIVE_GET, Atom.BROWSER_UI})
# Beyond any use: all levels on all ladders are shorter together.
_LONGEST: Final = 1024
# A qvalue above zero (RFC 9110 §12.4.2).
_WEIGHT: Final = re.compile(r"0\.[0-9]{0,2}[1-9]0{0,2}|1(?:\.0{0,3})?")

_Parameters: TypeAlias = dict[str, BareItemType]
_Members: TypeAlias = list[tuple[BareItemType | list[object], _Parameters]]


@dataclass(frozen=True, slots=True)
class Claim:
    """A stated level. `label` and `ladder` are as stated, None where there is none that is known.

    `is_understood` is False for one that says nothing or says different things; it counts all the same, for less.
    """

    label: Label | None
    ladder: Ladder | None
    atoms: Atoms
    is_understood: bool


_MALFORMED: Final = Claim(None, None, UNKNOWN, is_understood=False)


def parse_claim(lines: tuple[str, ...]) -> Claim | None:
    """The claim of the lines of Agent-Capability, a token with a ladder: `L4;ladder=exec`; None without lines.

    Without a ladder, or with one that nobody knows, the level is a bare number. A repeated field claims what all
    its members have in common.
    """
    if not lines:
        return None
    claims = [_member(value, parameters) for value, parameters in _members(lines)]
    return reduce(_combined, claims) if claims else _MALFORMED


def effective_atoms(proven: Atoms | None, claims: tuple[Atoms, ...], *, wants_json: bool) -> Atoms:
    """What a client counts as able to do. `proven` None: an unknown one; `claims`: one for each thing it says."""
    least = UNKNOWN | {Atom.JSON_GET} if wants_json else UNKNOWN
    if proven is None:
        return least | (_READS.intersection(*claims) if claims else UNKNOWN)
    return least | proven.intersection(*claims)


def wants_json(accept: str | None) -> bool:
    """Whether an Accept field names a JSON media type, application/json or one in +json, and does not refuse it."""
    return any(map(_takes_json, split_list(accept or "")))


def _members(lines: Iterable[str]) -> _Members:
    """The members of the list; a field that is malformed has none (RFC 9651 §4.2)."""
    field = ", ".join(lines)
    if len(field) > _LONGEST:
        return []
    try:
        return cast(_Members, http_sf.parse(field.encode("ascii"), tltype="list"))
    except (UnicodeEncodeError, http_sf.StructuredFieldError):
        return []


def _member(value: BareItemType | list[object], parameters: _Parameters) -> Claim:
    stated = parameters.get("ladder")
    # A string of the same text is another type, which the field does not have.
    ladder = str(stated) if isinstance(stated, http_sf.Token) else None
    level = parse_level(str(value), ladder) if isinstance(value, http_sf.Token) else None
    if level is None:
        return _MALFORMED
    is_understood = level.ladder is not None or stated is None
    return Claim(level.label, level.ladder, atoms_of(level.label, level.ladder), is_understood)


def _combined(one: Claim, other: Claim) -> Claim:
    """Of two claims that differ, what both say."""
    if one == other:
        return one
    label = one.label if one.label == other.label else None
    ladder = one.ladder if one.ladder == other.ladder else None
    return Claim(label, ladder, one.atoms & other.atoms, is_understood=False)


def _takes_json(media_range: str) -> bool:
    name, *parameters = (part.strip(" \t").lower() for part in media_range.split(";"))
    weights = [parameter.removeprefix("q=") for parameter in parameters if parameter.startswith("q=")]
    is_json = name == "application/json" or name.endswith("+json")
    return is_json and all(map(_WEIGHT.fullmatch, weights))
