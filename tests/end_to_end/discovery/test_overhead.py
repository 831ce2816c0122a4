"""`overhead` and `steps` against what the sites and the name server count at their sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proxy.server import network, service, wiring
from proxy.upstream.dns.hosts import HostsFile
from proxy.upstream.dns.resolvers import Transport, parse_resolver
from tests.end_to_end.discovery.internet import MANIFEST, SITES, Internet, described, discover
from tests.end_to_end.discovery.publisher import agent_card, catalog, manifest, publish_everything

HOST = "agents.example.com"
COUNTS = ("http_requests", "dns_queries", "bytes_sent", "bytes_received")
NOTHING = dict.fromkeys(COUNTS, 0)


def counts(told: dict[str, Any]) -> dict[str, int]:
    return {name: told["overhead"][name] for name in COUNTS}


def by_url(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(documents, key=lambda document: str(document["url"]))


def everything(internet: Internet) -> str:
    publish_everything(internet, HOST)
    return HOST


def redirects(internet: Internet) -> str:
    internet.publish(HOST, MANIFEST, b"", status=301, fields=(("Location", "/access.json"),))
    internet.publish(HOST, "/access.json", manifest(HOST))
    internet.publish(HOST, "/.well-known/ard.json", b"moved", status=302, fields=(("Location", "/ard.json"),))
    internet.publish(HOST, "/ard.json", catalog(HOST))
    return HOST


def wrong_kinds(internet: Internet) -> str:
    """Pages of the same text everywhere."""
    for path in ("agent-card.json", "ai-catalog.json", "ard.json", "api-catalog", "agent"):
        internet.publish(HOST, f"/.well-known/{path}", b"<html>" + b"x" * 5000, media_type="text/html")
    return HOST


def a_proof(internet: Internet) -> str:
    internet.publish("keyed.example.com", "/mcp", b"no", status=401, media_type="text/plain")
    return "keyed.example.com"


SCENES: dict[str, tuple[Callable[[Internet], str], dict[str, object]]] = {
    "everything": (everything, {}),
    "everything, DNS over TCP": (everything, {"dns__transport": "tcp"}),
    "everything, without DNSSEC": (everything, {"dns__dnssec": "off"}),
    "everything, one fetch at a time": (everything, {"discovery__concurrency": 1}),
    "agent descriptions too": (everything, {"discovery__anp": True}),
    "redirects": (redirects, {}),
    "wrong kinds": (wrong_kinds, {}),
    "a proof of a key": (a_proof, {}),
    "an answer too long for UDP": (lambda _: "big.example.com", {}),
    "nothing published": (lambda _: "quiet.example.com", {}),
    "nobody there": (lambda _: "down.example.com", {}),
    "no such name": (lambda _: "nothing.example.com", {}),
    "a name in the sample": (lambda _: "shop.example.com", {}),
    "bad signatures": (lambda _: "expired.com", {}),
}


@pytest.mark.parametrize(("prepare", "sections"), SCENES.values(), ids=SCENES.keys())
async def test_a_cold_call_costs_what_it_says(
    internet: Internet, prepare: Callable[[Internet], str], sections: dict[str, object]
) -> None:
    domain = prepare(internet)
    async with internet.proxy(**sections) as proxy:
        told = await described(proxy, domain)
        assert counts(told) == internet.overhead
        assert told["overhead"]["dns_queries"] >= 5
        assert sum(step["bytes"] for step in told["steps"]) == told["overhead"]["bytes_received"]
        assert told["overhead"]["central_services"] == 0


@pytest.fixture(params=["configured", "system"])
def resolvers(request: pytest.FixtureRequest, internet: Internet, monkeypatch: pytest.MonkeyPatch) -> object:
    """The name server by `dns.resolvers`, or as the one that the system names."""
    if request.param == "configured":
        return internet.sections["dns__resolvers"]
    system = parse_resolver(f"{SITES}:{internet.nameserver.port}", Transport.UDP)
    monkeypatch.setattr(network, "system_resolvers", lambda transport: (system,))
    return []


@pytest.mark.parametrize("host", [HOST, "down.example.com", "nothing.example.com"])
async def test_look_ups_of_addresses_are_in_it_whoever_names_the_resolvers(
    internet: Internet, resolvers: object, host: str
) -> None:
    async with internet.proxy(dns__resolvers=resolvers, upstream__connect_to=[]) as proxy:
        told = await described(proxy, host)
    assert counts(told) == internet.overhead
    questions = internet.nameserver.questions
    assert questions.count((host, "A")) == questions.count((host, "AAAA")) == 1


@pytest.mark.parametrize("is_known", [True, False])
async def test_the_machine_s_own_names_come_before_dns_and_cost_nothing(
    internet: Internet, resolvers: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_known: bool
) -> None:
    """DNS has no address of the host, and its site is where the machine's own list says."""
    host = "nothing.example.com"
    url = f"https://{host}:{internet.port}/card.json"
    internet.publish(HOST, "/.well-known/ai-catalog.json", catalog(HOST, ("application/a2a-agent-card+json", url)))
    internet.publish(host, "/card.json", agent_card(host))
    hosts = tmp_path / "hosts"
    hosts.write_text(f"{SITES} {host}\n" if is_known else "", encoding="utf-8")
    monkeypatch.setattr(network, "HostsFile", lambda: HostsFile(hosts))
    sections: dict[str, object] = {
        "dns__resolvers": resolvers,
        "egress__allow_cidrs": [f"{SITES}/32"],
        "upstream__connect_to": [f"{HOST}:443:{SITES}:{internet.port}"],
    }
    async with internet.proxy(**sections) as proxy:
        told = await described(proxy, HOST)
    assert counts(told) == internet.overhead
    assert internet.statuses(host) == ({"/card.json": 200} if is_known else {})
    assert ((host, "A") in internet.nameserver.questions) is not is_known


