"""The seam between fetching a document and judging who signed it."""

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
