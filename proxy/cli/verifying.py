"""`verify`: whether a document is signed by the DID that it should be signed by, as a proxy would judge a copy."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Final

from proxy.caching.vouching import TrustState
from proxy.cli.anchoring import Anchored, find_anchor
from proxy.cli.arguments import Unusable
from proxy.cli.files import read_file, shown
from proxy.cli.identifiers import did_authority, parse_host
from proxy.cli.judging import CARD, CATALOG, MANIFEST, Judgement, Question, judge, known_version
from proxy.cli.moments import parse_moment
from proxy.cli.published import is_url, nothing_there, parse_url, read_published
from proxy.cli.terminal import BOLD, DIM, GREEN, RED, YELLOW, Paint, may_colour, paint_for
from proxy.cli.tree import Row, aligned
from proxy.config import load
from proxy.discovery.classes import DocumentClass
from proxy.http.timestamps import timestamp
from proxy.logs.redaction import plain
from proxy.trust.reasons import Untrusted
from proxy.trust.rollback import Version

_BELIEVED, _REJECTED = 0, 1
_LONGEST: Final = 500
_STYLES: Final = {TrustState.VERIFIED: GREEN, TrustState.STALE_TRUST: YELLOW}


def verify(arguments: Namespace) -> int:
    """Judge a document; 1 when it is rejected."""
    from proxy.lint import kind_of  # it takes its time, and the other verbs start without it

    now = parse_moment("--now", arguments.now)
    host = did_authority(arguments.did) if arguments.host is None else parse_host(arguments.host)
    place, body = _of_url(arguments) if is_url(arguments.document) else _of_file(arguments.document)
    shows = kind_of(body)
    kind = shows if shows in (CARD, CATALOG) else MANIFEST
    baseline = _baseline(arguments.baseline, kind, host, now)
    anchored = find_anchor(arguments, now)
    rules = load(arguments.config, os.environ, {}).trust.rules
    question = Question(kind, body, place, arguments.did, host, anchored.anchor, baseline, now, rules)
    judgement = judge(question)
    if arguments.json:
        print(json.dumps(_told(question, judgement), indent=2))
    else:
        print("\n".join(_report(question, anchored, judgement, paint_for(colour=may_colour(sys.stdout)))))
    return _REJECTED if judgement.state is TrustState.REJECTED else _BELIEVED


def _of_file(path: str) -> tuple[str, bytes]:
    return shown(path), read_file(path)


def _of_url(arguments: Namespace) -> tuple[str, bytes]:
    """What is published, whatever it is: that it is no such document is for the verdict to say."""
    reading = read_published(parse_url(arguments.document), DocumentClass.OTHER, arguments.config)
    if not reading.is_found:
        raise nothing_there(reading)
    return plain(reading.url, _LONGEST), reading.body


def _baseline(path: str | None, kind: str, host: str, now: float) -> Version | None:
    if path is None:
        return None
    if kind != MANIFEST:
        raise Unusable(f"--baseline: the document is of kind {kind}, and only manifests have versions")
    try:
        return known_version(read_file(path), host, now)
    except Untrusted as error:
        raise Unusable(f"--baseline: {shown(path)} is no manifest: {error.detail} ({error.reason})") from None


def _told(question: Question, judgement: Judgement) -> dict[str, object]:
    return {
        "state": judgement.state.value,
        "reason": judgement.reason,
        "did": question.did,
        "verification_method": judgement.signed.verification_method if judgement.signed else None,
        "proofs": [
            {
                "kind": proof.kind,
                "verification_method": proof.method,
                "valid": proof.reason is None,
                "reason": proof.reason,
            }
            for proof in judgement.proofs
        ],
    }


def _report(question: Question, anchored: Anchored, judgement: Judgement, paint: Paint) -> Iterator[str]:
    yield paint(question.place, BOLD)
    yield f"  kind          {question.kind}"
    yield f"  host          {question.host}"
    yield f"  DID           {plain(question.did, _LONGEST)}"
    yield f"  DID document  {anchored.origin}"
    yield f"  verdict       {_verdict(judgement, paint)}"
    signed = judgement.signed
    if signed is not None:
        made = "" if signed.signed_at is None else f", made {timestamp(signed.signed_at, 'seconds')}"
        end = "" if signed.valid_until is None else f", good until {timestamp(signed.valid_until, 'seconds')}"
        yield f"  signed by     {plain(signed.verification_method, _LONGEST)} ({signed.kind}){made}{end}"
    if judgement.proofs:
        yield ""
        yield "proofs, each by itself"
        yield from (f"  {paint(branch.text, branch.style or DIM)}" for branch in aligned(_rows(judgement)))


def _verdict(judgement: Judgement, paint: Paint) -> str:
    state = paint(judgement.state.value, _STYLES.get(judgement.state, RED))
    reason = f" ({judgement.reason})" if judgement.reason else ""
    return f"{state}{reason}{f': {judgement.detail}' if judgement.detail else ''}"


def _rows(judgement: Judgement) -> Iterator[Row]:
    for proof in judgement.proofs:
        columns = (proof.kind or "?", plain(proof.method or "?", _LONGEST))
        if proof.reason is None:
            yield Row(["good", *columns], GREEN)
        else:
            yield Row(["bad", *columns, proof.reason.value, proof.detail], RED)
