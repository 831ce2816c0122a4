"""What a call found, as the answer lists it: documents and endpoints, and how far each is to be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from proxy.discovery.findings import Finding
from proxy.http.secrets import masked

REJECTED: Final = "rejected"
HINT: Final = "hint"
ORIGIN_TLS: Final = "origin-tls"
# What may vouch for an endpoint, the best first.
_FROM_BEST: Final = (ORIGIN_TLS, "unverified-local", HINT)


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


def best_of(named: Iterable[Endpoint]) -> list[Endpoint]:
    """Each endpoint once, by the word to be trusted most and with its proof; by rank, then as they were named."""
    best: dict[tuple[str, str], Endpoint] = {}
    for one in sorted(named, key=lambda one: one.rank):
        known = best.setdefault((one.protocol, one.url), one)
        best[one.protocol, one.url] = replace(known, proof=known.proof or one.proof)
    return list(best.values())
