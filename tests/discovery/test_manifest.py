"""The UAIX manifest: every published vector, and what is wrong, missing or of another kind (U-M1 to U-M10)."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.access.manifest import PROFILE, Manifest, ManifestReason, ManifestRefused, parse_manifest
from proxy.discovery.access.manifestroutes import Disabled
from proxy.discovery.access.mirrors import HttpsMirror, IpfsMirror, IpnsMirror, MirrorReason, RefusedMirror
from proxy.discovery.findings import failures, warnings
from proxy.http.targets import Target
from proxy.lint.manifest import lint_manifest

SAMPLES = Path(__file__).parent.parent / "samples"
CID = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
NAME = "k51qzi5uqu5dhjghbwdvbo6mi40htrq6e2z4pwgp15pgv3ho1azvidttzh8yy2"
DOMAIN = "example.com"
SEED: dict[str, Any] = {
    "profileId": PROFILE,
    "site": {"name": "Example", "url": "https://example.com/"},
    "readinessProfiles": ["ARW-F0"],
    "routes": [],
    "supportBoundary": "Evidence only.",
}
DIGEST: dict[str, Any] = {
    "title": "Access",
    "package_version": "3.167.0",
    "canonical_url": "https://example.com/access.json/",
    "support_boundary": "Evidence only.",
    "readiness_profiles": ["ARW-F0"],
    "routes": [],
}


def parsed(value: object, domain: str = DOMAIN, also: frozenset[str] = frozenset()) -> Manifest:
    manifest = parse_manifest(json.dumps(value).encode(), domain, also)
    assert isinstance(manifest, Manifest), manifest
    return manifest


def refused(value: object, domain: str = DOMAIN) -> ManifestReason:
    refusal = parse_manifest(json.dumps(value).encode(), domain)
    assert isinstance(refusal, ManifestRefused) and refusal.detail
    return refusal.reason


def rules(manifest: Manifest) -> set[tuple[str, str]]:
    return {(finding.rule, finding.path) for finding in manifest.findings}


def uris(targets: Iterable[Target | None]) -> list[str | None]:
    return [None if target is None else target.uri for target in targets]


def vectors() -> list[Any]:
    listed = json.loads((SAMPLES / "discovery" / "uaix_manifest_vectors.json").read_bytes())
    assert len(listed) == 15
    return [pytest.param(vector, id=vector["name"]) for vector in listed]


@pytest.mark.parametrize("vector", vectors())
def test_published_vectors(vector: dict[str, Any]) -> None:
    document, rule = vector["doc"], vector["rule"]
    lint = lint_manifest(json.dumps(document).encode(), 0)
    match vector["expect"]:
        case "reject":
            assert refused(document, "shop.example.com") is ManifestReason.NOT_AN_OBJECT
        case "reject_not_authoritative":
            assert refused(document, "shop.example.com") is ManifestReason.NOT_AUTHORITATIVE
        case expected:
            manifest = parsed(document, "shop.example.com")
            assert manifest.is_downgraded is (expected == "downgrade_L0_L1")
            disabled = {route.index: route.disabled for route in manifest.routes if route.disabled}
            assert disabled == {
                "U-S1": {3: Disabled.NOT_HTTPS},
                "U-G6": {1: Disabled.SECRET},
                "U-M6": {0: Disabled.UNKNOWN_LEVEL},
            }.get(rule, {})
            assert bool(manifest.mirrors) is (expected != "mirror_ignored")
            warned = {finding.rule for finding in warnings(lint)}
            failed = {finding.rule for finding in failures(lint)}
            assert ("get_action_fallback_required" in failed) is (expected == "route_noop")
            assert ("local.auth_unavailable_fallback_required" in warned) is (expected == "route_noop_warning")
            is_action = expected == "never_prefetch_never_cache"
            assert ("get_action_idempotency_required" in failed) is is_action
            assert ("side_effecting_get_discovery_warning" in warned) is is_action
            if expected == "ok":
                assert failures(lint) == () and len(manifest.routes) == 4


def test_the_whole_of_a_valid_manifest() -> None:
    body = (SAMPLES / "discovery" / "uaix_manifest_valid.json").read_bytes()
    manifest = parse_manifest(body, "shop.example.com")
    assert isinstance(manifest, Manifest)
    assert (manifest.profile_id, manifest.site_name, manifest.readiness) == (PROFILE, "Example Shop", "ARW-F3")
    assert manifest.site.uri == "https://shop.example.com/"
    links = manifest.links
    assert uris((links.robots, links.sitemap, links.llms, links.openapi, links.auth_metadata)) == [
        "https://shop.example.com/robots.txt",
        "https://shop.example.com/sitemap.xml",
        "https://shop.example.com/llms.txt",
        "https://shop.example.com/openapi.json",
        "https://id.example.com/.well-known/oauth-authorization-server",
    ]
    assert [(route.index, route.record.ability_level) for route in manifest.routes] == [
        (0, "L0"),
        (1, "L1"),
        (2, "L3"),
        (3, "L4"),
    ]
    https, ipfs = manifest.mirrors
    assert isinstance(https, HttpsMirror) and https.target.host == "mirror.example.net"
    assert isinstance(ipfs, IpfsMirror) and (ipfs.cid.text, ipfs.path) == (CID, "")
    assert (manifest.refused_mirrors, manifest.is_signed, manifest.is_downgraded) == ((), False, False)
    assert rules(manifest) == {("local.mirror_unverifiable", "/x-independent-mirrors")}
    assert manifest.raw == json.loads(body)


@pytest.mark.parametrize(
    ("name", "domain"),
    [("minimal", "tiny.example.org"), ("snake_case_full_route", "snake.example.org")],
)
def test_other_discovery_samples(name: str, domain: str) -> None:
    body = (SAMPLES / "discovery" / f"uaix_manifest_{name}.json").read_bytes()
    manifest = parse_manifest(body, domain)
    assert isinstance(manifest, Manifest)
    assert manifest.links.sitemap is None
    assert rules(manifest) == {("local.manifest_required_field", "/readinessProfiles")}
    assert not manifest.is_downgraded and failures(manifest.findings) == ()


def uaix_samples() -> list[Any]:
    expected = json.loads((SAMPLES / "uaix" / "EXPECTED.json").read_bytes())["samples"]
    return [pytest.param(name, id=name) for name, entry in expected.items() if entry["kind"] == "manifest"]


@pytest.mark.parametrize("name", uaix_samples())
def test_uaix_samples_are_read_whatever_lint_says(name: str) -> None:
    manifest = parse_manifest((SAMPLES / "uaix" / name).read_bytes(), DOMAIN)
    if "site_url" in name:
        assert isinstance(manifest, ManifestRefused)
    else:
        assert isinstance(manifest, Manifest)
        assert len(manifest.routes) == 2 and all(route.disabled is None for route in manifest.routes)
        assert manifest.is_downgraded is ("profile_id" in name)
        assert (manifest.links.openapi is None) is ("fragment" in name)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", ManifestReason.NOT_JSON),
        (b"<html>", ManifestReason.NOT_JSON),
        (b'{"a": "\xff"}', ManifestReason.NOT_JSON),
        (b"[" * 100_000, ManifestReason.NOT_JSON),
        (b'{"a":' * 40 + b"1" + b"}" * 40, ManifestReason.NOT_JSON),
        (b'{"a": NaN}', ManifestReason.NOT_JSON),
        (b"[]", ManifestReason.NOT_AN_OBJECT),
        (b"null", ManifestReason.NOT_AN_OBJECT),
        (b'"x"', ManifestReason.NOT_AN_OBJECT),
        (b"{}", ManifestReason.NOT_AUTHORITATIVE),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_no_manifest(body: bytes, reason: ManifestReason) -> None:
    refusal = parse_manifest(body, DOMAIN)
    assert isinstance(refusal, ManifestRefused) and refusal.reason is reason


def test_of_a_repeated_name_the_last_counts() -> None:
    body = json.dumps(SEED).encode().replace(b'"routes": []', b'"routes": 7, "routes": []')
    manifest = parse_manifest(body, DOMAIN)
    assert isinstance(manifest, Manifest) and not manifest.is_downgraded


SITES = [
    ("https://example.com", True),
    ("https://EXAMPLE.com:8443/shop", True),
    ("https://www.example.com/", False),
    ("https://example.org/", False),
    ("http://example.com/", False),
    ("https://user@example.com/", False),
    ("https://10.0.0.1/", False),
    ("https://example.com/?token=1", False),
    ("/", False),
    ("", False),
    (7, False),
    (None, False),
]


@pytest.mark.parametrize(("url", "is_ours"), SITES, ids=lambda value: repr(value))
def test_who_may_speak_for_the_domain(url: object, is_ours: bool) -> None:
    document = {**SEED, "site": {"url": url}}
    if is_ours:
        assert parsed(document).site.host == DOMAIN
    else:
        assert refused(document) is ManifestReason.NOT_AUTHORITATIVE


@pytest.mark.parametrize("site", [None, "https://example.com/", [], 7, {}])
def test_a_site_of_another_type(site: object) -> None:
    assert refused({**SEED, "site": site}) is ManifestReason.NOT_AUTHORITATIVE


def test_a_host_reached_by_permanent_redirect_may_be_spoken_for() -> None:
    document = {**SEED, "site": {"url": "https://www.example.com/"}}
    assert parsed(document, also=frozenset({"www.example.com"})).site.host == "www.example.com"


def test_paths_are_resolved_against_the_site() -> None:
    document = {**SEED, "site": {"url": "https://example.com/shop/"}, "discovery": {"llms": "llms.txt"}}
    links = parsed(document).links
    assert uris((links.llms, links.sitemap)) == ["https://example.com/shop/llms.txt", None]


@pytest.mark.parametrize("spelling", ["x-auth-metadata", "x_auth_metadata", "auth_metadata"])
def test_spellings_of_the_auth_metadata(spelling: str) -> None:
    manifest = parsed({**SEED, "discovery": {spelling: "https://id.example.com/m"}})
    assert uris((manifest.links.auth_metadata,)) == ["https://id.example.com/m"]


LINKS = [
    ({"robots": None}, set()),
    ({"robots": 7}, {("local.manifest_member_type", "/discovery/robots")}),
    ({"robots": "http://example.com/robots.txt"}, {("U-S1", "/discovery/robots")}),
    ({"llms": "https://127.0.0.1/llms.txt"}, {("C-10", "/discovery/llms")}),
    ({"openapi": "/o.json#access_token=1"}, {("get_action_query_secret", "/discovery/openapi")}),
    ({"future": 7}, set()),
    ([], {("local.manifest_member_type", "/discovery")}),
    ("x", {("local.manifest_member_type", "/discovery")}),
]


@pytest.mark.parametrize(("discovery", "expected"), LINKS, ids=lambda value: str(value)[:50])
def test_links_that_are_not_used(discovery: object, expected: set[tuple[str, str]]) -> None:
    manifest = parsed({**SEED, "discovery": discovery})
    assert rules(manifest) == expected
    links = manifest.links
    assert uris((links.robots, links.llms, links.openapi)) == [None, None, None]


READINESS = [
    (["ARW-F0"], "ARW-F0", set()),
    (["ARW-F2", "ARW-F1", "ARW-F0", "ARW-F0"], "ARW-F2", set()),
    ([f"ARW-F{step}" for step in range(5)], "ARW-F4", set()),
    ([], None, set()),
    (["ARW-F1"], None, {"local.readiness_profile_gap"}),
    (["ARW-F0", "ARW-F3"], "ARW-F0", {"local.readiness_profile_gap"}),
    (["ARW-F0", "ARW-F9", 7, {}], "ARW-F0", {"local.readiness_profile_unknown"}),
    ("ARW-F0", None, {"local.manifest_member_type"}),
    (None, None, {"local.manifest_required_field"}),
]


@pytest.mark.parametrize(("profiles", "highest", "expected"), READINESS, ids=lambda value: str(value)[:40])
def test_readiness(profiles: object, highest: str | None, expected: set[str]) -> None:
    manifest = parsed({**SEED, "readinessProfiles": profiles})
    assert manifest.readiness == highest
    assert {finding.rule for finding in manifest.findings} == expected


@pytest.mark.parametrize("profile", [None, "", 7, [], "uaix.ai-ready-web.manifest.v9"], ids=repr)
def test_unknown_schemas_are_downgraded(profile: object) -> None:
    manifest = parsed({**SEED, "profileId": profile})
    assert manifest.is_downgraded and rules(manifest) == {("local.manifest_profile_id", "/profileId")}


@pytest.mark.parametrize("routes", [None, {}, 7, "x"], ids=repr)
def test_without_a_list_of_routes_it_is_downgraded(routes: object) -> None:
    manifest = parsed({**SEED, "routes": routes})
    assert manifest.is_downgraded and manifest.routes == ()
    assert rules(manifest) == {("local.manifest_required_field", "/routes")}


@pytest.mark.parametrize("boundary", [None, 7, []], ids=repr)
def test_a_manifest_states_its_boundary(boundary: object) -> None:
    manifest = parsed({**SEED, "supportBoundary": boundary})
    assert manifest.support_boundary is None
    assert rules(manifest) == {("local.manifest_required_field", "/supportBoundary")}


def test_the_site_may_have_no_name() -> None:
    assert parsed({**SEED, "site": {"url": "https://example.com/"}}).site_name is None
    manifest = parsed({**SEED, "site": {"url": "https://example.com/", "name": 7}})
    assert rules(manifest) == {("local.manifest_member_type", "/site/name")}


def test_snake_case_members() -> None:
    document = {
        "profile_id": PROFILE,
        "site": SEED["site"],
        "readiness_profiles": ["ARW-F0"],
        "support_boundary": "x",
        "routes": [],
        "independent_mirrors": ["https://mirror.example.net/m.json"],
    }
    manifest = parsed(document)
    assert (manifest.profile_id, manifest.readiness, manifest.support_boundary) == (PROFILE, "ARW-F0", "x")
    assert rules(manifest) == {("local.mirror_unverifiable", "/independent_mirrors")}


NAMELESS = {**DIGEST, "canonical_url": 7}
DIGESTS = [
    ("as published", DIGEST, "https://example.com/access.json/", False),
    ("relative URL alone", {**NAMELESS, "canonical_route": "/a/"}, "https://example.com/", False),
    ("human page", {**NAMELESS, "human_page": "https://example.com/p"}, "https://example.com/p", False),
    ("site beside it", {**DIGEST, "site": SEED["site"]}, "https://example.com/", False),
    ("no routes", {**DIGEST, "routes": None}, "https://example.com/access.json/", True),
    ("another profile", {**DIGEST, "profileId": "other"}, "https://example.com/access.json/", True),
]


@pytest.mark.parametrize(
    ("document", "site", "is_downgraded"), [row[1:] for row in DIGESTS], ids=[row[0] for row in DIGESTS]
)
def test_digests(document: dict[str, Any], site: str, is_downgraded: bool) -> None:
    manifest = parsed(document)
    assert (manifest.site.uri, manifest.is_downgraded) == (site, is_downgraded)
    assert manifest.site_name == ("Example" if "site" in document else "Access")


@pytest.mark.parametrize("url", ["https://example.org/", "http://example.com/", "ftp://example.com/"])
def test_digests_of_others(url: str) -> None:
    assert refused({**DIGEST, "canonical_url": url}) is ManifestReason.NOT_AUTHORITATIVE


def test_a_digest_without_routes_says_where_to_go_on() -> None:
    document = {**DIGEST, "routes": None, "json_endpoints": {"agent_compatibility": "/agent-compatibility.json/"}}
    assert uris((parsed(document).links.agent_compatibility,)) == ["https://example.com/agent-compatibility.json/"]
    assert rules(parsed({**SEED, "json_endpoints": 7})) == {("local.manifest_member_type", "/json_endpoints")}


MIRRORS = [
    ("http://mirror.example.net/m.json", MirrorReason.SCHEME),
    ("ftp://mirror.example.net/m.json", MirrorReason.SCHEME),
    ("ipns://example.net/m.json", MirrorReason.NAME),
    ("mirror.example.net/m.json", MirrorReason.URL),
    ("https://10.0.0.1/m.json", MirrorReason.URL),
    ("https://example.com/copy.json", MirrorReason.OWN_HOST),
    ("https://mirror.example.net/m.json?token=1", MirrorReason.SECRET),
    ("https://a:b@mirror.example.net/m.json", MirrorReason.SECRET),
    ("ipfs://QmYwAPJzv5CZsnA625s3Xf2sm5Dsg7C733d", MirrorReason.CID),
    ("ipfs://", MirrorReason.CID),
    ("https://mirror.example.net/" + "a" * 8192, MirrorReason.URL),
    ("ipfs://bafkqaaa", MirrorReason.NOT_CONTENT),
    (f"ipfs://{CID}/a?b", MirrorReason.URL),
    (f"ipfs://{CID}/\u00e9", MirrorReason.URL),
    ("ipns://", MirrorReason.NAME),
    (f"ipns://{CID}", MirrorReason.NAME),
    (f"ipns://{NAME}/a?b", MirrorReason.URL),
    (f"ipns://{NAME}?token=1", MirrorReason.SECRET),
    (f"ipnsx://{NAME}", MirrorReason.SCHEME),
    (7, MirrorReason.NOT_TEXT),
    (None, MirrorReason.NOT_TEXT),
]


@pytest.mark.parametrize(("mirror", "reason"), MIRRORS, ids=lambda value: str(value)[:50])
def test_mirrors_that_are_not_used(mirror: object, reason: MirrorReason) -> None:
    manifest = parsed({**SEED, "x-independent-mirrors": [mirror]})
    assert (manifest.mirrors, manifest.refused_mirrors) == ((), (RefusedMirror(0, reason),))
    [finding] = manifest.findings
    assert finding.path == "/x-independent-mirrors/0"
    expected = ("get_action_query_secret", False) if reason is MirrorReason.SECRET else ("U-M9", True)
    assert (finding.rule, finding.is_warning) == expected


def test_mirrors_by_content_may_have_a_path() -> None:
    manifest = parsed({**SEED, "x-independent-mirrors": [f"IPFS://{CID}/a/m.json"], "proof": {"type": "x"}})
    [mirror] = manifest.mirrors
    assert isinstance(mirror, IpfsMirror) and (mirror.cid.text, mirror.path) == (CID, "/a/m.json")
    assert manifest.findings == ()


@pytest.mark.parametrize("path", ["", "/", "/a/m.json"])
def test_mirrors_by_the_name_of_a_key(path: str) -> None:
    manifest = parsed({**SEED, "x-independent-mirrors": [f"IPNS://{NAME}{path}"], "proof": {"type": "x"}})
    [mirror] = manifest.mirrors
    assert isinstance(mirror, IpnsMirror) and (mirror.name.text, mirror.path) == (NAME, path)
    assert manifest.findings == ()


def test_eight_mirrors_are_used() -> None:
    listed = [7, *(f"https://m{number}.example.net/" for number in range(10)), "http://example.net/"]
    manifest = parsed({**SEED, "x-independent-mirrors": listed * 100})
    assert [mirror.index for mirror in manifest.mirrors] == list(range(1, 9))
    refusals = {mirror.index: mirror.reason for mirror in manifest.refused_mirrors}
    assert refusals[0] is MirrorReason.NOT_TEXT and refusals[9] is MirrorReason.TOO_MANY
    assert refusals[11] is MirrorReason.SCHEME and len(refusals) == 56


@pytest.mark.parametrize("mirrors", [{}, "https://m.example.net/", 7], ids=repr)
def test_mirrors_of_another_type(mirrors: object) -> None:
    manifest = parsed({**SEED, "x-independent-mirrors": mirrors})
    assert rules(manifest) == {("local.manifest_member_type", "/x-independent-mirrors")}


@pytest.mark.parametrize(
    ("members", "is_signed"),
    [
        ({"proof": {"type": "DataIntegrityProof"}}, True),
        ({"signatures": [{"protected": "x"}]}, True),
        ({"proof": None, "signatures": []}, False),
        ({}, False),
    ],
    ids=str,
)
def test_signed(members: dict[str, Any], is_signed: bool) -> None:
    manifest = parsed({**SEED, **members, "x-independent-mirrors": ["https://m.example.net/"]})
    assert manifest.is_signed is is_signed
    assert bool(manifest.findings) is not is_signed


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MEMBERS = st.dictionaries(
    st.sampled_from([*SEED, *DIGEST, "discovery", "json_endpoints", "x-independent-mirrors", "proof"]), JSON
)


@given(MEMBERS)
def test_any_member_may_be_anything(members: dict[str, Any]) -> None:
    for document in ({**SEED, **members}, {**DIGEST, **members}):
        assert isinstance(parse_manifest(json.dumps(document).encode(), DOMAIN), Manifest | ManifestRefused)


@given(st.binary(max_size=200))
def test_any_bytes_are_judged(body: bytes) -> None:
    assert isinstance(parse_manifest(body, DOMAIN), ManifestRefused)
