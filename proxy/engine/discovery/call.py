"""One discovery call on its way: what it may do, what it has read, and what it has found so far."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from proxy.discovery.central import is_central
from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.redirects import moves
from proxy.engine.discovery.landing import Landing
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.reading import (
    CENTRAL,
    CENTRAL_DETAIL,
    PLAINLY,
    Manner,
    Reading,
    ReadOutcome,
    shown,
)
from proxy.engine.discovery.steps import StepEnd, StepOutcome, Steps
from proxy.http.secrets import find_secret
from proxy.http.targets import Target
from proxy.metering import Meter
from proxy.ports import Clock

REJECTED: Final = "rejected"
# What may vouch for an endpoint.
_FROM_BEST: Final = ("origin-tls", "unverified-local", "hint")
_MOST_FINDINGS: Final = 50
_DOWN: Final = frozenset({"origin-unreachable", "origin-timeout"})
# A redirect that leads to no document says nothing of where the document is (OV-10).
_MAY_HAVE_MOVED: Final = frozenset({ReadOutcome.FOUND, ReadOutcome.FAILED})


def at(domain: str, path: str = "/") -> Target:
    """A place at a domain: its landing page, unless `path` says another."""
    return Target("https", domain, 443, path, None)


@dataclass(frozen=True, slots=True)
class Document:
    """One document as the answer lists it; `trust` None where there is nothing to trust."""

    document_class: str
    url: str
    found: bool
    media_type: str | None = None
    sha256: str | None = None
    trust: str | None = None
    findings: tuple[Finding, ...] = ()
    reason: str | None = None

    def told(self) -> dict[str, object]:
        """The document as the answer has it."""
        findings = [
            {"rule": finding.rule, "path": finding.path, "detail": finding.detail}
            for finding in self.findings[:_MOST_FINDINGS]
        ]
        return {
            "class": self.document_class,
            "url": self.url,
            "found": self.found,
            "media_type": self.media_type,
            "sha256": self.sha256,
            "trust": self.trust,
            "lint": findings,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Somewhere an agent can be spoken to: by which protocol, by whose word, and how far that is to be trusted."""

    protocol: str
    url: str
    source: str
    trust: str
    proof: dict[str, object] | None = None

    def told(self) -> dict[str, object]:
        """The endpoint as the answer has it."""
        told: dict[str, object] = {
            "protocol": self.protocol,
            "url": self.url,
            "from": self.source,
            "trust": self.trust,
        }
        return told if self.proof is None else {**told, "pka": self.proof}


