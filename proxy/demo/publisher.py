"""The publisher of example.com: its DID, and manifests that it signs for the origin, for mirrors and for IPFS.

A manifest cannot list its own CID. So the copy for IPFS comes first, without mirrors in IPFS, and the manifest
lists that copy's CID: two files of one version (TRUST.md §6.4).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final

from proxy.demo.documents import AUTHORIZATION_HOST, HOST, Document
from proxy.trust.content.cid import Cid
from proxy.trust.content.unixfs import add_file
from proxy.trust.did.web import did_of
from proxy.trust.signatures.ijson import JsonObject
from proxy.trust.signatures.keys import KeyType
from proxy.trust.signatures.signing import PrivateKey, sign_data_integrity

DID: Final = did_of(HOST)
KEY_ID: Final = "#key-1"
DID_PATH: Final = "/.well-known/did.json"

_MIRRORS: Final = "x-independent-mirrors"
_IPFS: Final = "ipfs://"
_OF_MIRRORS: Final = "public, max-age=300"


@dataclass(frozen=True, slots=True)
class Publication:
    """One version of the manifest: as the origin has it, as mirrors do, and as IPFS does, in `blocks`."""

    manifest: Document
    mirrored: Document
    copy: bytes
    blocks: tuple[tuple[Cid, bytes], ...]


class Publisher:
    """Signs with a key of its own making. `now`, in Unix seconds, is when."""

    def __init__(self, now: float) -> None:
        self._key = PrivateKey.generate(KeyType.ED25519)
        self._now = now

    @property
    def did_document(self) -> Document:
        """What the origin publishes of the key."""
        method = {
            "id": DID + KEY_ID,
            "type": "Multikey",
            "controller": DID,
            "publicKeyMultibase": self._key.public.multikey,
        }
        document: JsonObject = {
            "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"],
            "id": DID,
            "verificationMethod": [method],
            "assertionMethod": [method["id"]],
        }
        return Document("did.json", DID_PATH, "application/did+json", _text(document), "public, max-age=600")

    def publication(self, manifest: Document, sequence: int) -> Publication:
        """An unsigned manifest as version `sequence`."""
        content: JsonObject = {**json.loads(manifest.body), "x-sequence": sequence}
        listed = json.loads(manifest.body)[_MIRRORS]
        copy = self._signed({**content, _MIRRORS: [url for url in listed if not url.startswith(_IPFS)]})
        cid, blocks = add_file(copy)
        signed = replace(manifest, body=self._signed({**content, _MIRRORS: [*listed, _IPFS + cid.text]}))
        return Publication(signed, replace(signed, cache_control=_OF_MIRRORS), copy, blocks)

    def _signed(self, content: JsonObject) -> bytes:
        return _text({**content, "proof": sign_data_integrity(content, self._key, DID + KEY_ID, self._now)})


def tampered(document: Document) -> Document:
    """The document as somebody publishes it who wants the agents' credentials."""
    return replace(document, body=document.body.replace(AUTHORIZATION_HOST.encode(), b"auth.example.net"))


def _text(value: JsonObject) -> bytes:
    return json.dumps(value, indent=2).encode()
