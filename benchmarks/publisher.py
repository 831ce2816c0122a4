"""A publisher of signed manifests: a domain's keys, its DID document of thirteen keys, manifests of any size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from typing import Final

from proxy.trust.did.web import did_of
from proxy.trust.manifests import PROFILE
from proxy.trust.signatures.ijson import JsonObject
from proxy.trust.signatures.keys import KeyType
from proxy.trust.signatures.signing import PrivateKey, sign_data_integrity, sign_jws

MANIFEST_PATH: Final = "/.well-known/uaix-agent-access.json"
DID_PATH: Final = "/.well-known/did.json"
KEYS: Final = 13
# Signed before it is fetched, whatever the clocks' seconds.
_AGE: Final = 3600.0


class ProofKind(Enum):
    """Every way that a manifest may be signed: the name of the container, and the key."""

    EDDSA = ("eddsa-jcs-2022, Ed25519", KeyType.ED25519)
    ECDSA_P256 = ("ecdsa-jcs-2019, P-256", KeyType.P256)
    ECDSA_P384 = ("ecdsa-jcs-2019, P-384", KeyType.P384)
    JWS_EDDSA = ("JWS, Ed25519", KeyType.ED25519)
    JWS_P256 = ("JWS, P-256", KeyType.P256)
    JWS_P384 = ("JWS, P-384", KeyType.P384)

    @property
    def text(self) -> str:
        """As a table has it."""
        return self.value[0]

    @property
    def key_type(self) -> KeyType:
        """What it is made with."""
        return self.value[1]

    @property
    def is_jws(self) -> bool:
        """Whether the container is `signatures`, as opposed to `proof`."""
        return self in (ProofKind.JWS_EDDSA, ProofKind.JWS_P256, ProofKind.JWS_P384)


class Publisher:
    """Signs for `host`; `now` in Unix seconds."""

    def __init__(self, host: str, now: float) -> None:
        self.host = host
        self.did = did_of(host)
        self._signed_at = now - _AGE
        others = [PrivateKey.generate(KeyType.ED25519) for _ in range(KEYS - len(KeyType))]
        signing = [PrivateKey.generate(key_type) for key_type in KeyType]
        self._methods = {f"{self.did}#key-{number}": key for number, key in enumerate((*others, *signing), 1)}

    @property
    def did_document(self) -> bytes:
        """The signing keys among others, thirteen in all."""
        methods = [
            {"id": id, "type": "Multikey", "controller": self.did, "publicKeyMultibase": key.public.multikey}
            for id, key in self._methods.items()
        ]
        document = {
            "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"],
            "id": self.did,
            "verificationMethod": methods,
            "assertionMethod": [method["id"] for method in methods],
        }
        return json.dumps(document).encode()

    def manifest(self, octets: int, kind: ProofKind = ProofKind.EDDSA, mirrors: Sequence[str] = ()) -> bytes:
        """A manifest of about so many octets, its signature included; routes and a sentence fill it.

        The mirrors come on top, so that whatever is listed it is the same version (TRUST.md §6.4).
        """
        document: JsonObject = {
            "profileId": PROFILE,
            "site": {"name": "Zürich 納豆", "url": f"https://{self.host}/"},
            "x-sequence": 42,
            "supportBoundary": "",
        }
        room = octets - len(self._signed(document, kind))
        # A comma each, and room for the sentence.
        document["routes"] = [_route(number) for number in range(room // (len(_text(_route(0))) + 1) - 1)]
        padding = octets - len(self._signed(document, kind))
        document["supportBoundary"] = ("Public discovery and evidence only. " * (padding // 36 + 1))[:padding]
        if mirrors:
            document["x-independent-mirrors"] = list(mirrors)
        return self._signed(document, kind)

    def _signed(self, document: JsonObject, kind: ProofKind) -> bytes:
        method, key = next(one for one in reversed(self._methods.items()) if one[1].public.type is kind.key_type)
        if kind.is_jws:
            return _text({**document, "signatures": [sign_jws(document, key, method, self._signed_at)]})
        return _text({**document, "proof": sign_data_integrity(document, key, method, self._signed_at)})


def _route(number: int) -> JsonObject:
    return {
        "abilityLevel": "L1",
        "method": "GET",
        "highestSupportedPath": f"/api/v1/public/markets/{number:05d}",
        "lowestSafeFallback": f"/markets/{number:05d}.html",
        "sideEffecting": False,
        "x-weight": 0.25,
    }


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
