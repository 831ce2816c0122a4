"""Data Integrity proofs by the cryptosuites over JCS (W3C VC-DI-EdDSA §3.3, VC-DI-ECDSA §3.3; TRUST.md §4.1).

Stricter than those texts in four points: a proof is dated, its moments have a time zone, its `@context` equals the
document's, and both its type and its cryptosuite are right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures import base58
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.ijson import JsonObject
from proxy.trust.signatures.keys import KeyType
from proxy.trust.signatures.proofs import (
    ProofTerms,
    ReadProof,
    SecuredDocument,
    malformed,
    printable,
    read_beginning,
    read_moment,
)

TYPE: Final = "DataIntegrityProof"
PURPOSE: Final = "assertionMethod"
EDDSA: Final = "eddsa-jcs-2022"
ECDSA: Final = "ecdsa-jcs-2019"
CONTEXT: Final = "@context"
VALUE: Final = "proofValue"

_KEY_TYPES: Final[Mapping[object, frozenset[KeyType]]] = {
    EDDSA: frozenset({KeyType.ED25519}),
    ECDSA: frozenset({KeyType.P256, KeyType.P384}),
}
_REQUIRED: Final = frozenset({"type", "verificationMethod", "proofPurpose"})
_TEXTS: Final = _REQUIRED | {"cryptosuite", VALUE, "created", "expires"}
_UNSUPPORTED: Final = ("challenge", "previousProof")


def read_proof(proof: object, document: SecuredDocument, terms: ProofTerms) -> ReadProof:
    """One proof of `document`, up to its key. Raises Untrusted with the first of TRUST.md §6.2 item 6 that fails.

    `proof` is a member `proof` of the document, or one of a set of them. Members unknown here are signed with the
    others and mean nothing.
    """
    options = _shaped(proof)
    suite, key_types = _suite(options)
    signature = _signature(options, key_types)
    if options["proofPurpose"] != PURPOSE:
        raise Untrusted(Reason.PURPOSE_MISMATCH, "The proof was not made to assert anything.")
    if any(name in options for name in _UNSUPPORTED):
        raise Untrusted(Reason.PROOF_FEATURE_UNSUPPORTED, "The proof answers a challenge or builds on another.")
    _check_domain(options, terms.host)
    created = read_beginning(options, "created", terms, "proof")
    expires = read_moment(options["expires"], "proof") if "expires" in options else None
    _check_context(options, document.members)
    return ReadProof(
        kind=suite,
        verification_method=printable(options["verificationMethod"]),
        created=created,
        expires=expires,
        key_types=key_types,
        signature=signature,
        message=lambda: hash_data(options, document, len(signature)),
    )


def hash_data(options: JsonObject, document: SecuredDocument, signature_octets: int) -> bytes:
    """What is signed: the hash of the proof without its value, then that of the document without its proofs.

    The hash is the curve's, which the length of the signature tells: SHA-384 for P-384, else SHA-256.
    """
    configuration = canonical({name: value for name, value in options.items() if name != VALUE})
    if signature_octets == KeyType.P384.signature_octets:
        return hashlib.sha384(configuration).digest() + document.sha384
    return hashlib.sha256(configuration).digest() + document.sha256


def _shaped(proof: object) -> JsonObject:
    if not isinstance(proof, dict):
        raise malformed("The proof is not an object.")
    if not proof.keys() >= _REQUIRED:
        raise malformed("The proof lacks its type, its verification method or its purpose.")
    if not all(isinstance(proof[name], str) for name in _TEXTS if name in proof):
        raise malformed("A member of the proof that is a text is none.")
    return proof


def _suite(options: JsonObject) -> tuple[str, frozenset[KeyType]]:
    if options["type"] != TYPE:
        raise Untrusted(Reason.PROOF_TYPE_UNSUPPORTED, f"The proof is of another type than {TYPE}.")
    suite = options.get("cryptosuite")
    if not isinstance(suite, str) or suite not in _KEY_TYPES:
        raise Untrusted(Reason.CRYPTOSUITE_UNSUPPORTED, f"The proof is by another suite than {EDDSA} and {ECDSA}.")
    return suite, _KEY_TYPES[suite]


def _signature(options: JsonObject, key_types: frozenset[KeyType]) -> bytes:
    value = options.get(VALUE)
    lengths = {key_type.signature_octets for key_type in key_types}
    if not isinstance(value, str) or not value.startswith(base58.MULTIBASE):
        raise malformed("The proof has no value in base58.")
    try:
        signature = base58.decode(value[1:], max(lengths))
    except ValueError:
        raise malformed("The value of the proof is not base58, or too long.") from None
    if len(signature) not in lengths:
        raise malformed("The value of the proof has not the length of a signature.")
    return signature


def _check_domain(options: JsonObject, host: str) -> None:
    if "domain" not in options:
        return
    domain = options["domain"]
    domains = domain if isinstance(domain, list) else [domain]
    if not all(isinstance(one, str) for one in domains):
        raise malformed("The domain of the proof is neither a text nor a list of texts.")
    if host not in domains and f"https://{host}" not in domains:
        raise Untrusted(Reason.PROOF_DOMAIN_MISMATCH, "The proof was made for another domain.")


def _check_context(options: JsonObject, members: JsonObject) -> None:
    if CONTEXT not in options:
        return
    # By canonical form: to Python 1 and True are equal.
    if CONTEXT not in members or canonical(options[CONTEXT]) != canonical(members[CONTEXT]):
        raise Untrusted(Reason.CONTEXT_MISMATCH, "The proof was made under another @context.")
