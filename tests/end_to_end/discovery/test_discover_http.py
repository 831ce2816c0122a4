"""`/v1/discover/{domain}` over HTTP: statuses, fields, conditions, methods, and names that are none."""

from __future__ import annotations

import asyncio
import json
import re
import socket

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.end_to_end.discovery.internet import MANIFEST, Internet, discover
from tests.end_to_end.discovery.publisher import agent_card, manifest, publish_everything
from tests.end_to_end.running import Reply, Running, Wire, request, running
from tests.simulators.wire import Ending, ScriptedOrigin

HOST = "agents.example.com"
OURS = ("x-content-type-options", "access-control-allow-origin", "via", "cache-status", "date")


def age_of(reply: Reply) -> int:
    """The max-age of an answer."""
    found = re.fullmatch("max-age=([0-9]+)", reply.get("cache-control") or "")
    assert found is not None
    return int(found[1])


async def test_found(internet: Internet) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        reply = await discover(proxy, HOST)
        again = await discover(proxy, HOST)
    assert (reply.status, again.status) == (200, 200)
    for one in (reply, again):
        assert one.get("content-type") == "application/json"
        assert one.get("x-content-type-options") == "nosniff"
        assert one.get("access-control-allow-origin") == "*"
        assert re.fullmatch('W/"[0-9a-f]{32}"', one.get("etag") or "")
        assert int(one.get("content-length") or 0) == len(one.body)
    assert reply.get("etag") == again.get("etag")
    assert "fwd=uri-miss" in (reply.get("cache-status") or "")
    assert "hit" in (again.get("cache-status") or "")


@pytest.mark.parametrize(
    ("documents", "ttl"),
    [
        ({MANIFEST: 3600, "/.well-known/agent-card.json": 40}, 40),
        ({MANIFEST: 7, "/.well-known/agent-card.json": 40}, 7),
        # Names that are not there are asked for again after the minimum of the zone, which is 60 seconds.
        ({MANIFEST: 3600, "/.well-known/agent-card.json": 3600}, 60),
    ],
)
async def test_an_answer_is_good_no_longer_than_its_shortest_source(
    internet: Internet, documents: dict[str, int], ttl: int
) -> None:
    bodies = {MANIFEST: manifest(HOST), "/.well-known/agent-card.json": agent_card(HOST)}
    publish_everything(internet, HOST, 3600)
    for path, max_age in documents.items():
        internet.publish(HOST, path, bodies[path], max_age=max_age)
    async with internet.proxy(cache__negative_ttl=300) as proxy:
        assert ttl - 3 <= age_of(await discover(proxy, HOST)) <= ttl
        await asyncio.sleep(1.1)
        later = await discover(proxy, HOST)
        assert ttl - 5 <= age_of(later) <= ttl - 1
        assert f"hit; ttl={age_of(later)}" in (later.get("cache-status") or "")


@pytest.mark.parametrize("control", ["no-store", "no-cache", "private", "max-age=0"])
async def test_what_may_not_be_kept_makes_the_answer_one_to_be_validated(internet: Internet, control: str) -> None:
    publish_everything(internet, HOST)
    card = agent_card(HOST)
    internet.publish(HOST, "/.well-known/agent-card.json", card, max_age=None, fields=(("Cache-Control", control),))
    async with internet.proxy() as proxy:
        reply = await discover(proxy, HOST)
        assert reply.get("cache-control") == "no-cache"
        validated = await discover(proxy, HOST, f"If-None-Match: {reply.get('etag')}")
        assert validated.status == 304


@pytest.mark.parametrize(
    ("pattern", "status"),
    [
        ("{}", 304),
        ('"other", {}', 304),
        ("*", 304),
        ('"other"', 200),
        ('W/"{{}}"', 200),
        ("", 200),
    ],
)
async def test_conditions(internet: Internet, pattern: str, status: int) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        etag = (await discover(proxy, HOST)).get("etag")
        reply = await discover(proxy, HOST, f"If-None-Match: {pattern.format(etag)}")
    assert reply.status == status
    assert reply.get("etag") == etag
    assert all(reply.get(name) is not None for name in OURS)
    assert (reply.body == b"") is (status == 304)
    assert (reply.get("content-type") is None) is (status == 304)


