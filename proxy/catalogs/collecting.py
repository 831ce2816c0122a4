"""What the formats have in common while they are read: the entries found so far, and whether anything is sealed."""

from __future__ import annotations

from typing import Final

from proxy.catalogs.catalog import MOST_ENTRIES, Entry, Pointer
from proxy.catalogs.keys import NoKey, key_of, plain_key
from proxy.discovery.jsontext import JsonObject
from proxy.http.targets import Target

_SEALS: Final = ("signature", "signatures", "proof")
_TRUST: Final = ("trustManifest", "trustManifests")
SEALED: Final = frozenset({*_SEALS, *_TRUST})
"""Members of which one has a signature, where an object is signed."""
_LONGEST_CLAIM: Final = 64


class Collector:
    """Collects the entries of the document at `base`."""

    __slots__ = ("_base", "entries", "is_sealed", "limit_note", "next_cursor")

    def __init__(self, base: Target) -> None:
        self._base = base
        self.entries: list[Entry] = []
        self.is_sealed = False
        self.limit_note: str | None = None
        self.next_cursor: str | None = None

    def add(
        self,
        url: object,
        pointer: Pointer,
        owner: int,
        subject: object,
        hint: object = None,
        updated_at: object = None,
    ) -> None:
        """One URL more, if it is one; the arguments are members as they stand in the document, for `Entry`.

        A URL without a subject is its own.
        """
        if not isinstance(url, str) or not url:
            return
        entries = self.entries
        if len(entries) >= MOST_ENTRIES:
            self.limit_note = f"Only the first {MOST_ENTRIES} URLs are read."
            return
        key, no_key = plain_key(url), None
        if key is None:
            looked_at = key_of(url, self._base)
            key, no_key = (None, looked_at) if isinstance(looked_at, NoKey) else (looked_at, None)
        if not isinstance(subject, str) or not subject:
            subject = key or url
        if not isinstance(hint, str) or len(hint) > _LONGEST_CLAIM:
            hint = None
        if not isinstance(updated_at, str) or len(updated_at) > _LONGEST_CLAIM:
            updated_at = None
        # As `Entry(…)` does it, in half the time.
        values = (url, key, subject, pointer, owner, hint, updated_at, no_key)
        entries.append(tuple.__new__(Entry, values))

    def name_of(self, reference: str) -> str:
        """A reference that tells what something is about, in a form that is the same in every catalog.

        The empty one is the document itself.
        """
        key = key_of(reference or self._base.uri, self._base)
        return reference if isinstance(key, NoKey) else key

    def look_for_seals(self, value: JsonObject) -> None:
        """Note whether an object is signed, itself or by a trust manifest (SIG-1, A2A-4)."""
        if SEALED.isdisjoint(value):
            return
        manifests = [value.get(name) for name in _TRUST]
        listed = manifests[1] if isinstance(manifests[1], list) else []
        self.is_sealed = self.is_sealed or any(map(_is_signed, [value, manifests[0], *listed]))


def _is_signed(value: object) -> bool:
    return isinstance(value, dict) and any(value.get(name) for name in _SEALS)
