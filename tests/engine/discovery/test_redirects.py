"""Redirects in a discovery: what is followed, what is served, and which moves are shown (§9, OV-1 to OV-10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from proxy.discovery.central import is_central
from proxy.discovery.classes import DocumentClass
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.reading import CENTRAL, CENTRAL_DETAIL, Manner, Reading, ReadOutcome, Refused
from proxy.http.targets import Target, parse_target, resolve
from proxy.ports import OriginFault, OriginUnavailable
from tests.engine.discovery.documents import (
    AID_AT,
    APIS_AT,
    CARD_AT,
    CATALOG_AT,
    HTML,
    MANIFEST_AT,
    OLD_CARD_AT,
    SKILLS_AT,
    agent_card,
    catalog,
    linkset,
    manifest,
    octets,
    sample,
    skills_index,
)
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood
from tests.simulators.origin import Lines

START = f"https://example.com{MANIFEST_AT}"
WWW = f"https://www.example.com{MANIFEST_AT}"
OTHER = "https://other.example.net/x.json"
VECTORS: list[dict[str, Any]] = sample("redirect_vectors.json")
HERE = octets(manifest())
THERE = octets({**manifest(), "site": {"name": "Other", "url": "https://other.example.net/"}})


@dataclass(frozen=True)
class End:
    """What the last hop leads to."""

    status: int = 200
    body: bytes = HERE
    content_type: str = "application/json"
    fields: Lines = ()


def lead(n: Neighbourhood, start: str, hops: Sequence[tuple[int, str]], end: End | None = None) -> str:
    """Publish a chain of redirects from `start`, and what it ends in; where that is."""
    at = parse_target(start)
    for status, location in hops:
        n.engine.origin.respond(at.uri, status, fields=[("Location", location)])
        at = resolve(at, location) if "://" not in location else parse_target(location)
    if end is not None:
        how: dict[str, Any] = {"body": end.body, "content_type": end.content_type, "fields": end.fields}
        n.engine.origin.respond(at.uri, end.status, max_age=300 if end.status == 200 else None, **how)
    return at.uri


async def read(n: Neighbourhood, url: str, document_class: DocumentClass) -> Reading:
    e = n.engine
    reader = Reader(e.gateway, e.rules, e.generations, e.clock, "an-agent", 30.0)
    return await reader.read(parse_target(url), document_class, Manner(admit=refuse_central))


def refuse_central(target: Target) -> Refused | None:
    return Refused(CENTRAL, CENTRAL_DETAIL) if is_central(target.host, "example.com") else None


def moved(found: Described) -> dict[str, tuple[str, int, str]]:
    """The moves that are shown, by where they begin."""
    return {one["url"]: (one["target"], one["status"], one["state"]) for one in found["relocations"]}


def hops_of(vector: dict[str, Any]) -> list[tuple[int, str]]:
    """The vector's redirects; its placeholder "1" stands for one place after another."""
    hops = [(status, location) for status, location in vector["hops"] if location is not None]
    return [
        (status, f"https://example.com/{number}" if location == "1" else location)
        for number, (status, location) in enumerate(hops)
    ]


def end_of(vector: dict[str, Any]) -> End | None:
    status, location = vector["hops"][-1]
    if location is not None:
        return None
    if "content_type" in vector:
        return End(status, HTML, vector["content_type"])
    return End(status, HERE if status == 200 else b"")


async def vector_reading(vector: dict[str, Any]) -> tuple[Neighbourhood, Reading]:
    """The vector as one document is read: AID's own at its place, any other as the manifest."""
    n = neighbourhood()
    is_aid = vector.get("format") == "aid"
    start = f"https://example.com{AID_AT}" if is_aid else START
    hops = hops_of(vector)
    if vector.get("loop"):
        hops.append(hops[0])
    last = lead(n, start, hops, end_of(vector))
    if vector.get("loop"):
        assert last == hops[0][1]
    return n, await read(n, start, DocumentClass.AID if is_aid else DocumentClass.MANIFEST)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
