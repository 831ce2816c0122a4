"""Access manifests from wherever they come: accepted when a key of the domain's DID signed them (TRUST.md §6.2).

The one entry is `verify_manifest`: bytes in, verdict out. What it goes by was fixed while the origin could be
reached: the DID, its pinned document, and the version last known to be good. Nothing in the copy adds to that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from proxy.http.targets import MalformedTarget, parse_target
from proxy.trust.acceptance import KeyTerms, Reading, accept, listed, require_signed
from proxy.trust.did.document import DidDocument
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.rollback import Baseline, judge, version_of
from proxy.trust.signatures.dataintegrity import read_proof
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.jws import read_signature
from proxy.trust.signatures.proofs import PROOF, SIGNATURES, ProofTerms, SecuredDocument
from proxy.trust.verdict import Rejected, UnverifiedCopy, Verdict, VerifiedCopy

PROFILE: Final = "uaix.ai-ready-web.manifest.v1"

_LONGEST_URL: Final = 2048
_DAY: Final = 86400.0


@dataclass(frozen=True, slots=True)
class Anchor:
    """What a domain's signatures are held against: its pinned DID document, or why the pinned one is none.

    `confirmed_at` is when the origin last confirmed it, in Unix seconds. `barred` are multikeys on probation: a
    good proof by one of them alone is not enough.
    """

    document: DidDocument | Rejected
    confirmed_at: float
    barred: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TrustRules:
    """Lengths of time in seconds.

    A proof may be dated `skew` ahead. An anchor is stale beyond the age `soft`, and worth nothing beyond `hard`.
    `max_manifest_age` is for proofs that have no end of their own; None for any age.
    """

    skew: float = 300.0
    soft: float = 7 * _DAY
    hard: float = 30 * _DAY
    max_manifest_age: float | None = 90 * _DAY


def verify_manifest(
    copy: UnverifiedCopy,
    did: str,
    host: str,
    anchor: Anchor | None,
    baseline: Baseline | None,
    rules: TrustRules,
    now: float,
) -> Verdict:
    """The verdict on a copy of the manifest of `host`, which is "example.com" or "example.com:8443".

    `did` is the domain's, `anchor` what is known of it, `baseline` the version last known to be good, `now` in Unix
    seconds. The checks go in the order of TRUST.md §6.2 and the first that fails is the reason. Raises nothing.
    Takes time linear in the size, most of it for the canonical form: off the event loop above 64 KiB.
    """
    try:
        anchor = live(anchor, rules, now)
        document = parse_ijson(copy.body)
        keys = KeyTerms(document_of(anchor, did), anchor.barred, now, rules.max_manifest_age)
        _check_subject(document, host)
        each = list(readings(document, ProofTerms(host, now, rules.skew)))
        require_signed(len(each))
        accepted = accept(each, keys)
        if isinstance(accepted, Rejected):
            return accepted
        verdict = VerifiedCopy(copy, accepted.signed, is_stale(anchor, rules, now), accepted.failures)
        return verdict if baseline is None else _unless_older(verdict, document, baseline)
    except Untrusted as error:
        return Rejected(error.reason, error.detail)


def live(anchor: Anchor | None, rules: TrustRules, now: float) -> Anchor:
    """The anchor, if there is one and it is young enough. Raises Untrusted: TRUST_ANCHOR_MISSING, _EXPIRED."""
    if anchor is None:
        raise Untrusted(Reason.TRUST_ANCHOR_MISSING, "No DID document of the domain is known to verify against.")
    if now - anchor.confirmed_at > rules.hard:
        raise Untrusted(Reason.TRUST_ANCHOR_EXPIRED, "The DID document was confirmed too long ago.")
    return anchor


def is_stale(anchor: Anchor, rules: TrustRules, now: float) -> bool:
    """Whether the anchor was not confirmed for so long that what it verifies is marked."""
    return now - anchor.confirmed_at > rules.soft


def document_of(anchor: Anchor, did: str) -> DidDocument:
    """The anchor's document, if it is that of `did`. Raises Untrusted: DID_DOC_*."""
    if isinstance(anchor.document, Rejected):
        raise Untrusted(anchor.document.reason, anchor.document.detail)
    if anchor.document.did != did:
        raise Untrusted(Reason.DID_DOC_ID_MISMATCH, "The DID document is not that of the domain's DID.")
    return anchor.document


def _check_subject(document: JsonObject, host: str) -> None:
    """That the document is a manifest, and of this host: one key may sign for many sites and purposes."""
    profile, site = document.get("profileId"), document.get("site")
    if not isinstance(profile, str) or not profile.startswith(PROFILE):
        raise Untrusted(Reason.PROFILE_MISMATCH, f"The document does not say that it is of profile {PROFILE}.")
    url = site.get("url") if isinstance(site, dict) else None
    if not isinstance(url, str) or len(url) > _LONGEST_URL or not _is_of(url, host):
        raise Untrusted(Reason.SITE_MISMATCH, "The manifest is not one of the host asked for, by https.")


def _is_of(url: str, host: str) -> bool:
    try:
        target = parse_target(url)
    except MalformedTarget:
        return False
    return target.scheme == "https" and target.authority == host


def readings(document: JsonObject, terms: ProofTerms) -> Iterator[Reading]:
    """The proofs in both containers; `proof` may be one or a set of them."""
    secured = SecuredDocument(document)
    one = document.get(PROOF)
    for proof in [one] if isinstance(one, dict) else listed(document, PROOF):
        yield partial(read_proof, proof, secured, terms)
    for signature in listed(document, SIGNATURES):
        yield partial(read_signature, signature, secured, terms)


def _unless_older(verdict: VerifiedCopy, document: JsonObject, baseline: Baseline) -> Verdict:
    judgement = judge(version_of(document, verdict.signed.signed_at or 0.0), baseline)
    return replace(judgement, failures=verdict.failures) if isinstance(judgement, Rejected) else verdict
