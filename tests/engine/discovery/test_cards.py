"""Agent cards and MCP server cards in a discovery (A2A-1 to A2A-7, MCP-1 to MCP-6, DA-11)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from proxy.ports import OriginFault, OriginUnavailable
from tests.engine.discovery.documents import (
    AGENT_TYPE,
    AID_AT,
    CARD_AT,
    CATALOG_AT,
    HTML,
    MCP_CARD_AT,
    MCP_TYPE,
    OLD_CARD_AT,
    agent_card,
    catalog,
    digest,
    entry,
    octets,
    old_card,
    sample,
    server_card,
)
from tests.simulators.aidendpoint import OTHER_KEY, AidEndpoint, record
from tests.simulators.discovery import Neighbourhood, neighbourhood

CARDS = {CARD_AT, OLD_CARD_AT}
AGENT = ("a2a", "https://example.com/a2a", "agent-card", "origin-tls")
OLD = ("a2a", "https://example.com/old", "agent-card", "origin-tls")
TOOLS = ("mcp", "https://example.com/mcp", "mcp-server-card", "origin-tls")
DNS_AID = {"aid_version": "1.0", "identity": {"name": "x"}}


def cards_asked(n: Neighbourhood) -> list[str]:
    return [path for path in n.paths if path in CARDS]


class TestPlaces:
    """A2A-3: which of the two names is asked for, and which counts."""

    @pytest.mark.parametrize(
        ("at_new", "at_old", "asked", "endpoints"),
        [
            ({"body": agent_card()}, None, [CARD_AT], {AGENT}),
            ({"body": agent_card()}, {"body": old_card()}, [CARD_AT], {AGENT}),
            (None, {"body": old_card()}, [CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": b"", "status": 410}, {"body": old_card()}, [CARD_AT, CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": b"", "status": 401}, {"body": old_card()}, [CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": b"", "status": 401}, {"body": b"", "status": 401}, [CARD_AT, OLD_CARD_AT], set()),
            ({"body": b"", "status": 403}, {"body": old_card()}, [CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": b"", "status": 405}, {"body": old_card()}, [CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": b"", "status": 406}, {"body": old_card()}, [CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": b"", "status": 429}, {"body": old_card()}, [CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": HTML, "content_type": "text/html"}, {"body": old_card()}, [CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": b""}, {"body": old_card()}, [CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": b"Not found"}, {"body": old_card()}, [CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": {"error": "no"}}, {"body": old_card()}, [CARD_AT, OLD_CARD_AT], {OLD}),
            ({"body": b"", "status": 500}, {"body": old_card()}, [CARD_AT], set()),
            ({"body": b"", "status": 503}, {"body": old_card()}, [CARD_AT], set()),
            (None, None, [CARD_AT, OLD_CARD_AT], set()),
            (None, {"body": agent_card()}, [CARD_AT, OLD_CARD_AT], {AGENT}),
            (None, {"body": HTML, "content_type": "text/html"}, [CARD_AT, OLD_CARD_AT], set()),
            (None, {"body": DNS_AID}, [CARD_AT, OLD_CARD_AT], set()),
        ],
        ids=[
            "new",
            "both",
            "old",
            "new gone",
            "new 401",
            "both 401",
            "new 403",
            "new 405",
            "new 406",
            "new 429",
            "new HTML",
            "new empty",
            "new plain text",
            "new error object",
            "new 500",
            "new 503",
            "neither",
            "current card at the old name",
            "old HTML",
            "DNS-AID at the old name",
        ],
    )
    async def test_the_old_name_is_for_where_there_is_no_card(
        self,
        at_new: dict[str, Any] | None,
        at_old: dict[str, Any] | None,
        asked: list[str],
        endpoints: set[tuple[str, str, str, str]],
    ) -> None:
        n = neighbourhood()
        for path, how in ((CARD_AT, at_new), (OLD_CARD_AT, at_old)):
            if how is not None:
                n.publish(path, how["body"], **{name: value for name, value in how.items() if name != "body"})
        answer = await n.discover()
        assert cards_asked(n) == asked
        assert {one for one in answer.endpoints if one[0] == "a2a"} == endpoints

    async def test_a_card_that_is_refused_is_asked_for_no_more_than_once_in_a_while(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, b"", status=401)
        await n.discover()
        n.engine.clock += 31
        await n.discover()
        n.engine.clock += 1
        await n.discover()
        assert cards_asked(n) == [CARD_AT, OLD_CARD_AT] * 2

    async def test_an_origin_that_is_not_there_is_not_asked_for_the_old_name(self) -> None:
        n = neighbourhood()
        n.engine.origin.fail()
        await n.discover()
        assert OLD_CARD_AT not in n.paths

    async def test_metadata_of_dns_aid_is_listed_as_what_it_is(self) -> None:
        n = neighbourhood()
        n.publish(OLD_CARD_AT, DNS_AID)
        listed = (await n.discover()).document(OLD_CARD_AT)
        assert (listed["class"], listed["found"]) == ("other", True)
        assert [one["rule"] for one in listed["lint"]] == ["DA-11"]

    async def test_metadata_of_dns_aid_under_the_new_name_is_no_card(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, DNS_AID)
        answer = await n.discover()
        assert (answer.document(CARD_AT)["class"], answer.endpoints) == ("other", set())

    @pytest.mark.parametrize("vector", sample("legacy_agent_json_sniff.json"), ids=lambda vector: vector["kind"])
    async def test_what_lies_at_the_old_name_decides(self, vector: dict[str, Any]) -> None:
        n = neighbourhood()
        n.publish(OLD_CARD_AT, vector["doc"])
        answer = await n.discover()
        is_card = vector["kind"].startswith("a2a")
        assert {one[1] for one in answer.endpoints} == ({"https://a.example.com/"} if is_card else set())


class TestCards:
    """What becomes of a card that is there."""

    async def test_every_interface_is_an_endpoint(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, sample("a2a_card_v10.json"))
        assert (await n.discover()).endpoints == {
            ("a2a", "https://api.example.com/a2a/v1", "agent-card", "origin-tls"),
            ("a2a", "https://api.example.com/a2a/rest", "agent-card", "origin-tls"),
        }

    @pytest.mark.parametrize(
        ("card", "urls"),
        [
            (agent_card(), {"https://example.com/a2a"}),
            (
                {
                    "name": "A",
                    "protocolVersion": "0.3.0",
                    "preferredTransport": "JSONRPC",
                    "url": "https://example.com/a2a/v3",
                    "additionalInterfaces": [{"url": "https://example.com/rest", "transport": "HTTP+JSON"}],
                },
                {"https://example.com/a2a/v3", "https://example.com/rest"},
            ),
            (old_card(), {"https://example.com/old"}),
            ({"name": "A", "supportedInterfaces": []}, set()),
            (
                {"name": "A", "supportedInterfaces": [{"url": "https://example.com/x", "protocol": "JSONRPC"}]},
                {"https://example.com/x"},
            ),
            ({"name": "A", "supportedInterfaces": [{"url": "https://example.com/x", "protocol": "MAGIC"}]}, set()),
            ({**old_card(), "capabilities": ["streaming"], "skills": ["text"]}, {"https://example.com/old"}),
            (agent_card("http://example.com/a2a"), set()),
            (agent_card("https://10.0.0.1/a2a"), set()),
            (agent_card("https://{tenant}.example.com/a2a"), set()),
            (agent_card("/a2a"), {"https://example.com/a2a"}),
            (agent_card("https://example.com/a2a?api_key=SeCrEt0123456789"), set()),
        ],
        ids=[
            "1.0",
            "0.3",
            "0.2",
            "no interface",
            "protocol for protocolBinding",
            "unknown protocol",
            "wild lists",
            "http",
            "private address",
            "template",
            "relative",
            "secret",
        ],
    )
    async def test_only_usable_interfaces_are_routed_to(self, card: object, urls: set[str]) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, card)
        answer = await n.discover()
        assert {one[1] for one in answer.endpoints} == urls
        assert answer.document(CARD_AT)["found"] is True

    async def test_what_is_wrong_with_a_card_is_told_and_the_card_is_still_there(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, {**agent_card(), "capabilities": [], "defaultInputModes": ["text"]})
        listed = (await n.discover()).document(CARD_AT)
        paths = {one["path"] for one in listed["lint"] if one["rule"] == "A2A-2"}
        assert {"/capabilities", "/defaultInputModes/0"} <= paths
        assert (listed["found"], listed["trust"]) == (True, "origin-tls")

    async def test_interfaces_stand_in_the_order_of_the_card(self) -> None:
        """§5.1: the first one is preferred."""
        urls = [f"https://example.com/{name}" for name in ("z", "a", "m")]
        interfaces = [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"} for url in urls]
        n = neighbourhood()
        n.publish(CARD_AT, {**agent_card(), "supportedInterfaces": interfaces})
        assert [one["url"] for one in (await n.discover())["endpoints"]] == urls

    async def test_a_card_is_told_of_by_its_bytes(self) -> None:
        body = b' {"name":"A","url":"https://example.com/a2a"}\r\n'
        n = neighbourhood()
        n.publish(CARD_AT, body)
        assert (await n.discover()).document(CARD_AT)["sha256"] == hashlib.sha256(body).hexdigest()

    async def test_the_extended_card_is_never_asked_for(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, sample("a2a_card_v10.json"))
        await n.discover()
        assert not [path for path in n.paths if "extended" in path.lower()]

    async def test_a_fixed_version_is_asked_for(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, agent_card(), vary="A2A-Version")
        await n.discover()
        n.engine.clock += 200
        again = await n.discover()
        sent = [one.field("A2A-Version") for one in n.engine.origin.requests if one.path == CARD_AT]
        assert sent == ["1.0"] and again.endpoints == {AGENT}

    async def test_an_unchanged_card_costs_a_304(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, agent_card(), cache_control="max-age=10, must-revalidate", etag='"v1"')
        await n.discover()
        n.engine.clock += 40
        answer = await n.discover()
        sent = [one.field("If-None-Match") for one in n.engine.origin.requests if one.path == CARD_AT]
        assert sent == [None, '"v1"']
        assert answer.step("agent-card")["detail"] == "unchanged"

    async def test_a_card_of_another_generation_than_before_replaces_it(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, old_card(), cache_control="max-age=10, must-revalidate")
        assert (await n.discover()).endpoints == {OLD}
        n.publish(CARD_AT, agent_card(), cache_control="max-age=10, must-revalidate")
        n.engine.clock += 31
        assert (await n.discover()).endpoints == {AGENT}

    async def test_a_refresh_that_brings_no_card_keeps_the_last_one(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, agent_card(), cache_control="max-age=10, stale-if-error=600")
        assert (await n.discover()).endpoints == {AGENT}
        n.publish(CARD_AT, HTML, content_type="text/html")
        n.engine.clock += 31
        assert (await n.discover()).endpoints == {AGENT}

    async def test_a_card_on_another_domain_that_does_not_vouch_is_no_card_of_this_one(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, b"", status=308, fields=[("Location", "https://example.net/card.json")])
        n.publish("https://example.net/card.json", agent_card("https://example.net/a2a"))
        answer = await n.discover()
        assert answer.endpoints == set()
        assert answer.document("/card.json")["trust"] == "hint"
        assert answer["relocations"][0]["state"] == "pending"

    async def test_a_card_on_another_domain_that_vouches_counts(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, b"", status=308, fields=[("Location", "https://example.net/card.json")])
        canonical = [("Link", f'<https://example.com{CARD_AT}>; rel="canonical"')]
        n.publish("https://example.net/card.json", agent_card("https://example.net/a2a"), fields=canonical)
        answer = await n.discover()
        assert {one[1] for one in answer.endpoints} == {"https://example.net/a2a"}


class TestServerCards:
    """MCP-1: where a server card is looked for, and no further."""

    BESIDE = "https://mcp.example.com/mcp/server-card"
    RECORD = "v=aid2;u=https://mcp.example.com/mcp;p=mcp"

    def asked(self, n: Neighbourhood) -> list[str]:
        return [
            f"{one.request.target.host}{one.path}"
            for one in n.engine.origin.requests
            if "server-card" in one.path or one.path.startswith("/.well-known/mcp")
        ]

    async def test_without_an_endpoint_the_well_known_place_alone_is_asked(self) -> None:
        n = neighbourhood()
        await n.discover()
        assert self.asked(n) == [f"example.com{MCP_CARD_AT}"]

    async def test_with_an_endpoint_the_place_beside_it_comes_first(self) -> None:
        n = neighbourhood()
        n.dns.txt("_agent.example.com", self.RECORD)
        await n.discover()
        assert self.asked(n) == ["mcp.example.com/mcp/server-card", f"example.com{MCP_CARD_AT}"]

    async def test_a_card_beside_the_endpoint_is_enough(self) -> None:
        n = neighbourhood()
        n.dns.txt("_agent.example.com", self.RECORD)
        n.publish(self.BESIDE, server_card("https://mcp.example.com/mcp"))
        n.publish(MCP_CARD_AT, server_card())
        answer = await n.discover()
        assert self.asked(n) == ["mcp.example.com/mcp/server-card"]
        assert answer.endpoints == {("mcp", "https://mcp.example.com/mcp", "mcp-server-card", "origin-tls")}

    async def test_a_card_that_a_catalog_names_is_enough(self) -> None:
        n = neighbourhood()
        n.dns.txt("_agent.example.com", self.RECORD)
        n.publish(CATALOG_AT, catalog(entry("tools", "https://example.com/tools/server-card", MCP_TYPE)))
        n.publish("/tools/server-card", server_card())
        answer = await n.discover()
        assert self.asked(n) == ["example.com/tools/server-card"]
        assert ("mcp", "https://example.com/mcp", "ai-catalog", "origin-tls") in answer.endpoints

    @pytest.mark.parametrize(
        "how",
        [
            {"body": b"", "status": 404},
            {"body": b"", "status": 406},
            {"body": HTML, "content_type": "text/html"},
            {"body": {"jsonrpc": "2.0", "error": {"code": -32000}}},
        ],
        ids=["404", "406", "HTML", "answer of the endpoint itself"],
    )
    async def test_a_catalogued_card_that_is_none_does_not_end_the_search(self, how: dict[str, Any]) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("tools", "https://example.com/mcp", MCP_TYPE)))
        n.publish("/mcp", how.pop("body"), **how)
        n.publish(MCP_CARD_AT, server_card())
        assert (await n.discover()).endpoints == {TOOLS}

    async def test_one_on_a_host_that_dns_alone_names_is_a_hint(self) -> None:
        n = neighbourhood()
        n.dns.txt("_agent.example.com", "v=aid2;u=https://mcp.example.net/mcp;p=mcp")
        n.publish("https://mcp.example.net/mcp/server-card", server_card("https://mcp.example.net/other"))
        answer = await n.discover()
        assert answer.document("/mcp/server-card")["trust"] == "hint"
        assert ("mcp", "https://mcp.example.net/other", "mcp-server-card", "hint") in answer.endpoints

    async def test_no_other_places_are_guessed(self) -> None:
        n = neighbourhood()
        await n.discover()
        for guess in ("mcp.json", "mcp", "mcp/catalog.json", "mcp-server-card", "mcp-server-card.json"):
            assert f"/.well-known/{guess}" not in n.paths

    async def test_a_host_that_is_down_does_not_end_the_search(self) -> None:
        def down(_: object) -> Any:
            raise OriginUnavailable(OriginFault.UNREACHABLE, "simulated")

        n = neighbourhood()
        n.dns.txt("_agent.example.com", self.RECORD)
        n.engine.origin.answer(self.BESIDE, down)
        n.publish(MCP_CARD_AT, server_card())
        answer = await n.discover()
        assert TOOLS in answer.endpoints
        assert answer.step("mcp-server-card", "/mcp/server-card")["outcome"] == "failed"


NAMED_BY: dict[str, tuple[str, str]] = {
    "a record": ("aid2", "hint"),
    "the index in DNS": ("svcb", "hint"),
    "the AID document": ("aid-well-known", "origin-tls"),
    "a server card": ("mcp-server-card", "origin-tls"),
    "a card of a catalog": ("ai-catalog", "origin-tls"),
}


def naming(n: Neighbourhood, who: str, url: str = "https://agents.example.com/") -> None:
    """From now on `who` names the MCP server at `url`."""
    match who:
        case "a record":
            n.dns.txt("_agent.example.com", f"v=aid2;u={url};p=mcp")
        case "the index in DNS":
            n.dns.txt("_index._agents.example.com", "agents=one:mcp")
            n.dns.svcb("one._agents.example.com", 1, "agents.example.com", key1=b"\x03mcp")
        case "the AID document":
            n.publish(AID_AT, {"v": "aid2", "u": url, "p": "mcp"})
        case "a server card":
            n.publish(MCP_CARD_AT, server_card(url))
        case _:
            n.publish(CATALOG_AT, catalog(entry("tools", "https://example.com/tools", MCP_TYPE)))
            n.publish("/tools", server_card(url))


class TestOneEndpointNamedBySeveral:
    """It is listed once, by the word that is to be trusted most; of those that are equal, by the first in name."""

    @pytest.mark.parametrize("who", NAMED_BY)
    async def test_by_one(self, who: str) -> None:
        n = neighbourhood()
        naming(n, who)
        assert (await n.discover()).endpoints == {("mcp", "https://agents.example.com/", *NAMED_BY[who])}

    @pytest.mark.parametrize(
        ("one", "other", "wins"),
        [
            ("a record", "a server card", "a server card"),
            ("a record", "a card of a catalog", "a card of a catalog"),
            ("the index in DNS", "a server card", "a server card"),
            ("the index in DNS", "the AID document", "the AID document"),
            ("the index in DNS", "a record", "a record"),
            ("the AID document", "a card of a catalog", "a card of a catalog"),
            ("a server card", "the AID document", "the AID document"),
        ],
    )
    async def test_by_two(self, one: str, other: str, wins: str) -> None:
        n = neighbourhood()
        naming(n, one)
        naming(n, other)
        answer = await n.discover()
        assert answer.endpoints == {("mcp", "https://agents.example.com/", *NAMED_BY[wins])}
        assert len(answer["endpoints"]) == 1

    async def test_other_endpoints_stay_what_they_are(self) -> None:
        n = neighbourhood()
        naming(n, "a record", "https://agents.example.com/other")
        naming(n, "a server card")
        told = (await n.discover())["endpoints"]
        assert [(one["url"], one["from"], one["trust"]) for one in told] == [
            ("https://agents.example.com/", "mcp-server-card", "origin-tls"),
            ("https://agents.example.com/other", "aid2", "hint"),
        ]

    @pytest.mark.parametrize("who", ["a server card", "a card of a catalog"])
    async def test_the_proof_of_its_key_goes_with_it(self, who: str) -> None:
        n = neighbourhood()
        n.dns.txt("_agent.example.com", record("https://agents.example.com/"))
        n.engine.origin.answer("https://agents.example.com/", AidEndpoint(n.engine.clock))
        naming(n, who)
        answer = await n.discover()
        assert answer.endpoints == {("mcp", "https://agents.example.com/", *NAMED_BY[who])}
        assert answer["endpoints"][0]["pka"]["verdict"] == "verified"

    @pytest.mark.parametrize("who", ["a server card", "a card of a catalog"])
    async def test_a_proof_that_fails_takes_the_record_s_word_alone_away(self, who: str) -> None:
        n = neighbourhood()
        n.dns.txt("_agent.example.com", record("https://agents.example.com/"))
        n.engine.origin.answer("https://agents.example.com/", AidEndpoint(n.engine.clock, key=OTHER_KEY))
        naming(n, who)
        answer = await n.discover()
        assert answer.endpoints == {("mcp", "https://agents.example.com/", *NAMED_BY[who])}
        assert "pka" not in answer["endpoints"][0]


class TestShapes:
    """MCP-3: the layouts of the wild."""

    @pytest.mark.parametrize(
        "vector", sample("mcp_wellknown_shape_vectors.json"), ids=lambda vector: vector["shape"]
    )
    async def test_the_vectors(self, vector: dict[str, Any]) -> None:
        n = neighbourhood()
        n.publish(MCP_CARD_AT, vector["doc"])
        expected = {vector["endpoint"]} if vector["endpoint"] else set()
        assert {one[1] for one in (await n.discover()).endpoints} == expected

    @pytest.mark.parametrize(
        ("card", "urls"),
        [
            ({"serverUrl": "https://example.com/mcp"}, ["https://example.com/mcp"]),
            ({"endpoints": {"mcp": {"primary": "https://example.com/mcp"}}}, ["https://example.com/mcp"]),
            ({"servers": [{"name": "a", "url": "https://example.com/a"}]}, ["https://example.com/a"]),
            ({"mcpServers": {"a": {"url": "https://example.com/a"}}}, ["https://example.com/a"]),
            ({"mcpServers": {"a": {"command": "npx"}}}, []),
            (server_card("https://{region}.example.com/mcp"), []),
            (server_card("http://example.com/mcp"), []),
            (server_card("https://127.0.0.1/mcp"), []),
            ({"name": "x", "version": "1", "entries": []}, []),
        ],
        ids=[
            "serverUrl",
            "endpoints.mcp",
            "servers",
            "mcpServers",
            "mcpServers of commands",
            "template",
            "http",
            "loopback",
            "catalog",
        ],
    )
    async def test_others(self, card: object, urls: list[str]) -> None:
        n = neighbourhood()
        n.publish(MCP_CARD_AT, card)
        answer = await n.discover()
        assert [one["url"] for one in answer["endpoints"]] == urls
        assert answer.document(MCP_CARD_AT)["found"] is True

    async def test_sse_comes_last(self) -> None:
        remotes = [
            {"type": "sse", "url": "https://example.com/sse"},
            {"type": "streamable-http", "url": "https://example.com/mcp"},
        ]
        n = neighbourhood()
        n.publish(MCP_CARD_AT, {**server_card(), "remotes": remotes})
        told = (await n.discover())["endpoints"]
        assert [one["url"] for one in told] == ["https://example.com/mcp", "https://example.com/sse"]

    @pytest.mark.parametrize(
        ("padding", "is_found"),
        [(82_000, True), (1_000_000, True), (1_100_000, False)],
        ids=["82 KB", "cap", "over"],
    )
    async def test_cards_with_long_lists_of_tools(self, padding: int, is_found: bool) -> None:
        card = {**server_card(), "tools": ["x" * padding]}
        n = neighbourhood()
        n.publish(MCP_CARD_AT, card)
        listed = (await n.discover()).document(MCP_CARD_AT)
        assert listed["found"] is is_found
        assert is_found or listed["reason"] == "too-large"

    async def test_the_answer_repeats_no_tools(self) -> None:
        n = neighbourhood()
        n.publish(MCP_CARD_AT, {**server_card(), "tools": [{"name": "grind-coffee"}]})
        assert b"grind-coffee" not in (await n.discover()).prepared.body(0.0)


class TestOneDocumentUnderTwoNames:
    """The card of a host is the same whoever names it."""

    async def test_a_catalogued_card_at_the_well_known_place_is_read_once(self) -> None:
        n = neighbourhood()
        n.publish(CATALOG_AT, catalog(entry("agent", f"https://example.com{CARD_AT}")))
        n.publish(CARD_AT, agent_card())
        answer = await n.discover()
        assert n.paths.count(CARD_AT) == 1
        assert answer.endpoints == {AGENT}
        assert len([one for one in answer["documents"] if one["url"].endswith(CARD_AT)]) == 1

    @pytest.mark.parametrize(
        ("kind", "place", "document"),
        [(AGENT_TYPE, CARD_AT, agent_card()), (MCP_TYPE, MCP_CARD_AT, server_card())],
        ids=["agent card", "server card"],
    )
    @pytest.mark.parametrize("is_meant", [True, False])
    async def test_one_that_a_catalog_rejects_offers_nothing_under_either(
        self, kind: str, place: str, document: dict[str, object], is_meant: bool
    ) -> None:
        """CAT-9: the artifact fails, whoever else led to it."""
        n = neighbourhood()
        stated = digest(document if is_meant else b"other")
        n.publish(CATALOG_AT, catalog(entry("one", f"https://example.com{place}", kind, digest=stated)))
        n.publish(place, document)
        answer = await n.discover()
        assert answer.document(place)["trust"] == ("origin-tls" if is_meant else "rejected")
        assert bool(answer.endpoints) is is_meant

    async def test_an_aid_document_at_the_name_of_a_card_is_none(self) -> None:
        n = neighbourhood()
        n.publish(OLD_CARD_AT, {"v": "aid2", "u": "https://a.example.com/mcp", "p": "mcp"})
        answer = await n.discover()
        assert answer.endpoints == set()
        assert n.paths.count(AID_AT) == 1

    async def test_digest_of_what_was_read(self) -> None:
        n = neighbourhood()
        n.publish(CARD_AT, agent_card())
        listed = (await n.discover()).document(CARD_AT)
        assert listed["sha256"] == hashlib.sha256(octets(agent_card())).hexdigest()
