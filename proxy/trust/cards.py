"""A2A Agent Cards: their `signatures` (A2A 1.0 §8.4, A2A-4; TRUST.md §4.3).

The payload is the card as received, without its signatures: what a card's schema takes for a default value is not
taken out. Keys come from the pinned DID document of the domain; `jku` is never fetched. A card says nothing about
its host, so that it was found there is for the caller to know.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Final

from proxy.trust.acceptance import KeyTerms, accept, listed, require_signed
from proxy.trust.manifests import Anchor, TrustRules, document_of, live
from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.signatures import base64url
from proxy.trust.signatures.canonical import canonical
from proxy.trust.signatures.ijson import JsonObject, parse_ijson
from proxy.trust.signatures.jws import decode_header, read_signature, signing_input
from proxy.trust.signatures.proofs import SIGNATURES, ProofTerms, ReadProof, SecuredDocument
from proxy.trust.verdict import Rejected, Signed

_BARE: Final = re.compile(r"[A-Za-z0-9._~-]{1,256}")
_DID: Final = "did:"


def verify_card(
    body: bytes, did: str, host: str, anchor: Anchor | None, rules: TrustRules, now: float
) -> Signed | Rejected:
    """Who signed a card, if a key of `did` did; `host` as in "example.com:8443", `now` in Unix seconds.

    Raises nothing. A signature need not be dated; one that is may not have ended nor lie in the future. UNSIGNED
    where there is none, whatever is known of the domain.
    """
    try:
        card = _parse(body)
        signatures = listed(card, SIGNATURES)
        require_signed(len(signatures))
        anchor = live(anchor, rules, now)
        keys = KeyTerms(document_of(anchor, did), anchor.barred, now)
        payload = cache(partial(_payload, card))
        terms = ProofTerms(host, now, rules.skew)
        accepted = accept([partial(_read, entry, payload, did, terms) for entry in signatures], keys)
    except Untrusted as error:
        return Rejected(error.reason, error.detail)
    return accepted if isinstance(accepted, Rejected) else accepted.signed


def _parse(body: bytes) -> JsonObject:
    card = parse_ijson(body)
    # What the same key signed as something else, a manifest above all, is no card.
    if not isinstance(card.get("name"), str):
        raise Untrusted(Reason.PROFILE_MISMATCH, "The document is no card: it has no name.")
    return card


def _payload(card: JsonObject) -> bytes:
    return canonical({name: value for name, value in card.items() if name != SIGNATURES})


def _read(entry: object, payload: Callable[[], bytes], did: str, terms: ProofTerms) -> ReadProof:
    """A signature of a card. Its `kid` may be the bare name of a method: that is read as one of `did`."""
    protected = entry.get("protected") if isinstance(entry, dict) else None
    if isinstance(entry, dict) and isinstance(protected, str):
        entry = {**entry, "protected": _with_absolute_kid(protected, did)}
    proof = read_signature(entry, SecuredDocument({}), terms, must_be_dated=False)
    return replace(proof, message=lambda: signing_input(str(protected), payload()))


def _with_absolute_kid(protected: str, did: str) -> str:
    header = decode_header(protected)
    kid = header.get("kid")
    if not isinstance(kid, str) or kid.startswith(_DID):
        return protected
    if _BARE.fullmatch(kid) is None:
        raise Untrusted(Reason.VM_FOREIGN_DID, "The header names its key by neither a DID URL nor a bare name.")
    return base64url.encode(canonical({**header, "kid": f"{did}#{kid}"}))
