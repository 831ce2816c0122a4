"""Who a client is: a bearer token, a certificate, or else its address (CONTRACT §8, §10).

A token of the proxy's own reaches no origin: in Proxy-Authorization it never does, and where it was sent as
Authorization it is taken out.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.capability.atoms import Atom
from proxy.capability.ladders import atoms_of
from proxy.config import Settings
from proxy.config.bounding import ClientToken
from proxy.engine.boundary.identity import Identity
from proxy.http.fields import Fields
from proxy.http.problems import Problem, Slug

_FIELDS: Final = ("proxy-authorization", "authorization")
_LONGEST: Final = 4_096


class Auth(StrEnum):
    """How clients prove who they are."""

    NONE = "none"
    """Not at all, unless they send a token that is known."""
    BEARER = "bearer"
    MTLS = "mtls"


@dataclass(frozen=True, slots=True)
class Recognised:
    """Who it is, and the field that told so and goes no further; None where none did."""

    identity: Identity
    field: str | None = None


class Clients:
    """Recognises clients; `by_digest`: identities by the hex SHA-256 of token or certificate."""

    def __init__(self, auth: Auth, by_digest: Mapping[str, Identity]) -> None:
        self._auth = auth
        self._by_digest = by_digest
        self.ids = frozenset(identity.client for identity in by_digest.values())

    def recognise(self, fields: Fields, address: str, certificate: bytes | None) -> Recognised | None:
        """Who asks; None for nobody who may."""
        if self._auth is Auth.MTLS:
            known = None if certificate is None else self._by_digest.get(hashlib.sha256(certificate).hexdigest())
            return None if known is None else Recognised(known)
        if self._by_digest:
            given = ((name, self._of_token(value)) for name in _FIELDS for value in fields.get_all(name))
            known_by = [(name, identity) for name, identity in given if identity is not None]
            if known_by:
                # The last field is the one that would go on: a token in it is withheld, whichever told first.
                return Recognised(known_by[0][1], known_by[-1][0])
        return None if self._auth is Auth.BEARER else Recognised(Identity(address))

    def _of_token(self, value: str) -> Identity | None:
        scheme, *rest = (value.split(None, 1) if len(value) <= _LONGEST else ()) or ("",)
        credential = "".join(rest).strip()
        match scheme.lower():
            case "bearer" | "token":
                return self._known(credential)
            case "basic":
                # What a proxy URL of the form http://user:token@host sends.
                return next(filter(None, map(self._known, _basic(credential))), None)
        return None

    def _known(self, token: str) -> Identity | None:
        return self._by_digest.get(hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest())


def build_clients(settings: Settings) -> Clients:
    """The part of the configuration on clients."""
    clients = settings.clients
    return Clients(Auth(clients.auth), {token.sha256: _identity(token) for token in clients.tokens})


def unauthorized(*, is_proxied: bool) -> tuple[Problem, tuple[str, str]]:
    """The refusal of a client that nobody knows, and the challenge that goes with it (RFC 9110 §11.7)."""
    challenge = 'Bearer realm="discovery-proxy"'
    if is_proxied:
        detail = "This proxy asks for a token: send it as Proxy-Authorization: Bearer TOKEN."
        return Problem(Slug.UNAUTHORIZED, detail, at_status=407), ("Proxy-Authenticate", challenge)
    detail = "This proxy asks for a token or a client certificate: send Authorization: Bearer TOKEN."
    return Problem(Slug.UNAUTHORIZED, detail), ("WWW-Authenticate", challenge)


def host_denied() -> Problem:
    """The refusal of a host that a client may not reach."""
    detail = "This client may not reach this host; clients.tokens names those that it may (allow_hosts)."
    return Problem(Slug.EGRESS_DENIED, detail, {"rule": "clients.allow_hosts"})


def _identity(token: ClientToken) -> Identity:
    atoms = atoms_of(token.level, token.ladder) | {Atom(name) for name in token.atoms}
    return Identity(token.id, atoms, token.level, token.ladder, token.allow_hosts)


def _basic(credential: str) -> tuple[str, ...]:
    try:
        user, _, password = base64.b64decode(credential, validate=True).decode().partition(":")
    except ValueError:
        return ()
    return tuple(one for one in (password, user) if one)