async def test_answers_that_are_too_long_cost_two_queries(internet: Internet) -> None:
    async with internet.proxy(dns__dnssec="off") as proxy:
        told = await described(proxy, "big.example.com")
        assert internet.nameserver.questions.count(("_agent.big.example.com", "TXT")) == 2
        assert counts(told) == internet.overhead


async def test_a_warm_call_costs_nothing(internet: Internet) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        cold = await described(proxy, HOST)
        internet.forget()
        for _ in range(3):
            warm = await described(proxy, HOST)
            assert counts(warm) == NOTHING
            assert warm["source"]["cache"] == "hit"
            assert [(step["outcome"], step["bytes"]) for step in warm["steps"]] == [("cached", 0)]
            passing = dict.fromkeys(("overhead", "steps", "source"))
            assert {**warm, **passing} == {**cold, **passing}
        assert internet.overhead == NOTHING


async def test_what_is_absent_costs_nothing_for_a_while_either(internet: Internet) -> None:
    async with internet.proxy() as proxy:
        assert (await discover(proxy, "quiet.example.com")).status == 404
        internet.forget()
        reply = await discover(proxy, "quiet.example.com")
        assert reply.status == 404
        assert counts(json.loads(reply.body)) == internet.overhead == NOTHING


async def test_after_its_expiry_an_unchanged_origin_is_asked_for_nothing_but_304s(
    internet: Internet, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_everything(internet, HOST)
    later = 0.0
    monkeypatch.setattr(service, "wall_clock", lambda: wiring.wall_clock() + later)
    async with internet.proxy() as proxy:
        cold = await described(proxy, HOST)
        # Keys are asked for once an hour at the most.
        first = set(internet.statuses(HOST)) - {"/.well-known/did.json"}
        later = 301.0
        internet.forget()
        again = await described(proxy, HOST)
        assert counts(again) == internet.overhead
        assert {one.status for one in internet.exchanges} == {304}
        assert set(internet.statuses(HOST)) == first
        assert again["overhead"]["http_requests"] == cold["overhead"]["http_requests"] - 1
        assert again["overhead"]["bytes_received"] < cold["overhead"]["bytes_received"]
        assert by_url(again["documents"]) == by_url(cold["documents"])
        assert {step["detail"] for step in again["steps"] if step["target"].startswith("https:")} == {"unchanged"}
        assert again["source"]["cache"] == "revalidated"


async def test_only_what_has_expired_is_asked_for_again(
    internet: Internet, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_everything(internet, HOST, max_age=86_400)
    later = 0.0
    monkeypatch.setattr(service, "wall_clock", lambda: wiring.wall_clock() + later)
    async with internet.proxy() as proxy:
        await described(proxy, HOST)
        internet.forget()
        later = 301.0  # the TTL of the records
        again = await described(proxy, HOST)
        assert counts(again) == internet.overhead
        assert again["overhead"]["http_requests"] == 0
        assert again["overhead"]["dns_queries"] > 0


async def test_calls_that_come_together_share_the_cost(internet: Internet) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        answers = await asyncio.gather(*(described(proxy, HOST) for _ in range(20)))
        costs = [counts(told) for told in answers]
        assert {name: sum(cost[name] for cost in costs) for name in COUNTS} == internet.overhead
        assert sum(cost != NOTHING for cost in costs) == 1


async def test_calls_for_other_levels_cost_only_what_is_new(internet: Internet) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        await described(proxy, f"{HOST}?level=L0")
        assert not any("card" in one.path for one in internet.exchanges)
        internet.forget()
        richer = await described(proxy, f"{HOST}?level=L4")
        assert counts(richer) == internet.overhead
        assert richer["overhead"]["http_requests"] > 0
        assert MANIFEST not in internet.statuses(HOST)


async def test_other_clients_traffic_is_not_in_the_account(internet: Internet) -> None:
    publish_everything(internet, HOST)
    internet.publish("quiet.example.com", "/busy", b"x" * 1000, media_type="text/plain", max_age=None)
    async with internet.proxy() as proxy:
        busy = [proxy.get(f"/https/quiet.example.com/busy?{number}") for number in range(20)]
        told, *others = await asyncio.gather(described(proxy, HOST), *busy)
        assert {reply.status for reply in others} == {404}
        ours = [one for one in internet.exchanges if one.host != "quiet.example.com"]
        assert told["overhead"]["http_requests"] == len(ours)
        assert told["overhead"]["bytes_received"] < internet.overhead["bytes_received"]
