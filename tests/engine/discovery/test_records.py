"""The DNS round of a discovery: what each answer makes of the records, and of what is read then (§0.3, §10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from proxy.discovery.records.dnsvalues import DnsAnswer, DnsOutcome, Security, Svcb, Txt
from proxy.engine.discovery.discoverer import DiscoverySettings
from tests.engine.discovery.documents import AID_AT, CATALOG_AT, MANIFEST_AT, MCP_CARD_AT, catalog, manifest
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood
from tests.simulators.dns import DnsSimulator

AGENT = "_agent.example.com"
INDEX = "_index._agents.example.com"
CATALOG = "_catalog._agents.example.com"
ENTRIES = "_entries._agents.example.com"
UAIX = "v=uaix1; endpoint=https://example.com/.well-known/uaix-agent-access.json; did=did:web:example.com"
ELSEWHERE = "v=uaix1; endpoint=https://agents.example.com/access.json"
OFF_DOMAIN = "v=uaix1; endpoint=https://other.example.net/access.json"
AID2 = "v=aid2;u=https://api.example.com/mcp;p=mcp"
AID1 = "v=aid1;u=https://old.example.com/mcp;p=mcp"
DOCUMENTS = "https://docs.example.com"

Publishing = Callable[[DnsSimulator], object]


def told(found: Described) -> list[tuple[str, bool, str | None]]:
    """Each record in the order told: its kind, whether it is accepted, and the name of the reason."""
    return [
        (record["kind"], record["accepted"], record["reason"] and record["reason"].partition(":")[0])
        for record in found["dns"]["records"]
    ]


def serving(settings: DiscoverySettings | None = None) -> Neighbourhood:
    """The domain with its manifest at the default place."""
    n = neighbourhood(settings)
    n.publish(MANIFEST_AT, manifest())
    return n


TXT = {
    "uaix1": ((UAIX,), [("uaix1", True, None)], []),
    "uaix1 without an endpoint": (("v=uaix1; did=did:web:example.com",), [("uaix1", True, None)], []),
    "uaix1 with unknown keys": ((f"{UAIX}; note=x",), [("uaix1", True, None)], []),
    "aid2": ((AID2,), [("aid2", True, None)], ["aid2"]),
    "aid1": ((AID1,), [("aid1", True, None)], ["aid1"]),
    "uaix1 and aid2 in one set": ((UAIX, AID2), [("uaix1", True, None), ("aid2", True, None)], ["aid2"]),
    "aid2 before aid1": (
        (AID1, AID2),
        [("aid1", True, "superseded"), ("aid2", True, None)],
        ["aid1", "aid2"],
    ),
    "a malformed aid2 beside an aid1": (
        ("v=aid2;p=mcp", AID1),
        [("aid2", False, "ERR_INVALID_TXT"), ("aid1", True, None)],
        ["aid1"],
    ),
    "the same uaix1 twice": ((UAIX, UAIX), [("uaix1", True, None), ("uaix1", True, None)], []),
    "two different uaix1": (
        (UAIX, ELSEWHERE),
        [("uaix1", False, "ambiguous"), ("uaix1", False, "ambiguous")],
        [],
    ),
    "two different aid2": (
        (AID2, AID2.replace("api", "two")),
        [("aid2", False, "ERR_INVALID_TXT"), ("aid2", False, "ERR_INVALID_TXT")],
        [],
    ),
    "a duplicate key": ((f"{UAIX}; did=did:web:b.example",), [("uaix1", False, "duplicate_key")], []),
    "an http endpoint": (("v=uaix1; endpoint=http://example.com/a",), [("uaix1", False, "https_required")], []),
    "userinfo": (("v=uaix1; endpoint=https://u:p@example.com/a",), [("uaix1", False, "userinfo")], []),
    "a private address": (("v=uaix1; endpoint=https://10.0.0.5/a",), [("uaix1", False, "ssrf")], []),
    "another protocol's port": (("v=uaix1; endpoint=https://example.com:22/",), [("uaix1", False, "port")], []),
    "no https URL at all": (("v=uaix1; endpoint=agents",), [("uaix1", False, "malformed")], []),
    "a later version": (("v=uaix2; endpoint=https://example.com/a",), [("foreign", False, "unknown_version")], []),
    "a version in capitals": (("v=UAIX1; did=did:web:example.com",), [("foreign", False, "unknown_version")], []),
    "a DID of somebody else": (("v=uaix1; did=did:web:other.net",), [("uaix1", True, "did_ignored")], []),
    "an endpoint off the domain": ((OFF_DOMAIN,), [("uaix1", False, "needs_proof")], []),
    "AID in capitals": (("v=AID1; endpoint=https://example.com/mcp",), [("foreign", False, "ERR_INVALID_TXT")], []),
    "SPF": (("v=spf1 -all",), [("foreign", False, "foreign")], []),
    "a verification token": (("paddle-verification=abc",), [("foreign", False, "foreign")], []),
    "an empty record": (("",), [("foreign", False, "empty")], []),
    "octets that are no UTF-8": ((b"v=uaix1; did=\xff\xfe",), [("uaix1", False, "not_utf_8")], []),
    "octets that are nothing": ((b"\xff\x00\xfe",), [("foreign", False, "foreign")], []),
    "65 kB of it": (("v=uaix1; note=" + "a" * 65_000,), [("uaix1", True, None)], []),
}


class TestAgentTxt:
    """U-T1 to U-T8: every record is listed, each partition by its own rules, and the default is always tried."""

    @pytest.mark.parametrize(("texts", "records", "coexisting"), TXT.values(), ids=TXT)
    async def test_what_is_told(
        self, texts: tuple[str | bytes, ...], records: list[tuple[str, bool, str | None]], coexisting: list[str]
    ) -> None:
        n = serving()
        n.dns.txt(AGENT, *texts)
        found = await n.discover()
        assert sorted(told(found), key=str) == sorted(records, key=str)
        assert found["coexisting"] == coexisting
        assert (found["outcome"], found["manifest"]["url"]) == ("found", f"https://example.com{MANIFEST_AT}")
        assert all(len(str(record["value"])) < 400 for record in found["dns"]["records"])

    async def test_forty_strings_are_one_record(self) -> None:
        n = serving()
        text = f"{UAIX}; note={'a' * 400}".encode()
        n.dns.publish(AGENT, "TXT", [Txt(tuple(text[place : place + 13] for place in range(0, len(text), 13)))])
        found = await n.discover()
        assert told(found) == [("uaix1", True, None)]
        assert found["dns"]["records"][0]["value"]["did"] == "did:web:example.com"

    async def test_no_strings_at_all(self) -> None:
        n = serving()
        n.dns.publish(AGENT, "TXT", [Txt(())])
        assert told(await n.discover()) == [("foreign", False, "empty")]

    async def test_the_exact_name_is_asked_for_and_none_above(self) -> None:
        n = neighbourhood()
        await n.discover("eu.shop.example.com")
        assert {name.partition(".")[2] for name, _ in n.dns.asked if name.startswith("_agent.")} == {
            "eu.shop.example.com"
        }
        assert all(name.endswith(".eu.shop.example.com") for name, _ in n.dns.asked)

    async def test_the_first_round_is_asked_at_once(self) -> None:
        n = serving()
        n.dns.hang("*")
        task = n.start()
        await n.engine.settle()
        assert set(n.dns.asked) == {(AGENT, "TXT"), (CATALOG, "SVCB"), (INDEX, "SVCB"), (ENTRIES, "SVCB")}
        task.cancel()


ENDINGS: dict[str, tuple[DnsOutcome, Security, str, str]] = {
    "no such name": (DnsOutcome.NXDOMAIN, Security.INSECURE, "absent", "nxdomain, insecure, by simulated"),
    "no such record": (DnsOutcome.NODATA, Security.SECURE, "absent", "nodata, secure, by simulated"),
    "no answer": (DnsOutcome.FAILURE, Security.INDETERMINATE, "failed", "timeout from simulated"),
    "bogus": (DnsOutcome.FAILURE, Security.BOGUS, "failed", "timeout from simulated"),
}


class TestOutcomes:
    """C-24, C-25, U-T7: however a query ends, the default place is asked; the state and the resolver are told."""

    @pytest.mark.parametrize(("outcome", "security", "ended", "detail"), ENDINGS.values(), ids=ENDINGS)
    async def test_of_the_agent_record(
        self, outcome: DnsOutcome, security: Security, ended: str, detail: str
    ) -> None:
        n = serving()
        n.dns.txt(AGENT, UAIX)
        n.dns.publish(AGENT, "TXT", [])
        n.dns.fail(AGENT, "TXT", outcome)
        n.dns.securities[AGENT] = security
        found = await n.discover()
        step = found.step("dns-txt")
        assert (step["outcome"], step["detail"]) == (ended, detail)
        assert (found["dns"]["dnssec"], found["dns"]["records"]) == (security.value, [])
        assert found["manifest"] is not None and MANIFEST_AT in n.paths
        assert AID_AT in n.paths

    async def test_nothing_bogus_is_followed(self) -> None:
        n = serving()
        n.dns.svcb(CATALOG, 1, "docs.example.com")
        n.dns.fail(CATALOG, "SVCB")
        found = await n.discover()
        assert told(found) == []
        assert n.asked("docs.example.com") == []

    async def test_a_failure_is_asked_again_within_thirty_seconds(self) -> None:
        n = serving()
        n.dns.fail(AGENT, "TXT")
        found = await n.discover()
        assert found.prepared.fresh_until - n.engine.clock() <= 30
        n.engine.clock += 30
        n.dns.asked.clear()
        await n.discover()
        assert (AGENT, "TXT") in n.dns.asked

    @pytest.mark.parametrize("security", Security)
    async def test_the_state_is_told(self, security: Security) -> None:
        n = serving()
        n.dns.txt(AGENT, UAIX)
        n.dns.security = security
        assert (await n.discover())["dns"]["dnssec"] == security.value

    async def test_the_answer_is_good_no_longer_than_the_shortest_ttl(self) -> None:
        n = serving()
        n.dns.ttl = 7
        n.dns.txt(AGENT, UAIX)
        found = await n.discover()
        assert found.prepared.fresh_until == n.engine.clock() + 7
        assert found["dns"]["records"][0]["ttl"] == 7

    async def test_what_is_known_already_is_asked_of_nobody(self) -> None:
        n = serving()
        n.dns.txt(AGENT, UAIX)
        await n.discover()
        found = await n.discover(level="L4")
        step = found.step("dns-txt")
        assert (step["outcome"], step["detail"]) == ("cached", "1 of TXT, insecure, by simulated (cached)")
        assert (found.step("dns-svcb")["outcome"], found.step("dns-svcb")["bytes"]) == ("absent", 0)
        assert found["overhead"]["dns_queries"] == 0

    @pytest.mark.parametrize(
        ("members", "detail"),
        [
            ({}, "2 of TXT, insecure, by simulated"),
            ({"security": Security.SECURE}, "2 of TXT, secure, by simulated"),
            ({"resolver": "127.0.0.1:5353"}, "2 of TXT, insecure, by 127.0.0.1:5353"),
            (
                {"owner": "_agent.agents.example.net"},
                "2 of TXT, at _agent.agents.example.net, insecure, by simulated",
            ),
            ({"dropped": 3}, "2 of TXT, 3 malformed, insecure, by simulated"),
            (
                {"records": (), "dropped": 1, "outcome": DnsOutcome.NODATA},
                "nodata, 1 malformed, insecure, by simulated",
            ),
            (
                {"owner": "a.example.net", "dropped": 1, "cached": True},
                "2 of TXT, at a.example.net, 1 malformed, insecure, by simulated (cached)",
            ),
        ],
        ids=["plain", "secure", "a resolver", "at the end of aliases", "malformed ones", "only those", "all of it"],
    )
    async def test_a_step_tells_where_the_answer_is_from_and_what_is_missing_in_it(
        self, members: dict[str, Any], detail: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        n = serving()
        n.dns.txt(AGENT, UAIX, AID2)
        plain = n.dns.resolve

        async def resolve(name: str, record_type: str) -> DnsAnswer:
            answer = await plain(name, record_type)
            return replace(answer, **members) if name == AGENT else answer

        monkeypatch.setattr(n.dns, "resolve", resolve)
        assert (await n.discover()).step("dns-txt")["detail"] == detail

    async def test_an_empty_name_between_stops_nothing(self) -> None:
        n = serving()
        n.dns.fail("_agents.example.com", "SVCB", DnsOutcome.NXDOMAIN)
        n.dns.svcb(INDEX, 1, "docs.example.com")
        assert told(await n.discover()) == [("svcb", True, None)]


class TestWildcard:
    """C-23: what is said at every name is remarked on and still no more than what its version makes it."""

    async def test_a_record_from_a_wildcard_is_marked(self) -> None:
        n = serving()
        n.dns.wildcard("example.com", UAIX)
        found = await n.discover()
        assert told(found) == [("uaix1", True, "wildcard")]
        assert found.step("dns-wildcard")["outcome"] == "found"

    async def test_one_with_a_name_of_its_own_is_not(self) -> None:
        n = serving()
        n.dns.wildcard("example.com", "v=spf1 -all")
        n.dns.txt(AGENT, UAIX)
        assert told(await n.discover()) == [("uaix1", True, None)]

    async def test_junk_is_as_if_there_were_nothing(self) -> None:
        n = serving()
        n.dns.wildcard("example.com", "v=spf1 -all")
        found = await n.discover()
        assert told(found)[0] == ("foreign", False, "foreign")
        assert AID_AT in n.paths and found["coexisting"] == []
        assert not [step for step in found["steps"] if step["step"] == "dns-wildcard"]

    async def test_the_label_of_the_probe_cannot_be_known_before(self) -> None:
        labels = set()
        for _ in range(2):
            n = serving()
            n.dns.txt(AGENT, UAIX)
            await n.discover()
            labels.update(name for name, _ in n.dns.asked if len(name.partition(".")[0]) == 17)
        assert len(labels) == 2

    async def test_what_a_name_of_its_own_says_beside_it_is_not_marked(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        n = serving()
        n.dns.wildcard("example.com", UAIX)
        n.dns.svcb(CATALOG, 1, "docs.example.com")
        at_once = n.dns.resolve

        async def resolve(name: str, record_type: str) -> DnsAnswer:
            if not name.startswith(("_agent.", "_catalog.", "_index.", "_entries.")):
                await n.engine.settle()  # the probe comes last
            return await at_once(name, record_type)

        monkeypatch.setattr(n.dns, "resolve", resolve)
        assert told(await n.discover()) == [("uaix1", True, "wildcard"), ("svcb", True, None)]


POINTERS: dict[str, tuple[Publishing, list[tuple[str, bool, str | None]], str | None]] = {
    "SVCB with its path": (
        lambda dns: dns.svcb(INDEX, 1, "docs.example.com", key65280=b"/.well-known/ard.json"),
        [("svcb", True, None)],
        "/.well-known/ard.json",
    ),
    "SVCB without a path": (
        lambda dns: dns.svcb(CATALOG, 1, "docs.example.com"),
        [("svcb", True, None)],
        CATALOG_AT,
    ),
    "SVCB that names its owner": (
        lambda dns: dns.svcb(CATALOG, 1, "."),
        [("svcb", False, "underscore")],
        None,
    ),
    "no service": (lambda dns: dns.svcb(CATALOG, 0, "."), [("svcb", False, "no_service")], None),
    "a path outside the well-known places": (
        lambda dns: dns.svcb(INDEX, 1, "docs.example.com", key65280=b"/../etc"),
        [("svcb", False, "well_known")],
        None,
    ),
    "a mandatory key nobody knows": (
        lambda dns: dns.svcb(INDEX, 1, "docs.example.com", key0=b"\xff\x01", key65281=b"x"),
        [("svcb", False, "unsupported_mandatory")],
        None,
    ),
    "HTTPS where there is no SVCB": (
        lambda dns: dns.publish(INDEX, "HTTPS", [Svcb(1, "docs.example.com", {})]),
        [("https", True, None)],
        CATALOG_AT,
    ),
    "a link in TXT where there is neither": (
        lambda dns: dns.txt(INDEX, f"registry={DOCUMENTS}/list.json"),
        [("txt-index", True, None)],
        "/list.json",
    ),
    "a service in TXT": (
        lambda dns: dns.txt(INDEX, "v=1 target=docs.example.com port=443 alpn=h2"),
        [("txt-index", True, None)],
        CATALOG_AT,
    ),
    "a service in TXT without a target": (
        lambda dns: dns.txt(INDEX, "v=1 port=443"),
        [("foreign", False, "malformed")],
        None,
    ),
    "junk in TXT": (lambda dns: dns.txt(INDEX, "v=spf1 -all"), [("foreign", False, "foreign")], None),
    "an http link in TXT": (
        lambda dns: dns.txt(INDEX, "url=http://docs.example.com/list.json"),
        [("foreign", False, "bad_url")],
        None,
    ),
    "off the domain, insecure": (
        lambda dns: dns.svcb(CATALOG, 1, "other.example.net"),
        [("svcb", False, "off_domain")],
        None,
    ),
    "a link off the domain, insecure": (
        lambda dns: dns.txt(INDEX, "url=https://other.example.net/list.json"),
        [("foreign", False, "off_domain")],
        None,
    ),
    "a host of the machine itself": (
        lambda dns: (setattr(dns, "security", Security.SECURE), dns.svcb(CATALOG, 1, "localhost")),
        [("svcb", False, "ssrf")],
        None,
    ),
    "a private address": (
        lambda dns: (setattr(dns, "security", Security.SECURE), dns.svcb(CATALOG, 1, "10.0.0.5")),
        [("svcb", False, "ssrf")],
        None,
    ),
    "another protocol's port": (
        lambda dns: dns.svcb(CATALOG, 1, "docs.example.com", key3=b"\x00\x16"),
        [("svcb", False, "port")],
        None,
    ),
    "a malformed port": (
        lambda dns: dns.svcb(CATALOG, 1, "docs.example.com", key3=b"\x01"),
        [("svcb", False, "malformed_parameter")],
        None,
    ),
}


class TestPointers:
    """DA-1 to DA-8: SVCB, then HTTPS, then TXT; what leads out of the domain counts only with DNSSEC."""

    @pytest.mark.parametrize(("publish", "records", "path"), POINTERS.values(), ids=POINTERS)
    async def test_what_is_followed(
        self, publish: Publishing, records: list[tuple[str, bool, str | None]], path: str | None
    ) -> None:
        n = serving(DiscoverySettings(off_domain=True))
        publish(n.dns)
        found = await n.discover()
        assert told(found) == records
        assert n.asked("docs.example.com") == ([] if path is None else [path])
        assert found["manifest"] is not None

    async def test_the_tiers_are_asked_in_turn_and_only_of_the_index(self) -> None:
        n = serving()
        n.dns.txt(INDEX, "agents=chat:mcp")
        await n.discover()
        assert [kind for name, kind in n.dns.asked if name == INDEX] == ["SVCB", "HTTPS", "TXT"]
        assert [kind for name, kind in n.dns.asked if name in (CATALOG, ENTRIES)] == ["SVCB", "SVCB"]

    async def test_no_tier_after_one_that_failed(self) -> None:
        n = serving()
        n.dns.txt(INDEX, f"url={DOCUMENTS}/list.json")
        n.dns.fail(INDEX, "SVCB")
        await n.discover()
        assert [kind for name, kind in n.dns.asked if name == INDEX] == ["SVCB"]

    async def test_off_the_domain_with_dnssec_where_the_operator_allows_it(self) -> None:
        for allows in (True, False):
            n = neighbourhood(DiscoverySettings(off_domain=allows))
            n.dns.security = Security.SECURE
            n.dns.svcb(CATALOG, 1, "other.example.net")
            n.publish(f"https://other.example.net{CATALOG_AT}", catalog())
            found = await n.discover()
            assert told(found) == ([("svcb", True, None)] if allows else [("svcb", False, "off_domain")])
            assert n.asked("other.example.net") == ([CATALOG_AT] if allows else [])

    async def test_a_document_at_the_end_of_a_pointer_counts(self) -> None:
        n = serving()
        n.dns.svcb(CATALOG, 1, "docs.example.com")
        n.publish(f"{DOCUMENTS}{CATALOG_AT}", catalog())
        found = await n.discover()
        assert found.document(f"docs.example.com{CATALOG_AT}")["found"]

    async def test_agents_that_the_index_names(self) -> None:
        n = serving()
        n.dns.txt(INDEX, "agents=chat:mcp,billing:a2a")
        n.dns.svcb("chat._agents.example.com", 1, "chat.example.com", key1=b"\x03mcp")
        n.dns.svcb("billing._agents.example.com", 0, "billing.example.com")
        n.dns.svcb("billing.example.com", 1, "api.example.com", key1=b"\x03a2a", key3=b"\x20\xfb")
        found = await n.discover()
        assert told(found) == [("txt-index", True, None)] + [("svcb", True, None)] * 3
        assert found.endpoints >= {
            ("mcp", "https://chat.example.com/", "svcb", "hint"),
            ("a2a", "https://api.example.com:8443/", "svcb", "hint"),
        }

    async def test_no_more_agents_than_eight(self) -> None:
        n = serving()
        n.dns.txt(INDEX, "agents=" + ",".join(f"a{number}:mcp" for number in range(40)))
        await n.discover()
        assert len([name for name, _ in n.dns.asked if name.startswith("a")]) == 8


def aliases(dns: DnsSimulator, count: int, *, last: str | None = None) -> None:
    """A chain of `count` aliases from the catalog's name; `last` is where the last one leads."""
    names = [CATALOG, *(f"a{number}.example.com" for number in range(1, count))]
    for name, following in zip(names, [*names[1:], last or "docs.example.com"], strict=True):
        dns.svcb(name, 0, following)


