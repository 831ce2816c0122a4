"""Who asks: the client as its credential or its address tells, and what it is proven to be able to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from proxy.boundary.idempotency import IDEMPOTENCY_KEY
from proxy.capability.ladders import Atoms
from proxy.http.fields import Fields

_CREDENTIALS: Final = re.compile(r"authorization|cookie|signature|.*(?:token|key|secret|auth)", re.IGNORECASE)


def credentials_in(fields: Fields) -> tuple[str, ...]:
    """The fields by which a client proves to an origin who it is, whatever that calls them, as lines."""
    return tuple(
        f"{name.lower()}: {value}"
        for name, value in fields
        if name.lower() != IDEMPOTENCY_KEY and _CREDENTIALS.fullmatch(name) is not None
    )


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
