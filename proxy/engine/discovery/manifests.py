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

    `source` is "origin", "mirror", "ipfs" or "mdns"; `did` is the one that DNS names for the domain, and
    `has_did_conflict` says that it is another than the pinned one.
    """

    reading: Reading
    manifest: Manifest | None
    source: str = "origin"
    trust: str = ORIGIN_TLS
    did: str | None = None
    has_did_conflict: bool = False

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
    uaix1 = facts.agent.uaix1 if isinstance(facts.agent.uaix1, Uaix1) else None
    did = None if uaix1 is None else uaix1.did
    has_conflict = call.trust is not None and await call.trust.dns_did_seen(call.domain, did)
    found = None
    if uaix1 is not None and uaix1.endpoint is not None and uaix1.endpoint != default:
        found = await _pointed(call, uaix1.endpoint, needs_signature=uaix1.needs_proof)
    if found is None or (found.manifest is None and not found.is_gone):
        found = await _read(call, default)
    return replace(found, did=did, has_did_conflict=has_conflict)


async def _pointed(call: Call, target: Target, *, needs_signature: bool) -> FoundManifest | None:
    """The manifest at a place that a record names; on another host, where nothing vouches for the record, only with
    a signature of the domain (U-T4)."""
    if needs_signature and call.trust is None:
        detail = "The record names another host, and neither DNSSEC nor a signature vouches for it."
        call.steps.note(_STEP, shown(target), StepOutcome.SKIPPED, detail)
        return None
    found = await _read(call, target, needs_signature=needs_signature)
    # Unproven it says nothing, not even that there is nothing.
    return None if needs_signature and found.manifest is None else found


async def _read(call: Call, target: Target, *, needs_signature: bool = False) -> FoundManifest:
    reading = await call.read(_STEP, target, DocumentClass.MANIFEST, Manner(site=call.domain))
    if not reading.is_found:
        call.published.add_document(reading)
        return FoundManifest(reading, None)
    reading = await _by_the_domain(call, reading)
    document = document_of(reading)
    manifest = own_manifest(document.members, call.domain, _spoken_for(call, reading, target))
    if isinstance(manifest, Manifest):
        findings = list(manifest_findings(document, manifest))
    else:
        findings = list(lint_manifest(reading.body, call.clock()))
    if isinstance(manifest, ManifestRefused) or not _is_vouched_for(reading, manifest, needs_signature):
        return _refused(call, reading, manifest, findings)
    if reading.needs_proof:
        call.confirm(reading)
    vouching = reading.vouching
    # A record on another host that may be believed vouches for it as the origin would.
    trust = vouching.state.value if vouching is not None and reading.is_signed_well else ORIGIN_TLS
    call.published.add_document(reading, findings, trust=trust)
    return FoundManifest(reading, manifest, "origin" if vouching is None else vouching.source, trust)


async def _by_the_domain(call: Call, reading: Reading) -> Reading:
    """What lies on another host, with what a signature of the domain that is asked about makes of it."""
    if call.trust is None or reading.target.host == call.domain:
        return reading
    return replace(reading, vouching=await call.trust.vouch_for(call.domain, reading.target, reading.body))


def _spoken_for(call: Call, reading: Reading, target: Target) -> frozenset[str]:
    """The hosts for which the manifest may speak besides the domain."""
    hosts = set() if reading.needs_proof else {hop.target.host for hop in moves(reading.hops)}
    return frozenset(hosts | {target.host} - {call.domain})


def _is_vouched_for(reading: Reading, manifest: Manifest, needs_signature: bool) -> bool:
    if reading.is_signed_well:
        return True
    return not needs_signature and (not reading.needs_proof or vouches(reading, manifest.site))


def _refused(
    call: Call, reading: Reading, manifest: Manifest | ManifestRefused, findings: list[Finding]
) -> FoundManifest:
    detail = manifest.detail if isinstance(manifest, ManifestRefused) else "Another domain serves it, unproven."
    reason = manifest.reason.value if isinstance(manifest, ManifestRefused) else "cross-domain"
    call.published.add_document(reading, [*findings, Finding("U-M4", "/site/url", detail)], trust=HINT)
    call.steps.note("manifest-authority", reading.url, StepOutcome.REFUSED, f"{reason}: {detail}")
    return FoundManifest(reading.refused(reason, detail), None)
