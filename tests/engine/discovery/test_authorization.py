"""OAuth metadata in a discovery: which places are asked, in which order, and what may be used (OA-1 to OA-18)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.engine.discovery.discoverer import DiscoverySettings
from proxy.ports import OriginFault, OriginUnavailable
from tests.engine.discovery.documents import (
    CARD_AT,
    CATALOG_AT,
    HTML,
    MANIFEST_AT,
    MCP_CARD_AT,
    MCP_TYPE,
    SITE,
    agent_card,
    catalog,
    entry,
    issuer_metadata,
    manifest,
    resource_metadata,
    sample,
    server_card,
)
from tests.simulators.aidendpoint import AidEndpoint, record
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood

VECTORS = sample("oauth_derivation_vectors.json")
API = "https://api.example.com"
MCP = f"{API}/mcp"
AS = "https://as.example.com"
PR = "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
# What is told of the vectors that are no issuers, in their order.
NO_ISSUERS = ("insecure_url", "unusable_identifier", "unusable_identifier", "metadata_url_as_issuer")


def protecting(resource: str = MCP, *issuers: str, settings: DiscoverySettings | None = None) -> Neighbourhood:
    """A domain whose AID record names `resource`; with `issuers`, its metadata too."""
    n = neighbourhood(settings)
    n.dns.txt("_agent.example.com", f"v=aid2;u={resource};p=mcp")
    if issuers:
        n.publish(f"{API}{PR}/mcp", resource_metadata(resource, *issuers))
    return n


def asked(n: Neighbourhood) -> list[str]:
    """Where metadata was asked for, in order."""
    uris = [sent.request.target.uri for sent in n.engine.origin.requests]
    return [uri for uri in uris if "oauth-" in uri or "openid" in uri]


def codes(answer: Described) -> list[str]:
    told = answer["authorization"]
    return [] if told is None else [problem["code"] for problem in told["problems"]]


def skipped(answer: Described) -> list[tuple[str, str, str]]:
    steps = [step for step in answer["steps"] if step["outcome"] == "skipped"]
    return [(step["step"], step["target"], step["detail"]) for step in steps]


def issuer(answer: Described) -> str | None:
    told = answer["authorization"]
    return None if told is None else told["issuer"]


class TestResources:
    """OA-2, OA-3: where the metadata of a protected resource lies, and whose it is."""

    @pytest.mark.parametrize("vector", VECTORS["rfc9728"], ids=lambda vector: vector["resource"])
    async def test_the_vectors(self, vector: dict[str, str]) -> None:
        n = protecting(vector["resource"])
        await n.discover()
        places = asked(n)
        assert places[0] == vector["url"]
        assert places[1:] in ([], [f"{API}{PR}"])
        assert "then" not in vector or places[1:] == [vector["then"]]

    @pytest.mark.parametrize("resource", [vector["resource"] for vector in VECTORS["rfc9728"]])
    async def test_the_identifier_as_published_is_what_counts(self, resource: str) -> None:
        place = next(vector["url"] for vector in VECTORS["rfc9728"] if vector["resource"] == resource)
        n = protecting(resource)
        n.publish(place, resource_metadata(resource, AS))
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        assert issuer(await n.discover()) == AS

    @pytest.mark.parametrize(
        ("stated", "note"),
        [
            (f"{MCP}/", "last slash"),
            (API, "a parent of it"),
            (f"{API}/", "a parent of it"),
            (f"{API}/mcp?x=1", ""),
            ("https://API.example.com/mcp", ""),
            ("https://api.example.com:443/mcp", ""),
            ("https://other.example.com/mcp", ""),
        ],
        ids=["slash more", "parent", "parent with slash", "query", "case", "port", "other host"],
    )
    async def test_another_resource_is_not_this_one(self, stated: str, note: str) -> None:
        n = protecting()
        n.publish(f"{API}{PR}/mcp", resource_metadata(stated, AS))
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        answer = await n.discover()
        assert (issuer(answer), codes(answer)) == (None, ["resource_mismatch"])
        problem = answer["authorization"]["problems"][0]
        assert f'"{MCP}"' in problem["detail"] and f'"{stated}"' in problem["detail"] and note in problem["detail"]
        assert problem["url"] == f"{API}{PR}/mcp"
        assert n.asked("as.example.com") == []

    @pytest.mark.parametrize(
        ("body", "how"),
        [
            (b"", {"status": 404}),
            (b"", {"status": 401}),
            (b"", {"status": 403}),
            (b"", {"status": 406}),
            (b"", {}),
            (HTML, {"content_type": "text/html"}),
            (b"Welcome", {"content_type": "text/plain"}),
            ({"authorization_servers": [AS]}, {}),
            (resource_metadata(API, AS), {}),
            (b"", {"status": 500}),
        ],
        ids=["404", "401", "403", "406", "empty", "HTML", "text", "no resource", "another resource", "500"],
    )
    async def test_after_the_path_comes_the_root(self, body: object, how: dict[str, Any]) -> None:
        n = protecting()
        n.publish(f"{API}{PR}/mcp", body, **how)
        n.publish(f"{API}{PR}", resource_metadata(MCP, AS))
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        assert issuer(await n.discover()) == AS
        assert asked(n)[:2] == [f"{API}{PR}/mcp", f"{API}{PR}"]

    @pytest.mark.parametrize("count", [1, 2])
    async def test_up_to_two_of_each_nothing_is_left_out(self, count: int) -> None:
        remotes = [{"type": "streamable-http", "url": f"{API}/r{number}"} for number in range(count)]
        n = neighbourhood()
        n.publish(MCP_CARD_AT, {**server_card(), "remotes": remotes})
        issuers = [f"https://as{number}.example.com" for number in range(count)]
        n.publish(f"{API}{PR}/r0", resource_metadata(f"{API}/r0", *issuers))
        assert skipped(await n.discover()) == []

    async def test_nothing_anywhere_is_nothing_to_tell(self) -> None:
        n = protecting()
        assert (await n.discover())["authorization"] is None
        assert asked(n) == [f"{API}{PR}/mcp", f"{API}{PR}"]

    async def test_a_resource_without_servers_ends_there(self) -> None:
        n = protecting(MCP)
        n.publish(f"{API}{PR}/mcp", {"resource": MCP})
        assert issuer(await n.discover()) is None
        assert asked(n) == [f"{API}{PR}/mcp"]

    async def test_two_servers_at_most(self) -> None:
        issuers = [f"https://as{number}.example.com" for number in range(5)]
        n = protecting(MCP, *issuers)
        answer = await n.discover()
        assert skipped(answer) == [("oauth-as", issuers[2], "Of 5 issuers 2 are looked up.")]
        assert {sent.request.target.host for sent in n.engine.origin.requests} == {
            "example.com",
            "api.example.com",
            "as0.example.com",
            "as1.example.com",
        }

    async def test_the_second_server_counts_where_the_first_is_none(self) -> None:
        n = protecting(MCP, "https://gone.example.com", AS)
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        assert issuer(await n.discover()) == AS

    async def test_two_resources_at_most(self) -> None:
        remotes = [{"type": "streamable-http", "url": f"{API}/r{number}"} for number in range(6)]
        n = neighbourhood()
        n.publish(MCP_CARD_AT, {**server_card(), "remotes": remotes})
        answer = await n.discover()
        assert skipped(answer) == [("oauth-pr", f"{API}/r2", "Of 6 endpoints 2 are looked up.")]
        assert [place for place in asked(n) if not place.endswith(PR)] == [f"{API}{PR}/r0", f"{API}{PR}/r1"]

    @pytest.mark.parametrize("how", ["well-known", "catalog"])
    async def test_endpoints_of_cards_are_resources(self, how: str) -> None:
        n = neighbourhood()
        if how == "well-known":
            n.publish(MCP_CARD_AT, server_card(MCP))
        else:
            n.publish(CATALOG_AT, catalog(entry("tools", f"{SITE}/card", MCP_TYPE)))
            n.publish("/card", server_card(MCP))
        n.publish(f"{API}{PR}/mcp", resource_metadata(MCP, AS))
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        assert issuer(await n.discover()) == AS

    async def test_what_is_no_identifier_derives_nothing(self) -> None:
        n = neighbourhood()
        n.publish(MCP_CARD_AT, server_card(f"{MCP}#tools"))
        answer = await n.discover()
        assert (asked(n), answer["authorization"]) == ([], None)

    async def test_agents_that_are_no_mcp_servers_are_none(self) -> None:
        n = neighbourhood()
        n.dns.txt("_agent.example.com", f"v=aid2;u={API}/a2a;p=a2a")
        await n.discover()
        assert asked(n) == []

    @pytest.mark.parametrize("target", ["https://evil.example.net/pr", "https://api.example.com/pr"])
    async def test_redirects_stay_in_the_domain(self, target: str) -> None:
        n = protecting()
        n.publish(f"{API}{PR}/mcp", b"", status=302, fields=[("Location", target)])
        n.publish(target, resource_metadata(MCP, AS))
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        assert issuer(await n.discover()) == (AS if "example.com" in target else None)
        assert n.asked("evil.example.net") == []


class TestServers:
    """OA-10, OA-11: where the metadata of an issuer lies, and whose it is."""

    @pytest.mark.parametrize(
        "vector", [one for one in VECTORS["rfc8414"] if "tries" in one], ids=lambda vector: vector["issuer"]
    )
    async def test_the_vectors(self, vector: dict[str, Any]) -> None:
        n = protecting(MCP, vector["issuer"])
        await n.discover()
        assert asked(n)[1:] == vector["tries"]

    @pytest.mark.parametrize(
        ("vector", "number"),
        [(one, number) for one in VECTORS["rfc8414"] for number in range(len(one.get("tries", ())))],
        ids=lambda value: value["issuer"] if isinstance(value, dict) else str(value),
    )
    async def test_each_place_will_do(self, vector: dict[str, Any], number: int) -> None:
        place, name = vector["tries"][number], vector["issuer"]
        n = protecting(MCP, name)
        n.publish(place, issuer_metadata(name))
        answer = await n.discover()
        assert answer["authorization"] == {
            "metadata_url": place,
            "issuer": name,
            "token_endpoint": f"{name.removesuffix('/')}/token",
            "token_endpoint_auth_methods_supported": ["private_key_jwt"],
            "problems": [],
        }
        assert asked(n)[-1] == place

    @pytest.mark.parametrize(
        ("vector", "code"),
        [*zip([one for one in VECTORS["rfc8414"] if "error" in one], NO_ISSUERS, strict=True)],
        ids=["http", "query", "fragment", "metadata URL"],
    )
    async def test_what_is_no_issuer(self, vector: dict[str, str], code: str) -> None:
        n = protecting(MCP, vector["issuer"])
        answer = await n.discover()
        assert codes(answer) == [code]
        recovered = ["https://www.example.com"] if code == "metadata_url_as_issuer" else []
        assert asked(n)[1:3] == [f"{one}{place}" for one in recovered for place in (SERVER, OPENID)]

    async def test_a_metadata_url_in_the_place_of_an_issuer_is_mended_where_the_metadata_says_so(self) -> None:
        n = protecting(MCP, f"{AS}{SERVER}/tenant")
        n.publish(f"{AS}{SERVER}/tenant", issuer_metadata(f"{AS}/tenant"))
        answer = await n.discover()
        assert (issuer(answer), codes(answer)) == (f"{AS}/tenant", ["metadata_url_as_issuer"])

    @pytest.mark.parametrize("vector", VECTORS["rfc8414_validate"], ids=lambda vector: vector["got"])
    async def test_the_issuer_is_repeated_exactly(self, vector: dict[str, Any]) -> None:
        n = protecting(MCP, vector["requested"])
        path = vector["requested"].removeprefix(AS)
        n.publish(f"{AS}{SERVER}{path}", issuer_metadata(vector["got"]))
        answer = await n.discover()
        if vector["ok"]:
            assert (issuer(answer), codes(answer)) == (vector["got"], [])
            return
        assert (issuer(answer), codes(answer)) == (None, ["issuer_mismatch"])
        detail = answer["authorization"]["problems"][0]["detail"]
        assert f'"{vector["requested"]}"' in detail and f'"{vector["got"]}"' in detail

    @pytest.mark.parametrize(
        ("named", "stated", "by_rule"),
        [
            (AS, AS, {"strict": [], "pathless": []}),
            (AS, f"{AS}/", {"strict": None, "pathless": ["issuer_slash"]}),
            (f"{AS}/", AS, {"strict": None, "pathless": ["issuer_slash"]}),
            (f"{AS}/t", f"{AS}/t/", {"strict": None, "pathless": None}),
            (AS, "https://other.example.com/", {"strict": None, "pathless": None}),
        ],
        ids=["the same", "slash more", "slash less", "slash of a path", "another host"],
    )
    @pytest.mark.parametrize("slash", ["strict", "pathless"])
    async def test_the_operator_may_forgive_the_slash_of_an_issuer_without_a_path(
        self, slash: Any, named: str, stated: str, by_rule: dict[str, list[str] | None]
    ) -> None:
        """OA-11: None where the metadata is not used."""
        n = protecting(MCP, named, settings=DiscoverySettings(issuer_slash=slash))
        n.publish(f"{AS}{SERVER}{named.removeprefix(AS).rstrip('/')}", issuer_metadata(stated))
        answer = await n.discover()
        expected = by_rule[slash]
        assert issuer(answer) == (None if expected is None else stated)
        assert codes(answer) == (["issuer_mismatch"] if expected is None else expected)

    async def test_a_mismatch_is_not_the_end(self) -> None:
        n = protecting(MCP, AS)
        n.publish(f"{AS}{SERVER}", issuer_metadata(f"{AS}/"))
        n.publish(f"{AS}{OPENID}", issuer_metadata(AS))
        answer = await n.discover()
        assert (issuer(answer), codes(answer)) == (AS, ["issuer_mismatch"])
        assert answer["authorization"]["metadata_url"] == f"{AS}{OPENID}"

    @pytest.mark.parametrize(
        ("body", "how"),
        [
            (b"", {}),
            (HTML, {"content_type": "text/html"}),
            (b"Not here", {"content_type": "text/plain"}),
            ({"error": "no"}, {}),
            (b"", {"status": 400}),
            (b"", {"status": 401}),
            (b"", {"status": 403}),
            (b"", {"status": 404}),
            (b"", {"status": 410}),
            (b"", {"status": 429}),
            (b"", {"status": 502}),
            (issuer_metadata("https://other.example.com"), {}),
            (b"", {"status": 302, "fields": [("Location", "https://elsewhere.example.com/as")]}),
        ],
        ids=[
            "empty 200",
            "HTML",
            "text",
            "error object",
            "400",
            "401",
            "403",
            "404",
            "410",
            "429",
            "502",
            "another issuer",
            "redirect to another origin",
        ],
    )
    async def test_the_next_place_is_tried(self, body: object, how: dict[str, Any]) -> None:
        n = protecting(MCP, f"{AS}/t")
        n.publish(f"{AS}{SERVER}/t", body, **how)
        n.publish(f"{AS}{OPENID}/t", issuer_metadata(f"{AS}/t"))
        n.publish("https://elsewhere.example.com/as", issuer_metadata(f"{AS}/t"))
        assert issuer(await n.discover()) == f"{AS}/t"
        assert n.asked("elsewhere.example.com") == []

    @pytest.mark.parametrize("status", [500, 501, 503, 504])
    async def test_a_server_that_fails_stops_the_search(self, status: int) -> None:
        n = protecting(MCP, f"{AS}/t")
        n.publish(f"{AS}{SERVER}/t", b"", status=status)
        n.publish(f"{AS}{OPENID}/t", issuer_metadata(f"{AS}/t"))
        answer = await n.discover()
        assert issuer(answer) is None
        assert asked(n)[1:] == [f"{AS}{SERVER}/t"]
        assert answer.step("oauth-as")["outcome"] == "failed"

    @pytest.mark.parametrize("fault", [OriginFault.UNREACHABLE, OriginFault.TIMEOUT, OriginFault.INVALID_RESPONSE])
    async def test_a_server_that_is_not_there_does_too(self, fault: OriginFault) -> None:
        def unavailable(_: object) -> Any:
            raise OriginUnavailable(fault, "simulated")

        n = protecting(MCP, AS)
        n.engine.origin.answer(f"{AS}{SERVER}", unavailable)
        n.publish(f"{AS}{OPENID}", issuer_metadata(AS))
        assert issuer(await n.discover()) is None
        assert asked(n)[1:] == [f"{AS}{SERVER}"]

    async def test_the_next_issuer_is_asked_all_the_same(self) -> None:
        n = protecting(MCP, AS, "https://second.example.com")
        n.publish(f"{AS}{SERVER}", b"", status=500)
        n.publish(f"https://second.example.com{SERVER}", issuer_metadata("https://second.example.com"))
        assert issuer(await n.discover()) == "https://second.example.com"

    async def test_realms_are_found_by_the_appended_form(self) -> None:
        realm = f"{AS}/realms/shop"
        n = protecting(MCP, realm)
        n.publish(f"{realm}{OPENID}", issuer_metadata(realm))
        assert issuer(await n.discover()) == realm

    async def test_no_fourth_place_is_guessed(self) -> None:
        realm = f"{AS}/realms/shop"
        n = protecting(MCP, realm)
        n.publish(f"{realm}{SERVER}", issuer_metadata(realm))
        assert issuer(await n.discover()) is None

    async def test_redirects_within_the_origin_are_followed(self) -> None:
        n = protecting(MCP, AS)
        n.publish(f"{AS}{SERVER}", b"", status=302, fields=[("Location", f"{AS}/metadata.json")])
        n.publish(f"{AS}/metadata.json", issuer_metadata(AS))
        assert issuer(await n.discover()) == AS

    @pytest.mark.parametrize(
        ("members", "expected"),
        [
            ({"code_challenge_methods_supported": None}, ["s256_missing"]),
            ({"code_challenge_methods_supported": ["plain"]}, ["s256_missing"]),
            ({"response_types_supported": ["none"]}, ["stub"]),
            ({"grant_types_supported": []}, ["stub"]),
            ({"token_endpoint": "http://as.example.com/token"}, ["insecure_url"]),
            ({"token_endpoint": "https://10.0.0.1/token"}, ["unusable_url"]),
            ({"token_endpoint": 7}, ["member_malformed"]),
        ],
        ids=["no S256", "plain only", "stub", "no grants", "http", "private", "no text"],
    )
    async def test_problems_of_the_metadata_are_told(self, members: dict[str, object], expected: list[str]) -> None:
        n = protecting(MCP, AS)
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS, **members))
        answer = await n.discover()
        assert (issuer(answer), codes(answer)) == (AS, expected)
        assert {problem["url"] for problem in answer["authorization"]["problems"]} == {f"{AS}{SERVER}"}

    async def test_a_secret_in_an_endpoint_is_not_repeated(self) -> None:
        n = protecting(MCP, AS)
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS, token_endpoint=f"{AS}/token?client_secret=SeCrEt0123456789"))
        answer = await n.discover()
        assert (issuer(answer), answer["authorization"]["token_endpoint"]) == (AS, None)
        assert codes(answer) == ["unusable_url"]
        assert b"SeCrEt0123456789" not in answer.prepared.body(0.0)

    async def test_a_missing_endpoint_stays_missing(self) -> None:
        metadata = issuer_metadata(AS)
        del metadata["token_endpoint"]
        n = protecting(MCP, AS)
        n.publish(f"{AS}{SERVER}", metadata)
        answer = await n.discover()
        assert (answer["authorization"]["token_endpoint"], codes(answer)) == (None, ["member_missing"])

    @pytest.mark.parametrize("name", ["https://schemas.agentskills.io", "https://uaix.org/oauth"])
    async def test_central_services_are_not_asked(self, name: str) -> None:
        n = protecting(MCP, name)
        answer = await n.discover()
        assert {sent.request.target.host for sent in n.engine.origin.requests} == {"example.com", "api.example.com"}
        assert answer["overhead"]["central_services"] == 0

    @pytest.mark.parametrize("name", ["https://127.0.0.1", "https://10.1.2.3/t", "https://localhost", "https://as"])
    async def test_issuers_inside_are_not_asked(self, name: str) -> None:
        n = protecting(MCP, name)
        answer = await n.discover()
        assert (asked(n), codes(answer)) == ([f"{API}{PR}/mcp"], ["unusable_identifier"])


class TestMetadataUrls:
    """OA-13: metadata that a document names has to lie where its issuer says."""

    @pytest.mark.parametrize(
        ("url", "stated"),
        [
            (f"{AS}{SERVER}", AS),
            (f"{AS}{OPENID}", AS),
            (f"{AS}{SERVER}/t", f"{AS}/t"),
            (f"{AS}/t{OPENID}", f"{AS}/t"),
            (f"{AS}{SERVER}", f"{AS}/"),
        ],
        ids=["server", "openid", "inserted", "appended", "slash"],
    )
    @pytest.mark.parametrize("how", ["manifest", "card"])
    async def test_one_that_does(self, how: str, url: str, stated: str) -> None:
        n = self.naming(how, url)
        n.publish(url, issuer_metadata(stated))
        answer = await n.discover()
        assert answer["authorization"]["metadata_url"] == url
        assert (issuer(answer), codes(answer), asked(n)) == (stated, [], [url])

    @pytest.mark.parametrize(
        ("url", "stated", "code"),
        [
            (f"{AS}{SERVER}", "https://other.example.com", "metadata_url_mismatch"),
            (f"{AS}{SERVER}/t", AS, "metadata_url_mismatch"),
            (f"{AS}/oauth/metadata", AS, "metadata_url_mismatch"),
            (f"{AS}{SERVER}", "https://AS.example.com", "metadata_url_mismatch"),
        ],
        ids=["another issuer", "another path", "no derived place", "case"],
    )
    @pytest.mark.parametrize("how", ["manifest", "card"])
    async def test_one_that_does_not(self, how: str, url: str, stated: str, code: str) -> None:
        n = self.naming(how, url)
        n.publish(url, issuer_metadata(stated))
        answer = await n.discover()
        assert (issuer(answer), codes(answer)) == (None, [code])
        detail = answer["authorization"]["problems"][0]["detail"]
        assert f'"{url}"' in detail and f'"{stated}"' in detail
        assert asked(n) in ([url], [])

    @pytest.mark.parametrize("how", ["manifest", "card"])
    async def test_it_comes_before_what_an_endpoint_derives(self, how: str) -> None:
        n = self.naming(how, f"{AS}{SERVER}")
        n.dns.txt("_agent.example.com", f"v=aid2;u={MCP};p=mcp")
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        assert issuer(await n.discover()) == AS
        assert asked(n) == [f"{AS}{SERVER}"]

    @pytest.mark.parametrize("how", ["manifest", "card"])
    async def test_where_it_is_missing_the_endpoint_derives(self, how: str) -> None:
        n = self.naming(how, f"{AS}{SERVER}")
        n.dns.txt("_agent.example.com", f"v=aid2;u={MCP};p=mcp")
        n.publish(f"{API}{PR}/mcp", resource_metadata(MCP, "https://second.example.com"))
        n.publish(f"https://second.example.com{SERVER}", issuer_metadata("https://second.example.com"))
        answer = await n.discover()
        assert (issuer(answer), codes(answer)) == ("https://second.example.com", ["metadata_missing"])

    @pytest.mark.parametrize(
        ("body", "answer_as"),
        [
            (b"", {"status": 404}),
            (b"", {"status": 401}),
            (b"", {"status": 500}),
            (b"", {}),
            (HTML, {"content_type": "text/html"}),
            ({"token_endpoint": f"{AS}/token"}, {}),
        ],
        ids=["404", "401", "500", "empty", "HTML", "no issuer"],
    )
    @pytest.mark.parametrize("how", ["manifest", "card"])
    async def test_where_nobody_has_any_that_is_told(
        self, how: str, body: object, answer_as: dict[str, Any]
    ) -> None:
        n = self.naming(how, f"{AS}{SERVER}")
        n.publish(f"{AS}{SERVER}", body, **answer_as)
        answer = await n.discover()
        assert (issuer(answer), codes(answer)) == (None, ["metadata_missing"])
        (problem,) = answer["authorization"]["problems"]
        assert problem["url"] == f"{AS}{SERVER}"
        assert problem["detail"].startswith("A document names this URL of metadata, and there is none: ")

    @pytest.mark.parametrize(
        "url", ["http://as.example.com/x", "https://10.0.0.1/x", "https://u:p@as.example.com/x"]
    )
    async def test_one_that_may_not_be_fetched(self, url: str) -> None:
        n = self.naming("card", url)
        assert (await n.discover())["authorization"] is None
        assert n.asked("as.example.com") == []

    async def test_the_same_in_both_is_read_once(self) -> None:
        n = self.naming("card", f"{AS}{SERVER}")
        n.publish(MANIFEST_AT, manifest(x_auth_metadata=f"{AS}{SERVER}"))
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        assert issuer(await n.discover()) == AS
        assert asked(n) == [f"{AS}{SERVER}"]

    def naming(self, how: str, url: str) -> Neighbourhood:
        n = neighbourhood()
        if how == "manifest":
            n.publish(MANIFEST_AT, manifest(x_auth_metadata=url))
        else:
            schemes = {"o": {"oauth2SecurityScheme": {"flows": {}, "oauth2MetadataUrl": url}}}
            n.publish(CARD_AT, agent_card(securitySchemes=schemes))
        return n


class TestChallenges:
    """OA-1: what a 401 of the endpoint itself names. It is heard only where a proof is asked for anyway."""

    def challenged(self, *challenges: str) -> Neighbourhood:
        n = neighbourhood()
        n.dns.txt("_agent.example.com", record(MCP))
        lines = tuple(("WWW-Authenticate", challenge) for challenge in challenges)
        n.engine.origin.answer("/mcp", AidEndpoint(n.engine.clock, status=401, more=lines))
        return n

    @pytest.mark.parametrize("vector", VECTORS["www_authenticate"], ids=range(4))
    async def test_the_vectors(self, vector: dict[str, Any]) -> None:
        n = self.challenged(vector["h"])
        named = vector["rm"]
        if named is not None:
            n.publish(named, resource_metadata(MCP, AS))
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        answer = await n.discover()
        uris = [sent.request.target.uri for sent in n.engine.origin.requests]
        assert issuer(answer) == (AS if named else None)
        assert named is None or named in uris
        assert n.asked("169.254.169.254") == []

    async def test_what_it_names_comes_first(self) -> None:
        n = self.challenged(f'Bearer resource_metadata="{API}/meta"')
        n.publish(f"{API}/meta", resource_metadata(MCP, AS))
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        answer = await n.discover()
        assert issuer(answer) == AS
        assert not [place for place in asked(n) if PR in place]

    @pytest.mark.parametrize(
        ("body", "how", "expected"),
        [
            (b"", {"status": 404}, ["metadata_missing"]),
            (resource_metadata(API, AS), {}, ["resource_mismatch"]),
            (HTML, {"content_type": "text/html"}, ["metadata_missing"]),
        ],
        ids=["missing", "another resource", "HTML"],
    )
    async def test_where_that_fails_the_derived_places_count(
        self, body: object, how: dict[str, Any], expected: list[str]
    ) -> None:
        n = self.challenged(f'Bearer resource_metadata="{API}/mcp/mcp"')
        n.publish(f"{API}/mcp/mcp", body, **how)
        n.publish(f"{API}{PR}/mcp", resource_metadata(MCP, AS))
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        answer = await n.discover()
        assert (issuer(answer), codes(answer)) == (AS, expected)
        assert {problem["url"] for problem in answer["authorization"]["problems"]} == {f"{API}/mcp/mcp"}

    @pytest.mark.parametrize(
        "named", ["https://evil.example.net/pr", "http://api.example.com/pr", "https://10.0.0.1/pr", "pr", ""]
    )
    async def test_other_domains_and_odd_urls_are_not_asked(self, named: str) -> None:
        n = self.challenged(f'Bearer resource_metadata="{named}"')
        n.publish("/pr", resource_metadata(MCP, AS))
        await n.discover()
        assert "/pr" not in n.paths

    async def test_any_of_several_challenges_may_name_it(self) -> None:
        n = self.challenged('Basic realm="x"', 'DPoP algs="ES256"', f'Bearer resource_metadata="{API}/meta"')
        n.publish(f"{API}/meta", resource_metadata(MCP, AS))
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        assert issuer(await n.discover()) == AS

    async def test_endpoints_are_not_asked_for_a_challenge(self) -> None:
        n = protecting()
        await n.discover()
        assert "/mcp" not in n.paths


class TestWho:
    """U-D5: for clients that may authorise, and for those that claim nothing."""

    @pytest.mark.parametrize(
        ("level", "ladder", "is_asked"),
        [
            (None, None, True),
            ("L0", None, False),
            ("L1", None, False),
            ("L2", None, False),
            ("L3", None, False),
            ("L4", None, True),
            ("L5", None, True),
            ("L7", "exec", True),
            ("L4", "surface", False),
            ("L9", None, False),
        ],
    )
    async def test_by_level(self, level: str | None, ladder: str | None, is_asked: bool) -> None:
        n = protecting(MCP, AS)
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        answer = await n.discover(level=level, ladder=ladder)
        assert bool(asked(n)) is is_asked
        assert issuer(answer) == (AS if is_asked else None)


class TestCaching:
    async def test_a_second_discovery_costs_nothing(self) -> None:
        n = protecting(MCP, AS)
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        first = await n.discover()
        count = len(n.paths)
        second = await n.discover()
        assert second["authorization"] == first["authorization"]
        assert len(n.paths) == count

    async def test_after_a_change_of_issuer_the_old_one_is_not_used(self) -> None:
        n = protecting(MCP, AS)
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS), cache_control="max-age=10, must-revalidate")
        assert issuer(await n.discover()) == AS
        changed = issuer_metadata("https://evil.example.com")
        n.publish(f"{AS}{SERVER}", changed, cache_control="max-age=10, must-revalidate")
        n.engine.clock += 60
        answer = await n.discover()
        assert (issuer(answer), codes(answer)) == (None, ["issuer_mismatch"])

    async def test_documents_are_listed(self) -> None:
        n = protecting(MCP, AS)
        n.publish(f"{AS}{SERVER}", issuer_metadata(AS))
        answer = await n.discover()
        assert answer.document(f"{PR}/mcp")["class"] == "oauth-pr"
        assert answer.document(SERVER)["class"] == "oauth-as"

    async def test_an_issuer_shown_is_escaped(self) -> None:
        n = protecting(MCP, AS)
        n.publish(f"{AS}{SERVER}", issuer_metadata("https://as.example.com\u202e\n"))
        detail = (await n.discover())["authorization"]["problems"][-1]["detail"]
        assert "\\u202e\\n" in detail and "\u202e" not in detail and "\n" not in detail
