"""Signed documents in the making: which proofs stay, which are renewed, and the copy for IPFS (TRUST.md §6.4).

A manifest cannot list its own CID. So its copy in IPFS comes first, without the mirrors in IPFS; the manifest lists
that copy's CID, and both are of one version: they have the same core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.cli.arguments import Unusable
from proxy.discovery.access.mirrors import MOST_MIRRORS, read_mirrors
from proxy.http.targets import Target
from proxy.logs.redaction import plain
from proxy.trust.reasons import Untrusted
from proxy.trust.rollback import SEQUENCE
from proxy.trust.signatures.ijson import LARGEST_INTEGER, JsonObject
from proxy.trust.signatures.jws import decode_header
from proxy.trust.signatures.proofs import PROOF, SIGNATURES, SecuredDocument
from proxy.trust.signatures.signing import PrivateKey, sign_data_integrity, sign_jws

MIRRORS: Final = "x-independent-mirrors"

_OTHER_NAMES: Final = ("x_independent_mirrors", "independent_mirrors")
_IPFS: Final = "ipfs://"
_LONGEST: Final = 500


class Container(StrEnum):
    """Where proofs go."""

    DATA_INTEGRITY = PROOF
    JWS = SIGNATURES


@dataclass(frozen=True, slots=True)
class Signer:
    """A key with the id of its verification method."""

    key: PrivateKey
    method: str


@dataclass(frozen=True, slots=True)
class Terms:
    """How to sign for `did`; moments in Unix seconds, `expires` None for no end."""

    did: str
    signers: tuple[Signer, ...]
    container: Container
    created: float
    expires: float | None

    @property
    def methods(self) -> frozenset[str]:
        """The verification methods that sign."""
        return frozenset(signer.method for signer in self.signers)


@dataclass(frozen=True, slots=True)
class Signed:
    """A document with its proofs; `removed` counts those that it had and that no longer sign what it says."""

    document: JsonObject
    removed: int


def signed(original: JsonObject, content: JsonObject, terms: Terms) -> Signed:
    """`content`, made of `original`, with proofs; those by others stay as far as they sign it. Raises Unusable.

    Of the proofs by the same methods, those in the same container are replaced. JWS come first, for the other
    proofs sign them with the rest.
    """
    document = {name: value for name, value in content.items() if name not in (PROOF, SIGNATURES)}
    removed = 0
    for container in (Container.JWS, Container.DATA_INTEGRITY):
        is_renewed = container is terms.container
        entries = _entries(original, container)
        others = [one for one in entries if not (is_renewed and _method(container, one, terms) in terms.methods)]
        kept = others if _payload(container, original) == _payload(container, document) else []
        made = [_made(document, signer, terms) for signer in terms.signers] if is_renewed else []
        removed += len(others) - len(kept)
        if kept or made:
            document[container] = _written(container, [*kept, *made])
    return Signed(document, removed)


def with_sequence(document: JsonObject, sequence: int) -> JsonObject:
    """The manifest as version `sequence`. Raises Unusable."""
    if not 0 <= sequence <= LARGEST_INTEGER:
        raise Unusable(f"--sequence: a number from 0 to {LARGEST_INTEGER}, or auto")
    return {**document, SEQUENCE: sequence}


def following(documents: Iterable[JsonObject | None]) -> int:
    """The sequence number after the highest of these manifests; 1 where none has any."""
    stated = (document.get(SEQUENCE) for document in documents if document is not None)
    numbers = (int(number) for number in stated if isinstance(number, int | float))
    return max(numbers, default=0) + 1


def with_mirrors(document: JsonObject, urls: Sequence[str], site: Target) -> JsonObject:
    """The manifest with these mirrors added to its list. Raises Unusable for one that no proxy would use."""
    listed = _listed(document)
    added = [url for url in dict.fromkeys(urls) if url not in listed]
    read = read_mirrors([*listed, *added], site, "")
    for refused in read.refused:
        if refused.index >= len(listed):
            detail = (
                f"proxies would not use it ({refused.reason}); they try {MOST_MIRRORS} mirrors, none at the site"
            )
            raise Unusable(f"mirror {plain(added[refused.index - len(listed)], _LONGEST)}: {detail}")
    return {**document, MIRRORS: [*listed, *added]}


def without_ipfs(document: JsonObject) -> JsonObject:
    """The manifest without its mirrors in IPFS, which are copies of earlier versions."""
    listed = [url for url in _listed(document) if not (isinstance(url, str) and url.lower().startswith(_IPFS))]
    return {name: value for name, value in document.items() if name != MIRRORS} | (
        {MIRRORS: listed} if listed else {}
    )


def ipfs_url(cid_text: str) -> str:
    """The mirror in IPFS with this CID."""
    return _IPFS + cid_text


def _listed(document: JsonObject) -> list[object]:
    other = next((name for name in _OTHER_NAMES if name in document), None)
    if other is not None:
        raise Unusable(
            f"the manifest has its mirrors in {other}: rename that to {MIRRORS}, the name that is signed for"
        )
    listed = document.get(MIRRORS, [])
    if not isinstance(listed, list):
        raise Unusable(f"the manifest's {MIRRORS} is no list")
    return listed


def _entries(document: JsonObject, container: Container) -> list[object]:
    entries = document.get(container, [])
    if container is Container.DATA_INTEGRITY and isinstance(entries, dict):
        return [entries]
    if not isinstance(entries, list):
        raise Unusable(f"the document's {container} is no list: remove it first")
    return entries


def _method(container: Container, entry: object, terms: Terms) -> str | None:
    """The verification method that an entry names; None where it names none."""
    name = _SIGNER_IN[container](entry) if isinstance(entry, dict) else None
    if not isinstance(name, str):
        return None
    return name if name.startswith("did:") else f"{terms.did}#{name}"


def _kid(entry: JsonObject) -> object:
    protected = entry.get("protected")
    try:
        return decode_header(protected).get("kid") if isinstance(protected, str) else None
    except Untrusted:
        return None


_SIGNER_IN: Final[Mapping[Container, Callable[[JsonObject], object]]] = {
    Container.JWS: _kid,
    Container.DATA_INTEGRITY: lambda proof: proof.get("verificationMethod"),
}


def _payload(container: Container, document: JsonObject) -> bytes:
    secured = SecuredDocument(document)
    return secured.without_signatures if container is Container.JWS else secured.without_proof


def _made(document: JsonObject, signer: Signer, terms: Terms) -> JsonObject:
    make = sign_jws if terms.container is Container.JWS else sign_data_integrity
    return make(document, signer.key, signer.method, terms.created, terms.expires)


def _written(container: Container, entries: list[object]) -> object:
    is_set = container is Container.JWS or len(entries) > 1
    return entries if is_set else entries[0]
