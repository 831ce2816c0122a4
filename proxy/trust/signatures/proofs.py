"""What the two containers of a proof have in common: the document that is signed, the terms, and the proof read.

Reading a proof takes no hash and no key: whose it claims to be is known first, and only a proof of a known key is
checked. `check` does not judge `expires`, which comes last in TRUST.md §6.2 item 6: a proof that has ended is still
a good signature.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.datetimes import parse_date_time_stamp
from proxy.trust.signatures.ijson import JsonObject
from proxy.trust.signatures.keys import KeyType, PublicKey

PROOF: Final = "proof"
SIGNATURES: Final = "signatures"

_PRINTABLE: Final = re.compile(r"[!-~]{1,1024}")


@dataclass(frozen=True, slots=True)
class ProofTerms:
    """What a proof must fit: `host` as in "example.com" or "example.com:8443", lower case.

    `now` is in Unix seconds; a proof may be dated `skew` seconds ahead of it.
    """

    host: str
    now: float
    skew: float


class SecuredDocument:
    """A parsed document with its proofs in it. What they sign is made once, however many they are."""

    def __init__(self, members: JsonObject) -> None:
        self.members: Final = members

    @cached_property
    def without_proof(self) -> bytes:
        """The canonical form that Data Integrity signs: all but `proof`, JWS signatures included."""
        return _without(self.members, PROOF)

    @cached_property
    def without_signatures(self) -> bytes:
        """The canonical form that a JWS signs: all but `proof` and `signatures`."""
        return _without(self.members, PROOF, SIGNATURES)

    @cached_property
    def sha256(self) -> bytes:
        """The hash of `without_proof`."""
        return hashlib.sha256(self.without_proof).digest()

    @cached_property
    def sha384(self) -> bytes:
        """The hash of `without_proof`."""
        return hashlib.sha384(self.without_proof).digest()


@dataclass(frozen=True, slots=True)
class ReadProof:
    """A proof that fits its terms, but for its key. Times in Unix seconds.

    `kind` is the cryptosuite, or "jws". `verification_method` is printable ASCII and may be anybody's. `created` is
    None for a JWS that need not be dated and is not.
    """

    kind: str
    verification_method: str
    created: float | None
    expires: float | None
    key_types: frozenset[KeyType]
    signature: bytes = field(repr=False)
    message: Callable[[], bytes] = field(repr=False, compare=False)

    def check(self, key: PublicKey) -> None:
        """Raises Untrusted unless `key` made the signature: KEY_SUITE_MISMATCH, SIGNATURE_INVALID."""
        if key.type not in self.key_types:
            raise Untrusted(Reason.KEY_SUITE_MISMATCH, "The key is of a type that the proof is not made with.")
        if not key.verifies(self.signature, self.message()):
            raise Untrusted(Reason.SIGNATURE_INVALID, "The key did not make this signature of this document.")


def malformed(detail: str) -> Untrusted:
    """The error of a proof that breaks the form of its container."""
    return Untrusted(Reason.PROOF_MALFORMED, detail)


def printable(text: object) -> str:
    """A name of a key, if it can be shown and kept: at most 1024 printable ASCII characters. Raises Untrusted."""
    if not isinstance(text, str) or _PRINTABLE.fullmatch(text) is None:
        raise malformed("The proof names its key by no text that a URL could be.")
    return text


def read_moment(text: object, what: str) -> float:
    """A moment of `what`, such as "proof", in Unix seconds. Raises Untrusted PROOF_MALFORMED."""
    try:
        return parse_date_time_stamp(text)
    except ValueError:
        raise malformed(f"A moment in the {what} is no date and time with a time zone.") from None


def read_beginning(members: JsonObject, name: str, terms: ProofTerms, what: str) -> float:
    """When `what` was made, which its member `name` has to tell, in Unix seconds.

    Raises Untrusted: PROOF_CREATED_MISSING, PROOF_MALFORMED, PROOF_NOT_YET_VALID.
    """
    if name not in members:
        raise Untrusted(Reason.PROOF_CREATED_MISSING, f"The {what} is not dated.")
    created = read_moment(members[name], what)
    require_begun(created, terms)
    return created


def require_begun(created: float, terms: ProofTerms) -> None:
    """Raises Untrusted PROOF_NOT_YET_VALID for a proof from the future."""
    if created > terms.now + terms.skew:
        raise Untrusted(Reason.PROOF_NOT_YET_VALID, "The proof is dated in the future.")


def _without(members: JsonObject, *names: str) -> bytes:
    return canonical({name: value for name, value in members.items() if name not in names})
