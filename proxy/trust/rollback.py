"""Which of two versions of a manifest is the newer, so that no mirror can bring back an old one (TRUST.md §6.4).

A manifest cannot list its own CID, so its copy in IPFS always differs from it in the list of mirrors. What makes a
version is therefore its *core*: the manifest without its proofs and without that list.
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


Baseline = Version
"""The version last known to be good: what a mirror brings may not be older."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The version may stand for the baseline; `is_newer` is False where it is the same one."""

    is_newer: bool


def version_of(document: JsonObject, created: float) -> Version:
    """The version that a manifest is. Raises Untrusted where it has no canonical form."""
    core = {name: value for name, value in document.items() if name not in _OUTSIDE_THE_CORE}
    return Version(hashlib.sha256(canonical(core)).hexdigest(), _sequence(document.get(SEQUENCE)), created)


def judge(new: Version, baseline: Version | None) -> Accepted | Rejected:
    """Whether `new` may come from a mirror where `baseline` is known. Raises nothing."""
    if baseline is None:
        return Accepted(is_newer=True)
    if new.core == baseline.core:
        return Accepted(is_newer=False)
    if new.sequence is not None and baseline.sequence is not None:
        return _compared(new.sequence, baseline.sequence)
    return _compared(new.created, baseline.created)


def _compared(new: float, known: float) -> Accepted | Rejected:
    if new < known:
        return Rejected(Reason.ROLLBACK, "The manifest is older than the one known to be good.")
    if new == known:
        return Rejected(Reason.EQUIVOCATION, "Two different manifests claim to be the same version.")
    return Accepted(is_newer=True)


def _sequence(value: object) -> int | None:
    """The sequence number; 42.0 is 42, for the two have one canonical form and so one signature."""
    if type(value) is int:
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None
