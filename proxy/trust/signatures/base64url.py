"""Unpadded base64url (RFC 4648 §5, RFC 7515 §2) in its one canonical form."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode


def encode(octets: bytes) -> str:
    """The text of `octets`, without padding."""
    return urlsafe_b64encode(octets).decode().rstrip("=")


def decode(text: str) -> bytes:
    """The octets that `text` spells.

    Raises ValueError for padding, other characters and bits that are left over: two texts never spell the same.
    """
    octets = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if encode(octets) != text:
        raise ValueError("not canonical")
    return octets
