"""The access manifest: where to look for it, and whether what is there speaks for the domain (U-D2, U-D3, U-M4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from proxy.discovery.access.manifest import Manifest, ManifestRefused, own_manifest
from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.records.uaix1 import Uaix1, default_endpoint
from proxy.discovery.redirects import moves
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.provenance import vouches
from proxy.engine.discovery.publications import HINT, ORIGIN_TLS
from proxy.engine.discovery.reading import Manner, Reading, ReadOutcome, document_of, shown
from proxy.engine.discovery.records import DnsFacts
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.targets import Target
from proxy.lint.manifest import lint_manifest, manifest_findings

_STEP: Final = "manifest"


@dataclass(frozen=True, slots=True)
class FoundManifest:
    """How the search ended; `manifest` is there only if it is the domain's own, `trust` is what vouches for it.

    `source` is "origin" or "mdns"; `did` is the one that DNS names for the domain.
    """

    reading: Reading
    manifest: Manifest | None
    source: str = "origin"
    trust: str = "origin-tls"
    did: str | None = None

    @property
    def is_gone(self) -> bool:
        """Whether the origin says 410."""
        return self.reading.is_gone

    @property
    def has_moved_away(self) -> bool:
        """Whether the origin sends for good to another domain, which does not speak for this one."""
        reading = self.reading
        is_there = bool(reading.body) or reading.outcome is ReadOutcome.FAILED
        return self.manifest is None and reading.needs_proof and is_there and bool(moves(reading.hops))


async def find_manifest(call: Call, facts: DnsFacts) -> FoundManifest:
    """The manifest at the place that DNS names, else at the default one."""
    default = default_endpoint(call.domain)
    pointed = _pointed(call, facts)
    uaix1 = facts.agent.uaix1
    did = uaix1.did if isinstance(uaix1, Uaix1) else None
    if pointed is not None and pointed != default:
        found = await _read(call, pointed)
        if found.manifest is not None or found.is_gone:
            return replace(found, did=did)
    return replace(await _read(call, default), did=did)


def _pointed(call: Call, facts: DnsFacts) -> Target | None:
    uaix1 = facts.agent.uaix1
    if not isinstance(uaix1, Uaix1) or uaix1.endpoint is None:
        return None
    if uaix1.needs_proof:
        detail = "The record names another host, and neither DNSSEC nor a signature vouches for it."
        call.steps.note(_STEP, shown(uaix1.endpoint), StepOutcome.SKIPPED, detail)
        return None
    return uaix1.endpoint


async def _read(call: Call, target: Target) -> FoundManifest:
    reading = await call.read(_STEP, target, DocumentClass.MANIFEST, Manner(site=call.domain))
    if not reading.is_found:
        call.published.add_document(reading)
        return FoundManifest(reading, None)
    spoken_for: set[str] = set()
    if not reading.needs_proof:
        spoken_for.update(hop.target.host for hop in moves(reading.hops))
    if target.host != call.domain:
        spoken_for.add(target.host)
    document = document_of(reading)
    manifest = own_manifest(document.members, call.domain, frozenset(spoken_for))
    if isinstance(manifest, Manifest):
        findings = list(manifest_findings(document, manifest))
    else:
        findings = list(lint_manifest(reading.body, call.clock()))
    if isinstance(manifest, ManifestRefused) or (reading.needs_proof and not vouches(reading, manifest.site)):
        return _refused(call, reading, manifest, findings)
    if reading.needs_proof:
        call.confirm(reading)
    # A record on another host that may be believed vouches for it as the origin would.
    call.published.add_document(reading, findings, trust=ORIGIN_TLS)
    return FoundManifest(reading, manifest)


def _refused(
    call: Call, reading: Reading, manifest: Manifest | ManifestRefused, findings: list[Finding]
) -> FoundManifest:
    detail = manifest.detail if isinstance(manifest, ManifestRefused) else "Another domain serves it, unproven."
    reason = manifest.reason.value if isinstance(manifest, ManifestRefused) else "cross-domain"
    call.published.add_document(reading, [*findings, Finding("U-M4", "/site/url", detail)], trust=HINT)
    call.steps.note("manifest-authority", reading.url, StepOutcome.REFUSED, f"{reason}: {detail}")
    return FoundManifest(reading.refused(reason, detail), None)
