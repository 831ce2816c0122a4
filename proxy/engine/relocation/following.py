"""Where a permanent redirect leads: whether a document is there now, and whose it is (OV-3).

Every place on the way is asked itself, past caches, mirrors and records: what is stored says nothing of now, and
what somebody else's redirect leads to is recorded of nobody but him.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Final

from proxy.discovery.access.manifest import stated_site
from proxy.discovery.central import is_central
from proxy.discovery.classes import POLICIES as FORMATS
from proxy.discovery.classes import DocumentClass, DocumentFormat, classify
from proxy.discovery.names import is_local, registrable_domain, same_site
from proxy.discovery.redirects import POLICIES, REDIRECTS, NotFollowed, next_hop
from proxy.discovery.redirects import Hop as Step
from proxy.engine.discovery.provenance import vouches
from proxy.engine.discovery.reading import Reading, ReadOutcome, document_of
from proxy.engine.places import Places
from proxy.engine.relocation.inquiry import Inquiry, Told
from proxy.engine.relocation.rechecks import Followed
from proxy.engine.vouching import DomainTrust
from proxy.http.fields import NO_FIELDS
from proxy.http.messages import Realm, Request
from proxy.http.targets import MalformedTarget, Target, parse_target
from proxy.ports import OriginFault, OriginUnavailable
from proxy.relocation.confirmation import Ending, Hop, permanent_run
from proxy.relocation.records import Proof, Record

_CANONICAL: Final = ("canonical", "canonical_url")
# What is not for us today may be there all the same.
_NOT_FOR_US: Final = frozenset({401, 403, 429})
_AT_ONCE: Final = 2
_PATIENCE: Final = 20.0


class Following:
    """Follows the locations of records; it never asks the recorded URL itself."""

    def __init__(self, inquiry: Inquiry, trust: DomainTrust | None) -> None:
        self._inquiry = inquiry
        self._trust = trust
        self._places = Places(_AT_ONCE, _PATIENCE)

    async def follow(self, record: Record, realm: Realm) -> Followed | None:
        """What there is where `record`, of a move, says; None where too much is asked of it already. Never raises.

        Where a publisher sends to another host is asked for as public, wherever he may go who asked for the URL.
        """
        assert record.location is not None
        asked, place = parse_target(record.url), parse_target(record.location)
        document_class = classify(asked.normal_path)
        steps = [Step(asked, record.status, place)]
        hops = [Hop(record.status, place)]
        if not _may_follow(asked, record, document_class):
            return Followed(tuple(hops), Ending.NO_DOCUMENT, Proof.NONE)
        while True:
            told = await self._told(asked, place, realm, document_class)
            if told is None:
                return None
            if isinstance(told, Ending):
                return Followed(tuple(hops), told, Proof.NONE)
            if told.head.status not in REDIRECTS:
                break
            location = told.head.fields.get("location")
            step = next_hop(POLICIES[document_class], asked, steps, place, told.head.status, location)
            if isinstance(step, NotFollowed):
                return Followed(tuple(hops), Ending.NO_DOCUMENT, Proof.NONE)
            place = step.hop.target
            steps.append(step.hop)
            hops.append(Hop(told.head.status, place, told.lifetime))
        end = permanent_run(hops)[-1].target
        reading = _reading(asked, place, document_class, told)
        # Only what the end of the move serves itself speaks for it: from there it may lead on to anywhere.
        proof = await self._proof(asked, end, reading if place.origin == end.origin else None)
        return Followed(tuple(hops), _ending(told), proof)

    async def _told(
        self, asked: Target, place: Target, realm: Realm, document_class: DocumentClass
    ) -> Told | Ending | None:
        realm = realm if place.host == asked.host else Realm.PUBLIC
        if is_central(place.host, asked.host) or (is_local(place.host) and place.host != asked.host):
            return Ending.NO_DOCUMENT
        request = Request("GET", place, NO_FIELDS, realm, document_class.value)
        try:
            return await self._inquiry.get(request, self._places, registrable_domain(asked.host))
        except OriginUnavailable as error:
            if error.fault is OriginFault.OVERLOADED:
                return None
            return Ending.NO_DOCUMENT if error.fault is OriginFault.DENIED else Ending.UNAVAILABLE

    async def _proof(self, asked: Target, end: Target, reading: Reading | None) -> Proof:
        """The redirect is one half of a proof; the other is what the document at its end says itself."""
        if same_site(asked.host, end.host):
            return Proof.SAME_SITE
        if reading is None or not reading.is_found:
            return Proof.NONE
        is_mutual = _names(reading, asked) or vouches(reading)
        return Proof.PROVEN if is_mutual or await self._is_signed(asked, reading) else Proof.NONE

    async def _is_signed(self, asked: Target, reading: Reading) -> bool:
        """Whether a key of the old domain's DID signed what is at the new place."""
        if self._trust is None:
            return False
        vouching = await self._trust.vouch_for(asked.host, reading.target, reading.body, reading.document_class)
        return replace(reading, vouching=vouching).is_signed_well


def _may_follow(asked: Target, record: Record, document_class: DocumentClass) -> bool:
    """Whether documents of the class follow redirects that far (OV-9)."""
    step = next_hop(POLICIES[document_class], asked, (), asked, record.status, record.location)
    return not isinstance(step, NotFollowed)


def _reading(asked: Target, place: Target, document_class: DocumentClass, told: Told) -> Reading:
    outcome = ReadOutcome.FOUND if told.is_document else ReadOutcome.ABSENT
    reading = Reading(asked, place, document_class, outcome, told.head.status, told.head.fields)
    return replace(reading, body=told.body or b"")


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


def _ending(told: Told) -> Ending:
    if told.is_document:
        return Ending.DOCUMENT
    if told.head.status >= 500 or told.head.status in _NOT_FOR_US:
        return Ending.UNAVAILABLE
    return Ending.NO_DOCUMENT
