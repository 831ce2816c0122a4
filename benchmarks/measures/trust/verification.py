"""A whole verification (TRUST.md §6.2) against a pinned DID document, the parts of one, and large manifests."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Final

from benchmarks.publisher import KEYS, MANIFEST_PATH, ProofKind, Publisher
from benchmarks.tables import Row, Table, Value
from benchmarks.turns import Call, Turns, in_turns, require
from proxy.trust.did.document import DidDocument, parse_did_document
from proxy.trust.manifests import Anchor, TrustRules, verify_manifest
from proxy.trust.rollback import Baseline, version_of
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.ijson import parse_ijson
from proxy.trust.signatures.keys import KeyType
from proxy.trust.signatures.signing import PrivateKey
from proxy.trust.verdict import CopySource, UnverifiedCopy, VerifiedCopy

SMALL: Final = 1536
LARGE: Final = 150 * 1024
_SIZES: Final = (SMALL, 64 * 1024, LARGE)
_WANTED_MICROSECONDS: Final = 600
_RULES: Final = TrustRules()


def from_mirror(publisher: Publisher, octets: int, kind: ProofKind = ProofKind.EDDSA) -> UnverifiedCopy:
    """A manifest of about so many octets, as a mirror may have sent it."""
    url = f"https://mirror1.example.net{MANIFEST_PATH}"
    return UnverifiedCopy(publisher.manifest(octets, kind), CopySource.MIRROR, url)


def baseline_of(copy: UnverifiedCopy, now: float) -> Baseline:
    """What is known when exactly this has been accepted before."""
    return version_of(parse_ijson(copy.body), now)


def verification(publisher: Publisher, now: float, turns: Turns) -> Table:
    """A row a kind of proof, then what a shorter and a longer way take."""
    body = publisher.did_document
    pinned = parse_did_document(body, publisher.did)

    def verify(copy: UnverifiedCopy, baseline: Baseline | None, document: DidDocument) -> object:
        anchor = Anchor(document, now)
        return verify_manifest(copy, publisher.did, publisher.host, anchor, baseline, _RULES, now)

    calls: dict[str, Call] = {}
    for kind in ProofKind:
        copy = from_mirror(publisher, SMALL, kind)
        calls[kind.text] = partial(verify, copy, baseline_of(copy, now), pinned)
    usual = from_mirror(publisher, SMALL)
    known = baseline_of(usual, now)
    calls["the first, no version known before"] = partial(verify, usual, None, pinned)
    calls["the first, the document parsed too"] = lambda: verify(
        usual, known, parse_did_document(body, publisher.did)
    )
    for name, call in calls.items():
        require(name, call, lambda verdict: isinstance(verdict, VerifiedCopy))
    timed = dict(zip(calls, in_turns(tuple(calls.values()), turns), strict=True))
    rows: list[Row] = [
        {"proof": name, "µs": median(figures), **_held(median(figures))} for name, figures in timed.items()
    ]
    title = f"A manifest of 1.5 KB, held against a pinned document of {KEYS} keys and the version known before"
    return Table(f"{title}: {turns}", rows, {f"{name}, µs": figures for name, figures in timed.items()})


def _held(microseconds: float) -> Row:
    wanted = f"≤ {_WANTED_MICROSECONDS} µs"
    return {wanted: "yes" if microseconds <= _WANTED_MICROSECONDS else "no"}


def parts(publisher: Publisher, turns: Turns) -> Table:
    """What most of the time goes into."""
    body = from_mirror(publisher, SMALL).body
    members = parse_ijson(body)
    message = canonical(members)
    calls: dict[str, Call] = {
        "strict JSON": partial(parse_ijson, body),
        "canonical form": partial(canonical, members),
    }
    for key_type in KeyType:
        key = PrivateKey.generate(key_type)
        calls[f"{key_type.name} signature of it"] = partial(key.public.verifies, key.sign(message), message)
    for name, call in calls.items():
        require(name, call, bool)
    timed = dict(zip(calls, in_turns(tuple(calls.values()), turns), strict=True))
    rows: list[Row] = [{"part": name, "µs": median(figures)} for name, figures in timed.items()]
    return Table(f"Parts of that: {turns}", rows, {f"{name}, µs": figures for name, figures in timed.items()})


def sizes(publisher: Publisher, now: float, turns: Turns) -> Table:
    """Milliseconds by size, the whole with its two canonical forms: the signed one and that of the version."""
    pinned = Anchor(parse_did_document(publisher.did_document, publisher.did), now)
    rows: list[dict[str, Value]] = []
    raw: dict[str, list[float]] = {}
    for octets in _SIZES:
        copy = from_mirror(publisher, octets)
        known, members = baseline_of(copy, now), parse_ijson(copy.body)
        whole = partial(verify_manifest, copy, publisher.did, publisher.host, pinned, known, _RULES, now)
        require(f"{octets} octets", whole, lambda verdict: isinstance(verdict, VerifiedCopy))
        calls: dict[str, Call] = {
            "strict JSON ms": partial(parse_ijson, copy.body),
            "canonical form ms": partial(canonical, members),
            "verified ms": whole,
        }
        row: dict[str, Value] = {"KiB": octets / 1024}
        for name, figures in zip(calls, in_turns(tuple(calls.values()), turns), strict=True):
            row[name] = median(figures) / 1000
            raw[f"{octets} octets, {name.removesuffix(' ms')}, µs"] = figures
        rows.append(row)
    return Table(f"By size, {ProofKind.EDDSA.text}: {turns}", rows, raw)
