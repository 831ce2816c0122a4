"""What came of verifying a document: verified bytes, or the reason why they are not.

Bytes that nobody verified are an `UnverifiedCopy`; nothing that serves accepts one, and only a verifier makes a
`VerifiedCopy`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proxy.trust.reasons import Reason


class CopySource(StrEnum):
    """Where a copy came from: the `source` of Discovery-Trust."""

    ORIGIN = "origin"
    MIRROR = "mirror"
    IPFS = "ipfs"


@dataclass(frozen=True, slots=True)
class UnverifiedCopy:
    """Bytes from `url`, which may be anybody's."""

    body: bytes
    source: CopySource
    url: str


@dataclass(frozen=True, slots=True)
class ProofFailure:
    """One proof that is not good, beside a good one or in place of it; `kind` is None where it is unknown."""

    kind: str | None
    verification_method: str | None
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Signed:
    """A good proof: by whom, how and when. Times in Unix seconds.

    `kind` is "eddsa-jcs-2022", "ecdsa-jcs-2019", "jws" or "did-web-v1". `valid_until` is the earlier end of the
    proof and of its key, None without either.
    """

    did: str
    verification_method: str
    kind: str
    signed_at: float | None
    valid_until: float | None


@dataclass(frozen=True, slots=True)
class VerifiedCopy:
    """A copy that a key of the domain's DID signed. `is_stale`: the pin that says so is between soft and hard age.

    `failures` are the other proofs.
    """

    copy: UnverifiedCopy
    signed: Signed
    is_stale: bool = False
    failures: tuple[ProofFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """Not believed, and never served as verified. The reason is that of the first thing that failed."""

    reason: Reason
    detail: str
    failures: tuple[ProofFailure, ...] = ()


Verdict = VerifiedCopy | Rejected
