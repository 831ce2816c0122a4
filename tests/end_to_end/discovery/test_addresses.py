"""Where a publisher may lead: addresses are judged where the connection is made (C-11)."""

from __future__ import annotations

import json

import pytest

from tests.end_to_end.discovery.internet import MANIFEST, SITES, Internet, discover
from tests.end_to_end.discovery.publisher import agent_card, catalog, manifest
from tests.end_to_end.running import Running

HOST = "agents.example.com"
DENIED = {
    "loopback": "loopback",
    "six": "loopback",
    "private": "private",
    "alias": "private",
    "mapped": "private",
    "metadata": "metadata",
    # One bad address spoils the answer: which one would be taken is nobody's to say.
    "partly": "private",
    "half": "loopback",
}


async def egress(proxy: Running, domain: str) -> tuple[int, str | None, str]:
    """Status, problem and the words of the manifest's step."""
    reply = await discover(proxy, domain)
    told = json.loads(reply.body)
    step = next(step for step in told["steps"] if step["step"] == "manifest")
    return reply.status, reply.slug, step["detail"]


@pytest.mark.parametrize(("name", "family"), DENIED.items(), ids=DENIED.keys())
async def test_addresses_that_nobody_may_name(internet: Internet, name: str, family: str) -> None:
    async with internet.proxy(upstream__connect_to=[]) as proxy:
        status, slug, detail = await egress(proxy, f"{name}.example.com")
    assert (status, slug) == (403, "egress-denied")
    assert detail.startswith("ssrf:")
    assert f" {family} address" in detail
    assert not any(part in detail for part in ("127.", "10.1", "169.254", "::1"))
    assert internet.exchanges == []


# Name, what is opened, and whether that is enough.
OPENED: dict[str, tuple[str, list[str], bool]] = {
    "loopback": ("loopback", ["127.0.0.0/8"], True),
    "loopback, exactly": ("loopback", ["127.0.0.1/32"], True),
    "loopback, another part": ("loopback", ["127.1.0.0/16"], False),
    "IPv6 is not opened by IPv4": ("six", ["127.0.0.0/8"], False),
    "half of the answer": ("half", ["127.0.0.0/8"], False),
    "metadata inside an open range": ("metadata", ["169.254.0.0/16"], False),
    "metadata inside everything": ("metadata", ["0.0.0.0/0"], False),
}


@pytest.mark.parametrize(("name", "cidrs", "is_enough"), OPENED.values(), ids=OPENED.keys())
async def test_ranges_that_the_operator_opens(
    internet: Internet, name: str, cidrs: list[str], is_enough: bool
) -> None:
    async with internet.proxy(upstream__connect_to=[], egress__allow_cidrs=cidrs) as proxy:
        status, slug, _ = await egress(proxy, f"{name}.example.com")
    # Nobody listens on port 443 of loopback.
    assert (status, slug) == ((503, "origin-unreachable") if is_enough else (403, "egress-denied"))


async def test_a_connection_inside_an_open_range(internet: Internet) -> None:
    """By the way that a publisher can name a port: a pointer, here to the port where the sites are."""
    host = "loopback.example.com"
    internet.publish(HOST, "/.well-known/ai-catalog.json", catalog(host, link(host, internet.port)))
    internet.publish(host, "/card.json", agent_card(host))
    only = {"upstream__connect_to": [f"{HOST}:443:{SITES}:{internet.port}"]}
    for cidrs, statuses in (([], {}), (["127.0.0.0/8"], {"/card.json": 200})):
        internet.forget()
        async with internet.proxy(**only, egress__allow_cidrs=cidrs) as proxy:
            reply = await discover(proxy, HOST)
        assert reply.status == 200
        assert internet.statuses(host) == statuses
        step = next(step for step in json.loads(reply.body)["steps"] if step["target"].endswith("/card.json"))
        assert step["outcome"] == ("found" if cidrs else "refused")
        assert step["detail"].startswith("ssrf:") is not cidrs or cidrs


def link(host: str, port: int) -> tuple[str, str]:
    return "application/a2a-agent-card+json", f"https://{host}:{port}/card.json"


async def test_names_that_the_operator_redirects_are_exempt(internet: Internet) -> None:
    host = "private.example.com"
    internet.publish(host, MANIFEST, manifest(host))
    rule = f"{host}:443:{SITES}:{internet.port}"
    async with internet.proxy(upstream__connect_to=[rule]) as proxy:
        assert (await discover(proxy, host)).status == 200
        # The rule is for this one name.
        assert (await discover(proxy, "alias.example.com")).status == 403
    assert (host, "A") not in internet.nameserver.questions


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:{port}/card.json",
        "https://[::1]:{port}/card.json",
        "https://10.1.2.3/card.json",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::ffff:127.0.0.1]:{port}/card.json",
        "https://2130706433:{port}/card.json",
        "https://127.1:{port}/card.json",
        "https://localhost:{port}/card.json",
        "https://a.localhost:{port}/card.json",
        "https://loopback.example.com:{port}/card.json",
        "https://private.example.com/card.json",
        "https://loopback.example.com:22/card.json",
        "https://a:b@loopback.example.com:{port}/card.json",
        "http://loopback.example.com:{port}/card.json",
    ],
)
async def test_documents_that_lead_inside(internet: Internet, url: str) -> None:
    url = url.replace("{port}", str(internet.port))
    internet.publish(HOST, "/.well-known/ard.json", catalog(HOST, ("application/a2a-agent-card+json", url)))
    internet.publish(
        HOST, "/.well-known/agent-card.json", b"", status=302, fields=(("Location", url), ("Via", "1.1 site"))
    )
    internet.publish(HOST, MANIFEST, manifest(HOST))
    only = {"upstream__connect_to": [f"{HOST}:443:{SITES}:{internet.port}"]}
    async with internet.proxy(**only) as proxy:
        reply = await discover(proxy, HOST)
    assert reply.status == 200
    assert {one.host for one in internet.exchanges} == {HOST}
    assert "/card.json" not in internet.statuses(HOST)
    assert "a:b@" not in reply.body.decode()


async def test_the_proxy_itself_is_never_asked(internet: Internet) -> None:
    """Its own ports are refused even inside an open range."""
    async with internet.proxy(upstream__connect_to=[], egress__allow_cidrs=["127.0.0.0/8"]) as proxy:
        for port in (proxy.port, proxy.admin_port):
            target = f"/https/loopback.example.com:{port}/.well-known/agent-card.json"
            reply = await proxy.get(target)
            assert (reply.status, reply.slug) == (403, "egress-denied")


async def test_an_answer_that_changes_its_mind(internet: Internet) -> None:
    """The address that was judged is the one that is connected to: one look-up, however often it is used."""
    host = "loopback.example.com"
    internet.publish(host, MANIFEST, manifest(host))
    async with internet.proxy(
        upstream__connect_to=[f":443::{internet.port}"], egress__allow_cidrs=["127.0.0.0/8"]
    ) as proxy:
        assert (await discover(proxy, host)).status == 200
    assert internet.nameserver.questions.count((host, "A")) == 1
    assert internet.nameserver.questions.count((host, "AAAA")) == 1
