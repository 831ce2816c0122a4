"""Redirects of discovery documents: how far each format follows them, and what they say of a move (OV-2 to OV-9).

Every hop is checked anew; a temporary hop ends what could be recorded. Where a document may leave its registrable
domain only with proof, the hop is followed provisionally: what it leads to counts once it vouches for the domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from types import MappingProxyType
from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.names import same_site
from proxy.discovery.notes import admit_bounded
from proxy.discovery.urls import UrlRefused
from proxy.http.targets import Target

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
PERMANENT: Final = frozenset({301, 308})


class Reach(StrEnum):
    """How far redirects may lead."""

    NOWHERE = "nowhere"
    SAME_HOST = "same-host"
    SAME_ORIGIN = "same-origin"
    SAME_SITE = "same-site"
    SITE_OR_PROVEN = "site-or-proven"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, slots=True)
class RedirectPolicy:
    """A format's reach and the most hops it follows."""

    reach: Reach
    hops: int


NO_REDIRECTS: Final = RedirectPolicy(Reach.NOWHERE, 0)
_IDENTITY: Final = RedirectPolicy(Reach.SITE_OR_PROVEN, 5)
_OPEN: Final = RedirectPolicy(Reach.ANYWHERE, 5)

# OV-9, a row per format.
POLICIES: Final[Mapping[DocumentClass, RedirectPolicy]] = MappingProxyType(
    {
        DocumentClass.MANIFEST: _IDENTITY,
        DocumentClass.AI_CATALOG: _IDENTITY,
        DocumentClass.AGENT_CARD: _IDENTITY,
        DocumentClass.MCP_SERVER_CARD: _IDENTITY,
        DocumentClass.API_CATALOG: _OPEN,
        DocumentClass.AGENT_SKILLS: _OPEN,
        DocumentClass.OAUTH_AS: RedirectPolicy(Reach.SAME_ORIGIN, 3),
        DocumentClass.OAUTH_PR: RedirectPolicy(Reach.SAME_SITE, 3),
        DocumentClass.DID: RedirectPolicy(Reach.SAME_HOST, 3),
        DocumentClass.OPENAPI: _OPEN,
        DocumentClass.LLMS: _OPEN,
        DocumentClass.ROBOTS: _OPEN,
        DocumentClass.SITEMAP: _OPEN,
        DocumentClass.AID: NO_REDIRECTS,
        DocumentClass.OTHER: _OPEN,
    }
)


class RedirectReason(StrEnum):
    """Why a redirect is not followed; the reasons of `urls` stand beside these."""

    NOT_FOLLOWED = "redirect-refused"
    LOOP = "redirect_loop"
    TOO_MANY = "too_many_redirects"
    CROSS_DOMAIN = "cross-domain"
    NO_LOCATION = "no-location"


@dataclass(frozen=True, slots=True)
class Hop:
    """One redirect that was answered: from where, with which status, to where."""

    source: Target
    status: int
    target: Target

    @property
    def is_permanent(self) -> bool:
        """Whether the origin says that the document has moved for good."""
        return self.status in PERMANENT


@dataclass(frozen=True, slots=True)
class Follow:
    """Go on to `hop.target`; `needs_proof` when it lies outside the registrable domain."""

    hop: Hop
    needs_proof: bool


@dataclass(frozen=True, slots=True)
class NotFollowed:
    """Stop here; `reason` is a RedirectReason or UrlReason value."""

    reason: str
    detail: str


def next_hop(
    policy: RedirectPolicy, asked: Target, hops: Sequence[Hop], current: Target, status: int, location: str | None
) -> Follow | NotFollowed:
    """What to do about a redirect from `current`, which `hops` led to from `asked`."""
    if policy.reach is Reach.NOWHERE:
        return NotFollowed(RedirectReason.NOT_FOLLOWED, "This format follows no redirects.")
    if not location:
        return NotFollowed(RedirectReason.NO_LOCATION, "The redirect says nowhere to go.")
    try:
        target = admit_bounded(location, current)
    except UrlRefused as refused:
        return NotFollowed(refused.reason, refused.detail)
    if any(target == seen for seen in (asked, *(hop.target for hop in hops))):
        return NotFollowed(RedirectReason.LOOP, "The redirects go round in a circle.")
    if len(hops) >= policy.hops:
        return NotFollowed(RedirectReason.TOO_MANY, f"More than {policy.hops} redirects.")
    is_within = _is_within(policy.reach, asked, target)
    if not is_within and policy.reach is not Reach.SITE_OR_PROVEN:
        return NotFollowed(RedirectReason.CROSS_DOMAIN, f"The redirect leads out of the {_BOUNDS[policy.reach]}.")
    return Follow(Hop(current, status, target), needs_proof=not is_within)


_BOUNDS: Final = {
    Reach.SAME_HOST: "host",
    Reach.SAME_ORIGIN: "origin",
    Reach.SAME_SITE: "registrable domain",
}


def _is_within(reach: Reach, asked: Target, target: Target) -> bool:
    match reach:
        case Reach.SAME_HOST:
            return target.host == asked.host
        case Reach.SAME_ORIGIN:
            return target.origin == asked.origin
        case Reach.SAME_SITE | Reach.SITE_OR_PROVEN:
            return same_site(target.host, asked.host)
        case _:
            return reach is Reach.ANYWHERE


def moves(hops: Sequence[Hop]) -> tuple[Hop, ...]:
    """The leading run of permanent hops: all that says of a move what lasts (OV-2)."""
    return tuple(takewhile(lambda hop: hop.is_permanent, hops))
