"""What the proxy publishes of itself, held to the rules that it holds others to."""

from __future__ import annotations

import hashlib
import json
import re
from itertools import product
from typing import Any
from urllib.robotparser import RobotFileParser

import pytest

from proxy import __version__
from proxy.capability.ladders import CLASSES, ClientClass
from proxy.capability.resolution import Execute, Fallback, NoOp, Reason
from proxy.capability.resolve import Context, resolve
from proxy.discovery.access.manifest import Manifest, parse_manifest
from proxy.discovery.classes import DocumentClass
from proxy.discovery.gate import NotADocument, gate
from proxy.discovery.pages.llms import Guide, parse_llms
from proxy.discovery.pages.robots import parse_robots
from proxy.engine.outcome import Complete, Served
from proxy.http.fields import NO_FIELDS, Fields
from proxy.http.targets import parse_target
from proxy.lint import kind_of, lint
from proxy.lint.retrying import tells_to_retry
from proxy.server.own import Asked
from proxy.server.owndocuments import API_CATALOG, LINKSET, LLMS, MANIFEST, PATHS, ROBOTS, TEXT, OwnDocuments
from tests.simulators.clock import FakeClock

BASE = "https://proxy.example.com"
REVIEW = "https://desk.example.com/review"
# The public URL, and what the URLs that are published begin with.
BASES: dict[str, tuple[str | None, str]] = {
    "no public URL": (None, ""),
    "a public URL": (BASE, BASE),
    "one with a slash": (f"{BASE}/", BASE),
    "one with a port": (f"{BASE}:8443/", f"{BASE}:8443"),
    "one with a path": (f"{BASE}/agents/", f"{BASE}/agents"),
    "one with a query": (f"{BASE}/?a=b", BASE),
    "one that is not public": ("https://10.0.0.1/", ""),
    "one of this machine": ("https://localhost/", ""),
    "one that is not https": ("http://proxy.example.com/", ""),
    "one with a secret": (f"{BASE}/?api_key=hunter2hunter2", ""),
}
ROUTES = [
    ("GET", "/v1/discover/{domain}"),
    ("POST", "/v1/resolve"),
    ("GET", "/v1/evidence"),
    ("GET", "/v1/records"),
    ("GET", "/v1/catalogs{?url}"),
    ("PUT", "/v1/clients/{id}/profile"),
]


def documents(public_url: str | None, review_url: str | None = None) -> OwnDocuments:
    return OwnDocuments(public_url, FakeClock(), review_url)


def body(path: str, public_url: str | None, review_url: str | None = None) -> bytes:
    return documents(public_url, review_url).documents[path].body


def manifest_of(public_url: str | None, review_url: str | None = None) -> Manifest:
    manifest = parse_manifest(body(MANIFEST, public_url, review_url), "proxy.example.com")
    assert isinstance(manifest, Manifest)
    return manifest


