"""Discovery does without central services, whoever names them (U-D9, U-D11).

Their names lead to a listener that counts who comes, and the name server tells who asked for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import dns.rdatatype
import pytest
from dns.name import from_text

from proxy.discovery.central import CENTRAL_SERVICES
from tests.end_to_end.discovery.internet import BLACK_HOLE, MANIFEST, Internet, described
from tests.end_to_end.discovery.publisher import (
    agent_card,
    authorization_server,
    catalog,
    manifest,
    protected_resource,
    server_card,
)
from tests.end_to_end.running import Running
from tests.simulators.knot import Internet as ZoneTree

HOST = "peer.example.com"
REGISTRY = "https://registry.modelcontextprotocol.io"


def links(internet: Internet) -> None:
    fields = (
        ("Link", '<https://ai-catalog.org/all.json>; rel="ai-catalog"'),
        ("Link", f'<{REGISTRY}/v0/servers>; rel="api-catalog", <https://uaix.org/spec>; rel="describedby"'),
    )
    internet.publish(HOST, "/", b"<html></html>", media_type="text/html", fields=fields)


def a_page(internet: Internet) -> None:
    head = b'<head><link rel="ai-catalog" href="https://glama.ai/catalog.json"></head>'
    internet.publish(HOST, "/", b"<!doctype html><html>" + head + b"</html>", media_type="text/html")


def robots(internet: Internet) -> None:
    text = b"User-agent: *\nAllow: /\nAgentmap: https://agentcommunity.org/map.json\n"
    internet.publish(HOST, "/robots.txt", text, media_type="text/plain")


def catalogs(internet: Internet) -> None:
    entries = (
        ("application/ai-catalog+json", "https://mcp.so/catalog.json"),
        ("application/mcp-server-card+json", f"{REGISTRY}/v0/servers/quotes"),
        ("application/mcp-server-card+json", f"https://{HOST}/quotes.json"),
        ("application/a2a-agent-card+json", "https://api.smithery.ai/card.json"),
        ("application/ai-registry+json", f"{REGISTRY}/v0"),
        ("application/linkset+json", "https://schema.org/linkset"),
        ("application/json", "https://w3id.org/context.json"),
    )
    for path in ("ai-catalog.json", "ard.json"):
        internet.publish(HOST, f"/.well-known/{path}", catalog(HOST, *entries))
    internet.publish(HOST, "/quotes.json", server_card(HOST), media_type="application/mcp-server-card+json")


def an_api_catalog(internet: Internet) -> None:
    context = {
        "anchor": f"https://{HOST}/",
        "api-catalog": [{"href": "https://schema.org/api-catalog"}],
        "service-desc": [{"href": "https://json-schema.org/openapi.json"}],
    }
    internet.publish(
        HOST, "/.well-known/api-catalog", {"linkset": [context]}, media_type="application/linkset+json"
    )


def skills(internet: Internet) -> None:
    skill = {"name": "a", "type": "skill-md", "description": "x", "digest": f"sha256:{'0a' * 32}"}
    index = {
        "$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
        "skills": [{**skill, "url": "https://agentskills.io/a/SKILL.md"}],
    }
    internet.publish(HOST, "/.well-known/agent-skills/index.json", index)


def a_card(internet: Internet) -> None:
    text = json.dumps(agent_card(HOST)).replace("auth.example.com", "auth.uaix.org")
    internet.publish(HOST, "/.well-known/agent-card.json", json.loads(text))


def authorization(internet: Internet) -> None:
    """The endpoint's own metadata names a central server; the manifest another one."""
    internet.publish(HOST, "/.well-known/mcp/server-card.json", server_card(HOST))
    resource = protected_resource(HOST, "https://auth.pulsemcp.com")
    internet.publish(HOST, "/.well-known/oauth-protected-resource/mcp", resource)
    text = json.dumps(manifest(HOST)).replace("auth.example.com", "uiax.org")
    internet.publish(HOST, MANIFEST, json.loads(text))


