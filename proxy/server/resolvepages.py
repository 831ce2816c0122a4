"""POST /v1/resolve: which route a client may use, as advice that grants nothing (CONTRACT §8, §14.8)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from proxy.boundary.conflicts import Conflict, State
from proxy.caching.serving import CacheStatus
from proxy.capability.ladders import CLASSES, Atoms, ClientClass, atoms_of
from proxy.capability.profiles import ProfileRefused, parse_profile
from proxy.capability.resolution import Execute, Fallback, NoOp, Resolution
from proxy.capability.resolve import Asked, Context, Latched, resolve
from proxy.discovery.access.routereading import parse_route
from proxy.discovery.access.routes import RouteRecord
from proxy.discovery.jsontext import JsonObject, MalformedJson, parse_json
from proxy.engine.boundary.asking import Asking
from proxy.engine.boundary.latching import Latching
from proxy.engine.boundary.listing import Listing
from proxy.engine.boundary.listings import Listings
from proxy.engine.boundary.settings import BoundarySettings
from proxy.engine.outcome import Complete, Served
from proxy.http.fields import is_token
from proxy.http.messages import Request
from proxy.http.problems import Problem, Slug
from proxy.http.secrets import find_secret
from proxy.http.targets import MalformedTarget, Target, parse_target
from proxy.ports import Clock
from proxy.server.own import JSON, Own

RESOLVE: Final = "/v1/resolve"
MOST_BODY: Final = 64 * 1024

_MEMBERS: Final = frozenset({"url", "method", "client", "route", "consent", "idempotency_key", "intent"})
_LONGEST: Final = 255


class _BadQuestion(Exception):
    """The body asks for nothing that can be answered; `detail` says what would be."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked: `atoms` None for the client that asks, `is_own` whether its own refusals count."""

    url: str
    method: str
    atoms: Atoms | None
    route: RouteRecord | None
    has_route: bool
    consent: bool
    key: str | None
    is_own: bool


class ResolvePages:
    """Answers which route to use, from the route records of the host or from one that is given."""

    def __init__(self, listings: Listings, latching: Latching, settings: BoundarySettings, clock: Clock) -> None:
        self._listings = listings
        self._latching = latching
        self._settings = settings
        self._own = Own(clock)

    async def answer(self, asking: Asking, body: bytes) -> Complete | Problem:
        """The resolution of the question in `body`. `asking` tells who asks, and with which fields."""
        try:
            question = _question(body, asking)
            target = _target(question.url)
        except _BadQuestion as error:
            return Problem(Slug.BAD_REQUEST, error.detail)
        # A URL with a secret is asked for nowhere, not even for the routes of its host.
        listing = None
        if target is not None and not question.has_route and find_secret(question.url) is None:
            listing = await self._listings.look(self._listings.place_of(target))
        resolution = self._resolved(question, target, listing, asking)
        told = json.dumps(_told(resolution, listing)).encode()
        fields = (("Content-Type", JSON),)
        return self._own.complete(200, told, "no-store", fields, CacheStatus(detail="local"), Served.LOCAL, "other")

    def _resolved(
        self, question: _Question, target: Target | None, listing: Listing | None, asking: Asking
    ) -> Resolution:
        place = target or Target("https", "origin.invalid", 443, "/", None)
        site = Target("https", place.host, place.port, "/", None) if listing is None else listing.site
        covered = None if listing is None else listing.covering(question.method, place)
        route = question.route or (None if covered is None else covered.record)
        atoms = question.atoms
        if atoms is None:
            atoms = asking.atoms(self._latching.registered(asking.identity.client))
        context = Context(
            proxy_review_url=self._settings.review_url or f"https://{place.host}/",
            site_review_url=None if listing is None else listing.review_url,
            asked=Asked(question.method, question.url),
            consent=question.consent,
            idempotency_key=question.key,
            latched=self._latched(question, target, asking),
            secret_allowed=frozenset() if covered is None else covered.secret_allowed,
        )
        return resolve(route, site, atoms, context)

    def _latched(self, question: _Question, target: Target | None, asking: Asking) -> Latched | None:
        """The refusal that the client who asks got itself for this intent (D2)."""
        if not question.is_own or target is None:
            return None
        own = Asking(Request(question.method, target, asking.request.fields), asking.identity)
        conflict: Conflict | None = self._latching.latch(own)
        if conflict is None or conflict.state is not State.HELD:
            return None
        return Latched(conflict.code, conflict.review_url)


