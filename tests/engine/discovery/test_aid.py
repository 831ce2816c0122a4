"""AID in a discovery: records, the document in their place, and what is never offered (AID-1 to AID-10, U-T8)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.discovery.records.dnsvalues import DnsOutcome, Security, Svcb
from proxy.engine.discovery.discoverer import DiscoverySettings
from tests.engine.discovery.documents import AID_AT, HTML, MANIFEST_AT, SITE, manifest, server_card
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood

NAME = "_agent.example.com"
AID2 = "v=aid2;u=https://api.example.com/mcp;p=mcp"
AID1 = "v=aid1;uri=https://old.example.com/mcp;proto=mcp"
UAIX1 = "v=uaix1; endpoint=https://example.com/.well-known/uaix-agent-access.json"
DOCUMENT = {"v": "aid2", "u": "https://api.example.com/doc", "p": "mcp"}


def recorded(*texts: str | bytes) -> Neighbourhood:
    n = neighbourhood()
    n.dns.txt(NAME, *texts)
    return n


def by_aid(answer: Described) -> set[tuple[str, str]]:
    """Sources and URLs of the endpoints that AID names."""
    return {(one["from"], one["url"]) for one in answer["endpoints"] if one["from"].startswith("aid")}


NEW = ("aid2", "https://api.example.com/mcp")
OLD = ("aid1", "https://old.example.com/mcp")
WELL_KNOWN = ("aid-well-known", "https://api.example.com/doc")


class TestRecords:
    @pytest.mark.parametrize(
        ("text", "protocol", "url"),
        [
            (AID2, "mcp", "https://api.example.com/mcp"),
            (
                "v=aid2;u=https://api.example.com/a2a;p=a2a;a=oauth2_code;s=Shop",
                "a2a",
                "https://api.example.com/a2a",
            ),
            (
                "v=aid2;uri=https://api.example.com/o.json;proto=openapi",
                "openapi",
                "https://api.example.com/o.json",
            ),
            ("v=aid2;u=https://api.example.com/g;p=graphql", "graphql", "https://api.example.com/g"),
            ("v=aid2;u=https://api.example.com:8443;p=grpc", "grpc", "https://api.example.com:8443"),
            ("v=aid2;u=https://api.example.com/u;p=ucp", "ucp", "https://api.example.com/u"),
            ("v=aid2;u=wss://api.example.com/ws;p=websocket", "websocket", "wss://api.example.com/ws"),
            ("V=aid2; U=https://api.example.com/mcp ; P=mcp ;", "mcp", "https://api.example.com/mcp"),
            ("v=aid2;u=https://api.example.net/mcp;p=mcp", "mcp", "https://api.example.net/mcp"),
        ],
        ids=["mcp", "a2a", "openapi", "graphql", "grpc", "ucp", "websocket", "loosely written", "another domain"],
    )
    async def test_a_record_names_an_endpoint(self, text: str, protocol: str, url: str) -> None:
        answer = await recorded(text).discover()
        assert (protocol, url, "aid2", "hint") in answer.endpoints
        assert answer["coexisting"] == ["aid2"]

    @pytest.mark.parametrize("security", Security)
    async def test_it_is_a_hint_whatever_dnssec_says(self, security: Security) -> None:
        n = recorded(AID2)
        n.dns.security = security
        answer = await n.discover()
        assert (answer["dns"]["dnssec"], answer.endpoints) == (
            security.value,
            {("mcp", "https://api.example.com/mcp", "aid2", "hint")},
        )

    @pytest.mark.parametrize(
        ("texts", "endpoints"),
        [
            ((AID2, AID1), {NEW}),
            ((AID1, AID2), {NEW}),
            ((AID1,), {OLD}),
            (("v=aid2;u=https://api.example.com/mcp", AID1), {OLD}),
            ((AID2, "v=aid2;p=mcp"), {NEW}),
            ((AID2, "v=aid3;u=https://api.example.com/3;p=mcp"), {NEW}),
            ((AID2, "v=spf1 -all"), {NEW}),
            ((AID2, UAIX1), {NEW}),
            ((AID2, b"v=aid2;\xff"), {NEW}),
            ((AID2, AID2.replace("/mcp", "/other")), set()),
            ((AID2, AID2.replace("/mcp", "/other"), AID1), set()),
            (("v=aid3;u=https://api.example.com/3;p=mcp",), set()),
            (("v=AID2;u=https://api.example.com/mcp;p=mcp",), set()),
            (("v=aid2;u=https://api.example.com/mcp;p=mcp;u=https://api.example.com/x",), set()),
            (("v=aid2;u=https://api.example.com/mcp;uri=https://api.example.com/mcp;p=mcp",), set()),
            (("v=aid2;u=http://api.example.com/mcp;p=mcp",), set()),
            (("v=aid2;u=https://10.0.0.1/mcp;p=mcp",), set()),
            (("v=aid2;u=https://u:p@api.example.com/mcp;p=mcp",), set()),
            (("v=aid2;u=https://api.example.com/mcp;p=telepathy",), set()),
            (("v=aid2;u=https://api.example.com/mcp;p=mcp;e=2020-01-01T00:00:00Z",), set()),
            (("v=aid2;u=https://api.example.com/mcp;p=mcp;e=2099-01-01T00:00:00Z",), {NEW}),
            (("v=aid2;u=https://api.example.com/mcp;p=mcp;k=AAAA",), set()),
        ],
        ids=[
            "newer first",
            "newer last",
            "older alone",
            "newer malformed",
            "malformed sibling",
            "unknown version beside",
            "foreign beside",
            "uaix1 beside",
            "no text beside",
            "two",
            "two, and an older one",
            "unknown version",
            "version in capitals",
            "twice the same key",
            "key and alias",
            "http",
            "private address",
            "userinfo",
            "unknown protocol",
            "withdrawn",
            "to be withdrawn",
            "no key",
        ],
    )
    async def test_which_record_counts(
        self, texts: tuple[str | bytes, ...], endpoints: set[tuple[str, str]]
    ) -> None:
        assert by_aid(await recorded(*texts).discover()) == endpoints

    async def test_every_record_is_listed_with_what_came_of_it(self) -> None:
        answer = await recorded(AID2, AID1, UAIX1, "v=spf1 -all", "v=aid2;p=mcp").discover()
        listed = [one for one in answer["dns"]["records"] if one["name"] == NAME]
        reasons = {one["reason"] and one["reason"].partition(":")[0] for one in listed if one["accepted"]}
        assert sorted((one["kind"], one["accepted"]) for one in listed) == [
            ("aid1", True),
            ("aid2", False),
            ("aid2", True),
            ("foreign", False),
            ("uaix1", True),
        ]
        assert reasons == {None, "superseded"}
        (malformed,) = (one for one in listed if one["kind"] == "aid2" and not one["accepted"])
        assert malformed["reason"].startswith("ERR_INVALID_TXT: ")

    async def test_the_order_of_the_list_is_not_that_of_the_resolver(self) -> None:
        texts = (AID2, AID1, UAIX1, "v=spf1 -all", "v=aid2;p=mcp")
        lists = [(await recorded(*order).discover())["dns"]["records"] for order in (texts, texts[::-1])]
        assert lists[0] == lists[1] and len(lists[0]) == len(texts)

    @pytest.mark.parametrize(
        "text",
        [
            "v=aid2;u=docker:example/agent;p=local",
            "v=aid2;u=npx:example-agent;p=local",
            "v=aid2;u=pip:example-agent;p=local",
            "v=aid2;u=zeroconf:_mcp._tcp;p=zeroconf",
        ],
        ids=["docker", "npx", "pip", "zeroconf"],
    )
    async def test_what_runs_here_is_never_offered(self, text: str) -> None:
        n = recorded(text)
        answer = await n.discover()
        assert answer.endpoints == set()
        taken = answer.step("aid")
        assert (taken["outcome"], AID_AT in n.paths) == ("skipped", False)

    async def test_no_parent_is_asked(self) -> None:
        n = recorded(AID2)
        answer = await n.discover("deep.shop.example.com")
        assert answer.endpoints == set()
        assert NAME not in {name for name, _ in n.dns.asked}

    async def test_no_name_with_a_protocol_is_asked(self) -> None:
        n = neighbourhood()
        await n.discover()
        assert not [name for name, _ in n.dns.asked if name.startswith(("_agent._", "_mcp.", "_a2a."))]

    async def test_beside_uaix1_both_count(self) -> None:
        n = recorded(AID2, UAIX1)
        n.publish(MANIFEST_AT, manifest())
        answer = await n.discover()
        assert by_aid(answer) == {NEW}
        assert (answer["manifest"] is not None, answer["coexisting"]) == (True, ["aid2"])

    async def test_a_secret_in_the_uri_is_not_repeated(self) -> None:
        answer = await recorded("v=aid2;u=https://api.example.com/mcp?api_key=SeCrEt0123456789;p=mcp").discover()
        assert answer.endpoints == set()
        assert b"SeCrEt0123456789" not in answer.prepared.body(0.0)


class TestAgentsOfTheIndex:
    """DA-8: agents that the index in DNS names."""

    def indexed(self, *services: Svcb, allows: bool = False) -> Neighbourhood:
        n = neighbourhood(DiscoverySettings(off_domain=allows))
        n.dns.txt("_index._agents.example.com", "agents=chat:mcp")
        n.dns.publish("chat._agents.example.com", "SVCB", services)
        return n

    @pytest.mark.parametrize("security", [Security.INSECURE, Security.SECURE])
    async def test_an_agent(self, security: Security) -> None:
        n = self.indexed(Svcb(1, "chat.example.com", {1: b"\x03mcp\x02h2", 3: b"\x20\xfb"}))
        n.dns.security = security
        assert ("mcp", "https://chat.example.com:8443/", "svcb", "hint") in (await n.discover()).endpoints

    async def test_one_at_several_places_has_them_by_priority(self) -> None:
        mcp = b"\x03mcp"
        n = self.indexed(Svcb(2, "a.example.com", {1: mcp}), Svcb(1, "b.example.com", {1: mcp}))
        urls = [one["url"] for one in (await n.discover())["endpoints"]]
        assert urls == ["https://b.example.com/", "https://a.example.com/"]

    async def test_an_alias_is_followed(self) -> None:
        n = self.indexed(Svcb(0, "chat.example.com", {}))
        n.dns.publish("chat.example.com", "SVCB", [Svcb(1, "host.example.com", {1: b"\x03a2a"})])
        assert ("a2a", "https://host.example.com/", "svcb", "hint") in (await n.discover()).endpoints

    @pytest.mark.parametrize("security", [Security.INSECURE, Security.SECURE])
    @pytest.mark.parametrize("allows", [False, True])
    async def test_one_on_another_domain_needs_dnssec_and_the_operator(
        self, security: Security, allows: bool
    ) -> None:
        n = self.indexed(Svcb(1, "chat.example.net", {1: b"\x03mcp"}), allows=allows)
        n.dns.security = security
        is_admitted = allows and security is Security.SECURE
        answer = await n.discover()
        assert {one[1] for one in answer.endpoints} == ({"https://chat.example.net/"} if is_admitted else set())
        (record,) = (one for one in answer["dns"]["records"] if one["type"] == "SVCB")
        assert record["accepted"] is is_admitted
        assert is_admitted or record["reason"].startswith("off_domain: ")

    @pytest.mark.parametrize(("count", "is_cut"), [(8, False), (9, True), (40, True)])
    async def test_no_more_than_eight_are_looked_up_and_that_is_told(self, count: int, is_cut: bool) -> None:
        n = neighbourhood()
        names = [f"a{number}" for number in range(count)]
        n.dns.txt("_index._agents.example.com", f"agents={','.join(f'{name}:mcp' for name in names)}")
        for name in names:
            n.dns.svcb(f"{name}._agents.example.com", 1, f"{name}.example.com", key1=b"\x03mcp")
        answer = await n.discover()
        assert [one["url"] for one in answer["endpoints"]] == [f"https://{name}.example.com/" for name in names[:8]]
        told = [(one["target"], one["detail"]) for one in answer["steps"] if one["outcome"] == "skipped"]
        skipped = ("_index._agents.example.com", f"Of {count} agents in the index 8 are looked up.")
        assert told == ([skipped] if is_cut else [])


class TestDocument:
    """AID-9: the document stands in for a record that is not there."""

    @pytest.mark.parametrize(
        ("texts", "is_asked"),
        [
            ((), True),
            (("v=spf1 -all",), True),
            ((UAIX1,), True),
            (("",), True),
            ((AID2,), False),
            ((AID1,), False),
            (("v=aid2;p=mcp",), False),
            (("v=aid3;u=https://api.example.com/3;p=mcp",), False),
            (("v=AID2;u=https://api.example.com/mcp;p=mcp",), False),
            ((AID2, AID2.replace("/mcp", "/other")), False),
            (("v=aid2;u=https://api.example.com/mcp;p=telepathy",), False),
            (("v=aid2;u=http://api.example.com/mcp;p=mcp",), False),
            (("v=aid2;p=mcp", UAIX1), False),
        ],
        ids=[
            "nothing",
            "foreign",
            "uaix1",
            "empty",
            "aid2",
            "aid1",
            "malformed",
            "unknown version",
            "capitals",
            "ambiguous",
            "unknown protocol",
            "http",
            "malformed beside uaix1",
        ],
    )
    async def test_when_it_is_asked_for(self, texts: tuple[str, ...], is_asked: bool) -> None:
        n = recorded(*texts) if texts else neighbourhood()
        n.publish(AID_AT, DOCUMENT)
        answer = await n.discover()
        assert (AID_AT in n.paths) is is_asked
        assert (WELL_KNOWN in by_aid(answer)) is is_asked

    @pytest.mark.parametrize("outcome", [DnsOutcome.FAILURE, DnsOutcome.NODATA, DnsOutcome.NXDOMAIN])
    async def test_when_dns_has_no_answer(self, outcome: DnsOutcome) -> None:
        n = neighbourhood()
        n.dns.fail(NAME, "TXT", outcome)
        n.publish(AID_AT, DOCUMENT)
        assert by_aid(await n.discover()) == {WELL_KNOWN}

    async def test_malformed_aid_does_not_keep_the_manifest_away(self) -> None:
        n = recorded("v=aid2;p=mcp")
        n.publish(MANIFEST_AT, manifest())
        assert (await n.discover())["manifest"] is not None

    async def test_it_is_the_last_place_of_all(self) -> None:
        n = neighbourhood()
        n.publish("/", HTML, content_type="text/html")
        n.publish(AID_AT, {**DOCUMENT, "p": "a2a"})
        await n.discover()
        assert n.paths[-1] == AID_AT

    async def test_only_what_belongs_to_its_endpoint_comes_after(self) -> None:
        """MCP-1: the card beside it; and its metadata."""
        n = neighbourhood()
        n.publish(AID_AT, DOCUMENT)
        await n.discover()
        resource = "/.well-known/oauth-protected-resource"
        assert n.paths[n.paths.index(AID_AT) + 1 :] == ["/doc/server-card", f"{resource}/doc", resource]

    @pytest.mark.parametrize("has_card", [True, False], ids=["with a card", "without"])
    async def test_the_card_beside_the_endpoint_that_it_names(self, has_card: bool) -> None:
        n = neighbourhood()
        n.publish(AID_AT, DOCUMENT)
        if has_card:
            n.publish("https://api.example.com/doc/server-card", server_card("https://api.example.com/more"))
        answer = await n.discover()
        found = {("mcp", "https://api.example.com/more", "mcp-server-card", "origin-tls")} if has_card else set()
        assert answer.endpoints == {("mcp", WELL_KNOWN[1], "aid-well-known", "origin-tls")} | found
        assert answer.document("/doc/server-card")["found"] is has_card

    async def test_beside_an_endpoint_that_is_no_mcp_server_there_is_none(self) -> None:
        n = neighbourhood()
        n.publish(AID_AT, {**DOCUMENT, "p": "a2a"})
        await n.discover()
        assert n.paths[-1] == AID_AT

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    @pytest.mark.parametrize("location", ["/aid.json", "https://www.example.com/.well-known/agent"])
    async def test_redirects_are_not_followed(self, status: int, location: str) -> None:
        n = neighbourhood()
        n.publish(f"{SITE}{AID_AT}", b"", status=status, fields=[("Location", location)])
        n.publish("/aid.json", DOCUMENT)
        n.publish("https://www.example.com/.well-known/agent", DOCUMENT)
        answer = await n.discover()
        assert by_aid(answer) == set()
        assert "/aid.json" not in n.paths and n.asked("www.example.com") == []
        assert answer.document(AID_AT)["reason"] == "redirect-refused"

    @pytest.mark.parametrize(
        ("document", "how", "is_used"),
        [
            (DOCUMENT, {}, True),
            ({"v": "aid2", "uri": "https://api.example.com/doc", "proto": "mcp"}, {}, True),
            ({**DOCUMENT, "x": {"any": 1}, "desc": None}, {}, True),
            (DOCUMENT, {"content_type": "application/json; charset=utf-8"}, True),
            (DOCUMENT, {"content_type": "text/plain"}, False),
            (DOCUMENT, {"content_type": None}, False),
            ({**DOCUMENT, "p": "telepathy"}, {}, False),
            ({**DOCUMENT, "u": "http://api.example.com/doc"}, {}, False),
            ({**DOCUMENT, "uri": "https://api.example.com/doc"}, {}, False),
            ({**DOCUMENT, "u": 7}, {}, False),
            ({**DOCUMENT, "v": "aid3"}, {}, False),
            ({**DOCUMENT, "e": "2020-01-01T00:00:00Z"}, {}, False),
            (b'{"v":"aid2","v":"aid2","u":"https://api.example.com/doc","p":"mcp"}', {}, False),
            ({"aid_version": "1.0", "identity": {}}, {}, False),
            (HTML, {"content_type": "text/html"}, False),
            (b"", {}, False),
            (b"[]", {}, False),
            ({**DOCUMENT, "s": "x" * 65_536}, {}, False),
            (DOCUMENT, {"status": 401}, False),
            (DOCUMENT, {"status": 500}, False),
        ],
        ids=[
            "aliases",
            "full names",
            "more members",
            "with a charset",
            "as text",
            "without a type",
            "unknown protocol",
            "http",
            "key and alias",
            "no text",
            "unknown version",
            "withdrawn",
            "a name twice",
            "DNS-AID",
            "HTML",
            "empty",
            "list",
            "too long",
            "401",
            "500",
        ],
    )
    async def test_which_document_counts(self, document: object, how: dict[str, Any], is_used: bool) -> None:
        n = neighbourhood()
        n.publish(AID_AT, document, **how)
        assert by_aid(await n.discover()) == ({WELL_KNOWN} if is_used else set())

    async def test_a_document_that_is_wrong_says_how(self) -> None:
        n = neighbourhood()
        n.publish(AID_AT, {**DOCUMENT, "p": "telepathy"})
        listed = (await n.discover()).document(AID_AT)
        assert [one["rule"] for one in listed["lint"]] == ["ERR_UNSUPPORTED_PROTO"]

    async def test_an_agent_that_runs_here_is_not_offered_by_it_either(self) -> None:
        n = neighbourhood()
        n.publish(AID_AT, {"v": "aid2", "u": "docker:example/agent", "p": "local"})
        assert (await n.discover()).endpoints == set()

    async def test_it_is_trusted_as_far_as_the_origin(self) -> None:
        n = neighbourhood()
        n.publish(AID_AT, DOCUMENT)
        answer = await n.discover()
        assert answer.endpoints == {("mcp", WELL_KNOWN[1], "aid-well-known", "origin-tls")}
        assert answer["coexisting"] == []

    async def test_it_is_kept_for_five_minutes_where_the_origin_says_nothing(self) -> None:
        n = neighbourhood()
        n.publish(AID_AT, DOCUMENT, cache_control=None)
        await n.discover()
        n.engine.clock += 290
        await n.discover()
        assert n.paths.count(AID_AT) == 1
        n.engine.clock += 20
        await n.discover()
        assert n.paths.count(AID_AT) == 2
