"""Which proofs of a document count: one good one suffices, and the faults of the others are told (TRUST.md §6.2).

Publishers sign with the old and the new key while they change keys, so a proof that fails says nothing against the
document. Every proof is looked at, for whoever relays a document may put them in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from proxy.trust.did.document import DidDocument
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures.ijson import JsonObject
from proxy.trust.signatures.proofs import ReadProof
from proxy.trust.verdict import ProofFailure, Rejected, Signed

MOST_PROOFS: Final = 8

Reading = Callable[[], ReadProof]
"""Reads one proof up to its key; raises Untrusted."""

_OF_GOOD_SIGNATURES: Final = frozenset({Reason.TRUST_ANCHOR_ON_PROBATION, Reason.PROOF_TOO_OLD})


@dataclass(frozen=True, slots=True)
class KeyTerms:
    """What the key of a proof must fit.

    `barred` are multikeys that may not yet sign alone. `now` is in Unix seconds, `max_age` in seconds: how long ago
    a proof without end may have been made; None for any time.
    """

    document: DidDocument
    barred: frozenset[str]
    now: float
    max_age: float | None = None


@dataclass(frozen=True, slots=True)
class BestProof:
    """The good proof that was made last, and what is wrong with the proofs that are not good."""

    signed: Signed
    failures: tuple[ProofFailure, ...]


def listed(members: JsonObject, name: str) -> list[object]:
    """The elements of a member that is a list, none where it is absent; what is no list is one bad element."""
    value = members.get(name, [])
    return value if isinstance(value, list) else [None]


def require_signed(number: int) -> None:
    """Raises Untrusted for a document that has no proof, or too many: UNSIGNED, TOO_MANY_PROOFS."""
    if number == 0:
        raise Untrusted(Reason.UNSIGNED, "The document is not signed.")
    if number > MOST_PROOFS:
        raise Untrusted(Reason.TOO_MANY_PROOFS, f"The document has more than {MOST_PROOFS} proofs.")


def accept(readings: Iterable[Reading], terms: KeyTerms) -> BestProof | Rejected:
    """Judges every proof; there must be one. Raises nothing.

    Where none is good, the reason is that of the first one; but a good signature that cannot be used goes first.
    """
    judged = [_judged(reading, terms) for reading in readings]
    failures = tuple(one for one in judged if isinstance(one, ProofFailure))
    good = [one for one in judged if isinstance(one, Signed)]
    if good:
        return BestProof(max(good, key=lambda signed: signed.signed_at or 0.0), failures)
    first = next((failure for failure in failures if failure.reason in _OF_GOOD_SIGNATURES), failures[0])
    return Rejected(first.reason, first.detail, failures)


def _judged(reading: Reading, terms: KeyTerms) -> Signed | ProofFailure:
    kind = method = None
    try:
        proof = reading()
        kind, method = proof.kind, proof.verification_method
        return _signed(proof, terms)
    except Untrusted as error:
        return ProofFailure(kind, method, error.reason, error.detail)


def _signed(proof: ReadProof, terms: KeyTerms) -> Signed:
    key = terms.document.assertion_key(proof.verification_method, terms.now)
    proof.check(key.key)
    if proof.expires is not None and proof.expires <= terms.now:
        raise Untrusted(Reason.PROOF_EXPIRED, "The proof has expired.")
    if terms.barred and key.key.multikey in terms.barred:
        raise Untrusted(Reason.TRUST_ANCHOR_ON_PROBATION, "The key is too new to be relied on.")
    if proof.expires is None and _is_too_old(proof.created, terms):
        raise Untrusted(Reason.PROOF_TOO_OLD, "The proof has no end and was made too long ago.")
    ends = [end for end in (proof.expires, key.expires) if end is not None]
    return Signed(terms.document.did, proof.verification_method, proof.kind, proof.created, min(ends, default=None))


def _is_too_old(created: float | None, terms: KeyTerms) -> bool:
    return terms.max_age is not None and created is not None and created < terms.now - terms.max_age
