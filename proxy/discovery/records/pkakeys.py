"""The Ed25519 keys that AID records name, as unpadded base64url (AID, `pka` of aid2; RFC 8032, RFC 8037)."""

from __future__ import annotations

import hashlib
from base64 import b64decode, urlsafe_b64encode
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.trust.signatures.keys import ed25519_verifies, is_small_order

_KEY_OCTETS: Final = 32


class KeyReason(StrEnum):
    """Why a text is no usable key."""

    ENCODING = "encoding"
    LENGTH = "length"
    SMALL_ORDER = "small_order"


class KeyRefused(ValueError):
    """The text is no usable key; `detail` repeats nothing of it."""

    def __init__(self, reason: KeyReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 public key (RFC 8032 §5.1.5), 32 octets, not of small order when made by `parse_key`."""

    octets: bytes

    @property
    def text(self) -> str:
        """Unpadded base64url: the `k` of a record and the `x` of a JWK."""
        return base64url(self.octets)

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether this key made the signature (64 octets) of the message."""
        return ed25519_verifies(self.octets, signature, message)


def parse_key(text: str) -> PublicKey:
    """The key of an aid2 record: canonical unpadded base64url of 32 octets. Raises KeyRefused."""
    try:
        octets = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise KeyRefused(KeyReason.ENCODING, "The key is not base64url.") from None
    if base64url(octets) != text:
        raise KeyRefused(KeyReason.ENCODING, "The key is not unpadded base64url in its one canonical form.")
    if len(octets) != _KEY_OCTETS:
        raise KeyRefused(KeyReason.LENGTH, f"The key has {len(octets)} octets, not {_KEY_OCTETS}.")
    if is_small_order(octets):
        raise KeyRefused(KeyReason.SMALL_ORDER, "The key is of small order, so anyone can sign for it.")
    return PublicKey(octets)


def thumbprint(key: PublicKey) -> str:
    """The JWK thumbprint by SHA-256, unpadded base64url (RFC 7638, RFC 8037 §2): the `keyid` of a proof."""
    members = f'{{"crv":"Ed25519","kty":"OKP","x":"{key.text}"}}'
    return base64url(hashlib.sha256(members.encode()).digest())


def base64url(octets: bytes) -> str:
    """Unpadded base64url (RFC 4648 §5)."""
    return urlsafe_b64encode(octets).decode().rstrip("=")
