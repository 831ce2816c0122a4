"""What a domain may make the proxy do: bounded in requests, octets, questions and what is told (C-10 to C-19)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from proxy.caching.generations import EVERYTHING
from proxy.engine.discovery.budget import MOST_ABROAD, MOST_OCTETS, MOST_QUESTIONS, MOST_REQUESTS, Budget
from proxy.engine.discovery.discoverer import DiscoverySettings
from proxy.http.problems import Slug
from proxy.metering import Meter
from tests.engine.discovery.documents import CARD_AT, CATALOG_AT, MANIFEST_AT, agent_card, manifest, server_card
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood
from tests.simulators.origin import Reply

VICTIM = "victim.example.net"


class TestBudget:
    def test_requests_are_counted_over_all_sites(self) -> None:
        budget = Budget("example.com", Meter())
        hosts = ["example.com", "docs.example.com"] * (MOST_REQUESTS // 2)
        assert [budget.spend(host) for host in hosts] == [None] * MOST_REQUESTS
        assert "128 requests" in str(budget.spend("example.com"))

    @pytest.mark.parametrize(
        ("domain", "hosts", "is_refused"),
        [
            ("example.com", [VICTIM], True),
            ("example.com", ["a.example.net", "b.example.net"], True),
            ("example.com", ["docs.example.com"], False),
            ("docs.example.com", ["example.com"], False),
            ("alice.github.io", ["bob.github.io"], True),
        ],
        ids=[
            "another site",
            "hosts of one site",
            "own site",
            "own site above",
            "a neighbour below a public suffix",
        ],
    )
    def test_other_sites_are_asked_less(self, domain: str, hosts: list[str], is_refused: bool) -> None:
        budget = Budget(domain, Meter())
        answers = [budget.spend(hosts[number % len(hosts)]) for number in range(MOST_ABROAD + 1)]
        assert answers[:-1] == [None] * MOST_ABROAD
        assert (answers[-1] is not None) is is_refused
        assert budget.spend("third.example.org") is None

    @pytest.mark.parametrize("counted", ["received", "read"])
    def test_octets_by_the_wire_or_decoded(self, counted: str) -> None:
        meter = Meter()
        budget = Budget("example.com", meter)
        add = meter.received if counted == "received" else budget.spend_octets
        add(MOST_OCTETS - 1)
        assert budget.spend("example.com") is None
        add(1)
        assert "32 MiB" in str(budget.spend("example.com"))

    def test_questions(self) -> None:
        budget = Budget("example.com", Meter())
        assert [budget.spend_question() for _ in range(MOST_QUESTIONS + 1)] == [True] * MOST_QUESTIONS + [False]


def limits(answer: Described) -> list[str]:
    """The limits that were reached, as the answer tells of them."""
    return [step["detail"] for step in answer["steps"] if step["step"] == "limit"]


def listing(*places: str) -> dict[str, Any]:
    """A catalog of cards, at these places."""
    kind = "application/a2a-agent-card+json"
    entries = [
        {"identifier": f"urn:air:example.com:a{number}", "type": kind, "url": place}
        for number, place in enumerate(places)
    ]
    return {"specVersion": "1.0", "entries": entries}


def trees(n: Neighbourhood, host: str) -> None:
    """Links to API catalogs, each of which names more of them."""
    links = ", ".join(f'<https://{host}/c/{number}>; rel="api-catalog"' for number in range(64))
    n.publish("/", b"", content_type="text/html", fields=[("Link", links)])
    for number in range(64):
        nested = [{"href": f"https://{VICTIM}/c/{number}/{deeper}"} for deeper in range(64)]
        body = {"linkset": [{"anchor": "https://example.com/", "api-catalog": nested}]}
        n.publish(f"https://{host}/c/{number}", body, content_type="application/linkset+json")


class TestAmplification:
    """One call of a client is never many at somebody else."""

    @pytest.mark.parametrize("host", ["example.com", VICTIM])
    async def test_links_to_catalogs_of_catalogs(self, host: str) -> None:
        n = neighbourhood()
        trees(n, host)
        answer = await n.discover()
        assert len(n.asked(VICTIM)) <= MOST_ABROAD and len(n.paths) <= 40
        assert any("API catalogs" in one for one in limits(answer))

    async def test_a_catalog_of_somebody_else_s_cards(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, listing(*(f"https://{VICTIM}/{number}" for number in range(100))))
        answer = await n.discover()
        assert len(n.asked(VICTIM)) == MOST_ABROAD
        assert limits(answer) == [f"One discovery makes no more than {MOST_ABROAD} requests to another site."]

    async def test_redirects_count(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, listing(*(f"https://example.com/{number}" for number in range(32))))
        for number in range(32):
            to = [("Location", f"https://{VICTIM}/{number}")]
            n.publish(f"https://example.com/{number}", b"", status=302, fields=to)
        answer = await n.discover()
        assert len(n.asked(VICTIM)) == MOST_ABROAD
        reasons = [one["reason"] for one in answer["documents"]]
        assert reasons.count("over-budget") == 32 - MOST_ABROAD
        assert limits(answer) == [f"One discovery makes no more than {MOST_ABROAD} requests to another site."]

    async def test_what_was_over_budget_is_not_remembered_as_absent(self) -> None:
        n = neighbourhood()
        places = [f"https://{VICTIM}/{number}" for number in range(MOST_ABROAD + 1)]
        n.publish(CATALOG_AT, listing(*places))
        for place in places:
            n.publish(place, agent_card())
        assert (await n.discover()).status == 200
        n.publish(f"https://{VICTIM}/.well-known/agent-card.json", agent_card())
        n.publish(f"https://{VICTIM}{CATALOG_AT}", listing(places[-1]))
        found = await n.discover(VICTIM)
        assert found.document(f"/{MOST_ABROAD}")["found"]

    async def test_purges_on_the_way_do_not_begin_it_anew(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, listing(*(f"https://{VICTIM}/{number}" for number in range(100))))

        def purging(_: object) -> Reply:
            n.engine.generations.mark((EVERYTHING,), n.engine.clock(), soft=False)
            return Reply(404)

        n.engine.origin.answer("https://example.com/robots.txt", purging)
        answer = await n.discover()
        assert len(n.asked(VICTIM)) == MOST_ABROAD and answer["overhead"]["http_requests"] <= MOST_REQUESTS
        assert n.paths.count("/robots.txt") <= 6  # three runs, each asking once more itself

    async def test_what_leads_to_a_central_service_leads_there_for_itself(self) -> None:
        n = neighbourhood()
        place = "https://x.example.net/card"
        n.publish(place, b"", status=302, fields=[("Location", "https://uaix.org/card.json")])
        n.publish("https://uaix.org/card.json", agent_card())
        for domain in ("example.com", "uaix.org"):
            n.publish(f"https://{domain}{CATALOG_AT}", listing(place))
        assert (await n.discover("example.com")).document("/card")["reason"] == "central-service"
        assert (await n.discover("uaix.org")).document("/card.json")["found"]

    async def test_metadata_of_many_servers(self) -> None:
        n = neighbourhood()
        card = agent_card()
        card["securitySchemes"] = {
            f"s{number}": {"oauth2SecurityScheme": {"oauth2MetadataUrl": f"https://{VICTIM}/{number}"}}
            for number in range(32)
        }
        n.publish(CARD_AT, card)
        answer = await n.discover()
        assert len(n.asked(VICTIM)) == 4
        assert "4 are looked up" in answer.step("oauth-as", "/4")["detail"]

    async def test_aliases_in_dns(self) -> None:
        n = neighbourhood()
        n.dns.txt("_index._agents.example.com", "agents=" + ",".join(f"a{number}:mcp" for number in range(40)))
        for number in range(40):
            for depth in range(8):
                n.dns.svcb(_alias(number, depth), 0, _alias(number, depth + 1))
        answer = await n.discover()
        assert answer["overhead"]["dns_queries"] <= MOST_QUESTIONS
        assert len(n.dns.asked) <= MOST_QUESTIONS


def _alias(number: int, depth: int) -> str:
    return f"a{number}._agents.example.com" if depth == 0 else f"x{depth}.a{number}._agents.example.com"


class TestListed:
    """An answer is read by somebody: what is in it is bounded too."""

    async def test_documents_held_by_a_catalog(self) -> None:
        n = neighbourhood()
        entries = [
            {
                "identifier": f"urn:air:example.com:a{number}",
                "type": "application/a2a-agent-card+json",
                "data": card,
            }
            for number, card in enumerate([agent_card()] * 200)
        ]
        n.publish(CATALOG_AT, {"specVersion": "1.0", "entries": entries})
        answer = await n.discover()
        assert len([one for one in answer["documents"] if one["found"]]) == 33

    @pytest.mark.parametrize(("limit", "told"), [("_MOST_FINDINGS_EACH", 2), ("_MOST_FINDINGS", 2), (None, 4)])
    async def test_findings(self, monkeypatch: pytest.MonkeyPatch, limit: str | None, told: int) -> None:
        if limit is not None:
            monkeypatch.setattr(f"proxy.engine.discovery.publications.{limit}", 2)
        n = neighbourhood()
        n.publish(CARD_AT, {**agent_card(), "skills": [{"id": 7} for _ in range(500)]})
        assert len((await n.discover()).document(CARD_AT)["lint"]) == told

    async def test_endpoints(self) -> None:
        n = neighbourhood()
        links = [{"href": f"https://example.com/{number}.json"} for number in range(900)]
        body = {"linkset": [{"anchor": "https://example.com/", "service-desc": links}]}
        n.publish("/.well-known/api-catalog", body, content_type="application/linkset+json")
        answer = await n.discover()
        assert len(answer["endpoints"]) == 200
        assert limits(answer) == ["An answer lists no more than 200 endpoints."]

    @pytest.mark.parametrize("name", ["access_token", "sig", "password"])
    async def test_secrets_in_what_is_skipped(self, name: str) -> None:
        n = neighbourhood()
        secret = f"https://cdn.example.net/x?{name}=Zm9vYmFyYmF6cXV4MTIzNDU2"
        entries = [
            {"identifier": "urn:air:example.com:a", "type": "application/a2a-agent-card+json", "url": secret},
            {"identifier": "urn:air:example.com:b", "type": "application/ai-catalog+json", "url": secret},
            {"identifier": "urn:air:example.com:c", "type": "application/openapi+json", "url": secret},
            {"identifier": "urn:air:example.com:d", "type": "application/x-other", "url": secret},
        ]
        n.publish(CATALOG_AT, {"specVersion": "1.0", "entries": entries})
        n.publish("/", b"", fields=[("Link", f'<{secret}>; rel="api-catalog", <{secret}>; rel="service-desc"')])
        answer = await n.discover()
        assert "Zm9vYmFy" not in answer.prepared.body(0.0).decode()
        assert [one for one in n.asked("cdn.example.net") if "Zm9v" in one] == []

    async def test_hints_do_not_push_out_what_is_vouched_for(self) -> None:
        n = neighbourhood()
        kinds = [("application/openapi+json", f"https://example.com/{number}.json") for number in range(210)]
        entries = [
            {"identifier": f"urn:air:example.com:a{number}", "type": kind, "url": url}
            for number, (kind, url) in enumerate(kinds)
        ]
        n.publish(CATALOG_AT, {"specVersion": "1.0", "entries": entries})
        n.publish(CARD_AT, agent_card())
        answer = await n.discover()
        assert len(answer["endpoints"]) == 200
        assert ("a2a", "https://example.com/a2a", "agent-card", "origin-tls") in answer.endpoints

    async def test_what_was_found_is_listed_before_what_was_not(self) -> None:
        n = neighbourhood()
        entries = [
            {"identifier": f"urn:air:example.com:a{number}", "type": "application/x-other", "url": f"/{number}"}
            for number in range(64)
        ]
        n.publish(CATALOG_AT, {"specVersion": "1.0", "entries": entries})
        skills = [
            {
                "name": f"s{number}",
                "type": "skill-md",
                "description": "d",
                "url": f"/s/{number}",
                "digest": "sha256:0",
            }
            for number in range(32)
        ]
        schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
        n.publish("/.well-known/agent-skills/index.json", {"$schema": schema, "skills": skills})
        n.publish("/.well-known/mcp/server-card.json", server_card())
        answer = await n.discover()
        assert answer.document("/mcp/server-card.json")["found"] and len(answer["documents"]) <= 100

    async def test_signed_urls_of_one_host_are_told_apart(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, listing("https://example.com/1", "https://example.com/2"))
        for number in (1, 2):
            signed = f"https://example.com/x/{number}?sig=Zm9vYmFyYmF6cXV4MTIzNDU2"
            n.publish(f"https://example.com/{number}", b"", status=302, fields=[("Location", signed)])
            n.publish(signed, agent_card(url=f"https://example.com/a2a/{number}"))
        answer = await n.discover()
        cards = [one for one in answer["documents"] if one["class"] == "agent-card" and one["found"]]
        assert [one["url"] for one in cards] == ["https://example.com/"] * 2
        assert {one["url"] for one in answer["endpoints"]} == {f"https://example.com/a2a/{n}" for n in (1, 2)}
        assert "Zm9v" not in answer.prepared.body(0.0).decode()


class TestElsewhere:
    """What lies on another site is that site's word: nothing of the domain's origin vouches for it."""

    async def test_a_card_that_a_catalog_names(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, listing(f"https://{VICTIM}/card.json", "https://docs.example.com/card.json"))
        n.publish(f"https://{VICTIM}/card.json", agent_card(url="https://api.example.net/a2a"))
        n.publish("https://docs.example.com/card.json", agent_card(url="https://api.example.com/a2a"))
        answer = await n.discover()
        assert answer.document(f"{VICTIM}/card.json")["trust"] == "hint"
        assert answer.document("docs.example.com/card.json")["trust"] == "origin-tls"
        trust = {url: trust for protocol, url, _, trust in answer.endpoints if protocol == "a2a"}
        assert trust == {"https://api.example.net/a2a": "hint", "https://api.example.com/a2a": "origin-tls"}

    async def test_authorization_alone_is_no_publication(self) -> None:
        n = neighbourhood()
        n.publish("/robots.txt", b"User-agent: *\n", content_type="text/plain")
        assert (await n.discover())["outcome"] == "not-found"

    async def test_a_redirect_out_of_the_domain_is_pending(self) -> None:
        n = neighbourhood()
        n.publish("/llms.txt", b"", status=308, fields=[("Location", f"https://{VICTIM}/llms.txt")])
        n.publish(f"https://{VICTIM}/llms.txt", b"# Shop\n", content_type="text/markdown")
        answer = await n.discover()
        assert [(one["status"], one["state"]) for one in answer["relocations"]] == [(308, "pending")]
        assert answer.document("/llms.txt")["trust"] == "hint"


class TestManyAtOnce:
    async def test_those_beyond_the_places_wait_and_those_beyond_the_queue_are_told(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("proxy.engine.discovery.discoverer._MOST_AT_ONCE", 2)
        monkeypatch.setattr("proxy.engine.discovery.discoverer._MOST_UNDER_WAY", 3)
        n = neighbourhood()
        n.publish(MANIFEST_AT, manifest())
        n.engine.origin.hold()
        tasks = [n.start(f"{name}.example.com") for name in "abc"]
        await n.engine.settle()
        assert {sent.request.target.host for sent in n.engine.origin.requests} == {"a.example.com", "b.example.com"}
        refused = await n.problem("d.example.com")
        assert (refused.slug, refused.status) == (Slug.OVERLOADED, 503)
        n.engine.origin.release()
        await asyncio.gather(*tasks)
        assert (await n.discover("d.example.com")).status in (200, 404)

    async def test_who_waits_too_long_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("proxy.engine.discovery.discoverer._MOST_AT_ONCE", 1)
        n = neighbourhood(DiscoverySettings(deadline=0.05))
        await n.discoverer._places.acquire()
        assert (await n.problem("b.example.com")).slug is Slug.OVERLOADED
