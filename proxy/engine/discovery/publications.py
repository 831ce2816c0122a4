"""What a call found, as the answer lists it: documents and endpoints, and how far each is to be trusted."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.names import same_site
from proxy.engine.discovery.reading import Reading, shown
from proxy.engine.discovery.steps import StepOutcome, Steps
from proxy.http.secrets import find_secret, masked
from proxy.http.targets import Target

REJECTED: Final = "rejected"
HINT: Final = "hint"
ORIGIN_TLS: Final = "origin-tls"
# What may vouch for an endpoint, the best first.
_FROM_BEST: Final = ("verified", "stale-trust", ORIGIN_TLS, "unverified-local", HINT)
_CLASSES: Final = tuple(document_class.value for document_class in DocumentClass)

# The rule that a bad signature breaks, and where it stands.
_SIGNATURE_RULES: Final = {
    DocumentClass.AGENT_CARD: ("A2A-4", "/signatures"),
    DocumentClass.AI_CATALOG: ("SIG-3", "/signature"),
}
# What an answer lists of each at most.
_MOST_DOCUMENTS: Final = 100
_MOST_ENDPOINTS: Final = 200
_MOST_NAMED: Final = 5_000
_MOST_FINDINGS: Final = 500
_MOST_FINDINGS_EACH: Final = 20


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

    @property
    def rank(self) -> tuple[bool, int, str]:
        """What was found first, then by class, in the order of the classes, then by URL."""
        place = _CLASSES.index(self.document_class) if self.document_class in _CLASSES else len(_CLASSES)
        return not self.found, place, self.url

    def told(self) -> dict[str, object]:
        """The document as the answer has it."""
        findings = [
            {"rule": finding.rule, "path": masked(finding.path), "detail": masked(finding.detail)}
            for finding in self.findings
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
    """Somewhere an agent can be spoken to: by which protocol, by whose word, and how far that is to be trusted.

    `place` is where the source names it, the URL of a document or the name of an agent, where there may be several.
    """

    protocol: str
    url: str
    source: str
    trust: str
    place: str = ""
    proof: dict[str, object] | None = None

    @property
    def rank(self) -> tuple[str, int, str, str]:
        """Within a protocol, what is to be trusted most comes first."""
        return self.protocol, _FROM_BEST.index(self.trust), self.source, self.place

    def told(self) -> dict[str, object]:
        """The endpoint as the answer has it."""
        told: dict[str, object] = {
            "protocol": self.protocol,
            "url": self.url,
            "from": self.source,
            "trust": self.trust,
        }
        return told if self.proof is None else {**told, "pka": self.proof}


def _of_signature(reading: Reading) -> tuple[Finding, ...]:
    """That a document carries a signature which verifies nothing; of a manifest its `trust` says so."""
    rule = _SIGNATURE_RULES.get(reading.document_class)
    vouching = reading.vouching
    if rule is None or vouching is None or vouching.signature is None:
        return ()
    return (Finding(*rule, f"The signature is {vouching.signature}: {vouching.reason}.", is_warning=True),)


def best_of(named: Iterable[Endpoint]) -> list[Endpoint]:
    """Each endpoint once, by the word to be trusted most and with its proof; by rank, then as they were named."""
    best: dict[tuple[str, str], Endpoint] = {}
    for one in sorted(named, key=lambda one: one.rank):
        known = best.setdefault((one.protocol, one.url), one)
        best[one.protocol, one.url] = replace(known, proof=known.proof or one.proof)
    return list(best.values())


class Publications:
    """The documents and endpoints of one call about `domain`; limits that were reached become steps."""

    def __init__(self, domain: str, steps: Steps) -> None:
        self._domain = domain
        self._steps = steps
        self._documents: dict[str, Document] = {}
        self._named: list[Endpoint] = []
        self._rejected: set[str] = set()
        self._limits: set[str] = set()
        self._findings = 0

    def trust(self, reading: Reading) -> str:
        """What vouches for what was read and may be used: a signature, the domain's own site, or nobody (OV-3)."""
        vouching = reading.asked if reading.needs_proof else reading.target
        if not same_site(vouching.host, self._domain):
            return HINT
        if reading.is_signed_well and reading.vouching is not None and not reading.needs_proof:
            return reading.vouching.state.value
        return ORIGIN_TLS

    def add_document(
        self,
        reading: Reading,
        findings: Iterable[Finding] = (),
        *,
        trust: str | None = None,
        document_class: str | None = None,
    ) -> None:
        """List what was read, or that it is not there. What was rejected once stays so.

        `trust` is told by where it was read from, unless the caller knows better.
        """
        name = document_class or reading.document_class.value
        if self.is_rejected(reading.place):
            return
        if trust == REJECTED:
            self._rejected.add(reading.place)
        document = Document(name, reading.url, False, reason=reading.reason)
        if reading.is_found:
            document = Document(
                name,
                reading.url,
                True,
                reading.media_type,
                None if reading.fragment else hashlib.sha256(reading.body).hexdigest(),
                trust or self.trust(reading),
                self._within_limits((*_of_signature(reading), *findings)),
            )
        elif reading.place in self._documents:
            return
        self._documents[reading.place] = document

    def is_rejected(self, place: str) -> bool:
        """Whether the document that was read from `place` is another one than was promised."""
        return place in self._rejected

    def add_located(self, target: Target, document_class: str) -> None:
        """List what a catalog names and discovery does not read."""
        located = Document(document_class, shown(target), False, reason="not-read")
        self._documents.setdefault(target.uri, located)

    def _within_limits(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        room = min(_MOST_FINDINGS_EACH, _MOST_FINDINGS - self._findings)
        told = tuple(islice(findings, room))
        self._findings += len(told)
        return told

    def add_endpoint(
        self,
        protocol: str,
        url: str,
        source: str,
        trust: str,
        *,
        place: str = "",
        proof: dict[str, object] | None = None,
    ) -> None:
        """List an endpoint as somebody names it; at one `place`, in the order of preference."""
        secret = find_secret(url)
        if secret is not None:
            detail = f"The endpoint's URL holds a secret ({secret.category})."
            self._steps.note("endpoint", url, StepOutcome.REFUSED, detail)
            return
        if len(self._named) < _MOST_NAMED:
            self._named.append(Endpoint(protocol, url, source, trust, place, proof))

    def documents(self) -> list[Document]:
        """The documents that were looked for: what was found first, then by class, then by URL."""
        listed = sorted(self._documents.values(), key=lambda document: document.rank)
        if len(listed) > _MOST_DOCUMENTS:
            self.limit(f"An answer lists no more than {_MOST_DOCUMENTS} documents.")
        return listed[:_MOST_DOCUMENTS]

    def endpoints(self) -> list[Endpoint]:
        """The endpoints that were named, but by rejected documents; of each protocol the best are kept longest."""
        best = best_of(one for one in self._named if not self.is_rejected(one.place))
        if len(best) <= _MOST_ENDPOINTS:
            return best
        self.limit(f"An answer lists no more than {_MOST_ENDPOINTS} endpoints.")
        places: Counter[str] = Counter()
        ranked = []
        for endpoint in best:
            ranked.append((_FROM_BEST.index(endpoint.trust), places[endpoint.protocol], endpoint))
            places[endpoint.protocol] += 1
        kept = sorted(ranked, key=lambda one: one[:2])[:_MOST_ENDPOINTS]
        return sorted((endpoint for *_, endpoint in kept), key=lambda endpoint: endpoint.rank)

    def limit(self, detail: str) -> None:
        """Tell of a limit that was reached, once however often."""
        if detail not in self._limits:
            self._limits.add(detail)
            self._steps.note("limit", self._domain, StepOutcome.SKIPPED, detail)
