"""Reading one document: what is asked, what counts as one, and what is remembered (C-10 to C-19, C-30 to C-37)."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from proxy.discovery.classes import DocumentClass
from proxy.discovery.gate import GateReason, NotADocument
from proxy.engine.control import Everything
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.reading import Manner, Reading, ReadOutcome
from proxy.engine.settings import EngineSettings
from proxy.http.fields import Fields
from proxy.http.messages import Realm, Request
from proxy.http.targets import parse_target
from proxy.ports import OriginFault, OriginUnavailable
from tests.engine.discovery.documents import AID_AT, CARD_AT, HTML, agent_card, manifest, octets
from tests.simulators.engine import Simulation, engine
from tests.simulators.origin import Reply

CARD = octets(agent_card())
AT = f"https://example.com{CARD_AT}"
JSON = "application/json"


def reader(simulation: Simulation) -> Reader:
    e = simulation
    return Reader(e.gateway, e.rules, e.generations, e.clock, "an-agent/1", 30.0)


async def read(
    simulation: Simulation,
    url: str = AT,
    document_class: DocumentClass = DocumentClass.AGENT_CARD,
    manner: Manner | None = None,
) -> Reading:
    return await reader(simulation).read(parse_target(url), document_class, manner or Manner())


def serving(**how: Any) -> Simulation:
    e = engine()
    how.setdefault("content_type", JSON)
    how.setdefault("body", CARD)
    e.origin.respond(CARD_AT, **how)
    return e


class TestRequest:
    """C-13, C-14: discovery asks as itself, with nothing of a client's."""

    @pytest.mark.parametrize(
        ("document_class", "accept"),
        [
            (DocumentClass.MANIFEST, "application/json"),
            (DocumentClass.AI_CATALOG, "application/ai-catalog+json"),
            (DocumentClass.AGENT_CARD, "application/a2a+json"),
            (DocumentClass.MCP_SERVER_CARD, "application/mcp-server-card+json"),
            (DocumentClass.API_CATALOG, "application/linkset+json"),
            (DocumentClass.LLMS, "text/markdown"),
            (DocumentClass.ROBOTS, "text/plain"),
            (DocumentClass.OTHER, "*/*"),
        ],
    )
    async def test_the_fields(self, document_class: DocumentClass, accept: str) -> None:
        e = engine()
        await read(e, "https://example.com/x", document_class)
        (sent,) = e.origin.requests
        assert accept in (sent.field("Accept") or "")
        assert sent.field("User-Agent") == "an-agent/1"
        names = {name.lower() for name, _ in sent.request.fields}
        assert not names & {"authorization", "cookie", "referer", "origin", "x-forwarded-for"}
        assert (sent.method, sent.request.realm, sent.body) == ("GET", Realm.PUBLIC, None)

    async def test_what_the_manner_adds(self) -> None:
        e = serving()
        await read(e, manner=Manner(accept="text/x", fields=Fields((("A2A-Version", "1.0"),))))
        assert (e.origin.requests[0].field("Accept"), e.origin.requests[0].field("A2A-Version")) == (
            "text/x",
            "1.0",
        )


REFUSED = {
    "plain http": ("http://example.com/a", "https_required"),
    "loopback": ("https://127.0.0.1/a", "ssrf"),
    "private": ("https://10.0.0.5/a", "ssrf"),
    "link-local metadata": ("https://169.254.169.254/latest/meta-data/", "ssrf"),
    "carrier-grade NAT": ("https://100.64.0.1/a", "ssrf"),
    "documentation": ("https://192.0.2.1/a", "ssrf"),
    "multicast": ("https://224.0.0.251/a", "ssrf"),
    "loopback in IPv6": ("https://[::1]/a", "ssrf"),
    "unique local": ("https://[fd00::1]/a", "ssrf"),
    "link-local in IPv6": ("https://[fe80::1]/a", "ssrf"),
    "a private address mapped into IPv6": ("https://[::ffff:10.0.0.5]/a", "ssrf"),
    "a private address in NAT64": ("https://[64:ff9b::a00:5]/a", "ssrf"),
    "a private address in 6to4": ("https://[2002:a00:5::]/a", "ssrf"),
    "localhost": ("https://localhost/a", "ssrf"),
    "below localhost": ("https://x.localhost/a", "ssrf"),
    "a single label": ("https://intranet/a", "ssrf"),
    "a name of the local link": ("https://printer.local/a", "ssrf"),
    "the port of SSH": ("https://example.com:22/a", "port"),
    "the port of a database": ("https://example.com:5432/a", "port"),
    "the port of mail": ("https://example.com:25/a", "port"),
}