@pytest.mark.parametrize(("public_url", "base"), BASES.values(), ids=BASES)
@pytest.mark.parametrize("review_url", [None, REVIEW, "https://127.0.0.1/review"])
class TestManifest:
    def test_lint_finds_nothing(self, public_url: str | None, base: str, review_url: str | None) -> None:
        octets = body(MANIFEST, public_url, review_url)
        assert kind_of(octets) == "manifest" and lint("manifest", octets, now=0) == ()

    def test_it_is_read_as_it_is_meant(self, public_url: str | None, base: str, review_url: str | None) -> None:
        manifest = manifest_of(public_url, review_url)
        assert manifest.findings == () and not manifest.is_downgraded
        assert [(one.record.method, one.record.highest_supported_path) for one in manifest.routes] == [
            (method, base + path) for method, path in ROUTES
        ]
        links = manifest.links
        site = parse_target(base or BASE)
        for target, path in ((links.robots, ROBOTS), (links.llms, LLMS), (links.openapi, "/openapi.json")):
            assert target is not None and target.uri == site.uri.rstrip("/") + path

    def test_every_route_has_its_ways_down(self, public_url: str | None, base: str, review_url: str | None) -> None:
        for one in manifest_of(public_url, review_url).routes:
            route = one.record
            assert one.disabled is None and route.lowest_safe_fallback == base + LLMS
            blocked = route.live_get_blocked_fallback if route.method == "GET" else route.post_blocked_fallback
            assert blocked == base + LLMS
            assert route.human_review_url == (REVIEW if review_url == REVIEW else base + LLMS)

    def test_which_form(self, public_url: str | None, base: str, review_url: str | None) -> None:
        document = json.loads(body(MANIFEST, public_url, review_url))
        names = {name for route in document["routes"] for name in route}
        if base:
            assert (
                document["site"]["url"] == f"{base}/" and document["profileId"] == "uaix.ai-ready-web.manifest.v1"
            )
            assert not any("_" in name for name in names) and "highestSupportedPath" in names
        else:
            assert "site" not in document and "profileId" not in document
            assert document["canonical_url"] == MANIFEST and document["package_version"] == __version__
            assert document["title"] == "discovery-proxy" and "highest_supported_path" in names
        assert document["readinessProfiles"] == [] and document["supportBoundary"]


def resolved(index: int, client: ClientClass, **context: Any) -> Execute | Fallback | NoOp:
    manifest = manifest_of(BASE)
    known = Context(proxy_review_url=REVIEW, **context)
    return resolve(manifest.routes[index].record, manifest.site, CLASSES[client], known)


@pytest.mark.parametrize(("index", "client"), [*product(range(len(ROUTES)), ClientClass)])
def test_every_client_has_somewhere_to_go(index: int, client: ClientClass) -> None:
    outcome = resolved(index, client, idempotency_key="k")
    if isinstance(outcome, Fallback):
        assert outcome.url == BASE + LLMS
    else:
        assert isinstance(outcome, Execute) and outcome.method == ROUTES[index][0]


def test_asking_for_a_resolution_changes_nothing_and_registering_does() -> None:
    assert isinstance(resolved(1, ClientClass.JSON_POST_CLIENT), Execute)
    outcome = resolved(5, ClientClass.JSON_POST_CLIENT)
    assert isinstance(outcome, NoOp) and outcome.reason is Reason.IDEMPOTENCY_MISSING
    route = manifest_of(BASE).routes[5].record
    assert (route.side_effect_status, route.restore_readback_url_field) == ("updates", "url")


@pytest.mark.parametrize(("public_url", "base"), BASES.values(), ids=BASES)
def test_the_api_catalog(public_url: str | None, base: str) -> None:
    octets = body(API_CATALOG, public_url)
    assert kind_of(octets) == "api-catalog" and lint("api-catalog", octets, now=0) == ()
    [context] = json.loads(octets)["linkset"]
    assert context["anchor"] == f"{base}/v1/"
    places = {rel: [target["href"] for target in targets] for rel, targets in context.items() if rel != "anchor"}
    assert places == {
        "service-desc": [f"{base}/openapi.json"],
        "service-doc": [base + LLMS],
        "service-meta": [base + MANIFEST],
    }


