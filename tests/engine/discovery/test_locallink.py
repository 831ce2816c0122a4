"""Discovery on the local link: who is heard, and that it answers for no one else (U-D1, MD-1 to MD-7)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.discovery.names import BadDomain
from proxy.engine.discovery.discoverer import DiscoverySettings
from proxy.http.messages import Realm
from tests.engine.discovery.documents import (
    CARD_AT,
    CATALOG_AT,
    HTML,
    MANIFEST_AT,
    SITE,
    agent_card,
    catalog,
    entry,
    manifest,
)
from tests.simulators.discovery import Neighbourhood, neighbourhood
from tests.simulators.locallink import ADDRESS, LinkSimulator, announced

HOST = "printer.local"
HOME = f"https://{HOST}"
FOUND = ("uaix", f"{HOME}{MANIFEST_AT}", "mdns", "unverified-local")


def local_manifest(url: str = HOME, **members: object) -> dict[str, object]:
    return {**manifest(), "site": {"name": "Printer", "url": url}, **members}


def hearing(
    *services: Any, problem: str | None = None, isolated: bool = False
) -> tuple[Neighbourhood, LinkSimulator]:
    link = LinkSimulator(services, problem)
    return neighbourhood(DiscoverySettings(isolated=isolated), link), link


class TestNames:
    """MD-1: which names are heard, and which are asked of DNS."""

    @pytest.mark.parametrize(
        ("domain", "hears", "isolated", "word"),
        [
            (HOST, False, False, "discovery.mdns.enabled"),
            ("deep.printer.local", False, False, "discovery.mdns.enabled"),
            (HOST, False, True, "discovery.mdns.enabled"),
            ("example.com", True, True, "discovery.mdns.isolated"),
            ("example.com", False, True, "discovery.mdns.isolated"),
            ("local.example.com", True, True, "discovery.mdns.isolated"),
            (HOST, True, False, None),
            (HOST, True, True, None),
            ("printer", True, True, None),
            ("printer", False, True, None),
            ("example.com", True, False, None),
            ("example.com", False, False, None),
            ("localx.com", False, False, None),
        ],
    )
    async def test_which_may_be_asked_about(
        self, domain: str, hears: bool, isolated: bool, word: str | None
    ) -> None:
        settings = DiscoverySettings(isolated=isolated)
        n = neighbourhood(settings, LinkSimulator() if hears else None)
        if word is None:
            n.discoverer.check(domain)
            return
        with pytest.raises(BadDomain) as raised:
            n.discoverer.check(domain)
        assert word in raised.value.detail

    async def test_a_local_name_is_heard(self) -> None:
        n, link = hearing(announced())
        answer = await n.discover(HOST)
        assert answer.endpoints == {FOUND}
        assert (link.browses, link.admitted) == (1, {HOST: (ADDRESS,)})
        assert answer.step("mdns")["outcome"] == "found"

    async def test_a_local_name_is_never_asked_of_dns(self) -> None:
        n, _ = hearing()
        await n.discover(HOST)
        assert n.dns.asked == []

    @pytest.mark.parametrize(
        "domain", ["example.com", "printer.local.example.com", "local.example.com", "localx.com"]
    )
    async def test_a_public_name_is_never_heard(self, domain: str) -> None:
        n, link = hearing(announced(host=f"{domain}."), announced())
        answer = await n.discover(domain)
        assert link.browses == 0 and link.admitted == {}
        assert answer.endpoints == set()

    @pytest.mark.parametrize(
        "host",
        ["example.com.", "www.example.com.", "printer.local.example.com.", "localhost.", "192.168.7.5", "local."],
    )
    async def test_whoever_is_heard_under_another_name_is_not_used(self, host: str) -> None:
        n, link = hearing(announced(host=host))
        answer = await n.discover(HOST)
        assert (answer.endpoints, link.admitted, n.paths) == (set(), {}, [])

    async def test_other_hosts_of_the_link_do_not_answer_for_this_one(self) -> None:
        n, link = hearing(announced("Scanner", "scanner.local."))
        answer = await n.discover(HOST)
        assert (answer.endpoints, link.admitted) == (set(), {})
        assert answer.step("mdns")["outcome"] == "absent"

    @pytest.mark.parametrize("host", ["printer.local.", "PRINTER.Local.", "printer.local"])
    async def test_names_compare_in_their_canonical_form(self, host: str) -> None:
        n, _ = hearing(announced(host=host))
        assert (await n.discover(HOST)).endpoints == {FOUND}

    @pytest.mark.parametrize("domain", ["printer", "printer.local"])
    async def test_in_isolation_a_label_is_enough(self, domain: str) -> None:
        n, _ = hearing(announced(), isolated=True)
        answer = await n.discover(domain)
        assert answer.endpoints == {FOUND}
        assert n.dns.asked == []

    async def test_in_isolation_a_label_that_nobody_has(self) -> None:
        n, link = hearing(announced(host="example.com."), announced("Scanner", "scanner.local."), isolated=True)
        answer = await n.discover("printer")
        assert (answer.status, answer.endpoints, n.paths, n.dns.asked) == (404, set(), [], [])
        assert link.admitted == {}


class TestManifests:
    """MD-2, MD-3: the manifest at the place that was heard, for what it is worth."""

    async def test_is_read_at_the_host_and_port_of_the_service(self) -> None:
        n, _ = hearing(announced(port=8443))
        n.publish(f"{HOME}:8443{MANIFEST_AT}", local_manifest(f"{HOME}:8443"))
        answer = await n.discover(HOST)
        assert answer["manifest"]["url"] == f"{HOME}:8443{MANIFEST_AT}"
        assert answer["source"]["kind"] == "mdns"

    @pytest.mark.parametrize(
        ("attributes", "path"),
        [
            ({b"v": b"uaix1"}, MANIFEST_AT),
            ({b"v": b"uaix1", b"path": b"/access.json"}, "/access.json"),
            ({b"V": b"uaix1", b"PATH": b"/access.json"}, "/access.json"),
            ({b"v": b"uaix1; path=/access.json; capabilities=L3,L4"}, "/access.json"),
            ({b"v": b"uaix1", b"path": b"../../etc"}, MANIFEST_AT),
            ({b"v": b"uaix1", b"path": b"//evil.example.net/"}, MANIFEST_AT),
        ],
        ids=["default", "own path", "capitals", "one string", "no path", "another host"],
    )
    async def test_is_read_at_the_path_of_the_service(
        self, attributes: dict[bytes, bytes | None], path: str
    ) -> None:
        n, _ = hearing(announced(attributes=attributes))
        n.publish(path, local_manifest())
        answer = await n.discover(HOST)
        assert n.paths == [path]
        assert answer["manifest"]["url"] == f"{HOME}{path}"

    async def test_is_asked_for_within_the_local_realm_alone(self) -> None:
        n, _ = hearing(announced())
        n.publish(MANIFEST_AT, local_manifest())
        await n.discover(HOST)
        assert {sent.request.realm for sent in n.engine.origin.requests} == {Realm.LOCAL}

    async def test_everything_is_unverified_local(self) -> None:
        n, _ = hearing(announced(attributes={b"v": b"uaix1", b"did": b"did:web:printer.local"}))
        n.publish(MANIFEST_AT, local_manifest())
        answer = await n.discover(HOST)
        assert answer["trust"]["state"] == "unverified-local"
        assert answer["trust"]["did"] == "did:web:printer.local"
        assert {one["trust"] for one in answer["documents"]} == {"unverified-local"}
        assert {one["trust"] for one in answer["endpoints"]} == {"unverified-local"}
        assert answer["dns"]["dnssec"] == "indeterminate"

    @pytest.mark.parametrize(
        "url",
        [SITE, "https://scanner.local", "http://printer.local", "https://printer.local.example.com"],
        ids=["public", "another host", "http", "look-alike"],
    )
    async def test_speaks_for_its_own_host_alone(self, url: str) -> None:
        n, _ = hearing(announced())
        n.publish(MANIFEST_AT, local_manifest(url))
        answer = await n.discover(HOST)
        assert answer["manifest"] is None
        assert answer.step("manifest-authority")["outcome"] == "refused"

    @pytest.mark.parametrize(
        ("body", "how"),
        [
            (b"", {"status": 404}),
            (HTML, {"content_type": "text/html"}),
            (b"", {}),
            (b"[]", {}),
            (b"", {"status": 500}),
        ],
        ids=["404", "HTML", "empty", "list", "500"],
    )
    async def test_without_one_the_agent_is_still_there(self, body: bytes, how: dict[str, Any]) -> None:
        n, _ = hearing(announced())
        n.publish(MANIFEST_AT, body, **how)
        answer = await n.discover(HOST)
        assert (answer["manifest"], answer.endpoints, answer["outcome"]) == (None, {FOUND}, "found")

    @pytest.mark.parametrize(
        "location",
        [
            f"{SITE}{MANIFEST_AT}",
            f"https://scanner.local{MANIFEST_AT}",
            "http://printer.local/x",
            "https://10.0.0.1/x",
        ],
        ids=["public", "another host", "http", "address"],
    )
    @pytest.mark.parametrize("status", [302, 308])
    async def test_redirects_do_not_lead_away(self, location: str, status: int) -> None:
        n, _ = hearing(announced())
        n.publish(f"{HOME}{MANIFEST_AT}", b"", status=status, fields=[("Location", location)])
        n.publish(location, local_manifest())
        answer = await n.discover(HOST)
        assert answer["manifest"] is None
        assert n.asked("example.com") == n.asked("10.0.0.1") == []

    async def test_a_redirect_on_the_same_host_is_followed(self) -> None:
        n, _ = hearing(announced())
        n.publish(MANIFEST_AT, b"", status=302, fields=[("Location", "/access.json")])
        n.publish("/access.json", local_manifest())
        assert (await n.discover(HOST))["manifest"]["url"] == f"{HOME}/access.json"

    async def test_the_first_instance_with_a_manifest_counts(self) -> None:
        other = announced("Other", attributes={b"v": b"uaix1", b"path": b"/other.json", b"proto": b"mcp"})
        n, _ = hearing(other, announced())
        n.publish(MANIFEST_AT, local_manifest())
        answer = await n.discover(HOST)
        assert answer["manifest"]["url"] == f"{HOME}{MANIFEST_AT}"
        assert answer.endpoints == {FOUND, ("mcp", f"{HOME}/other.json", "mdns", "unverified-local")}

    async def test_nothing_else_is_looked_for(self) -> None:
        n, _ = hearing(announced())
        n.publish(MANIFEST_AT, local_manifest())
        n.publish(CARD_AT, agent_card())
        await n.discover(HOST)
        assert n.paths == [MANIFEST_AT]


class TestServices:
    """What is heard and of no use is told, with the reason."""

    @pytest.mark.parametrize(
        ("service", "word"),
        [
            (announced(addresses=()), "address"),
            (announced(addresses=("203.0.113.7",)), "address"),
            (announced(addresses=("8.8.8.8",)), "address"),
            (announced(addresses=("127.0.0.1",)), "address"),
            (announced(addresses=("192.168.8.1",)), "address"),
            (announced(addresses=("fe80::1",)), "address"),
            (announced(addresses=("nonsense",)), "address"),
            (announced(port=0), "port"),
            (announced(port=22), "port"),
            (announced(attributes={}), "v=uaix1"),
            (announced(attributes={b"v": b"uaix2"}), "v=uaix1"),
            (announced(attributes={b"v": None}), "v=uaix1"),
        ],
        ids=[
            "no address",
            "documentation",
            "public",
            "loopback",
            "another network",
            "no zone",
            "nonsense",
            "no port",
            "ssh",
            "no version",
            "another version",
            "version without value",
        ],
    )
    async def test_unusable(self, service: Any, word: str) -> None:
        n, link = hearing(service)
        answer = await n.discover(HOST)
        taken = answer.step("mdns")
        assert (answer.endpoints, link.admitted, n.paths) == (set(), {}, [])
        assert taken["outcome"] == "absent" and taken["detail"].startswith("Printer: ") and word in taken["detail"]

    async def test_only_addresses_of_the_link_are_admitted(self) -> None:
        n, link = hearing(announced(addresses=("8.8.8.8", ADDRESS, "fe80::1%2", "fe80::2%9")))
        await n.discover(HOST)
        assert link.admitted == {HOST: (ADDRESS, "fe80::1%2")}

    async def test_capabilities_are_told_as_claims(self) -> None:
        n, _ = hearing(announced(attributes={b"v": b"uaix1", b"capabilities": b"L3,L4"}))
        answer = await n.discover(HOST)
        assert answer.step("mdns")["detail"] == "Printer: L3, L4"
        assert answer["client"]["level"] is None

    async def test_names_of_instances_are_made_fit_to_be_shown(self) -> None:
        n, _ = hearing(announced("Prin\x1b[31mter\u202e"))
        detail = (await n.discover(HOST)).step("mdns")["detail"]
        assert detail.isprintable() and detail.startswith("Prin")

    async def test_a_link_that_cannot_be_heard_is_a_failure_with_its_reason(self) -> None:
        n, _ = hearing(problem="No interface takes part in multicast.")
        answer = await n.discover(HOST)
        taken = answer.step("mdns")
        assert (taken["outcome"], taken["detail"]) == ("failed", "No interface takes part in multicast.")
        assert (answer["outcome"], answer.status) == ("unavailable", 503)
        assert answer.prepared.fresh_until == n.engine.clock()

    async def test_what_was_heard_all_the_same_counts(self) -> None:
        n, _ = hearing(announced(), problem="One interface takes part in no multicast.")
        answer = await n.discover(HOST)
        assert (answer["outcome"], answer.endpoints) == ("found", {FOUND})

    @pytest.mark.parametrize(("status", "outcome"), [(404, "found"), (500, "found")])
    async def test_an_agent_whose_manifest_cannot_be_had_is_there(self, status: int, outcome: str) -> None:
        n, _ = hearing(announced())
        n.publish(MANIFEST_AT, b"", status=status)
        assert (await n.discover(HOST))["outcome"] == outcome

    async def test_silence_on_a_link_that_can_be_heard_is_an_answer(self) -> None:
        n, _ = hearing()
        answer = await n.discover(HOST)
        assert (answer["outcome"], answer.status) == ("not-found", 404)


class TestTimes:
    @pytest.mark.parametrize(("ttl", "until"), [(120, 120), (30, 30), (4500, 120)])
    async def test_what_was_heard_is_good_as_long_as_it_says_and_no_longer_than_two_minutes(
        self, ttl: int, until: int
    ) -> None:
        n, link = hearing(announced(ttl=ttl))
        n.publish(MANIFEST_AT, local_manifest(), max_age=3600)
        await n.discover(HOST)
        n.engine.clock += until - 1
        await n.discover(HOST)
        assert link.browses == 1
        n.engine.clock += 2
        await n.discover(HOST)
        assert link.browses == 2

    async def test_silence_is_not_kept(self) -> None:
        n, link = hearing()
        await n.discover(HOST)
        await n.discover(HOST)
        assert link.browses == 2

    async def test_an_agent_that_left_is_gone(self) -> None:
        n, link = hearing(announced())
        await n.discover(HOST)
        link.services = ()
        n.engine.clock += 121
        assert (await n.discover(HOST)).endpoints == set()


class TestPublicDocuments:
    """MD-1, the other way round: nothing public leads to the local link."""

    @pytest.mark.parametrize("url", [f"{HOME}/card.json", "https://deep.printer.local/card.json"])
    async def test_an_entry_of_a_catalog(self, url: str) -> None:
        n, link = hearing(announced())
        n.publish(CATALOG_AT, catalog(entry("printer", url)))
        n.publish(url, agent_card(f"{HOME}/a2a"))
        answer = await n.discover()
        assert n.asked(HOST) == n.asked("deep.printer.local") == []
        assert (answer.endpoints, link.browses) == (set(), 0)

    async def test_a_redirect(self) -> None:
        n, _ = hearing(announced())
        n.publish(CARD_AT, b"", status=302, fields=[("Location", f"{HOME}/card.json")])
        n.publish(f"{HOME}/card.json", agent_card(f"{HOME}/a2a"))
        answer = await n.discover()
        assert (n.asked(HOST), answer.endpoints) == ([], set())
        assert answer.document(CARD_AT)["reason"] == "ssrf"

    async def test_a_host_heard_before_is_not_reached_by_a_public_name_s_documents(self) -> None:
        n, link = hearing(announced())
        await n.discover(HOST)
        asked = len(n.asked(HOST))
        n.publish(CATALOG_AT, catalog(entry("printer", f"{HOME}/card.json")))
        await n.discover()
        assert (len(n.asked(HOST)), link.browses) == (asked, 1)