class TestAliases:
    """RFC 9460 §2.4.2: at most eight in a row, in no circle, each of them listed."""

    @pytest.mark.parametrize("count", [1, 2, 8])
    async def test_a_chain_is_followed(self, count: int) -> None:
        n = serving()
        aliases(n.dns, count)
        n.dns.svcb("docs.example.com", 1, ".")
        found = await n.discover()
        assert told(found) == [("svcb", True, None)] * (count + 1)
        assert n.asked("docs.example.com") == [CATALOG_AT]

    async def test_of_nine_the_last_is_refused(self) -> None:
        n = serving()
        aliases(n.dns, 9)
        found = await n.discover()
        assert told(found) == [("svcb", True, None)] * 8 + [("svcb", False, "alias_loop")]
        assert len([name for name, kind in n.dns.asked if kind == "SVCB"]) == 3 + 8

    @pytest.mark.parametrize("count", [1, 2, 5])
    async def test_a_circle(self, count: int) -> None:
        n = serving()
        aliases(n.dns, count, last=CATALOG if count == 1 else "a1.example.com")
        found = await n.discover()
        assert told(found)[-1] == ("svcb", False, "alias_loop")
        assert len(n.dns.asked) < 20

    async def test_one_that_leads_nowhere_is_listed(self) -> None:
        n = serving()
        aliases(n.dns, 1)
        found = await n.discover()
        assert told(found) == [("svcb", True, None)]
        assert found["dns"]["records"][0]["value"]["alias"] == "docs.example.com"

    async def test_the_weakest_of_the_chain_decides(self) -> None:
        n = serving(DiscoverySettings(off_domain=True))
        n.dns.security = Security.SECURE
        n.dns.securities["a1.example.com"] = Security.INSECURE
        aliases(n.dns, 2)
        n.dns.svcb("docs.example.com", 1, "other.example.net")
        found = await n.discover()
        assert told(found)[-1] == ("svcb", False, "off_domain")
        assert n.asked("other.example.net") == []

    async def test_beside_an_alias_no_other_record_counts(self) -> None:
        n = serving()
        n.dns.publish(CATALOG, "SVCB", [Svcb(1, "docs.example.com", {}), Svcb(0, "a.example.com", {})])
        assert told(await n.discover()) == [("svcb", True, None), ("svcb", False, "alias_present")]