@dataclass(slots=True)
class Call:
    """What the parts of one call share. `fresh_until` is the earliest end of anything that was used."""

    domain: str
    reader: Reader
    steps: Steps
    meter: Meter
    clock: Clock
    places: asyncio.Semaphore
    fresh_until: float = math.inf
    documents: dict[str, Document] = field(default_factory=dict)
    endpoints: dict[tuple[str, str], Endpoint] = field(default_factory=dict)
    relocations: dict[str, dict[str, object]] = field(default_factory=dict)
    is_cut_short: bool = False
    """Whether the time was over before everything was read."""
    has_failures: bool = False
    """Whether some place could not be asked, so that nobody knows what is there."""
    _down: set[str] = field(default_factory=set)
    _reads: dict[tuple[str, DocumentClass], asyncio.Future[Reading]] = field(default_factory=dict)

    async def read(
        self, step: str, target: Target, document_class: DocumentClass, manner: Manner = PLAINLY
    ) -> Reading:
        """A document as a step of its own; one that was read already is not read again."""
        key = (target.uri, document_class)
        known = self._reads.get(key)
        if known is None:
            known = asyncio.get_running_loop().create_task(self._read(step, target, document_class, manner))
            self._reads[key] = known
        return await known

    async def head(self, target: Target, landing: Landing) -> Reading:
        """The fields of a landing page as a step of its own."""
        async with self.places:
            is_down = target.host in self._down
            reading = await self.steps.take(
                "link", target.uri, lambda: landing.head(target, stored_only=is_down), step_end
            )
        self._note(reading)
        return reading

    async def abandon(self) -> None:
        """The time is over: give up what is still being read."""
        self.is_cut_short = True
        self.expire_at(self.clock())
        for read in self._reads.values():
            read.cancel()
        await asyncio.gather(*self._reads.values(), return_exceptions=True)

    async def read_again(
        self, step: str, target: Target, document_class: DocumentClass, manner: Manner = PLAINLY
    ) -> Reading:
        """The same past every cache."""
        past = replace(manner, fields=manner.fields.plus(("Cache-Control", "no-cache")))
        return await self._read(step, target, document_class, past)

    async def _read(self, step: str, target: Target, document_class: DocumentClass, manner: Manner) -> Reading:
        refusal = self.refusal(target, document_class)
        if refusal is not None:
            self.steps.note(step, shown(target), StepOutcome.SKIPPED, refusal.detail)
            return refusal
        async with self.places:
            # A host that did not answer is not waited for again: what is stored of it still counts.
            manner = replace(manner, stored_only=target.host in self._down)
            reading = await self.steps.take(
                step, target.uri, lambda: self.reader.read(target, document_class, manner), step_end
            )
        self._note(reading)
        return reading

    def refusal(self, target: Target, document_class: DocumentClass) -> Reading | None:
        """Why a URL is not even asked for; None when it may be."""
        refused = Reading(target, target, document_class, ReadOutcome.REFUSED, fresh_until=math.inf)
        if is_central(target.host, self.domain):
            return replace(refused, reason=CENTRAL, detail=CENTRAL_DETAIL)
        secret = find_secret(target.uri)
        if secret is not None:
            return replace(refused, reason="secret-in-url", detail=f"The URL holds a secret ({secret.category}).")
        return None

    def _note(self, reading: Reading) -> None:
        if reading.outcome is ReadOutcome.FAILED:
            self.has_failures = True
            self.fresh_until = min(self.fresh_until, self.clock())
            if reading.reason in _DOWN and not reading.hops:
                self._down.add(reading.asked.host)
        self.fresh_until = min(self.fresh_until, reading.fresh_until)
        if reading.outcome in _MAY_HAVE_MOVED:
            self._relocate(reading, "pending" if reading.needs_proof or not reading.is_found else "observed")

    def confirm(self, reading: Reading) -> None:
        """The document on another domain vouches for this one: it is where the redirects say (OV-3)."""
        self._relocate(reading, "observed")

    def _relocate(self, reading: Reading, state: str) -> None:
        for hop in moves(reading.hops):
            source, target = shown(hop.source), shown(hop.target)
            self.relocations[source] = {"url": source, "target": target, "status": hop.status, "state": state}

    def expire_at(self, moment: float) -> None:
        """Something that was used is good until then."""
        self.fresh_until = min(self.fresh_until, moment)

    def add_document(
        self,
        reading: Reading,
        findings: Iterable[Finding] = (),
        *,
        trust: str = "origin-tls",
        document_class: str | None = None,
    ) -> None:
        """List what was read, or that it is not there. What was rejected once stays so."""
        name = document_class or reading.document_class.value
        url = reading.url
        known = self.documents.get(url)
        if known is not None and known.trust == REJECTED:
            return
        if not reading.is_found:
            self.documents.setdefault(url, Document(name, url, False, reason=reading.reason))
            return
        self.documents[url] = Document(
            name,
            url,
            True,
            reading.media_type,
            None if reading.fragment else hashlib.sha256(reading.body).hexdigest(),
            trust,
            tuple(findings),
        )

    def add_located(self, target: Target, document_class: str) -> None:
        """List what a catalog names and discovery does not read."""
        url = shown(target)
        self.documents.setdefault(url, Document(document_class, url, False, reason="not-read"))

    def add_endpoint(
        self, protocol: str, url: str, source: str, trust: str, proof: dict[str, object] | None = None
    ) -> None:
        """List an endpoint. Of several that name it, it came from whom it is to be trusted most by."""
        secret = find_secret(url)
        if secret is not None:
            detail = f"The endpoint's URL holds a secret ({secret.category})."
            self.steps.note("endpoint", url.partition("?")[0], StepOutcome.REFUSED, detail)
            return
        known = self.endpoints.get((protocol, url))
        named = Endpoint(protocol, url, source, trust, proof)
        if known is not None:
            best = min(known, named, key=lambda one: (_FROM_BEST.index(one.trust), one.source))
            named = replace(best, proof=known.proof or proof)
        self.endpoints[protocol, url] = named


def step_end(reading: Reading) -> StepEnd:
    """What a reading means as the end of a step."""
    detail = reading.detail
    if reading.is_found:
        is_local = reading.cache in ("hit", "stale")
        told = {"revalidated": "unchanged", "stale": "stale, as the origin allows"}.get(reading.cache, "")
        return StepEnd(StepOutcome.CACHED if is_local else StepOutcome.FOUND, told)
    if reading.cache == "remembered":
        detail = f"{detail} (remembered)"
    return StepEnd(StepOutcome(reading.outcome.value), f"{reading.reason}: {detail}" if detail else reading.reason)
