"""Rules for manifests: what the reader finds, and what its routes fail to offer (UAIX.md §1.3, §7)."""

from __future__ import annotations

from collections.abc import Iterator

from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.manifest import Manifest, is_digest, read_manifest, stated_site
from proxy.lint.bodies import repeated_name_findings
from proxy.lint.objects import read_object
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
    value = read_object(body, NOT_AN_OBJECT)
    if isinstance(value, Finding):
        return (value,)
    site = stated_site(value)
    of_site = (site,) if isinstance(site, Finding) else ()
    manifest = read_manifest(value, UNNAMED_SITE if site is None or isinstance(site, Finding) else site)
    repeated = repeated_name_findings(body, is_signed=manifest.is_signed)
    return (*repeated, *of_site, *manifest.findings, *_route_findings(value, manifest))


def _route_findings(value: JsonObject, manifest: Manifest) -> Iterator[Finding]:
    listed = value.get("routes")
    if isinstance(listed, list):
        for route in manifest.routes:
            yield from policy_findings(listed[route.index], route.record, pointer("routes", route.index))