class TestEndpointOfTheManifest:
    """U-T4 to U-T7: where the record leads, what vouches for another host, and the default behind it."""

    async def test_on_the_host_itself(self) -> None:
        n = neighbourhood()
        n.dns.txt(AGENT, "v=uaix1; endpoint=https://example.com/access.json; did=did:web:example.com")
        n.publish("/access.json", manifest())
        found = await n.discover()
        assert found["manifest"]["url"] == "https://example.com/access.json"
        assert found["trust"]["did"] == "did:web:example.com"
        assert MANIFEST_AT not in n.paths

    @pytest.mark.parametrize("answer", [404, 401, 403, 500, 301])
    async def test_the_default_follows_one_that_is_not_there(self, answer: int) -> None:
        n = serving()
        n.dns.txt(AGENT, "v=uaix1; endpoint=https://example.com/access.json")
        n.publish("/access.json", b"", status=answer)
        found = await n.discover()
        assert found["manifest"]["url"] == f"https://example.com{MANIFEST_AT}"
        assert found.document("/access.json")["found"] is False

    async def test_gone_is_the_end(self) -> None:
        n = serving()
        n.dns.txt(AGENT, "v=uaix1; endpoint=https://example.com/access.json")
        n.publish("/access.json", b"", status=410)
        found = await n.discover()
        assert (found["manifest"], found.status) == (None, 410)
        assert MANIFEST_AT not in n.paths

    async def test_on_another_host_without_dnssec(self) -> None:
        n = serving()
        n.dns.txt(AGENT, OFF_DOMAIN)
        found = await n.discover()
        assert n.asked("other.example.net") == []
        assert found.step("manifest", "access.json")["outcome"] == "skipped"
        assert found["manifest"]["url"] == f"https://example.com{MANIFEST_AT}"

    @pytest.mark.parametrize("site", ["https://other.example.net/", "https://example.com/"])
    async def test_on_another_host_with_dnssec(self, site: str) -> None:
        n = neighbourhood()
        n.dns.security = Security.SECURE
        n.dns.txt(AGENT, OFF_DOMAIN)
        n.publish("https://other.example.net/access.json", {**manifest(), "site": {"name": "x", "url": site}})
        found = await n.discover()
        assert found["manifest"]["url"] == "https://other.example.net/access.json"

    async def test_a_did_that_is_ignored_is_not_told_of(self) -> None:
        n = serving()
        n.dns.txt(AGENT, "v=uaix1; did=did:web:other.example.net")
        assert (await n.discover())["trust"]["did"] is None


