"""Content identifiers, as mirrors are named by them (TRUST.md §7.1).

One identifier has many texts: several bases, upper and lower case, version 0 and 1. Here each text has to be the
canonical one of its base, and `Cid.text` is the same for all of them, so that equal content has one name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from multiformats import CID

LONGEST: Final = 128

_SHA2_256: Final = 0x12
_SHA2_256_OCTETS: Final = 32
_CONTENT_CODECS: Final = frozenset({0x55, 0x70, 0x0129, 0x0200})  # raw, dag-pb, dag-json, json
_VERSION_0: Final = "Qm"
_BASES: Final = frozenset("bBzkK")


class CidReason(StrEnum):
    """Why a text is no content identifier."""

    LENGTH = "length"
    BASE = "base"
    ENCODING = "encoding"
    STRUCTURE = "structure"
    DIGEST_LENGTH = "digest-length"


class MalformedCid(ValueError):
    """The text is no content identifier; `detail` repeats nothing of it."""

    def __init__(self, reason: CidReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Cid:
    """A content identifier in parts; `codec` and `hash_function` are multicodec codes.

    `text` is version 1 in lower-case base32, whatever the identifier was written in.
    """

    version: int
    codec: int
    hash_function: int
    digest: bytes
    text: str

    @property
    def names_content(self) -> bool:
        """Whether bytes can be held against it: a SHA-256 of a block of a kind that a file may be made of."""
        return self.hash_function == _SHA2_256 and self.codec in _CONTENT_CODECS


def parse_cid(text: str) -> Cid:
    """The identifier that `text` spells in canonical form. Raises MalformedCid.

    Version 0 is bare base58btc; version 1 is in base32 or base36 of one case, or in base58btc.
    """
    if len(text) > LONGEST:
        raise MalformedCid(CidReason.LENGTH, f"A content identifier has at most {LONGEST} characters.")
    if not text.startswith(_VERSION_0) and text[:1] not in _BASES:
        raise MalformedCid(
            CidReason.BASE, "The text begins like no content identifier in base32, base36 or base58."
        )
    if not (text.isascii() and text.isalnum()):
        raise MalformedCid(CidReason.ENCODING, "The text has a character of no base.")
    decoded = _decode(text)
    if decoded.encode() != text:
        raise MalformedCid(CidReason.ENCODING, "The text is not the canonical one of its base.")
    return _checked(decoded)


def _decode(text: str) -> CID:
    try:
        return CID.decode(text)
    except (ValueError, LookupError):
        detail = "The octets are not version, codec, hash function and digest."
        raise MalformedCid(CidReason.STRUCTURE, detail) from None


def _checked(decoded: CID) -> Cid:
    code, digest = decoded.hashfun.code, bytes(decoded.raw_digest)
    if code == _SHA2_256 and len(digest) != _SHA2_256_OCTETS:
        raise MalformedCid(CidReason.DIGEST_LENGTH, f"A SHA-256 digest has {_SHA2_256_OCTETS} octets.")
    text = CID("base32", 1, decoded.codec, decoded.digest).encode()
    return Cid(decoded.version, decoded.codec.code, code, digest, text)
