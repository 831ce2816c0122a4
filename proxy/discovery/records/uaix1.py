"""The `uaix1` record at `_agent.<host>`: where the manifest is and which DID vouches for it (U-T1 to U-T7).

Whatever is wrong with the records, the manifest may still lie at its default place on the host itself, which TLS
authenticates; so an error here is never the end of a discovery.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.discovery.records.pairs import MalformedPairs, PairsReason, parse_pairs, version_of
from proxy.discovery.urls import UrlReason, UrlRefused, admit
from proxy.http.targets import Target

VERSION: Final = "uaix1"
_DEFAULT_PATH: Final = "/.well-known/uaix-agent-access.json"
# did:web and did:webvh with the host, an optional port and an optional path (W3C CCG did:web, did:webvh 1.0).
_HOSTED_DID: Final = re.compile(
    r"did:(?:web|webvh:[A-Za-z0-9]+):([a-z0-9.-]+)(?:%3[Aa][0-9]{1,5})?(?::[A-Za-z0-9._~%-]+)*"
)
_LONGEST_DID: Final = 512


class Uaix1Reason(StrEnum):
    """Why a record, or the set of them, names no manifest. Those about the endpoint are UrlReason's words."""

    NO_RECORD = "no_record"
    AMBIGUOUS = "ambiguous"
    UNKNOWN_VERSION = "unknown_version"
    NOT_UTF_8 = "not_utf_8"
    DUPLICATE_KEY = "duplicate_key"
    MALFORMED = UrlReason.MALFORMED.value
    HTTPS_REQUIRED = UrlReason.HTTPS_REQUIRED.value
    USERINFO = UrlReason.USERINFO.value
    SSRF = UrlReason.SSRF.value
    PORT = UrlReason.PORT.value


@dataclass(frozen=True, slots=True)
class Uaix1:
    """A valid record.

    `endpoint` None: the default place. `needs_proof`: the endpoint is on another host and DNS does not vouch for
    it, so its manifest counts only under a DID of the host asked about (U-T4). `did` is one whose host may speak
    for the domain; `is_did_ignored` tells that the record has another (U-T5).
    """

    endpoint: Target | None
    did: str | None
    needs_proof: bool
    is_did_ignored: bool

    @property
    def value(self) -> Mapping[str, str]:
        """What the record says, for a listing."""
        endpoint = {} if self.endpoint is None else {"endpoint": self.endpoint.uri}
        return endpoint if self.did is None else {**endpoint, "did": self.did}


@dataclass(frozen=True, slots=True)
class Uaix1Error:
    """No usable record; `detail` is for people and repeats nothing of it."""

    reason: Uaix1Reason
    detail: str


def default_endpoint(domain: str) -> Target:
    """Where the manifest of a canonical domain lies unless a record says otherwise (U-T7)."""
    return Target("https", domain, 443, _DEFAULT_PATH, None)


def parse_uaix1(text: str, domain: str, *, secure: bool) -> Uaix1 | Uaix1Error:
    """The reading of one record's text. `secure`: DNSSEC vouches for it. Never raises."""
    if version_of(text) != VERSION:
        return Uaix1Error(Uaix1Reason.UNKNOWN_VERSION, f"The version is not {VERSION}, in lower case.")
    try:
        pairs = parse_pairs(text.split(";"))
        endpoint = admit(pairs["endpoint"]) if "endpoint" in pairs else None
    except MalformedPairs as error:
        is_duplicate = error.reason is PairsReason.DUPLICATE_KEY
        return Uaix1Error(Uaix1Reason.DUPLICATE_KEY if is_duplicate else Uaix1Reason.MALFORMED, error.detail)
    except UrlRefused as refused:
        return Uaix1Error(Uaix1Reason(refused.reason.value), refused.detail)
    return _checked(domain, endpoint, pairs.get("did"), secure=secure)


def _checked(domain: str, endpoint: Target | None, did: str | None, *, secure: bool) -> Uaix1:
    is_elsewhere = endpoint is not None and endpoint.host != domain
    hosts = {domain} if endpoint is None or not secure else {domain, endpoint.host}
    is_ignored = did is not None and _did_host(did) not in hosts
    return Uaix1(endpoint, None if is_ignored else did, is_elsewhere and not secure, is_ignored)


def _did_host(did: str) -> str | None:
    match = _HOSTED_DID.fullmatch(did) if len(did) <= _LONGEST_DID else None
    return match[1] if match else None


def choose_uaix1(readings: Sequence[Uaix1 | Uaix1Error]) -> Uaix1 | Uaix1Error:
    """The one record that holds among those of this version, in whatever order they came (U-T6, C-21).

    Malformed siblings of a single valid record do not matter; two that say the same are one.
    """
    valid = {reading for reading in readings if isinstance(reading, Uaix1)}
    if len(valid) == 1:
        return valid.pop()
    if valid:
        return Uaix1Error(Uaix1Reason.AMBIGUOUS, f"{len(valid)} valid records contradict each other.")
    errors = [reading for reading in readings if isinstance(reading, Uaix1Error)]
    absent = Uaix1Error(Uaix1Reason.NO_RECORD, f"There is no {VERSION} record.")
    return min(errors, key=lambda error: error.reason, default=absent)