async def test_a_change_at_the_origin_changes_the_tag(internet: Internet) -> None:
    publish_everything(internet, HOST, max_age=0)
    async with internet.proxy() as proxy:
        first, second = await discover(proxy, HOST), await discover(proxy, HOST)
        assert first.get("etag") == second.get("etag")
        internet.publish(HOST, "/.well-known/agent-card.json", {**agent_card(HOST), "version": "2"}, max_age=0)
        third = await discover(proxy, HOST, f"If-None-Match: {first.get('etag')}")
    assert third.status == 200
    assert third.get("etag") != first.get("etag")


@pytest.mark.parametrize("domain", [HOST, "quiet.example.com", "localhost"])
async def test_head_tells_what_get_would(internet: Internet, domain: str) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy, Wire.open(proxy.port) as wire:
        got = await discover(proxy, domain)
        head = await wire.ask(request("HEAD", f"/v1/discover/{domain}"), "HEAD")
        assert (head.status, head.body) == (got.status, b"")
        for name in ("content-type", "etag", *OURS[:2]):
            assert head.get(name) == got.get(name)
        assert (await wire.ask(request("GET", "/v1/discover/localhost"))).status == 400


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_other_methods(internet: Internet, method: str) -> None:
    async with internet.proxy() as proxy:
        reply = await discover(proxy, HOST, "Content-Length: 0", method=method)
        assert reply.status == 405
        assert reply.slug == "bad-request"
    assert internet.overhead["dns_queries"] == 0


def nothing(internet: Internet) -> str:
    return "quiet.example.com"


def no_such_name(internet: Internet) -> str:
    return "nothing.example.com"


def gone(internet: Internet) -> str:
    internet.publish("quiet.example.com", MANIFEST, b"", status=410)
    return "quiet.example.com"


def nobody(internet: Internet) -> str:
    return "down.example.com"


def failing(internet: Internet) -> str:
    for path in (MANIFEST, "/", "/.well-known/agent-card.json"):
        internet.publish("quiet.example.com", path, b"", status=500)
    return "quiet.example.com"


REFUSALS = {
    "nothing published": (nothing, 404, "not-found", "not-found"),
    "withdrawn": (gone, 410, "gone", "gone"),
    "nobody there": (nobody, 503, "origin-unreachable", "unavailable"),
    "no such name": (no_such_name, 503, "origin-unreachable", "unavailable"),
}


