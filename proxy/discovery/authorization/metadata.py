"""OAuth metadata documents: of an authorization server (RFC 8414) and of a protected resource (RFC 9728).

Members keep their RFC names and their published text. Whether the document belongs to the issuer or resource that
was asked for is the business of `identifiers`; nothing may be used before that is settled. Nothing is corrected: an
http URL is told, not upgraded (OA-16).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from proxy.discovery.authorization.identifiers import (
    IdentifierReason,
    IdentifierRefused,
    MetadataCode,
    MetadataProblem,
    issuer_candidates,
    issuer_of_metadata_url,
    resource_candidates,
)
from proxy.discovery.findings import pointer
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.notes import admit_bounded
from proxy.discovery.urls import UrlReason, UrlRefused

# How many issuers of one resource are worth a request; the document chooses them (OA-1).
MOST_ISSUERS: Final = 8
_MOST_TOKENS: Final = 64

_SERVER_URLS: Final = (
    *("authorization_endpoint", "token_endpoint", "jwks_uri", "registration_endpoint", "revocation_endpoint"),
    *("introspection_endpoint", "device_authorization_endpoint", "pushed_authorization_request_endpoint"),
    *("userinfo_endpoint", "end_session_endpoint"),
)
_SERVER_LISTS: Final = (
    "response_types_supported",
    "grant_types_supported",
    "token_endpoint_auth_methods_supported",
    "code_challenge_methods_supported",
)
_WITH_AUTHORIZATION_ENDPOINT: Final = frozenset({"authorization_code", "implicit"})
# RFC 8414 §2: what a server means that does not say.
_DEFAULT_GRANT_TYPES: Final = ("authorization_code", "implicit")


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """Metadata of an authorization server. URLs are None where absent or no https or http URL that could be used.

    `grant_types_supported` is None where absent, which means the authorization code and implicit grants.
    """

    issuer: str
    authorization_endpoint: str | None
    token_endpoint: str | None
    jwks_uri: str | None
    response_types_supported: tuple[str, ...]
    grant_types_supported: tuple[str, ...] | None
    token_endpoint_auth_methods_supported: tuple[str, ...]
    code_challenge_methods_supported: tuple[str, ...]
    is_stub: bool
    """No flow can be completed with what is described (OA-12)."""
    problems: tuple[MetadataProblem, ...]


@dataclass(frozen=True, slots=True)
class NamedIssuer:
    """An issuer that a resource names; `is_recovered`: cut out of a metadata URL that stood in its place (OA-4)."""

    issuer: str
    is_recovered: bool = False


@dataclass(frozen=True, slots=True)
class ProtectedResource:
    """Metadata of a protected resource. Only usable issuers are kept, each once, at most `MOST_ISSUERS`."""

    resource: str
    authorization_servers: tuple[NamedIssuer, ...]
    problems: tuple[MetadataProblem, ...]


def read_authorization_server(metadata: JsonObject) -> AuthorizationServer:
    """The metadata in an object that has an issuer."""
    issuer = cast("str", metadata["issuer"])
    problems = list(_identifier_problems(issuer_candidates(issuer), issuer, "/issuer", "OA-10"))
    urls = {name: _url(metadata, name, "OA-12", problems) for name in _SERVER_URLS}
    listed = {name: _tokens(metadata, name, problems) for name in _SERVER_LISTS}
    response_types, grant_types, auth_methods, challenge_methods = listed.values()
    is_stub = (
        grant_types in ((), ("none",))
        or response_types == ("none",)
        or (urls["authorization_endpoint"] is None and urls["token_endpoint"] is None)
    )
    problems += _missing(metadata, grant_types)
    if is_stub:
        detail = "No flow can be completed with this metadata."
        problems.append(MetadataProblem(MetadataCode.STUB, "OA-12", detail))
    if "S256" not in (challenge_methods or ()):
        detail = "code_challenge_methods_supported does not name S256, so MCP clients refuse the server."
        problems.append(MetadataProblem(MetadataCode.S256_MISSING, "OA-12", detail, is_warning=True))
    return AuthorizationServer(
        issuer,
        urls["authorization_endpoint"],
        urls["token_endpoint"],
        urls["jwks_uri"],
        response_types or (),
        grant_types,
        auth_methods or (),
        challenge_methods or (),
        is_stub,
        tuple(problems),
    )


def read_protected_resource(metadata: JsonObject) -> ProtectedResource:
    """The metadata in an object that has a resource."""
    resource = cast("str", metadata["resource"])
    problems = list(_identifier_problems(resource_candidates(resource), resource, "/resource", "OA-3"))
    issuers = _authorization_servers(metadata, problems)
    _url(metadata, "jwks_uri", "OA-4", problems)
    return ProtectedResource(resource, issuers, tuple(problems))


def _missing(metadata: JsonObject, grant_types: tuple[str, ...] | None) -> Iterator[MetadataProblem]:
    """OA-12: what RFC 8414 §2 requires, the endpoints as far as a grant type needs them."""
    grants = set(_DEFAULT_GRANT_TYPES if grant_types is None else grant_types)
    required = {
        "response_types_supported": True,
        "authorization_endpoint": bool(grants & _WITH_AUTHORIZATION_ENDPOINT),
        "token_endpoint": grants != {"implicit"},
    }
    for name, is_required in required.items():
        if is_required and name not in metadata:
            yield MetadataProblem(MetadataCode.MEMBER_MISSING, "OA-12", f"{name} is missing.")


def _identifier_problems(
    candidates: tuple[str, ...] | IdentifierRefused, identifier: str, path: str, rule: str
) -> Iterator[MetadataProblem]:
    if not isinstance(candidates, IdentifierRefused):
        return
    if candidates.reason is IdentifierReason.HTTPS_REQUIRED and _is_http(identifier):
        yield MetadataProblem(MetadataCode.INSECURE_URL, "OA-16", "The identifier is an http URL.", path)
    else:
        yield MetadataProblem(MetadataCode.UNUSABLE_IDENTIFIER, rule, candidates.detail, path)


def _authorization_servers(metadata: JsonObject, problems: list[MetadataProblem]) -> tuple[NamedIssuer, ...]:
    """OA-4. An entry that is no usable issuer is a problem and left out."""
    name = "authorization_servers"
    listed = metadata.get(name, [])
    if not isinstance(listed, list):
        problems.append(
            MetadataProblem(MetadataCode.MEMBER_MALFORMED, "OA-4", f"{name} is no list.", pointer(name))
        )
        return ()
    if len(listed) > MOST_ISSUERS:
        detail = f"Only the first {MOST_ISSUERS} authorization servers are read."
        problems.append(MetadataProblem(MetadataCode.TOO_MANY, "OA-4", detail, pointer(name), True))
    issuers: dict[str, NamedIssuer] = {}
    for index, entry in enumerate(listed[:MOST_ISSUERS]):
        issuer = _named_issuer(entry, pointer(name, index), problems)
        if issuer is not None:
            issuers.setdefault(issuer.issuer, issuer)
    return tuple(issuers.values())


def _named_issuer(entry: object, path: str, problems: list[MetadataProblem]) -> NamedIssuer | None:
    if not isinstance(entry, str):
        problems.append(MetadataProblem(MetadataCode.MEMBER_MALFORMED, "OA-4", "The issuer is no text.", path))
        return None
    candidates = issuer_candidates(entry)
    if not isinstance(candidates, IdentifierRefused):
        return NamedIssuer(entry)
    recovered = issuer_of_metadata_url(entry)
    if candidates.reason is IdentifierReason.METADATA_URL and recovered is not None:
        candidates = issuer_candidates(recovered)
        if not isinstance(candidates, IdentifierRefused):
            detail = "The URL of metadata stands where its issuer belongs."
            problems.append(MetadataProblem(MetadataCode.METADATA_URL_AS_ISSUER, "OA-4", detail, path, True))
            return NamedIssuer(recovered, True)
    problems.extend(_identifier_problems(candidates, entry, path, "OA-4"))
    return None


def _url(metadata: JsonObject, name: str, rule: str, problems: list[MetadataProblem]) -> str | None:
    """The URL as published. An http one stays, flagged, since it is what the publisher says."""
    value = metadata.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        detail = f"{name} is no text."
        problems.append(MetadataProblem(MetadataCode.MEMBER_MALFORMED, rule, detail, pointer(name)))
        return None
    try:
        admit_bounded(value, None)
    except UrlRefused as error:
        if error.reason is UrlReason.HTTPS_REQUIRED and _is_http(value):
            problems.append(
                MetadataProblem(MetadataCode.INSECURE_URL, "OA-16", f"{name} is an http URL.", pointer(name), True)
            )
        else:
            problems.append(MetadataProblem(MetadataCode.UNUSABLE_URL, "C-10", error.detail, pointer(name)))
            return None
    return value


def _tokens(metadata: JsonObject, name: str, problems: list[MetadataProblem]) -> tuple[str, ...] | None:
    value = metadata.get(name)
    if value is None:
        return None
    listed = value if isinstance(value, list) else []
    tokens = tuple(token for token in listed[:_MOST_TOKENS] if isinstance(token, str))
    if not isinstance(value, list) or len(tokens) != len(listed):
        detail = f"{name} is no list of at most {_MOST_TOKENS} texts."
        problems.append(MetadataProblem(MetadataCode.MEMBER_MALFORMED, "OA-12", detail, pointer(name)))
    return tokens


def _is_http(url: str) -> bool:
    return url[:7].lower() == "http://"
