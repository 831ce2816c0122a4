"""One manifest as its domain has published it, and what mirrors have brought of it since (TRUST.md §5, §6.4).

What the domain itself published stays known while a mirror's newer copy stands above it. Mirrors that contradict
each other cost nothing but what they brought: the domain's own version is the last one known to be good, and what
it publishes next ends every contest. Invariants: only the domain's own word makes a manifest known; what is carried
is signed; of a body nothing is kept but the head of its list of mirrors, so that no publisher's record grows large.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from proxy.trust.rollback import MOST_CLAIMS, Accepted, Baseline, Contested, Version, equivocates, judge

MIRRORS: Final = "x-independent-mirrors"
# As many as are ever read of a list, and room for as long as their URLs get.
_MOST_LISTED: Final = 64
MOST_LISTING: Final = 64 * 1024


class ManifestEvent(StrEnum):
    """What came of accepting a manifest."""

    FIRST = "first"
    SAME = "same"
    NEWER = "newer"
    ORIGIN_REGRESSED = "origin_regressed"
    """The domain has published something that is not above its last version; it is the new baseline."""
    SUPERSEDED = "superseded"
    """A mirror's copy that is not above what is known by now, or of nothing that is known; nothing changed."""
    EQUIVOCATION = "equivocation"
    """A mirror's copy that claims to be the same version as another one: neither is believed."""


@dataclass(frozen=True, slots=True)
class Edition:
    """A manifest as received: `listing`, the mirrors it lists as a JSON array, or b"" without any; `sha256` of what
    was received, in hex; `accepted_at` in Unix seconds.
    """

    listing: bytes
    sha256: str
    version: Version
    signed: bool
    accepted_at: float

    @property
    def mirrors(self) -> list[object]:
        """The mirrors it lists, as they stand there."""
        return list(json.loads(self.listing)) if self.listing else []


@dataclass(frozen=True, slots=True)
class KnownManifest:
    """A manifest last known to be good. `published` is the domain's own, `carried` a mirror's that stands above it.

    `claims` are versions that mirrors have brought different copies of.
    """

    url: str
    published: Edition
    carried: Edition | None = None
    claims: tuple[Version, ...] = ()

    @property
    def current(self) -> Edition:
        """The newest one known to be good."""
        return self.published if self.carried is None else self.carried

    @property
    def version(self) -> Version:
        """That of the newest one."""
        return self.current.version

    @property
    def signed(self) -> bool:
        """Whether the newest one is signed."""
        return self.current.signed

    @property
    def mirrors(self) -> list[object]:
        """Those that the newest one lists, as they stand there."""
        return self.current.mirrors

    @property
    def lists_mirrors(self) -> bool:
        """Whether there is a mirror to ask, now or once what was carried is given up."""
        return any(edition.listing for edition in (self.published, self.carried) if edition is not None)

    @property
    def baseline(self) -> Baseline:
        """What a mirror's copy is held against."""
        return Contested(self.version, self.claims) if self.claims else self.version

    def is_of(self, body: bytes) -> bool:
        """Whether the newest one is `body`."""
        return self.current.sha256 == _sha256(body)

    def is_published_as(self, body: bytes, *, signed: bool) -> bool:
        """Whether `body` is what the domain published last, and nothing has come up since."""
        is_settled = self.carried is None and not self.claims
        return is_settled and self.published.signed == signed and self.is_of(body)


@dataclass(frozen=True, slots=True)
class Publication:
    """A manifest after something came of it; None for one that is not known."""

    manifest: KnownManifest | None
    event: ManifestEvent


def edition(body: bytes, version: Version, *, signed: bool, accepted_at: float) -> Edition:
    """What is kept of a manifest, which is JSON and an object."""
    return Edition(_listing(body), _sha256(body), version, signed, accepted_at)


def published(known: KnownManifest | None, url: str, new: Edition) -> Publication:
    """After the domain itself has published `new`. An unsigned one dates from when its core was first seen."""
    if known is None:
        return Publication(KnownManifest(url, new), ManifestEvent.FIRST)
    if not new.signed and known.version.core == new.version.core:
        # What is dated later than now was dated by a clock that has been set back.
        created = min(known.version.created, new.accepted_at)
        new = replace(new, version=replace(known.version, created=created))
    judgement = judge(new.version, known.version)
    event = _event(judgement) if isinstance(judgement, Accepted) else ManifestEvent.ORIGIN_REGRESSED
    return Publication(KnownManifest(url, new), event)


def carried(known: KnownManifest | None, new: Edition) -> Publication:
    """After a mirror has brought `new`, with a good proof.

    One of the same version replaces the known one, and so its list of mirrors, only if it was signed later.
    """
    if known is None:
        return Publication(None, ManifestEvent.SUPERSEDED)
    judgement = judge(new.version, known.baseline)
    if not isinstance(judgement, Accepted):
        return contradicted(known, new.version)
    if judgement.is_newer or new.version.created > known.version.created:
        known = replace(known, carried=new)
    return Publication(known, _event(judgement))


def contradicted(known: KnownManifest | None, new: Version) -> Publication:
    """After a mirror has brought a copy with a good proof and of version `new`, which was rejected for its version.

    Where it equivocates with what another mirror brought, that is given up too, and both claims are noted.
    """
    if known is None or not equivocates(new, known.version):
        return Publication(known, ManifestEvent.SUPERSEDED)
    if known.carried is not None:
        claims = (*known.claims, known.carried.version, new)[:MOST_CLAIMS]
        known = replace(known, carried=None, claims=claims)
    return Publication(known, ManifestEvent.EQUIVOCATION)


def _event(judgement: Accepted) -> ManifestEvent:
    return ManifestEvent.NEWER if judgement.is_newer else ManifestEvent.SAME


def _listing(body: bytes) -> bytes:
    """The head of the list of mirrors of a manifest; what is too long to be kept ends it."""
    listed = json.loads(body).get(MIRRORS)
    kept: list[str] = []
    octets = 0
    for item in listed[:_MOST_LISTED] if isinstance(listed, list) else ():
        text = json.dumps(item)
        octets += len(text)
        if octets > MOST_LISTING:
            break
        kept.append(text)
    return f"[{','.join(kept)}]".encode() if kept else b""


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
