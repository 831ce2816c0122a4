"""The access manifest in a discovery: where it is, whom it speaks for, what is told of it (U-D3, U-M1 to U-M10)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.discovery.documents import HTML, MANIFEST_AT, manifest, octets, sample
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
VECTORS: list[dict[str, Any]] = sample("uaix_manifest_vectors.json")
VALID = sorted(path.name for path in (SAMPLES / "uaix").glob("valid-manifest-*.json"))
AUTH_AT = "https://id.example.com/.well-known/oauth-authorization-server"


def route(path: str = "/items", method: str = "GET", **members: object) -> dict[str, object]:
    """A route that reads, unless `members` say otherwise."""
    return {
        "abilityLevel": "L0",
        "method": method,
        "highestSupportedPath": path,
        "lowestSafeFallback": "/items.html",
        "sideEffecting": False,
        **members,
    }


ORDER = route(
    "/orders",
    "POST",
    abilityLevel="L4",
    sideEffecting=True,
    requiresAuthentication=True,
    authUnavailableFallback="/login",
    postBlockedFallback="/orders.html",
    contentType="application/json",
    noOpBehavior="human_review_required",
    humanReviewUrl="https://example.com/review",
)


def with_routes(*routes: dict[str, object], **members: object) -> dict[str, object]:
    return {**manifest(), "routes": list(routes), **members}


async def described(document: object, level: str | None = None, **how: Any) -> Described:
    n = neighbourhood()
    n.publish(MANIFEST_AT, document, **how)
    return await n.discover(level=level)


class TestVectors:
    @pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
    async def test_each(self, vector: dict[str, Any]) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, vector["doc"])
        found = await n.discover("shop.example.com")
        decisions = [one["decision"] for one in found["routes"]]
        match vector["expect"]:
            case "ok":
                assert found["manifest"]["body"] == vector["doc"] and "execute" in decisions
            case "downgrade_L0_L1":
                assert all(one["method"] == "GET" for one in found["routes"])
                assert found["manifest"] is not None and found["endpoints"] == []
                assert n.asked("id.example.com") == []
            case "reject" | "reject_not_authoritative":
                assert (found["manifest"], found["routes"]) == (None, [])
            case "route_disabled" | "route_noop" | "route_ignored":
                assert "no-op" in decisions
            case "route_noop_warning":
                assert decisions[-1] != "execute" and "auth" in str(found["documents"][0]["lint"])
            case "never_prefetch_never_cache":
                assert found["manifest"] is not None and not [path for path in n.paths if path.startswith("/api")]
            case expected:
                assert expected == "mirror_ignored"
                assert not [sent for sent in n.engine.origin.requests if "mirror" in sent.request.target.host]
                (document,) = (one for one in found["documents"] if one["class"] == "manifest")
                assert document["lint"]

    @pytest.mark.parametrize("name", VALID)
    async def test_the_valid_ones(self, name: str) -> None:
        document = json.loads((SAMPLES / "uaix" / name).read_bytes())
        n = neighbourhood()
        n.publish(MANIFEST_AT, document)
        found = await n.discover("example.com")
        assert found["manifest"]["body"] == document
        assert found["trust"]["state"] == "origin-tls"


BODIES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "a page": (HTML, "html"),
    "a list": (b"[]", "not-an-object"),
    "no JSON": (b"profileId", "not-json"),
    "some other object": (b'{"status":"ok"}', "members-missing"),
    "a site without a URL": (b'{"site":{"name":"x"}}', "members-missing"),
    "no UTF-8": (b'{"site":{"url":"https://example.com/\xff"}}', "not-utf-8"),
}


class TestBodies:
    """U-M1, C-16."""

    @pytest.mark.parametrize(("body", "reason"), BODIES.values(), ids=BODIES)
    async def test_what_is_none(self, body: bytes, reason: str) -> None:
        found = await described(body, max_age=86_400)
        assert (found["outcome"], found["manifest"], found["source"], found["trust"]) == ("not-found",) + (
            None,
        ) * 3
        assert found.step("manifest")["outcome"] == "wrong-kind"
        document = found.document(MANIFEST_AT)
        assert (document["found"], document["reason"], document["sha256"]) == (False, reason, None)

    async def test_a_wrong_kind_never_replaces_a_good_copy(self) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest(), cache_control="max-age=60, stale-if-error=600")
        await n.discover()
        n.engine.clock += 120
        n.publish(MANIFEST_AT, HTML, content_type="text/html", etag='"page"')
        found = await n.discover()
        assert (found["manifest"]["body"], found["source"]["cache"]) == (manifest(), "stale")

    async def test_it_is_told_as_published(self) -> None:
        document = {**manifest(), "x-unknown": {"deep": [1, {"er": None}]}}
        found = await described(document)
        assert found["manifest"]["body"] == document
        assert found["manifest"]["sha256"] == hashlib.sha256(octets(document)).hexdigest()


SITES: dict[str, tuple[object, bool]] = {
    "itself": ("https://example.com/", True),
    "itself in capitals": ("https://EXAMPLE.com/", True),
    "itself with a path": ("https://example.com/shop", True),
    "www": ("https://www.example.com/", False),
    "the parent": ("https://com/", False),
    "another": ("https://other.example.net/", False),
    "http": ("http://example.com/", False),
    "an address": ("https://10.0.0.5/", False),
    "with a secret": ("https://example.com/?token=s3cr3tvalue", False),
}


class TestAuthority:
    """U-M4: a manifest speaks for the host that was asked, or it is shown and not used."""

    @pytest.mark.parametrize(("url", "is_own"), SITES.values(), ids=SITES)
    async def test_of_the_site(self, url: object, is_own: bool) -> None:
        found = await described({**with_routes(route()), "site": {"name": "x", "url": url}})
        document = found.document(MANIFEST_AT)
        assert (found["manifest"] is not None, bool(found["routes"])) == (is_own, is_own)
        assert (document["found"], document["trust"]) == (True, "origin-tls" if is_own else "hint")
        if not is_own:
            assert found.step("manifest-authority")["outcome"] == "refused"
            assert "U-M4" in {finding["rule"] for finding in document["lint"]}

    async def test_a_digest_names_no_site(self) -> None:
        found = await described({"title": "Example", "canonical_url": "https://example.com/", "routes": []})
        assert found["manifest"] is not None and found["routes"] == []

    async def test_its_origin_vouches_for_what_is_not_signed(self) -> None:
        trust = (await described(manifest()))["trust"]
        assert (trust["state"], trust["did"], trust["reasons"]) == ("origin-tls", None, [])


DOWNGRADING: dict[str, dict[str, object]] = {
    "no profile": {"profileId": None},
    "another profile": {"profileId": "uaix.ai-ready-web.manifest.v2"},
    "a profile that is no text": {"profileId": 1},
}


class TestDowngrade:
    """U-M2, U-M5, U-D8: of an unknown schema only what is static counts."""

    @pytest.mark.parametrize("members", DOWNGRADING.values(), ids=DOWNGRADING)
    @pytest.mark.parametrize("level", [None, "L1", "L4"])
    async def test_an_unknown_profile(self, members: dict[str, object], level: str | None) -> None:
        document = with_routes(route("/plain"), route("/live", abilityLevel="L5"), ORDER)
        document["discovery"] = {"openapi": "/openapi.json", "x-auth-metadata": AUTH_AT, "llms": "/guide.txt"}
        n = neighbourhood()
        n.publish(MANIFEST_AT, {**document, **members})
        found = await n.discover(level=level)
        assert [one["url"] for one in found["routes"]] == ["https://example.com/plain"]
        assert found["endpoints"] == [] and n.asked("id.example.com") == []
        assert "/guide.txt" in n.paths

    @pytest.mark.parametrize("routes", [None, {}, "routes", 7])
    async def test_routes_that_are_no_list(self, routes: object) -> None:
        found = await described({**manifest(openapi="/openapi.json"), "routes": routes})
        assert (found["outcome"], found["routes"], found["endpoints"]) == ("found", [], [])

    async def test_a_known_one_is_not(self) -> None:
        document = with_routes(route("/plain"), route("/live", abilityLevel="L5"), ORDER)
        document["discovery"] = {"openapi": "/openapi.json"}
        found = await described(document)
        assert len(found["routes"]) == 3
        assert ("openapi", "https://example.com/openapi.json", "manifest", "origin-tls") in found.endpoints


class TestLinks:
    """U-M8, U-M10: what a manifest names is read there, relative to its site."""

    async def test_robots_and_llms_where_it_says(self) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest(robots="/r.txt", llms="https://docs.example.com/l.txt", sitemap="/s.xml"))
        n.publish("/r.txt", b"User-agent: *\n", content_type="text/plain")
        n.publish("/l.txt", b"# Guide\n", content_type="text/markdown")
        found = await n.discover()
        assert found["static"] == {
            "robots": "https://example.com/r.txt",
            "sitemap": "https://example.com/s.xml",
            "llms": "https://docs.example.com/l.txt",
            "markdown": None,
        }
        assert not {"/robots.txt", "/llms.txt"} & set(n.paths)

    async def test_those_that_are_not_there(self) -> None:
        found = await described(manifest(robots="/r.txt", llms="/l.txt"))
        assert found["static"] == {
            "robots": None,
            "sitemap": None,
            "llms": None,
            "markdown": None,
        }

    @pytest.mark.parametrize(
        "url", ["http://example.com/r.txt", "https://10.0.0.5/r.txt", "https://u:p@example.com/r"]
    )
    async def test_one_that_may_not_be_fetched(self, url: str) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest(robots=url))
        found = await n.discover()
        assert n.asked("10.0.0.5") == [] and found.document(MANIFEST_AT)["lint"]
        assert "/robots.txt" in n.paths

    async def test_what_robots_says_of_the_sitemap_comes_first(self) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest())
        robots = b"Sitemap: https://example.com/map.xml\nSitemap: https://example.com/2.xml\n"
        n.publish("/robots.txt", robots, content_type="text/plain")
        assert (await n.discover())["static"]["sitemap"] == "https://example.com/map.xml"

    async def test_mirrors_are_not_asked(self) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, {**manifest(), "x-independent-mirrors": ["https://mirror.example.net/m.json"]})
        await n.discover()
        assert n.asked("mirror.example.net") == []


ROUTES: dict[str, tuple[dict[str, object], str | None, dict[str, object]]] = {
    "a page to read": (
        route(),
        None,
        {"decision": "execute", "use": "https://example.com/items", "field": "highest_supported_path"},
    ),
    "an order, of somebody unknown": (
        ORDER,
        None,
        {"decision": "fallback", "use": "https://example.com/login", "field": "auth_unavailable_fallback"},
    ),
    "an order, of one who claims L4": (
        ORDER,
        "L4",
        {"decision": "fallback", "use": "https://example.com/login", "field": "auth_unavailable_fallback"},
    ),
    "a post with a fallback": (
        route(
            "/quote", "POST", abilityLevel="L3", postBlockedFallback="/quote.html", contentType="application/json"
        ),
        "L3",
        {"decision": "fallback", "use": "https://example.com/quote.html", "field": "post_blocked_fallback"},
    ),
    "a post without one": (
        {"abilityLevel": "L3", "method": "POST", "highestSupportedPath": "/quote", "sideEffecting": False},
        None,
        {"decision": "no-op", "use": None, "code": "human_review_required", "review_url": "https://example.com/"},
    ),
    "a level nobody knows": (
        route(abilityLevel="L99"),
        None,
        {"decision": "no-op", "code": "human_review_required"},
    ),
    "a path with a secret": (
        route("/items?api_key=s3cr3tvalue"),
        None,
        {"decision": "no-op", "url": "https://example.com/"},
    ),
    "a path that is not https": (
        route("http://example.com/items"),
        None,
        {"decision": "no-op", "url": "https://example.com/"},
    ),
    "both spellings, different": (
        route(highest_supported_path="/other"),
        None,
        {"decision": "no-op"},
    ),
    "a side effect by GET": (
        route("/buy", sideEffecting=True),
        None,
        {"method": "GET", "decision": "fallback", "use": "https://example.com/items.html"},
    ),
}


class TestRoutes:
    """§10, phase 7: what a client may do with each route, decided and never tried."""

    @pytest.mark.parametrize(("record", "level", "expected"), ROUTES.values(), ids=ROUTES)
    async def test_decisions(
        self, record: dict[str, object], level: str | None, expected: dict[str, object]
    ) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, with_routes(record))
        found = await n.discover(level=level)
        (told,) = found["routes"]
        assert {name: told[name] for name in expected} == expected
        assert told["reason"]
        paths = {"/items", "/items.html", "/orders", "/quote", "/quote.html", "/buy", "/login", "/other"}
        assert not paths & set(n.paths)
        if told["use"] is not None:
            assert told["use"].startswith("https://example.com/")

    async def test_a_route_without_a_method_is_left_out(self) -> None:
        assert (await described(with_routes(route(), {"highestSupportedPath": "/x"})))["routes"][1:] == []

    async def test_a_thousand_and_no_more(self) -> None:
        found = await described(with_routes(*[route(f"/{number}") for number in range(1200)]))
        assert len(found["routes"]) == 1000

    async def test_a_secret_in_a_route_is_not_told_beside_the_body(self) -> None:
        found = await described(with_routes(route("/items?api_key=s3cr3tvalue")))
        del found.told["manifest"]
        assert "s3cr3tvalue" not in json.dumps(found.told)


class TestTimes:
    """U-D3: what the origin says of freshness, and what holds where it says nothing (§11)."""

    @pytest.mark.parametrize(
        ("control", "seconds"),
        [("max-age=20", 20), ("max-age=10, stale-while-revalidate=60", 10), (None, 300), ("no-store", 0)],
    )
    async def test_how_long_it_is_fresh(self, control: str | None, seconds: int) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest(), cache_control=control)
        found = await n.discover()
        fetched, until = found["manifest"]["fetched_at"], found["manifest"]["fresh_until"]
        assert fetched.startswith("2027-01-15T08:00:00")
        assert until.startswith(f"2027-01-15T08:{seconds // 60:02}:{seconds % 60:02}")
        assert found.prepared.fresh_until == n.engine.clock() + min(seconds, 30)

    async def test_it_is_validated_and_not_fetched_again(self) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest(), etag='"1"', last_modified="Fri, 15 Jan 2027 07:00:00 GMT", max_age=60)
        await n.discover()
        n.engine.clock += 61
        found = await n.discover()
        sent = [sent for sent in n.engine.origin.requests if sent.path == MANIFEST_AT][1]
        assert sent.field("If-None-Match") == '"1"'
        assert sent.field("If-Modified-Since") == "Fri, 15 Jan 2027 07:00:00 GMT"
        assert (found["source"]["cache"], found.step("manifest")["detail"]) == ("revalidated", "unchanged")

    async def test_stale_at_once_and_refreshed_behind(self) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest(), cache_control="max-age=60, stale-while-revalidate=600")
        await n.discover()
        newer = {**manifest(), "supportBoundary": "Newer."}
        n.publish(MANIFEST_AT, newer, cache_control="max-age=60, stale-while-revalidate=600")
        n.engine.clock += 120
        found = await n.discover()
        assert (found["manifest"]["body"], found["source"]["cache"]) == (manifest(), "stale")
        assert found.step("manifest")["detail"] == "stale, as the origin allows"
        assert found.prepared.fresh_until == n.engine.clock()
        await n.engine.refreshed()
        assert (await n.discover())["manifest"]["body"] == newer


def wrong(name: str) -> list[object]:
    values: list[object] = [
        None,
        0,
        -1.5,
        True,
        "",
        "x",
        [],
        {},
        [[]],
        {"a": {"b": None}},
        "\u0000\u001b",
        "a" * 9000,
    ]
    return [{**with_routes(route()), name: value} for value in values]


@pytest.mark.parametrize(
    "member",
    ["profileId", "site", "discovery", "routes", "readinessProfiles", "x-independent-mirrors", "supportBoundary"],
)
async def test_members_of_wrong_types_break_nothing(member: str) -> None:
    for document in wrong(member):
        n: Neighbourhood = neighbourhood()
        n.publish(MANIFEST_AT, document)
        found = await n.discover()
        assert found["outcome"] in ("found", "not-found")
        assert all("\x1b" not in json.dumps(step) for step in found["steps"])
