"""The memory of refusals: who was refused gets the same answer, until proof or a person opens (D2, D11)."""

from __future__ import annotations

import hashlib
import logging
import secrets
from dataclasses import dataclass, replace
from typing import Final

from proxy.boundaries import BoundaryRecords, BoundaryUnavailable
from proxy.boundary.conflicts import Cause, Conflict, Settlement, State
from proxy.boundary.envelopes import Evidence, blocker_envelope
from proxy.boundary.intents import secret_intent_of
from proxy.capability.atoms import Atom
from proxy.capability.ladders import Atoms
from proxy.capability.resolution import Code, NoOp, Reason, Rule, Trigger
from proxy.engine.boundary.asking import Asking
from proxy.engine.boundary.identity import credentials_in
from proxy.engine.boundary.listing import Listing
from proxy.engine.boundary.settings import BoundarySettings
from proxy.http.fields import Fields
from proxy.http.secrets import Secret, known_secret
from proxy.http.targets import Target
from proxy.ports import Clock

_LONGEST_CHALLENGE: Final = 2_048
_GUESSING_SECONDS: Final = 600.0
_OPERATOR: Final = "human-operator"

_log = logging.getLogger("proxy.boundary")


@dataclass(frozen=True, slots=True)
class Met:
    """What is to be recorded of a request that met the boundary.

    `parameter`: where a secret stood, by name. `previous`: the conflict of the same intent that was opened before.
    """

    cause: Cause
    rule: Rule
    reason: str
    code: Code
    review_url: str
    trigger: Trigger
    missing: tuple[Atom, ...] = ()
    challenges: tuple[str, ...] = ()
    parameter: str | None = None
    previous: Conflict | None = None


def met(no_op: NoOp) -> Met:
    """What is to be recorded of a request that the decision procedure holds back."""
    return Met(Cause.PROXY, no_op.rule, no_op.slug, no_op.code, no_op.url, no_op.trigger, missing=no_op.missing)


