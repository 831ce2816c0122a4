"""Seals: members that a document, or a part of one, is signed by. What is sealed is not edited.

A seal is told by its name alone. Whether it holds, and what it covers, is not looked into: a document left as it
came is never the worse for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SEALED: Final = frozenset({"signature", "signatures", "proof", "proofs", "jws"})
"""The names: signatures (SIG-1, A2A-4) and proofs, whatever their shape and whatever they stand in."""

# From a document to an entry of a list in it, and on to the publisher of that.
_STEPS: Final = 2


def has_seal(members: Mapping[str, object]) -> bool:
    """Whether an object has a seal of its own that is not empty."""
    return not SEALED.isdisjoint(members) and any(map(members.get, SEALED))


def is_sealed(members: Mapping[str, object]) -> bool:
    """Whether an object is sealed, or an object in it or in a list in it, or one in these in turn."""
    objects = [members]
    for _ in range(_STEPS):
        inner: list[Mapping[str, object]] = []
        for one in objects:
            if has_seal(one):
                return True
            for member in one.values():
                if isinstance(member, dict):
                    inner.append(member)
                elif isinstance(member, list):
                    inner += [element for element in member if isinstance(element, dict)]
        objects = inner
    return any(map(has_seal, objects))
