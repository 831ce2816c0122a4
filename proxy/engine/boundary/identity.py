"""Who asks: the client as its credential or its address tells, and what it is proven to be able to do."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from proxy.capability.ladders import Atoms


@dataclass(frozen=True, slots=True)
class Identity:
    """A client. `proven` None: it is known by its address alone, and whatever it claims is a claim.

    `level` and `ladder` are what the operator configured. `hosts`: the patterns of those it may reach, () for all.
    """

    client: str
    proven: Atoms | None = None
    level: str | None = None
    ladder: str | None = None
    hosts: tuple[str, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether a credential vouches for it."""
        return self.proven is not None

    def may_reach(self, host: str) -> bool:
        """Whether a canonical host is one of those it may reach."""
        return not self.hosts or any(fnmatchcase(host, pattern) for pattern in self.hosts)