class Latching:
    """Records conflicts and finds them again."""

    def __init__(self, records: BoundaryRecords, settings: BoundarySettings, clock: Clock) -> None:
        self._records = records
        self._settings = settings
        self._clock = clock

    def registered(self, client: str) -> Atoms | None:
        """What the client's profile on record claims, while it is valid."""
        registration = self._records.profile(client)
        if registration is None or not registration.is_valid(self._clock()):
            return None
        return registration.profile.claimed

    def is_known(self, client: str) -> bool:
        """Whether there is anything to look up for the client."""
        return self._records.is_known(client)

    async def refresh(self) -> None:
        """Take in what other processes have recorded."""
        await self._records.refresh()

    def latch(self, asking: Asking) -> Conflict | None:
        """The newest conflict of this intent."""
        return self._records.latch(asking.intent())

    def is_released(self, conflict: Conflict) -> bool:
        """Whether a person lets the intent pass now."""
        return conflict.permits(self._clock(), self._settings.released_for)

    async def opened(self, conflict: Conflict, asking: Asking) -> Settlement | None:
        """What of new proof opens the latch; on record then."""
        proven = self._counted(asking, conflict.missing)
        settlement = conflict.opened_by(proven, _credential(asking.request.fields, conflict.id))
        if settlement is not None:
            released = conflict.released(settlement, self._clock())
            if settlement is Settlement.CREDENTIAL:
                # Counted when it is tried: others may ask before it is answered.
                released = replace(released, refused_credentials=released.refused_credentials + 1)
            await self._put(released)
        return settlement

    async def record(self, asking: Asking, listing: Listing, atoms: Atoms, what: Met) -> Conflict:
        """A new conflict of this intent, durable when this returns if that can be had.

        One is enough while it is held: of requests that came together, or of secrets in URLs of one host under one
        name.
        """
        intent = asking.intent()
        if what.parameter is not None:
            request = asking.request
            intent = secret_intent_of(asking.identity.client, request.method, request.target, what.parameter)
        known = self._records.latch(intent)
        if known is not None and known.state is State.HELD:
            return known
        conflict = self._conflict(asking, listing, atoms, what, intent)
        await self._put(conflict)
        return conflict

    def _conflict(self, asking: Asking, listing: Listing, atoms: Atoms, what: Met, intent: str) -> Conflict:
        request, now, conflict_id = asking.request, self._clock(), secrets.token_hex(16)
        path = request.target.path if what.parameter is None else "/"
        credential = _credential(request.fields, conflict_id)
        return Conflict(
            id=conflict_id,
            intent=intent,
            client=asking.identity.client,
            method=request.method,
            url=shown(_public(asking, listing), is_secret=what.parameter is not None),
            cause=what.cause,
            rule=what.rule,
            reason=what.reason,
            code=what.code,
            review_url=what.review_url,
            observed_at=now,
            envelope=blocker_envelope(self._evidence(asking, listing, atoms, what, conflict_id, path, now)),
            missing=what.missing,
            proven=self._counted(asking, what.missing),
            credential=credential,
            challenges=tuple(one[:_LONGEST_CHALLENGE] for one in what.challenges[:4]),
            refused_credentials=_refused(what, credential, now),
        )

    def _evidence(
        self, asking: Asking, listing: Listing, atoms: Atoms, what: Met, conflict_id: str, path: str, now: float
    ) -> Evidence:
        claim, source, identity = asking.claim, listing.source, asking.identity
        return Evidence(
            conflict_id=conflict_id,
            observed_at=now,
            agent=self._settings.agent,
            operator=_OPERATOR,
            client=identity.client,
            method=asking.request.method,
            path=path,
            cause=what.cause,
            code=what.code,
            review_url=what.review_url,
            rule=what.rule,
            reason=what.reason,
            trigger=what.trigger,
            level=identity.level if claim is None else claim.label,
            ladder=identity.ladder if claim is None else claim.ladder,
            atoms=atoms,
            missing=what.missing,
            manifest_url=None if source is None else source.url,
            manifest_sha256=None if source is None else source.sha256,
            manifest_trust=None if source is None else source.trust,
            request_id=asking.request_id,
            trace_id=_trace_id(asking.traceparent),
            parameter=what.parameter,
        )

    def _counted(self, asking: Asking, missing: tuple[Atom, ...]) -> Atoms:
        """What of its atoms is proven. Where some were missing, a claim may have kept them from counting."""
        proven = asking.identity.proven
        if proven is None:
            return frozenset()
        return asking.atoms(self.registered(asking.identity.client)) if missing else proven

    async def _put(self, conflict: Conflict) -> None:
        try:
            await self._records.put(conflict)
        except BoundaryUnavailable as error:
            # It holds in this process all the same, and is written as soon as that can be done.
            _log.warning("a boundary conflict is not on record yet (%s)", error, extra={"conflict": conflict.id})


def _public(asking: Asking, listing: Listing) -> Target:
    """The target as clients know it: of a site its own origin has a name that is nobody's business."""
    target = asking.request.target
    return listing.named(target) if asking.is_site and listing.routes is not None else target


def shown(target: Target, *, is_secret: bool = False) -> str:
    """A target as evidence names it: without query, and without a path that holds a secret."""
    url = f"{target.origin}{target.path}"
    return f"{target.origin}/" if is_secret or known_secret(url) is not None else url


def secret_met(secret: Secret, review_url: str) -> Met:
    """What is to be recorded of a secret in a URL: where it stood, and not what it is."""
    return Met(
        Cause.SECRET,
        Rule.D1,
        Reason.SECRET_IN_URL,
        Code.REJECTED,
        review_url,
        Trigger.AUTHORITY_BOUNDARY_CONFLICT,
        parameter=secret.name or secret.where,
    )


def _credential(fields: Fields, salt: str) -> str | None:
    """Tells one credential for the origin from another; too short to tell what it is, or to confirm a guess."""
    given = credentials_in(fields)
    if not given:
        return None
    return hashlib.sha256("\n".join((salt, *given)).encode("utf-8", "surrogatepass")).hexdigest()[:4]


def _refused(what: Met, credential: str | None, now: float) -> int:
    """How many credentials were refused one soon after the other; who sends none in between counts on.

    One that expires after a while is no guess.
    """
    before = what.previous
    counted = 0
    if before is not None and before.cause is Cause.UPSTREAM_401:
        is_soon = abs(now - before.observed_at) < _GUESSING_SECONDS
        counted = before.refused_credentials if is_soon else 0
    return counted + (credential is not None)


def _trace_id(traceparent: str | None) -> str | None:
    parts = (traceparent or "").split("-")
    is_whole = len(parts) == 4 and len(parts[1]) == 32 and parts[1].isalnum()
    return parts[1].lower() if is_whole else None
