"""One client's request as the boundary sees it: who asks, under which mode, and what counts of what it can do."""

from __future__ import annotations

from dataclasses import dataclass

from proxy.boundary.intents import intent_of
from proxy.capability.claims import AGENT_CAPABILITY, Claim, effective_atoms, parse_claim, wants_json
from proxy.capability.ladders import Atoms
from proxy.engine.boundary.identity import Identity
from proxy.engine.boundary.settings import Mode
from proxy.http.messages import Request


@dataclass(frozen=True, slots=True)
class Asking:
    """A request and who sends it.

    `site_mode`: what the operator says of the site that it reached; None where it reached none, or nothing is said.
    """

    request: Request
    identity: Identity
    is_site: bool = False
    site_mode: Mode | None = None
    request_id: str = ""
    traceparent: str | None = None

    @property
    def claim(self) -> Claim | None:
        """What the client says of itself in this request."""
        lines = self.request.fields.get_all(AGENT_CAPABILITY)
        return parse_claim(lines) if lines else None

    @property
    def accept(self) -> str | None:
        """The media types that the client takes."""
        return self.request.fields.get("accept")

    def intent(self) -> str:
        """Who wants to do what where."""
        return intent_of(self.identity.client, self.request.method, self.request.target)

    def atoms(self, registered: Atoms | None) -> Atoms:
        """What counts of what it can do; `registered`: what its profile on record claims, None without one."""
        claim = self.claim
        claims = () if claim is None else (claim.atoms,)
        if registered is not None:
            claims = (*claims, registered)
        return effective_atoms(self.identity.proven, claims, wants_json=wants_json(self.accept))
