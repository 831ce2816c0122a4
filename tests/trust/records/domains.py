"""Domains as the tests of trust records see them: documents with named keys, and what is known of one domain."""

from __future__ import annotations

import json
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from multiformats import multibase

from proxy.trust.records.keyring import KeyRing, PinEvent
from proxy.trust.records.knowledge import (
    Knowledge,
    ipns_seen,
    manifest_accepted_from_mirror,
    manifest_accepted_from_origin,
    manifest_contradicted,
    with_pin,
)
from proxy.trust.records.pin import Pin, Validators, sighted
from proxy.trust.records.publication import MIRRORS
from proxy.trust.rollback import Version, version_of
from proxy.trust.signatures.ijson import parse_ijson

NOW: Final = 1_780_315_200.0
HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
DID: Final = "did:web:example.com"
URL: Final = "https://example.com/.well-known/uaix-agent-access.json"
IPNS: Final = "k51qzi5uqu5diamp7qnnvs1p1gzmku3eijkeijs3418j23j077zrkok63xdm8c"
CONTESTED_URL: Final = f"{URL}?contested"
UNSIGNED_URL: Final = f"{URL}?unsigned"
LISTED: Final = {MIRRORS: ["https://mirror.example/manifest.json"]}
TAGGED: Final = Validators('"1"', "Mon, 01 Jun 2026 12:00:00 GMT")


def multikey(name: str) -> str:
    """The public key called `name`, one letter."""
    key = Ed25519PrivateKey.from_private_bytes(name.encode() * 32)
    return multibase.encode(b"\xed\x01" + key.public_key().public_bytes_raw(), "base58btc")


def keys(names: str) -> frozenset[str]:
    return frozenset(map(multikey, names))


def document(names: str, did: str = DID, **members: Any) -> bytes:
    """The DID document that lists the keys called by these letters, all of them for assertions."""
    methods = [
        {"id": f"#{name}", "type": "Multikey", "controller": did, "publicKeyMultibase": multikey(name)}
        for name in names
    ]
    listed = [f"#{name}" for name in names]
    return json.dumps({"id": did, "verificationMethod": methods, "assertionMethod": listed, **members}).encode()


def named(ring: KeyRing) -> tuple[str, dict[str, float], dict[str, float]]:
    """A ring in letters: those listed, those dropped, those on probation, with their times after NOW in hours."""
    letters = {multikey(name): name for name in "abcdefghij"}
    listed = "".join(sorted(letters[key] for key in ring.listed))
    return (
        listed,
        {letters[key]: (at - NOW) / HOUR for key, at in ring.dropped.items()},
        {letters[key]: (at - NOW) / HOUR for key, at in ring.probation.items()},
    )


def seen(pin: Pin | None, names: str, hours: float, **options: Any) -> tuple[Pin, PinEvent]:
    """The pin after the domain has shown a document with these keys, some hours after NOW."""
    sighting = sighted(pin, DID, document(names), NOW + hours * HOUR, **options)
    return sighting.pin, sighting.event


def manifest(**members: Any) -> bytes:
    return json.dumps({"profileId": "uaix.ai-ready-web.manifest.v1", **members}).encode()


def version(body: bytes, created: float = NOW) -> Version:
    return version_of(parse_ijson(body), created)


def accepted(known: Knowledge, url: str, body: bytes, hours: float = 0.0, *, signed: bool = True) -> Knowledge:
    """What is known after the domain has published `body`."""
    now = NOW + hours * HOUR
    change = manifest_accepted_from_origin(known, url, body, version(body, now), signed=signed, now=now)
    return change.knowledge


def mirrored(known: Knowledge, url: str, body: bytes, hours: float = 0.0) -> Knowledge:
    """What is known after a mirror has brought `body`."""
    now = NOW + hours * HOUR
    return manifest_accepted_from_mirror(known, url, body, version(body, now), now).knowledge


def contested(known: Knowledge, url: str) -> Knowledge:
    """What is known of a manifest after two mirrors have contradicted each other."""
    known = mirrored(accepted(known, url, manifest(**LISTED), 4), url, manifest(n=1, **LISTED), 5)
    return manifest_contradicted(
        known, url, version(manifest(n=2, **{"x-sequence": 1e21}), NOW + 5 * HOUR)
    ).knowledge


def known_domain(authority: str = "example.com") -> Knowledge:
    """Everything that can be known of a domain with a did:web."""
    pin, _ = seen(None, "ab", 0)
    pin, _ = seen(pin, "bc", 1)
    pin, _ = seen(pin, "bc", 2, validators=TAGGED)
    known = with_pin(Knowledge(authority, DID, dns_did=DID), pin, NOW + 2 * HOUR)
    known = accepted(known, URL, manifest(**{"x-sequence": 7}, **LISTED), 3)
    known = mirrored(known, URL, manifest(**{"x-sequence": 8}, **LISTED), 4)
    known = accepted(known, UNSIGNED_URL, manifest(note="§ \u2028", **{"x-sequence": -3}), 4, signed=False)
    known = contested(known, CONTESTED_URL)
    return ipns_seen(known, IPNS, 2**64 - 1).knowledge
