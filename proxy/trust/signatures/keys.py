"""Public keys as DID documents write them: Multikey, JWK and bare base58 (W3C CID 1.0 §2.2; RFC 8037, RFC 7518).

A `PublicKey` is always one that signatures can be held against: a point on its curve, and one that does not let
anyone sign. Ed25519, P-256 and P-384 only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures import base58, base64url
from proxy.trust.signatures.ijson import JsonObject


class KeyType(Enum):
    """A type of key, by the curve's name in a JWK."""

    ED25519 = "Ed25519"
    P256 = "P-256"
    P384 = "P-384"

    @property
    def signature_octets(self) -> int:
        """The length of a signature: R and S of Ed25519, r and s of ECDSA."""
        return 2 * _FORMS[self].coordinate


@dataclass(frozen=True, slots=True)
class _Form:
    """`multicodec` precedes the key in a Multikey; `octets` counts the key's, `coordinate` those of x and of y."""

    multicodec: bytes
    octets: int
    coordinate: int
    kty: str


_FORMS: Final = {
    KeyType.ED25519: _Form(b"\xed\x01", 32, 32, "OKP"),
    KeyType.P256: _Form(b"\x80\x24", 33, 32, "EC"),
    KeyType.P384: _Form(b"\x81\x24", 49, 48, "EC"),
}
CURVES: Final[Mapping[KeyType, ec.EllipticCurve]] = {KeyType.P256: ec.SECP256R1(), KeyType.P384: ec.SECP384R1()}
_LONGEST_MULTIKEY: Final = max(len(form.multicodec) + form.octets for form in _FORMS.values())

# Ed25519 (RFC 8032 §5.1). The y coordinates of the points whose order divides 8, as encoded without the sign bit;
# 0 and 1 also as p and p + 1.
_P: Final = 2**255 - 19
_D: Final = -121665 * pow(121666, -1, _P) % _P
_Y_OF_ORDER_8: Final = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER: Final = frozenset({0, 1, _P - 1, _P, _P + 1, _Y_OF_ORDER_8, _P - _Y_OF_ORDER_8})
_SIGN_BIT: Final = 1 << 255


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key. `octets`: the 32 of RFC 8032 for Ed25519, the compressed point of SEC 1 for the others.

    Raises Untrusted when made of anything else: KEY_TYPE_UNSUPPORTED for the wrong length and for no point of the
    curve, KEY_WEAK for an Ed25519 point of small order.
    """

    type: KeyType
    octets: bytes

    def __post_init__(self) -> None:
        _load(self.type, self.octets)

    @property
    def multikey(self) -> str:
        """The `publicKeyMultibase` of a Multikey, and the identifier of a did:key."""
        return base58.MULTIBASE + base58.encode(_FORMS[self.type].multicodec + self.octets)

    @property
    def jwk(self) -> JsonObject:
        """The key as a JWK, with the members that it must have."""
        jwk: JsonObject = {"kty": _FORMS[self.type].kty, "crv": self.type.value}
        loaded = _load(self.type, self.octets)
        if isinstance(loaded, Ed25519PublicKey):
            return {**jwk, "x": base64url.encode(self.octets)}
        y = loaded.public_numbers().y.to_bytes(_FORMS[self.type].coordinate, "big")
        return {**jwk, "x": base64url.encode(self.octets[1:]), "y": base64url.encode(y)}

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether this key made the signature: R and S by pure Ed25519; r and s by ECDSA with the curve's hash.

        The hash is SHA-256 for P-256, SHA-384 for P-384. Raises nothing.
        """
        if len(signature) != self.type.signature_octets:
            return False
        loaded = _load(self.type, self.octets)
        try:
            if isinstance(loaded, Ed25519PublicKey):
                loaded.verify(signature, message)
            else:
                half = len(signature) // 2
                r, s = int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
                loaded.verify(encode_dss_signature(r, s), message, ecdsa_of(self.type))
        except InvalidSignature:
            return False
        return True


def parse_multikey(text: str) -> PublicKey:
    """The key of a `publicKeyMultibase`. Raises Untrusted: KEY_TYPE_UNSUPPORTED, KEY_WEAK."""
    if not text.startswith(base58.MULTIBASE):
        raise _unsupported("The key is not in base58.")
    octets = _from_base58(text[1:], _LONGEST_MULTIKEY)
    for type_, form in _FORMS.items():
        if octets.startswith(form.multicodec):
            return PublicKey(type_, octets[len(form.multicodec) :])
    raise _unsupported("The key is neither Ed25519 nor P-256 nor P-384.")