class TestRequired:
    """`dns.dnssec: require`: without signatures nothing is followed, and nothing is asked of the origin."""

    @pytest.mark.parametrize("security", [one for one in Security if one is not Security.SECURE])
    async def test_anything_less_is_refused(self, security: Security) -> None:
        n = neighbourhood(DiscoverySettings(requires_dnssec=True))
        n.publish(MANIFEST_AT, manifest())
        n.dns.security = security
        n.dns.txt(AGENT, UAIX)
        found = await n.discover()
        assert (found["outcome"], found.status, n.paths) == ("refused", 403, [])
        assert found.step("dnssec")["outcome"] == "refused"
        assert security.value in found.step("dnssec")["detail"]

    async def test_a_failure_is_refused_as_well(self) -> None:
        n = neighbourhood(DiscoverySettings(requires_dnssec=True))
        n.dns.security = Security.SECURE
        n.dns.securities[AGENT] = Security.INDETERMINATE
        n.dns.fail(AGENT, "TXT")
        assert ((await n.discover()).status, n.paths) == (403, [])

    async def test_of_the_other_names_only_what_is_signed_counts(self) -> None:
        n = neighbourhood(DiscoverySettings(requires_dnssec=True))
        n.publish(MANIFEST_AT, manifest())
        n.dns.security = Security.SECURE
        n.dns.securities[CATALOG] = Security.INSECURE
        n.dns.svcb(CATALOG, 1, "docs.example.com")
        n.dns.svcb(ENTRIES, 1, "list.example.com")
        found = await n.discover()
        assert (found["outcome"], n.asked("docs.example.com")) == ("found", [])
        assert n.asked("list.example.com") == [CATALOG_AT]
        # No record of the other answer is listed, and why is told.
        assert [record["name"] for record in found["dns"]["records"]] == [ENTRIES]
        refused = [step for step in found["steps"] if step["outcome"] == "refused"]
        assert [(step["step"], step["target"], step["detail"]) for step in refused] == [
            ("dns-svcb", CATALOG, "DNSSEC is required, and the answer is insecure.")
        ]

    @pytest.mark.parametrize("requires", [True, False])
    async def test_so_it_is_with_every_kind_of_record(self, requires: bool) -> None:
        n = serving(DiscoverySettings(requires_dnssec=requires))
        n.dns.security = Security.SECURE
        n.dns.txt(INDEX, "agents=chat:mcp")
        n.dns.svcb("chat._agents.example.com", 0, "chat.example.com")
        n.dns.svcb("chat.example.com", 1, "host.example.com", key1=b"\x03mcp")
        for name in (INDEX, "chat._agents.example.com", "chat.example.com"):
            n.dns.securities[name] = Security.INDETERMINATE
            found = await n.discover()
            assert bool(found.endpoints) is not requires
            assert (found["outcome"], found["dns"]["dnssec"]) == ("found", "secure")
            told = {step["target"] for step in found["steps"] if step["outcome"] == "refused"}
            assert told == ({name} if requires else set())
            n.dns.securities.clear()
            n.engine.clock += 301

    async def test_secure_is_enough(self) -> None:
        n = neighbourhood(DiscoverySettings(requires_dnssec=True))
        n.publish(MANIFEST_AT, manifest())
        n.dns.security = Security.SECURE
        assert (await n.discover())["outcome"] == "found"


