"""One entry of a did:webvh log: its members, and the hashes that chain it to the entry before."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures import base58
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.datetimes import parse_date_time_stamp
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.proofs import PROOF, SecuredDocument

MOST_PROOFS: Final = 8

_VERSION_ID: Final = "versionId"
_MEMBERS: Final = frozenset({_VERSION_ID, "versionTime", "parameters", "state", PROOF})
_PLACEHOLDER: Final = "{SCID}"
_MULTIHASH_PREFIX: Final = b"\x12\x20"
_VERSION: Final = re.compile(r"([1-9][0-9]{0,5})-(Qm[1-9A-HJ-NP-Za-km-z]{44})")
_UTC: Final = ("Z", "+00:00")


@dataclass(frozen=True, slots=True)
class VersionId:
    """A version of an identifier's document: its number, from 1, and the whole text "NUMBER-HASH"."""

    number: int
    text: str

    @property
    def entry_hash(self) -> str:
        return self.text.partition("-")[2]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry with members of the right types; nothing of it is verified. `time` in Unix seconds."""

    version: VersionId
    time: float
    parameters: JsonObject
    state: JsonObject
    proofs: tuple[object, ...]
    secured: SecuredDocument

    def hash_after(self, predecessor: str) -> str:
        """The hash that chains the entry to a version, or the first one to the SCID."""
        return multihash(canonical(self._unsigned(predecessor)))

    def certifies(self, scid: str) -> bool:
        """Whether `scid` is the hash of this first entry with placeholders in its place."""
        preliminary = canonical(self._unsigned(_PLACEHOLDER)).replace(scid.encode(), _PLACEHOLDER.encode())
        # Once more canonical: a name of a member may have been replaced, and sort elsewhere now.
        return multihash(canonical(parse_ijson(preliminary))) == scid

    def _unsigned(self, version_id: str) -> JsonObject:
        members = {name: value for name, value in self.secured.members.items() if name != PROOF}
        return {**members, _VERSION_ID: version_id}


def parse_entry(line: bytes) -> Entry:
    """The entry of one line of a log. Raises Untrusted."""
    members = parse_ijson(line)
    if members.keys() != _MEMBERS:
        raise invalid("It has not the members of an entry, or others.")
    parameters, state, proof = members["parameters"], members["state"], members[PROOF]
    if not isinstance(parameters, dict) or not isinstance(state, dict):
        raise invalid("Its parameters or its state are no object.")
    proofs = tuple(proof) if isinstance(proof, list) else (proof,)
    if not 1 <= len(proofs) <= MOST_PROOFS:
        raise invalid(f"It has no proof, or more than {MOST_PROOFS}.")
    version, time = _version(members[_VERSION_ID]), _time(members["versionTime"])
    return Entry(version, time, parameters, state, proofs, SecuredDocument(members))


def multihash(octets: bytes) -> str:
    """The SHA-256 of the octets as did:webvh writes hashes: 46 characters, "Qm…"."""
    return base58.encode(_MULTIHASH_PREFIX + hashlib.sha256(octets).digest())


def invalid(detail: str) -> Untrusted:
    """The error for whatever is wrong with a log."""
    return Untrusted(Reason.WEBVH_INVALID, detail)


def _version(text: object) -> VersionId:
    match = _VERSION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise invalid("Its version is not a number and a SHA-256 multihash.")
    return VersionId(int(match[1]), match[0])


def _time(text: object) -> float:
    try:
        time = parse_date_time_stamp(text)
    except ValueError:
        raise invalid("Its time is no date and time.") from None
    if not str(text).endswith(_UTC):
        raise invalid("Its time is not in UTC.")
    return time
