"""Catalogs in a discovery: which are read, how far, and what becomes of their entries (CAT-1 to CAT-10).

Also the links that lead to catalogs (LK-1 to LK-4).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from proxy.discovery.records.dnsvalues import Svcb
from tests.engine.discovery.documents import (
    AGENT_TYPE,
    AID_AT,
    APIS_AT,
    ARD_AT,
    CARD_AT,
    CATALOG_AT,
    CATALOG_TYPE,
    HTML,
    MANIFEST_AT,
    MCP_CARD_AT,
    MCP_TYPE,
    OLD_CARD_AT,
    SITE,
    SKILLS_AT,
    agent_card,
    catalog,
    digest,
    entry,
    linkset,
    octets,
    sample,
    server_card,
    skill,
    skills_index,
)
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood

LINKSET_TYPE = "application/linkset+json"
OPENAPI_TYPE = "application/openapi+json"
REGISTRY_TYPE = "application/ai-registry+json"
CENTRAL = "https://registry.modelcontextprotocol.io/v0.1/servers"
SKIPPED = "skipped"
MEMBERS = (
    *("name", "url", "entries", "specVersion", "supportedInterfaces", "securitySchemes", "remotes", "servers"),
    *("linkset", "skills", "$schema", "v", "u", "uri", "p", "profileId", "site", "routes", "discovery"),
)


def card_at(n: Neighbourhood, name: str) -> dict[str, object]:
    """Publish a card of its own for `name`; the entry that lists it."""
    url = f"{SITE}/cards/{name}"
    n.publish(url, agent_card(f"{SITE}/a2a/{name}", name=name))
    return entry(name, url)


def nested(name: str, path: str, **members: object) -> dict[str, object]:
    return entry(name, f"{SITE}{path}", CATALOG_TYPE, **members)


def agents(answer: Described) -> set[str]:
    """The names of the agents whose cards were found behind entries."""
    return {one["url"].rpartition("/")[2] for one in answer["endpoints"] if one["from"] == "ai-catalog"}


def rules(answer: Described, url: str) -> set[str]:
    return {one["rule"] for one in answer.document(url)["lint"]}


def remarks(answer: Described, outcome: str = SKIPPED) -> list[str]:
    return [step["detail"] for step in answer["steps"] if step["outcome"] == outcome]


class TestUnion:
    """§10: both places are read, and a subject has one place."""

    @pytest.mark.parametrize("places", [(ARD_AT,), (CATALOG_AT,), (ARD_AT, CATALOG_AT)], ids=["ard", "ai", "both"])
    async def test_either_place_and_both(self, places: tuple[str, ...]) -> None:
        n = neighbourhood()
        for place in places:
            n.publish(place, catalog(card_at(n, f"of-{place[13:16]}")))
        assert agents(await n.discover()) == {f"of-{place[13:16]}" for place in places}
        assert {ARD_AT, CATALOG_AT} <= set(n.paths)

    async def test_the_entry_in_ard_json_holds_and_the_other_is_told_of(self) -> None:
        n = neighbourhood()
        first, second = card_at(n, "first"), card_at(n, "second")
        n.publish(ARD_AT, catalog({**first, "identifier": "urn:air:example.com:shop"}))
        n.publish(CATALOG_AT, catalog({**second, "identifier": "urn:air:example.com:shop"}))
        answer = await n.discover()
        assert agents(answer) == {"first"}
        assert "/cards/second" not in n.paths
        assert any(
            detail.startswith("urn:air:example.com:shop is listed with another URL") for detail in remarks(answer)
        )

    async def test_many_that_differ_are_one_remark(self) -> None:
        n = neighbourhood()
        subjects = [f"urn:air:example.com:s{number}" for number in range(20)]
        for place in (ARD_AT, CATALOG_AT):
            listed = [{**entry("x", f"{SITE}{place}/{one}", "text/x"), "identifier": one} for one in subjects]
            n.publish(place, catalog(*listed))
        answer = await n.discover()
        assert len([detail for detail in remarks(answer) if "s0 and 19 more" in detail]) == 1

    async def test_the_same_entry_twice_is_read_once_and_no_matter(self) -> None:
        n = neighbourhood()
        shop = card_at(n, "shop")
        n.publish(ARD_AT, catalog(shop))
        n.publish(CATALOG_AT, catalog(shop))
        answer = await n.discover()
        assert agents(answer) == {"shop"}
        assert n.paths.count("/cards/shop") == 1
        assert not [detail for detail in remarks(answer) if "another URL" in detail]

    async def test_one_that_redirects_to_the_other_is_the_same(self) -> None:
        n = neighbourhood()
        n.publish(ARD_AT, b"", status=301, fields=[("Location", CATALOG_AT)])
        n.publish(CATALOG_AT, catalog(card_at(n, "shop")))
        answer = await n.discover()
        assert agents(answer) == {"shop"}
        assert not [detail for detail in remarks(answer) if "another URL" in detail]

    async def test_versions_of_one_subject_stand_beside_each_other_in_one_catalog(self) -> None:
        n = neighbourhood()
        old, new = card_at(n, "v1"), card_at(n, "v2")
        subject = {"identifier": "urn:air:example.com:shop"}
        n.publish(CATALOG_AT, catalog({**old, **subject, "version": "1"}, {**new, **subject, "version": "2"}))
        assert agents(await n.discover()) == {"v1", "v2"}

    async def test_of_one_version_the_first_entry_holds(self) -> None:
        n = neighbourhood()
        first, second = card_at(n, "first"), card_at(n, "second")
        subject = {"identifier": "urn:air:example.com:shop", "version": "1"}
        n.publish(CATALOG_AT, catalog({**first, **subject}, {**second, **subject}))
        answer = await n.discover()
        assert agents(answer) == {"first"}
        assert "CAT-4" in rules(answer, CATALOG_AT)

    @pytest.mark.parametrize(
        ("body", "how"),
        [
            (HTML, {"content_type": "text/html"}),
            (b"", {}),
            (b"[]", {}),
            (b'{"error":"not found"}', {}),
            (b'{"entries":{}}', {}),
            (b"", {"status": 401}),
            (b"", {"status": 403}),
            (b"", {"status": 410}),
            (b"", {"status": 500}),
        ],
        ids=["HTML", "empty", "list", "error object", "entries no list", "401", "403", "410", "500"],
    )
    async def test_what_is_no_catalog_hides_not_the_other(self, body: bytes, how: dict[str, Any]) -> None:
        n = neighbourhood()
        n.publish(ARD_AT, body, **how)
        n.publish(CATALOG_AT, catalog(card_at(n, "shop")))
        answer = await n.discover()
        assert agents(answer) == {"shop"}
        assert answer.document(ARD_AT)["found"] is False

    async def test_a_record_in_dns_comes_before_both(self) -> None:
        n = neighbourhood()
        pointed, listed = card_at(n, "pointed"), card_at(n, "listed")
        subject = {"identifier": "urn:air:example.com:shop"}
        n.dns.svcb("_catalog._agents.example.com", 1, "example.com", key65409=b"own.json")
        n.publish("/.well-known/own.json", catalog({**pointed, **subject}))
        n.publish(ARD_AT, catalog({**listed, **subject}))
        assert agents(await n.discover()) == {"pointed"}

    async def test_a_record_that_leads_out_of_the_domain_is_not_followed(self) -> None:
        n = neighbourhood()
        n.dns.publish("_catalog._agents.example.com", "SVCB", [Svcb(1, "evil.example.net", {})])
        n.publish(CATALOG_AT, catalog(card_at(n, "shop")))
        answer = await n.discover()
        assert n.asked("evil.example.net") == []
        assert agents(answer) == {"shop"}


class TestDialects:
    """§4.1: three dialects, told by members."""

    @pytest.mark.parametrize(
        ("root", "kind"),
        [
            ({"specVersion": "1.0"}, "type"),
            ({"specVersion": "0.91"}, "type"),
            ({"@context": "https://example.com/ctx"}, "type"),
            ({}, "type"),
            ({"specVersion": "1.0", "extensions": {}}, "mediaType"),
            ({"specVersion": "0.9"}, "mediaType"),
            ({"specVersion": 1.0}, "type"),
            ({"specVersion": "one"}, "type"),
        ],
        ids=["0.9", "0.91", "context", "nothing", "AI Catalog", "candidate", "number", "no version"],
    )
    @pytest.mark.parametrize("place", [ARD_AT, CATALOG_AT], ids=["ard", "ai"])
    async def test_all_lead_to_the_card(self, root: dict[str, object], kind: str, place: str) -> None:
        n = neighbourhood()
        listed = card_at(n, "shop")
        listed[kind] = listed.pop("type")
        n.publish(place, {**root, "entries": [listed]})
        assert agents(await n.discover()) == {"shop"}

    @pytest.mark.parametrize("version", ["2.0", "2", "10.0", "999999999999.0"])
    async def test_of_a_later_major_version_nothing_is_read(self, version: str) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(card_at(n, "shop"), specVersion=version))
        answer = await n.discover()
        assert agents(answer) == set()
        assert rules(answer, CATALOG_AT) == {"CAT-8"}
        assert answer.document(CATALOG_AT)["found"] is True

    async def test_collections_are_gone(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(collections=[{"url": f"{SITE}/more.json"}]))
        assert "CAT-7" in rules(await n.discover(), CATALOG_AT)
        assert "/more.json" not in n.paths


class TestEntries:
    """What is fetched, what is only located, and what is dropped."""

    @pytest.mark.parametrize(
        ("kind", "document", "endpoint"),
        [
            (AGENT_TYPE, agent_card(), ("a2a", f"{SITE}/a2a", "ai-catalog", "origin-tls")),
            (f"{AGENT_TYPE}; version=1.0", agent_card(), ("a2a", f"{SITE}/a2a", "ai-catalog", "origin-tls")),
            (AGENT_TYPE.upper(), agent_card(), ("a2a", f"{SITE}/a2a", "ai-catalog", "origin-tls")),
            (MCP_TYPE, server_card(), ("mcp", f"{SITE}/mcp", "ai-catalog", "origin-tls")),
            (
                LINKSET_TYPE,
                linkset(f"{SITE}/openapi.json"),
                ("openapi", f"{SITE}/openapi.json", "api-catalog", "origin-tls"),
            ),
        ],
        ids=["agent card", "with a parameter", "in capitals", "server card", "linkset"],
    )
    async def test_fetched(self, kind: str, document: object, endpoint: tuple[str, str, str, str]) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("x", f"{SITE}/x", kind)))
        n.publish("/x", document)
        answer = await n.discover()
        assert endpoint in answer.endpoints
        assert answer.document("/x")["trust"] == "origin-tls"

    async def test_a_linkset_leads_to_further_ones(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("apis", f"{SITE}/apis", LINKSET_TYPE)))
        n.publish("/apis", linkset(f"{SITE}/more-apis", rel="api-catalog"))
        n.publish("/more-apis", linkset(f"{SITE}/openapi.json"))
        answer = await n.discover()
        assert ("openapi", f"{SITE}/openapi.json", "api-catalog", "origin-tls") in answer.endpoints

    @pytest.mark.parametrize(
        ("kind", "protocol"),
        [
            (OPENAPI_TYPE, "openapi"),
            (REGISTRY_TYPE, "ard-registry"),
            ("application/vnd.oai.openapi+json;version=3.1", "openapi"),
        ],
    )
    async def test_located(self, kind: str, protocol: str) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("x", f"{SITE}/x", kind)))
        assert (protocol, f"{SITE}/x", "ai-catalog", "hint") in (await n.discover()).endpoints
        assert "/x" not in n.paths

    @pytest.mark.parametrize(
        ("kind", "document_class"),
        [
            ("application/agent-skills+md", "skill"),
            ("application/agent-skills+zip", "skill"),
            ("application/agent-plugins+zip", "plugin"),
            ("text/markdown", "skill"),
            ("image/png", "other"),
            ("", "other"),
        ],
    )
    async def test_left_alone_and_listed(self, kind: str, document_class: str) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("x", f"{SITE}/x", kind)))
        answer = await n.discover()
        assert answer.endpoints == set()
        assert "/x" not in n.paths
        listed = answer.document(f"{SITE}/x")
        assert (listed["class"], listed["found"], listed["reason"]) == (document_class, False, "not-read")
        assert (listed["trust"], listed["sha256"]) == (None, None)

    @pytest.mark.parametrize(("count", "is_cut"), [(64, False), (65, True), (500, True)])
    async def test_no_more_than_sixty_four_are_listed(self, count: int, is_cut: bool) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(*(entry(f"x{one}", f"{SITE}/x/{one}", "image/png") for one in range(count))))
        answer = await n.discover()
        assert len([one for one in answer["documents"] if one["reason"] == "not-read"]) == 64
        cut = [
            detail for detail in remarks(answer) if detail == "More than 64 artifacts of other kinds are listed."
        ]
        assert len(cut) == is_cut

    async def test_one_that_is_read_for_another_reason_is_listed_as_read(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("guide", f"{SITE}/llms.txt", "text/markdown")))
        n.publish("/llms.txt", b"# Example\n", content_type="text/plain")
        listed = [one for one in (await n.discover())["documents"] if one["url"] == f"{SITE}/llms.txt"]
        assert [(one["class"], one["found"]) for one in listed] == [("llms", True)]

    @pytest.mark.parametrize("is_meant", [True, False])
    async def test_an_index_of_skills_is_read_as_one(self, is_meant: bool) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("skills", f"{SITE}/skills.json", "application/agent-skills+json")))
        n.publish("/skills.json", skills_index(skill("shop", b"# Shop" if is_meant else b"other")))
        n.publish("/skills/shop/SKILL.md", b"# Shop", content_type="text/markdown")
        answer = await n.discover()
        assert answer.document("/skills.json")["class"] == "agent-skills"
        assert answer.document("/SKILL.md")["trust"] == ("origin-tls" if is_meant else "rejected")

    @pytest.mark.parametrize(
        ("members", "rule"),
        [
            ({"url": "http://example.com/x"}, "CAT-3"),
            ({"url": "https://user:pw@example.com/x"}, "CAT-3"),
            ({"url": "https://127.0.0.1/x"}, "CAT-3"),
            ({"url": "https://localhost/x"}, "CAT-3"),
            ({"url": "https://example.com:25/x"}, "CAT-3"),
            ({"url": None}, "CAT-3"),
            ({"data": {"name": "A"}}, "CAT-3"),
            ({"url": 7}, "CAT-3"),
            ({"identifier": None}, "CAT-2"),
        ],
        ids=["http", "userinfo", "loopback", "localhost", "port", "neither", "both", "number", "anonymous"],
    )
    async def test_dropped_without_the_catalog(self, members: dict[str, object], rule: str) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog({**entry("bad", f"{SITE}/x"), **members}, card_at(n, "good")))
        answer = await n.discover()
        assert agents(answer) == {"good"}
        assert rule in rules(answer, CATALOG_AT)
        assert "/x" not in n.paths

    async def test_a_url_is_relative_to_the_catalog(self) -> None:
        n = neighbourhood()
        n.publish("/cards/near", agent_card(f"{SITE}/a2a/near"))
        n.publish(CATALOG_AT, catalog(entry("near", "../cards/near")))
        assert agents(await n.discover()) == {"near"}

    async def test_a_document_elsewhere_counts_by_the_word_of_the_catalog(self) -> None:
        n = neighbourhood()
        n.publish("https://cards.example.net/shop", agent_card("https://agents.example.net/shop"))
        n.publish(CATALOG_AT, catalog(entry("shop", "https://cards.example.net/shop")))
        assert agents(await n.discover()) == {"shop"}

    async def test_an_entry_that_has_moved_away_unproven_is_no_agent_of_this_domain(self) -> None:
        n = neighbourhood()
        n.publish("/cards/shop", b"", status=308, fields=[("Location", "https://example.net/shop")])
        n.publish("https://example.net/shop", agent_card("https://example.net/a2a"))
        n.publish(CATALOG_AT, catalog(entry("shop", f"{SITE}/cards/shop")))
        answer = await n.discover()
        assert agents(answer) == set()
        assert answer.document("example.net/shop")["trust"] == "hint"

    async def test_an_entry_that_has_moved_within_the_domain_is_used_there(self) -> None:
        n = neighbourhood()
        n.publish("/cards/shop", b"", status=308, fields=[("Location", "https://new.example.com/shop")])
        n.publish("https://new.example.com/shop", agent_card("https://new.example.com/a2a/shop"))
        n.publish(CATALOG_AT, catalog(entry("shop", f"{SITE}/cards/shop")))
        answer = await n.discover()
        assert agents(answer) == {"shop"}
        assert [one["state"] for one in answer["relocations"]] == ["observed"]

    @pytest.mark.parametrize("status", [404, 410, 401, 500])
    async def test_one_that_is_not_there_leaves_the_others(self, status: int) -> None:
        n = neighbourhood()
        n.publish("/cards/gone", b"", status=status)
        n.publish(CATALOG_AT, catalog(entry("gone", f"{SITE}/cards/gone"), card_at(n, "shop")))
        answer = await n.discover()
        assert agents(answer) == {"shop"}
        assert answer.document("/cards/gone")["found"] is False

    async def test_a_secret_in_a_url_is_not_sent(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("x", f"{SITE}/x?api_key=SeCrEt0123456789")))
        answer = await n.discover()
        assert not [path for path in n.paths if path.startswith("/x")]
        assert b"SeCrEt0123456789" not in answer.prepared.body(0.0)


class TestTypeIsAClaim:
    """CAT-5: the document behind an entry decides what it is."""

    @pytest.mark.parametrize(
        ("kind", "document"),
        [
            (AGENT_TYPE, server_card()),
            (AGENT_TYPE, catalog()),
            (AGENT_TYPE, b"# A page"),
            (AGENT_TYPE, {"aid_version": "1.0", "identity": {"name": "x"}}),
            (MCP_TYPE, {"jsonrpc": "2.0", "error": {"code": -32600}}),
            (MCP_TYPE, HTML),
            (MCP_TYPE, linkset(f"{SITE}/openapi.json")),
            (CATALOG_TYPE, agent_card()),
            (LINKSET_TYPE, server_card()),
        ],
        ids=[
            "server card for agent card",
            "catalog for agent card",
            "page for agent card",
            "DNS-AID for agent card",
            "endpoint for server card",
            "page for server card",
            "linkset for server card",
            "agent card for catalog",
            "server card for linkset",
        ],
    )
    async def test_another_kind_is_no_endpoint(self, kind: str, document: object) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("x", f"{SITE}/x", kind), card_at(n, "shop")))
        n.publish("/x", document)
        answer = await n.discover()
        assert {one[1] for one in answer.endpoints} == {f"{SITE}/a2a/shop"}

    @pytest.mark.parametrize(
        "card",
        [
            agent_card(),
            {
                "name": "A",
                "version": "1",
                "protocolVersion": "0.3.0",
                "preferredTransport": "JSONRPC",
                "url": f"{SITE}/a2a",
            },
        ],
        ids=["1.0", "0.3"],
    )
    async def test_an_agent_card_listed_as_a_server_card_is_no_mcp_server(self, card: object) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("x", f"{SITE}/x", MCP_TYPE)))
        n.publish("/x", card)
        answer = await n.discover()
        assert answer.endpoints == {("a2a", f"{SITE}/a2a", "ai-catalog", "origin-tls")}
        assert answer.document("/x")["class"] == "agent-card"


class TestNesting:
    """CAT-7: depth, circles and numbers are bounded, and whatever is left out is told."""

    def chain(self, n: Neighbourhood, length: int) -> None:
        """A catalog in a catalog in a catalog, each with a card of its own."""
        for depth in range(1, length + 1):
            entries = [card_at(n, f"at-{depth}")]
            if depth < length:
                entries.append(nested(f"below-{depth}", f"/c/{depth + 1}"))
            n.publish(CATALOG_AT if depth == 1 else f"/c/{depth}", catalog(*entries))

    @pytest.mark.parametrize(("length", "reached"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 4), (10, 4)])
    async def test_four_deep(self, length: int, reached: int) -> None:
        n = neighbourhood()
        self.chain(n, length)
        answer = await n.discover()
        assert agents(answer) == {f"at-{depth}" for depth in range(1, reached + 1)}
        assert any("deeper than 4" in detail for detail in remarks(answer)) is (length > 4)
        assert "/c/5" not in n.paths

    @pytest.mark.parametrize("length", [1, 2, 3])
    async def test_circles(self, length: int) -> None:
        n = neighbourhood()
        places = [CATALOG_AT, "/c/2", "/c/3"][:length]
        for number, place in enumerate(places):
            following = places[(number + 1) % length]
            n.publish(place, catalog(card_at(n, f"at-{number}"), nested(f"to-{number}", following)))
        answer = await n.discover()
        assert agents(answer) == {f"at-{number}" for number in range(length)}
        assert [n.paths.count(place) for place in places] == [1] * length

    async def test_a_nested_catalog_that_both_list_is_read_once(self) -> None:
        n = neighbourhood()
        for place in (ARD_AT, CATALOG_AT):
            n.publish(place, catalog(nested(place[13:16], "/c/2")))
        n.publish("/c/2", catalog(card_at(n, "shop")))
        assert agents(await n.discover()) == {"shop"}
        assert n.paths.count("/c/2") == 1

    async def test_catalogs_held_in_catalogs(self) -> None:
        n = neighbourhood()
        inner = catalog(card_at(n, "inner"))
        listed = {"identifier": "urn:air:example.com:more", "type": CATALOG_TYPE, "data": inner}
        n.publish(CATALOG_AT, catalog(listed))
        assert agents(await n.discover()) == {"inner"}

    @pytest.mark.parametrize(("depth", "is_reached"), [(4, True), (5, False)])
    async def test_catalogs_held_in_catalogs_count_as_deep(self, depth: int, is_reached: bool) -> None:
        n = neighbourhood()
        held = catalog(card_at(n, "innermost"))
        for level in range(depth - 1):
            listed = {"identifier": f"urn:air:example.com:c{level}", "type": CATALOG_TYPE, "data": held}
            held = catalog(listed)
        n.publish(CATALOG_AT, held)
        answer = await n.discover()
        assert (agents(answer) == {"innermost"}) is is_reached
        assert any("deeper than 4" in detail for detail in remarks(answer)) is not is_reached

    @pytest.mark.parametrize(
        "members",
        [{"data": {"entries": 7}}, {"data": []}, {"data": "x"}, {"data": {"specVersion": "2.0", "entries": []}}],
        ids=["entries no list", "list", "text", "later version"],
    )
    async def test_what_is_held_and_is_no_catalog(self, members: dict[str, object]) -> None:
        n = neighbourhood()
        listed = {"identifier": "urn:air:example.com:more", "type": CATALOG_TYPE, **members}
        n.publish(CATALOG_AT, catalog(listed, card_at(n, "shop")))
        assert agents(await n.discover()) == {"shop"}

    async def test_a_held_catalog_that_is_not_the_digested_one(self) -> None:
        n = neighbourhood()
        listed = {"identifier": "urn:air:example.com:more", "type": CATALOG_TYPE, "digest": digest(b"other")}
        n.publish(CATALOG_AT, catalog({**listed, "data": catalog(card_at(n, "inner"))}, card_at(n, "shop")))
        answer = await n.discover()
        assert agents(answer) == {"shop"}
        assert "CAT-9" in rules(answer, CATALOG_AT)

    async def test_sixteen_catalogs(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(*(nested(f"c{number}", f"/c/{number}") for number in range(40))))
        answer = await n.discover()
        assert len([path for path in n.paths if path.startswith("/c/")]) == 14
        assert any("More than 16 catalogs" in detail for detail in remarks(answer))

    @pytest.mark.parametrize(("before", "is_read"), [(0, True), (4999, True), (5000, False), (9000, False)])
    async def test_five_thousand_entries_of_one(self, before: int, is_read: bool) -> None:
        n = neighbourhood()
        others = [{"identifier": f"urn:x:{number}", "type": "a/b", "url": "/x"} for number in range(before)]
        n.publish(CATALOG_AT, catalog(*others, card_at(n, "last")))
        answer = await n.discover()
        assert (agents(answer) == {"last"}) is is_read
        assert is_read or "CAT-7" in rules(answer, CATALOG_AT)

    async def test_five_thousand_entries_of_all(self) -> None:
        n = neighbourhood()
        for place in (ARD_AT, CATALOG_AT):
            others = [{"identifier": f"urn:{place}:{number}", "type": "a/b", "url": "/x"} for number in range(3000)]
            n.publish(place, catalog(*others, card_at(n, place[13:16])))
        answer = await n.discover()
        assert agents(answer) == {"ard"}
        assert "More than 5000 entries are listed." in remarks(answer)

    async def test_thirty_two_documents(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(*(card_at(n, f"c{number}") for number in range(100))))
        answer = await n.discover()
        assert agents(answer) == {f"c{number}" for number in range(32)}
        assert remarks(answer).count("More than 32 documents are listed.") == 1

    async def test_twenty_megabytes_are_refused(self) -> None:
        n = neighbourhood()
        n.publish(ARD_AT, catalog(padding="x" * 20_000_000))
        n.publish(CATALOG_AT, catalog(card_at(n, "shop")))
        answer = await n.discover()
        listed = answer.document(ARD_AT)
        assert (listed["found"], listed["reason"]) == (False, "too-large")
        assert agents(answer) == {"shop"}
        assert n.engine.origin.leaked == []

    async def test_a_megabyte_is_read(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(card_at(n, "shop"), padding="x" * 1_000_000))
        assert agents(await n.discover()) == {"shop"}


class TestDigests:
    """CAT-9: a document that is not the one that was listed is rejected, and says why."""

    CARD = agent_card(f"{SITE}/a2a/shop")

    async def discovered(self, stated: str, body: object = CARD) -> tuple[Neighbourhood, Described]:
        n = neighbourhood()
        n.publish("/shop", body)
        n.publish(CATALOG_AT, catalog(entry("shop", f"{SITE}/shop", digest=stated)))
        return n, await n.discover()

    async def test_the_document_that_was_meant(self) -> None:
        _, answer = await self.discovered(digest(self.CARD))
        assert agents(answer) == {"shop"}
        assert answer.document("/shop")["trust"] == "origin-tls"

    async def test_another_document(self) -> None:
        _, answer = await self.discovered(digest(b"other"))
        listed = answer.document("/shop")
        assert agents(answer) == set()
        assert (listed["found"], listed["trust"], listed["lint"][0]["rule"]) == (True, "rejected", "CAT-9")

    @pytest.mark.parametrize("change", [b"\n", b" ", b"\xef\xbb\xbf"], ids=["newline", "space", "mark"])
    async def test_one_octet_more(self, change: bytes) -> None:
        _, answer = await self.discovered(digest(self.CARD), change + octets(self.CARD))
        assert answer.document("/shop")["trust"] == "rejected"

    @pytest.mark.parametrize("stated", ["sha256:00", "md5:" + "0" * 32, "sha1:" + "0" * 40, "0" * 64, "magic:00"])
    async def test_what_is_no_digest_vouches_for_nothing_and_is_told(self, stated: str) -> None:
        _, answer = await self.discovered(stated)
        assert agents(answer) == {"shop"}
        assert "CAT-9" in rules(answer, CATALOG_AT)

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["right first", "wrong first"])
    @pytest.mark.parametrize("where", ["one catalog", "two catalogs", "one in the other"])
    async def test_of_several_for_one_place_each_has_to_match(self, where: str, order: tuple[int, int]) -> None:
        n = neighbourhood()
        n.publish("/shop", self.CARD)
        stated = [digest(self.CARD), digest(b"other")]
        first, second = (entry(f"e{one}", f"{SITE}/shop", digest=stated[one]) for one in order)
        if where == "one catalog":
            n.publish(CATALOG_AT, catalog(first, second))
        elif where == "two catalogs":
            n.publish(ARD_AT, catalog(first))
            n.publish(CATALOG_AT, catalog(second))
        else:
            n.publish(CATALOG_AT, catalog(first, nested("more", "/c/2")))
            n.publish("/c/2", catalog(second))
        answer = await n.discover()
        assert answer.document("/shop")["trust"] == "rejected"
        assert agents(answer) == set()
        assert n.paths.count("/shop") == 1

    async def test_several_that_agree(self) -> None:
        n = neighbourhood()
        n.publish("/shop", self.CARD)
        stated = digest(self.CARD)
        n.publish(CATALOG_AT, catalog(*(entry(name, f"{SITE}/shop", digest=stated) for name in ("a", "b"))))
        answer = await n.discover()
        assert (answer.document("/shop")["trust"], agents(answer)) == ("origin-tls", {"shop"})

    async def test_upper_case_digits(self) -> None:
        stated = digest(self.CARD)
        _, answer = await self.discovered(f"sha256:{stated[7:].upper()}")
        assert agents(answer) == {"shop"}

    async def test_of_a_nested_catalog(self) -> None:
        n = neighbourhood()
        good, bad = catalog(card_at(n, "good")), catalog(card_at(n, "bad"))
        n.publish("/c/good", good)
        n.publish("/c/bad", bad)
        stated = {"good": digest(good), "bad": digest(good)}
        listed = (nested(f"c-{name}", f"/c/{name}", digest=stated[name]) for name in stated)
        n.publish(CATALOG_AT, catalog(*listed))
        answer = await n.discover()
        assert agents(answer) == {"good"}
        assert answer.document("/c/bad")["trust"] == "rejected"

    async def test_of_a_server_card_that_is_rejected_the_search_goes_on(self) -> None:
        n = neighbourhood()
        n.publish("/tools", server_card(f"{SITE}/evil"))
        n.publish(MCP_CARD_AT, server_card())
        n.publish(CATALOG_AT, catalog(entry("tools", f"{SITE}/tools", MCP_TYPE, digest=digest(b"other"))))
        assert {one[1] for one in (await n.discover()).endpoints} == {f"{SITE}/mcp"}

    @pytest.mark.parametrize(
        ("kind", "data", "endpoints"),
        [
            (LINKSET_TYPE, linkset(f"{SITE}/openapi.json"), {f"{SITE}/openapi.json"}),
            (MCP_TYPE, server_card(), {f"{SITE}/mcp"}),
            (AGENT_TYPE, {"x": 1}, set()),
            (MCP_TYPE, [], set()),
        ],
        ids=["linkset", "server card", "no card", "list"],
    )
    async def test_of_data_without_one(self, kind: str, data: object, endpoints: set[str]) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog({"identifier": "urn:air:example.com:x", "type": kind, "data": data}))
        answer = await n.discover()
        assert {one[1] for one in answer.endpoints} == endpoints
        assert bool(remarks(answer, "wrong-kind")) is not bool(endpoints)

    @pytest.mark.parametrize("is_right", [True, False])
    async def test_of_data(self, is_right: bool) -> None:
        card = {"name": "A", "url": f"{SITE}/a2a/shop"}
        stated = digest(json.dumps(card, separators=(",", ":"), sort_keys=True).encode() if is_right else b"other")
        listed = {"identifier": "urn:air:example.com:shop", "type": AGENT_TYPE, "data": card, "digest": stated}
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(listed))
        answer = await n.discover()
        assert agents(answer) == ({"shop"} if is_right else set())
        (held,) = (one for one in answer["documents"] if "#" in one["url"])
        assert held["trust"] == ("origin-tls" if is_right else "rejected")
        # The octets are part of the catalog's, and have no digest of their own to be checked by.
        assert (held["url"], held["sha256"]) == (f"{SITE}{CATALOG_AT}#/entries/0", None)


class TestCentralServices:
    """U-D9: catalogs may name them, discovery does without."""

    @pytest.mark.parametrize(
        "listed",
        [
            entry("r", CENTRAL, REGISTRY_TYPE),
            entry("r", CENTRAL, CATALOG_TYPE),
            entry("r", CENTRAL, AGENT_TYPE),
            entry("r", CENTRAL, MCP_TYPE),
            entry("r", CENTRAL, LINKSET_TYPE),
            entry("r", "https://uaix.org/.well-known/ai-catalog.json", CATALOG_TYPE),
            entry("r", "https://www.schemas.agentskills.io/x", CATALOG_TYPE),
        ],
        ids=["registry", "catalog", "agent card", "server card", "linkset", "uaix.org", "below a name"],
    )
    async def test_never_asked(self, listed: dict[str, object]) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(listed, card_at(n, "shop")))
        answer = await n.discover()
        assert agents(answer) >= {"shop"}
        assert {sent.request.target.host for sent in n.engine.origin.requests} == {"example.com"}
        assert answer["overhead"]["central_services"] == 0

    async def test_a_redirect_to_one_is_not_followed(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, b"", status=302, fields=[("Location", CENTRAL)])
        answer = await n.discover()
        assert n.asked("registry.modelcontextprotocol.io") == []
        assert answer.document(CATALOG_AT)["found"] is False


class TestLinks:
    """LK-1 to LK-4: what the landing page and robots.txt lead to."""

    @pytest.mark.parametrize("vector", sample("link_header_vectors.json"), ids=range(5))
    async def test_the_vectors(self, vector: dict[str, Any]) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html", fields=[("Link", vector["h"])])
        await n.discover("docs.example.com")
        places = {vector["url"]} if vector.get("url") else set(vector.get("urls", {}).values())
        asked = {sent.request.target.uri for sent in n.engine.origin.requests}
        assert places <= asked
        assert places or not n.asked("other.example.net")

    @pytest.mark.parametrize(
        ("rel", "document", "endpoint"),
        [
            ("ai-catalog", None, ("a2a", f"{SITE}/a2a/shop")),
            ("ard", None, ("a2a", f"{SITE}/a2a/shop")),
            ("AI-Catalog", None, ("a2a", f"{SITE}/a2a/shop")),
            ("api-catalog", linkset(f"{SITE}/openapi.json"), ("openapi", f"{SITE}/openapi.json")),
            ("service-desc", b"", ("openapi", f"{SITE}/linked")),
        ],
    )
    async def test_a_link_field(self, rel: str, document: object, endpoint: tuple[str, str]) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html", fields=[("Link", f'</linked>; rel="{rel}"')])
        n.publish("/linked", catalog(card_at(n, "shop")) if document is None else document)
        answer = await n.discover()
        assert {one[:2] for one in answer.endpoints} == {endpoint}

    @pytest.mark.parametrize("rel", ["stylesheet", "alternate", "describedby", "service-doc", "canonical"])
    async def test_other_relations_lead_nowhere(self, rel: str) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html", fields=[("Link", f'</linked>; rel="{rel}"')])
        await n.discover()
        assert "/linked" not in n.paths

    async def test_two_fields_and_two_links_in_one(self) -> None:
        n = neighbourhood()
        fields = [("Link", '</a>; rel="ai-catalog", </b>; rel="ard"'), ("Link", "</c>; rel=ai-catalog")]
        n.publish("/", HTML, content_type="text/html", fields=fields)
        for name in ("a", "b", "c"):
            n.publish(f"/{name}", catalog(card_at(n, f"of-{name}")))
        assert agents(await n.discover()) == {"of-a", "of-b", "of-c"}

    async def test_a_linked_catalog_elsewhere_is_the_domain_s_word(self) -> None:
        n = neighbourhood()
        link = '<https://catalogs.example.net/c>; rel="ai-catalog"'
        n.publish("https://example.com/", HTML, content_type="text/html", fields=[("Link", link)])
        n.publish("https://catalogs.example.net/c", catalog(card_at(n, "shop")))
        assert agents(await n.discover()) == {"shop"}

    @pytest.mark.parametrize(
        "reference", ["http://example.com/c", "https://10.0.0.1/c", "https://u:p@example.com/c"]
    )
    async def test_a_link_that_may_not_be_followed(self, reference: str) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html", fields=[("Link", f'<{reference}>; rel="ai-catalog"')])
        await n.discover()
        assert "/c" not in n.paths

    async def test_a_link_in_the_page_where_nothing_else_was_found(self) -> None:
        n = neighbourhood()
        page = b'<!doctype html><head><link rel="ai-catalog" href="/linked"></head>'
        n.publish("/", page, content_type="text/html; charset=utf-8")
        n.publish("/linked", catalog(card_at(n, "shop")))
        answer = await n.discover()
        assert agents(answer) == {"shop"}
        assert [sent.method for sent in n.engine.origin.requests if sent.path == "/"] == ["HEAD", "GET"]

    async def test_a_page_is_not_read_where_something_was_found(self) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html")
        n.publish("/llms.txt", b"# Example\n", content_type="text/plain")
        n.publish(CARD_AT, agent_card())
        await n.discover()
        assert [sent.method for sent in n.engine.origin.requests if sent.path == "/"] == ["HEAD"]

    @pytest.mark.parametrize(
        ("page", "media_type"),
        [
            (b'<html><head></head><body><link rel="ai-catalog" href="/linked"></body>', "text/html"),
            (b'<html><head><!-- <link rel="ai-catalog" href="/linked"> --></head>', "text/html"),
            (b'<html><head><script>"<link rel=ai-catalog href=/linked>"</script></head>', "text/html"),
            (b'<html><head><link rel="ai-catalog" href="/linked"></head>', "text/plain"),
            (b'<html><head><link rel="ai-catalog" href="http://example.com/linked"></head>', "text/html"),
        ],
        ids=["in the body", "in a comment", "in a script", "no HTML", "http"],
    )
    async def test_what_is_no_link_of_the_page(self, page: bytes, media_type: str) -> None:
        n = neighbourhood()
        n.publish("/", page, content_type=media_type)
        n.publish("/linked", catalog(card_at(n, "shop")))
        await n.discover()
        assert "/linked" not in n.paths

    async def test_references_of_the_page_go_by_its_base(self) -> None:
        n = neighbourhood()
        page = b'<html><head><base href="/deep/"><link rel="ard" href="linked"></head>'
        n.publish("/", page, content_type="text/html")
        n.publish("/deep/linked", catalog(card_at(n, "shop")))
        assert agents(await n.discover()) == {"shop"}

    @pytest.mark.parametrize("status", [302, 307, 308])
    @pytest.mark.parametrize("how", ["field", "page", "robots"])
    async def test_a_page_of_another_domain_says_nothing_of_this_one(self, status: int, how: str) -> None:
        n = neighbourhood()
        elsewhere = "https://parking.example.net/lander"
        place = "/robots.txt" if how == "robots" else "/"
        n.publish(f"{SITE}{place}", b"", status=status, fields=[("Location", elsewhere)])
        page = b'<html><head><link rel="ai-catalog" href="/linked"></head>'
        body = b"Agentmap: https://parking.example.net/linked" if how == "robots" else page
        fields = [("Link", '</linked>; rel="ai-catalog"')] if how == "field" else []
        media_type = "text/plain" if how == "robots" else "text/html"
        n.publish(elsewhere, body, content_type=media_type, fields=fields)
        n.publish("/linked", catalog(card_at(n, "parked")))
        assert agents(await n.discover()) == set()
        assert "/linked" not in n.paths

    async def test_a_page_on_another_host_of_the_domain_does(self) -> None:
        n = neighbourhood()
        n.publish(f"{SITE}/", b"", status=301, fields=[("Location", "https://www.example.com/")])
        fields = [("Link", '</linked>; rel="ai-catalog"')]
        n.publish("https://www.example.com/", HTML, content_type="text/html", fields=fields)
        n.publish("https://www.example.com/linked", catalog(card_at(n, "shop")))
        assert agents(await n.discover()) == {"shop"}

    async def test_an_agentmap_in_robots_txt(self) -> None:
        n = neighbourhood()
        n.publish("/robots.txt", b"User-agent: *\nDisallow: /\nAgentmap: https://example.com/map.json\n")
        n.publish("/map.json", catalog(card_at(n, "shop")))
        answer = await n.discover()
        assert agents(answer) == {"shop"}
        assert answer["static"]["robots"] == f"{SITE}/robots.txt"

    @pytest.mark.parametrize(
        "reference", ["/map.json", "http://example.com/map.json", "https://192.168.0.1/map.json"]
    )
    async def test_an_agentmap_that_is_no_public_url(self, reference: str) -> None:
        n = neighbourhood()
        n.publish("/robots.txt", f"Agentmap: {reference}\n".encode(), content_type="text/plain")
        answer = await n.discover()
        assert "/map.json" not in n.paths
        assert rules(answer, "/robots.txt") == {"LK-4"}

    @pytest.mark.parametrize(
        ("catalogs", "wins"),
        [
            (("field", "pointed", "ard", "ai"), "field"),
            (("agentmap", "pointed", "ard", "ai"), "agentmap"),
            (("field", "agentmap"), "field"),
            (("pointed", "ard", "ai"), "pointed"),
            (("ard", "ai"), "ard"),
            (("ai",), "ai"),
        ],
        ids=lambda value: value if isinstance(value, str) else "+".join(value),
    )
    async def test_what_the_site_announces_itself_holds(self, catalogs: tuple[str, ...], wins: str) -> None:
        """LK-3: then DNS, then the well-known places; of one subject the first holds."""
        n = neighbourhood()
        for name in catalogs:
            listed = {**card_at(n, name), "identifier": "urn:air:example.com:shop"}
            n.publish({"ard": ARD_AT, "ai": CATALOG_AT}.get(name, f"/.well-known/{name}"), catalog(listed))
        fields = [("Link", '</.well-known/field>; rel="ai-catalog"')] if "field" in catalogs else []
        n.publish("/", HTML, content_type="text/html", fields=fields)
        if "agentmap" in catalogs:
            n.publish("/robots.txt", f"Agentmap: {SITE}/.well-known/agentmap\n".encode(), content_type="text/plain")
        if "pointed" in catalogs:
            n.dns.svcb("_catalog._agents.example.com", 1, "example.com", key65409=b"pointed")
        answer = await n.discover()
        assert agents(answer) == {wins}
        # Whoever else names the subject was read, and is told of.
        contested = [
            detail for detail in remarks(answer) if detail.startswith("urn:air:example.com:shop is listed")
        ]
        assert len(contested) == len(catalogs) - 1

    async def test_subjects_that_only_one_of_them_has_are_all_there(self) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html", fields=[("Link", '</linked>; rel="ai-catalog"')])
        n.publish("/linked", catalog(card_at(n, "linked")))
        n.publish(CATALOG_AT, catalog(card_at(n, "placed")))
        assert agents(await n.discover()) == {"linked", "placed"}

    @pytest.mark.parametrize(
        ("media_type", "protocol"),
        [
            (None, "openapi"),
            ("application/openapi+json", "openapi"),
            ("application/vnd.oai.openapi+yaml;version=3.1", "openapi"),
            ("application/json", "openapi"),
            ("APPLICATION/YAML", "openapi"),
            ("application/wsdl+xml", "service-desc"),
            ("text/html", "service-desc"),
            ("application/graphql", "service-desc"),
        ],
    )
    @pytest.mark.parametrize("how", ["field", "api-catalog"])
    async def test_the_type_of_a_description_tells_what_it_is(
        self, how: str, media_type: str | None, protocol: str
    ) -> None:
        n = neighbourhood()
        if how == "field":
            typed = "" if media_type is None else f'; type="{media_type}"'
            fields = [("Link", f'</api>; rel="service-desc"{typed}')]
            n.publish("/", HTML, content_type="text/html", fields=fields)
        else:
            described = {"href": f"{SITE}/api", **({} if media_type is None else {"type": media_type})}
            n.publish(APIS_AT, {"linkset": [{"service-desc": [described]}]})
        source = "link" if how == "field" else "api-catalog"
        assert (await n.discover()).endpoints == {(protocol, f"{SITE}/api", source, "origin-tls")}

    async def test_a_link_to_the_usual_place_costs_nothing_more(self) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html", fields=[("Link", f'<{CATALOG_AT}>; rel="ai-catalog"')])
        n.publish(CATALOG_AT, catalog(card_at(n, "shop")))
        assert agents(await n.discover()) == {"shop"}
        assert n.paths.count(CATALOG_AT) == 1

    async def test_a_registry_in_the_text_of_the_index(self) -> None:
        n = neighbourhood()
        n.dns.txt("_index._agents.example.com", "registry=https://example.com/deep/.well-known/api-catalog")
        n.publish("/deep/.well-known/api-catalog", linkset(f"{SITE}/openapi.json"))
        assert ("openapi", f"{SITE}/openapi.json", "api-catalog", "origin-tls") in (await n.discover()).endpoints


PLACES = {
    "ard": ARD_AT,
    "catalog": CATALOG_AT,
    "card": CARD_AT,
    "old card": OLD_CARD_AT,
    "server card": MCP_CARD_AT,
    "linkset": APIS_AT,
    "skills": SKILLS_AT,
    "aid": AID_AT,
    "manifest": MANIFEST_AT,
    "page": "/",
}
SHAPES = {
    "not UTF-8": b"\xff\xfe\x00{",
    "a mark alone": b"\xef\xbb\xbf",
    "cut short": b'{"entries":[{"identifier":"x"',
    "deep": b'{"entries":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "deep objects": b'{"name":' * 5_000 + b"1" + b"}" * 5_000,
    "long numbers": b'{"entries":[' + b"9" * 100_000 + b'],"name":1e999}',
    "not a number": b'{"entries":[NaN,Infinity],"name":NaN}',
    "names twice": b'{"entries":[],"entries":7,"name":"a","name":null,"url":"x","url":[]}',
    "nulls": dict.fromkeys(MEMBERS),
    "numbers": dict.fromkeys(MEMBERS, 7),
    "empty lists": {name: [] for name in MEMBERS},
    "lists of everything": {name: [None, 7, "x", [], {}, [[]], {"url": {}}] for name in MEMBERS},
    "empty objects": {name: {} for name in MEMBERS},
    "texts": dict.fromkeys(MEMBERS, "\u0000\u202e\ud800 ://%zz"),
    "markup": dict.fromkeys(MEMBERS, "<script>alert(1)</script>"),
}


class TestBadInput:
    """Whatever lies at a place: there is an answer, and it is a clean one."""

    @pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
    @pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
    async def test_there_is_an_answer(self, place: str, shape: object) -> None:
        n = neighbourhood()
        n.publish(place, shape)
        answer = await n.discover()
        assert answer["outcome"] in ("found", "not-found")
        assert n.engine.origin.leaked == []
        assert all(step["detail"].isprintable() for step in answer["steps"])
