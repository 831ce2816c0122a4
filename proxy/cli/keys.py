"""`keygen` and `did-document`: a publisher's key pair, and the DID document that says whose it is."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import Final

from proxy.cli.arguments import Unusable
from proxy.cli.files import STANDARD, read_file, shown, write_document, write_secret
from proxy.cli.identifiers import domain_did, method_ids
from proxy.trust.did.document import DidDocument, parse_did_document
from proxy.trust.did.web import document_target
from proxy.trust.reasons import Untrusted
from proxy.trust.signatures.ijson import JsonObject
from proxy.trust.signatures.keys import KeyType, PublicKey, parse_multikey
from proxy.trust.signatures.signing import PrivateKey

_FINE: Final = 0
_CONTEXT: Final = ("https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1")
_TYPES: Final = {"ed25519": KeyType.ED25519, "p256": KeyType.P256, "p384": KeyType.P384}


def keygen(arguments: Namespace) -> int:
    """Make a key pair: the private key goes to a file, the public one is told."""
    key = PrivateKey.generate(_TYPES[arguments.type])
    if arguments.out == STANDARD:
        sys.stdout.write(key.to_pem().decode())
        print(f"public key: {key.public.multikey}", file=sys.stderr)
        return _FINE
    write_secret(arguments.out, key.to_pem(), replace=arguments.force)
    print(f"public key   {key.public.multikey}")
    print(f"private key  {shown(arguments.out)} (only you may read it: keep it secret, and keep a copy)")
    return _FINE


def did_document(arguments: Namespace) -> int:
    """Make the DID document of a domain."""
    did = domain_did(arguments.domain)
    if not arguments.keys:
        raise Unusable("give the keys that sign for the domain: --key or --public")
    keys = [_public(flag, text) for flag, text in arguments.keys]
    if len(set(keys)) != len(keys):
        raise Unusable("--key, --public: the same key is given twice")
    described = describe_keys(did, dict(zip(method_ids("--id", arguments.id, did, len(keys)), keys, strict=True)))
    body = to_text(described)
    where = f"publish it at {document_target(did).uri}"
    if arguments.out == STANDARD:
        sys.stdout.write(body.decode())
        print(where, file=sys.stderr)
        return _FINE
    write_document(arguments.out, body)
    print(f"{did}: {shown(arguments.out)}, {where}")
    return _FINE


def describe_keys(did: str, keys: Mapping[str, PublicKey]) -> JsonObject:
    """The DID document in which these keys sign for `did`, by the ids of their methods."""
    methods = [
        {"id": method, "type": "Multikey", "controller": did, "publicKeyMultibase": key.multikey}
        for method, key in keys.items()
    ]
    return {"@context": [*_CONTEXT], "id": did, "verificationMethod": methods, "assertionMethod": [*keys]}


def parsed_keys(did: str, keys: Mapping[str, PublicKey]) -> DidDocument:
    """What a reader makes of the document that `describe_keys` gives."""
    return parse_did_document(to_text(describe_keys(did, keys)), did)


def read_key(path: str) -> PrivateKey:
    """The private key in a file. Raises Unusable."""
    try:
        return PrivateKey.from_pem(read_file(path))
    except Untrusted as error:
        raise Unusable(f"{shown(path)}: {error.detail} Make one with: discovery-proxy keygen") from None


def to_text(document: JsonObject) -> bytes:
    """A document as it is published."""
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"


def _public(flag: str, text: str) -> PublicKey:
    if flag == "--key":
        return read_key(text).public
    try:
        return parse_multikey(text)
    except Untrusted as error:
        raise Unusable(f"--public: {error.detail} Give it as keygen prints it: z6Mk...") from None