class TestPlaces:
    """C-10, C-11: what no publisher may send discovery to is not asked, and that is told."""

    @pytest.mark.parametrize(("url", "reason"), REFUSED.values(), ids=REFUSED)
    async def test_refused(self, url: str, reason: str) -> None:
        e = engine()
        reading = await read(e, url)
        assert (reading.outcome, reading.reason, e.origin.requests) == (ReadOutcome.REFUSED, reason, [])

    @pytest.mark.parametrize("url", ["https://example.com:8443/a", "https://1.1.1.1/a", "https://[2606:4700::1]/a"])
    async def test_asked(self, url: str) -> None:
        e = engine()
        await read(e, url)
        assert len(e.origin.requests) == 1

    async def test_an_address_that_turns_out_to_be_private(self) -> None:
        e = serving()
        e.origin.fail(OriginFault.DENIED)
        reading = await read(e)
        assert (reading.outcome, reading.reason) == (ReadOutcome.REFUSED, "ssrf")

    async def test_where_the_operator_asks_for_himself_every_place_will_do(self) -> None:
        e = serving()
        assert (await read(e, f"http://127.0.0.1{CARD_AT}", manner=Manner(realm=Realm.ANY))).is_found

    @pytest.mark.parametrize("url", ["https://example.com/a", "https://10.0.0.5/a"])
    async def test_the_local_link_answers_for_none_but_its_own(self, url: str) -> None:
        e = engine()
        reading = await read(e, url, manner=Manner(realm=Realm.LOCAL))
        assert (reading.outcome, reading.reason, e.origin.requests) == (ReadOutcome.REFUSED, "ssrf", [])

    async def test_on_the_local_link_other_rules_hold(self) -> None:
        e = serving()
        reading = await read(e, f"https://printer.local:8443{CARD_AT}", manner=Manner(realm=Realm.LOCAL))
        assert reading.is_found and e.origin.requests[0].request.realm is Realm.LOCAL


def nested(depth: int) -> bytes:
    return b'{"name":"a","url":"https://example.com/","x":' + b"[" * depth + b"]" * depth + b"}"


BODIES: dict[str, tuple[bytes, str | None, str]] = {
    "JSON": (CARD, JSON, "found"),
    "JSON with parameters": (CARD, "application/json; charset=utf-8", "found"),
    "a type of its own": (CARD, "application/a2a+json", "found"),
    "plain text that is JSON": (CARD, "text/plain", "found"),
    "octets that are JSON": (CARD, "application/octet-stream", "found"),
    "no type": (CARD, None, "found"),
    "a byte order mark": (b"\xef\xbb\xbf" + CARD, JSON, "found"),
    "empty": (b"", JSON, "empty"),
    "only white space": (b" \n\t", JSON, "empty"),
    "HTML": (HTML, "text/html", "html"),
    "HTML declared as JSON": (HTML, JSON, "html"),
    "JSON declared as HTML": (CARD, "text/html; charset=utf-8", "html"),
    "markup": (b"<error>no</error>", "application/xml", "html"),
    "a sentence": (b"Not found", "text/plain", "not-json"),
    "cut off": (CARD[:-1], JSON, "not-json"),
    "a list": (b"[]", JSON, "not-an-object"),
    "null": (b"null", JSON, "not-an-object"),
    "a string": (b'"card"', JSON, "not-an-object"),
    "an error as JSON": (b'{"error":"not found"}', JSON, "members-missing"),
    "an empty object": (b"{}", JSON, "members-missing"),
    "members of wrong types": (b'{"name":1,"url":2}', JSON, "members-missing"),
    "no UTF-8": (b'{"name":"\xff","url":"https://example.com"}', JSON, "not-utf-8"),
    "NaN": (b'{"name":"a","url":"https://example.com","x":NaN}', JSON, "not-json"),
    "too deep": (nested(40), JSON, "too-deep"),
    "very deep": (nested(100_000), JSON, "too-deep"),
}