AID_BY_RECORD: dict[str, tuple[tuple[str, ...], bool]] = {
    "no record": ((), True),
    "only uaix1": ((UAIX,), True),
    "only junk": (("v=spf1 -all",), True),
    "a valid record": ((AID2,), False),
    "only malformed ones": (("v=aid2;p=mcp",), False),
    "only a later version": (("v=aid3;u=https://example.com/mcp;p=mcp",), False),
    "ambiguous ones": ((AID2, AID2.replace("api", "two")), False),
}


@pytest.mark.parametrize(("texts", "is_asked"), AID_BY_RECORD.values(), ids=AID_BY_RECORD)
async def test_the_aid_document_is_asked_for_only_where_there_is_no_record(
    texts: tuple[str, ...], is_asked: bool
) -> None:
    n = serving()
    n.dns.txt(AGENT, *texts)
    found = await n.discover()
    assert (AID_AT in n.paths) is is_asked
    if is_asked:
        asked = [path for path in n.paths if path != MCP_CARD_AT]
        assert asked[-2:].count(AID_AT) == 1
    assert found["manifest"] is not None


HIDDEN: dict[str, str] = {
    "an endpoint's query": "v=uaix1; endpoint=https://example.com/a?access_token=s3cr3tvalue",
    "userinfo": "v=uaix1; endpoint=https://user:s3cr3tvalue@example.com/a",
    "an AID endpoint": "v=aid2;u=https://example.com/mcp?api_key=s3cr3tvalue;p=mcp",
    "userinfo in AID": "v=aid2;u=https://user:s3cr3tvalue@example.com/mcp;p=mcp",
    "AID documentation": "v=aid2;u=https://example.com/mcp;p=mcp;d=https://example.com/?token=s3cr3tvalue",
    "a foreign record": "see=https://example.com/?password=s3cr3tvalue",
    "a path": "v=uaix1; endpoint=https://example.com/token=s3cr3tvalue/a",
}


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
async def test_no_secret_of_a_url_in_dns_is_told(text: str) -> None:
    n = serving()
    n.dns.txt(AGENT, text)
    found: Any = await n.discover()
    assert "s3cr3tvalue" not in found.prepared.body(0.0).decode()
    assert not [path for path in n.paths if "s3cr3tvalue" in path]