@pytest.mark.parametrize(("public_url", "base"), BASES.values(), ids=BASES)
@pytest.mark.parametrize("review_url", [None, REVIEW])
def test_llms(public_url: str | None, base: str, review_url: str | None) -> None:
    octets = body(LLMS, public_url, review_url)
    assert not isinstance(gate(DocumentClass.LLMS, "text/plain", octets), NotADocument)
    guide = parse_llms(octets, parse_target(base or BASE))
    assert isinstance(guide, Guide) and guide.findings == () and guide.title == "discovery-proxy" and guide.summary
    links = [link for section in guide.sections for link in section.links]
    assert {MANIFEST, API_CATALOG, "/openapi.json", "/v1/records", "/v1/evidence"} <= {
        link.href.removeprefix(base) for link in links
    }
    assert all(link.href.startswith(base) and link.target is not None and link.note for link in links)
    text = octets.decode("ascii")
    plain = text.index("If you only read and open links, that is enough here.")
    assert plain < text.index("## ") < text.index("openapi.json"), "the plain instruction comes first"
    assert (review_url or base + LLMS) in text and "{" not in text
    assert not any(map(tells_to_retry, text.split("\n")))
    carrier = {
        "minimal_instructions": text[plain : text.index("## ")],
        "links": [{"type": "openapi", "url": f"{base or BASE}/openapi.json"}],
    }
    assert lint("llms-index", json.dumps(carrier).encode(), now=0) == ()


CRAWLED = {
    **dict.fromkeys(["/", LLMS, ROBOTS, MANIFEST, API_CATALOG, "/openapi.json"], True),
    **dict.fromkeys(
        [
            "/https/example.com/",
            "/http/example.com/a?b=c",
            "/v1/discover/example.com",
            "/v1/evidence",
            "/v1/clients/a/profile",
        ],
        False,
    ),
}


@pytest.mark.parametrize(("path", "may"), CRAWLED.items(), ids=list(CRAWLED))
def test_robots(path: str, may: bool) -> None:
    octets = body(ROBOTS, BASE)
    robots = RobotFileParser()
    robots.parse(octets.decode("ascii").splitlines())
    assert robots.can_fetch("anybody", BASE + path) is may
    read = parse_robots(octets)
    assert read.findings == () and not isinstance(gate(DocumentClass.ROBOTS, "text/plain", octets), NotADocument)


MEDIA_TYPES = {MANIFEST: "application/json", API_CATALOG: LINKSET, LLMS: TEXT, ROBOTS: TEXT}


def ask(path: str, none_match: str | None = None, public_url: str | None = BASE) -> Complete:
    fields = NO_FIELDS if none_match is None else Fields((("If-None-Match", none_match),))
    answer = documents(public_url).answer(Asked(path, "any=thing", fields))
    assert answer.outcome.served is Served.LOCAL
    assert answer.head.fields.get("cache-control") == "max-age=300"
    assert answer.head.fields.get("access-control-allow-origin") == "*"
    return answer


@pytest.mark.parametrize("path", sorted(PATHS))
def test_answers(path: str) -> None:
    answer = ask(path)
    etag = answer.head.fields.get("etag")
    assert answer.head.status == 200 and answer.head.fields.get("content-type") == MEDIA_TYPES[path]
    assert etag == f'"{hashlib.sha256(answer.body).hexdigest()}"'
    for none_match in (etag, f'"other", W/{etag}', "*"):
        current = ask(path, none_match)
        assert (current.head.status, current.body) == (304, b"")
        assert current.head.fields.get("etag") == etag and "content-type" not in current.head.fields
    assert ask(path, '"other"').head.status == 200
    assert ask(path).body == answer.body


def test_the_catalog_links_to_itself() -> None:
    """RFC 9727 §2: so that a HEAD suffices."""
    assert ask(API_CATALOG).head.fields.get("link") == f'<{BASE}{API_CATALOG}>; rel="api-catalog"'
    assert ask(API_CATALOG, public_url=None).head.fields.get("link") == f'<{API_CATALOG}>; rel="api-catalog"'
    assert all("link" not in ask(path).head.fields for path in PATHS - {API_CATALOG})


def test_no_document_names_a_path_that_the_proxy_does_not_have() -> None:
    known = {path for _, path in ROUTES} | PATHS | {"/openapi.json", "/v1/", "/v1/discover/example.com", "/"}
    for path in PATHS - {ROBOTS}:
        for url in re.findall(rf"{re.escape(BASE)}([^\s\"<>)]*)", body(path, BASE).decode("ascii")):
            assert url in known or url == "/https/example.com/llms.txt"
