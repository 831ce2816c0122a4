"""Rules for manifests: what the reader finds, and what its routes fail to offer (UAIX.md §1.3, §7)."""

from __future__ import annotations

from collections.abc import Iterator

from proxy.discovery.access.manifest import Manifest, is_digest, read_manifest, stated_site
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonDocument, JsonObject
from proxy.discovery.notes import Notes
from proxy.lint.bodies import repeated_name_findings
from proxy.lint.objects import object_document
from proxy.lint.routes import UNNAMED_SITE, policy_findings

NOT_AN_OBJECT = "U-M1"


def is_manifest(value: JsonObject) -> bool:
    """Whether an object is a manifest, in the seed's form or as a digest with routes."""
    profile = value.get("profileId", value.get("profile_id"))
    if isinstance(profile, str) and profile.startswith("uaix.ai-ready-web.manifest"):
        return True
    return "routes" in value and (isinstance(value.get("site"), dict) or is_digest(value))


def lint_manifest(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of a manifest; whether it stands on the host that it speaks for cannot be told from it alone."""
    document = object_document(body, NOT_AN_OBJECT)
    if isinstance(document, Finding):
        return (document,)
    site = stated_site(document.members)
    if isinstance(site, Finding):
        return (site, *manifest_findings(document, read_manifest(document.members, UNNAMED_SITE)))
    return manifest_findings(document, read_manifest(document.members, site or UNNAMED_SITE))


def manifest_findings(document: JsonDocument, manifest: Manifest) -> tuple[Finding, ...]:
    """Those of the manifest that was read from `document`."""
    notes = Notes(manifest.site)
    notes.add(repeated_name_findings(is_repeated=document.has_repeated_names, is_signed=manifest.is_signed))
    notes.add(manifest.findings)
    notes.add(_route_findings(document.members, manifest))
    return notes.findings()


def _route_findings(value: JsonObject, manifest: Manifest) -> Iterator[Finding]:
    listed = value.get("routes")
    if isinstance(listed, list):
        for route in manifest.routes:
            yield from policy_findings(listed[route.index], route.record, pointer("routes", route.index))
