"""Where the log of a did:webvh lies: with its host, and with watchers that keep a copy (TRUST.md §3.1)."""

from __future__ import annotations

from dataclasses import replace

from proxy.http.targets import MalformedTarget, Target, parse_target
from proxy.trust.did.web import DidReason, MalformedDid, WebDid, parse_web_did


def log_target(did: str) -> Target:
    """The log at the identifier's own host. Raises MalformedDid for what is no did:webvh."""
    return _parsed(did).target("did.jsonl")


def witness_target(did: str) -> Target:
    """The proofs of its witnesses, beside the log. Raises MalformedDid for what is no did:webvh."""
    return _parsed(did).target("did-witness.json")


def watcher_targets(watcher: str, did: str) -> tuple[Target, Target] | None:
    """The copies of log and witness proofs that a watcher keeps, by its URL as a log lists it.

    None for a watcher that is not reached by https: the method lets it be, and says nothing about it. Raises
    MalformedDid for what is no did:webvh.
    """
    scid = _parsed(did).scid
    try:
        base = parse_target(watcher)
    except MalformedTarget:
        return None
    if base.scheme != "https" or base.query is not None:
        return None
    path = base.path.rstrip("/")
    log = replace(base, path=f"{path}/log", query=f"scid={scid}")
    return log, replace(log, path=f"{path}/witness")


def _parsed(did: str) -> WebDid:
    parsed = parse_web_did(did)
    if parsed.scid is None:
        raise MalformedDid(DidReason.METHOD, "The identifier is no did:webvh.")
    return parsed
