"""The published way down when atoms are missing, and the URL at which a person decides (D8 to D10).

Only what the site published is offered: an admitted https URL without a secret that this client can open.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from proxy.capability.atoms import Atom, in_cause_order
from proxy.capability.effects import token
from proxy.capability.ladders import Atoms
from proxy.capability.needs import is_template
from proxy.capability.resolution import Code, Fallback, Field, NoOp, Reason, Rule, Trigger
from proxy.discovery.access.routes import RouteRecord
from proxy.discovery.urls import UrlRefused, admit
from proxy.http.secrets import known_secret
from proxy.http.targets import Target

_OWN_FIELDS: Final[Mapping[Atom, Field]] = {
    Atom.MCP: Field.MCP_UNAVAILABLE_FALLBACK,
    Atom.TOOLS: Field.TOOL_UNAVAILABLE_FALLBACK,
    Atom.AUTH: Field.AUTH_UNAVAILABLE_FALLBACK,
    Atom.JSON_POST: Field.POST_BLOCKED_FALLBACK,
    Atom.LIVE_GET: Field.LIVE_GET_BLOCKED_FALLBACK,
}
_REMEMBERED_LENGTH: Final = 512
# A fallback that says "do nothing".
_STOP_WORDS: Final[Mapping[str, Code]] = {
    "no_op": Code.HUMAN_REVIEW_REQUIRED,
    "human_review": Code.HUMAN_REVIEW_REQUIRED,
    "human_review_required": Code.HUMAN_REVIEW_REQUIRED,
    "rejected": Code.REJECTED,
}


def fall_back(
    route: RouteRecord, site: Target, atoms: Atoms, missing: Atoms, secret_allowed: frozenset[str], review: str
) -> Fallback | NoOp:
    """The first fallback that serves a client with `atoms`; a no-op with the URL `review` if none does."""
    causes = in_cause_order(missing)
    for field in _candidates(atoms, missing):
        published: str | None = getattr(route, field)
        stop = _STOP_WORDS.get(token(published or ""))
        if stop is not None:
            return NoOp(
                Rule.D9,
                Reason.FALLBACK_IS_NO_OP,
                review,
                Trigger.UNSUPPORTED_CAPABILITY_LEVEL,
                stop,
                missing=causes,
                field=field,
            )
        target = offered(published, site, secret_allowed)
        if target is not None and _can_open(target, atoms):
            return Fallback(Rule.D9, target.uri, field, causes)
    return NoOp(Rule.D10, Reason.CAPABILITY_MISSING, review, Trigger.UNSUPPORTED_CAPABILITY_LEVEL, missing=causes)


def offered(published: str | None, site: Target, secret_allowed: frozenset[str]) -> Target | None:
    """The target of a published URL or path, None if there is none that may be passed on."""
    if not published or known_secret(published, secret_allowed) is not None:
        return None
    target = admitted(published, site)
    return None if isinstance(target, UrlRefused) else target


def admitted(published: str, site: Target) -> Target | UrlRefused:
    """The target of a published URL or path, or why it may not be passed on; the same ones come again and again."""
    return _remembered(published, site) if len(published) <= _REMEMBERED_LENGTH else _admitted(published, site)


def _admitted(published: str, site: Target) -> Target | UrlRefused:
    try:
        return admit(published, site)
    except UrlRefused as refused:
        return refused


_remembered = lru_cache(4096)(_admitted)


def _candidates(atoms: Atoms, missing: Atoms) -> tuple[Field, ...]:
    fields: list[Field] = []
    # A form asks for the same credential, so it is no way around a missing one.
    if Atom.JSON_POST in missing and Atom.BROWSER_UI in atoms and Atom.AUTH not in missing:
        fields.append(Field.BROWSER_FORM_EQUIVALENT)
    fields += [_OWN_FIELDS[cause] for cause in in_cause_order(missing) if cause in _OWN_FIELDS]
    if Atom.LIVE_GET not in atoms:
        fields.append(Field.LIVE_GET_BLOCKED_FALLBACK)
    fields.append(Field.LOWEST_SAFE_FALLBACK)
    return tuple(dict.fromkeys(fields))


def _can_open(target: Target, atoms: Atoms) -> bool:
    if is_template(target.uri):
        return Atom.URL_SYNTH in atoms
    return target.query is None or Atom.LIVE_GET in atoms
