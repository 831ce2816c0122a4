"""JSON Web Signatures over a document, in the shape of A2A's `signatures` (RFC 7515, RFC 8037, RFC 9864).

The payload is detached: it is the canonical form of the document without its proofs. The key is named by `kid`, an
absolute DID URL; what a header offers beside that (`jwk`, `jku`, `x5c`, …) is refused or never fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures import base64url
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.keys import KeyType
from proxy.trust.signatures.proofs import (
    ProofTerms,
    ReadProof,
    SecuredDocument,
    malformed,
    printable,
    require_begun,
)

KIND: Final = "jws"
TYPE: Final = "JOSE"

_ALGORITHMS: Final[Mapping[str, KeyType]] = {
    "EdDSA": KeyType.ED25519,
    "Ed25519": KeyType.ED25519,
    "ES256": KeyType.P256,
    "ES384": KeyType.P384,
}
_PARAMETERS: Final = frozenset({"alg", "kid", "typ", "iat", "exp", "jku"})
_ENTRY: Final = frozenset({"protected", "signature", "header"})
_DID_URL: Final = re.compile(r"did:[a-z0-9]+:[^#]+#[^#]+")
_MOST_HEADER_OCTETS: Final = 8192
_YEAR_10000: Final = 253402300800


def read_signature(
    entry: object, document: SecuredDocument, terms: ProofTerms, *, must_be_dated: bool = True
) -> ReadProof:
    """One entry of `signatures`, up to its key. Raises Untrusted with the first of TRUST.md §6.2 item 6 that fails.

    An unprotected `header` is not signed and so not read; its names must be none of the protected ones and none
    that is refused there. Without `must_be_dated` the `iat` may be absent, as in A2A cards.
    """
    protected, signature, header = _shaped(entry)
    key_type = key_type_of(header.get("alg"))
    _check_parameters(header)
    kid = printable(header.get("kid"))
    if _DID_URL.fullmatch(kid) is None:
        raise malformed("The header names its key by no absolute DID URL.")
    octets = decode_signature(signature, key_type)
    created = _issued_at(header, terms, must_be_dated=must_be_dated)
    return ReadProof(
        kind=KIND,
        verification_method=kid,
        created=created,
        expires=_numeric_date(header["exp"]) if "exp" in header else None,
        key_types=frozenset({key_type}),
        signature=octets,
        message=lambda: signing_input(protected, document.without_signatures),
    )


def decode_header(protected: str) -> JsonObject:
    """The protected header, an object in base64url. Raises Untrusted PROOF_MALFORMED."""
    try:
        return parse_ijson(base64url.decode(protected), _MOST_HEADER_OCTETS)
    except ValueError:
        raise malformed("The protected header is no JSON object in base64url.") from None


def key_type_of(algorithm: object) -> KeyType:
    """The type of key that an `alg` is for. Raises Untrusted CRYPTOSUITE_UNSUPPORTED, as for "none" and HS256."""
    if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS:
        raise Untrusted(Reason.CRYPTOSUITE_UNSUPPORTED, f"The alg is none of {', '.join(_ALGORITHMS)}.")
    return _ALGORITHMS[algorithm]


def decode_signature(text: str, key_type: KeyType) -> bytes:
    """The octets of a signature in base64url, as many as the key type makes. Raises Untrusted PROOF_MALFORMED."""
    try:
        signature = base64url.decode(text)
    except ValueError:
        raise malformed("The signature is not in base64url.") from None
    if len(signature) != key_type.signature_octets:
        raise malformed(f"The signature has not the {key_type.signature_octets} octets that its alg makes.")
    return signature


def signing_input(protected: str, payload: bytes) -> bytes:
    """The octets that a JWS signs (RFC 7515 §5.1)."""
    return f"{protected}.{base64url.encode(payload)}".encode()


def _shaped(entry: object) -> tuple[str, str, JsonObject]:
    if not isinstance(entry, dict) or not entry.keys() <= _ENTRY:
        raise malformed("The signature is no object of a protected header and a signature.")
    protected, signature, unprotected = entry.get("protected"), entry.get("signature"), entry.get("header", {})
    if not isinstance(protected, str) or not isinstance(signature, str) or not isinstance(unprotected, dict):
        raise malformed("The protected header or the signature is no text, or the other header no object.")
    header = decode_header(protected)
    if not unprotected.keys().isdisjoint(header):
        raise malformed("The two headers have a member in common.")
    if not unprotected.keys() <= _PARAMETERS:
        raise _unsupported()
    return protected, signature, header


def _check_parameters(header: JsonObject) -> None:
    if not header.keys() <= _PARAMETERS or header.get("typ", TYPE) != TYPE:
        raise _unsupported()


def _unsupported() -> Untrusted:
    detail = f"The header has another member than {', '.join(sorted(_PARAMETERS))}, or another typ than {TYPE}."
    return Untrusted(Reason.JWS_HEADER_UNSUPPORTED, detail)


def _issued_at(header: JsonObject, terms: ProofTerms, *, must_be_dated: bool) -> float | None:
    if "iat" in header:
        created = _numeric_date(header["iat"])
        require_begun(created, terms)
        return created
    if must_be_dated:
        raise Untrusted(Reason.PROOF_CREATED_MISSING, "The signature is not dated.")
    return None


def _numeric_date(value: object) -> float:
    """A NumericDate (RFC 7519 §2) that is a moment of our calendar."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _YEAR_10000:
        raise malformed("A moment in the header is no number of seconds.")
    return float(value)