async def test_vectors_read(vector: dict[str, Any]) -> None:
    n, reading = await vector_reading(vector)
    expect = vector["expect"]
    if "error" in expect:
        reason = "redirect-refused" if expect["error"] == "ERR_FALLBACK_FAILED" else expect["error"]
        assert (reading.outcome, reading.reason) == (ReadOutcome.REFUSED, reason)
    elif expect.get("treat_as") == "absent":
        assert reading.outcome is ReadOutcome.WRONG_KIND
    elif expect.get("treat_as") == "absent_unauth":
        assert (reading.outcome, reading.reason) == (ReadOutcome.ABSENT, "not-available")
        assert n.engine.store.peek(START) == ()
    elif expect.get("serve") == "stale_if_error":
        assert (reading.outcome, reading.status) == (ReadOutcome.FAILED, 503)
    elif vector["hops"][-1][0] == 200:
        assert reading.is_found and reading.body == HERE
        assert reading.needs_proof is ("pending" in str(expect["record_location"]))
    else:
        assert (reading.outcome, reading.status) == (ReadOutcome.ABSENT, vector["hops"][-1][0])
        assert reading.is_gone is bool(expect.get("tombstone"))
    await n.engine.settle()
    assert len(reading.hops) <= 5 and n.engine.origin.leaked == []


RECORDED = [vector for vector in VECTORS if vector.get("format") != "aid"]


@pytest.mark.parametrize("vector", RECORDED, ids=lambda vector: vector["name"])
async def test_what_of_the_vectors_is_shown(vector: dict[str, Any]) -> None:
    """Records come with the ledger; what discovery shows is what it would record."""
    n = neighbourhood()
    hops = hops_of(vector)
    lead(n, START, [*hops, hops[0]] if vector.get("loop") else hops, end_of(vector))
    found = await n.discover()
    shown = moved(found)
    expected = vector["expect"].get("record_location")
    if expected is None:
        assert shown == {}
    elif expected.startswith("pending"):
        assert {state for _, _, state in shown.values()} == {"observed"}  # its site is the domain: that proves it
    else:
        status = vector["hops"][0][0]
        assert shown == {START: (expected, status, "observed")}
    assert (found["manifest"] is not None) is (vector["expect"].get("serve") == 200 or expected is not None)


async def test_stale_stands_in_for_a_503() -> None:
    n = neighbourhood()
    n.publish(MANIFEST_AT, manifest(), cache_control="max-age=60, stale-if-error=600")
    await n.discover()
    n.engine.clock += 120
    n.engine.origin.respond(MANIFEST_AT, status=503)
    found = await n.discover()
    assert (found["manifest"]["sha256"] is not None, found["source"]["cache"]) == (True, "stale")


class TestCrossDomain:
    """OV-3: a permanent redirect out of the domain counts once the document vouches for the domain."""

    @pytest.mark.parametrize("status", [301, 308])
    async def test_unproven_it_has_moved_and_is_pending(self, status: int) -> None:
        n = neighbourhood()
        lead(n, START, [(status, OTHER)], End(body=THERE))
        found = await n.discover()
        assert (found["outcome"], found.status, found["manifest"]) == ("moved", 200, None)
        assert moved(found) == {START: (OTHER, status, "pending")}
        assert found.document(OTHER)["trust"] == "hint"
        assert found.step("manifest-authority")["outcome"] == "refused"

    async def test_proven_by_its_site(self) -> None:
        n = neighbourhood()
        lead(n, START, [(308, OTHER)], End())
        found = await n.discover()
        assert (found["outcome"], found["manifest"]["url"]) == ("found", OTHER)
        assert moved(found) == {START: (OTHER, 308, "observed")}

    @pytest.mark.parametrize("status", [302, 303, 307])
    async def test_a_temporary_one_is_no_move(self, status: int) -> None:
        n = neighbourhood()
        lead(n, START, [(status, OTHER)], End(body=THERE))
        found = await n.discover()
        assert (found["outcome"], found["manifest"], moved(found)) == ("not-found", None, {})

    async def test_to_a_host_that_does_not_answer(self) -> None:
        n = neighbourhood()
        lead(n, START, [(308, OTHER)])
        n.engine.origin.answer(OTHER, unreachable)
        found = await n.discover()
        assert (found["outcome"], moved(found)) == ("moved", {START: (OTHER, 308, "pending")})

    @pytest.mark.parametrize("end", [End(404), End(200, HTML, "text/html"), End(410)], ids=str)
    async def test_to_where_there_is_nothing(self, end: End) -> None:
        n = neighbourhood()
        lead(n, START, [(308, OTHER)], end)
        found = await n.discover()
        assert found["outcome"] == ("gone" if end.status == 410 else "not-found")
        assert moved(found) == {}

    async def test_a_card_proven_by_a_link(self) -> None:
        at = f"https://example.com{CARD_AT}"
        for fields, trust in (((("Link", f'<{at}>; rel="canonical"'),), "origin-tls"), ((), "hint")):
            n = neighbourhood()
            lead(n, at, [(308, OTHER)], End(body=octets(agent_card()), fields=fields))
            found = await n.discover()
            assert found.document(OTHER)["trust"] == trust
            assert moved(found)[at][2] == ("observed" if fields else "pending")
            assert bool(found["endpoints"]) is bool(fields)

    async def test_the_entry_of_a_registry_that_its_owner_can_only_redirect(self) -> None:
        """agent.json → 301 → agent-card.json → 307 → another domain: only the 301 lasts (★1)."""
        n = neighbourhood()
        old, new = f"https://example.com{OLD_CARD_AT}", f"https://example.com{CARD_AT}"
        lead(n, old, [(301, new), (307, OTHER)], End(body=octets(agent_card())))
        reading = await read(n, old, DocumentClass.AGENT_CARD)
        assert (reading.is_found, reading.needs_proof) == (True, True)
        n.publish(
            CATALOG_AT,
            catalog(
                {
                    "identifier": "urn:air:example.com:a",
                    "displayName": "a",
                    "url": old,
                    "type": "application/a2a-agent-card+json",
                }
            ),
        )
        found = await n.discover()
        # From the record, whose answer changes no method.
        assert moved(found) == {old: (new, 308, "pending")}
        assert found.document(OTHER)["trust"] == "hint"

    async def test_back_again(self) -> None:
        """Out of the domain and back: where it ends is the domain's own, and still the way needs a proof."""
        n = neighbourhood()
        lead(n, START, [(308, OTHER), (308, WWW)], End())
        found = await n.discover()
        assert found["manifest"]["url"] == WWW


