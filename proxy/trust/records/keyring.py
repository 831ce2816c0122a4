"""The keys of a pinned DID document over time: those listed, those that vanished, those seen for too short a time.

TRUST.md §6.3. Keys are named by their multikey text. A document that still lists an old key replaces the old one at
once. One that lists none of them may be a hijacker's: the old keys are dead at once, the new ones are on probation
until the domain shows them again an hour later. Invariants: what is on probation is listed, and what the domain
itself lists is no tombstone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

MOST_TOMBSTONES: Final = 64
PROBATION_SECONDS: Final = 3600.0


class PinEvent(StrEnum):
    """What came of seeing a DID document."""

    PINNED = "pinned"
    """The first one of this domain."""
    CONFIRMED = "confirmed"
    """The same keys."""
    ROTATED = "rotated"
    """Other keys, vouched for by an old one that stays, by the log of the DID, or by the operator."""
    DISCONTINUITY = "discontinuity"
    """No key in common with what was trusted: the new ones are on probation."""
    ON_PROBATION = "on_probation"
    """The same keys, too early to trust them."""
    PROBATION_ENDED = "probation_ended"
    """The same keys, late enough."""
    ANCHORED = "anchored"
    """Not used, for the operator has configured what to believe."""
    DEACTIVATED = "deactivated"
    """The log says that the DID has ended: no key is good any more."""


@dataclass(frozen=True, slots=True)
class Succession:
    """The keys after a document has been seen, and what it did to them."""

    ring: KeyRing
    event: PinEvent


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys of one domain. `dropped` maps tombstones to when they vanished, the oldest first; `probation` maps keys
    to when they were first seen; Unix seconds.
    """

    listed: frozenset[str]
    dropped: Mapping[str, float] = field(default_factory=dict)
    probation: Mapping[str, float] = field(default_factory=dict)

    @property
    def barred(self) -> frozenset[str]:
        """Keys that the document lists and that verify nothing yet."""
        return self.listed & (self.probation.keys() | self.dropped.keys())

    def seen(self, listed: frozenset[str], now: float, probation_seconds: float) -> Succession:
        """After the domain itself has shown a document that lists these keys."""
        ripe = {key for key, first in self.probation.items() if now - first >= probation_seconds}
        trusted = (self.listed - self.barred) | ripe
        dropped = self._tombstones(listed, listed, now)
        if not trusted.isdisjoint(listed):
            return Succession(KeyRing(listed, dropped), self._continued(listed))
        # A first sighting later than now is of a clock that has been set back: it is made to count from now.
        probation = {key: min(self.probation.get(key, now), now) for key in sorted(listed)}
        return Succession(KeyRing(listed, dropped, probation), self._broken(listed))

    def replaced(self, listed: frozenset[str], now: float, *, revived: bool) -> Succession:
        """After keys were replaced by who needs no probation; what is listed stays no tombstone if `revived`."""
        dropped = self._tombstones(listed, listed if revived else frozenset(), now)
        event = PinEvent.CONFIRMED if listed == self.listed else PinEvent.ROTATED
        return Succession(KeyRing(listed, dropped), event)

    def _continued(self, listed: frozenset[str]) -> PinEvent:
        if listed != self.listed:
            return PinEvent.ROTATED
        return PinEvent.PROBATION_ENDED if self.probation else PinEvent.CONFIRMED

    def _broken(self, listed: frozenset[str]) -> PinEvent:
        if listed != self.listed:
            return PinEvent.DISCONTINUITY
        return PinEvent.ON_PROBATION if listed else PinEvent.CONFIRMED

    def _tombstones(self, listed: frozenset[str], revived: frozenset[str], now: float) -> dict[str, float]:
        """Every key that is gone, and when it went; too many, and the oldest are forgotten."""
        gone = dict(self.dropped) | dict.fromkeys(sorted(self.listed - listed), now)
        by_age = sorted(gone.items(), key=lambda item: item[1])
        return dict([(key, at) for key, at in by_age if key not in revived][-MOST_TOMBSTONES:])
