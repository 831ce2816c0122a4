"""Which proofs of a document count (TRUST.md §6.2 items 5 to 8); whole documents are in test_manifests.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from proxy.trust.acceptance import MOST_PROOFS, BestProof, KeyTerms, accept, listed, require_signed
from proxy.trust.did.document import parse_did_document
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures.keys import KeyType
from proxy.trust.signatures.proofs import ReadProof
from proxy.trust.verdict import ProofFailure, Rejected, Signed
from tests.trust.publisher import DID, ED, NOW, did_document, method, multikey

MESSAGE = b"message"
DOCUMENT = parse_did_document(json.dumps(did_document(method("key-1"))).encode(), DID)
TERMS = KeyTerms(DOCUMENT, frozenset(), NOW, max_age=100.0)


def reading(**members: Any) -> Callable[[], ReadProof]:
    """A good proof that differs from one made now by `members`."""
    good: dict[str, Any] = {
        "kind": "jws",
        "verification_method": f"{DID}#key-1",
        "created": NOW,
        "expires": None,
        "key_types": frozenset({KeyType.ED25519}),
        "signature": ED.sign(MESSAGE),
        "message": lambda: MESSAGE,
    }
    return lambda: ReadProof(**{**good, **members})


def unreadable() -> ReadProof:
    raise Untrusted(Reason.PROOF_MALFORMED, "It is no proof.")


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, None),
        ({"created": None}, None),
        ({"created": NOW - 100}, None),
        ({"created": NOW - 101}, Reason.PROOF_TOO_OLD),
        ({"created": NOW - 101, "expires": NOW + 1}, None),
        ({"expires": NOW + 1}, None),
        ({"expires": NOW}, Reason.PROOF_EXPIRED),
        ({"expires": NOW, "signature": bytes(64)}, Reason.SIGNATURE_INVALID),
        ({"signature": bytes(64), "key_types": frozenset()}, Reason.KEY_SUITE_MISMATCH),
        ({"key_types": frozenset(), "verification_method": f"{DID}#key-2"}, Reason.VM_NOT_FOUND),
    ],
)
def test_one_proof(members: dict[str, Any], expected: Reason | None) -> None:
    found = accept([reading(**members)], TERMS)
    assert (found.reason if isinstance(found, Rejected) else None) is expected


def test_the_best_proof_and_the_faults_of_the_others() -> None:
    early, late = reading(created=NOW - 10), reading(created=NOW - 5, kind="other")
    fault = ProofFailure(None, None, Reason.PROOF_MALFORMED, "It is no proof.")
    best = Signed(DID, f"{DID}#key-1", "other", NOW - 5, None)
    assert accept([early, unreadable, late], TERMS) == accept([late, early, unreadable], TERMS)
    assert accept([early, unreadable, late], TERMS) == BestProof(best, (fault,))


@pytest.mark.parametrize(
    ("readings", "barred", "expected"),
    [
        ([unreadable, reading(expires=NOW)], [], Reason.PROOF_MALFORMED),
        ([reading(expires=NOW), unreadable], [], Reason.PROOF_EXPIRED),
        ([unreadable, reading(created=0.0)], [], Reason.PROOF_TOO_OLD),
        ([unreadable, reading()], [ED], Reason.TRUST_ANCHOR_ON_PROBATION),
        ([unreadable, reading(created=0.0)], [ED], Reason.TRUST_ANCHOR_ON_PROBATION),
    ],
)
def test_the_reason_where_none_is_good(readings: list[Any], barred: list[Any], expected: Reason) -> None:
    found = accept(readings, KeyTerms(DOCUMENT, frozenset(map(multikey, barred)), NOW, 100.0))
    assert isinstance(found, Rejected) and found.reason is expected
    assert len(found.failures) == len(readings)


@pytest.mark.parametrize(
    ("members", "expected"),
    [({}, []), ({"p": []}, []), ({"p": [1, 2]}, [1, 2]), ({"p": None}, [None]), ({"p": {}}, [None])],
)
def test_listed(members: dict[str, object], expected: list[object]) -> None:
    assert listed(members, "p") == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, Reason.UNSIGNED), (1, None), (MOST_PROOFS, None), (MOST_PROOFS + 1, Reason.TOO_MANY_PROOFS)],
)
def test_number_of_proofs(number: int, expected: Reason | None) -> None:
    if expected is None:
        require_signed(number)
        return
    with pytest.raises(Untrusted) as refused:
        require_signed(number)
    assert refused.value.reason is expected