def unreachable(_: object) -> Any:
    raise OriginUnavailable(OriginFault.UNREACHABLE, "simulated")


class TestSameSite:
    """OV-2, ★21, ★23: apex to www and the like are followed, hop by hop, and only what is permanent is shown."""

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    async def test_apex_to_www(self, status: int) -> None:
        n = neighbourhood()
        lead(n, START, [(status, WWW)], End())
        found = await n.discover()
        assert found["manifest"]["url"] == WWW
        assert moved(found) == ({START: (WWW, status, "observed")} if status in (301, 308) else {})

    async def test_everything_at_the_apex_sends_to_www(self) -> None:
        n = neighbourhood()
        for path in (MANIFEST_AT, CARD_AT, CATALOG_AT, "/robots.txt", "/llms.txt", "/"):
            url = f"https://www.example.com{path}"
            n.engine.origin.respond(f"https://example.com{path}", 307, fields=[("Location", url)])
        n.publish(WWW, manifest())
        n.publish(f"https://www.example.com{CARD_AT}", agent_card())
        n.publish("https://www.example.com/robots.txt", b"User-agent: *\n", content_type="text/plain")
        n.publish("https://www.example.com/llms.txt", b"# Site\n", content_type="text/plain")
        found = await n.discover()
        assert found["manifest"]["url"] == WWW and found["relocations"] == []
        assert found["static"]["robots"] == "https://www.example.com/robots.txt"
        assert found["static"]["llms"] == "https://www.example.com/llms.txt"
        assert ("a2a", "https://example.com/a2a", "agent-card", "origin-tls") in found.endpoints

    @pytest.mark.parametrize(("status", "is_own"), [(308, True), (301, True), (307, False), (302, False)])
    async def test_a_site_at_the_target_needs_a_move_that_lasts(self, status: int, is_own: bool) -> None:
        """U-M4: another host may speak for the domain only where a 301 or 308 leads there."""
        n = neighbourhood()
        site = {**manifest(), "site": {"name": "x", "url": "https://www.example.com/"}}
        lead(n, START, [(status, WWW)], End(body=octets(site)))
        found = await n.discover()
        assert (found["manifest"] is not None) is is_own
        assert found.document(WWW)["trust"] == ("origin-tls" if is_own else "hint")

    async def test_only_the_run_before_the_first_temporary_hop_speaks(self) -> None:
        n = neighbourhood()
        site = {**manifest(), "site": {"name": "x", "url": "https://b.example.com/"}}
        hops = [
            (308, "https://a.example.com/x"),
            (302, "https://c.example.com/x"),
            (308, "https://b.example.com/x"),
        ]
        lead(n, START, hops, End(body=octets(site)))
        found = await n.discover()
        assert found["manifest"] is None
        assert list(moved(found)) == [START]

    async def test_each_hop_of_a_run_is_shown(self) -> None:
        n = neighbourhood()
        lead(n, START, [(308, "/a"), (301, "/b")], End())
        assert moved(await n.discover()) == {
            START: ("https://example.com/a", 308, "observed"),
            "https://example.com/a": ("https://example.com/b", 301, "observed"),
        }

    @pytest.mark.parametrize(
        "hops",
        [
            [(301, "/docs/x"), (302, "/docs"), (302, "https://www.example.com/docs"), (308, "/docs/")],
            [(308, "/docs")],
        ],
    )
    async def test_a_chain_into_a_page_shows_nothing(self, hops: list[tuple[int, str]]) -> None:
        """OV-10, ★25."""
        n = neighbourhood()
        lead(n, START, hops, End(200, HTML, "text/html"))
        found = await n.discover()
        assert (found["outcome"], moved(found)) == ("not-found", {})


