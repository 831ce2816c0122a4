"""What `verify` holds signatures against: a DID document from a file, or from the domain as it is now."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.cli.arguments import Unusable
from proxy.cli.files import read_file, shown
from proxy.cli.moments import parse_moment
from proxy.cli.terminal import waiting
from proxy.config import load
from proxy.http.timestamps import timestamp
from proxy.trust.did.document import DidDocument, parse_did_document
from proxy.trust.did.web import is_webvh
from proxy.trust.manifests import Anchor
from proxy.trust.reasons import Untrusted
from proxy.trust.records.webvh import read_log, state_of
from proxy.trust.verdict import Rejected

if TYPE_CHECKING:
    from proxy.engine.trust.documents import Fetched


@dataclass(frozen=True, slots=True)
class Anchored:
    """The anchor, None where there is nothing to verify against; `origin` says in a few words where it is from."""

    anchor: Anchor | None
    origin: str


def find_anchor(arguments: Namespace, now: float) -> Anchored:
    """The anchor that the flags name, or the one that the domain of `--did` has. Raises Unusable."""
    path: str | None = arguments.did_document
    if path is not None:
        confirmed_at = now if arguments.pinned_at is None else parse_moment("--pinned-at", arguments.pinned_at)
        document = _parsed(read_file(path), arguments.did)
        return Anchored(
            Anchor(document, confirmed_at), f"{shown(path)}, as of {timestamp(confirmed_at, 'seconds')}"
        )
    if arguments.pinned_at is not None:
        raise Unusable("--pinned-at: it says how old --did-document is, so give that too")
    return _of_domain(arguments, now)


def _of_domain(arguments: Namespace, now: float) -> Anchored:
    from proxy import server  # it takes its time, and is not needed for files
    from proxy.engine.trust.documents import Fetched, NotThere, Unchanged

    settings = load(arguments.config, os.environ, {})
    try:
        with waiting(f"reading the document of {arguments.did}"):
            end = server.read_did_once(settings, arguments.did)
    except server.CannotOpen as error:
        raise Unusable(str(error)) from None
    if isinstance(end, Fetched):
        return Anchored(Anchor(_fetched(end, arguments.did, now), now), "fetched from the domain now")
    if isinstance(end, NotThere | Unchanged):
        return Anchored(None, "none: the domain has none")
    return Anchored(None, f"none: it cannot be fetched ({end.reason}); give --did-document")


def _fetched(end: Fetched, did: str, now: float) -> DidDocument | Rejected:
    if not is_webvh(did):
        return _parsed(end.body, did)
    try:
        return state_of(read_log(end.body, end.witnesses, now, did), did)
    except Untrusted as error:
        return Rejected(error.reason, error.detail)


def _parsed(body: bytes, did: str) -> DidDocument | Rejected:
    try:
        return parse_did_document(body, did)
    except Untrusted as error:
        return Rejected(error.reason, error.detail)
