"""The client a discovery is made for: what it says it can do, and what of that is taken for granted.

A claim opens what may be looked at; a write atom needs proof, which a credential of the client's gives. Who claims
nothing is told of everything, and decided for as an unknown client or by what is proven of it.
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
    """`level` and `ladder` as claimed or proven, None without either; `atoms` decide, `claimed` is what was said.

    `is_known`: a credential vouches for the atoms.
    """

    level: str | None
    ladder: str | None
    claimed: frozenset[Atom]
    atoms: frozenset[Atom]
    is_known: bool = False

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
        """The client as the answer has it."""
        atoms = [atom.value for atom in Atom if atom in self.atoms]
        return {"level": self.level, "ladder": self.ladder, "atoms": atoms, "known": self.is_known}


def client_of(level: str | None, ladder: str | None, proven: frozenset[Atom] | None = None) -> Client:
    """The client of a claim. A level that no ladder has counts as L0 (U-D8); without a ladder it is of exec.

    Of what is `proven` a claim leaves what it says itself: the lower one counts.
    """
    if proven is not None:
        claimed = proven if level is None else proven & atoms_of(level, ladder or Ladder.EXEC.value)
        return Client(level, ladder, claimed, claimed | UNKNOWN | {Atom.JSON_GET}, is_known=True)
    if level is None:
        return Client(None, None, frozenset(), UNKNOWN | {Atom.JSON_GET})
    ladder = ladder or Ladder.EXEC.value
    claimed = frozenset(atoms_of(level, ladder))
    return Client(level, ladder, claimed, (claimed & _READS) | UNKNOWN)