REACH = [
    (DocumentClass.AID, AID_AT, "https://example.com/a", "redirect-refused"),
    (DocumentClass.DID, "/.well-known/did.json", "https://example.com/a", ""),
    (DocumentClass.DID, "/.well-known/did.json", "https://www.example.com/a", "cross-domain"),
    (DocumentClass.OAUTH_AS, "/.well-known/oauth-authorization-server", "https://example.com/a", ""),
    (
        DocumentClass.OAUTH_AS,
        "/.well-known/oauth-authorization-server",
        "https://www.example.com/a",
        "cross-domain",
    ),
    (
        DocumentClass.OAUTH_AS,
        "/.well-known/oauth-authorization-server",
        "https://example.com:8443/a",
        "cross-domain",
    ),
    (DocumentClass.OAUTH_PR, "/.well-known/oauth-protected-resource", "https://www.example.com/a", ""),
    (DocumentClass.OAUTH_PR, "/.well-known/oauth-protected-resource", OTHER, "cross-domain"),
    (DocumentClass.MANIFEST, MANIFEST_AT, "https://www.example.com/a", ""),
    (DocumentClass.AI_CATALOG, CATALOG_AT, OTHER, ""),
    (DocumentClass.API_CATALOG, APIS_AT, OTHER, ""),
    (DocumentClass.AGENT_SKILLS, SKILLS_AT, OTHER, ""),
    (DocumentClass.LLMS, "/llms.txt", OTHER, ""),
]
BODY_OF = {
    DocumentClass.DID: {"id": "did:web:example.com"},
    DocumentClass.OAUTH_AS: {"issuer": "https://example.com"},
    DocumentClass.OAUTH_PR: {"resource": "https://example.com"},
    DocumentClass.MANIFEST: manifest(),
    DocumentClass.AI_CATALOG: catalog(),
    DocumentClass.API_CATALOG: linkset("https://example.com/openapi.json"),
    DocumentClass.AGENT_SKILLS: skills_index(),
    DocumentClass.LLMS: b"# Title",
}
IDENTITY = frozenset({DocumentClass.DID, DocumentClass.OAUTH_AS, DocumentClass.OAUTH_PR})


class TestReach:
    """OV-9: how far the redirects of each format lead."""

    @pytest.mark.parametrize(("document_class", "path", "location", "reason"), REACH)
    async def test_each_format(self, document_class: DocumentClass, path: str, location: str, reason: str) -> None:
        n = neighbourhood()
        body = octets(BODY_OF.get(document_class, b""))
        lead(n, f"https://example.com{path}", [(302, location)], End(body=body))
        reading = await read(n, f"https://example.com{path}", document_class)
        assert (reading.is_found, reading.reason) == (not reason, reason)
        assert len(n.paths) == (1 if reason else 2)

    @pytest.mark.parametrize("document_class", BODY_OF)
    async def test_the_most_hops(self, document_class: DocumentClass) -> None:
        most = 3 if document_class in IDENTITY else 5
        for count in (most, most + 1):
            n = neighbourhood()
            hops = [(307, f"https://example.com/{number}") for number in range(count)]
            lead(n, "https://example.com/start", hops, End(body=octets(BODY_OF[document_class])))
            reading = await read(n, "https://example.com/start", document_class)
            assert reading.is_found is (count == most), reading
            assert reading.reason == ("" if count == most else "too_many_redirects")


