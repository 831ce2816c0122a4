"""The seam between fetching documents and judging who signed them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from proxy.caching.vouching import Vouching
from proxy.http.fields import Fields
from proxy.http.targets import Target


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

    async def vouch(self, document: Document, *, may_keep: bool) -> Vouching | None:
        """What vouches for `document`; None where nothing but the way it came can.

        `may_keep`: what is learnt from it may be remembered. Never raises.
        """
        ...


class DomainTrust(Protocol):
    """What discovery asks about the domain it looks into."""

    async def vouch_for(self, domain: str, target: Target, body: bytes) -> Vouching | None:
        """What a signature of `domain` makes of a manifest that lies elsewhere, None where there is none.

        Never raises.
        """
        ...

    async def dns_did_seen(self, domain: str, did: str | None) -> bool:
        """Note the DID that DNS names for `domain`; whether it is another than the pinned one. Never raises."""
        ...
