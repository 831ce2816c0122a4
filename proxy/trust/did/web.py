"""did:web and did:webvh identifiers: which host they are of, and where the document lies (TRUST.md §1.1, §3.1).

The rules for hosts and path segments are stricter than the methods' own, because each laxness is an identifier that
two programs locate differently. Invariants of a `WebDid`: the host is a name of at least two lower-case labels, no
address in any notation; the segments are as written and none, decoded once, leaves its place in the path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import unquote

from proxy.http.targets import DEFAULT_PORTS, Target

LONGEST: Final = 2048

_WEB: Final = "did:web:"
_WEBVH: Final = "did:webvh:"
_HTTPS_PORT: Final = DEFAULT_PORTS["https"]
_IDENTIFIER: Final = re.compile(r"(?:[A-Za-z0-9._:-]|%[0-9A-Fa-f]{2})+")
_AUTHORITY: Final = re.compile(r"([A-Za-z0-9.-]+)(?:%3[Aa]([A-Za-z0-9._-]*))?")
_PORT: Final = re.compile(r"[1-9][0-9]{0,4}")
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST_HOST: Final = 253
_SCID: Final = re.compile(r"Qm[1-9A-HJ-NP-Za-km-z]{44}")
_LEAVES_ITS_PLACE: Final = re.compile(r"[\x00-\x20\x7f-\x9f/\\]|\s")


class DidReason(StrEnum):
    """Why a text is no identifier that can be located."""

    METHOD = "unsupported_method"
    SYNTAX = "invalid_did"
    HOST = "invalid_host"
    ADDRESS = "ip_address"
    PORT = "invalid_port"
    PATH = "invalid_path"


class MalformedDid(ValueError):
    """The text is no such identifier; `detail` is a sentence and repeats nothing of it."""

    def __init__(self, reason: DidReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class WebDid:
    """A did:web or did:webvh in parts; `scid` is None for did:web. `segments` are percent-encoded as written."""

    host: str
    port: int
    segments: tuple[str, ...]
    scid: str | None = None

    def target(self, filename: str) -> Target:
        """Where `filename` of this identifier lies: below its path, or in .well-known where it has none."""
        folder = "/".join(self.segments) or ".well-known"
        return Target("https", self.host, self.port, f"/{folder}/{filename}", None)


def did_of(host: str, port: int = _HTTPS_PORT) -> str:
    """The did:web of an origin, `host` in any case. Raises MalformedDid for a host that can have none."""
    suffix = "" if port == _HTTPS_PORT else f"%3A{port}"
    did = f"{_WEB}{host.lower()}{suffix}"
    if parse_web_did(did) != WebDid(host.lower(), port, ()):
        raise MalformedDid(DidReason.HOST, "The host is no name.")
    return did


def document_target(did: str, *, allow_localhost: bool = False) -> Target:
    """Where the document of a did:web lies. Raises MalformedDid.

    `allow_localhost` admits the single label "localhost", for development.
    """
    if not did.startswith(_WEB):
        raise MalformedDid(DidReason.METHOD, "The identifier is no did:web.")
    return parse_web_did(did, allow_localhost=allow_localhost).target("did.json")


def host_of(did: str) -> tuple[str, int]:
    """Host and port of a did:web or did:webvh. Raises MalformedDid."""
    parsed = parse_web_did(did)
    return parsed.host, parsed.port


def is_webvh(did: str) -> bool:
    """Whether a DID is a did:webvh, whose keys are in a log."""
    return did.startswith(_WEBVH)


def is_path_did(did: str) -> bool:
    """Whether the identifier is of a path only, and says nothing about its domain. Raises MalformedDid."""
    return bool(parse_web_did(did).segments)


def parse_web_did(did: str, *, allow_localhost: bool = False) -> WebDid:
    """A did:web or did:webvh in parts. Raises MalformedDid."""
    if not did.startswith((_WEB, _WEBVH)):
        raise MalformedDid(DidReason.METHOD, "The identifier is neither did:web nor did:webvh.")
    _, method, specific = did.split(":", 2)
    if len(did) > LONGEST or _IDENTIFIER.fullmatch(specific) is None:
        raise MalformedDid(DidReason.SYNTAX, "The identifier is empty, too long or has a character of no DID.")
    scid = None
    if method == "webvh":
        scid, _, specific = specific.partition(":")
        if _SCID.fullmatch(scid) is None:
            raise MalformedDid(DidReason.SYNTAX, "The identifier has no self-certifying part.")
    authority, *segments = specific.split(":")
    host, port = _parse_authority(authority, allow_localhost=allow_localhost)
    for segment in segments:
        _check_segment(segment)
    return WebDid(host, port, tuple(segments), scid)


def _parse_authority(authority: str, *, allow_localhost: bool) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise MalformedDid(DidReason.HOST, "The host is no name: only its port may be set off by %3A.")
    host, port = match[1].lower(), match[2]
    if not (allow_localhost and host == "localhost"):
        _check_host(host)
    if port is None:
        return host, _HTTPS_PORT
    if _PORT.fullmatch(port) is None or int(port) > 65535:
        raise MalformedDid(DidReason.PORT, "The port is no number from 1 to 65535.")
    return host, int(port)


def _check_host(host: str) -> None:
    labels = host.split(".")
    if len(host) > _LONGEST_HOST or len(labels) < 2 or not all(map(_LABEL.fullmatch, labels)):
        raise MalformedDid(DidReason.HOST, "The host is no name of at least two labels.")
    if _NUMERIC.fullmatch(labels[-1]) is not None:
        raise MalformedDid(DidReason.ADDRESS, "The host is an address, or programs may read it as one.")


def _check_segment(segment: str) -> None:
    try:
        decoded = unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise MalformedDid(DidReason.PATH, "A path segment is not percent-encoded UTF-8.") from None
    if decoded in ("", ".", "..") or _LEAVES_ITS_PLACE.search(decoded) is not None:
        raise MalformedDid(DidReason.PATH, "A path segment is empty, dots, or has a slash, space or control.")