UNFIT = {
    "to http": ("http://example.com/x", "https_required"),
    "to a private address": ("https://10.0.0.5/x", "ssrf"),
    "to the machine itself": ("https://localhost/x", "ssrf"),
    "to an address mapped into IPv6": ("https://[::ffff:127.0.0.1]/x", "ssrf"),
    "to a name inside": ("https://intranet/x", "ssrf"),
    "to a name of the local link": ("https://printer.local/x", "ssrf"),
    "to another protocol's port": ("https://example.com:22/x", "port"),
    "with userinfo": ("https://user:pass@example.com/x", "userinfo"),
    "to no URL": ("https://exa mple.com/x", "malformed"),
    "to another scheme": ("ftp://example.com/x", "https_required"),
    "to a script": ("javascript:alert(1)", "malformed"),
    "nowhere": ("", "no-location"),
    "to a central service": ("https://registry.modelcontextprotocol.io/v0/servers", "central-service"),
    "to UAIX's own site": ("https://uaix.org/x", "central-service"),
}


class TestEveryHop:
    """C-13: each hop is held to what every published URL is held to, wherever in the chain it stands."""

    @pytest.mark.parametrize("before", [0, 2])
    @pytest.mark.parametrize(("location", "reason"), UNFIT.values(), ids=UNFIT)
    async def test_one_that_may_not_be_followed(self, location: str, reason: str, before: int) -> None:
        n = neighbourhood()
        hops = [(302, f"https://example.com/{number}") for number in range(before)]
        end = parse_target(lead(n, START, hops))
        n.engine.origin.respond(end.uri, 308, fields=[("Location", location)] if location else [])
        reading = await read(n, START, DocumentClass.MANIFEST)
        assert (reading.outcome, reading.reason) == (ReadOutcome.REFUSED, reason)
        # The last one is repeated where it is to be recorded, for it is at no document's own place.
        assert before + 1 <= len(n.paths) <= before + 2
        found = await n.discover()
        assert moved(found) == {} and found["overhead"]["central_services"] == 0
        assert "pass@" not in found.prepared.body(0.0).decode()

    async def test_a_name_that_turns_out_to_be_private(self) -> None:
        n = neighbourhood()

        def denied(_: object) -> Any:
            raise OriginUnavailable(OriginFault.DENIED, "simulated")

        lead(n, START, [(308, "https://inside.example.com/x")])
        n.engine.origin.answer("https://inside.example.com/x", denied)
        found = await n.discover()
        assert (found["outcome"], found.status, moved(found)) == ("refused", 403, {})

    async def test_the_secret_of_a_target_is_not_told(self) -> None:
        n = neighbourhood()
        secret = "https://example.com/m.json?access_token=s3cr3tvalue"
        lead(n, START, [(308, secret)], End())
        found = await n.discover()
        assert found["manifest"]["url"] == "https://example.com/"
        assert moved(found) == {START: ("https://example.com/", 308, "observed")}
        assert "s3cr3tvalue" not in found.prepared.body(0.0).decode()

    async def test_no_field_of_the_request_changes_on_the_way(self) -> None:
        n = neighbourhood()
        lead(n, f"https://example.com{CARD_AT}", [(307, "https://www.example.com/card")], End())
        await n.discover()
        first, second = (sent for sent in n.engine.origin.requests if sent.path in (CARD_AT, "/card"))
        assert first.request.fields == second.request.fields


async def test_alternatives_are_nobodys_move() -> None:
    """300: nothing is followed and nothing recorded."""
    n = neighbourhood()
    fields = [("Link", '</en.json>; rel="alternate"'), ("Location", "/en.json")]
    n.engine.origin.respond(MANIFEST_AT, 300, fields=fields)
    n.publish("/en.json", manifest())
    found = await n.discover()
    assert (found["outcome"], moved(found)) == ("not-found", {})
    assert "/en.json" not in n.paths


async def test_a_temporary_redirect_is_asked_again_and_a_lasting_one_is_kept() -> None:
    n = neighbourhood()
    lead(n, START, [(302, WWW)], End())
    found = await n.discover()
    assert found.prepared.fresh_until == n.engine.clock()
    await n.discover()
    assert n.asked("example.com").count(MANIFEST_AT) == 2 and n.asked("www.example.com") == [MANIFEST_AT]
    n = neighbourhood()
    n.engine.origin.respond(START, 308, max_age=300, fields=[("Location", WWW)])
    n.publish(WWW, manifest())
    for _ in range(2):
        n.engine.clock += 40
        found = await n.discover()
    assert n.asked("example.com").count(MANIFEST_AT) == 1
    assert moved(found) == {START: (WWW, 308, "observed")}