def _question(body: bytes, asking: Asking) -> _Question:
    if len(body) > MOST_BODY:
        raise _BadQuestion(f"The body is larger than {MOST_BODY} bytes.")
    try:
        asked = parse_json(body)
    except MalformedJson as error:
        raise _BadQuestion(f"The body is no JSON text: {error.detail}.") from None
    if not isinstance(asked, dict) or not asked.keys() <= _MEMBERS:
        raise _BadQuestion(f"The body is an object with members of these: {', '.join(sorted(_MEMBERS))}.")
    route = _route(asked.get("route"))
    url, method = asked.get("url"), asked.get("method")
    if not isinstance(url, str):
        raise _BadQuestion("url: the absolute https URL that is to be used.")
    if method is None:
        method = "GET" if route is None else route.method
    if not isinstance(method, str) or not is_token(method):
        raise _BadQuestion("method: the HTTP method that is to be used.")
    consent = asked.get("consent")
    if consent not in (None, True, False):
        raise _BadQuestion("consent: true or false.")
    intent = _text(asked, "intent")
    keys = asking.request.fields.get_all("idempotency-key")
    key = _text(asked, "idempotency_key") or (keys[0] if keys else None)
    client = asked.get("client")
    return _Question(
        url=url,
        method=method.upper(),
        atoms=None if client is None else _atoms(client),
        route=route,
        has_route=asked.get("route") is not None,
        consent=consent is True,
        key=key,
        is_own=client is None or intent is not None,
    )


def _text(asked: JsonObject, name: str) -> str | None:
    value = asked.get(name)
    if value is None or (isinstance(value, str) and 0 < len(value) <= _LONGEST):
        return value
    raise _BadQuestion(f"{name}: a text of 1 to {_LONGEST} characters, or null.")


def _target(url: str) -> Target | None:
    """The target; None for one that only a secret keeps from being one."""
    try:
        return parse_target(url.partition("#")[0])
    except MalformedTarget as error:
        if find_secret(url) is not None:
            return None
        raise _BadQuestion(f"url: {error.detail}") from None


def _route(value: object) -> RouteRecord | None:
    if value is None:
        return None
    record = parse_route(value).record
    if record is None:
        raise _BadQuestion("route: a route record with its method and highest supported path.")
    return record


def _atoms(client: object) -> Atoms:
    """What the client that is described can do; as described, for this is advice."""
    if not isinstance(client, Mapping):
        raise _BadQuestion('client: {"level", "ladder"}, {"class"} or {"profile"}.')
    match dict(client):
        case {"class": str(name), **rest} if not rest and name in frozenset(ClientClass):
            return CLASSES[ClientClass(name)]
        case {"profile": profile, **rest} if not rest:
            try:
                return parse_profile(profile).claimed
            except ProfileRefused as error:
                raise _BadQuestion(f"client.profile: {error}") from None
        case {"level": level, **rest} if rest.keys() <= {"ladder"}:
            ladder = rest.get("ladder")
            return atoms_of(_label(level), _label(ladder))
    names = ", ".join(ClientClass)
    raise _BadQuestion(f'client: {{"level", "ladder"}}, {{"profile"}}, or {{"class"}}, one of {names}.')


def _label(value: object) -> str | None:
    """A label as stated; what is none counts as unknown, and is no error (UAIX.md §2)."""
    return value if isinstance(value, str) else None


def _told(resolution: Resolution, listing: Listing | None) -> dict[str, object]:
    told: dict[str, object] = dict.fromkeys(("url", "method", "field", "code", "review_url"))
    missing: tuple[str, ...] = ()
    match resolution:
        case Execute(rule, method, url, field):
            decision, reason = "execute", None
            told |= {"url": url, "method": method, "field": field}
        case Fallback(rule, url, field, missing):
            decision, reason = "fallback", f"missing_{missing[0]}"
            told |= {"url": url, "method": "GET", "field": field}
        case NoOp(rule=rule, missing=missing, field=field):
            decision, reason = "no-op", resolution.slug
            told |= {"field": field, "code": resolution.code, "review_url": resolution.url}
    return {
        "decision": decision,
        **told,
        "rule": rule,
        "reason": reason,
        "missing": list(missing),
        "manifest": _manifest(listing),
    }


def _manifest(listing: Listing | None) -> dict[str, object] | None:
    """The manifest that was looked for; None where none was."""
    if listing is None:
        return None
    source = listing.source
    if source is None:
        return {"url": None, "sha256": None, "found": False, "trust": None}
    return {"url": source.url, "sha256": source.sha256, "found": True, "trust": source.trust}
