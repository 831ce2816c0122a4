"""OAuth identifiers: where the metadata of an issuer or of a resource lies, and whether it is theirs.

RFC 8414 and RFC 9728 derive a metadata URL from an identifier and then ask that the document repeat the identifier,
code point for code point. So identifiers are texts here: they are derived from and compared as published, never
after a URL was parsed and written again, which adds slashes and folds case (DISCOVERY_FORMATS §6).

A *problem* is what keeps metadata from being used, or what its user must know. It shows both raw texts, cut and
escaped, because the usual cause is a difference that nobody sees.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from proxy.discovery.urls import UrlRefused, admit
from proxy.http.secrets import find_secret

LONGEST_IDENTIFIER: Final = 2048

_AUTHORIZATION_SERVER: Final = "/.well-known/oauth-authorization-server"
_OPENID: Final = "/.well-known/openid-configuration"
_PROTECTED_RESOURCE: Final = "/.well-known/oauth-protected-resource"
_IDENTIFIER: Final = re.compile(r"([^:/?#]+://[^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_METADATA_PATH: Final = re.compile(
    r"(.*?)/\.well-known/(?:oauth-authorization-server|openid-configuration)((?:/.*)?)", re.DOTALL
)
_LONGEST_SHOWN: Final = 200


IssuerSlash = Literal["strict", "pathless"]
"""Whether an issuer without a path may differ from its metadata by the last slash (OA-11)."""


class IdentifierReason(StrEnum):
    """Why a text is no usable identifier; the last five are `UrlReason`'s."""

    METADATA_URL = "metadata_url"
    QUERY = "query_forbidden"
    FRAGMENT = "fragment_forbidden"
    HTTPS_REQUIRED = "https_required"
    MALFORMED = "malformed"
    USERINFO = "userinfo"
    SSRF = "ssrf"
    PORT = "port"


@dataclass(frozen=True, slots=True)
class IdentifierRefused:
    """No metadata is looked for; `detail` is a sentence that repeats nothing of the text."""

    reason: IdentifierReason
    detail: str


class MetadataCode(StrEnum):
    """What can be wrong with metadata; the value is what the discovery answer shows."""

    ISSUER_MISMATCH = "issuer_mismatch"
    ISSUER_SLASH = "issuer_slash"
    RESOURCE_MISMATCH = "resource_mismatch"
    METADATA_MISSING = "metadata_missing"
    METADATA_URL_MISMATCH = "metadata_url_mismatch"
    METADATA_URL_AS_ISSUER = "metadata_url_as_issuer"
    UNUSABLE_IDENTIFIER = "unusable_identifier"
    MEMBER_MISSING = "member_missing"
    MEMBER_MALFORMED = "member_malformed"
    TOO_MANY = "too_many"
    INSECURE_URL = "insecure_url"
    UNUSABLE_URL = "unusable_url"
    STUB = "stub"
    S256_MISSING = "s256_missing"


@dataclass(frozen=True, slots=True)
class MetadataProblem:
    """One problem. `path` is a JSON pointer into the metadata. A warning does not keep it from being used."""

    code: MetadataCode
    rule: str
    detail: str
    path: str = ""
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class _Parts:
    """An identifier cut, not normalised: origin, path with one trailing slash off, query with its mark."""

    origin: str
    path: str
    query: str


def issuer_candidates(issuer: str) -> tuple[str, ...] | IdentifierRefused:
    """The metadata URLs of an issuer in the order to try (RFC 8414 §3.1, §5; OA-10)."""
    parts = _parts(issuer, is_issuer=True)
    if isinstance(parts, IdentifierRefused):
        return parts
    inserted = (
        f"{parts.origin}{_AUTHORIZATION_SERVER}{parts.path}",
        f"{parts.origin}{_OPENID}{parts.path}",
    )
    return (*inserted, f"{parts.origin}{parts.path}{_OPENID}") if parts.path else inserted


def resource_candidates(resource: str) -> tuple[str, ...] | IdentifierRefused:
    """The metadata URLs of a protected resource in the order to try: its own, then its origin's (OA-2)."""
    parts = _parts(resource, is_issuer=False)
    if isinstance(parts, IdentifierRefused):
        return parts
    root = f"{parts.origin}{_PROTECTED_RESOURCE}"
    return tuple(dict.fromkeys((f"{root}{parts.path}{parts.query}", root)))


