"""Verifying a did:webvh log: bytes from anywhere in, the identifier's latest document out (TRUST.md §3.1, §3.2).

Every entry is verified, in time linear in the log, whose size and length are held first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proxy.trust.did.web import MalformedDid, parse_web_did
from proxy.trust.did.webvh.entries import Entry, invalid, parse_entry
from proxy.trust.did.webvh.entries import VersionId as VersionId
from proxy.trust.did.webvh.parameters import (
    Parameters,
    WitnessRule,
    approvers,
    first_parameters,
    next_parameters,
    signers,
)
from proxy.trust.did.webvh.proofs import check_entry, check_witnesses
from proxy.trust.reasons import Untrusted
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.proofs import ProofTerms

MOST_OCTETS: Final = 512 * 2**10
MOST_ENTRIES: Final = 500
CLOCK_SKEW: Final = 300.0


@dataclass(frozen=True, slots=True)
class VerifiedLog:
    """What a log comes to. `versions` is their number, `document` the latest state in canonical JSON.

    `did` is the identifier in that state. `updated_at` is the time of the latest version in Unix seconds, `ttl` in
    seconds. A document of a deactivated identifier is there, but vouches for nothing any more.
    """

    did: str
    versions: int
    latest: VersionId
    updated_at: float
    document: bytes
    update_keys: frozenset[str]
    watchers: tuple[str, ...]
    is_deactivated: bool
    ttl: int


@dataclass(frozen=True, slots=True)
class _Link:
    """A verified entry, with the parameters as they stand after it."""

    entry: Entry
    parameters: Parameters
    approvers: WitnessRule | None

    @property
    def did(self) -> str:
        return str(self.entry.state["id"])


def verify_log(
    log: bytes, scid: str, now: float, *, witnesses: bytes | None = None, pinned: VersionId | None = None
) -> VerifiedLog:
    """The history of the identifier with this SCID. `now` in Unix seconds. Raises Untrusted WEBVH_INVALID.

    `witnesses` is the file of their proofs, which is needed where the log says so. `pinned` is the latest version
    known before: a log without it, also one that is shorter, is refused.
    """
    chain: list[_Link] = []
    for number, line in enumerate(_lines(log), start=1):
        try:
            chain.append(_linked(chain[-1] if chain else None, parse_entry(line), scid, now))
        except Untrusted as error:
            raise invalid(f"Entry {number} of the log: {error.detail}") from None
    _check_approvals(chain, witnesses, now)
    last = chain[-1]
    if pinned is not None and (len(chain) < pinned.number or chain[pinned.number - 1].entry.version != pinned):
        raise invalid("The log does not contain the version that is known already.")
    return VerifiedLog(
        did=last.did,
        versions=len(chain),
        latest=last.entry.version,
        updated_at=last.entry.time,
        document=canonical(last.entry.state),
        update_keys=last.parameters.update_keys,
        watchers=last.parameters.watchers,
        is_deactivated=last.parameters.deactivated,
        ttl=last.parameters.ttl,
    )


def _lines(log: bytes) -> list[bytes]:
    if len(log) > MOST_OCTETS:
        raise invalid(f"The log has more than {MOST_OCTETS} octets.")
    lines = log.removesuffix(b"\n").split(b"\n")
    if len(lines) > MOST_ENTRIES:
        raise invalid(f"The log has more than {MOST_ENTRIES} entries.")
    return lines


def _linked(previous: _Link | None, entry: Entry, scid: str, now: float) -> _Link:
    """The entry as the next link of the chain."""
    before = None if previous is None else previous.parameters
    if before is not None and before.deactivated:
        raise invalid("It follows the one that ended the identifier.")
    if before is None:
        parameters = first_parameters(entry.parameters, scid)
    else:
        parameters = next_parameters(before, entry.parameters)
    _check_version(previous, entry, scid)
    _check_time(previous, entry, now)
    authority = _check_state(previous, entry, scid, is_portable=parameters.portable)
    check_entry(entry, signers(before, parameters), ProofTerms(authority, now, CLOCK_SKEW))
    return _Link(entry, parameters, approvers(before, parameters))


def _check_version(previous: _Link | None, entry: Entry, scid: str) -> None:
    number, text = (0, scid) if previous is None else (previous.entry.version.number, previous.entry.version.text)
    if entry.version.number != number + 1:
        raise invalid("Its number does not follow the one before.")
    if entry.hash_after(text) != entry.version.entry_hash:
        raise invalid("Its hash is another one.")
    if previous is None and not entry.certifies(scid):
        raise invalid("It is not the one that the identifier commits to.")


def _check_time(previous: _Link | None, entry: Entry, now: float) -> None:
    if entry.time > now + CLOCK_SKEW:
        raise invalid("It is dated in the future.")
    if previous is not None and entry.time <= previous.entry.time:
        raise invalid("It is not dated after the one before.")


def _check_state(previous: _Link | None, entry: Entry, scid: str, *, is_portable: bool) -> str:
    """The host[:port] of the identifier, which stays what it was unless it may move and says from where."""
    did = entry.state.get("id")
    try:
        parsed = parse_web_did(did if isinstance(did, str) else "")
    except MalformedDid:
        raise invalid("Its document is of no did:webvh.") from None
    if parsed.scid != scid:
        raise invalid("Its document is of another identifier.")
    if previous is not None and did != previous.did:
        known_as = entry.state.get("alsoKnownAs")
        if not is_portable or not isinstance(known_as, list) or previous.did not in known_as:
            raise invalid("It moves the identifier, which may not move or does not say from where.")
    return parsed.target("did.jsonl").authority


def _check_approvals(chain: list[_Link], witnesses: bytes | None, now: float) -> None:
    # Of the entries under one rule the last one decides: its approval is that of all before it.
    rules = {link.approvers: link.entry.version.number for link in chain if link.approvers is not None}
    versions = {link.entry.version.text: link.entry.version.number for link in chain}
    try:
        check_witnesses(rules, versions, witnesses, ProofTerms("", now, CLOCK_SKEW))
    except Untrusted as error:
        raise invalid(error.detail) from None
