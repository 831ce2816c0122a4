"""The record of one request that met the boundary, and what becomes of it (UAIX.md D2, D11; CONTRACT §8).

Held, it is a latch. What opens it is new proof or a person, and never time, a query or another spelling. A person's
release is consent and proof for this one intent, and for a limited time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from proxy.capability.atoms import Atom
from proxy.capability.ladders import Atoms
from proxy.capability.resolution import Code
from proxy.discovery.jsontext import JsonObject

MOST_CREDENTIALS: Final = 5
"""So many different credentials are refused before a client counts as guessing: then only a person helps."""


class State(StrEnum):
    HELD = "held"
    RELEASED = "released"


class Cause(StrEnum):
    """What met the boundary."""

    PROXY = "proxy"
    """The decision procedure held the request back."""
    SECRET = "secret"
    """Its URL carried a secret. Such a conflict is evidence and no latch."""
    UPSTREAM_401 = "upstream_401"
    UPSTREAM_403 = "upstream_403"
    UPSTREAM_428 = "upstream_428"
    UPSTREAM_BODY = "upstream_body"
    """The origin's answer carried the code of a no-op."""


class Settlement(StrEnum):
    """What released it."""

    PERSON = "person"
    PROOF = "proof"
    CREDENTIAL = "credential"


@dataclass(frozen=True, slots=True)
class Conflict:
    """One conflict. Times are Unix seconds.

    `id`: 32 hex digits. `intent`: see intents. `url` has no query and no secret. `review_url`: where a person
    decides. `missing`: the atoms that were missing, in cause order; `proven`: what the client had proven then.
    `credential`: 4 hex digits that tell whether the credential for the origin is another one, None for none;
    `challenges`: the WWW-Authenticate fields of a 401; `refused_credentials`: how many different ones were refused.
    """

    id: str
    intent: str
    client: str
    method: str
    url: str
    cause: Cause
    rule: str
    reason: str
    code: Code
    review_url: str
    observed_at: float
    envelope: JsonObject
    missing: tuple[Atom, ...] = ()
    proven: Atoms = frozenset()
    credential: str | None = None
    challenges: tuple[str, ...] = ()
    refused_credentials: int = 0
    state: State = State.HELD
    settled_at: float | None = None
    settlement: Settlement | None = None

    def released(self, settlement: Settlement, now: float) -> Conflict:
        """The conflict once it is released."""
        return replace(self, state=State.RELEASED, settlement=settlement, settled_at=now)

    def opened_by(self, proven: Atoms, credential: str | None) -> Settlement | None:
        """What of new proof opens this held conflict; None when nothing does (§5.2).

        A 401 asks for a credential, so another one is worth a try, until it looks like guessing. Elsewhere a
        credential that the proxy cannot judge proves nothing: there, atoms that were not proven before do.
        """
        if self.cause is Cause.UPSTREAM_401 and credential not in (None, self.credential):
            if self.refused_credentials < MOST_CREDENTIALS:
                return Settlement.CREDENTIAL
            return None
        gained = proven - self.proven
        is_enough = gained >= set(self.missing) if self.missing else bool(gained)
        return Settlement.PROOF if is_enough else None

    def permits(self, now: float, seconds: float) -> bool:
        """Whether a person's release lets the intent pass: for so many seconds, and not before it was given.

        A clock that jumps back ends it too.
        """
        if self.state is not State.RELEASED or self.settlement is not Settlement.PERSON:
            return False
        return self.settled_at is not None and self.settled_at <= now < self.settled_at + seconds