def issuer_of_metadata_url(url: str) -> str | None:
    """The issuer that may be meant where a metadata URL stands for one; None when it is no such URL.

    What was cut off may have hidden a slash, so the issuer found counts only if its metadata repeats it (OA-4).
    """
    match = _IDENTIFIER.fullmatch(url)
    path = None if match is None else _METADATA_PATH.fullmatch(match[2])
    return None if match is None or path is None else f"{match[1]}{path[1]}{path[2]}"


def check_issuer(requested: str, got: str, slash: IssuerSlash = "strict") -> MetadataProblem | None:
    """None when metadata found for `requested` says `got` and both are identical (OA-11).

    `pathless` makes a warning of one trailing slash more or less on an issuer without a path.
    """
    if requested == got:
        return None
    by_slash = requested.removesuffix("/") == got.removesuffix("/")
    detail = f"Metadata of the issuer {_shown(requested)} names {_shown(got)}{_only(by_slash)}."
    if slash == "pathless" and by_slash and "/" not in requested.removesuffix("/").partition("://")[2]:
        return MetadataProblem(MetadataCode.ISSUER_SLASH, "OA-11", detail, "/issuer", True)
    return MetadataProblem(MetadataCode.ISSUER_MISMATCH, "OA-11", detail, "/issuer")


def check_resource(requested: str, got: str) -> MetadataProblem | None:
    """None when metadata found for the resource `requested` says `got` and both are identical (OA-3)."""
    if requested == got:
        return None
    by_slash = requested.removesuffix("/") == got.removesuffix("/")
    parent = got.removesuffix("/")
    is_parent = not by_slash and "://" in parent and requested.startswith(f"{parent}/")
    note = ", a parent of it" if is_parent else _only(by_slash)
    detail = f"Metadata of the resource {_shown(requested)} names {_shown(got)}{note}."
    return MetadataProblem(MetadataCode.RESOURCE_MISMATCH, "OA-3", detail, "/resource")


def check_metadata_url(url: str, issuer: str) -> MetadataProblem | None:
    """None when metadata found at `url` names an `issuer` whose metadata lies there (OA-13)."""
    candidates = issuer_candidates(issuer)
    if isinstance(candidates, IdentifierRefused):
        detail = f"The issuer {_shown(issuer)} is unusable. {candidates.detail}"
        return MetadataProblem(MetadataCode.UNUSABLE_IDENTIFIER, "OA-10", detail, "/issuer")
    if url in candidates:
        return None
    detail = f"Metadata at {_shown(url)} names the issuer {_shown(issuer)}, whose metadata lies elsewhere."
    return MetadataProblem(MetadataCode.METADATA_URL_MISMATCH, "OA-13", detail, "/issuer")


def _parts(identifier: str, *, is_issuer: bool) -> _Parts | IdentifierRefused:
    match = _IDENTIFIER.fullmatch(identifier)
    if match is None or len(identifier) > LONGEST_IDENTIFIER:
        return IdentifierRefused(IdentifierReason.MALFORMED, "The identifier is no absolute URL of usual length.")
    origin, path, query, fragment = match.groups(default="")
    if fragment:
        return IdentifierRefused(IdentifierReason.FRAGMENT, "The identifier has a fragment.")
    if is_issuer and query:
        return IdentifierRefused(IdentifierReason.QUERY, "The issuer has a query.")
    try:
        admit(identifier)
    except UrlRefused as error:
        return IdentifierRefused(IdentifierReason(error.reason), error.detail)
    if is_issuer and _METADATA_PATH.fullmatch(path) is not None:
        return IdentifierRefused(IdentifierReason.METADATA_URL, "The issuer looks like the URL of its metadata.")
    return _Parts(origin, path.removesuffix("/"), query)


def _only(by_slash: bool) -> str:
    return ", which differs by its last slash only" if by_slash else ""


def _shown(text: str) -> str:
    """The raw text, cut, with everything escaped that is not plain ASCII; not where it holds a secret."""
    if find_secret(text) is not None:
        return "an identifier that holds a secret"
    return json.dumps(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
