"""Signed, unsigned and forged zones of a real name server, and resolvers that misbehave, as a client sees them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import pytest

from tests.end_to_end.discovery.internet import MANIFEST, SITES, Internet, described, discover
from tests.end_to_end.discovery.publisher import catalog, manifest, publish_everything, server_card
from tests.simulators.nameserver import Query, Reply, ScriptedNameserver, failing, records, silence

HOST = "agents.example.com"

# What DNS says of each: the state of its signatures, and how many records at `_agent` may be used.
STATES = {
    HOST: ("secure", 2),
    "shop.example.com": ("secure", 2),
    "quiet.example.com": ("secure", 0),  # the denial is signed too
    "nsec3.com": ("secure", 1),
    "optout.com": ("secure", 1),
    "iterations.com": ("secure", 1),
    "unsigned.com": ("insecure", 1),
    "old.com": ("insecure", 1),
    "free.example.com": ("insecure", 1),
    "free.nsec3.com": ("insecure", 1),
    "free.optout.com": ("insecure", 1),
    "expired.com": ("bogus", 0),
    "future.com": ("bogus", 0),
    "wrongkey.com": ("bogus", 0),
    "stripped.com": ("bogus", 0),
}


def pinned(internet: Internet) -> dict[str, object]:
    """Every host is here whatever DNS says of its address."""
    return {"upstream__connect_to": [f":443:{SITES}:{internet.port}"]}


@pytest.mark.parametrize(("domain", "state", "accepted"), [(name, *said) for name, said in STATES.items()])
async def test_signatures(internet: Internet, domain: str, state: str, accepted: int) -> None:
    internet.publish(domain, MANIFEST, manifest(domain))
    async with internet.proxy(**pinned(internet)) as proxy:
        told = await described(proxy, domain)
    assert told["dns"]["dnssec"] == state
    listed = [record for record in told["dns"]["records"] if record["name"].startswith("_agent.")]
    assert [record["accepted"] for record in listed] == [True] * accepted
    assert told["outcome"] == "found"
    assert told["manifest"]["url"] == f"https://{domain}{MANIFEST}"
    step = next(step for step in told["steps"] if step["step"] == "dns-txt")
    assert step["outcome"] == {"bogus": "failed"}.get(state, "found" if accepted else "absent")
    assert step["detail"].startswith("bogus") is (state == "bogus")


@pytest.mark.parametrize(("domain", "state"), [(name, state) for name, (state, _) in STATES.items()])
async def test_where_signatures_are_required(internet: Internet, domain: str, state: str) -> None:
    internet.publish(domain, MANIFEST, manifest(domain))
    async with internet.proxy(dns__dnssec="require", **pinned(internet)) as proxy:
        reply = await discover(proxy, domain)
    told = json.loads(reply.body)
    assert told["dns"]["dnssec"] == state
    if state == "secure":
        assert (reply.status, told["outcome"]) == (200, "found")
        return
    assert (reply.status, told["outcome"]) == (403, "refused")
    assert [step["outcome"] for step in told["steps"] if step["step"] == "dnssec"] == ["refused"]
    assert internet.exchanges == []


@pytest.mark.parametrize("domain", [name for name, (state, _) in STATES.items() if state == "bogus"])
async def test_addresses_with_bad_signatures_are_not_used(internet: Internet, domain: str) -> None:
    internet.publish(domain, MANIFEST, manifest(domain))
    async with internet.proxy() as proxy:
        reply = await discover(proxy, domain)
    assert (reply.status, reply.slug) == (503, "origin-unreachable")
    assert internet.exchanges == []
    assert (domain, "A") in internet.nameserver.questions


@pytest.mark.parametrize("domain", ["nsec3.com", "unsigned.com", "free.nsec3.com"])
async def test_addresses_of_the_others_are(internet: Internet, domain: str) -> None:
    internet.publish(domain, MANIFEST, manifest(domain))
    async with internet.proxy() as proxy:
        assert (await discover(proxy, domain)).status == 200


async def test_without_validation(internet: Internet) -> None:
    async with internet.proxy(dns__dnssec="off", **pinned(internet)) as proxy:
        for domain in (HOST, "expired.com"):
            told = await described(proxy, domain)
            assert told["dns"]["dnssec"] == "insecure"
            assert any(record["accepted"] for record in told["dns"]["records"])


async def test_without_anchors(internet: Internet) -> None:
    async with internet.proxy(dns__trust_anchors="none", **pinned(internet)) as proxy:
        assert (await described(proxy, HOST))["dns"]["dnssec"] in ("insecure", "indeterminate")


async def test_anchors_of_another_root(internet: Internet, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    text = internet.anchors.read_text(encoding="utf-8")
    digest = text.split()[-1]
    other.write_text(text.replace(digest, "00" * 32), encoding="utf-8")
    async with internet.proxy(dns__trust_anchors=str(other), **pinned(internet)) as proxy:
        assert (await described(proxy, HOST))["dns"]["dnssec"] == "bogus"
        assert (await described(proxy, "unsigned.com"))["dns"]["dnssec"] == "bogus"


# The published sample, as the answer lists it: (name below example.com, type, kind, accepted).
SAMPLE: dict[str, list[tuple[str, str, str, bool]]] = {
    "shop.example.com": [("_agent.shop", "TXT", "aid2", True), ("_agent.shop", "TXT", "uaix1", True)],
    "eu.shop.example.com": [("_agent.eu.shop", "TXT", "aid2", True), ("_agent.eu.shop", "TXT", "uaix1", True)],
    "long.example.com": [("_agent.long", "TXT", "uaix1", True)],
    # The wildcard answers for the index as well.
    "a.wild.example.com": [
        ("_agent.a.wild", "TXT", "foreign", False),
        ("_index._agents.a.wild", "TXT", "foreign", False),
    ],
    "example.com": [("_index._agents", "SVCB", "svcb", True)],
    "txt.example.com": [("_index._agents.txt", "TXT", "txt-index", True)],
}


@pytest.mark.parametrize(("domain", "listed"), SAMPLE.items(), ids=SAMPLE.keys())
async def test_the_published_sample(
    internet: Internet, domain: str, listed: list[tuple[str, str, str, bool]]
) -> None:
    publish_everything(internet, domain)
    async with internet.proxy(**pinned(internet)) as proxy:
        told = await described(proxy, domain)
    found = [(one["name"], one["type"], one["kind"], one["accepted"]) for one in told["dns"]["records"]]
    assert sorted(found) == sorted((f"{name}.example.com", *rest) for name, *rest in listed)
    assert told["dns"]["dnssec"] == "secure"


async def test_an_index_leads_to_its_catalog(internet: Internet) -> None:
    """The SVCB record of the sample: docs.example.com, and the path in key 65280."""
    entry = ("application/mcp-server-card+json", "https://docs.example.com/card.json")
    internet.publish("docs.example.com", "/.well-known/ai-catalog.json", catalog("example.com", entry))
    internet.publish("docs.example.com", "/card.json", server_card("api.example.com"))
    async with internet.proxy() as proxy:
        told = await described(proxy, "example.com")
    assert internet.statuses("docs.example.com") == {"/.well-known/ai-catalog.json": 200, "/card.json": 200}
    assert [one["url"] for one in told["endpoints"]] == ["https://api.example.com/mcp"]


# Domain, what may vouch for its pointer, where that leads, and whether the operator's leave is enough.
OFF_DOMAIN = {
    "signed": ("far.example.com", "nsec3.com", True),
    "unsigned": ("unsigned.com", "agents.example.com", False),
}


@pytest.mark.parametrize(("domain", "host", "is_signed"), OFF_DOMAIN.values(), ids=OFF_DOMAIN.keys())
@pytest.mark.parametrize("allows", [True, False, None])
async def test_pointers_out_of_the_domain(
    internet: Internet, domain: str, host: str, is_signed: bool, allows: bool | None
) -> None:
    """DA-5: by default they are not followed, signed or not."""
    internet.publish(host, "/.well-known/ai-catalog.json", catalog(domain))
    setting = {} if allows is None else {"discovery__off_domain": allows}
    async with internet.proxy(**setting) as proxy:
        told = await described(proxy, domain)
    [record] = [record for record in told["dns"]["records"] if record["type"] == "SVCB"]
    is_followed = bool(allows) and is_signed
    assert internet.statuses(host) == ({"/.well-known/ai-catalog.json": 200} if is_followed else {})
    assert (record["accepted"], (record["reason"] or "").partition(":")[0]) == (
        (True, "") if is_followed else (False, "off_domain")
    )


def other_name(query: Query, transport: str) -> Sequence[bytes]:
    """A good answer to another question."""
    response = dns.message.make_response(dns.message.make_query("_agent.other.example.", "TXT", id=query.id))
    return [response.to_wire()]


def other_case(query: Query, transport: str) -> Sequence[bytes]:
    """The name comes back in capitals."""
    text = f'_AGENT.{HOST.upper()}. 300 IN TXT "v=aid2;u=https://{HOST}/mcp;p=mcp"'
    return [octets for octets in records(text)(query, transport)]


def other_id(query: Query, transport: str) -> Sequence[bytes]:
    [octets] = records(f'_agent.{HOST}. 300 IN TXT "v=aid2;u=https://{HOST}/mcp;p=mcp"')(query, transport)
    return [bytes([octets[0] ^ 1]) + octets[1:]]


def noise(query: Query, transport: str) -> Sequence[bytes]:
    return [b"\xff" * 40, b"", b"\0" * 12]


def cut_short(query: Query, transport: str) -> Sequence[bytes]:
    response = dns.message.make_response(query)
    response.flags |= dns.flags.TC
    return [response.to_wire()]


def txt(*strings: bytes) -> Reply:
    text = " ".join('"' + "".join(f"\\{octet:03d}" for octet in part) + '"' for part in strings)
    return records(f"_agent.{HOST}. 300 IN TXT {text}")


AID = f"v=aid2;u=https://{HOST}/mcp;p=mcp".encode()

# What the resolver does about TXT at `_agent`, how the step ends, and how many endpoints come of it.
MISBEHAVING: dict[str, tuple[Reply, str, int]] = {
    "silent": (silence, "failed", 0),
    "SERVFAIL": (failing(dns.rcode.SERVFAIL), "failed", 0),
    "REFUSED": (failing(dns.rcode.REFUSED), "failed", 0),
    "NOTIMP": (failing(dns.rcode.NOTIMP), "failed", 0),
    "an answer for another name": (other_name, "failed", 0),
    "an answer with another id": (other_id, "failed", 0),
    "an answer in another case": (other_case, "found", 1),
    "noise": (noise, "failed", 0),
    "cut short for ever": (cut_short, "failed", 0),
    "an empty string": (txt(b""), "found", 0),
    "forty strings": (txt(*(AID[number : number + 1] for number in range(len(AID)))), "found", 1),
    "65 kB": (txt(*[b"x" * 255] * 250), "found", 0),
    "no UTF-8": (txt(b"v=aid2;u=\xff\xfe"), "found", 0),
    "controls": (txt(AID + b";s=\x00\x1b[31m\r\n"), "found", 1),
    "a key twice": (txt(AID + b";p=a2a"), "found", 0),
    "two that may be used": (
        records(*(f'_agent.{HOST}. 300 IN TXT "v=aid2;u=https://{n}.example.com/;p=mcp"' for n in "ab")),
        "found",
        0,
    ),
}


@pytest.mark.parametrize(("reply", "outcome", "endpoints"), MISBEHAVING.values(), ids=MISBEHAVING.keys())
async def test_resolvers_that_misbehave(internet: Internet, reply: Reply, outcome: str, endpoints: int) -> None:
    internet.publish(HOST, MANIFEST, manifest(HOST))
    async with (
        ScriptedNameserver({(f"_agent.{HOST}", "TXT"): reply}) as resolver,
        internet.proxy(
            **{**pinned(internet), "dns__resolvers": [f"{SITES}:{resolver.port}"], "dns__dnssec": "off"}
        ) as proxy,
        asyncio.timeout(5),
    ):
        answer = await discover(proxy, HOST)
    told = json.loads(answer.body)
    assert (answer.status, told["manifest"]["url"]) == (200, f"https://{HOST}{MANIFEST}")
    step = next(step for step in told["steps"] if step["step"] == "dns-txt")
    assert step["outcome"] == outcome
    assert step["detail"]
    from_dns = [one for one in told["endpoints"] if one["from"].startswith("aid")]
    assert len(from_dns) == endpoints
    # What was published is told as it is, in JSON; everything else is fit to be read.
    words = texts({**told, "dns": None})
    assert not any(ord(character) < 32 for text in words for character in text)


def texts(value: Any) -> list[str]:
    """Every text in an answer."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts(part)]


