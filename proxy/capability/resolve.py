"""The decision procedure D1 to D10: what a client may do with a route (UAIX.md §4.3, first match wins).

A pure function of the route, the client's atoms and what is on record about the request. It never invents a URL,
a key or a consent: what is not published or given does not exist. A route that breaks the rules of §4.1 is no
route. D11, which reads the answer after executing, needs memory and is not here; what it remembered comes back
as `Latched`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from proxy.capability.atoms import Atom
from proxy.capability.effects import is_change, side_effect
from proxy.capability.fallbacks import admitted, fall_back, offered
from proxy.capability.ladders import Atoms
from proxy.capability.needs import FetchClass, needs
from proxy.capability.resolution import Code, Execute, Field, NoOp, Reason, Resolution, Rule, Trigger
from proxy.discovery.access.routes import RouteRecord
from proxy.discovery.urls import UrlReason
from proxy.http.messages import SAFE_METHODS
from proxy.http.secrets import known_secret
from proxy.http.targets import Target


@dataclass(frozen=True, slots=True)
class Asked:
    """The request in question: its method and its absolute URL as received."""

    method: str
    url: str


@dataclass(frozen=True, slots=True)
class Latched:
    """The no-op this client got for this intent before, with nothing proven since."""

    code: Code
    url: str


@dataclass(frozen=True, slots=True)
class Context:
    """What is on record beside route and client.

    `proxy_review_url`: where a person decides when neither route nor site names a place. `asked` None: advice
    about the route itself. `live_request`: the client's own GET is being answered, which proves that it has
    live GET. `secret_allowed`: query names that mean nothing secret on this route.
    """

    proxy_review_url: str
    site_review_url: str | None = None
    asked: Asked | None = None
    consent: bool = False
    idempotency_key: str | None = None
    live_request: bool = False
    latched: Latched | None = None
    secret_allowed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Plan:
    """One way to execute a route: the record as it is then used, its target, and the rule that chose it."""

    route: RouteRecord
    target: Target
    field: Field
    rule: Rule


def resolve(route: RouteRecord | None, site: Target, client_atoms: Atoms, context: Context) -> Resolution:
    """What a client with `client_atoms`, all of them proven, may do.

    `route` None: no valid record covers the request. `site` is the manifest's site URL, against which paths are
    resolved. All URLs of the outcome are absolute.
    """
    review = review_url(route, site, context)
    if _holds_secret(route, context):
        return NoOp(Rule.D1, Reason.SECRET_IN_URL, review, code=Code.REJECTED)
    if context.latched is not None:
        return NoOp(Rule.D2, Reason.RETRY_LOOP, context.latched.url, code=context.latched.code)
    if route is None:
        no_record = NoOp(Rule.D3, Reason.ROUTE_RECORD_MISSING, review, Trigger.MISSING_PROFILE)
        return _uncovered(no_record, context.asked)
    target = _target(route, site)
    if isinstance(target, Trigger):
        unusable = NoOp(Rule.D3, Reason.ROUTE_RECORD_UNUSABLE, review, target)
        return unusable if side_effect(route).is_change else _uncovered(unusable, context.asked)
    if route.conflicts:
        return NoOp(Rule.D4, Reason.ROUTE_ALIAS_CONFLICT, review, Trigger.MALFORMED_SCHEMA)
    if (side_effect(route).is_restricted or route.consent_required) and not context.consent:
        return NoOp(Rule.D5, Reason.CONSENT_MISSING, review)
    atoms = client_atoms | {Atom.LIVE_GET} if context.live_request else client_atoms
    return _resolve_covered(route, target, site, atoms, review, context)


def review_url(route: RouteRecord | None, site: Target, context: Context) -> str:
    """Where a person decides: what the route says, else the site, else the proxy's own page (D10)."""
    published = () if route is None else (route.human_review_url, route.no_op_url)
    for url in (*published, context.site_review_url):
        target = offered(url, site, context.secret_allowed)
        if target is not None:
            return target.uri
    return context.proxy_review_url


def _resolve_covered(
    route: RouteRecord, target: Target, site: Target, atoms: Atoms, review: str, context: Context
) -> Resolution:
    """D6 to D10, for a usable record with its consent."""
    effect = side_effect(route)
    plan = _Plan(route, target, Field.HIGHEST_SUPPORTED_PATH, Rule.D7)
    if effect.is_change and route.method in SAFE_METHODS:
        if Atom.JSON_POST in atoms:
            posted = _post_equivalent(route, site, context.secret_allowed)
            if posted is None:
                return NoOp(Rule.D6, Reason.POST_EQUIVALENT_MISSING, review)
            plan = posted
        elif effect.is_restricted:
            return NoOp(Rule.D6, Reason.RESTRICTED_GET, review)
    missing = needs(plan.route) - atoms
    if missing:
        return fall_back(route, site, atoms, missing, context.secret_allowed, review)
    if effect.is_change and not context.idempotency_key:
        return NoOp(plan.rule, Reason.IDEMPOTENCY_MISSING, review, code=Code.REJECTED)
    return Execute(plan.rule, plan.route.method, plan.target.uri, plan.field)


def _holds_secret(route: RouteRecord | None, context: Context) -> bool:
    asked = None if context.asked is None else context.asked.url
    listed = None if route is None else route.highest_supported_path
    return any(url is not None and known_secret(url, context.secret_allowed) is not None for url in (asked, listed))


def _uncovered(no_op: NoOp, asked: Asked | None) -> Execute | NoOp:
    """D3: reads go on, everything else stops."""
    if asked is None or is_change(asked.method, asked.url):
        return no_op
    return Execute(no_op.rule, asked.method, asked.url, None)


def _target(route: RouteRecord, site: Target) -> Target | Trigger:
    """The target of the highest supported path, or what is wrong with it."""
    if not route.highest_supported_path:
        return Trigger.MALFORMED_SCHEMA
    target = admitted(route.highest_supported_path, site)
    if isinstance(target, Target):
        return target
    is_probe = target.reason is UrlReason.SSRF
    return Trigger.PRIVATE_NETWORK_PROBE_REQUESTED if is_probe else Trigger.MALFORMED_SCHEMA


def _post_equivalent(route: RouteRecord, site: Target, secret_allowed: frozenset[str]) -> _Plan | None:
    """The POST that does what a GET-Action does; published as a URL, or as one behind the method's name."""
    method, separator, url = (route.post_equivalent or "").partition(" ")
    target = offered(url if separator and method.upper() == "POST" else route.post_equivalent, site, secret_allowed)
    if target is None:
        return None
    posted = replace(
        route, method="POST", fetch_execution_class=FetchClass.HTTP_JSON_POST, highest_supported_path=target.uri
    )
    return _Plan(posted, target, Field.POST_EQUIVALENT, Rule.D6)