class TestKinds:
    """C-15, C-16: a 200 of another kind is absence; the type is a hint, the body decides."""

    @pytest.mark.parametrize(("body", "media_type", "reason"), BODIES.values(), ids=BODIES)
    async def test_bodies(self, body: bytes, media_type: str | None, reason: str) -> None:
        e = serving(body=body, content_type=media_type, max_age=300)
        reading = await read(e)
        if reason == "found":
            assert (reading.outcome, reading.body) == (ReadOutcome.FOUND, body)
            return
        assert (reading.outcome, reading.reason) == (ReadOutcome.WRONG_KIND, reason)
        assert reading.body == b""

    async def test_a_judge_beside_the_gate(self) -> None:
        e = engine()
        e.origin.respond("/x", body=b"text", content_type="text/css")
        refused = NotADocument(GateReason.NOT_TEXT, "not what was wanted")
        reading = await read(e, "https://example.com/x", DocumentClass.OTHER, Manner(judge=lambda *_: refused))
        assert (reading.outcome, reading.reason) == (ReadOutcome.WRONG_KIND, "not-text")

    @pytest.mark.parametrize(
        ("coding", "body", "outcome"),
        [
            ("gzip", gzip.compress(CARD), ReadOutcome.FOUND),
            ("deflate", zlib.compress(CARD), ReadOutcome.FOUND),
            ("x-gzip", gzip.compress(CARD), ReadOutcome.FOUND),
            ("identity", CARD, ReadOutcome.FOUND),
            ("gzip", CARD, ReadOutcome.FAILED),
            ("gzip", gzip.compress(CARD)[:-9], ReadOutcome.FAILED),
            ("br", CARD, ReadOutcome.FAILED),
        ],
    )
    async def test_codings(self, coding: str, body: bytes, outcome: ReadOutcome) -> None:
        e = serving(body=body, max_age=300, fields=[("Content-Encoding", coding)])
        reading = await read(e)
        assert reading.outcome is outcome, reading
        assert reading.body == (CARD if outcome is ReadOutcome.FOUND else b"")


@pytest.mark.parametrize(
    ("coding", "body", "reason"),
    [
        ("gzip", gzip.compress(CARD), ""),
        ("gzip", CARD, "origin-invalid-response"),
        ("br", CARD, "unknown-coding"),
        ("gzip", gzip.compress(CARD.ljust(2**20 + 1)), "too-large"),
        ("identity", CARD.ljust(2**20 + 1), "too-large"),
    ],
)
async def test_codings_where_no_path_tells_the_class(coding: str, body: bytes, reason: str) -> None:
    e = engine()
    e.origin.respond("/card", body=body, max_age=60, fields=[("Content-Encoding", coding)])
    reading = await read(e, "https://example.com/card")
    assert (reading.is_found, reading.reason) == (not reason, reason)
    assert (reading.outcome is ReadOutcome.REFUSED) is (reason == "too-large")


STATUSES = [
    (200, ReadOutcome.FOUND, ""),
    (203, ReadOutcome.FOUND, ""),
    (204, ReadOutcome.ABSENT, "status-204"),
    (206, ReadOutcome.ABSENT, "status-206"),
    (300, ReadOutcome.ABSENT, "status-300"),
    (400, ReadOutcome.ABSENT, "status-400"),
    (401, ReadOutcome.ABSENT, "not-available"),
    (403, ReadOutcome.ABSENT, "not-available"),
    (404, ReadOutcome.ABSENT, "status-404"),
    (405, ReadOutcome.ABSENT, "not-available"),
    (406, ReadOutcome.ABSENT, "not-available"),
    (407, ReadOutcome.ABSENT, "not-available"),
    (410, ReadOutcome.ABSENT, "status-410"),
    (429, ReadOutcome.ABSENT, "not-available"),
    (451, ReadOutcome.ABSENT, "status-451"),
    (500, ReadOutcome.FAILED, "status-500"),
    (502, ReadOutcome.FAILED, "status-502"),
    (503, ReadOutcome.FAILED, "status-503"),
    (504, ReadOutcome.FAILED, "status-504"),
]


