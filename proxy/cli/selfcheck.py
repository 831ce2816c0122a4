"""What was just signed, verified as a proxy will, before anybody else sees it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from proxy.cli.arguments import Unusable
from proxy.cli.keys import parsed_keys
from proxy.cli.publishing import Terms
from proxy.trust.cards import verify_card
from proxy.trust.manifests import Anchor, TrustRules, verify_manifest
from proxy.trust.rollback import judge, version_of
from proxy.trust.signatures.ijson import parse_ijson
from proxy.trust.verdict import CopySource, Rejected, UnverifiedCopy, Verdict, VerifiedCopy

_RULES = TrustRules(max_manifest_age=None)
# What is published already may have been dated ahead.
_UNDATED = TrustRules(skew=math.inf, max_manifest_age=None)


def require_card(body: bytes, terms: Terms, host: str) -> None:
    """Raises Unusable unless the card verifies by the keys that signed it, when they did."""
    verdict = verify_card(body, terms.did, host, _anchor(terms), _RULES, terms.created)
    if isinstance(verdict, Rejected):
        raise _unverifiable(verdict)


def require_manifest(body: bytes, terms: Terms, host: str) -> tuple[str, ...]:
    """What is wrong with older proofs by the same keys. Raises Unusable unless the manifest verifies."""
    verdict = _verdict(body, terms, host, _RULES)
    if isinstance(verdict, Rejected):
        raise _unverifiable(verdict)
    return tuple(
        f"an older proof by {failure.verification_method} does not hold ({failure.reason}): "
        f"sign with --proof jws first, where both sorts of proof are wanted"
        for failure in verdict.failures
        if failure.verification_method in terms.methods
    )


def succession_faults(body: bytes, published: bytes, terms: Terms, host: str) -> Iterator[str]:
    """Why proxies that know what is `published` by the same keys will not take the new manifest from mirrors."""
    known = _verdict(published, terms, host, _UNDATED)
    if not isinstance(known, VerifiedCopy):
        return
    baseline = version_of(parse_ijson(published), known.signed.signed_at or 0.0)
    judgement = judge(version_of(parse_ijson(body), terms.created), baseline)
    if isinstance(judgement, Rejected):
        yield (
            f"proxies that know the manifest that this one replaces will not take it from mirrors "
            f"({judgement.reason}): sign with --sequence auto"
        )


def _verdict(body: bytes, terms: Terms, host: str, rules: TrustRules) -> Verdict:
    copy = UnverifiedCopy(body, CopySource.ORIGIN, "")
    return verify_manifest(copy, terms.did, host, _anchor(terms), None, rules, terms.created)


def _anchor(terms: Terms) -> Anchor:
    keys = {signer.method: signer.key.public for signer in terms.signers}
    return Anchor(parsed_keys(terms.did, keys), terms.created)


def _unverifiable(verdict: Rejected) -> Unusable:
    return Unusable(f"no proxy would believe what would be signed: {verdict.detail} ({verdict.reason})")
