"""What every store agrees on: which responses are the same variant, and what a persistent store can be asked."""

from __future__ import annotations

from typing import Protocol

from proxy.caching.stored import StoredResponse
from proxy.ports import Store

Variant = tuple[tuple[str, ...], tuple[str | None, ...]]
"""Selecting field names and their values in the request (RFC 9111 §4.1)."""


def variant_of(stored: StoredResponse) -> Variant:
    """Of two responses under one key with the same variant, the newer replaces the older."""
    return stored.vary, stored.selecting


def is_same_response(one: StoredResponse, other: StoredResponse) -> bool:
    """Whether both came of one exchange, whatever purges have made of them since."""
    return (variant_of(one), one.exchange, one.body) == (variant_of(other), other.exchange, other.body)


class VariantStore(Store, Protocol):
    """A store that can also list and forget single variants. Every method may raise StoreUnavailable."""

    async def open(self) -> None:
        """Find out whether it can be used; every other method opens it too."""
        ...

    async def variants(self, key: str) -> tuple[StoredResponse, ...]:
        """Every variant under `key`, whatever the request, oldest first."""
        ...

    async def keys(self, host: str | None, limit: int) -> tuple[str, ...]:
        """At most `limit` of the keys under which something is, or was lately, held: of a host scope, or of all."""
        ...

    async def unlist(self, host: str | None) -> None:
        """Leave a host scope, or everything, out of `keys`: it was purged."""
        ...

    async def discard(self, key: str, stored: StoredResponse) -> None:
        """Remove what is held under `key` for the variant of `stored`."""
        ...
