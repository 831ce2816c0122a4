"""A document held against a DID, and each of its proofs by itself."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from proxy.caching.vouching import TrustState
from proxy.trust.acceptance import BestProof, KeyTerms, accept, listed, require_signed
from proxy.trust.cards import verify_card
from proxy.trust.catalogs import verify_catalog
from proxy.trust.manifests import Anchor, TrustRules, document_of, is_stale, live, readings, verify_manifest
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.rollback import Version, version_of
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.proofs import SIGNATURES, ProofTerms
from proxy.trust.verdict import CopySource, Rejected, Signed, UnverifiedCopy, VerifiedCopy

MANIFEST: Final = "manifest"
CARD: Final = "agent-card"
CATALOG: Final = "ai-catalog"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: whether `body` from `place` is signed by `did` for `host`; `now` in Unix seconds."""

    kind: str
    body: bytes
    place: str
    did: str
    host: str
    anchor: Anchor | None
    baseline: Version | None
    now: float
    rules: TrustRules = field(default_factory=TrustRules)


@dataclass(frozen=True, slots=True)
class JudgedProof:
    """One proof; `kind` and `method` are None where they cannot be told, `reason` where it is good."""

    kind: str | None
    method: str | None
    reason: Reason | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer; `signed` is None and `reason` is not where nobody is believed."""

    state: TrustState
    signed: Signed | None
    reason: Reason | None
    detail: str
    proofs: tuple[JudgedProof, ...]


def judge(question: Question) -> Judgement:
    """The verdict of a proxy, and on each proof. Raises nothing."""
    verdict = _verdict(question)
    proofs = tuple(_proofs(question, verdict))
    if isinstance(verdict, Rejected):
        return Judgement(TrustState.REJECTED, None, verdict.reason, verdict.detail, proofs)
    anchor = question.anchor
    if anchor is not None and is_stale(anchor, question.rules, question.now):
        return Judgement(
            TrustState.STALE_TRUST, verdict, None, "its DID document has not been confirmed lately", proofs
        )
    return Judgement(TrustState.VERIFIED, verdict, None, "", proofs)


def known_version(body: bytes, host: str, now: float) -> Version:
    """The version of a manifest that is known to be good, dated by its newest proof. Raises Untrusted.

    One without a date was first seen nobody knows when: it counts as new.
    """
    members = parse_ijson(body)
    dates: list[float] = []
    for reading in readings(members, ProofTerms(host, now, math.inf)):
        with suppress(Untrusted):
            dates.append(reading().created or now)
    return version_of(members, max(dates, default=now))


def _verdict(question: Question) -> Signed | Rejected:
    did, host, anchor, now = question.did, question.host, question.anchor, question.now
    if question.kind == CARD:
        return verify_card(question.body, did, host, anchor, question.rules, now)
    if question.kind == CATALOG:
        return verify_catalog(question.body, did, anchor, question.rules, now)
    copy = UnverifiedCopy(question.body, CopySource.ORIGIN, question.place)
    verdict = verify_manifest(copy, did, host, anchor, question.baseline, question.rules, now)
    return verdict.signed if isinstance(verdict, VerifiedCopy) else verdict


def _proofs(question: Question, verdict: Signed | Rejected) -> tuple[JudgedProof, ...]:
    """Each proof by itself, where there is a document to hold it against."""
    now = question.now
    try:
        anchor = live(question.anchor, question.rules, now)
        keys = KeyTerms(document_of(anchor, question.did), anchor.barred, now, question.rules.max_manifest_age)
        if question.kind == CATALOG:
            return tuple(_rows([verdict]))
        members = parse_ijson(question.body)
        if question.kind == CARD:
            entries = listed(members, SIGNATURES)
            require_signed(len(entries))
            return tuple(_rows(_verdict(_with_one(question, members, entry)) for entry in entries))
        each = list(readings(members, ProofTerms(question.host, now, question.rules.skew)))
        require_signed(len(each))
        return tuple(_rows(accept([reading], keys) for reading in each))
    except Untrusted:
        return ()


def _with_one(question: Question, card: JsonObject, entry: object) -> Question:
    return replace(question, body=json.dumps({**card, SIGNATURES: [entry]}).encode())


def _rows(verdicts: Iterable[BestProof | Signed | Rejected]) -> Iterator[JudgedProof]:
    for verdict in verdicts:
        if isinstance(verdict, Rejected):
            for failure in verdict.failures:
                yield JudgedProof(failure.kind, failure.verification_method, failure.reason, failure.detail)
        else:
            good = verdict.signed if isinstance(verdict, BestProof) else verdict
            yield JudgedProof(good.kind, good.verification_method)
