"""A catalog as read, and its entries."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from proxy.catalogs.keys import NoKey
from proxy.catalogs.listing import ListingText
from proxy.discovery.classes import DocumentClass

MOST_ENTRIES: Final = 50_000
"""URLs of one catalog, or of one page of it, that are read."""

Pointer = tuple[str | int, ...]
"""The steps from the outermost value to one inside it, as those of a JSON pointer (RFC 6901)."""


class CatalogKind(StrEnum):
    """The formats (DISCOVERY_FORMATS.md §4.1, §4.4, §5.1, §5.4, §8)."""

    AI_CATALOG = "ai-catalog"
    LINKSET = "linkset"
    MCP_REGISTRY = "mcp-registry"
    CARDS = "cards"
    ANP = "anp"


class NotACatalog(Exception):
    """The octets are no catalog of any of these formats; `detail` says why and quotes nothing of them."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class Entry(NamedTuple):
    """One listed URL. A named tuple, because a catalog has tens of thousands of them.

    `url` is as written. `key` is what `record_url` makes of it; None, with the reason in `no_key`, where no record
    can be of it. `subject` is what it is a URL of, the same in every catalog. `pointer` leads to the URL in the
    document, and its first `owner` steps to what is removed with the last of its URLs. `hint` is the status that
    the catalog claims, such as "active" or "deleted", and `updated_at` the time; neither has any power, nor has
    `is_older`, that the registry knows a later version. `claimed` is the class that the document there is said to
    be of, None where that is not said or no document is to be there.
    """

    url: str
    key: str | None
    subject: str
    pointer: Pointer
    owner: int
    hint: str | None = None
    updated_at: str | None = None
    no_key: NoKey | None = None
    claimed: DocumentClass | None = None
    is_older: bool = False


@dataclass(frozen=True, slots=True)
class Catalog:
    """A document that lists URLs.

    `media_type` is what it is to be answered with. `is_signed`: it, or a part of it that lists URLs, is under a
    signature or a digest, so it is never edited. `next_cursor` leads to the next page of an MCP registry.
    `limit_note` is a sentence on what was not read, None where all was; the document holds that all the same.
    """

    kind: CatalogKind
    media_type: str
    source: ListingText
    entries: tuple[Entry, ...]
    is_signed: bool
    next_cursor: str | None
    limit_note: str | None

    @property
    def value(self) -> object:
        """The whole document, a JSON value in which every number is a `Number`."""
        return self.source.value
