"""The seam between fetching documents and judging who signed them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from proxy.caching.vouching import Vouching
from proxy.discovery.classes import DocumentClass
from proxy.http.fields import Fields
from proxy.http.targets import Target


class Keeping(Enum):
    """Whether what a document says may be remembered."""

    MAY = "may"
    MUST_NOT = "must-not"
    """Its publisher forbids it; what was remembered before is out of date all the same."""
    NOT_FOR_OTHERS = "not-for-others"
    """It is due to one client, and says nothing about what others get."""


@dataclass(frozen=True, slots=True)
class Document:
    """What an origin answered for a target of a known class; `body` as it came, content coding included."""

    target: Target
    document_class: str
    status: int
    fields: Fields
    body: bytes = field(repr=False)


class Voucher(Protocol):
    """Judges what an origin sent."""

    async def vouch(self, document: Document, keeping: Keeping) -> Vouching | None:
        """What vouches for `document`; None where nothing but the way it came can. Never raises."""
        ...

    async def remembers(self, target: Target) -> bool:
        """Whether the manifest at `target` may be remembered, which its origin may end. Never raises."""
        ...

    async def withdrawn(self, target: Target) -> None:
        """The origin itself says that there is no document at `target`, or not any more. Never raises."""
        ...


class DomainTrust(Protocol):
    """What discovery asks about the domain it looks into."""

    async def vouch_for(
        self, domain: str, target: Target, body: bytes, document_class: DocumentClass = DocumentClass.MANIFEST
    ) -> Vouching | None:
        """What a signature of `domain` makes of a document that lies elsewhere, None where there is none.

        Never raises.
        """
        ...

    async def dns_did_seen(self, domain: str, did: str | None) -> bool:
        """Note the DID that DNS names for `domain`; whether it is another than the pinned one. Never raises."""
        ...