def redirects(internet: Internet) -> None:
    places = {
        MANIFEST: f"https://uaix.org{MANIFEST}",
        "/.well-known/ard.json": "https://ai-catalog.org/ard.json",
        "/.well-known/ai-catalog.json": f"{REGISTRY}/ai-catalog.json",
        "/.well-known/agent-card.json": "https://schema.org/agent-card.json",
        "/.well-known/mcp/server-card.json": f"{REGISTRY}/card.json",
        "/.well-known/api-catalog": "https://w3id.org/api-catalog",
        "/.well-known/agent-skills/index.json": "https://agentskills.io/index.json",
        "/robots.txt": "https://uaix.org/robots.txt",
        "/llms.txt": "https://glama.ai/llms.txt",
        "/": "https://smithery.ai/",
    }
    for number, (path, location) in enumerate(places.items()):
        status = (301, 302, 307, 308)[number % 4]
        internet.publish(HOST, path, b"", status=status, fields=(("Location", location),))


def metadata(internet: Internet) -> None:
    """A server that answers in the name of a central one."""
    internet.publish(HOST, "/.well-known/agent-card.json", a2a := agent_card(HOST))
    assert "auth.example.com" in json.dumps(a2a)
    internet.publish(
        "auth.example.com", "/.well-known/oauth-authorization-server", authorization_server("https://uaix.org")
    )


TEMPTATIONS: dict[str, Callable[[Internet], None]] = {
    name.__name__.replace("_", " "): name
    for name in (
        *(links, a_page, robots, catalogs, an_api_catalog, skills, a_card, authorization, redirects),
        metadata,
    )
}


async def left_alone(internet: Internet, proxy: Running, domain: str = HOST) -> dict[str, Any]:
    """The answer about a domain, after which no central service has been asked or looked up."""
    told = await described(proxy, domain)
    assert internet.touched == 0
    looked_up = {name for name, _ in internet.nameserver.questions if central(name)}
    assert looked_up == set()
    assert told["overhead"]["central_services"] == 0
    return told


def central(name: str) -> bool:
    return any(f".{name}".endswith(f".{service}") for service in CENTRAL_SERVICES)


@pytest.mark.parametrize("tempt", TEMPTATIONS.values(), ids=TEMPTATIONS.keys())
async def test_a_peer_that_leads_to_central_services(internet: Internet, tempt: Callable[[Internet], None]) -> None:
    internet.publish(HOST, MANIFEST, manifest(HOST))
    tempt(internet)
    async with internet.proxy(discovery__anp=True) as proxy:
        told = await left_alone(internet, proxy)
        await left_alone(internet, proxy, f"{HOST}?level=L4")
    skipped = [step for step in told["steps"] if "central service" in step["detail"]]
    assert skipped, "nothing was tempting"
    assert {step["outcome"] for step in skipped} <= {"skipped", "refused"}
    assert {step["bytes"] for step in skipped if step["outcome"] == "skipped"} == {0}


async def test_all_at_once_and_discovery_succeeds(internet: Internet) -> None:
    for tempt in (links, robots, catalogs, an_api_catalog, skills, a_card, authorization):
        tempt(internet)
    async with internet.proxy() as proxy:
        told = await left_alone(internet, proxy)
    assert told["outcome"] == "found"
    assert told["manifest"]["body"]["profileId"] == "uaix.ai-ready-web.manifest.v1"
    found = {document["class"] for document in told["documents"] if document["found"]}
    assert found >= {"manifest", "ai-catalog", "agent-card", "mcp-server-card", "agent-skills", "api-catalog"}
    assert ("mcp", f"https://{HOST}/mcp") in {(one["protocol"], one["url"]) for one in told["endpoints"]}


async def test_a_central_service_is_none_to_itself(internet: Internet) -> None:
    """U-D11 the other way about: who asks about one gets it asked."""
    async with internet.proxy() as proxy:
        told = await described(proxy, "uaix.org")
    assert internet.touched > 0
    assert ("_agent.uaix.org", "TXT") in internet.nameserver.questions
    assert told["overhead"]["central_services"] == 0
    assert told["outcome"] == "unavailable"


@pytest.mark.parametrize("service", sorted(CENTRAL_SERVICES))
async def test_every_central_name_leads_to_the_black_hole(tree: ZoneTree, service: str) -> None:
    for name in (service, f"www.{service}"):
        received = await tree.ask(from_text(name), dns.rdatatype.A)
        assert [rdata.address for rdata in received.answer[0]] == [BLACK_HOLE]