async def test_aliases_that_go_in_circles(internet: Internet) -> None:
    circle = {
        (f"_catalog._agents.{HOST}", "SVCB"): records(f"_catalog._agents.{HOST}. 300 IN SVCB 0 a.example.com."),
        ("a.example.com", "SVCB"): records("a.example.com. 300 IN SVCB 0 b.example.com."),
        ("b.example.com", "SVCB"): records("b.example.com. 300 IN SVCB 0 a.example.com."),
        (f"_agent.{HOST}", "TXT"): records(f"_agent.{HOST}. 300 IN CNAME c.example.com."),
        ("c.example.com", "TXT"): records(f"c.example.com. 300 IN CNAME _agent.{HOST}."),
    }
    internet.publish(HOST, MANIFEST, manifest(HOST))
    async with (
        ScriptedNameserver(circle) as resolver,
        internet.proxy(
            **{**pinned(internet), "dns__resolvers": [f"{SITES}:{resolver.port}"], "dns__dnssec": "off"}
        ) as proxy,
    ):
        told = await described(proxy, HOST)
    assert told["outcome"] == "found"
    assert len(resolver.asked) < 20
    reasons = [record["reason"] for record in told["dns"]["records"]]
    assert any(reason is not None and reason.startswith("alias_loop") for reason in reasons)
    step = next(step for step in told["steps"] if step["step"] == "dns-txt")
    assert step["outcome"] == "failed"
