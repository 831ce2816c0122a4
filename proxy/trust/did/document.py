"""DID documents: which keys may sign for a domain (TRUST.md §1.3; W3C CID 1.0, "Retrieve Verification Method").

Only what signing needs is read: verification methods, and which of them are for assertions. Invariants of a
`DidDocument`: its id is the DID asked for, byte for byte; no two of its methods have one id. What is wrong with a
single method is told when that method is asked for, so that it does not take the others with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures.datetimes import parse_date_time_stamp
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.keys import KeyType, PublicKey, parse_base58_ed25519, parse_jwk, parse_multikey

MOST_OCTETS: Final = 256 * 1024

_FOR_ASSERTIONS: Final = "assertionMethod"
_RELATIONSHIPS: Final = (
    _FOR_ASSERTIONS,
    "authentication",
    "keyAgreement",
    "capabilityInvocation",
    "capabilityDelegation",
)
_KEY_MEMBERS: Final = {
    "Multikey": "publicKeyMultibase",
    "JsonWebKey": "publicKeyJwk",
    "JsonWebKey2020": "publicKeyJwk",
    "Ed25519VerificationKey2020": "publicKeyMultibase",
    "Ed25519VerificationKey2018": "publicKeyBase58",
}
_ED25519_ONLY: Final = "Ed25519VerificationKey2020"
_PUBLIC: Final = ("publicKey", "blockchainAccountId", "ethereumAddress")
_PRIVATE: Final = ("secretKey", "privateKey")


@dataclass(frozen=True, slots=True)
class Key:
    """A key that may sign now, and the Unix time from which it may not; None without such a time."""

    key: PublicKey
    expires: float | None


@dataclass(frozen=True)  # without slots, for the cached properties
class DidDocument:
    """A DID document. `methods` are by absolute id; `assertion` are the ids listed for it, foreign ones too."""

    did: str
    methods: Mapping[str, JsonObject]
    assertion: frozenset[str]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The usable assertion keys as multikey texts, revoked and expired ones among them."""
        return frozenset(key.multikey for key in map(self._usable, self.assertion) if key is not None)

    @cached_property
    def exposed(self) -> frozenset[str]:
        """The ids of methods whose private key is published with them."""
        return frozenset(id for id, method in self.methods.items() if _is_exposed(method))

    def assertion_key(self, method: str, now: float) -> Key:
        """The key of the absolute id `method`, if it may sign assertions for the DID at `now` (Unix seconds).

        Raises Untrusted: vm_*, key_*, and did_doc_invalid where the method itself is malformed.
        """
        described = self._described(method)
        revoked, expires = _moment(described, "revoked"), _moment(described, "expires")
        if revoked is not None and revoked <= now:
            raise Untrusted(Reason.VM_REVOKED, "The verification method is revoked.")
        if expires is not None and expires <= now:
            raise Untrusted(Reason.VM_EXPIRED, "The verification method has expired.")
        ends = [end for end in (revoked, expires) if end is not None]
        return Key(_decoded(described), min(ends, default=None))

    def _described(self, method: str) -> JsonObject:
        if not method.startswith(f"{self.did}#"):
            raise Untrusted(Reason.VM_FOREIGN_DID, "The verification method is not one of the domain's DID.")
        described = self.methods.get(method)
        if described is None:
            raise Untrusted(Reason.VM_NOT_FOUND, "The DID document has no such verification method.")
        if described.get("controller") != self.did:
            raise Untrusted(Reason.VM_CONTROLLER_MISMATCH, "The verification method is controlled by another DID.")
        if method not in self.assertion:
            raise Untrusted(Reason.VM_NOT_ASSERTION, "The verification method is not for assertions.")
        return described

    def _usable(self, method: str) -> PublicKey | None:
        try:
            return _decoded(self._described(method))
        except Untrusted:
            return None


def parse_did_document(body: bytes, did: str) -> DidDocument:
    """The document of `did`. Raises Untrusted: did_doc_*. No context is ever processed."""
    members = _parse(body)
    if members.get("id") != did:
        raise Untrusted(Reason.DID_DOC_ID_MISMATCH, "The DID document is not that of the DID asked for.")
    methods: dict[str, JsonObject] = {}
    for method in _listed(members, "verificationMethod"):
        _add(methods, method, did)
    assertion: set[str] = set()
    for relationship in _RELATIONSHIPS:
        for item in _listed(members, relationship):
            method_id = _absolute(item, did) if isinstance(item, str) else _add(methods, item, did)
            if relationship == _FOR_ASSERTIONS:
                assertion.add(method_id)
    return DidDocument(did, methods, frozenset(assertion))


def _parse(body: bytes) -> JsonObject:
    try:
        return parse_ijson(body, MOST_OCTETS)
    except Untrusted as error:
        raise Untrusted(Reason(f"did_doc_{error.reason}"), error.detail) from None


def _listed(members: JsonObject, name: str) -> list[object]:
    listed = members.get(name, [])
    if not isinstance(listed, list):
        raise Untrusted(Reason.DID_DOC_INVALID, "The DID document has something else where a list belongs.")
    return listed


def _add(methods: dict[str, JsonObject], method: object, did: str) -> str:
    """Takes up a method and returns its absolute id."""
    written = method.get("id") if isinstance(method, dict) else None
    if not (isinstance(method, dict) and isinstance(written, str) and written):
        raise Untrusted(Reason.DID_DOC_INVALID, "The DID document has a verification method without id.")
    method_id = _absolute(written, did)
    if method_id in methods:
        raise Untrusted(Reason.DID_DOC_INVALID, "The DID document has two verification methods of one id.")
    methods[method_id] = method
    return method_id


def _absolute(reference: str, did: str) -> str:
    return f"{did}{reference}" if reference.startswith("#") else reference


def _moment(method: JsonObject, name: str) -> float | None:
    if name not in method:
        return None
    try:
        return parse_date_time_stamp(method[name])
    except ValueError:
        detail = "A moment in the verification method is no date and time with a time zone."
        raise Untrusted(Reason.DID_DOC_INVALID, detail) from None


def _decoded(method: JsonObject) -> PublicKey:
    """The key of a method, by the one member that its type has it in."""
    if _is_exposed(method):
        raise Untrusted(Reason.DID_DOC_INVALID, "The DID document publishes the private key.")
    kind = method.get("type")
    name = _KEY_MEMBERS.get(kind) if isinstance(kind, str) else None
    if name is None or [member for member in method if member.startswith(_PUBLIC)] != [name]:
        raise Untrusted(Reason.KEY_TYPE_UNSUPPORTED, "The verification method is of no supported type.")
    key = _decoded_member(name, method[name])
    if kind == _ED25519_ONLY and key.type is not KeyType.ED25519:
        raise Untrusted(Reason.KEY_TYPE_UNSUPPORTED, "The verification method has a key of another type.")
    return key


def _decoded_member(name: str, value: object) -> PublicKey:
    if isinstance(value, dict):
        if name == "publicKeyJwk":
            return parse_jwk(value)
    elif isinstance(value, str):
        if name == "publicKeyMultibase":
            return parse_multikey(value)
        if name == "publicKeyBase58":
            return parse_base58_ed25519(value)
    raise Untrusted(Reason.KEY_TYPE_UNSUPPORTED, "The key of the verification method is not of its form.")


def _is_exposed(method: JsonObject) -> bool:
    jwk = method.get("publicKeyJwk")
    has_private_part = isinstance(jwk, dict) and "d" in jwk
    return has_private_part or any(member.startswith(_PRIVATE) for member in method)
