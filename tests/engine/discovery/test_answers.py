"""The answer to a discovery: outcomes and statuses, what each member tells, what none may tell (§5.1, §14.9)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from proxy.discovery.central import CENTRAL_SERVICES
from proxy.discovery.records.dnsvalues import Security
from proxy.http.problems import Slug
from proxy.ports import OriginFault
from proxy.server.schema import DISCOVERY
from tests.engine.discovery.documents import (
    AID_AT,
    APIS_AT,
    ARD_AT,
    CARD_AT,
    CATALOG_AT,
    HTML,
    MANIFEST_AT,
    MCP_CARD_AT,
    OLD_CARD_AT,
    SKILLS_AT,
    agent_card,
    catalog,
    entry,
    linkset,
    manifest,
    server_card,
    skills_index,
)
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood

Publishing = Callable[[Neighbourhood], object]
AGENT = "_agent.example.com"
AID2 = "v=aid2;u=https://api.example.com/mcp;p=mcp"
OTHER = "https://other.example.net/m.json"
CHECK = Draft202012Validator(DISCOVERY)
TEXT = {"content_type": "text/plain"}


def everything(n: Neighbourhood) -> None:
    """A domain that publishes something of each kind."""
    n.publish(MANIFEST_AT, manifest(openapi="/openapi.json"))
    n.publish(ARD_AT, catalog(entry("one", "https://example.com/cards/one.json")))
    n.publish("/cards/one.json", agent_card("https://example.com/one"))
    n.publish(CARD_AT, agent_card())
    n.publish(MCP_CARD_AT, server_card())
    n.publish(APIS_AT, linkset("https://example.com/openapi.yaml"))
    n.publish(SKILLS_AT, skills_index())
    n.publish("/robots.txt", b"Sitemap: https://example.com/map.xml\n", **TEXT)
    n.publish("/llms.txt", b"# Site\n", **TEXT)
    n.publish("/", HTML, content_type="text/html", fields=[("Link", f'<{ARD_AT}>; rel="ard"')])
    n.dns.txt(AGENT, "v=uaix1; did=did:web:example.com", AID2)


def gone(n: Neighbourhood) -> None:
    n.publish(MANIFEST_AT, b"", status=410)


def moved_away(n: Neighbourhood) -> None:
    n.engine.origin.respond(MANIFEST_AT, 308, fields=[("Location", OTHER)])
    n.publish(OTHER, {**manifest(), "site": {"name": "x", "url": "https://other.example.net/"}})


OUTCOMES: dict[str, tuple[Publishing, str, int]] = {
    "everything": (everything, "found", 200),
    "a manifest": (lambda n: n.publish(MANIFEST_AT, manifest()), "found", 200),
    "only a card": (lambda n: n.publish(CARD_AT, agent_card()), "found", 200),
    "only an old card": (lambda n: n.publish(OLD_CARD_AT, agent_card()), "found", 200),
    "only a catalog": (lambda n: n.publish(CATALOG_AT, catalog()), "found", 200),
    "only an API catalog": (lambda n: n.publish(APIS_AT, linkset("/openapi.json")), "found", 200),
    "only skills": (lambda n: n.publish(SKILLS_AT, skills_index()), "found", 200),
    "only an MCP card": (lambda n: n.publish(MCP_CARD_AT, server_card()), "found", 200),
    "only llms.txt": (lambda n: n.publish("/llms.txt", b"# Site\n", **TEXT), "found", 200),
    "only an AID record": (lambda n: n.dns.txt(AGENT, AID2), "found", 200),
    "an AID record of an origin that is down": (
        lambda n: (n.dns.txt(AGENT, AID2), n.engine.origin.fail()),
        "found",
        200,
    ),
    "nothing": (lambda n: None, "not-found", 404),
    "only a uaix1 record": (lambda n: n.dns.txt(AGENT, "v=uaix1; did=did:web:example.com"), "not-found", 404),
    "pages for every path": (
        lambda n: [
            n.publish(path, HTML, content_type="text/html")
            for path in (
                MANIFEST_AT,
                CARD_AT,
                OLD_CARD_AT,
                ARD_AT,
                CATALOG_AT,
                APIS_AT,
                SKILLS_AT,
                "/llms.txt",
                AID_AT,
            )
        ],
        "not-found",
        404,
    ),
    "401 for everything": (
        lambda n: [n.publish(path, b"", status=401) for path in (MANIFEST_AT, CARD_AT, ARD_AT, "/")],
        "not-found",
        404,
    ),
    "403 for everything": (
        lambda n: [n.publish(path, b"", status=403) for path in (MANIFEST_AT, CARD_AT, ARD_AT, "/")],
        "not-found",
        404,
    ),
    "gone": (gone, "gone", 410),
    "gone, and a card": (lambda n: (gone(n), n.publish(CARD_AT, agent_card())), "found", 200),
    "moved away": (moved_away, "moved", 200),
    "moved away, and a card": (lambda n: (moved_away(n), n.publish(CARD_AT, agent_card())), "found", 200),
    "unreachable": (lambda n: n.engine.origin.fail(), "unavailable", 503),
    "too slow": (lambda n: n.engine.origin.fail(OriginFault.TIMEOUT), "unavailable", 503),
    "no HTTP": (lambda n: n.engine.origin.fail(OriginFault.INVALID_RESPONSE), "unavailable", 503),
    "a 503": (lambda n: n.publish(MANIFEST_AT, b"", status=503), "unavailable", 503),
    "a 500, and a card": (
        lambda n: (n.publish(MANIFEST_AT, b"", status=500), n.publish(CARD_AT, agent_card())),
        "found",
        200,
    ),
    "nothing, and one place nobody could look at": (
        lambda n: n.publish(CARD_AT, b"", status=500),
        "unavailable",
        503,
    ),
    "neither DNS nor HTTP": (
        lambda n: (n.dns.fail(AGENT, "TXT"), n.engine.origin.fail()),
        "unavailable",
        503,
    ),
    "an address inside": (lambda n: n.engine.origin.fail(OriginFault.DENIED), "refused", 403),
    "a redirect inside": (
        lambda n: n.engine.origin.respond(MANIFEST_AT, 307, fields=[("Location", "https://10.0.0.5/x")]),
        "refused",
        403,
    ),
}
SLUGS = {404: Slug.NOT_FOUND, 410: Slug.GONE, 503: Slug.ORIGIN_UNREACHABLE, 403: Slug.EGRESS_DENIED}


class TestOutcomes:
    """One outcome, one status; and whatever it is, the answer has the shape that is promised."""

    @pytest.mark.parametrize(("publish", "outcome", "status"), OUTCOMES.values(), ids=OUTCOMES)
    async def test_each(self, publish: Publishing, outcome: str, status: int) -> None:
        n = neighbourhood()
        publish(n)
        found = await n.discover()
        assert (found["outcome"], found.status) == (outcome, status)
        CHECK.validate(found.told)
        assert n.engine.origin.leaked == []
        if status == 200:
            assert found.prepared.problem is None
            return
        problem = found.prepared.problem
        assert problem is not None and problem.slug is SLUGS[status]
        body = json.loads(problem.body("request-1"))
        assert (body["status"], body["instance"], body["outcome"]) == (status, "request-1", outcome)
        assert body["type"] == f"urn:discovery-proxy:problem:{SLUGS[status]}"
        assert body["steps"] == found["steps"] and body["documents"] == found["documents"]
        assert body["domain"] == "example.com" and body["overhead"]["elapsed_ms"] == 0.0
        assert found["manifest"] is None and found["routes"] == []

    async def test_an_origin_that_is_down_is_asked_a_few_times_and_no_more(self) -> None:
        n = neighbourhood()
        n.engine.origin.fail()
        found = await n.discover()
        assert len(n.paths) <= 5
        assert {step["outcome"] for step in found["steps"] if step["target"].startswith("https")} == {"failed"}

    async def test_what_is_no_word_of_the_origin_is_not_kept(self) -> None:
        n = neighbourhood()
        n.engine.origin.fail()
        assert (await n.discover()).status == 503
        n.engine.origin.recover()
        n.publish(MANIFEST_AT, manifest())
        assert (await n.discover()).status == 200

    async def test_nothing_is_a_word_that_is_kept_for_half_a_minute(self) -> None:
        n = neighbourhood()
        status = (await n.discover()).status
        n.publish(MANIFEST_AT, manifest())
        n.engine.clock += 29
        found = await n.discover()
        assert (found.status, found["steps"][0]["step"]) == (status, "answer")
        n.engine.clock += 2
        assert (await n.discover()).status == 200

    async def test_gone_is_a_word_that_outlasts_what_is_published_again_until_the_origin_is_asked(self) -> None:
        n = neighbourhood()
        gone(n)
        assert (await n.discover())["outcome"] == "gone"
        n.publish(MANIFEST_AT, manifest())
        n.engine.clock += 3600
        assert (await n.discover())["outcome"] == "gone"
        n.engine.clock += 86_400
        await n.discover()
        await n.engine.settle()
        assert (await n.discover()).status == 200


class TestMembers:
    async def test_everything_at_once(self) -> None:
        n = neighbourhood()
        everything(n)
        found = await n.discover()
        CHECK.validate(found.told)
        kinds = [document["class"] for document in found["documents"] if document["found"]]
        assert kinds == [
            "manifest",
            "ai-catalog",
            "agent-card",
            "agent-card",
            "mcp-server-card",
            "api-catalog",
            "agent-skills",
            "llms",
            "robots",
        ]
        assert [document["found"] for document in found["documents"]] == sorted(
            (document["found"] for document in found["documents"]), reverse=True
        )
        assert found.endpoints >= {
            ("mcp", "https://api.example.com/mcp", "aid2", "hint"),
            ("openapi", "https://example.com/openapi.json", "manifest", "origin-tls"),
            ("a2a", "https://example.com/a2a", "agent-card", "origin-tls"),
            ("a2a", "https://example.com/one", "ai-catalog", "origin-tls"),
            ("mcp", "https://example.com/mcp", "mcp-server-card", "origin-tls"),
            ("openapi", "https://example.com/openapi.yaml", "api-catalog", "origin-tls"),
        }
        assert found["static"]["sitemap"] == "https://example.com/map.xml"
        assert found["alternatives"] == [] and found["coexisting"] == ["aid2"]
        assert found["source"] == {"kind": "origin", "url": found["manifest"]["url"], "cache": "miss"}

    async def test_without_a_manifest(self) -> None:
        """§14.9: what there is is told all the same."""
        n = neighbourhood()
        n.publish(CARD_AT, agent_card())
        found = await n.discover()
        assert [found[name] for name in ("manifest", "source", "trust")] == [None] * 3
        assert (found["outcome"], found.status) == ("found", 200)

    async def test_a_document_is_listed_once(self) -> None:
        n = neighbourhood()
        everything(n)
        found = await n.discover()
        urls = [document["url"] for document in found["documents"]]
        assert len(urls) == len(set(urls))

    async def test_each_url_is_asked_for_once(self) -> None:
        n = neighbourhood()
        everything(n)
        n.publish(CATALOG_AT, catalog(entry("one", "https://example.com/cards/one.json"), entry("two", CARD_AT)))
        await n.discover()
        asked = [(sent.method, sent.request.target.uri) for sent in n.engine.origin.requests]
        assert len(asked) == len(set(asked))

    async def test_lists_are_in_an_order_of_their_own(self) -> None:
        """Whoever answers first."""
        lists = []
        for slow in (None, MANIFEST_AT, CARD_AT, ARD_AT, MCP_CARD_AT, APIS_AT, "/robots.txt"):
            n = neighbourhood()
            everything(n)
            if slow is None:
                found = await n.discover()
            else:
                n.engine.origin.hang(slow)
                task = n.start()
                await n.engine.settle()
                n.engine.origin.unhang(slow)
                found = await task
            lists.append([found["documents"], found["endpoints"], found["dns"]["records"]])
        assert all(one == lists[0] for one in lists)

    async def test_endpoints_of_a_protocol_by_trust(self) -> None:
        n = neighbourhood()
        everything(n)
        told = [(one["protocol"], one["trust"]) for one in (await n.discover())["endpoints"]]
        ranks = ["origin-tls", "unverified-local", "hint"]
        assert told == sorted(told, key=lambda one: (one[0], ranks.index(one[1])))
        assert told.count(("mcp", "hint")) == told.count(("mcp", "origin-tls")) == 1

    @pytest.mark.parametrize("security", Security)
    async def test_trust_is_one_of_a_closed_list(self, security: Security) -> None:
        """§6, whatever DNSSEC says."""
        n = neighbourhood()
        everything(n)
        n.dns.security = security
        found = await n.discover()
        trusts = {one["trust"] for kind in ("documents", "endpoints") for one in found[kind]}
        assert trusts == {None, "origin-tls", "hint"}

    async def test_steps_follow_what_was_done(self) -> None:
        n = neighbourhood()
        everything(n)
        found = await n.discover()
        told = [step["target"] for step in found["steps"] if step["target"].startswith("https")]
        asked = {sent.request.target.uri for sent in n.engine.origin.requests}
        assert asked == set(told)
        assert {(name) for name, _ in n.dns.asked} == {
            step["target"] for step in found["steps"] if step["step"].startswith("dns")
        }
        assert all(set(step) == {"step", "target", "outcome", "ms", "bytes", "detail"} for step in found["steps"])

    async def test_the_manifest_is_among_the_first_four(self) -> None:
        n = neighbourhood()
        everything(n)
        await n.discover()
        assert MANIFEST_AT in n.paths[:4]

    async def test_no_more_at_once_than_allowed(self) -> None:
        n = neighbourhood()
        n.engine.origin.hold()
        task = n.start()
        await n.engine.settle()
        assert len(n.paths) == 4
        n.engine.origin.release()
        assert (await task).status == 404


class TestOverhead:
    """`overhead` and `steps`: what left for this call, all of it and nothing else."""

    async def test_of_a_cold_call(self) -> None:
        n = neighbourhood()
        everything(n)
        found = await n.discover()
        overhead = found["overhead"]
        assert overhead["http_requests"] == len(n.paths) > 9
        assert overhead["dns_queries"] == len(n.dns.asked) > 4
        assert overhead["bytes_sent"] == 200 * len(n.paths) + 100 * len(n.dns.asked)
        assert overhead["bytes_received"] == sum(step["bytes"] for step in found["steps"])
        assert overhead["central_services"] == 0

    async def test_of_a_warm_one(self) -> None:
        n = neighbourhood()
        everything(n)
        await n.discover()
        overhead = dict((await n.discover())["overhead"])
        assert overhead.pop("elapsed_ms") >= 0
        assert set(overhead.values()) == {0}

    @pytest.mark.parametrize("level", ["L0", "L4"])
    async def test_of_one_that_finds_its_documents_in_the_cache(self, level: str) -> None:
        n = neighbourhood()
        everything(n)
        await n.discover()
        found = await n.discover(level=level)
        assert found["overhead"]["http_requests"] == found["overhead"]["dns_queries"] == 0
        assert all(step["bytes"] == 0 for step in found["steps"])
        assert found.step("manifest")["outcome"] == "cached"

    async def test_the_time_it_took_is_filled_in_when_it_is_sent(self) -> None:
        n = neighbourhood()
        found = await n.discover()
        assert json.loads(found.prepared.body(12.345))["overhead"]["elapsed_ms"] in (12.34, 12.35)


class TestTag:
    """The entity tag is weak: it tells whether the domain says the same, and nothing of what a call cost."""

    async def test_it_is_the_same_cold_and_warm(self) -> None:
        n = neighbourhood()
        everything(n)
        cold, warm = await n.discover(), await n.discover()
        assert cold["overhead"] != warm["overhead"] and cold["steps"] != warm["steps"]
        assert cold.prepared.etag == warm.prepared.etag
        assert re.fullmatch(r'W/"[0-9a-f]{32}"', cold.prepared.etag)

    async def test_it_is_the_same_after_everything_was_validated(self) -> None:
        n = neighbourhood()
        everything(n)
        before = await n.discover()
        n.engine.clock += 301
        after = await n.discover()
        assert before["manifest"]["fetched_at"] != after["manifest"]["fetched_at"]
        assert before.prepared.etag == after.prepared.etag

    async def test_it_is_the_same_whatever_is_left_of_a_ttl(self) -> None:
        tags = set()
        for ttl in (300, 17):
            n = neighbourhood()
            everything(n)
            n.dns.ttl = ttl
            tags.add((await n.discover()).prepared.etag)
        assert len(tags) == 1

    async def test_it_is_the_same_in_whatever_order_records_come(self) -> None:
        tags = set()
        for texts in (("v=uaix1; did=did:web:example.com", AID2), (AID2, "v=uaix1; did=did:web:example.com")):
            n = neighbourhood()
            n.dns.txt(AGENT, *texts)
            tags.add((await n.discover()).prepared.etag)
        assert len(tags) == 1

    @pytest.mark.parametrize(
        "change",
        [
            lambda n: n.publish(MANIFEST_AT, {**manifest(), "supportBoundary": "Less."}),
            lambda n: n.publish(CARD_AT, agent_card("https://example.com/newer")),
            lambda n: n.publish(CARD_AT, b"", status=410),
            lambda n: n.publish("/llms.txt", b"# Newer\n", **TEXT),
            lambda n: n.dns.txt(AGENT, AID2.replace("api", "new")),
            lambda n: setattr(n.dns, "security", Security.SECURE),
        ],
        ids=["manifest", "card", "card gone", "llms.txt", "record", "dnssec"],
    )
    async def test_it_changes_with_what_the_domain_says(self, change: Publishing) -> None:
        tags = set()
        for publish in (lambda n: None, change):
            n = neighbourhood()
            everything(n)
            publish(n)
            tags.add((await n.discover()).prepared.etag)
        assert len(tags) == 2

    async def test_it_differs_by_client(self) -> None:
        n = neighbourhood()
        everything(n)
        answers = [await n.discover(level=level) for level in (None, "L1", "L4")]
        assert len({answer.prepared.etag for answer in answers}) == 3


SECRET = "s3cr3tvalue"
LEAKING: dict[str, Publishing] = {
    "a redirect": lambda n: n.engine.origin.respond(
        MANIFEST_AT, 308, fields=[("Location", f"https://example.com/x?token={SECRET}")]
    ),
    "a redirect with userinfo": lambda n: n.engine.origin.respond(
        MANIFEST_AT, 308, fields=[("Location", f"https://u:{SECRET}@example.com/x")]
    ),
    "an entry of a catalog": lambda n: n.publish(
        ARD_AT, catalog(entry("one", f"https://example.com/one?api_key={SECRET}"))
    ),
    "the endpoint of a card": lambda n: n.publish(
        CARD_AT, agent_card(f"https://example.com/a2a?access_token={SECRET}")
    ),
    "the endpoint of an MCP card": lambda n: n.publish(
        MCP_CARD_AT, server_card(f"https://example.com/mcp?api_key={SECRET}")
    ),
    "an API": lambda n: n.publish(APIS_AT, linkset(f"https://example.com/openapi.json?password={SECRET}")),
    "a skill": lambda n: n.publish(
        SKILLS_AT,
        {**skills_index(), "skills": [{"name": "a", "type": "skill-md", "url": f"/a?token={SECRET}"}]},
    ),
    "robots": lambda n: n.publish(
        "/robots.txt",
        f"Sitemap: https://example.com/map?token={SECRET}\nAgentmap: https://example.com/a?token={SECRET}\n".encode(),
        **TEXT,
    ),
    "a Link field": lambda n: n.publish(
        "/",
        HTML,
        content_type="text/html",
        fields=[("Link", f'</o?api_key={SECRET}>; rel="service-desc", </c?api_key={SECRET}>; rel="ai-catalog"')],
    ),
    "a link in HTML": lambda n: n.publish(
        "/",
        f'<!doctype html><head><link rel="ai-catalog" href="/c?api_key={SECRET}"></head>'.encode(),
        content_type="text/html",
    ),
    "a link in DNS": lambda n: n.dns.txt("_index._agents.example.com", f"url=https://example.com/c?token={SECRET}"),
    "an AID record": lambda n: n.dns.txt(AGENT, f"v=aid2;u=https://example.com/mcp?api_key={SECRET};p=mcp"),
    "an AID record with a key": lambda n: n.dns.txt(
        AGENT, f"v=aid2;u=https://example.com/mcp?api_key={SECRET};p=mcp;k={'A' * 42}E"
    ),
    "an AID document": lambda n: n.publish(
        AID_AT, {"v": "aid2", "u": f"https://example.com/mcp?api_key={SECRET}", "p": "mcp"}
    ),
}


@pytest.mark.parametrize("publish", LEAKING.values(), ids=LEAKING)
async def test_no_secret_in_a_url_is_told(publish: Publishing) -> None:
    """Nor is it sent anywhere but along a redirect, to whom it was meant for."""
    n = neighbourhood()
    n.publish("/llms.txt", b"# Site\n", **TEXT)
    publish(n)
    found = await n.discover()
    text = found.prepared.body(0.0).decode()
    assert SECRET not in text
    for answer in (found, await n.discover()):
        CHECK.validate(answer.told)


CENTRAL: dict[str, Publishing] = {
    "an entry of a catalog": lambda n: n.publish(ARD_AT, catalog(*entries("https://{}/card.json"))),
    "nested catalogs": lambda n: n.publish(
        ARD_AT,
        catalog(
            *(
                entry(host, f"https://{host}/c.json", "application/ai-catalog+json")
                for host in sorted(CENTRAL_SERVICES)[:10]
            )
        ),
    ),
    "a registry": lambda n: n.publish(ARD_AT, catalog(*entries("https://{}/", "application/ard-registry+json"))),
    "a Link field": lambda n: n.publish(
        "/", HTML, content_type="text/html", fields=[("Link", '<https://uaix.org/c.json>; rel="ai-catalog"')]
    ),
    "an API catalog": lambda n: n.publish(APIS_AT, linkset("https://glama.ai/apis", rel="api-catalog")),
    "Agentmap": lambda n: n.publish("/robots.txt", b"Agentmap: https://smithery.ai/ard.json\n", **TEXT),
    "a manifest": lambda n: n.publish(
        MANIFEST_AT,
        manifest(
            llms="https://uaix.org/llms.txt",
            robots="https://uaix.org/robots.txt",
            x_auth_metadata="https://uaix.org/.well-known/oauth-authorization-server",
        ),
    ),
    "a pointer": lambda n: (
        setattr(n.dns, "security", Security.SECURE),
        n.dns.svcb("_catalog._agents.example.com", 1, "registry.modelcontextprotocol.io"),
    ),
    "a uaix1 record": lambda n: (
        setattr(n.dns, "security", Security.SECURE),
        n.dns.txt(AGENT, "v=uaix1; endpoint=https://uaix.org/m.json"),
    ),
    "an AID record": lambda n: n.dns.txt(AGENT, f"v=aid2;u=https://mcp.so/mcp;p=mcp;k={'A' * 42}E"),
    "a skill": lambda n: n.publish(
        SKILLS_AT,
        {**skills_index(), "skills": [{"name": "a", "type": "skill-md", "url": "https://agentskills.io/a"}]},
    ),
    "a redirect of a catalog": lambda n: n.engine.origin.respond(
        CATALOG_AT, 302, fields=[("Location", "https://ai-catalog.org/c.json")]
    ),
    "a redirect of skills": lambda n: n.engine.origin.respond(
        SKILLS_AT, 302, fields=[("Location", "https://agentskills.io/index.json")]
    ),
    "a redirect of the landing page": lambda n: n.engine.origin.respond(
        "/", 302, fields=[("Location", "https://www.pulsemcp.com/")]
    ),
    "a chain of redirects": lambda n: (
        n.engine.origin.respond(APIS_AT, 302, fields=[("Location", "https://cdn.example.net/a")]),
        n.engine.origin.respond("/a", 302, fields=[("Location", "https://schema.org/a")]),
    ),
}


def entries(template: str, kind: str = "application/a2a-agent-card+json") -> list[dict[str, object]]:
    return [entry(host, template.format(host), kind) for host in sorted(CENTRAL_SERVICES)]


class TestCentralServices:
    """U-D9, U-D11: no central service is contacted, whoever names it, and that is no obstacle."""

    @pytest.mark.parametrize("publish", CENTRAL.values(), ids=CENTRAL)
    async def test_none_is_asked(self, publish: Publishing) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, agent_card())
        publish(n)
        found = await n.discover()
        hosts = {sent.request.target.host for sent in n.engine.origin.requests}
        assert not {host for host in hosts if any(host.endswith(central) for central in CENTRAL_SERVICES)}
        assert (found["outcome"], found["overhead"]["central_services"]) == ("found", 0)

    async def test_one_that_is_asked_about_is_no_central_service(self) -> None:
        n = neighbourhood()
        n.publish(MANIFEST_AT, {**manifest(), "site": {"name": "x", "url": "https://uaix.org/"}})
        found = await n.discover("uaix.org")
        assert (found["outcome"], found["overhead"]["central_services"]) == ("found", 0)


class TestNoneOfThat:
    """C-16, C-17, ★5, ★29, ★30: what other clients took for a document or for an end."""

    async def test_an_empty_200_at_every_place(self) -> None:
        n = neighbourhood()
        for path in (
            MANIFEST_AT,
            CARD_AT,
            OLD_CARD_AT,
            ARD_AT,
            CATALOG_AT,
            APIS_AT,
            SKILLS_AT,
            MCP_CARD_AT,
            AID_AT,
        ):
            n.publish(path, b"")
        found = await n.discover()
        assert (found["outcome"], found["manifest"]) == ("not-found", None)
        kinds = {step["target"]: step["outcome"] for step in found["steps"]}
        assert kinds[f"https://example.com{CARD_AT}"] == kinds[f"https://example.com{OLD_CARD_AT}"] == "wrong-kind"

    async def test_a_page_for_every_path_is_an_open_server_and_no_oauth_one(self) -> None:
        n = neighbourhood()
        n.dns.txt(AGENT, AID2)
        for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"):
            n.publish(path, HTML, content_type="text/html")
        found = await n.discover()
        assert found["authorization"] is None
        assert ("mcp", "https://api.example.com/mcp", "aid2", "hint") in found.endpoints

    @pytest.mark.parametrize("status", [401, 403, 429])
    async def test_not_to_us_leads_on_to_the_next_place(self, status: int) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, b"", status=status)
        n.publish(OLD_CARD_AT, agent_card())
        found = await n.discover()
        assert found.document(CARD_AT)["reason"] == "not-available"
        assert found["endpoints"] and found.status == 200

    async def test_nothing_is_made_up(self) -> None:
        """Only the published places are asked, and what no origin serves is not there."""
        n = neighbourhood()
        found = await n.discover()
        assert {path for path in n.paths if not path.startswith("/.well-known/")} == {
            "/",
            "/robots.txt",
            "/llms.txt",
        }
        assert all(not document["found"] for document in found["documents"])
        assert found["endpoints"] == [] and set(found["static"].values()) == {None}

    async def test_an_aid_of_the_wild_is_told_what_is_wrong(self) -> None:
        n = neighbourhood()
        n.dns.txt(AGENT, "v=AID1; endpoint=https://example.com/mcp; p=mcp")
        (record,) = (await n.discover())["dns"]["records"]
        assert record["accepted"] is False and "lower case" in record["reason"] and "endpoint" in record["reason"]

    @pytest.mark.parametrize("security", [Security.INDETERMINATE, Security.INSECURE])
    async def test_dnssec_is_more_than_yes_or_no(self, security: Security) -> None:
        n = neighbourhood()
        n.dns.security = security
        n.publish(MANIFEST_AT, manifest())
        found = await n.discover()
        assert (found["dns"]["dnssec"], found["outcome"]) == (security.value, "found")


async def test_control_characters_reach_no_list() -> None:
    n = neighbourhood()
    n.dns.txt(AGENT, "v=spf1 \x1b[31m\u202e -all")
    n.publish(CARD_AT, {**agent_card(), "name": "\u001b[2J\u0007"})
    n.publish(ARD_AT, catalog(entry("\u001b[2J", CARD_AT), {"type": "\u0000"}))
    n.publish("/robots.txt", b"Agentmap: \x1b[31m\nSitemap: https://example.com/\x07\n", **TEXT)
    found: Described = await n.discover()
    told: Any = {name: found[name] for name in ("dns", "documents", "steps", "endpoints", "static", "relocations")}
    text = "".join(_texts(told))
    assert not [char for char in text if ord(char) < 32 or char in "\x7f\u202e"]


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []
