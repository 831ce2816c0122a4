"""What `sign` made, and what its publisher does with it next, for people."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from proxy.cli.files import STANDARD, shown
from proxy.cli.publishing import MIRRORS, Terms
from proxy.http.timestamps import timestamp
from proxy.trust.did.web import document_target
from proxy.trust.did.webvh.places import log_target
from proxy.trust.manifests import TrustRules
from proxy.trust.signatures.ijson import parse_ijson

_PLACES: Final = {
    "manifest": "/.well-known/uaix-agent-access.json",
    "agent-card": "/.well-known/agent-card.json",
}
_DAY: Final = 86400


@dataclass(frozen=True, slots=True)
class IpfsCopy:
    """The manifest as it goes into IPFS, without its own CID."""

    path: str
    body: bytes
    cid: str


@dataclass(frozen=True, slots=True)
class Publication:
    """A signed document that verifies, and where it goes, maybe standard output. `authority` is its site."""

    kind: str
    path: str
    body: bytes
    terms: Terms
    authority: str
    warnings: tuple[str, ...]
    copy: IpfsCopy | None = None

    @property
    def name(self) -> str:
        """What people are told it is called."""
        return "what was printed" if self.path == STANDARD else shown(self.path)


def report(publication: Publication) -> str:
    """What was made, as lines of text, the next steps numbered."""
    terms, copy = publication.terms, publication.copy
    end = f"until {_moment(terms.expires)}" if terms.expires is not None else "without end"
    lines = [
        f"signed    {publication.kind} of {publication.authority}, {_moment(terms.created)}, {end}",
        *(f"by        {signer.method} ({signer.key.public.type.value})" for signer in terms.signers),
        f"document  {publication.name}, {_described(publication.body)}",
    ]
    if copy is not None:
        lines += [f"for IPFS  {shown(copy.path)}, {_described(copy.body)}", f"its CID   {copy.cid}"]
    steps = (f"  {number}. {step}" for number, step in enumerate(_steps(publication), start=1))
    return "\n".join([*lines, "", "next steps", *steps])


def _steps(publication: Publication) -> Iterator[str]:
    """In the order in which nothing is ever listed that is not there yet."""
    terms, copy, did = publication.terms, publication.copy, publication.terms.did
    names = ", ".join(sorted(method.rpartition("#")[2] for method in terms.methods))
    yield f"Have {_identity_url(did)} list the public key as {names}; did-document makes one."
    if copy is not None:
        yield f"Add the copy to IPFS and keep it pinned: ipfs add --cid-version=1 {shown(copy.path)}"
    mirrors = [url for url in _mirrors(publication.body) if url.startswith("https://")]
    if mirrors:
        yield f"Put {publication.name}, byte for byte, at its mirrors: {' '.join(mirrors)}"
    url = f"https://{publication.authority}{_PLACES[publication.kind]}"
    yield f"Publish {publication.name}, byte for byte, at {url}"
    yield f"See that it verifies from there: discovery-proxy verify {url} --did {did}"
    age = TrustRules().max_manifest_age
    if terms.expires is not None:
        yield f"Sign again before {_moment(terms.expires)}."
    elif publication.kind == "manifest" and age is not None:
        yield f"Sign again within {age / _DAY:.0f} days: no older proof without end (--expires) is believed."


def _identity_url(did: str) -> str:
    return (document_target(did) if did.startswith("did:web:") else log_target(did)).uri


def _mirrors(body: bytes) -> list[str]:
    listed = parse_ijson(body).get(MIRRORS)
    return [url for url in listed if isinstance(url, str)] if isinstance(listed, list) else []


def _described(body: bytes) -> str:
    return f"{len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()}"


def _moment(seconds: float) -> str:
    return timestamp(seconds, "seconds")
