"""The client a discovery is made for: what it says it can do, and what of that is taken for granted.

A claim opens what may be looked at; a write atom needs proof, and nothing proves one here. Who claims nothing is
told of everything, and decided for as an unknown client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proxy.capability.atoms import Atom
from proxy.capability.ladders import UNKNOWN, Ladder, atoms_of

# What a client shows by reading this answer, and what a claim alone may add to it.
_READS: Final = frozenset({Atom.STATIC_GET, Atom.JSON_GET, Atom.LIVE_GET, Atom.BROWSER_UI})


@dataclass(frozen=True, slots=True)
class Client:
    """`level` and `ladder` as claimed, None without a claim; `atoms` are what decides, `claimed` what was said."""

    level: str | None
    ladder: str | None
    claimed: frozenset[Atom]
    atoms: frozenset[Atom]

    @property
    def is_static(self) -> bool:
        """Whether only static documents and GET routes are of use to it (U-D4: L0 to L2)."""
        return self.level is not None and Atom.JSON_POST not in self.claimed

    @property
    def reads_only(self) -> bool:
        """Whether a route that is no read is of no use to it; a browser can be shown the form instead (U-D4)."""
        return self.is_static and Atom.BROWSER_UI not in self.claimed

    @property
    def may_authorise(self) -> bool:
        """Whether authorization metadata is of use to it (U-D5)."""
        return self.level is None or Atom.AUTH in self.claimed

    def told(self) -> dict[str, object]:
        """The client as the answer has it. Nobody is known yet: levels are claims."""
        atoms = [atom.value for atom in Atom if atom in self.atoms]
        return {"level": self.level, "ladder": self.ladder, "atoms": atoms, "known": False}


def client_of(level: str | None, ladder: str | None) -> Client:
    """The client of a claim. A level that no ladder has counts as L0 (U-D8); without a ladder it is of exec."""
    if level is None:
        return Client(None, None, frozenset(), UNKNOWN | {Atom.JSON_GET})
    ladder = ladder or Ladder.EXEC.value
    claimed = frozenset(atoms_of(level, ladder))
    return Client(level, ladder, claimed, (claimed & _READS) | UNKNOWN)
