"""Proofs of a did:webvh log: over entries by those who may extend it, and over versions by its witnesses.

Always eddsa-jcs-2022 by a did:key whose two halves agree. Whether a proof names an end of its validity makes no
difference: what it vouches for is history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proxy.trust.did.key import parse_did_key
from proxy.trust.did.webvh.entries import Entry, invalid
from proxy.trust.did.webvh.parameters import WitnessRule
from proxy.trust.reasons import Untrusted
from proxy.trust.signatures.dataintegrity import EDDSA, read_proof
from proxy.trust.signatures.ijson import parse_ijson
from proxy.trust.signatures.proofs import ProofTerms, SecuredDocument

MOST_OCTETS: Final = 512 * 2**10
MOST_WITNESS_PROOFS: Final = 1000

_DID_KEY: Final = "did:key:"


def check_entry(entry: Entry, signers: frozenset[str], terms: ProofTerms) -> None:
    """Nothing, if each proof of the entry is good and by one of the multikeys `signers`. Raises Untrusted."""
    for proof in entry.proofs:
        if _signer(proof, entry.secured, terms).removeprefix(_DID_KEY) not in signers:
            raise invalid("It is signed by a key that may not extend the log.")


def check_witnesses(
    rules: Mapping[WitnessRule, int], versions: Mapping[str, int], body: bytes | None, terms: ProofTerms
) -> None:
    """Nothing, if the witnesses of each rule approve the version that it goes with. Raises Untrusted.

    `versions` are those of the log by their texts, `body` is the file of the witnesses' proofs. Who approves a
    version approves all before it.
    """
    if not rules:
        return
    if body is None:
        raise invalid("The proofs of the witnesses are missing.")
    approvals = _approvals(frozenset().union(*(rule.ids for rule in rules)), versions, body, terms)
    for rule, version in rules.items():
        if sum(approvals.get(witness, 0) >= version for witness in rule.ids) < rule.threshold:
            raise invalid(f"Too few witnesses approve version {version}.")


def _signer(proof: object, document: SecuredDocument, terms: ProofTerms) -> str:
    """The did:key that made a good proof. Raises Untrusted."""
    read = read_proof(proof, document, terms)
    did, mark, _ = read.verification_method.partition("#")
    if read.kind != EDDSA or not mark:
        raise invalid(f"A proof is not by {EDDSA}, or not by the method of a did:key.")
    read.check(parse_did_key(read.verification_method))
    return did


def _approvals(
    witnesses: frozenset[str], versions: Mapping[str, int], body: bytes, terms: ProofTerms
) -> dict[str, int]:
    """The highest version that each witness approves. A proof that is not good is passed over."""
    approvals: dict[str, int] = {}
    listed = [one for one in _listed(body) if one[0] in versions]
    for version, proof in sorted(listed, key=lambda one: versions[one[0]], reverse=True):
        if _claimed(proof) in approvals:
            continue
        try:
            witness = _signer(proof, SecuredDocument({"versionId": version}), terms)
        except Untrusted:
            continue
        if witness in witnesses:
            approvals[witness] = versions[version]
    return approvals


def _claimed(proof: object) -> object:
    """Whose proof it says it is."""
    method = proof.get("verificationMethod") if isinstance(proof, dict) else None
    return method.partition("#")[0] if isinstance(method, str) else None


def _listed(body: bytes) -> list[tuple[str, object]]:
    """The proofs of a witness file, each with the text of its version."""
    # The file is a list, and what parses is an object: a member around it takes nothing but one value.
    entries = parse_ijson(b'{"": %b}' % body, MOST_OCTETS)
    versions = entries[""]
    if len(entries) > 1 or not isinstance(versions, list):
        raise invalid("The file of the witnesses is no list.")
    listed: list[tuple[str, object]] = []
    for one in versions:
        version, proofs = (one.get("versionId"), one.get("proof")) if isinstance(one, dict) else (None, None)
        if not isinstance(version, str) or not isinstance(proofs, list):
            raise invalid("The file of the witnesses has an entry that is no version with its proofs.")
        listed.extend((version, proof) for proof in proofs)
    if len(listed) > MOST_WITNESS_PROOFS:
        raise invalid(f"The file of the witnesses has more than {MOST_WITNESS_PROOFS} proofs.")
    return listed
