"""The UAIX manifest: what a site says an agent may use, and how (UAIX.md §1.3, U-M1 to U-M10).

It is read leniently: what cannot be used is left out with a finding, and one of an unknown schema is *downgraded*:
only its static L0/L1 routes count. It is refused only when it is no object or speaks for another host. Nothing here
verifies a signature; `raw` is the document as parsed, the bytes are what a signature covers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from proxy.discovery.access.manifestroutes import ManifestRoute, read_routes
from proxy.discovery.access.manifesturls import UrlRule, published_target
from proxy.discovery.access.mirrors import Mirror, Mirrors, RefusedMirror, read_mirrors
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject, MalformedJson, parse_json
from proxy.discovery.notes import Notes
from proxy.http.targets import DEFAULT_PORTS, Target

PROFILE: Final = "uaix.ai-ready-web.manifest.v1"

REQUIRED: Final = "local.manifest_required_field"
MEMBER_TYPE: Final = "local.manifest_member_type"
PROFILE_ID: Final = "local.manifest_profile_id"
READINESS_UNKNOWN: Final = "local.readiness_profile_unknown"
READINESS_GAP: Final = "local.readiness_profile_gap"
MIRROR_UNVERIFIABLE: Final = "local.mirror_unverifiable"

_MOST_PROFILES: Final = 64
_READINESS: Final = tuple(f"ARW-F{step}" for step in range(5))
_URL_HEADER: Final = ("canonical_url", "canonical_route", "human_page")
_LINKS: Final = {
    "robots": ("robots",),
    "sitemap": ("sitemap",),
    "llms": ("llms",),
    "openapi": ("openapi",),
    "auth_metadata": ("x-auth-metadata", "x_auth_metadata", "auth_metadata"),
}


class ManifestReason(StrEnum):
    """Why a body is no manifest of this domain."""

    NOT_JSON = "not-json"
    NOT_AN_OBJECT = "not-an-object"
    NOT_AUTHORITATIVE = "not-authoritative"


@dataclass(frozen=True, slots=True)
class ManifestRefused:
    """The body is no manifest of the domain; `detail` is a sentence without anything of it."""

    reason: ManifestReason
    detail: str


@dataclass(frozen=True, slots=True)
class Links:
    """The other documents that a manifest names; None where it names none that may be fetched."""

    robots: Target | None
    sitemap: Target | None
    llms: Target | None
    openapi: Target | None
    auth_metadata: Target | None
    """RFC 8414 metadata, maybe of another host; not checked against its issuer yet (U-M10)."""
    agent_compatibility: Target | None
    """Where a digest without routes says to go on."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest that speaks for its domain.

    `readiness` is the highest profile of which the site claims all lower ones too: a claim and no permission.
    `routes` are those with a usable method, `refused_mirrors` and disabled routes the ones not to be used.
    `is_signed`: it carries a proof or signatures, unverified.
    """

    site: Target
    site_name: str | None
    profile_id: str | None
    readiness: str | None
    links: Links
    routes: tuple[ManifestRoute, ...]
    mirrors: tuple[Mirror, ...]
    refused_mirrors: tuple[RefusedMirror, ...]
    support_boundary: str | None
    is_downgraded: bool
    is_signed: bool
    findings: tuple[Finding, ...]
    raw: JsonObject = field(repr=False)


def parse_manifest(body: bytes, domain: str, also: frozenset[str] = frozenset()) -> Manifest | ManifestRefused:
    """The manifest that `domain`, in canonical form, published.

    `also`: hosts that were reached from it by permanent redirects, for which it may speak as well (U-M4).
    """
    try:
        raw = parse_json(body)
    except MalformedJson as error:
        return ManifestRefused(ManifestReason.NOT_JSON, f"The manifest cannot be read: {error.detail}.")
    if not isinstance(raw, dict):
        return ManifestRefused(ManifestReason.NOT_AN_OBJECT, "The manifest is no JSON object.")
    return own_manifest(raw, domain, also)


def own_manifest(raw: JsonObject, domain: str, also: frozenset[str]) -> Manifest | ManifestRefused:
    """The manifest in an object that `domain` published, if it speaks for that domain or one of `also`."""
    site = stated_site(raw) or Target("https", domain, DEFAULT_PORTS["https"], "/", None)
    if isinstance(site, Finding):
        return ManifestRefused(
            ManifestReason.NOT_AUTHORITATIVE, f"The manifest names no usable site. {site.detail}"
        )
    if site.host != domain and site.host not in also:
        return ManifestRefused(ManifestReason.NOT_AUTHORITATIVE, "The manifest speaks for another host.")
    return read_manifest(raw, site)


def stated_site(raw: JsonObject) -> Target | Finding | None:
    """The site that a manifest says it describes, or what is wrong with it; None for a digest that names none."""
    site = raw.get("site")
    url = site.get("url") if isinstance(site, dict) else None
    if isinstance(url, str):
        return published_target(url, None, pointer("site", "url"), UrlRule.SITE_NOT_PUBLIC)
    if not is_digest(raw):
        return Finding(REQUIRED, pointer("site", "url"), "A manifest names the URL of its site.")
    for name in _URL_HEADER:
        text = raw.get(name)
        if isinstance(text, str) and "://" in text:
            return published_target(text, None, pointer(name), UrlRule.SITE_NOT_PUBLIC)
    return None


def is_digest(raw: JsonObject) -> bool:
    """Whether the object begins as the digests of §1.2 do, which live manifests may be instead (§1.3 b)."""
    return isinstance(raw.get("title"), str) and any(isinstance(raw.get(name), str) for name in _URL_HEADER)


def read_manifest(raw: JsonObject, site: Target) -> Manifest:
    """What a manifest of `site` holds; whether it may speak for that site is for the caller to know."""
    return _Reader(raw, site).read()


class _Reader:
    """One manifest on its way from an object to a value; gathers the findings."""

    def __init__(self, raw: JsonObject, site: Target) -> None:
        self._raw = raw
        self._site = site
        self._notes = Notes(site)

    def read(self) -> Manifest:
        profile_id, is_known = self._profile()
        routes = self._routes()
        is_signed = any(self._raw.get(name) for name in ("proof", "signatures"))
        mirrors = self._mirrors(is_signed)
        return Manifest(
            site=self._site,
            site_name=self._site_name(),
            profile_id=profile_id,
            readiness=self._readiness(),
            links=self._links(),
            routes=routes or (),
            mirrors=mirrors.usable,
            refused_mirrors=mirrors.refused,
            support_boundary=self._support_boundary(),
            is_downgraded=not is_known or routes is None,
            is_signed=is_signed,
            findings=self._notes.findings(),
            raw=self._raw,
        )

    def _fault(self, rule: str, path: str, detail: str, *, is_warning: bool = False) -> None:
        if is_warning:
            self._notes.warn(rule, path, detail)
        else:
            self._notes.fail(rule, path, detail)

    def _member(self, *spellings: str) -> tuple[str, object]:
        """Pointer and value of the first spelling that is present."""
        for name in spellings:
            if self._raw.get(name) is not None:
                return pointer(name), self._raw[name]
        return pointer(spellings[0]), None

    def _profile(self) -> tuple[str | None, bool]:
        """The profile id, and whether its schema is known; a digest has one of its own and needs no id."""
        path, value = self._member("profileId", "profile_id")
        if value == PROFILE or (value is None and is_digest(self._raw)):
            return PROFILE if value else None, True
        self._fault(PROFILE_ID, path, f"profileId is not {PROFILE}: only static L0/L1 routes count.")
        return value if isinstance(value, str) else None, False

    def _site_name(self) -> str | None:
        site = self._raw.get("site")
        name = site.get("name") if isinstance(site, dict) else self._raw.get("title")
        if name is None or isinstance(name, str):
            return name
        self._fault(MEMBER_TYPE, pointer("site", "name"), "The name of the site is no text.")
        return None

    def _support_boundary(self) -> str | None:
        path, value = self._member("supportBoundary", "support_boundary")
        if isinstance(value, str):
            return value
        self._fault(REQUIRED, path, "A manifest states its supportBoundary, as a text.")
        return None

    def _readiness(self) -> str | None:
        path, value = self._member("readinessProfiles", "readiness_profiles")
        if value is None:
            self._fault(REQUIRED, path, "A manifest lists its readinessProfiles.", is_warning=True)
            return None
        if not isinstance(value, list):
            self._fault(MEMBER_TYPE, path, "readinessProfiles is no list.")
            return None
        value = value[:_MOST_PROFILES]
        if not all(item in _READINESS for item in value):
            self._fault(
                READINESS_UNKNOWN, path, "A readiness profile is none of ARW-F0 to ARW-F4.", is_warning=True
            )
        claimed = [profile in value for profile in _READINESS]
        unbroken = [*claimed, False].index(False)
        if any(claimed[unbroken:]):
            detail = "A readiness profile is claimed without one below it: it does not count."
            self._fault(READINESS_GAP, path, detail, is_warning=True)
        return _READINESS[unbroken - 1] if unbroken else None

    def _links(self) -> Links:
        discovery = self._object("discovery")
        links = {name: self._link("discovery", discovery, spellings) for name, spellings in _LINKS.items()}
        endpoints = self._object("json_endpoints")
        return Links(
            robots=links["robots"],
            sitemap=links["sitemap"],
            llms=links["llms"],
            openapi=links["openapi"],
            auth_metadata=links["auth_metadata"],
            agent_compatibility=self._link("json_endpoints", endpoints, ("agent_compatibility",)),
        )

    def _object(self, name: str) -> JsonObject:
        value = self._raw.get(name)
        if value is None or isinstance(value, dict):
            return value or {}
        self._fault(MEMBER_TYPE, pointer(name), f"{name} is no object.")
        return {}

    def _link(self, parent: str, members: JsonObject, spellings: tuple[str, ...]) -> Target | None:
        name = next((name for name in spellings if members.get(name) is not None), None)
        if name is None:
            return None
        path, value = pointer(parent, name), members[name]
        if not isinstance(value, str):
            self._fault(MEMBER_TYPE, path, f"{name} is no URL.")
            return None
        target = published_target(value, self._site, path)
        if isinstance(target, Finding):
            self._notes.add((target,))
            return None
        return target

    def _routes(self) -> tuple[ManifestRoute, ...] | None:
        value = self._raw.get("routes")
        if not isinstance(value, list):
            self._fault(REQUIRED, pointer("routes"), "A manifest lists its routes: only its static pages count.")
            return None
        routes = read_routes(value, self._site, pointer("routes"))
        self._notes.add(routes.findings)
        return routes.routes

    def _mirrors(self, is_signed: bool) -> Mirrors:
        path, value = self._member("x-independent-mirrors", "x_independent_mirrors", "independent_mirrors")
        if value is not None and not isinstance(value, list):
            self._fault(MEMBER_TYPE, path, "The mirrors are no list.")
        mirrors = read_mirrors(value if isinstance(value, list) else [], self._site, path)
        self._notes.add(mirrors.findings)
        if mirrors.usable and not is_signed:
            detail = "Without a signature no copy on a mirror can be told from a forged one."
            self._fault(MIRROR_UNVERIFIABLE, path, detail, is_warning=True)
        return mirrors
