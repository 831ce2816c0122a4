"""How reading one document ended, and how it was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from proxy.caching.vouching import TrustState, Vouching
from proxy.discovery.classes import DocumentClass
from proxy.discovery.gate import NotADocument, read_document
from proxy.discovery.jsontext import JsonDocument
from proxy.discovery.pages.alternatives import Alternative
from proxy.discovery.redirects import Hop
from proxy.http.fields import NO_FIELDS, Fields, essence
from proxy.http.messages import Realm, ResponseHead
from proxy.http.secrets import masked
from proxy.http.targets import Target

OVER_BUDGET: Final = "over-budget"
CENTRAL: Final = "central-service"
CENTRAL_DETAIL: Final = "A central service: discovery does without."


class ReadOutcome(StrEnum):
    """How a reading ended."""

    FOUND = "found"
    ABSENT = "absent"
    WRONG_KIND = "wrong-kind"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Reading:
    """One document, or why there is none.

    `target` is where the redirects `hops` led; `body` has its content coding removed; `cache` tells how the store
    took part ("hit", "stale", "revalidated", "miss", "remembered"); `fresh_until` is in Unix seconds.
    `needs_proof`: a redirect led out of the registrable domain, and the document has to vouch for the one asked.
    """

    asked: Target
    target: Target
    document_class: DocumentClass
    outcome: ReadOutcome
    status: int | None = None
    fields: Fields = NO_FIELDS
    body: bytes = b""
    cache: str = "miss"
    fetched_at: float = 0.0
    fresh_until: float = math.inf
    hops: tuple[Hop, ...] = ()
    needs_proof: bool = False
    reason: str = ""
    detail: str = ""
    vouching: Vouching | None = None
    """What vouches for it, as the gateway tells; None for what is of no class, or was not answered."""
    alternatives: tuple[Alternative, ...] = ()
    """What is offered in its place: the choices of a 300, the successor that a 409 or 410 suggests."""
    fragment: str = ""
    """Where in the document at `target` this one stands, as a JSON pointer; "" for the whole."""

    def refused(self, reason: str, detail: str) -> Reading:
        """The same, but that it may not be read, or not any further."""
        return replace(self, outcome=ReadOutcome.REFUSED, reason=reason, detail=detail)

    @property
    def is_found(self) -> bool:
        """Whether there is a document."""
        return self.outcome is ReadOutcome.FOUND

    @property
    def is_signed_well(self) -> bool:
        """Whether a good signature vouches for it."""
        return self.vouching is not None and self.vouching.state in (TrustState.VERIFIED, TrustState.STALE_TRUST)

    @property
    def uris(self) -> frozenset[str]:
        """What was asked for on the way."""
        return frozenset((self.asked.uri, *(hop.target.uri for hop in self.hops)))

    @property
    def is_gone(self) -> bool:
        """Whether the origin says 410."""
        return self.status == 410

    @property
    def media_type(self) -> str | None:
        """The declared type, without parameters and in lower case."""
        return essence(self.fields.get("content-type")) or None

    @property
    def place(self) -> str:
        """Where it was read from in the end: what tells it from others, and not for showing."""
        return f"{self.target.uri}#{self.fragment}" if self.fragment else self.target.uri

    @property
    def url(self) -> str:
        """Where it was read from in the end, as it may be shown."""
        return f"{shown(self.target)}#{self.fragment}" if self.fragment else shown(self.target)


def document_of(reading: Reading) -> JsonDocument:
    """What the JSON document of a reading holds: it was found, so its gate let it through."""
    document = read_document(reading.document_class, reading.body)
    assert isinstance(document, JsonDocument)
    return document


def shown(target: Target) -> str:
    """A target as answers show it."""
    return masked(target.uri)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a target is not asked for; `reason` is stable, `detail` for people."""

    reason: str
    detail: str


Judge = Callable[[ResponseHead, bytes], NotADocument | None]
Admit = Callable[[Target], Refused | None]


@dataclass(frozen=True, slots=True)
class Manner:
    """How a document is asked for.

    `site`: a host whose own word it is that the target is of its class; on that host the cache then treats the
    target as such. `fields` go along with the request. `judge` is a check beside the class's gate. `admit` tells
    why redirects may not lead somewhere. `stored_only`: the origin is known not to answer, and only what is stored
    may do so.
    """

    method: str = "GET"
    site: str | None = None
    accept: str | None = None
    fields: Fields = NO_FIELDS
    realm: Realm = Realm.PUBLIC
    judge: Judge | None = None
    admit: Admit | None = None
    stored_only: bool = False


PLAINLY: Final = Manner()
