"""Digests of artifacts as catalogs and indexes state them, `sha256:<hex>` (CAT-9, SK-4).

It is over the exact bytes with content coding removed and nothing else; of a value inside a document, over its JCS
form (RFC 8785). Only SHA-256 or stronger counts. A digest without a signature over it detects corruption and a
stale pair of index and artifact, nothing more.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.trust.reasons import Untrusted
from proxy.trust.signatures.canonical import canonical

_FORM: Final = re.compile(r"([a-z0-9-]{1,32}):([0-9A-Fa-f]{1,1024})")
_SIZES: Final = {name: hashlib.new(name).digest_size for name in ("sha256", "sha384", "sha512")}
_WEAK: Final = frozenset({"md4", "md5", "sha", "sha1", "sha224"})


class DigestAlgorithm(StrEnum):
    SHA256 = "sha256"
    SHA384 = "sha384"
    SHA512 = "sha512"


class DigestReason(StrEnum):
    """Why a text is no usable digest."""

    MALFORMED = "malformed"
    WEAK = "weak"
    UNKNOWN_ALGORITHM = "unknown-algorithm"


class DataVerdict(StrEnum):
    """What comparing a value with its digest came to."""

    MATCHES = "matches"
    DIFFERS = "differs"
    NOT_CANONICAL = "not-canonical"
    """The value has no one canonical form, so nothing can be said about it."""


class MalformedDigest(ValueError):
    """The text is no usable digest; `detail` is a sentence and repeats nothing of it."""

    def __init__(self, reason: DigestReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest; equal digests name equal bytes, so it may key what is stored by content (SK-6)."""

    algorithm: DigestAlgorithm
    octets: bytes

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.octets.hex()}"


def parse_digest(text: str) -> Digest:
    """The digest of `sha256:<hex>`, in either case of the hex digits. Raises MalformedDigest."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise MalformedDigest(DigestReason.MALFORMED, "The digest is not of the form sha256:<hex>.")
    name, digits = match.groups()
    if name.replace("-", "") in _WEAK:
        raise MalformedDigest(DigestReason.WEAK, "The digest is weaker than SHA-256.")
    if name not in _SIZES:
        raise MalformedDigest(DigestReason.UNKNOWN_ALGORITHM, "The digest is by none of sha256, sha384, sha512.")
    if len(digits) != 2 * _SIZES[name]:
        raise MalformedDigest(DigestReason.MALFORMED, "The digest has the wrong length for its algorithm.")
    return Digest(DigestAlgorithm(name), bytes.fromhex(digits))


def matches(digest: Digest, body: bytes) -> bool:
    """Whether the digest is over these bytes."""
    return hashlib.new(digest.algorithm, body).digest() == digest.octets


def data_verdict(digest: Digest, value: object) -> DataVerdict:
    """Whether the digest is over the JCS form of a parsed JSON value. Raises nothing.

    Whether an object named a member twice can no longer be seen here: the caller has to know.
    """
    try:
        octets = canonical(value)
    except Untrusted:
        # Integers beyond 2^53, lone surrogates.
        return DataVerdict.NOT_CANONICAL
    return DataVerdict.MATCHES if matches(digest, octets) else DataVerdict.DIFFERS
