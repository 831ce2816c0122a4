"""AI Catalogs: the signature over the whole of one, by profile `did-web-v1` (SIG-1 to SIG-4, SIG-8).

It authenticates the snapshot and binds it to the host that the catalog names, not to where it was found. The key
is that of the current DID document: after a change of keys old signatures no longer verify.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from proxy.trust.acceptance import KeyTerms, accept
from proxy.trust.did.document import DidDocument
from proxy.trust.did.web import MalformedDid, did_of, host_of
from proxy.trust.manifests import Anchor, TrustRules, document_of, live
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.jws import decode_header, decode_signature, signing_input
from proxy.trust.signatures.keys import KeyType
from proxy.trust.signatures.proofs import ProofTerms, ReadProof, malformed, printable, read_beginning, read_moment
from proxy.trust.verdict import Rejected, Signed

PROFILE: Final = "did-web-v1"
MOST_OCTETS: Final = 4 * 2**20

_ALGORITHM: Final = "ES256"
_TYPE: Final = "ai-catalog+jws"
_PARAMETERS: Final = frozenset({"alg", "kid", "typ"})
_COMPACT: Final = re.compile(r"([A-Za-z0-9_-]+)\.\.([A-Za-z0-9_-]+)")
_KEY_USES: Final = (("alg", _ALGORITHM), ("use", "sig"))


def verify_catalog(
    body: bytes, did: str, anchor: Anchor | None, rules: TrustRules, now: float
) -> Signed | Rejected:
    """Who signed a catalog, if `did` did; `now` is in Unix seconds. Raises nothing.

    UNSIGNED where there is no signature, whatever is known of the domain; SITE_MISMATCH where the catalog names
    another host than its signer.
    """
    try:
        catalog = parse_ijson(body, MOST_OCTETS)
        if "signature" not in catalog:
            raise Untrusted(Reason.UNSIGNED, "The catalog is not signed.")
        anchor = live(anchor, rules, now)
        document = document_of(anchor, did)
        # This profile knows no ports, so the terms name no host.
        reading = partial(_read, catalog, did, ProofTerms("", now, rules.skew))
        accepted = accept([reading], KeyTerms(document, anchor.barred, now))
        if isinstance(accepted, Rejected):
            return accepted
        _require_key_use(document, accepted.signed.verification_method)
        _require_host(catalog, did)
    except Untrusted as error:
        return Rejected(error.reason, error.detail)
    return accepted.signed


def _read(catalog: JsonObject, did: str, terms: ProofTerms) -> ReadProof:
    signature = catalog["signature"]
    if not isinstance(signature, dict):
        raise malformed("The signature is no object.")
    if signature.get("profile") != PROFILE:
        raise Untrusted(Reason.PROOF_TYPE_UNSUPPORTED, f"The signature is by another profile than {PROFILE}.")
    match = _COMPACT.fullmatch(signature["jws"]) if isinstance(signature.get("jws"), str) else None
    if match is None:
        raise malformed("The signature has no JWS in compact form with its payload detached.")
    protected, octets = match.groups()
    kid = _read_header(protected)
    issued_at = read_beginning(signature, "issuedAt", terms, "signature")
    _require_signer(signature, kid, did)
    return ReadProof(
        kind=PROFILE,
        verification_method=kid,
        created=issued_at,
        expires=read_moment(signature["expiresAt"], "signature") if "expiresAt" in signature else None,
        key_types=frozenset({KeyType.P256}),
        signature=decode_signature(octets, KeyType.P256),
        message=lambda: signing_input(protected, _payload(catalog, signature)),
    )


def _read_header(protected: str) -> str:
    """The `kid` of a header that has what it must and nothing else (SIG-2, SIG-3)."""
    header = decode_header(protected)
    if header.get("alg") != _ALGORITHM:
        raise Untrusted(Reason.CRYPTOSUITE_UNSUPPORTED, f"The alg is not {_ALGORITHM}.")
    if header.keys() != _PARAMETERS or header["typ"] != _TYPE:
        raise Untrusted(Reason.JWS_HEADER_UNSUPPORTED, f"The header is not alg, kid, and typ {_TYPE}, and no more.")
    return printable(header["kid"])


def _require_signer(signature: JsonObject, kid: str, did: str) -> None:
    """That the domain's DID is the signer and of the kind that the profile is for, and the key one of its own."""
    if signature.get("signer") != did or not _is_root(did) or not kid.startswith(f"{did}#"):
        raise Untrusted(Reason.VM_FOREIGN_DID, "The signer is not the did:web of the whole domain, or not its key.")


def _is_root(did: str) -> bool:
    try:
        return did == did_of(host_of(did)[0])
    except MalformedDid:
        return False


def _payload(catalog: JsonObject, signature: JsonObject) -> bytes:
    """All but the signature's value and what is reserved for further ones; unknown members stay in (SIG-2)."""
    unsigned = {name: value for name, value in signature.items() if name != "jws"}
    signed = {name: value for name, value in catalog.items() if name != "additionalSignatures"}
    return canonical({**signed, "signature": unsigned})


def _require_key_use(document: DidDocument, method: str) -> None:
    """That the key is published as a JWK, and for this use (SIG-3)."""
    jwk = document.methods[method].get("publicKeyJwk")
    operations = jwk.get("key_ops", ["verify"]) if isinstance(jwk, dict) else None
    if (
        not isinstance(jwk, dict)
        or any(jwk.get(name, value) != value for name, value in _KEY_USES)
        or not (isinstance(operations, list) and "verify" in operations)
    ):
        raise Untrusted(Reason.KEY_SUITE_MISMATCH, f"The key is no JWK for verifying {_ALGORITHM}.")


def _require_host(catalog: JsonObject, did: str) -> None:
    host = catalog.get("host")
    if not isinstance(host, dict) or host.get("identifier") != did:
        raise Untrusted(Reason.SITE_MISMATCH, "The catalog does not name its signer as its host.")
