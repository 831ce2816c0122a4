"""A controller of did:webvh identifiers, and its witnesses: logs and proofs made apart from the code under test.

log = [first_entry()]
log.append(next_entry(log[-1], {"updateKeys": [multikey(OTHER)]}))
log.append(next_entry(log[-1], key=OTHER))
to_log(log)
"""

from __future__ import annotations

import copy
import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from multiformats import multibase

Json = dict[str, Any]

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
NOW: Final = datetime(2026, 11, 30, tzinfo=UTC).timestamp()
PLACEHOLDER: Final = "{SCID}"


def private_key(seed: int) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)


KEY: Final = private_key(1)
OTHER: Final = private_key(2)
NEXT: Final = private_key(3)
WITNESSES: Final = tuple(private_key(seed) for seed in (11, 12, 13))


def base58(octets: bytes) -> str:
    return multibase.encode(octets, "base58btc")


def multikey(key: Ed25519PrivateKey) -> str:
    return base58(b"\xed\x01" + key.public_key().public_bytes_raw())


def did_key(key: Ed25519PrivateKey) -> str:
    return f"did:key:{multikey(key)}"


def multihash(octets: bytes) -> str:
    return base58(b"\x12\x20" + hashlib.sha256(octets).digest())[1:]


def commitment(key: Ed25519PrivateKey) -> str:
    """The hash of a key that is to come, for nextKeyHashes."""
    return multihash(multikey(key).encode())


def document(place: str = "example.com", scid: str = PLACEHOLDER, **members: Any) -> Json:
    did = f"did:webvh:{scid}:{place}"
    method = {"id": f"{did}#1", "type": "Multikey", "controller": did, "publicKeyMultibase": multikey(KEY)}
    return {"id": did, "verificationMethod": [method], "assertionMethod": [f"{did}#1"], **members}


def first_entry(
    parameters: Json | None = None,
    key: Ed25519PrivateKey = KEY,
    place: str = "example.com",
    time: str | None = None,
    state: Json | None = None,
) -> Json:
    """The first entry, its SCID computed; `parameters` are beside the required ones or in their place."""
    stated = {
        "method": "did:webvh:1.0",
        "scid": PLACEHOLDER,
        "updateKeys": [multikey(key)],
        **(parameters or {}),
    }
    entry = {
        "versionId": PLACEHOLDER,
        "versionTime": time or written(0),
        "parameters": stated,
        "state": state or document(place),
    }
    scid = multihash(rfc8785.dumps(entry))
    return finished(json.loads(json.dumps(entry).replace(PLACEHOLDER, scid)), scid, 1, key)


def next_entry(
    previous: Json,
    parameters: Json | None = None,
    key: Ed25519PrivateKey = KEY,
    time: str | None = None,
    state: Json | None = None,
) -> Json:
    """The entry after `previous`, an hour later."""
    number = int(previous["versionId"].partition("-")[0]) + 1
    entry = {
        "versionTime": time or written(number - 1),
        "parameters": parameters or {},
        "state": state or copy.deepcopy(previous["state"]),
    }
    return finished(entry, previous["versionId"], number, key)


def finished(entry: Json, predecessor: str, number: int, key: Ed25519PrivateKey) -> Json:
    """The entry with its hash and its proof."""
    entry_hash = multihash(rfc8785.dumps({**entry, "versionId": predecessor}))
    return signed({**entry, "versionId": f"{number}-{entry_hash}"}, key)


def signed(entry: Json, key: Ed25519PrivateKey, **options: Any) -> Json:
    """The entry with one proof by `key`, whatever proofs it had; `options` in place of the right ones."""
    unsigned = {name: value for name, value in entry.items() if name != "proof"}
    return {**unsigned, "proof": [proof(unsigned, key, **options)]}


def proof(unsigned: Json, key: Ed25519PrivateKey, **options: Any) -> Json:
    """An eddsa-jcs-2022 proof; an option that is None is left out."""
    stated = {
        "type": "DataIntegrityProof",
        "cryptosuite": "eddsa-jcs-2022",
        "verificationMethod": f"{did_key(key)}#{multikey(key)}",
        "created": written(0),
        "proofPurpose": "assertionMethod",
        **options,
    }
    stated = {name: value for name, value in stated.items() if value is not None}
    message = hashlib.sha256(rfc8785.dumps(stated)).digest() + hashlib.sha256(rfc8785.dumps(unsigned)).digest()
    return {**stated, "proofValue": base58(key.sign(message))}


def written(hours: int) -> str:
    return (START + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")


def scid_of(entry: Json) -> str:
    return str(entry["state"]["id"].split(":")[2])


def to_log(entries: list[Json]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def witness_rule(threshold: int, *keys: Ed25519PrivateKey) -> Json:
    return {"threshold": threshold, "witnesses": [{"id": did_key(key)} for key in keys]}


def approved(entry: Json, *keys: Ed25519PrivateKey, **options: Any) -> Json:
    """An entry of a witness file: a version, and the proofs of those who approve it."""
    version = {"versionId": entry["versionId"]}
    return {**version, "proof": [proof(version, key, **options) for key in keys]}


def to_file(*approvals: Json) -> bytes:
    return json.dumps(approvals).encode()