class TestStatuses:
    """§9: what each status makes of a reading. The status is looked at first, the body second."""

    @pytest.mark.parametrize(("status", "outcome", "reason"), STATUSES)
    async def test_each(self, status: int, outcome: ReadOutcome, reason: str) -> None:
        reading = await read(serving(status=status))
        assert (reading.outcome, reading.reason, reading.status) == (outcome, reason, status)
        assert reading.is_gone is (status == 410)

    @pytest.mark.parametrize("body", [b"Not Acceptable", b'{"jsonrpc":"2.0","error":{}}', CARD, HTML, b"\xff" * 99])
    @pytest.mark.parametrize("status", [401, 404, 406])
    async def test_whatever_the_body_says(self, status: int, body: bytes) -> None:
        assert (await read(serving(status=status, body=body))).outcome is ReadOutcome.ABSENT

    @pytest.mark.parametrize(
        ("fault", "reason"),
        [
            (OriginFault.UNREACHABLE, "origin-unreachable"),
            (OriginFault.TIMEOUT, "origin-timeout"),
            (OriginFault.INVALID_RESPONSE, "origin-invalid-response"),
            (OriginFault.OVERLOADED, "overloaded"),
        ],
    )
    async def test_no_answer_is_no_word_of_the_origin(self, fault: OriginFault, reason: str) -> None:
        e = serving()
        e.origin.fail(fault)
        reading = await read(e)
        assert (reading.outcome, reading.reason, reading.status) == (ReadOutcome.FAILED, reason, None)

    async def test_a_body_that_breaks_off(self) -> None:
        for media in (CARD_AT, "/x"):
            e = engine()
            e.origin.respond(media, body=CARD, content_type=JSON, cut=True)
            reading = await read(e, f"https://example.com{media}")
            assert (reading.outcome, reading.reason) == (ReadOutcome.FAILED, "origin-invalid-response")
            assert e.origin.leaked == []


LIMITS = [
    (DocumentClass.AID, AID_AT, 64 * 1024, octets({"v": "aid2", "u": "https://example.com/", "p": "mcp"})),
    (DocumentClass.AGENT_CARD, CARD_AT, 2**20, CARD),
    (DocumentClass.MANIFEST, "/.well-known/uaix-agent-access.json", 2**20, octets(manifest())),
    (DocumentClass.LLMS, "/llms.txt", 4 * 2**20, b"# Title"),
]


class TestSizes:
    """C-14: so much of each class and no more, before and after the content coding is removed."""

    @pytest.mark.parametrize(("document_class", "path", "limit", "body"), LIMITS)
    async def test_the_limit(self, document_class: DocumentClass, path: str, limit: int, body: bytes) -> None:
        for size, outcome in ((limit, ReadOutcome.FOUND), (limit + 1, ReadOutcome.REFUSED)):
            e = engine()
            e.origin.respond(path, body=body.ljust(size), content_type=JSON, max_age=300)
            reading = await read(e, f"https://example.com{path}", document_class)
            assert reading.outcome is outcome
            assert reading.reason == ("" if outcome is ReadOutcome.FOUND else "too-large")
            assert e.origin.leaked == []

    async def test_decompressed_size(self) -> None:
        body = gzip.compress(CARD.ljust(2**20 + 1))
        e = serving(body=body, max_age=300, fields=[("Content-Encoding", "gzip")])
        reading = await read(e)
        assert (len(body) < 4096, reading.outcome, reading.reason) == (True, ReadOutcome.REFUSED, "too-large")

    async def test_twenty_megabytes_where_no_path_tells_the_class(self) -> None:
        e = engine()
        e.origin.respond("/card", body=CARD.ljust(20 * 2**20), content_type=JSON)
        reading = await read(e, "https://example.com/card")
        assert (reading.outcome, reading.reason, e.origin.leaked) == (ReadOutcome.REFUSED, "too-large", [])

    async def test_a_large_error_page_is_absence_all_the_same(self) -> None:
        for path in (CARD_AT, "/card"):
            e = engine()
            e.origin.respond(path, status=404, body=b"x" * (5 * 2**20))
            reading = await read(e, f"https://example.com{path}")
            assert (reading.outcome, reading.reason) == (ReadOutcome.ABSENT, "status-404")
            assert e.origin.leaked == []


