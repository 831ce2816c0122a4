"""Lint of capability profiles in strict mode: all of R1 to R12 (UAIX.md §3)."""

from __future__ import annotations

from proxy.capability.profilerules import REQUIRED, profile_findings
from proxy.capability.profiles import PROFILE_IDS
from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import JsonObject
from proxy.lint.bodies import repeated_name_findings
from proxy.lint.objects import object_document


def is_profile(value: JsonObject) -> bool:
    """Whether an object that is no envelope has the id or the body of a capability profile."""
    profile, body = value.get("profile"), value.get("body")
    if "uai_version" in value or not isinstance(body, dict):
        return False
    is_named = isinstance(profile, str) and (profile in PROFILE_IDS or profile.startswith("uai.client."))
    return is_named or "client_level" in body


def lint_profile(body: bytes, now: float) -> tuple[Finding, ...]:
    """The findings of a capability profile. `now` decides nothing: a profile does not end."""
    document = object_document(body, REQUIRED)
    if isinstance(document, Finding):
        return (document,)
    repeated = repeated_name_findings(is_repeated=document.has_repeated_names, is_signed=False)
    return (*repeated, *profile_findings(document.members))