class TestPatience:
    """§10, phase 2: DNS that does not answer holds up nothing for long, and the steps tell."""

    async def test_documents_are_read_all_the_same(self) -> None:
        n = neighbourhood(DiscoverySettings(deadline=0.4))
        n.publish(MANIFEST_AT, manifest())
        n.dns.hang("*")
        found = await n.discover()
        assert (found["outcome"], found["dns"]) == ("found", {"dnssec": "indeterminate", "records": []})
        assert {step["outcome"] for step in found["steps"] if step["step"].startswith("dns")} == {"failed"}
        assert "discovery.deadline" in found.step("dns-txt")["detail"]
        assert found.prepared.fresh_until == n.engine.clock()

    async def test_what_came_in_time_counts(self) -> None:
        n = neighbourhood(DiscoverySettings(deadline=0.4))
        n.publish(MANIFEST_AT, manifest())
        n.dns.txt(AGENT, UAIX, AID2)
        n.dns.hang(INDEX)
        found = await n.discover()
        assert found["dns"]["dnssec"] == "insecure"
        assert told(found) == [("uaix1", True, None), ("aid2", True, None)]
        assert ("mcp", "https://api.example.com/mcp", "aid2", "hint") in found.endpoints

    async def test_where_dnssec_is_required_the_call_ends(self) -> None:
        n = neighbourhood(DiscoverySettings(deadline=0.4, requires_dnssec=True))
        n.publish(MANIFEST_AT, manifest())
        n.dns.hang(AGENT)
        assert ((await n.discover()).status, n.paths) == (403, [])


async def test_secrets_in_parameters_are_not_told() -> None:
    n = neighbourhood()
    policy = b"https://p.example.com/x?access_token=Zm9vYmFyYmF6cXV4MTIzNDU2"
    n.dns.svcb("_index._agents.example.com", 1, "example.com", key65403=policy)
    answer = await n.discover()
    assert "Zm9v" not in answer.prepared.body(0.0).decode()