class TestMemory:
    """C-17, C-37, §14.3: no document is remembered for a while, an outage is not, a purge forgets."""

    @pytest.mark.parametrize(
        "how",
        [
            {"status": 401},
            {"status": 403},
            {"status": 429},
            {"status": 404},
            {"status": 404, "cache_control": "no-store"},
            {"status": 404, "max_age": 86_400},
            {"body": HTML, "content_type": "text/html", "max_age": 86_400},
            {"body": b""},
            {"status": 302, "fields": [("Location", "https://10.0.0.5/x")]},
        ],
        ids=str,
    )
    async def test_for_thirty_seconds(self, how: dict[str, Any]) -> None:
        e = serving(**how)
        reads = reader(e)
        first = await reads.read(parse_target(AT), DocumentClass.AGENT_CARD)
        assert not first.is_found and first.fresh_until == e.clock() + 30
        e.clock += 29
        again = await reads.read(parse_target(AT), DocumentClass.AGENT_CARD)
        assert (again.outcome, again.reason) == (first.outcome, first.reason)
        assert again.cache in ("remembered", "hit") and len(e.origin.requests) == 1
        e.clock += 2
        e.origin.respond(CARD_AT, body=CARD, content_type=JSON)
        assert (await reads.read(parse_target(AT), DocumentClass.AGENT_CARD)).is_found

    @pytest.mark.parametrize("status", [500, 503])
    async def test_an_outage_is_not(self, status: int) -> None:
        e = serving(status=status)
        reads = reader(e)
        await reads.read(parse_target(AT), DocumentClass.AGENT_CARD)
        e.origin.respond(CARD_AT, body=CARD, content_type=JSON)
        assert (await reads.read(parse_target(AT), DocumentClass.AGENT_CARD)).is_found

    async def test_a_purge_forgets(self) -> None:
        e = serving(status=401)
        reads = reader(e)
        await reads.read(parse_target(AT), DocumentClass.AGENT_CARD)
        await e.control.purge(Everything(), soft=False)
        e.origin.respond(CARD_AT, body=CARD, content_type=JSON)
        assert (await reads.read(parse_target(AT), DocumentClass.AGENT_CARD)).is_found

    async def test_no_more_than_so_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("proxy.engine.discovery.reader._ROOM", 2 * 1200)
        e = engine()
        reads = reader(e)
        for path in "abca":
            await reads.read(parse_target(f"https://example.com/{path}"), DocumentClass.AGENT_CARD)
        assert e.origin.paths == ["/a", "/b", "/c", "/a"]

    async def test_a_document_is_kept_by_the_cache(self) -> None:
        e = serving(max_age=300, etag='"1"')
        reads = reader(e)
        found = [await reads.read(parse_target(AT), DocumentClass.AGENT_CARD) for _ in range(2)]
        assert [one.cache for one in found] == ["miss", "hit"]
        assert found[0].fresh_until == found[1].fresh_until == e.clock() + 300
        e.clock += 301
        again = await reads.read(parse_target(AT), DocumentClass.AGENT_CARD)
        assert (again.cache, again.body, len(e.origin.requests)) == ("revalidated", CARD, 2)

    @pytest.mark.parametrize("control", ["no-store", "private", "no-cache", "max-age=0"])
    async def test_one_that_may_not_be_kept_is_asked_for_again(self, control: str) -> None:
        e = serving(cache_control=control)
        reads = reader(e)
        for _ in range(2):
            reading = await reads.read(parse_target(AT), DocumentClass.AGENT_CARD)
            assert reading.is_found and reading.fresh_until == e.clock()
        assert len(e.origin.requests) == 2


class TestLearning:
    """A document away from the well-known places is one of its class where its own site says so."""

    @pytest.mark.parametrize(
        ("site", "url", "requests"),
        [
            ("example.com", "https://example.com/card", 1),
            ("example.com", "https://cards.example.com/card", 2),
            ("example.com", "https://other.example.net/card", 2),
            (None, "https://example.com/card", 2),
        ],
    )
    async def test_a_silent_origin(self, site: str | None, url: str, requests: int) -> None:
        e = engine()
        e.origin.respond("/card", body=CARD, content_type=JSON)
        reads = reader(e)
        for _ in range(2):
            assert (await reads.read(parse_target(url), DocumentClass.AGENT_CARD, Manner(site=site))).is_found
        assert len(e.origin.requests) == requests

    async def test_what_a_domain_says_of_its_paths_is_for_discovery_alone(self) -> None:
        e = engine()
        e.origin.respond("/page", body=HTML, content_type="text/html", max_age=60)
        await read(e, "https://example.com/page", manner=Manner(site="example.com"))
        assert (await e.ask("/page")).status == 200


