"""Other implementations as judges: `aid_py` and `dns_aid` resolve the same zones from the same name server.

Where they come to something else than discovery here, the row names the rule, and the difference must be there. How
single records are read is compared in tests/discovery/test_against_*.py; here it is what comes of zones as served.
"""

from __future__ import annotations

import asyncio
from typing import Any

import dns.resolver
import pytest

from proxy.http.targets import Target
from tests.end_to_end.discovery.internet import SITES, Internet, described
from tests.simulators.knot import Internet as ZoneTree

aid_py = pytest.importorskip("aid_py", reason="aid-discovery is not installed")
aid_discover = pytest.importorskip("aid_py.discover")
dns_aid = pytest.importorskip("dns_aid.core.discoverer", reason="dns-aid is not installed")
catalog_pointer = pytest.importorskip("dns_aid.core.catalog_pointer")
indexer = pytest.importorskip("dns_aid.core.indexer")

AGENTS = "https://agents.example.com"


@pytest.fixture(autouse=True)
def system_resolver(tree: ZoneTree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's resolver is the name server of the tests; nobody reaches another one."""

    def configure(self: dns.resolver.BaseResolver, _: Any) -> None:
        self.nameservers = [SITES]
        self.port = tree.port

    monkeypatch.setattr(dns.resolver.BaseResolver, "read_resolv_conf", configure)
    monkeypatch.setattr(dns.resolver, "default_resolver", None)


# Domain, the endpoint that discovery finds, and the rule by which `aid_py` may find something else.
AID: dict[str, tuple[str | None, str | None]] = {
    "agents.example.com": (f"{AGENTS}/mcp", None),
    "shop.example.com": ("https://api.example.com/mcp", None),
    "eu.shop.example.com": ("https://api.example.com/mcp", None),  # by CNAME
    "big.example.com": (f"{AGENTS}/mcp", None),  # by TCP
    "mended.example.com": (f"{AGENTS}/mcp", None),  # beside a malformed one
    "nsec3.com": ("https://agent.example/mcp", None),
    "unsigned.com": ("https://agent.example/mcp", None),
    "free.optout.com": ("https://agent.example/mcp", None),
    "two.example.com": (None, None),
    "broken.example.com": (None, None),
    "quiet.example.com": (None, None),
    "nothing.example.com": (None, None),
    "long.example.com": (None, None),
    "a.wild.example.com": (None, None),
    "inside.example.com": (None, "C-11: no address but a public one"),
    "expired.com": (None, "C-25: bogus answers are not used"),
    "future.com": (None, "C-25: bogus answers are not used"),
    "wrongkey.com": (None, "C-25: bogus answers are not used"),
    "stripped.com": (None, "C-25: bogus answers are not used"),
}


@pytest.mark.parametrize(("domain", "ours", "rule"), [(name, *row) for name, row in AID.items()])
async def test_aid(internet: Internet, domain: str, ours: str | None, rule: str | None) -> None:
    async with internet.proxy(upstream__connect_to=[f":443:{SITES}:{internet.port}"]) as proxy:
        told = await described(proxy, domain)
    found = [one["url"] for one in told["endpoints"] if one["from"] in ("aid1", "aid2")]
    assert found == ([] if ours is None else [ours])
    theirs = await asyncio.to_thread(aid_endpoint, domain)
    assert (theirs == ours) is (rule is None), theirs


def aid_endpoint(domain: str) -> str | None:
    """What the library finds in DNS; None where it finds nothing to use."""
    try:
        record, _ = aid_discover.discover(domain, well_known_fallback=False)
    except aid_py.AidError:
        return None
    return str(record["uri"])


# Why the library finds nothing, beside what the answer says about it here.
REASONS = {
    "two.example.com": ("ERR_INVALID_TXT", None),
    "broken.example.com": ("ERR_INVALID_TXT", "AID §2, table of codes: 1003 for a scheme"),
    "quiet.example.com": ("ERR_NO_RECORD", None),
    "long.example.com": ("ERR_INVALID_TXT", "U-T8: no AID record is absence"),
    "a.wild.example.com": ("ERR_INVALID_TXT", "U-T8: no AID record is absence"),
}


@pytest.mark.parametrize(("domain", "theirs", "rule"), [(name, *row) for name, row in REASONS.items()])
async def test_reasons(internet: Internet, domain: str, theirs: str, rule: str | None) -> None:
    async with internet.proxy(upstream__connect_to=[f":443:{SITES}:{internet.port}"]) as proxy:
        told = await described(proxy, domain)
    of_aid = [record for record in told["dns"]["records"] if record["kind"] in ("aid1", "aid2")]
    reasons = {record["reason"].partition(":")[0] for record in of_aid} or {"ERR_NO_RECORD"}
    with pytest.raises(aid_py.AidError) as caught:
        await asyncio.to_thread(aid_discover.discover, domain, well_known_fallback=False)
    assert str(caught.value.error_code) == theirs
    assert (theirs in reasons) is (rule is None), reasons


# Domain, the catalog that discovery goes to by DNS, and the rule by which `dns_aid` may go elsewhere.
POINTERS: dict[str, tuple[str | None, str | None]] = {
    "agents.example.com": (f"{AGENTS}/.well-known/pointed.json", "DA-4: key 65280 is an absolute path"),
    "example.com": ("https://docs.example.com/.well-known/ai-catalog.json", None),
    "tiers.example.com": (f"{AGENTS}/.well-known/ai-catalog.json", None),
    "quiet.example.com": (None, None),
    "market.example.com": (None, None),
    "ports.example.com": (f"{AGENTS}:8443/.well-known/ai-catalog.json", "DA-2: the port is that of the record"),
    "peer.example.com": (None, "U-D9: no central service; there it is the caller who judges"),
}


@pytest.mark.parametrize(("domain", "ours", "rule"), [(name, *row) for name, row in POINTERS.items()])
async def test_catalog_pointers(
    internet: Internet, monkeypatch: pytest.MonkeyPatch, domain: str, ours: str | None, rule: str | None
) -> None:
    async with internet.proxy() as proxy:
        told = await described(proxy, domain)
    catalogs = [
        step["target"] for step in told["steps"] if step["step"] == "catalog" and step["outcome"] != "skipped"
    ]
    own = {f"https://{domain}/.well-known/{name}.json" for name in ("ard", "ai-catalog")}
    assert [url for url in catalogs if url not in own] == ([] if ours is None else [ours])
    assert (await pointer_of(domain, monkeypatch) == ours) is (rule is None)


async def test_pointers_by_priority(internet: Internet, monkeypatch: pytest.MonkeyPatch) -> None:
    """DA-1: the lower number first; the library takes records as they come, so it may be right by chance."""
    async with internet.proxy() as proxy:
        told = await described(proxy, "ranked.example.com")
    targets = [record["value"]["target"] for record in told["dns"]["records"]]
    assert targets == ["agents.example.com", "market.example.com"]
    theirs = await pointer_of("ranked.example.com", monkeypatch)
    assert theirs in {f"https://{target}/.well-known/ai-catalog.json" for target in targets}


async def pointer_of(domain: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Where the library would look for a catalog. That all hosts are on loopback here is no fault of theirs."""

    async def vetted(url: str, **_: float) -> str:
        return url

    monkeypatch.setattr(catalog_pointer, "validate_fetch_url_async", vetted)
    found = await catalog_pointer.resolve_catalog_pointer_detail(domain)
    return None if found is None else str(found.url)


@pytest.mark.parametrize(
    ("domain", "agents"),
    [
        ("txt.example.com", ["billing:a2a", "chat:mcp"]),
        ("market.example.com", ["billing:a2a", "chat:mcp", "missing:mcp"]),
        ("quiet.example.com", []),
        ("a.wild.example.com", []),
    ],
)
async def test_the_index(internet: Internet, domain: str, agents: list[str]) -> None:
    async with internet.proxy() as proxy:
        told = await described(proxy, domain)
    listed = [record["value"].get("agents", []) for record in told["dns"]["records"]]
    assert sorted(agent for record in listed for agent in record) == agents
    theirs = await indexer.read_index_via_dns(domain)
    assert sorted(f"{entry.name}:{entry.protocol}" for entry in theirs) == agents


async def test_the_agents_of_an_index(internet: Internet) -> None:
    """Each agent that has a record: where it listens and what it speaks. One is an alias here (RFC 9460 §2.4.2)."""
    domain = "market.example.com"
    async with internet.proxy() as proxy:
        told = await described(proxy, domain)
    ours = {(one["protocol"], one["url"]) for one in told["endpoints"] if one["from"] == "svcb"}
    result = await dns_aid.discover(domain, enrich_endpoints=False)
    theirs = {
        (agent.protocol.value, Target("https", agent.target_host, agent.port, "/", None).uri)
        for agent in result.agents
    }
    assert ours == theirs == {("mcp", f"{AGENTS}/"), ("a2a", f"{AGENTS}:8443/")}
