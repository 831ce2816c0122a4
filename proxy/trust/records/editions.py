"""Manifests in the record of an authority. Formats 1 and 2 held bodies, from which the rest is computed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from proxy.trust.records.members import (
    damaged,
    flag_of,
    integer_of,
    object_of,
    objects_of,
    octets_of,
    text_of,
    time_of,
)
from proxy.trust.records.publication import Edition, KnownManifest, edition
from proxy.trust.rollback import MOST_CLAIMS, Version, version_of
from proxy.trust.signatures.ijson import JsonObject, parse_ijson

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def manifest_members(manifest: KnownManifest) -> JsonObject:
    """A manifest as a record holds it."""
    return {
        "url": manifest.url,
        "published": _edition_members(manifest.published),
        "carried": None if manifest.carried is None else _edition_members(manifest.carried),
        "claims": [_version_members(claim) for claim in manifest.claims],
    }


def read_manifest(members: JsonObject) -> KnownManifest:
    """The manifest that a record of format 3 holds. Raises Untrusted."""
    return _manifest(members, _edition)


def read_manifest_of_format_2(members: JsonObject) -> KnownManifest:
    """The manifest that a record of format 2 holds. Raises Untrusted."""
    return _manifest(members, _edition_of_format_2)


def read_manifest_of_format_1(members: JsonObject) -> KnownManifest:
    """The manifest that a record of format 1 holds, as if the domain itself had published it. Raises Untrusted."""
    return KnownManifest(text_of(members, "url"), _with_body(members, octets_of(members, "body")))


def _manifest(members: JsonObject, read: Callable[[JsonObject], Edition]) -> KnownManifest:
    carried = None if members.get("carried") is None else read(object_of(members, "carried"))
    claims = tuple(_version(claim) for claim in objects_of(members, "claims", MOST_CLAIMS))
    return KnownManifest(text_of(members, "url"), read(object_of(members, "published")), carried, claims)


def _edition_members(known: Edition) -> JsonObject:
    return {
        "listing": known.listing.decode("ascii"),
        "sha256": known.sha256,
        "signed": known.signed,
        "accepted_at": known.accepted_at,
    } | _version_members(known.version)


def _edition(members: JsonObject) -> Edition:
    listing = text_of(members, "listing").encode()
    if listing and not _is_listing(listing):
        raise damaged("A list of mirrors of it is none.")
    signed, accepted_at = flag_of(members, "signed"), time_of(members, "accepted_at")
    return Edition(listing, _sha256(members, "sha256"), _version(members), signed, accepted_at)


def _edition_of_format_2(members: JsonObject) -> Edition:
    body = octets_of(members, "body")
    if body:
        return _with_body(members, body)
    signed, accepted_at = flag_of(members, "signed"), time_of(members, "accepted_at")
    return Edition(b"", _sha256(members, "sha256"), _version(members), signed, accepted_at)


def _is_listing(listing: bytes) -> bool:
    try:
        listed = json.loads(listing)
    except (ValueError, RecursionError):
        return False
    return isinstance(listed, list) and bool(listed)


def _with_body(members: JsonObject, body: bytes) -> Edition:
    version = version_of(parse_ijson(body), time_of(members, "created"))
    return edition(body, version, signed=flag_of(members, "signed"), accepted_at=time_of(members, "accepted_at"))


def _version_members(version: Version) -> JsonObject:
    sequence = None if version.sequence is None else str(version.sequence)
    return {"core": version.core, "sequence": sequence, "created": version.created}


def _version(members: JsonObject) -> Version:
    sequence = None if members.get("sequence") is None else integer_of(members, "sequence")
    return Version(_sha256(members, "core"), sequence, time_of(members, "created"))


def _sha256(members: JsonObject, name: str) -> str:
    digest = text_of(members, name)
    if not _SHA256.fullmatch(digest):
        raise damaged(f"Its {name} is no SHA-256.")
    return digest
