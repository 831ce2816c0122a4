"""What vouches for a document that its own origin sent: its TLS alone, or a good signature as well.

The live origin's answer needs no proof: a bad one is told, and what was last known to be good stays the baseline
for mirrors (TRUST.md §6.3, CONTRACT §14.2). What an origin publishes is remembered durably before it is answered.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import Final

from proxy.caching.vouching import TrustState, Vouching
from proxy.discovery.classes import DocumentClass
from proxy.discovery.names import is_local
from proxy.engine.acceptance import OF_DOCUMENTS
from proxy.engine.trust.known import Change, Known, authority_of, default_did
from proxy.engine.trust.pinning import Occasion, Pinning
from proxy.engine.trust.verifying import Verifier
from proxy.engine.vouching import Document, Keeping
from proxy.http.codings import CodingFault, decode_body
from proxy.http.targets import Target, parse_target
from proxy.ports import Clock
from proxy.stores.tiered import Tiered
from proxy.trust.reasons import UNKNOWN_KEY, UNVERIFIABLE, Reason, Untrusted
from proxy.trust.records.knowledge import (
    DnsDidEvent,
    Knowledge,
    dns_did_seen,
    is_published,
    manifest_accepted_from_origin,
    manifest_withdrawn,
)
from proxy.trust.records.publication import ManifestEvent
from proxy.trust.verdict import CopySource, Rejected, Signed, UnverifiedCopy, VerifiedCopy
from proxy.trustrecords import TrustRecordsDamaged, TrustRecordsUnavailable

# More than any class of these lets pass.
_MOST_DECODED: Final = 8 * 2**20
# Members that a signed document of each class carries at its top.
_SIGNATURES: Final = {
    DocumentClass.MANIFEST: (b'"proof"', b'"signatures"'),
    DocumentClass.AGENT_CARD: (b'"signatures"',),
    DocumentClass.AI_CATALOG: (b'"signature"',),
}
_NO_KEYS_YET: Final = frozenset({Reason.TRUST_ANCHOR_MISSING})

_log = logging.getLogger("proxy.trust")


class SignatureVoucher:
    """Implements engine.vouching.Voucher and engine.vouching.DomainTrust."""

    def __init__(self, known: Known, pinning: Pinning, verifier: Verifier, store: Tiered, clock: Clock) -> None:
        self._known = known
        self._pinning = pinning
        self._verifier = verifier
        self._store = store
        self._clock = clock

    async def vouch(self, document: Document, keeping: Keeping) -> Vouching | None:
        """What vouches for `document`; None where nothing but the way it came can. Never raises."""
        authority = authority_of(document.target)
        document_class = DocumentClass(document.document_class)
        if not authority or document_class not in _SIGNATURES or document.status not in OF_DOCUMENTS:
            return None
        body = decode_body(document.fields.get("content-encoding"), document.body, _MOST_DECODED)
        if isinstance(body, CodingFault):
            return None
        # A query makes another resource, of which there may be any number: only the plain one is remembered.
        keeping = Keeping.NOT_FOR_OTHERS if document.target.query is not None else keeping
        try:
            return await self._judged(authority, document_class, document.target.uri, body, keeping)
        except TrustRecordsUnavailable as error:
            if document_class is DocumentClass.MANIFEST and keeping is not Keeping.NOT_FOR_OTHERS:
                self._owe(
                    authority,
                    document.target.uri,
                    partial(_without_others, document.target.uri, body, now=self._clock()),
                    error,
                )
            return self._unknown(authority, error)

    async def remembers(self, target: Target) -> bool:
        """Whether the manifest at `target` may be remembered, which its origin may end. Never raises."""
        authority = authority_of(target)
        try:
            known = await self._known.get(authority) if authority else None
        except TrustRecordsUnavailable as error:
            self._unknown(authority, error)
            return True
        return known is not None and target.uri in known.manifests

    async def withdrawn(self, target: Target) -> None:
        """The origin says that there is no manifest: no mirror may say otherwise. Never raises."""
        authority = authority_of(target)
        withdraw = partial(manifest_withdrawn, url=target.uri, now=self._clock())
        try:
            await self._known.change(authority, withdraw)
        except TrustRecordsUnavailable as error:
            self._owe(authority, target.uri, withdraw, error)
            self._unknown(authority, error)
        else:
            _log.info("manifest withdrawn by its origin", extra={"host": authority})

    def _owe(self, authority: str, uri: str, change: Change, error: TrustRecordsUnavailable) -> None:
        """The origin has spoken, and no copy may stand against its word; of a damaged record none is believed."""
        if authority and not isinstance(error, TrustRecordsDamaged):
            self._known.owe(authority, uri, change)

    def _unknown(self, authority: str, error: TrustRecordsUnavailable) -> Vouching:
        _log.warning("nothing is known of a domain", extra={"host": authority, "reason": str(error)})
        return self._of_tls(reason_of(error), "unverifiable")

    async def vouch_for(
        self, domain: str, target: Target, body: bytes, document_class: DocumentClass = DocumentClass.MANIFEST
    ) -> Vouching | None:
        """What a signature of `domain` makes of a document that lies elsewhere, None where there is none."""
        if is_local(domain) or not default_did(domain) or document_class not in _SIGNATURES:
            return None
        try:
            return await self._judged(domain, document_class, target.uri, body, Keeping.NOT_FOR_OTHERS)
        except TrustRecordsUnavailable as error:
            return self._unknown(domain, error)

    async def dns_did_seen(self, domain: str, did: str | None) -> bool:
        """Note the DID that DNS names for `domain`; whether it is another than the pinned one."""
        if is_local(domain) or not default_did(domain):
            return False
        try:
            known = await self._known.get(domain)
            if known is None and did is None:
                return False
            if known is None or known.dns_did != did:
                known = await self._known.change(domain, lambda known: dns_did_seen(known, did).knowledge)
        except TrustRecordsUnavailable:
            return False
        is_conflict = dns_did_seen(known, did).event is DnsDidEvent.CONFLICT
        if is_conflict:
            _log.warning("DNS names another DID than the pinned one", extra={"host": domain, "did": did})
        return is_conflict

    async def _judged(
        self, authority: str, document_class: DocumentClass, uri: str, body: bytes, keeping: Keeping
    ) -> Vouching | None:
        copy = UnverifiedCopy(body, CopySource.ORIGIN, uri)
        signed, is_stale = None, False
        if any(member in body for member in _SIGNATURES[document_class]):
            signed, is_stale = await self._verified(authority, document_class, copy)
        else:
            self._verifier.unsigned(document_class.value, copy, authority)
        if document_class is DocumentClass.MANIFEST:
            await self._learn(authority, uri, body, signed, keeping)
            if keeping is Keeping.MAY and isinstance(signed, Rejected) and signed.reason in _NO_KEYS_YET:
                self._pinning.when_keys_come(authority, uri, lambda: self._judge_again(parse_target(uri)))
        if isinstance(signed, Rejected):
            return self._of_tls(signed.reason, _standing(signed.reason))
        if signed is None:
            return None
        known = await self._known.get(authority)
        return self._verifier.vouching(signed, CopySource.ORIGIN, known, is_stale=is_stale)

    async def _learn(
        self, authority: str, uri: str, body: bytes, signed: Signed | Rejected | None, keeping: Keeping
    ) -> None:
        """Remember the manifest as the one last known to be good, unless its proof is bad."""
        if signed is None:
            # It may be signed one day, and then the keys have to be those of today.
            await self._pinning.knowledge(authority, Occasion.MANIFEST, wait=False)
        if keeping is Keeping.MUST_NOT:
            await self._forget(authority, uri, body)
        elif keeping is Keeping.MAY and (not isinstance(signed, Rejected) or signed.reason in _NO_KEYS_YET):
            await self._keep(authority, uri, body, signed if isinstance(signed, Signed) else None)

    async def _judge_again(self, target: Target) -> None:
        """Judge by its keys, which have come, what was stored before they had."""
        keeping = Keeping.MAY if await self.remembers(target) else Keeping.NOT_FOR_OTHERS
        for stored in self._store.peek(target.uri)[-1:]:
            document = Document(target, stored.document_class, stored.status, stored.fields, stored.body)
            vouching = await self.vouch(document, keeping)
            if any(held is stored for held in self._store.peek(target.uri)):
                self._store.put(target.uri, replace(stored, vouching=vouching))

    async def _forget(self, authority: str, uri: str, body: bytes) -> None:
        """The publisher lets nobody keep this one, and so the one before is out of date for good."""
        known = await self._known.get(authority)
        if known is not None:
            await self._known.change(authority, partial(_without_others, uri, body, now=self._clock()))

    async def _verified(
        self, authority: str, document_class: DocumentClass, copy: UnverifiedCopy
    ) -> tuple[Signed | Rejected | None, bool]:
        """The good proof, or why there is none; None without any. With whether the pin is old."""
        known = await self._pinning.knowledge(authority, Occasion.MANIFEST, wait=True)
        signed, is_stale = await self._held_against(known, authority, document_class, copy)
        if isinstance(signed, Rejected) and signed.reason in UNKNOWN_KEY:
            known = await self._pinning.knowledge(authority, Occasion.UNKNOWN_KEY, wait=True)
            signed, is_stale = await self._held_against(known, authority, document_class, copy)
        if isinstance(signed, Rejected) and signed.reason is Reason.UNSIGNED:
            return None, False
        return signed, is_stale

    async def _held_against(
        self, known: Knowledge | None, authority: str, document_class: DocumentClass, copy: UnverifiedCopy
    ) -> tuple[Signed | Rejected, bool]:
        if document_class is DocumentClass.AGENT_CARD:
            return await self._verifier.card(copy, authority, known), False
        if document_class is DocumentClass.AI_CATALOG:
            return await self._verifier.catalog(copy, authority, known), False
        verdict = await self._verifier.manifest(copy, authority, known, None)
        if isinstance(verdict, VerifiedCopy):
            return verdict.signed, verdict.is_stale
        return verdict, False

    def _of_tls(self, reason: Reason, signature: str) -> Vouching:
        return Vouching(TrustState.ORIGIN_TLS, "origin", self._clock(), signature=signature, reason=reason.value)

    async def _keep(self, authority: str, uri: str, body: bytes, signed: Signed | None) -> None:
        """Remember a manifest, durably; without canonical form it has no version."""
        now = self._clock()
        known = await self._known.get(authority)
        if known is not None and is_published(known, uri, body, now, signed=signed is not None):
            return
        try:
            version = await self._verifier.version(body, (signed.signed_at if signed is not None else None) or now)
        except Untrusted:
            return
        events: list[ManifestEvent] = []

        def accept(known: Knowledge) -> Knowledge:
            change = manifest_accepted_from_origin(known, uri, body, version, signed=signed is not None, now=now)
            events.append(change.event)
            return change.knowledge

        await self._known.change(authority, accept)
        if ManifestEvent.ORIGIN_REGRESSED in events:
            _log.warning("the origin has gone back to an older manifest", extra={"host": authority})


def _without_others(uri: str, body: bytes, known: Knowledge, *, now: float) -> Knowledge:
    """With the manifest at `uri` forgotten if it is another than `body`, which its origin has sent since."""
    manifest = known.manifests.get(uri)
    return known if manifest is None or manifest.is_of(body) else manifest_withdrawn(known, uri, now)


def reason_of(error: TrustRecordsUnavailable) -> Reason:
    """What is told of records that cannot be used."""
    is_damaged = isinstance(error, TrustRecordsDamaged)
    return Reason.TRUST_RECORD_DAMAGED if is_damaged else Reason.TRUST_RECORD_UNAVAILABLE


def _standing(reason: Reason) -> str:
    if reason is Reason.PROOF_EXPIRED:
        return "expired"
    return "unverifiable" if reason in UNVERIFIABLE else "invalid"