def parse_base58_ed25519(text: str) -> PublicKey:
    """The key of an Ed25519VerificationKey2018. Raises Untrusted: KEY_TYPE_UNSUPPORTED, KEY_WEAK."""
    return PublicKey(KeyType.ED25519, _from_base58(text, _FORMS[KeyType.ED25519].octets))


def parse_jwk(jwk: JsonObject) -> PublicKey:
    """The key of a `publicKeyJwk`; members that it need not have are passed over. Raises Untrusted.

    The reasons are KEY_TYPE_UNSUPPORTED, KEY_WEAK, and DID_DOC_INVALID where the private part was published.
    """
    if "d" in jwk:
        raise Untrusted(Reason.DID_DOC_INVALID, "A JWK holds a private key, which is no secret any more.")
    for type_, form in _FORMS.items():
        if (jwk.get("kty"), jwk.get("crv")) == (form.kty, type_.value):
            x = _coordinate(jwk.get("x"), form.coordinate)
            if type_ is KeyType.ED25519:
                return PublicKey(type_, x)
            return _ec_key(type_, x, _coordinate(jwk.get("y"), form.coordinate))
    raise _unsupported("The JWK is neither Ed25519 nor P-256 nor P-384.")


def ecdsa_of(key_type: KeyType) -> ec.ECDSA:
    """ECDSA with the hash that goes with the curve: SHA-384 for P-384, else SHA-256 (RFC 7518 §3.4)."""
    return ec.ECDSA(hashes.SHA384() if key_type is KeyType.P384 else hashes.SHA256())


def is_small_order(octets: bytes) -> bool:
    """Whether 32 octets encode an Ed25519 point whose order divides 8: one of 14 encodings.

    With such a key a signature can be made up for any message, and the ordinary check accepts it.
    """
    return int.from_bytes(octets, "little") & ~_SIGN_BIT in _SMALL_ORDER


def ed25519_verifies(octets: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the key of 32 octets made the Ed25519 signature; no key of small order or off the curve made any."""
    try:
        return PublicKey(KeyType.ED25519, octets).verifies(signature, message)
    except Untrusted:
        return False


def _ec_key(type_: KeyType, x: bytes, y: bytes) -> PublicKey:
    key = PublicKey(type_, (b"\x03" if y[-1] & 1 else b"\x02") + x)
    if key.jwk["y"] != base64url.encode(y):
        raise _unsupported("The JWK is no point of its curve.")
    return key


def _coordinate(text: object, octets: int) -> bytes:
    try:
        coordinate = base64url.decode(text) if isinstance(text, str) else b""
    except ValueError:
        coordinate = b""
    if len(coordinate) != octets:
        raise _unsupported(f"A coordinate of the JWK is not {octets} octets in base64url.")
    return coordinate


def _from_base58(text: str, most: int) -> bytes:
    try:
        return base58.decode(text, most)
    except ValueError:
        raise _unsupported("The key is not in base58, or too long.") from None


@lru_cache(maxsize=1024)
def _load(type_: KeyType, octets: bytes) -> Ed25519PublicKey | ec.EllipticCurvePublicKey:
    if len(octets) != _FORMS[type_].octets:
        raise _unsupported(f"The key has {len(octets)} octets, not {_FORMS[type_].octets}.")
    if type_ is KeyType.ED25519:
        _check_edwards_point(octets)
        return Ed25519PublicKey.from_public_bytes(octets)
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(CURVES[type_], octets)
    except ValueError:
        raise _unsupported("The key is no point of its curve.") from None


def _check_edwards_point(octets: bytes) -> None:
    if is_small_order(octets):
        raise Untrusted(Reason.KEY_WEAK, "The key is of small order, so anyone can sign for it.")
    y = int.from_bytes(octets, "little") & ~_SIGN_BIT
    # x² = (y² - 1) / (d·y² + 1) must be a square (RFC 8032 §5.1.3), and is one if numerator times denominator is.
    if y >= _P or pow((y * y - 1) * (_D * y * y + 1), (_P - 1) // 2, _P) != 1:
        raise _unsupported("The key is no point of its curve.")


def _unsupported(detail: str) -> Untrusted:
    return Untrusted(Reason.KEY_TYPE_UNSUPPORTED, detail)
