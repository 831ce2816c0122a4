"""Which of two versions of a manifest is the newer, so that no mirror can bring back an old one (TRUST.md §6.4).

A manifest cannot list its own CID, so its copy in IPFS always differs from it in the list of mirrors. What makes a
version is therefore its *core*: the manifest without its proofs and without that list. Two cores that claim to be
the same version equivocate, and which one is meant only the origin can say (TRUST.md §5).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from proxy.trust.reasons import Reason
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.ijson import JsonObject
from proxy.trust.verdict import Rejected

SEQUENCE: Final = "x-sequence"
MOST_CLAIMS: Final = 8

_OUTSIDE_THE_CORE: Final = frozenset({"proof", "signatures", "x-independent-mirrors"})


@dataclass(frozen=True, slots=True)
class Version:
    """What tells one version of a manifest from another.

    `core` is the SHA-256 of the canonical core, in hex. `created` is when its proof was made, or, of an unsigned
    manifest, when its core was first seen at the origin; Unix seconds.
    """

    core: str
    sequence: int | None
    created: float


@dataclass(frozen=True, slots=True)
class Contested:
    """A baseline above which mirrors have brought equivocal versions; none of these `claims` is accepted again.

    From `MOST_CLAIMS` on nothing above it is: whoever signs so many has more of them.
    """

    version: Version
    claims: tuple[Version, ...]


Baseline = Version | Contested
"""The version last known to be good: what a mirror brings may not be older."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The version may stand for the baseline; `is_newer` is False where it is the same one."""

    is_newer: bool


def version_of(document: JsonObject, created: float) -> Version:
    """The version that a manifest is. Raises Untrusted where it has no canonical form."""
    core = {name: value for name, value in document.items() if name not in _OUTSIDE_THE_CORE}
    return Version(hashlib.sha256(canonical(core)).hexdigest(), _sequence(document.get(SEQUENCE)), created)


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivocal(Rejected):
    """Not believed because another manifest claims to be the same version; its proof is good."""

    version: Version


def judge(new: Version, baseline: Baseline | None) -> Accepted | Rejected:
    """Whether `new` may come from a mirror where `baseline` is known; else rejected as `Equivocal`, or as older.

    Raises nothing.
    """
    if baseline is None:
        return Accepted(is_newer=True)
    known, claims = (baseline.version, baseline.claims) if isinstance(baseline, Contested) else (baseline, ())
    if new.core == known.core:
        return Accepted(is_newer=False)
    standing = _standing(new, known)
    if standing < 0:
        return Rejected(Reason.ROLLBACK, "The manifest is older than the one known to be good.")
    if standing == 0 or len(claims) >= MOST_CLAIMS or any(_is_claimed(new, claim) for claim in claims):
        detail = "Two different manifests claim to be the same version."
        return Equivocal(Reason.EQUIVOCATION, detail, version=new)
    return Accepted(is_newer=True)


def equivocates(new: Version, known: Version) -> bool:
    """Whether two different manifests claim to be the same version."""
    return new.core != known.core and _standing(new, known) == 0


def _is_claimed(new: Version, claim: Version) -> bool:
    return new.core == claim.core or _standing(new, claim) == 0


def _standing(new: Version, known: Version) -> float:
    """Below nought where `new` is the older one, above it where it is the newer."""
    if new.sequence is not None and known.sequence is not None:
        return new.sequence - known.sequence
    return new.created - known.created


def _sequence(value: object) -> int | None:
    """The sequence number; 42.0 is 42, for the two have one canonical form and so one signature."""
    if type(value) is int:
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None
