"""Content identifiers (CID): bytes named by their hash (TRUST.md §7.1).

One identifier has many texts: several bases, upper and lower case, version 0 and 1. Here each text has to be the
canonical one of its base, and `Cid.text` is the same for all of them, so that equal content has one name.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.trust.content.varints import MalformedVarint, read_varint, to_varint
from proxy.trust.signatures import base58

LONGEST: Final = 128

RAW: Final = 0x55
DAG_PB: Final = 0x70
LIBP2P_KEY: Final = 0x72
IDENTITY: Final = 0x00
SHA2_256: Final = 0x12

_DAG_JSON: Final = 0x0129
_JSON: Final = 0x0200
_CONTENT_CODECS: Final = frozenset({RAW, DAG_PB, _DAG_JSON, _JSON})
_SHA2_256_OCTETS: Final = 32
_MOST_IDENTITY_OCTETS: Final = 128
_VERSION_0: Final = b"\x12\x20"
_VERSION_0_TEXT: Final = "Qm"
_BASE36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
# RFC 4648 base32 in the digits of int(), which are those of base32hex.
_BASE32: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz234567", "0123456789abcdefghijklmnopqrstuv", "0189")


class CidReason(StrEnum):
    """Why a text or a run of octets is no content identifier."""

    LENGTH = "length"
    BASE = "base"
    ENCODING = "encoding"
    STRUCTURE = "structure"
    DIGEST_LENGTH = "digest-length"


class MalformedCid(ValueError):
    """It is no content identifier; `detail` repeats nothing of it."""

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
        return self.hash_function == SHA2_256 and self.codec in _CONTENT_CODECS

    @property
    def octets(self) -> bytes:
        """The binary form in its own version, as blocks refer to each other."""
        if self.version == 0:
            return _VERSION_0 + self.digest
        return _version_1(self.codec, self.hash_function, self.digest)


def parse_cid(text: str) -> Cid:
    """The identifier that `text` spells in canonical form. Raises MalformedCid.

    Version 0 is bare base58btc; version 1 is in base32 or base36 of one case, or in base58btc.
    """
    if len(text) > LONGEST:
        raise MalformedCid(CidReason.LENGTH, f"A content identifier has at most {LONGEST} characters.")
    if text.startswith(_VERSION_0_TEXT):
        return _parse_version_0(_base58(text))
    base = text[:1]
    if base not in {"b", "B", "k", "K", "z"}:
        raise MalformedCid(
            CidReason.BASE, "The text begins like no content identifier in base32, base36 or base58."
        )
    if base == "z":
        return _parse_version_1(_base58(text[1:]))
    if not (text.isascii() and text.isalnum() and (text.islower() or text.isupper())):
        raise MalformedCid(CidReason.ENCODING, "The text mixes cases or has a character of no base.")
    digits = text[1:].lower()
    return _parse_version_1(_base32(digits) if base in "bB" else _base36(digits))


def decode_cid(octets: bytes) -> Cid:
    """The identifier in binary form, as blocks refer to each other. Raises MalformedCid."""
    if octets.startswith(_VERSION_0):
        return _parse_version_0(octets)
    return _parse_version_1(octets)


def cid_of(octets: bytes, codec: int = RAW) -> Cid:
    """The identifier of a block: version 1, by its SHA-256."""
    return _cid(1, codec, SHA2_256, hashlib.sha256(octets).digest())


def to_base36(cid: Cid) -> str:
    """Version 1 in base36, the customary text of an IPNS name."""
    number = int.from_bytes(_version_1(cid.codec, cid.hash_function, cid.digest), "big")
    digits = []
    while number:
        number, digit = divmod(number, 36)
        digits.append(_BASE36[digit])
    return "k" + "".join(reversed(digits))


def _parse_version_0(octets: bytes) -> Cid:
    digest = octets[len(_VERSION_0) :]
    if not octets.startswith(_VERSION_0) or len(digest) != _SHA2_256_OCTETS:
        raise MalformedCid(CidReason.STRUCTURE, "Version 0 of an identifier is a SHA-256 digest and its prefix.")
    return _cid(0, DAG_PB, SHA2_256, digest)


def _parse_version_1(octets: bytes) -> Cid:
    try:
        version, codec_at = read_varint(octets, 0)
        codec, function_at = read_varint(octets, codec_at)
        function, length_at = read_varint(octets, function_at)
        length, digest_at = read_varint(octets, length_at)
    except MalformedVarint:
        detail = "The octets are not version, codec, hash function and digest."
        raise MalformedCid(CidReason.STRUCTURE, detail) from None
    if version != 1:
        raise MalformedCid(CidReason.STRUCTURE, "The identifier is of no known version.")
    digest = octets[digest_at:]
    if length != len(digest):
        raise MalformedCid(CidReason.STRUCTURE, "The digest has not the length that the identifier states.")
    if function == SHA2_256 and length != _SHA2_256_OCTETS:
        raise MalformedCid(CidReason.DIGEST_LENGTH, f"A SHA-256 digest has {_SHA2_256_OCTETS} octets.")
    if length > _MOST_IDENTITY_OCTETS:
        raise MalformedCid(CidReason.DIGEST_LENGTH, f"A digest has at most {_MOST_IDENTITY_OCTETS} octets.")
    return _cid(1, codec, function, digest)


def _cid(version: int, codec: int, function: int, digest: bytes) -> Cid:
    octets = _version_1(codec, function, digest)
    text = base64.b32encode(octets).decode().rstrip("=").lower()
    return Cid(version, codec, function, digest, f"b{text}")


def _version_1(codec: int, function: int, digest: bytes) -> bytes:
    return b"\x01" + to_varint(codec) + to_varint(function) + to_varint(len(digest)) + digest


def _base32(digits: str) -> bytes:
    """The octets of base32 without padding (RFC 4648), whose unused bits are zero."""
    octets, unused = divmod(5 * len(digits), 8)
    translated = digits.translate(_BASE32)
    if len(translated) != len(digits) or not digits:
        raise MalformedCid(CidReason.ENCODING, "The text has a character of no base, or none.")
    number = int(translated, 32)
    if unused >= 5 or number & ((1 << unused) - 1):
        raise MalformedCid(CidReason.ENCODING, "The text is not the canonical one of its base.")
    return (number >> unused).to_bytes(octets, "big")


def _base36(digits: str) -> bytes:
    # The first octet is the version, so that no digit zero leads.
    if not digits or digits[0] == "0":
        raise MalformedCid(CidReason.STRUCTURE, "The identifier is of no known version.")
    number = int(digits, 36)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _base58(text: str) -> bytes:
    try:
        return base58.decode(text, LONGEST)
    except ValueError:
        raise MalformedCid(CidReason.ENCODING, "The text has a character of no base.") from None