class TestStoredOnly:
    """§9, the last row: of an origin that does not answer counts what is stored, as far as it allows that."""

    @pytest.mark.parametrize(
        ("control", "seconds", "found"),
        [
            ("max-age=60", 30, True),
            ("max-age=60", 61, False),
            ("max-age=60, stale-if-error=600", 300, True),
            ("max-age=60, stale-if-error=600", 700, False),
            ("max-age=60, stale-while-revalidate=600", 300, True),
            ("max-age=60, stale-if-error=600, must-revalidate", 300, False),
            ("no-cache, stale-if-error=600", 1, False),
        ],
    )
    async def test_what_stands_in(self, control: str, seconds: int, found: bool) -> None:
        e = serving(cache_control=control, etag='"1"')
        await read(e)
        e.clock += seconds
        reading = await read(e, manner=Manner(stored_only=True))
        assert (reading.is_found, len(e.origin.requests)) == (found, 1)
        assert reading.reason == ("" if found else "origin-unreachable")

    async def test_where_the_operator_allows_more(self) -> None:
        e = engine(EngineSettings(outage_stale=1000.0))
        e.origin.respond(CARD_AT, body=CARD, content_type=JSON, max_age=60)
        await read(e)
        e.clock += 600
        assert (await read(e, manner=Manner(stored_only=True))).cache == "stale"

    async def test_a_stored_redirect_leads_to_a_host_that_is_asked(self) -> None:
        e = engine()
        e.origin.respond(CARD_AT, 308, max_age=60, fields=[("Location", "https://www.example.com/card")])
        e.origin.respond("https://www.example.com/card", body=CARD, content_type=JSON)
        await read(e)
        await e.settle()
        e.origin.requests.clear()
        reading = await read(e, manner=Manner(stored_only=True))
        assert reading.is_found and e.origin.paths == ["/card"]

    async def test_a_purged_copy_does_not(self) -> None:
        e = serving(cache_control="max-age=60, stale-if-error=600")
        await read(e)
        await e.control.purge(Everything(), soft=False)
        assert not (await read(e, manner=Manner(stored_only=True))).is_found


async def test_a_reading_tells_its_type_without_parameters() -> None:
    reading = await read(serving(content_type="Application/JSON; charset=utf-8"))
    assert (reading.media_type, reading.url) == ("application/json", AT)


async def test_a_signed_url_is_followed_and_not_shown() -> None:
    e = engine()
    signed = "https://store.example.net/o?X-Amz-Signature=0123456789abcdef0123456789abcdef"
    e.origin.respond("/artifact", 302, fields=[("Location", signed)])
    e.origin.respond(signed, body=b"bytes")
    reading = await read(e, "https://example.com/artifact", DocumentClass.OTHER)
    assert (reading.body, reading.url) == (b"bytes", "https://store.example.net/")


@pytest.mark.parametrize("seed", range(40))
async def test_nothing_an_origin_says_raises(seed: int) -> None:
    """Statuses, fields and bodies that fit together in no way."""
    statuses = (200, 203, 206, 301, 304, 308, 404, 500, 599)
    locations = ("", "//", "https://", "https://[::", "\\", "https://example.com:99999/", "javascript:0", CARD_AT)
    bodies = (b"", b"\x00", CARD, b"{" * 50, bytes(range(256)), json.dumps([[]] * 99).encode())
    fields = Fields(
        (
            ("Location", locations[seed % len(locations)]),
            ("Content-Type", ("", ";;", "text/html", JSON)[seed % 4]),
            ("Content-Encoding", ("", "gzip", "identity", "x, y")[seed % 3]),
            ("Cache-Control", ("max-age=", "max-age=-1", "=", "public, max-age=9")[seed % 4]),
            ("Vary", ("*", "", "Accept", "Cookie")[seed % 4]),
        )
    )
    e = engine()
    reply = Reply(statuses[seed % len(statuses)], fields, bodies[seed % len(bodies)])
    e.origin.answer(CARD_AT, lambda request: reply)
    reading = await read(e)
    assert isinstance(reading.outcome, ReadOutcome) and len(e.origin.requests) < 8
    assert e.origin.leaked == []


async def test_a_host_that_fails_within_a_redirect() -> None:
    def unreachable(request: Request) -> Reply:
        raise OriginUnavailable(OriginFault.UNREACHABLE, "simulated")

    e = serving(status=302, fields=[("Location", "https://www.example.com/card")])
    e.origin.answer("/card", unreachable)
    reading = await read(e)
    assert (reading.outcome, reading.reason, len(reading.hops)) == (ReadOutcome.FAILED, "origin-unreachable", 1)
