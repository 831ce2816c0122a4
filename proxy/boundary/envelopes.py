"""The UAI-1 envelope that is the evidence of a boundary conflict (UAIX.md §6.1, §6.3).

A conflict is a *blocker*: it says what was asked, what the answer was and why, and where a person decides. It is a
record alone and authorises nothing. It never holds a query, a body or a credential, and it never ends, because
evidence does not. Where the spelling of a nested member is not published, this module says how it is spelled here;
enveloperules judges the envelopes of anybody.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from proxy.boundary.conflicts import Cause
from proxy.capability.atoms import Atom
from proxy.capability.ladders import Atoms
from proxy.capability.resolution import Code, Trigger
from proxy.discovery.jsontext import JsonObject
from proxy.http.secrets import find_secret, masked
from proxy.http.timestamps import timestamp
from proxy.trust.signatures.canonical import canonical

VERSION: Final = "1.0"
BLOCKER: Final = "uai.agent.blocker.v1"
TALKBACK: Final = "x-talkback"
"""The member of `extensions` that holds what led to the conflict."""
ALGORITHM: Final = "sha-256"
CANONICALIZATION: Final = "RFC8785"
FIELDS: Final = (
    "uai_version",
    "profile",
    "message_id",
    "source",
    "target",
    "conversation",
    "delivery",
    "trust",
    "body",
    "provenance",
    "integrity",
    "extensions",
)
"""The members of an envelope: each is there, and there are no others."""

_TIMEOUT_MS: Final = 30_000
_SUPPORT_BOUNDARY: Final = "Evidence only: it authorises nothing and executes nothing."
_WITHHELD: Final = "[withheld]"
_LONGEST_PATH: Final = 512
_LONGEST_URL: Final = 2048
_LONGEST_NAME: Final = 128

_NOT_IN_AN_ID: Final = re.compile(r"[^A-Za-z0-9._:@-]+")
_NOT_IN_A_METHOD: Final = re.compile(r"[^A-Za-z]+")
_NOT_IN_A_WORD: Final = re.compile(r"[^A-Za-z0-9]+")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_STATUSES: Final = {Cause.UPSTREAM_401: 401, Cause.UPSTREAM_403: 403, Cause.UPSTREAM_428: 428}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a conflict when it is met. `observed_at`: Unix seconds.

    `conflict_id`: 32 hex digits. `agent` and `operator`: the names of the proxy and of the person who decides.
    `path` has no query. `rule` and `reason`: what decided, as in resolution. `level` and `ladder`: as the client
    stated them; `atoms`: what it could do by proof; `missing`: in cause order. `manifest_*`: the manifest that
    covered the request, None for none. `trace_id`: 32 hex digits, None when the client sent none. `parameter`: the
    name under which a secret stood.
    """

    conflict_id: str
    observed_at: float
    agent: str
    operator: str
    client: str
    method: str
    path: str
    cause: Cause
    code: Code
    review_url: str
    rule: str
    reason: str
    trigger: Trigger
    level: str | None
    ladder: str | None
    atoms: Atoms
    missing: tuple[Atom, ...]
    manifest_url: str | None
    manifest_sha256: str | None
    manifest_trust: str | None
    request_id: str
    trace_id: str | None
    parameter: str | None = None


def blocker_envelope(evidence: Evidence) -> JsonObject:
    """The envelope of a conflict, with a true checksum. Whatever the texts, it is valid and tells no secret."""
    agent = _identifier(evidence.agent, "discovery-proxy")
    envelope: JsonObject = {
        "uai_version": VERSION,
        "profile": BLOCKER,
        "message_id": f"msg-{evidence.conflict_id}",
        "source": {"agent_id": agent, "role": "discovery-proxy"},
        "target": {"agent_id": _identifier(evidence.operator, "operator"), "role": "human-operator"},
        "conversation": {
            "correlation_id": f"corr-{_identifier(evidence.request_id, evidence.conflict_id)}",
            "sequence": 1,
            "lifecycle_state": "blocked",
        },
        "delivery": {
            "mode": "async",
            "idempotency_key": f"blocker-{evidence.conflict_id}",
            "timeout_ms": _TIMEOUT_MS,
            "retry_count": 0,
            "fallback_directive": "stop_and_request_human_review",
            "expected_output_schema": "uaix.evaluation.operator-decision.v1",
        },
        "trust": {"channel": "public", "scheme": "none", "principal": agent},
        "body": _body(evidence),
        "provenance": {
            "issued_at": timestamp(evidence.observed_at),
            "trace_id": _trace_id(evidence),
            "log_ref": f"evidence/{evidence.conflict_id}",
        },
        "extensions": {TALKBACK: _talkback(evidence)},
    }
    integrity = {"algorithm": ALGORITHM, "canonicalization": CANONICALIZATION, "checksum": checksum_of(envelope)}
    return {**envelope, "integrity": integrity}


def checksum_of(envelope: JsonObject) -> str:
    """The hex SHA-256 over the canonical form of an envelope without its `integrity`.

    Raises ValueError where it has no canonical form, which happens to no envelope that is written here.
    """
    covered = {name: value for name, value in envelope.items() if name != "integrity"}
    return hashlib.sha256(canonical(covered)).hexdigest()


