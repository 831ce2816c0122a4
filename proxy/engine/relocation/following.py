"""Where a permanent redirect leads, read through the cache: whether a document is there, and whose it is (OV-3)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from proxy.caching.vouching import TrustState
from proxy.discovery.access.manifest import stated_site
from proxy.discovery.central import is_central
from proxy.discovery.classes import POLICIES as FORMATS
from proxy.discovery.classes import DocumentClass, DocumentFormat, classify
from proxy.discovery.gate import GateReason, NotADocument
from proxy.discovery.names import same_site
from proxy.discovery.redirects import POLICIES, REDIRECTS, NotFollowed, next_hop
from proxy.engine.discovery.provenance import vouches
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.reading import (
    CENTRAL,
    CENTRAL_DETAIL,
    Manner,
    Reading,
    ReadOutcome,
    Refused,
    document_of,
)
from proxy.engine.relocation.asking import PAGES
from proxy.engine.relocation.rechecks import Followed
from proxy.engine.vouching import DomainTrust
from proxy.http.fields import essence
from proxy.http.messages import Realm, ResponseHead
from proxy.http.targets import MalformedTarget, Target, parse_target
from proxy.ledgers import Ledger, LedgerUnavailable
from proxy.ports import Clock
from proxy.relocation.confirmation import Ending, Hop, permanent_run
from proxy.relocation.records import Proof, Record, record_url

_CANONICAL: Final = ("canonical", "canonical_url")
_BEGINNINGS: Final = (b"<!doctype html", b"<html")
_PAGE: Final = NotADocument(GateReason.HTML, "a page for people is no document of any kind")
_VERIFIED: Final = frozenset({TrustState.VERIFIED, TrustState.STALE_TRUST})
# What is not for us today may be there all the same.
_NOT_FOR_US: Final = frozenset({401, 403, 429})


class Following:
    """Follows records' locations as discovery follows redirects; it never asks the recorded URL itself."""

    def __init__(self, reader: Reader, trust: DomainTrust | None, ledger: Ledger, clock: Clock) -> None:
        self._reader = reader
        self._trust = trust
        self._ledger = ledger
        self._clock = clock

    async def follow(self, record: Record, realm: Realm) -> Followed:
        """What there is where `record`, of a move, says. Never raises.

        Where a publisher sends to another host is asked for as public, wherever he may go who asked for the URL.
        """
        assert record.location is not None
        asked, location = parse_target(record.url), parse_target(record.location)
        document_class = classify(asked.normal_path)
        if not _may_follow(asked, record, document_class):
            return Followed((Hop(record.status, location),), Ending.NO_DOCUMENT, Proof.NONE)
        judge = _no_page if document_class is DocumentClass.OTHER else None
        realm = realm if location.host == asked.host else Realm.PUBLIC
        manner = Manner(realm=realm, judge=judge, admit=partial(_admitted, asked))
        reading = await self._reader.read(location, document_class, manner)
        onwards = (Hop(hop.status, hop.target, self._lifetime(hop.source)) for hop in reading.hops)
        hops = (Hop(record.status, location), *onwards)
        proof = await self._proof(asked, permanent_run(hops)[-1].target, reading)
        is_stopped = reading.status in REDIRECTS and not reading.is_found
        return Followed(hops, _ending(reading), proof, record_url(reading.target) if is_stopped else None)

    def _lifetime(self, source: Target) -> float | None:
        """How long a hop still holds, by its own record."""
        with suppress(LedgerUnavailable):
            record = self._ledger.get(record_url(source))
            return None if record is None else max(0.0, record.fresh_until - self._clock())
        return None

    async def _proof(self, asked: Target, end: Target, reading: Reading) -> Proof:
        """The redirect is one half of a proof; the other is what the document at its end says itself."""
        if same_site(asked.host, end.host):
            return Proof.SAME_SITE
        if not reading.is_found:
            return Proof.NONE
        is_mutual = _names(reading, asked) or vouches(replace(reading, asked=asked))
        return Proof.PROVEN if is_mutual or await self._is_signed(asked, reading) else Proof.NONE

    async def _is_signed(self, asked: Target, reading: Reading) -> bool:
        """Whether a key of the old domain's DID signed what is at the new place."""
        if self._trust is None:
            return False
        vouching = await self._trust.vouch_for(asked.host, reading.target, reading.body, reading.document_class)
        return vouching is not None and vouching.state in _VERIFIED


def _may_follow(asked: Target, record: Record, document_class: DocumentClass) -> bool:
    """Whether documents of the class follow redirects that far (OV-9), and not to a central service."""
    step = next_hop(POLICIES[document_class], asked, (), asked, record.status, record.location)
    return not isinstance(step, NotFollowed) and _admitted(asked, step.hop.target) is None


def _admitted(asked: Target, target: Target) -> Refused | None:
    return Refused(CENTRAL, CENTRAL_DETAIL) if is_central(target.host, asked.host) else None


def _names(reading: Reading, asked: Target) -> bool:
    """Whether a document names the old place as its site or as where it properly is."""
    if FORMATS[reading.document_class].format is not DocumentFormat.JSON:
        return False
    members = document_of(reading).members
    site = stated_site(members)
    if isinstance(site, Target) and site.host == asked.host:
        return True
    return any(_is_of_host(members.get(name), asked.host) for name in _CANONICAL)


def _is_of_host(reference: object, host: str) -> bool:
    if not isinstance(reference, str):
        return False
    with suppress(MalformedTarget):
        return parse_target(reference).host == host
    return False


def _ending(reading: Reading) -> Ending:
    if reading.is_found:
        return Ending.DOCUMENT
    if reading.outcome is ReadOutcome.FAILED or reading.status in _NOT_FOR_US:
        return Ending.UNAVAILABLE
    return Ending.NO_DOCUMENT


def _no_page(head: ResponseHead, body: bytes) -> NotADocument | None:
    """Where the kind is not known, an answer meant for people is not what agents were looking for (OV-10)."""
    is_page = essence(head.fields.get("content-type")) in PAGES
    return _PAGE if is_page or body[:64].lstrip().lower().startswith(_BEGINNINGS) else None
