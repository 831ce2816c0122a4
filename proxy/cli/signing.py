"""`sign`: a manifest or an agent card with proofs that proxies verify, and the manifest's copy for IPFS.

Nothing is written before all of it has been verified.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from proxy.cli.arguments import Unusable
from proxy.cli.files import STANDARD, read_file, read_if_there, shown, write_document
from proxy.cli.identifiers import did_authority, method_ids
from proxy.cli.keys import read_key, to_text
from proxy.cli.moments import parse_end, parse_moment
from proxy.cli.publishing import (
    Container,
    Signed,
    Signer,
    Terms,
    following,
    ipfs_url,
    signed,
    with_mirrors,
    with_sequence,
    without_ipfs,
)
from proxy.cli.selfcheck import require_card, require_manifest, succession_faults
from proxy.cli.steps import IpfsCopy, Publication, report
from proxy.discovery.findings import failures
from proxy.http.targets import MalformedTarget, Target, parse_target
from proxy.logs.redaction import plain
from proxy.trust.content.unixfs import add_file
from proxy.trust.did.web import is_path_did
from proxy.trust.reasons import Untrusted
from proxy.trust.signatures.dataintegrity import ECDSA, EDDSA
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.jws import KIND as JWS
from proxy.trust.signatures.keys import KeyType

_FINE: Final = 0
_LONGEST: Final = 500
_AUTO: Final = "auto"
_KEYS_OF: Final = {EDDSA: ("Ed25519", {KeyType.ED25519}), ECDSA: ("P-256 or P-384", {KeyType.P256, KeyType.P384})}
_OF_MANIFESTS: Final = ("sequence", "mirror", "ipfs")


def sign(arguments: Namespace) -> int:
    """Sign a document and say what to do with it."""
    from proxy.lint import kind_of  # it takes its time, and the other verbs start without it

    body = read_file(arguments.document)
    original = _parsed(arguments.document, body)
    kind = kind_of(body)
    make = _MAKERS.get(kind or "")
    if make is None:
        known = f"it is of kind {kind}" if kind else "its kind cannot be told"
        raise Unusable(f"{shown(arguments.document)}: manifests and agent cards are signed, and {known}")
    publication = make(arguments, original, _terms(arguments, kind))
    _write(publication)
    _tell(publication)
    return _FINE


def _parsed(path: str, body: bytes) -> JsonObject:
    try:
        return parse_ijson(body)
    except Untrusted as error:
        raise Unusable(f"{shown(path)}: no such text can be signed: {error.detail} ({error.reason})") from None


def _terms(arguments: Namespace, kind: str | None) -> Terms:
    is_card = kind == "agent-card"
    proof = arguments.proof or (JWS if is_card else None)
    if is_card and proof != JWS:
        raise Unusable(f"--proof {proof}: an agent card is signed with --proof jws, which is its default")
    keys = [read_key(path) for path in arguments.key]
    if proof in _KEYS_OF:
        name, types = _KEYS_OF[proof]
        if any(key.public.type not in types for key in keys):
            raise Unusable(
                f"--proof {proof}: it is made with a key of type {name}; without --proof the key decides"
            )
    methods = method_ids("--method", arguments.method, arguments.did, len(keys))
    created = parse_moment("--created", arguments.created)
    if created < 0:
        raise Unusable("--created: before 1970 nothing is signed")
    created = float(int(created))
    return Terms(
        arguments.did,
        tuple(Signer(key, method) for key, method in zip(keys, methods, strict=True)),
        Container.JWS if proof == JWS else Container.DATA_INTEGRITY,
        created,
        None if arguments.expires is None else parse_end("--expires", arguments.expires, created),
    )


def _card(arguments: Namespace, original: JsonObject, terms: Terms) -> Publication:
    given = next((name for name in _OF_MANIFESTS if getattr(arguments, name)), None)
    if given is not None:
        raise Unusable(f"--{given}: an agent card has none; it is for manifests")
    authority = did_authority(terms.did)
    made = signed(original, original, terms)
    body = to_text(made.document)
    require_card(body, terms, authority)
    warnings = (*_removals(made), *_findings("agent-card", body, terms))
    return Publication("agent-card", arguments.out, body, terms, authority, warnings)


def _manifest(arguments: Namespace, original: JsonObject, terms: Terms) -> Publication:
    site = _site(arguments.document, original, terms.did)
    out, ipfs_out = arguments.out, _ipfs_out(arguments)
    published = None if out == STANDARD else read_if_there(out)
    content = original
    if arguments.sequence is not None:
        content = with_sequence(content, _sequence(arguments.sequence, original, published))
    copy = None
    if ipfs_out is not None:
        content = without_ipfs(content)
    if arguments.mirror:
        content = with_mirrors(content, arguments.mirror, site)
    if ipfs_out is not None:
        copy = _ipfs_copy(ipfs_out, to_text(signed(original, content, terms).document), terms, site)
        content = with_mirrors(content, [ipfs_url(copy.cid)], site)
    made = signed(original, content, terms)
    body = to_text(made.document)
    warnings = (
        *require_manifest(body, terms, site.authority),
        *_removals(made),
        *(() if published is None else succession_faults(body, published, terms, site.authority)),
        *_findings("manifest", body, terms),
    )
    return Publication("manifest", out, body, terms, site.authority, warnings, copy)


def _ipfs_copy(path: str, body: bytes, terms: Terms, site: Target) -> IpfsCopy:
    require_manifest(body, terms, site.authority)
    return IpfsCopy(path, body, add_file(body)[0].text)


_Make = Callable[[Namespace, JsonObject, Terms], Publication]
_MAKERS: Final[Mapping[str, _Make]] = {"manifest": _manifest, "agent-card": _card}


def _site(path: str, manifest: JsonObject, did: str) -> Target:
    """The site of a manifest, which has to be the domain of the DID."""
    authority = did_authority(did)
    site = manifest.get("site")
    url = site.get("url") if isinstance(site, dict) else None
    try:
        target = parse_target(url) if isinstance(url, str) else None
    except MalformedTarget:
        target = None
    if target is None or target.scheme != "https":
        raise Unusable(f"{shown(path)}: its site.url has to be the https URL of the site that it is for")
    if target.authority != authority:
        other = plain(target.authority, _LONGEST)
        raise Unusable(
            f"--did: {did} is of {authority}, and the manifest of {other} by its site.url: "
            "proxies believe the DID of a manifest's own site"
        )
    return target


def _sequence(text: str, original: JsonObject, published: bytes | None) -> int:
    if text != _AUTO:
        return int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(2**53)) else -1
    try:
        known = None if published is None else parse_ijson(published)
    except Untrusted:
        known = None
    return following((original, known))


def _ipfs_out(arguments: Namespace) -> str | None:
    """Where the copy for IPFS goes: beside the manifest unless said otherwise."""
    out: str = arguments.out
    given: str | None = arguments.ipfs_out
    if not arguments.ipfs:
        if given is not None:
            raise Unusable("--ipfs-out: there is a copy for IPFS only with --ipfs")
        return None
    if given is None and out != STANDARD:
        path = Path(out)
        return str(path.with_name(f"{path.stem}.ipfs{path.suffix}"))
    if given is None or given == STANDARD:
        raise Unusable("--ipfs-out: name the file that the copy for IPFS goes to")
    if os.path.realpath(given) == os.path.realpath(out):
        raise Unusable("--ipfs-out: the copy for IPFS is another file than the manifest")
    return given


def _removals(made: Signed) -> Iterator[str]:
    if made.removed:
        yield f"{made.removed} older proof(s) removed that do not sign what the document says now"


def _findings(kind: str, body: bytes, terms: Terms) -> Iterator[str]:
    from proxy.lint import lint

    if is_path_did(terms.did):
        yield "proxies take the DID of a path for a domain only where they are configured to"
    for finding in failures(lint(kind, body, now=terms.created)):
        yield plain(f"{finding.rule} {finding.path}: {finding.detail}", _LONGEST)


def _write(publication: Publication) -> None:
    copy = publication.copy
    if copy is not None:
        write_document(copy.path, copy.body)
    if publication.path == STANDARD:
        sys.stdout.buffer.write(publication.body)
        sys.stdout.buffer.flush()
    else:
        write_document(publication.path, publication.body)


def _tell(publication: Publication) -> None:
    for warning in publication.warnings:
        print(f"discovery-proxy: warning: {warning}", file=sys.stderr)
    print(report(publication), file=sys.stderr if publication.path == STANDARD else sys.stdout)
