"""Which variants a persistent store holds under one key, so that a look-up reads only the one it needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from proxy.caching.vary import selecting_values
from proxy.http.fields import Fields
from proxy.stores.variants import Variant


@dataclass(frozen=True, slots=True)
class VariantIndex:
    """The variants under a key, longest listed first, by the digest in their storage key. `until`: Unix seconds."""

    until: float = 0.0
    variants: tuple[tuple[tuple[str, ...], str], ...] = ()

    @property
    def digests(self) -> tuple[str, ...]:
        """The digest of each variant."""
        return tuple(digest for _, digest in self.variants)

    def matching(self, request: Fields) -> Iterator[str]:
        """Digests that `request` selects: at most one for each set of selecting fields."""
        listed = set(self.digests)
        for names in {names for names, _ in self.variants}:
            digest = digest_of((names, selecting_values(names, request)))
            if digest in listed:
                yield digest

    def with_variant(self, names: tuple[str, ...], digest: str, until: float) -> VariantIndex:
        """This index with one more variant at the end."""
        others = tuple(listed for listed in self.variants if listed[1] != digest)
        return VariantIndex(until, (*others, (names, digest)))


def digest_of(variant: Variant) -> str:
    """A short name for a variant, equal for equal variants."""
    return hashlib.sha256(json.dumps(variant).encode()).hexdigest()[:32]


def to_text(index: VariantIndex) -> str:
    """`index` as JSON."""
    return json.dumps([index.until, index.variants], separators=(",", ":"))


def parse_index(text: str) -> VariantIndex | None:
    """The index of a JSON text; None when it is none."""
    try:
        until, variants = json.loads(text)
        return VariantIndex(float(until), tuple((tuple(names), str(digest)) for names, digest in variants))
    except (ValueError, TypeError):
        return None
