"""The publisher's side: private keys, and proofs that the verifiers of this package accept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from proxy.http.timestamps import timestamp
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures import base58, base64url, dataintegrity, jws
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.ijson import JsonObject
from proxy.trust.signatures.keys import CURVES, KeyType, PublicKey, ecdsa_of
from proxy.trust.signatures.proofs import SecuredDocument

_ALGORITHMS: Final = {KeyType.ED25519: "EdDSA", KeyType.P256: "ES256", KeyType.P384: "ES384"}


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A key to sign with, made by `generate` or `from_pem`. Its text never shows the secret."""

    public: PublicKey
    _secret: Ed25519PrivateKey | ec.EllipticCurvePrivateKey = field(repr=False, compare=False)

    @classmethod
    def generate(cls, key_type: KeyType) -> PrivateKey:
        """A new key, from the randomness of the operating system."""
        if key_type is KeyType.ED25519:
            return _private(Ed25519PrivateKey.generate())
        return _private(ec.generate_private_key(CURVES[key_type]))

    @classmethod
    def from_pem(cls, octets: bytes) -> PrivateKey:
        """The key of an unencrypted PKCS #8 file in PEM (RFC 5958). Raises Untrusted KEY_TYPE_UNSUPPORTED."""
        try:
            secret = serialization.load_pem_private_key(octets, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise _unsupported("The file is no unencrypted private key in PEM.") from None
        if not isinstance(secret, Ed25519PrivateKey | ec.EllipticCurvePrivateKey):
            raise _unsupported("The private key is neither Ed25519 nor P-256 nor P-384.")
        return _private(secret)

    def to_pem(self) -> bytes:
        """The key as an unencrypted PKCS #8 file in PEM."""
        return self._secret.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def sign(self, message: bytes) -> bytes:
        """The signature that `PublicKey.verifies` takes. That of an EC key is another one each time."""
        if isinstance(self._secret, Ed25519PrivateKey):
            return self._secret.sign(message)
        der = self._secret.sign(message, ecdsa_of(self.public.type))
        half = self.public.type.signature_octets // 2
        return b"".join(number.to_bytes(half, "big") for number in decode_dss_signature(der))


def sign_data_integrity(
    document: JsonObject,
    key: PrivateKey,
    verification_method: str,
    created: float,
    expires: float | None = None,
    domain: str | None = None,
) -> JsonObject:
    """A proof of `document`, for its member `proof`; one that is there already is not signed.

    JWS `signatures` are signed, so they come first where both are wanted. Moments in Unix seconds, cut to whole
    ones; `verification_method` is an absolute DID URL; `domain` is a host as in ProofTerms. Raises Untrusted
    where the document has no canonical form.
    """
    is_eddsa = key.public.type is KeyType.ED25519
    options: JsonObject = {
        "type": dataintegrity.TYPE,
        "cryptosuite": dataintegrity.EDDSA if is_eddsa else dataintegrity.ECDSA,
        "created": timestamp(created, "seconds"),
        "verificationMethod": verification_method,
        "proofPurpose": dataintegrity.PURPOSE,
    }
    if expires is not None:
        options["expires"] = timestamp(expires, "seconds")
    if domain is not None:
        options["domain"] = domain
    if dataintegrity.CONTEXT in document:
        options[dataintegrity.CONTEXT] = document[dataintegrity.CONTEXT]
    octets = key.public.type.signature_octets
    signature = key.sign(dataintegrity.hash_data(options, SecuredDocument(document), octets))
    return {**options, dataintegrity.VALUE: base58.MULTIBASE + base58.encode(signature)}


def sign_jws(
    document: JsonObject, key: PrivateKey, kid: str, issued_at: float, expires: float | None = None
) -> JsonObject:
    """A signature of `document` without its `proof` and `signatures`, for an entry of the latter.

    Moments in Unix seconds, cut to whole ones; `kid` is an absolute DID URL. Raises Untrusted where the document
    has no canonical form.
    """
    header: JsonObject = {
        "alg": _ALGORITHMS[key.public.type],
        "kid": kid,
        "typ": jws.TYPE,
        "iat": int(issued_at),
    }
    if expires is not None:
        header["exp"] = int(expires)
    protected = base64url.encode(canonical(header))
    signature = key.sign(jws.signing_input(protected, SecuredDocument(document).without_signatures))
    return {"protected": protected, "signature": base64url.encode(signature)}


def _private(secret: Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> PrivateKey:
    if isinstance(secret, Ed25519PrivateKey):
        return PrivateKey(PublicKey(KeyType.ED25519, secret.public_key().public_bytes_raw()), secret)
    for key_type, curve in CURVES.items():
        if secret.curve.name == curve.name:
            point = secret.public_key().public_bytes(
                serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
            )
            return PrivateKey(PublicKey(key_type, point), secret)
    raise _unsupported("The private key is of another curve than P-256 and P-384.")


def _unsupported(detail: str) -> Untrusted:
    return Untrusted(Reason.KEY_TYPE_UNSUPPORTED, detail)
