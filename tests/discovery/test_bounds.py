"""Time: the worst documents of each class are judged, read and linted in time linear in them, and soon.

Each row fills a document of a class with one element over and over. The bounds are generous, for slow and busy
machines: what they tell apart is another order of growth, not a percentage.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from proxy.discovery.classes import DocumentClass
from proxy.discovery.gate import gate
from proxy.discovery.listings.anp import parse_collection_page
from proxy.http.targets import parse_target
from proxy.lint import KINDS

MEBIBYTE = 1 << 20
LONG = "/" + "a/" * 4000
TYPES = "a/b" + ";a=b" * 500
DIGEST = "sha256:" + "0" * 64
BASE = parse_target("https://a.example/x")
CARD = '{"name":"c","url":"https://a.example/","supportedInterfaces":[%s]}'
OF_CARD = '{"name":"c","url":"https://a.example/","%s":[%%s]}'
SERVER = '{"name":"a/b","remotes":[%s]}'
SERVERS = '{"name":"a/b","servers":[%s]}'
CATALOG = '{"entries":[%s]}'
LINKSET = '{"linkset":[%s]}'
LINKS = '{"linkset":[{"item":[%s]}]}'
NAMED = '{"linkset":[{"' + "A" * 200_000 + '":[%s]}]}'
SKILLS = '{"$schema":"https://schemas.agentskills.io/discovery/0.2.0/schema.json","skills":[%s]}'
ISSUERS = '{"resource":"https://a.example/","authorization_servers":[%s]}'
GRANTS = '{"issuer":"https://a.example","grant_types_supported":[%s]}'
MANIFEST = '{"profileId":"uaix.ai-ready-web.manifest.v1","site":{"url":"https://a.example/"},"%s":[%%s]}'
ROUTES = MANIFEST % "routes"
OPENAPI = '{"openapi":"3.1.0","x":[%s]}'
ENTRY: dict[str, Any] = {"identifier": "urn:air:a.example:b", "url": "/", "type": "a/b"}
SKILL: dict[str, Any] = {"name": "a", "type": "skill-md", "url": "/", "digest": DIGEST}
PATHS = [
    *("highest_supported_path", "lowest_safe_fallback", "browser_form_equivalent", "post_blocked_fallback"),
    *("live_get_blocked_fallback", "mcp_unavailable_fallback", "auth_unavailable_fallback", "human_review_url"),
]


def route(path: object, **members: Any) -> dict[str, Any]:
    return {"method": "POST", **dict.fromkeys(PATHS, path), **members}


# The kind, the document and the element that it is filled with.
ROWS: dict[str, tuple[str, str, Any]] = {
    "interfaces": ("agent-card", CARD, {"url": "https://a.example/", "protocolBinding": "JSONRPC"}),
    "interfaces, long URLs": ("agent-card", CARD, {"url": LONG, "protocolBinding": "JSONRPC"}),
    "security of a card": ("agent-card", OF_CARD % "security", {"a": []}),
    "skills of a card": ("agent-card", OF_CARD % "skills", {}),
    "numbers for skills of a card": ("agent-card", OF_CARD % "skills", 0),
    "tags": ("agent-card", OF_CARD % "skills", {"id": "a", "tags": ["a"] * 50}),
    "signatures": ("agent-card", OF_CARD % "signatures", ""),
    "numbers": ("agent-card", OF_CARD % "x", 1.5e9),
    "brackets in texts": ("agent-card", OF_CARD % "x", "[{"),
    "remotes": ("mcp-server-card", SERVER, {"type": "sse"}),
    "numbers for remotes": ("mcp-server-card", SERVER, 0),
    "servers, long URLs": ("mcp-server-card", SERVERS, {"url": LONG}),
    "servers": ("mcp-server-card", SERVERS, {}),
    "entries": ("ai-catalog", CATALOG, ENTRY),
    "entries without a member": ("ai-catalog", CATALOG, {}),
    "numbers for entries": ("ai-catalog", CATALOG, 0),
    "entries, long URLs": ("ai-catalog", CATALOG, {**ENTRY, "url": LONG}),
    "entries, long types": ("ai-catalog", CATALOG, {**ENTRY, "type": TYPES}),
    "entries, trust manifests": ("ai-catalog", CATALOG, {**ENTRY, "trustManifests": [{"identity": "x"}] * 9}),
    "entries, digests": ("ai-catalog", CATALOG, {"identifier": "a", "data": [1.5] * 9, "digest": DIGEST}),
    "contexts": ("api-catalog", LINKSET, {"anchor": "https://a.example/", "item": [{"href": "/"}]}),
    "contexts without a member": ("api-catalog", LINKSET, {}),
    "numbers for contexts": ("api-catalog", LINKSET, 0),
    "links": ("api-catalog", LINKS, {"href": "/a"}),
    "links, long URLs": ("api-catalog", LINKS, {"href": LONG}),
    "links under a long name": ("api-catalog", NAMED, {"href": "/"}),
    "links with relations": ("api-catalog", LINKSET, {"rel": "a b " * 50, "href": "/"}),
    "skills": ("agent-skills", SKILLS, SKILL),
    "skills without a member": ("agent-skills", SKILLS, {}),
    "skills, long URLs": ("agent-skills", SKILLS, {**SKILL, "url": LONG}),
    "issuers": ("oauth-pr", ISSUERS, "https://a.example/"),
    "grant types": ("oauth-as", GRANTS, "a"),
    "nesting": ("manifest", MANIFEST % "x", [[[]]]),
    "readiness profiles": ("manifest", MANIFEST % "readinessProfiles", "ARW-F9"),
    "routes without a member": ("manifest", ROUTES, {}),
    "routes with a method": ("manifest", ROUTES, {"method": "GET"}),
    "routes, wrong members": ("manifest", ROUTES, route(0)),
    "routes, short paths": ("manifest", ROUTES, route("/a")),
    "routes, long paths": ("manifest", ROUTES, route(LONG)),
    "routes, parameters": ("manifest", ROUTES, route("/?" + "a=b&" * 20)),
    "routes, encoded parameters": ("manifest", ROUTES, route("/?" + "%2561=b&" * 20)),
    "routes, clients": ("manifest", ROUTES, route("/a", target_clients=["a"] * 200)),
    "routes, no-ops": ("manifest", ROUTES, route("/", no_op_behavior={"a": "not retry." * 90})),
    "descriptions": ("openapi", OPENAPI, {"get": {}}),
}


def filled(document: str, element: Any, size: int) -> bytes:
    text = json.dumps(element, separators=(",", ":"))
    return (document % ",".join([text] * max(1, (size - len(document)) // (len(text) + 1)))).encode()


def seconds(kind: str, body: bytes) -> float:
    """The shortest of some runs, as other processes take time too."""
    took = []
    for _ in range(3):
        started = time.perf_counter()
        gate(DocumentClass(kind), None, body)
        KINDS[kind].check(body, 0)
        took.append(time.perf_counter() - started)
    return min(took)


@pytest.mark.parametrize(("kind", "document", "element"), ROWS.values(), ids=ROWS)
def test_the_worst_document_is_done_with_soon(kind: str, document: str, element: Any) -> None:
    one, two, four = (seconds(kind, filled(document, element, MEBIBYTE * part // 4)) for part in (1, 2, 4))
    assert four < 1
    assert two < 4 * one + 0.05
    assert four < 4 * two + 0.05


@pytest.mark.parametrize(
    "element", [{}, 0, {"@type": "AgentDescription", "@id": LONG}], ids=["{}", "0", "long URLs"]
)
def test_the_worst_page_is_done_with_soon(element: Any) -> None:
    body = filled('{"@type":"CollectionPage","items":[%s]}', element, MEBIBYTE)
    started = time.perf_counter()
    parse_collection_page(body, BASE)
    assert time.perf_counter() - started < 1
