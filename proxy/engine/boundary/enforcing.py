"""The story of a request at the boundary: secrets, former refusals, route records, the gateway, its answer.

What has nothing to do with any of that costs a request a few look-ups in memory, and no waiting.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from proxy.boundary.conflicts import Conflict, State
from proxy.boundary.idempotency import IDEMPOTENCY_KEY, parse_key
from proxy.capability.covering import Covered
from proxy.capability.effects import key_in
from proxy.capability.ladders import UNKNOWN, Atoms
from proxy.capability.resolution import NoOp, Reason, Rule
from proxy.capability.resolve import Context, review_url
from proxy.discovery.classes import DocumentClass
from proxy.engine.boundary.answering import Refused, refused_again, to_answer
from proxy.engine.boundary.asking import Asking
from proxy.engine.boundary.judging import Held, changes, is_ambiguous, judge, judge_released
from proxy.engine.boundary.latching import Latching, met, secret_met
from proxy.engine.boundary.listing import Listing
from proxy.engine.boundary.listings import Listings, Place
from proxy.engine.boundary.observing import Observing
from proxy.engine.boundary.replays import Keyed, Replays
from proxy.engine.boundary.settings import BoundarySettings, Mode
from proxy.engine.gateway import Gateway
from proxy.engine.outcome import Answer
from proxy.engine.relocation.answering import Answering
from proxy.engine.state import EngineState
from proxy.http.messages import SAFE_METHODS, Request
from proxy.http.secrets import Secret, known_secret
from proxy.ports import Body, Interim

_log = logging.getLogger("proxy.boundary")
_READS: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class _Passing:
    """A request that may go on: what is on record of its route, and under which key it is no repetition."""

    covered: Covered | None
    listing: Listing
    is_change: bool
    previous: Conflict | None = None


class Boundary:
    """Lets requests pass to the gateway, or answers them with a no-op."""

    def __init__(
        self,
        state: EngineState,
        gateway: Gateway,
        recorded: Answering,
        listings: Listings,
        latching: Latching,
        replays: Replays,
        settings: BoundarySettings,
    ) -> None:
        self._gateway = gateway
        self._recorded = recorded
        self._listings = listings
        self._latching = latching
        self._replays = replays
        self._settings = settings
        self._rules = state.rules
        self._observer = state.observer
        self._clock = state.clock
        self._observing = Observing(state, latching, settings.review_url)

    async def handle(self, asking: Asking, body: Body = None, interim: Interim | None = None) -> Answer:
        """The answer to any request but CONNECT."""
        request = asking.request
        place = self._listings.place_of(request.target, is_site=asking.is_site)
        mode = self.mode_of(asking, place)
        if mode is Mode.OFF:
            return await self._gateway.handle(request, body, interim)
        secret = known_secret(request.target.uri, place.rules.allowed_parameters)
        if secret is not None and await self._refuses_secret(asking, place, mode, secret):
            return await self._refuse_secret(asking, place, secret)
        reading = self._read(asking, place)
        if reading is not None:
            return await self._passed(asking, reading, mode, await self._gateway.handle(request, body, interim))
        # What the origin has moved or withdrawn for good is answered and goes nowhere.
        recorded = self._recorded.answer(request)
        if recorded is not None:
            return recorded
        passing = await self._judged(asking, place, mode)
        if isinstance(passing, Refused):
            return to_answer(passing, asking, self._settings, self._clock())
        return await self._pass(asking, passing, mode, body, interim)

    def mode_of(self, asking: Asking, place: Place) -> Mode:
        """What the operator wants for this request: the nearest word counts."""
        return place.rules.mode or asking.site_mode or self._settings.mode

    def review_url(self, request: Request, listing: Listing) -> str:
        """Where a person decides when nobody has published a place for that."""
        return self._settings.review_url or listing.root(request.target)

    def _read(self, asking: Asking, place: Place) -> _Passing | None:
        """A read by a client that nothing is on record of, judged by what is at hand; None for all else."""
        request = asking.request
        if request.method not in _READS or self._latching.is_known(asking.identity.client):
            return None
        listing = self._listings.known(place)
        covered = listing.covering(request.method, request.target) if listing.is_listed else None
        if changes(covered, request) or _gives_credential(covered):
            return None
        return _Passing(covered, listing, is_change=False)

    async def _refuses_secret(self, asking: Asking, place: Place, mode: Mode, secret: Secret) -> bool:
        request, settings = asking.request, self._settings
        listing = await self._listing(request, place)
        covered = listing.covering(request.method, request.target)
        if covered is not None and known_secret(request.target.uri, covered.secret_allowed) is None:
            return False
        default = settings.secrets_listed if listing.is_listed else settings.secrets_unlisted
        secrets = place.rules.secrets or default
        if mode is Mode.ENFORCE and secrets is Mode.ENFORCE:
            return True
        self._observer.boundary("report", Rule.D1, mode)
        extra = {"host": asking.request.target.authority, "parameter": secret.name or secret.where.value}
        _log.warning("a URL with a secret is passed on", extra=extra)
        return False

    async def _refuse_secret(self, asking: Asking, place: Place, secret: Secret) -> Answer:
        listing = self._listings.known(place)
        context = Context(self.review_url(asking.request, listing), listing.review_url)
        what = secret_met(secret, review_url(None, listing.site, context))
        await self._latching.record(asking, listing, UNKNOWN, what)
        self._observer.boundary("no-op", Rule.D1, Mode.ENFORCE)
        refused = Refused(what.code, what.review_url, what.reason, what.rule)
        return to_answer(refused, asking, self._settings, self._clock())

    async def _judged(self, asking: Asking, place: Place, mode: Mode) -> _Passing | Refused:
        request = asking.request
        is_unsafe = request.method not in SAFE_METHODS
        if is_unsafe:
            await self._latching.refresh()
        conflict = self._latching.latch(asking) if self._latching.is_known(asking.identity.client) else None
        if conflict is not None and await self._is_latched(conflict, asking, mode):
            return refused_again(conflict)
        listing = await self._listing(request, place)
        covered = listing.covering(request.method, request.target)
        if (
            is_unsafe
            and covered is not None
            and not changes(covered, request)
            and is_ambiguous(request.target.path)
        ):
            covered = None
        passing = _Passing(covered, listing, changes(covered, request), conflict)
        if not passing.is_change or not (listing.is_listed or self._settings.holds_unlisted):
            return passing
        held = await self._held(asking, passing, conflict)
        if held is None:
            self._observer.boundary("execute", Rule.D7, mode)
            return passing
        if not self._holds(asking, held.no_op.rule, mode):
            return passing
        return await self._refused(asking, passing, held)

    async def _is_latched(self, conflict: Conflict, asking: Asking, mode: Mode) -> bool:
        if conflict.state is not State.HELD or await self._latching.opened(conflict, asking) is not None:
            return False
        return self._holds(asking, Rule.D2, mode)

    async def _held(self, asking: Asking, passing: _Passing, conflict: Conflict | None) -> Held | None:
        request = asking.request
        key = key_in(request.target.uri) if request.method in SAFE_METHODS else _key_of(request)
        review_url = self.review_url(request, passing.listing)
        if conflict is not None and self._latching.is_released(conflict):
            return judge_released(passing.listing, passing.covered, key, review_url)
        claim = asking.claim
        if claim is not None and not claim.is_understood:
            _log.info("unsupported_capability_level", extra={"client": asking.identity.client})
        atoms = asking.atoms(self._latching.registered(asking.identity.client))
        return judge(passing.listing, passing.covered, atoms, key, review_url)

    async def _refused(self, asking: Asking, passing: _Passing, held: Held) -> Refused:
        no_op, way = held.no_op, held.fallback
        refused = Refused(no_op.code, no_op.url, no_op.slug, no_op.rule, no_op.missing, way, _is_minimal(passing))
        if no_op.reason is not Reason.IDEMPOTENCY_MISSING:
            # A key that is missing is the client's to add, and no refusal to remember.
            await self._record(asking, passing, no_op)
        return refused

    async def _record(self, asking: Asking, passing: _Passing, no_op: NoOp) -> None:
        atoms = self._atoms(asking)
        await self._latching.record(asking, passing.listing, atoms, met(no_op))

    def _atoms(self, asking: Asking) -> Atoms:
        return asking.atoms(self._latching.registered(asking.identity.client))

    def _holds(self, asking: Asking, rule: Rule, mode: Mode) -> bool:
        """Whether a request that is to be held is held; told of either way."""
        is_held = mode is Mode.ENFORCE
        self._observer.boundary("no-op" if is_held else "report", rule, mode)
        extra = {"client": asking.identity.client, "host": asking.request.target.authority, "rule": rule.value}
        _log.info("held" if is_held else "would be held", extra=extra)
        return is_held

    async def _listing(self, request: Request, place: Place) -> Listing:
        """A change is worth asking the host; a read goes by what is at hand."""
        if changes(None, request):
            return await self._listings.look(place)
        return self._listings.known(place)

    async def _pass(
        self, asking: Asking, passing: _Passing, mode: Mode, body: Body, interim: Interim | None
    ) -> Answer:
        return await self._passed(asking, passing, mode, await self._sent(asking, passing, body, interim))

    async def _passed(self, asking: Asking, passing: _Passing, mode: Mode, answer: Answer) -> Answer:
        is_kept = answer.outcome.upstream_seconds is None
        if is_kept or self._rules.of(asking.request).document_class is not DocumentClass.OTHER:
            # Documents are published for everybody; what is said of them is no boundary of this client's.
            return answer
        return await self._observing.observed(
            asking, passing.listing, passing.covered, passing.previous, answer, self._atoms, mode
        )

    async def _sent(self, asking: Asking, passing: _Passing, body: Body, interim: Interim | None) -> Answer:
        request = asking.request
        if request.method in SAFE_METHODS:
            if passing.is_change or _gives_credential(passing.covered):
                request = replace(request, is_action=True)
            return await self._gateway.handle(request, body, interim)
        key = _key_of(request)
        if key is None:
            return await self._gateway.handle(request, body, interim)
        member = None if passing.covered is None else passing.covered.record.write_credential_response_path
        send = partial(self._forward, request, interim)
        return await self._replays.answer(Keyed(asking, key, member), body, send)

    async def _forward(self, request: Request, interim: Interim | None, body: Body) -> Answer:
        return await self._gateway.handle(request, body, interim)


def _key_of(request: Request) -> str | None:
    """The client's own key; None without one, or with one that cannot be told apart from others."""
    key = parse_key(request.fields.get_all(IDEMPOTENCY_KEY))
    return key if isinstance(key, str) else None


def _gives_credential(covered: Covered | None) -> bool:
    """Whether the answer holds a credential, which is given once and stored nowhere (UAIX.md §4.1)."""
    return covered is not None and covered.record.write_credential_response_path is not None


def _is_minimal(passing: _Passing) -> bool:
    """Whether the route answers in the numbers of the Minimal Access tier, as its own no-op shows."""
    covered = passing.covered
    return covered is not None and (covered.record.no_op_behavior or "").isdigit()
