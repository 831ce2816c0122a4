"""Discovery on the local link: a python-zeroconf responder on loopback, a site over TLS, and a client."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from proxy.discovery.records.localservices import SERVICE_TYPE
from tests.end_to_end.discovery.internet import LOCAL, MANIFEST, SITES, Internet, described, discover
from tests.end_to_end.discovery.publisher import manifest
from tests.simulators.responder import GROUP, Responder, announcement, multicast_socket

ON_LOOPBACK: dict[str, object] = {"discovery__mdns": {"enabled": True, "interfaces": [SITES]}}


@pytest.fixture(scope="module", autouse=True)
def multicast() -> None:
    """Loopback delivers a packet sent to the group."""
    try:
        with multicast_socket() as heard:
            heard.settimeout(1)
            heard.sendto(b"\0" * 12, GROUP)
            heard.recv(16)
    except OSError as error:
        pytest.skip(f"loopback carries no multicast here: {error}")


@asynccontextmanager
async def announced(
    internet: Internet, host: str = LOCAL, address: str = SITES, **attributes: str
) -> AsyncIterator[None]:
    """An agent on the link, at the port of the sites."""
    service = AsyncServiceInfo(
        SERVICE_TYPE,
        f"{host.partition('.')[0]}.{SERVICE_TYPE}",
        addresses=[socket.inet_aton(address)],
        port=internet.port,
        properties={"v": "uaix1", **attributes},
        server=f"{host}.",
    )
    responder = AsyncZeroconf(interfaces=[SITES])
    try:
        # It answers from now on; that it also speaks up unasked is not waited for.
        speaking = await responder.async_register_service(service, cooperating_responders=True)
        yield
        await speaking
    finally:
        await responder.async_close()


def endpoints(told: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["url"], one["from"], one["trust"]) for one in told["endpoints"]]


async def test_an_agent_on_the_link(internet: Internet) -> None:
    internet.publish(LOCAL, MANIFEST, manifest(LOCAL))
    async with internet.proxy(**ON_LOOPBACK) as proxy, announced(internet, did=f"did:web:{LOCAL}"):
        reply = await discover(proxy, LOCAL)
        told = json.loads(reply.body)
        assert (reply.status, told["outcome"]) == (200, "found")
        assert told["manifest"]["body"] == manifest(LOCAL)
        assert told["manifest"]["url"] == f"https://{LOCAL}:{internet.port}{MANIFEST}"
        assert told["source"]["kind"] == "mdns"
        assert (told["trust"]["state"], told["trust"]["did"]) == ("unverified-local", f"did:web:{LOCAL}")
        assert {document["trust"] for document in told["documents"]} == {"unverified-local"}
        assert endpoints(told) == [(f"https://{LOCAL}:{internet.port}{MANIFEST}", "mdns", "unverified-local")]
        assert {step["step"] for step in told["steps"]} == {"mdns", "manifest"}
        # No name of the link goes to a resolver.
        assert internet.nameserver.questions == []
        assert internet.overhead["http_requests"] == told["overhead"]["http_requests"] == 1
        internet.forget()
        warm = await described(proxy, LOCAL)
        assert warm["overhead"]["http_requests"] == 0
        assert internet.exchanges == []


async def test_names_that_nobody_announces(internet: Internet) -> None:
    """All of them within one window, which is bounded."""
    async with internet.proxy(**ON_LOOPBACK) as proxy, asyncio.timeout(4):
        replies = await asyncio.gather(*(discover(proxy, f"nobody{number}.local") for number in range(10)))
    assert {(reply.status, reply.slug) for reply in replies} == {(404, "not-found")}
    assert internet.overhead["dns_queries"] == internet.overhead["http_requests"] == 0


async def test_without_the_local_link(internet: Internet) -> None:
    async with internet.proxy() as proxy, announced(internet):
        reply = await discover(proxy, LOCAL)
    assert (reply.status, reply.slug) == (400, "bad-target")
    assert "discovery.mdns.enabled" in json.loads(reply.body)["detail"]
    assert internet.overhead["dns_queries"] == internet.overhead["http_requests"] == 0


async def test_the_link_answers_for_no_public_name(internet: Internet) -> None:
    """An agent that claims a host in DNS is passed over, and DNS is asked instead."""
    public = "agents.example.com"
    internet.publish(public, MANIFEST, manifest(public))
    async with internet.proxy(**ON_LOOPBACK) as proxy, announced(internet, host=public):
        told = await described(proxy, public)
    assert told["trust"]["state"] == "origin-tls"
    assert not any(step["step"] == "mdns" for step in told["steps"])


UNUSABLE: dict[str, tuple[dict[str, Any], str]] = {
    "private-elsewhere": ({"addresses": ("10.1.2.3",)}, "no address on the link"),
    "metadata": ({"addresses": ("169.254.169.254",)}, "no address on the link"),
    "public": ({"addresses": ("8.8.8.8",)}, "no address on the link"),
    "other-version": ({"strings": (b"v=uaix9",)}, "v=uaix1"),
    "no-port": ({"port": 0}, "port"),
}


async def test_agents_of_no_use(internet: Internet) -> None:
    hosts = {name: f"{name}-{LOCAL}" for name in UNUSABLE}
    packets = [announcement(name, f"{hosts[name]}.", **how) for name, (how, _) in UNUSABLE.items()]
    async with internet.proxy(**ON_LOOPBACK) as proxy, Responder(*packets):
        replies = await asyncio.gather(*(discover(proxy, host) for host in hosts.values()))
    for (name, (_, word)), reply in zip(UNUSABLE.items(), replies, strict=True):
        assert reply.status == 404
        [step] = json.loads(reply.body)["steps"]
        assert any(told.startswith(f"{name}: ") and word in told for told in step["detail"].split("; ")), name
    assert internet.exchanges == []


async def test_in_isolation_there_is_no_public_name(internet: Internet) -> None:
    public = "agents.example.com"
    internet.publish(public, MANIFEST, manifest(public))
    isolated = {"discovery__mdns": {"enabled": True, "isolated": True, "interfaces": [SITES]}}
    async with internet.proxy(**isolated) as proxy:
        reply = await discover(proxy, public)
    assert (reply.status, reply.slug) == (400, "bad-target")
    assert "discovery.mdns.isolated" in json.loads(reply.body)["detail"]
    assert internet.overhead["dns_queries"] == internet.overhead["http_requests"] == 0


async def test_in_isolation_a_single_label_will_do(internet: Internet) -> None:
    internet.publish(LOCAL, MANIFEST, manifest(LOCAL))
    isolated = {"discovery__mdns": {"enabled": True, "isolated": True, "interfaces": [SITES]}}
    async with internet.proxy(**isolated) as proxy, announced(internet):
        told = await described(proxy, LOCAL.removesuffix(".local"))
        assert told["outcome"] == "found"
        assert told["trust"]["state"] == "unverified-local"
        assert internet.nameserver.questions == []