@pytest.mark.parametrize(("prepare", "status", "slug", "outcome"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_refusals(internet: Internet, prepare: object, status: int, slug: str, outcome: str) -> None:
    assert callable(prepare)
    domain = prepare(internet)
    async with internet.proxy() as proxy:
        reply = await discover(proxy, domain)
    assert (reply.status, reply.slug) == (status, slug)
    told = json.loads(reply.body)
    assert (told["domain"], told["outcome"]) == (domain, outcome)
    assert told["steps"] and all(step["outcome"] not in ("found", "cached") for step in told["steps"][-3:])
    assert reply.get("x-content-type-options") == "nosniff"
    assert reply.get("access-control-allow-origin") == "*"


async def test_addresses_that_may_not_be_reached(internet: Internet) -> None:
    async with internet.proxy(upstream__connect_to=[]) as proxy:
        reply = await discover(proxy, "private.example.com")
    assert (reply.status, reply.slug) == (403, "egress-denied")
    assert json.loads(reply.body)["outcome"] == "refused"


async def counted(proxy: Running) -> dict[tuple[str, str, str], float]:
    """Requests of the data port so far, by outcome, class and status."""
    async with Wire.open(proxy.admin_port) as wire:
        text = (await wire.ask(request("GET", "/metrics", "Host: 127.0.0.1"))).body.decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {
        (sample.labels["outcome"], sample.labels["class"], sample.labels["code"]): sample.value
        for sample in samples
        if sample.name == "discovery_proxy_requests_total"
    }


DENIED: dict[str, object] = {"upstream__connect_to": []}
# Domain, sections, status, and whether the second answer is there already.
COUNTED: dict[str, tuple[str, dict[str, object], int, bool]] = {
    "found": (HOST, {}, 200, True),
    "nothing published": ("quiet.example.com", {}, 404, True),
    "withdrawn": ("withdrawn.example.com", {}, 410, True),
    "an address inside": ("private.example.com", DENIED, 403, True),
    "DNSSEC required": ("unsigned.com", {"dns__dnssec": "require"}, 403, True),
    "nobody there": ("down.example.com", {}, 503, False),
}


@pytest.mark.parametrize(("domain", "sections", "status", "is_kept"), COUNTED.values(), ids=COUNTED.keys())
async def test_every_answer_about_a_domain_is_counted_by_how_it_came_about(
    internet: Internet, domain: str, sections: dict[str, object], status: int, is_kept: bool
) -> None:
    publish_everything(internet, HOST)
    internet.publish("withdrawn.example.com", MANIFEST, b"", status=410)
    async with internet.proxy(**sections) as proxy:
        replies = [await discover(proxy, domain) for _ in range(2)]
        assert [reply.status for reply in replies] == [status] * 2
        if is_kept:
            expected = {("miss", "discovery", str(status)): 1.0, ("fresh", "discovery", str(status)): 1.0}
        else:
            expected = {("miss", "discovery", str(status)): 2.0}
        assert await counted(proxy) == expected
        assert [("hit" in (reply.get("cache-status") or "")) for reply in replies] == [False, is_kept]


async def test_names_that_are_none_are_errors_of_the_client(internet: Internet) -> None:
    async with internet.proxy() as proxy:
        assert (await discover(proxy, "localhost")).status == 400
        assert {(outcome, code) for outcome, _, code in await counted(proxy)} == {("error", "400")}


async def test_answers_that_were_ready_are_hits_among_all_others(internet: Internet) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        for _ in range(4):
            await discover(proxy, HOST)
        await proxy.get(f"/https/{HOST}{MANIFEST}?other")
        await discover(proxy, "localhost")
        async with Wire.open(proxy.admin_port) as wire:
            page = (await wire.ask(request("GET", "/", "Host: 127.0.0.1"))).body.decode()
    # Three of five: the two others had to be fetched, and the name that is none was no look-up.
    assert "60.0%" in page


LABEL = "a" * 63
BAD_NAMES = {
    "nothing": "",
    "a label of 64 octets": f"{LABEL}a.example.com",
    "an encoded label of 64 octets": "%61" * 64 + ".example.com",
    "a name of 256 octets": ".".join([LABEL] * 4),
    "no room for the records below": ".".join([LABEL, LABEL, LABEL, "a" * 50]),
    "no label between dots": "a..example.com",
    "a dot before": ".example.com",
    "two dots behind": "example.com..",
    "dots alone": "..",
    "a dot alone": ".",
    "the root, encoded": "%2e",
    "a single label": "example",
    "localhost": "localhost",
    "localhost with a dot": "localhost.",
    "a name in localhost": "a.localhost",
    "LOCALHOST": "LOCALHOST",
    "IPv4": "127.0.0.1",
    "a public address": "1.1.1.1",
    "IPv4 with a dot": "127.0.0.1.",
    "IPv4 as a number": "2130706433",
    "IPv4, hexadecimal": "0x7f000001",
    "IPv4, octal": "0177.0.0.1",
    "IPv4, short": "127.1",
    "IPv4, full width": "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1",
    "IPv6": "::1",
    "IPv6 in brackets": "[::1]",
    "IPv6, encoded brackets": "%5B::1%5D",
    "a port": "example.com:443",
    "userinfo": "a@example.com",
    "a URL": "https://example.com",
    "an encoded URL": "https%3A%2F%2Fexample.com",
    "a path": "example.com/a",
    "an encoded path": "example.com%2Fa",
    "a way up": "../example.com",
    "a way up from it": "example.com/..",
    "an encoded way up": "%2e%2e",
    "an encoded way up and on": "%2e%2e%2fadmin",
    "a space": "example%20.com",
    "a NUL": "example%00.com",
    "a line's end": "example.com%0d%0aX:y",
    "a broken encoding": "%zz.example.com",
    "half an encoding": "example.com%",
    "not UTF-8": "%ff.example.com",
    "a backslash": "example.com%5c",
    "an underscore alone": "_",
    "full width letters": "%EF%BD%81gents.example.com",
    "an emoji": "%F0%9F%98%80.example.com",
    "encoded twice": "%2565xample.com%252f",
}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES.keys())
async def test_names_that_are_none(name: str) -> None:
    async with running(dns__resolvers=["127.0.0.1:9"]) as proxy:
        reply = await discover(proxy, name)
        assert (reply.status, reply.slug) in ((400, "bad-target"), (400, "bad-request"))
        assert "Traceback" not in reply.body.decode()
        assert (await proxy.get("/")).status == 200


GOOD_NAMES = {
    "capitals": "AGENTS.Example.COM",
    "a dot behind": "agents.example.com.",
    "encoded letters": "%61gents.example%2ecom",
    "an ideographic full stop": "agents%E3%80%82example.com",
}


@pytest.mark.parametrize("name", GOOD_NAMES.values(), ids=GOOD_NAMES.keys())
async def test_spellings_of_a_name(internet: Internet, name: str) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        reply = await discover(proxy, name)
        assert (reply.status, json.loads(reply.body)["domain"]) == (200, HOST)
        internet.forget()
        await discover(proxy, HOST)
    assert internet.overhead["http_requests"] == 0


ODD_NAMES = ("-a.example.com", "xn--.example.com", "xn--a.example.com", "a_b.example.com", "0.example.com")


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_names_that_dns_alone_decides_about(internet: Internet, name: str) -> None:
    async with internet.proxy() as proxy:
        assert (await discover(proxy, name)).status == 503
    assert (f"_agent.{name}", "TXT") in internet.nameserver.questions


async def test_an_internationalised_name_is_asked_for_in_a_labels(internet: Internet) -> None:
    async with internet.proxy() as proxy:
        reply = await discover(proxy, "B%C3%BCcher.example.com")
    assert json.loads(reply.body)["domain"] == "xn--bcher-kva.example.com"
    assert ("_agent.xn--bcher-kva.example.com", "TXT") in internet.nameserver.questions


async def test_the_longest_name_that_can_be_asked_about(internet: Internet) -> None:
    name = ".".join([LABEL, LABEL, LABEL, "a" * 32, "com"])
    assert len(name) + len("_entries._agents.") <= 253
    async with internet.proxy() as proxy:
        reply = await discover(proxy, name)
    assert reply.status == 503
    assert (f"_entries._agents.{name}", "SVCB") in internet.nameserver.questions


@pytest.mark.parametrize(
    ("query", "level", "ladder"),
    [
        ("", None, None),
        ("?level=L4", "L4", "exec"),
        ("?level=L2&ladder=surface", "L2", "surface"),
        ("?level=L1&level=L4", "L4", "exec"),
        ("?level=L99", "L0", "exec"),
        ("?level=&ladder=", None, None),
        ("?other=1", None, None),
        ("?level=%4C4", "L4", "exec"),
    ],
)
async def test_claims(internet: Internet, query: str, level: str | None, ladder: str | None) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        reply = await discover(proxy, f"{HOST}{query}")
    client = json.loads(reply.body)["client"]
    assert (client["level"], client["ladder"], client["known"]) == (level, ladder, False)


@pytest.mark.parametrize(
    "query", ["?level=" + "L" * 7000, "?" + "&".join(["level=L1"] * 500), "?level=%ff%00", "?%"]
)
async def test_queries_that_make_no_sense(internet: Internet, query: str) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        reply = await discover(proxy, f"{HOST}{query}")
    assert reply.status in (200, 400)


async def test_no_client_fields_go_to_the_origin(internet: Internet) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        await discover(proxy, HOST, "Authorization: Bearer secret", "Cookie: a=b", "Range: bytes=0-1", "X-Own: 1")
    for exchange in internet.exchanges:
        names = {name.lower() for name, _ in exchange.fields}
        assert names <= {"host", "user-agent", "accept", "accept-encoding", "a2a-version", "if-none-match"}


async def test_an_answer_within_the_deadline_whatever_hangs(internet: Internet) -> None:
    """Neither the resolver nor the site ever says a word."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        async with ScriptedOrigin([(Ending.STAY,)]) as site:
            sections = {
                "dns__resolvers": [f"127.0.0.1:{silent.getsockname()[1]}"],
                "upstream__connect_to": [f":443:127.0.0.1:{site.port}"],
                "upstream__connect_timeout": 30,
                "upstream__total_timeout": 30,
                "discovery__deadline": 1,
            }
            async with internet.proxy(**sections) as proxy, asyncio.timeout(2.5):
                reply = await discover(proxy, HOST)
    assert (reply.status, reply.slug) == (503, "origin-unreachable")
    told = json.loads(reply.body)
    assert {step["outcome"] for step in told["steps"]} == {"failed"}
    assert any("discovery.deadline" in step["detail"] for step in told["steps"])


async def test_too_many_at_once_are_told_so(internet: Internet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.engine.discovery.discoverer._MOST_UNDER_WAY", 0)
    async with internet.proxy() as proxy:
        reply = await discover(proxy, HOST)
    assert (reply.status, reply.get("content-type")) == (503, "application/problem+json")
    assert json.loads(reply.body)["type"] == "urn:discovery-proxy:problem:overloaded"
