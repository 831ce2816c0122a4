"""OAuth metadata for the endpoints of a domain (§10 phase 6, RFC 8414, RFC 9728).

A document that names its metadata is believed before a derivation from an endpoint; whatever is found counts only
if it repeats the identifier it was looked up by.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from proxy.discovery.authorization.identifiers import (
    IdentifierRefused,
    IssuerSlash,
    MetadataCode,
    MetadataProblem,
    check_issuer,
    check_metadata_url,
    check_resource,
    issuer_candidates,
    resource_candidates,
)
from proxy.discovery.authorization.metadata import (
    AuthorizationServer,
    read_authorization_server,
    read_protected_resource,
)
from proxy.discovery.classes import DocumentClass
from proxy.discovery.urls import admit
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.publications import ORIGIN_TLS
from proxy.engine.discovery.reading import Reading, ReadOutcome, document_of
from proxy.http.secrets import find_secret, masked
from proxy.lint.oauth import metadata_findings

_MOST_RESOURCES: Final = 2
_MOST_ISSUERS: Final = 2
_MOST_URLS: Final = 4
_SERVER: Final = "oauth-as"
_RESOURCE: Final = "oauth-pr"


@dataclass(slots=True)
class Authorization:
    """What was found out: the first usable server, and every problem on the way. `slash` as in `check_issuer`."""

    slash: IssuerSlash = "strict"
    server: AuthorizationServer | None = None
    metadata_url: str | None = None
    problems: list[dict[str, object]] = field(default_factory=list)

    def told(self) -> dict[str, object] | None:
        """Authorization as the answer has it; None where nothing was said about it."""
        if self.server is None and not self.problems:
            return None
        server = self.server
        return {
            "metadata_url": self.metadata_url,
            "issuer": server and server.issuer,
            "token_endpoint": server and server.token_endpoint,
            "token_endpoint_auth_methods_supported": list(
                server.token_endpoint_auth_methods_supported if server else ()
            ),
            "problems": self.problems,
        }

    def miss(self, reading: Reading, who: str) -> None:
        """Metadata is not where somebody said it is."""
        detail = f"{who}, and there is none: {reading.reason}."
        self.note((MetadataProblem(MetadataCode.METADATA_MISSING, "OA-2", detail),), reading.url)

    def note(self, problems: Iterable[MetadataProblem], url: str | None) -> None:
        """Problems of the metadata at `url`."""
        self.problems += [
            {"code": one.code.value, "url": url and masked(url), "detail": masked(one.detail)} for one in problems
        ]


async def find_authorization(
    call: Call,
    metadata_urls: Sequence[str],
    resources: Mapping[str, str | None],
    slash: IssuerSlash = "strict",
) -> Authorization:
    """The authorization server by the `metadata_urls` that documents name, else by the `resources` themselves.

    A resource is an endpoint's identifier as published, by which there is the metadata URL that its 401 named, if
    any; `slash` is as in `check_issuer`.
    """
    found = Authorization(slash)
    urls = list(dict.fromkeys(metadata_urls))
    for url in call.first(_SERVER, urls, _MOST_URLS, "URLs of metadata"):
        if await _by_metadata_url(call, found, url):
            return found
    for resource in call.first(_RESOURCE, list(resources), _MOST_RESOURCES, "endpoints"):
        if await _by_resource(call, found, resource, resources[resource]):
            return found
    return found


async def _by_metadata_url(call: Call, found: Authorization, url: str) -> bool:
    reading = await _read(call, _SERVER, url, DocumentClass.OAUTH_AS)
    server = _server(call, found, reading)
    if server is None:
        found.miss(reading, "A document names this URL of metadata")
        return False
    problem = check_metadata_url(url, server.issuer)
    return _settle(found, server, url, problem)


async def _by_resource(call: Call, found: Authorization, resource: str, named: str | None) -> bool:
    """OA-1, OA-2: the metadata that a challenge named, then the places the resource itself derives."""
    derived = resource_candidates(resource)
    if isinstance(derived, IdentifierRefused):
        return False
    for url in dict.fromkeys((*((named,) if named else ()), *derived)):
        reading = await _read(call, _RESOURCE, url, DocumentClass.OAUTH_PR)
        if not reading.is_found:
            if url == named:
                found.miss(reading, "The endpoint's 401 names this URL of metadata")
            continue
        document = document_of(reading)
        parsed = read_protected_resource(document.members)
        call.published.add_document(reading, metadata_findings(document, parsed), trust=ORIGIN_TLS)
        found.note(parsed.problems, reading.url)
        problem = check_resource(resource, parsed.resource)
        if problem is not None:
            found.note((problem,), reading.url)
            continue
        issuers = [server.issuer for server in parsed.authorization_servers]
        return await _by_issuers(call, found, call.first(_SERVER, issuers, _MOST_ISSUERS, "issuers"))
    return False


async def _by_issuers(call: Call, found: Authorization, issuers: Sequence[str]) -> bool:
    for issuer in issuers:
        candidates = issuer_candidates(issuer)
        assert not isinstance(candidates, IdentifierRefused)  # the metadata kept only usable ones
        for url in candidates:
            reading = await _read(call, _SERVER, url, DocumentClass.OAUTH_AS)
            if reading.outcome is ReadOutcome.FAILED and reading.status != 502:
                break  # OA-10: a server that fails is not a document that is missing
            server = _server(call, found, reading)
            if server is not None and _settle(found, server, url, check_issuer(issuer, server.issuer, found.slash)):
                return True
    return False


def _server(call: Call, found: Authorization, reading: Reading) -> AuthorizationServer | None:
    if not reading.is_found:
        return None
    document = document_of(reading)
    server = read_authorization_server(document.members)
    call.published.add_document(reading, metadata_findings(document, server), trust=ORIGIN_TLS)
    found.note(server.problems, reading.url)
    return server


def _settle(found: Authorization, server: AuthorizationServer, url: str, problem: MetadataProblem | None) -> bool:
    if problem is not None:
        found.note((problem,), url)
        if not problem.is_warning:
            return False
    endpoint = server.token_endpoint
    secret = None if endpoint is None else find_secret(endpoint)
    if secret is not None:
        detail = f"token_endpoint holds a secret ({secret.category}) and is not told."
        found.note((MetadataProblem(MetadataCode.UNUSABLE_URL, "C-10", detail, "/token_endpoint"),), url)
        server = replace(server, token_endpoint=None)
    found.server, found.metadata_url = server, url
    return True


async def _read(call: Call, step: str, url: str, document_class: DocumentClass) -> Reading:
    """The document at a URL that was admitted where it stood, or derived from an identifier that was."""
    return await call.read(step, admit(url), document_class)
