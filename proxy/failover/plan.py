"""Whom to ask for a copy of a manifest, in which order, and who is not asked (TRUST.md §6.1).

Mirrors at https URLs come first, in the order of the manifest, then content by its hash. Planning asks nobody and
changes nothing: whether a breaker lets one through is decided again where the request is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from proxy.discovery.access.mirrors import (
    MOST_MIRRORS,
    HttpsMirror,
    IpfsMirror,
    Mirror,
    MirrorReason,
    RefusedMirror,
    read_mirrors,
)
from proxy.failover.attempts import Attempt, AttemptOutcome, AttemptReason, shown_url
from proxy.failover.breaker import CLOSED, Breaker, NotYet
from proxy.failover.gateways import Gateway
from proxy.http.targets import DEFAULT_PORTS, Target
from proxy.trust.reasons import Reason
from proxy.trust.verdict import CopySource

_WHERE: Final = "/x-independent-mirrors"
_IPFS: Final = "ipfs://"
_IPNS: Final = "ipns://"


@dataclass(frozen=True, slots=True)
class PlanRules:
    """What the operator lets a plan hold: gateways to ask for content, mirrors at most, ports of mirrors."""

    gateways: tuple[Gateway, ...] = ()
    most: int = MOST_MIRRORS
    ports: frozenset[int] = frozenset({DEFAULT_PORTS["https"]})


@dataclass(frozen=True, slots=True)
class Plan:
    """`candidates` for a copy of a manifest of `site`, to be asked in this order, and the mirrors left out."""

    site: Target
    candidates: tuple[Mirror, ...]
    skipped: tuple[Attempt, ...]


def plan(listed: object, site: Target, rules: PlanRules, breakers: Mapping[str, Breaker], now: float) -> Plan:
    """The plan for the list of mirrors, any JSON value, of a manifest of `site`.

    `breakers` are by authority and by URL.
    """
    texts = listed if isinstance(listed, list) else []
    mirrors = read_mirrors(texts, site, _WHERE)
    skipped: dict[int, str] = {refused.index: _refusal(refused) for refused in mirrors.refused}
    candidates: dict[str, Mirror] = {}
    for mirror in mirrors.usable:
        place = _place(mirror)
        if place in candidates:
            continue
        reason = _objection(mirror, rules, breakers, now)
        if reason is None and len(candidates) >= rules.most:
            reason = AttemptReason.TOO_MANY
        if reason is None:
            candidates[place] = mirror
        else:
            skipped[mirror.index] = reason
    # Sorting keeps the declared order within each kind.
    ordered = sorted(candidates.values(), key=lambda mirror: not isinstance(mirror, HttpsMirror))
    return Plan(site, tuple(ordered), tuple(_skipped(texts[index], skipped[index]) for index in sorted(skipped)))


def mirror_url(mirror: Mirror) -> str:
    """A mirror as it is shown: where it is, or what it is called."""
    return shown_url(_place(mirror))


def source_of(mirror: Mirror) -> CopySource:
    """What a copy from there is called."""
    return CopySource.MIRROR if isinstance(mirror, HttpsMirror) else CopySource.IPFS


def _place(mirror: Mirror) -> str:
    """The same text for the same place."""
    if isinstance(mirror, HttpsMirror):
        return mirror.target.uri
    if isinstance(mirror, IpfsMirror):
        return f"{_IPFS}{mirror.cid.text}{mirror.path}"
    return f"{_IPNS}{mirror.name.text}{mirror.path}"


def _objection(mirror: Mirror, rules: PlanRules, breakers: Mapping[str, Breaker], now: float) -> str | None:
    """Why a well-formed mirror is not asked; None when it is."""
    if isinstance(mirror, HttpsMirror):
        if mirror.target.port not in rules.ports:
            return Reason.MIRROR_INVALID
        keys = (mirror.target.authority, mirror.target.uri)
        is_open = any(isinstance(breakers.get(key, CLOSED).allow(now), NotYet) for key in keys)
        return AttemptReason.BREAKER_OPEN if is_open else None
    if mirror.path:
        return Reason.IPFS_PATH_UNSUPPORTED
    return None if rules.gateways else AttemptReason.NO_GATEWAY


def _refusal(refused: RefusedMirror) -> str:
    return AttemptReason.TOO_MANY if refused.reason is MirrorReason.TOO_MANY else Reason.MIRROR_INVALID


def _skipped(item: object, reason: str) -> Attempt:
    text = item if isinstance(item, str) else ""
    source = CopySource.IPFS if text[:7].lower() in (_IPFS, _IPNS) else CopySource.MIRROR
    return Attempt(source, shown_url(text), AttemptOutcome.SKIPPED, reason)