def _body(evidence: Evidence) -> JsonObject:
    return {
        "blocker_id": f"blk-{evidence.conflict_id}",
        "blocker_type": "secret" if evidence.cause is Cause.SECRET else "boundary",
        "description": _description(evidence),
        "human_review_required": True,
        "proposed_resolution": _resolution(evidence),
        "support_boundary": _SUPPORT_BOUNDARY,
    }


def _talkback(evidence: Evidence) -> JsonObject:
    route: JsonObject = {"method": _method(evidence.method), "path": _path(evidence.path)}
    if evidence.parameter is not None:
        route["parameter"] = _told(evidence.parameter, _LONGEST_NAME)
    return {
        "trigger": evidence.trigger.value,
        "route": route,
        "client": {
            "id": _told(evidence.client, _LONGEST_NAME),
            "declared_level": _stated(evidence.level),
            "ladder": _stated(evidence.ladder),
            "effective_atoms": [atom.value for atom in Atom if atom in evidence.atoms],
        },
        "decision": {
            "decision": "no_op",
            "code": evidence.code.value,
            "url": _url(evidence.review_url),
            "via": evidence.cause.value,
            "rule": _told(evidence.rule, _LONGEST_NAME),
            "reason": _told(evidence.reason, _LONGEST_NAME),
            "missing": [atom.value for atom in evidence.missing],
        },
        "manifest": _manifest(evidence),
        "attempts": 1,
        "forwarded_retries": 0,
    }


def _manifest(evidence: Evidence) -> JsonObject | None:
    if evidence.manifest_url is None:
        return None
    digest = evidence.manifest_sha256 or ""
    return {
        "url": _url(evidence.manifest_url),
        "sha256": digest if _SHA256.fullmatch(digest) else None,
        "verified": _stated(evidence.manifest_trust) or "unverified",
    }


# The sentences deny before they name anything, so that a path called /retry is not read as an instruction.
def _description(evidence: Evidence) -> str:
    asked = f"{_method(evidence.method)} {_path(evidence.path)}"
    unproven = ", ".join(evidence.missing)
    proof = f" The client has not proven: {unproven}." if unproven else ""
    if evidence.cause is Cause.SECRET:
        return f"The proxy did not forward {asked} and answered {evidence.code}, {_secret(evidence.parameter)}."
    if evidence.cause is Cause.PROXY:
        why = f"{_words(evidence.reason)} (rule {_words(evidence.rule)})"
        return f"The proxy did not forward {asked} and answered {evidence.code}: {why}.{proof}"
    status = _STATUSES.get(evidence.cause)
    said = f"with the code {evidence.code}" if status is None else f"{status}, which is read as {evidence.code}"
    return f"The origin did not carry out {asked}: it answered {said}.{proof}"


def _secret(parameter: str | None) -> str:
    is_plain = parameter is not None and _PLAIN_NAME.fullmatch(parameter) and find_secret(parameter) is None
    return f"because its URL carries a secret{f' under the name {parameter}' if is_plain else ''}"


def _resolution(evidence: Evidence) -> str:
    decides = f"A person opens {_url(evidence.review_url)} and decides."
    if evidence.cause is Cause.SECRET:
        return f"The client leaves the secret out of the URL. {decides}"
    if evidence.cause is Cause.UPSTREAM_401:
        return f"{decides} A valid credential of the client's own settles it too."
    return decides


def _method(method: str) -> str:
    return _NOT_IN_A_METHOD.sub("-", method[:_LONGEST_NAME]) or "-"


def _words(slug: str) -> str:
    return _NOT_IN_A_WORD.sub(" ", _told(slug, _LONGEST_NAME)).strip()


def _path(path: str) -> str:
    """The whole path is looked at before it is cut, since half a secret cannot be told from other text."""
    bare = path.partition("?")[0].partition("#")[0]
    return f"/{_WITHHELD}" if find_secret(bare) is not None else _unspaced(_printable(bare, _LONGEST_PATH))


def _url(url: str) -> str:
    return _unspaced(_told(url, _LONGEST_URL)) if url.startswith("https://") else _WITHHELD


def _unspaced(reference: str) -> str:
    """One word, so that a reader knows where it ends."""
    return reference.replace(" ", "%20")


def _told(text: str, longest: int) -> str:
    """A text that somebody else wrote, as far as it is fit to be told."""
    bare = masked(text)
    return _WITHHELD if find_secret(bare) is not None else _printable(bare, longest)


def _stated(text: str | None) -> str | None:
    return None if text is None else _told(text, _LONGEST_NAME)


def _printable(text: str, longest: int) -> str:
    """One line without controls and halves of surrogate pairs, which have no canonical form."""
    told = "".join(char if char.isprintable() else "?" for char in text[:longest])
    return told if len(text) <= longest else f"{told}..."


def _identifier(text: str, otherwise: str) -> str:
    plain = _NOT_IN_AN_ID.sub("-", text[:_LONGEST_NAME]).strip("-")
    is_told = plain and find_secret(text) is None and find_secret(plain) is None
    return plain if is_told else otherwise


def _trace_id(evidence: Evidence) -> str:
    """The client's own, or else one that follows from the request."""
    if evidence.trace_id is not None and _TRACE_ID.fullmatch(evidence.trace_id):
        return evidence.trace_id
    return hashlib.sha256(evidence.request_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
