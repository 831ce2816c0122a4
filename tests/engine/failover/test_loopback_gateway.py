"""Content over real HTTP: trustless gateways on the loopback, honest and otherwise."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proxy.engine.failover.recovery import Exhausted, Recovered, Recovery
from proxy.engine.failover.settings import FailoverSettings
from proxy.failover.gateways import parse_gateway
from proxy.failover.plan import PlanRules
from proxy.http.messages import Realm
from proxy.http.targets import parse_target
from proxy.trust.verdict import Signed, UnverifiedCopy, Verdict, VerifiedCopy
from proxy.upstream.addresses import CheckedResolver, OwnListeners
from proxy.upstream.connect_to import ConnectTo
from proxy.upstream.mirrors import MirrorClient
from proxy.upstream.origin import AiohttpOrigin, UpstreamLimits
from proxy.upstream.origins import Origins
from tests.simulators.clock import START, FakeClock
from tests.simulators.engine import Noted
from tests.simulators.gateway import (
    Behaviour,
    TrustlessGateway,
    endless,
    html,
    ipns_name,
    ipns_record,
    redirect,
    shortened,
    slow,
    status,
    to_subdomain,
    truncated,
    wrong_bytes,
    wrong_type,
)
from tests.simulators.wire import Authority

FIXTURES = Path(__file__).resolve().parents[4] / "shared/vectors/ipfs"
SITE = parse_target("https://example.com/")
BODY = b'{"profileId": "x"}'
LONG = b"".join(number.to_bytes(4, "big") for number in range(230_000))


@asynccontextmanager
async def recovery(*gateways: str, limits: UpstreamLimits | None = None) -> AsyncIterator[Recovery]:
    clock = FakeClock()
    limits = limits or UpstreamLimits(connect_timeout=2.0)
    origin = AiohttpOrigin(limits, CheckedResolver(OwnListeners()), clock)
    client = MirrorClient(Origins({Realm.ANY: origin}, limits.connect_to), "discovery-proxy/test")
    settings = FailoverSettings(
        PlanRules(tuple(map(parse_gateway, gateways))), hedge_delay=0.2, mirror_timeout=2.0, deadline=10.0
    )
    try:
        yield Recovery(client, Noted(), clock, settings)
    finally:
        await origin.close()


async def judge(copy: UnverifiedCopy) -> Verdict:
    return VerifiedCopy(copy, Signed("did:web:example.com", "did:web:example.com#1", "jws", None, None))


async def recovered(made: Recovery, mirror: str) -> Recovered | Exhausted:
    return await made.recover(made.plan([mirror], SITE), judge)


def body_of(end: Recovered | Exhausted) -> bytes:
    assert isinstance(end, Recovered), end
    return end.verified.copy.body


async def test_files_of_one_and_of_many_blocks() -> None:
    async with TrustlessGateway() as gateway, recovery(gateway.url) as made:
        for octets in (BODY, LONG, b""):
            cid = gateway.add_file(octets)
            assert body_of(await recovered(made, f"ipfs://{cid.text}")) == octets


BAD: dict[str, tuple[Behaviour, str]] = {
    "wrong bytes": (wrong_bytes, "cid_mismatch"),
    "half the bytes": (shortened, "cid_mismatch"),
    "HTML": (html, "not-a-document"),
    "truncated": (truncated, "origin-invalid-response"),
    "endless": (endless, "too-large"),
    "404": (status(404), "status-404"),
    "410": (status(410), "status-410"),
    "429": (status(429, Retry_After="60"), "status-429"),
    "500": (status(500), "status-500"),
    "504": (status(504), "status-504"),
    "to another host": (redirect("https://elsewhere.example/ipfs/{cid}?format=raw"), "redirect-refused"),
    "to metadata": (redirect("http://169.254.169.254/{cid}"), "redirect-refused"),
    "to another port": (redirect("http://127.0.0.1:1/ipfs/{cid}"), "redirect-refused"),
    "to itself": (redirect("/ipfs/{cid}?format=raw"), "too-many-redirects"),
}


@pytest.mark.parametrize(("behaviour", "reason"), BAD.values(), ids=BAD)
async def test_a_bad_gateway_does_not_spoil_the_file(behaviour: Behaviour, reason: str) -> None:
    async with TrustlessGateway() as bad, TrustlessGateway() as good, recovery(bad.url, good.url) as made:
        bad.add_file(LONG)
        cid = good.add_file(LONG)
        bad.behave(behaviour)
        end = await recovered(made, f"ipfs://{cid.text}")
        assert body_of(end) == LONG
        assert {attempt.reason for attempt in end.attempts} >= {reason, ""}
        assert len(end.attempts) <= 4


async def test_a_slow_gateway_is_overtaken() -> None:
    async with TrustlessGateway() as bad, TrustlessGateway() as good, recovery(bad.url, good.url) as made:
        cid = good.add_file(LONG)
        bad.behave(slow(5.0))
        assert body_of(await recovered(made, f"ipfs://{cid.text}")) == LONG
        scores = made.standing().gateway_score
        assert scores[bad.url] < scores[good.url]


async def test_octets_to_download_are_blocks_too() -> None:
    async with TrustlessGateway() as gateway, recovery(gateway.url) as made:
        cid = gateway.add_file(BODY)
        gateway.behave(wrong_type)
        assert body_of(await recovered(made, f"ipfs://{cid.text}")) == BODY


async def test_every_gateway_lies() -> None:
    async with TrustlessGateway() as gateway, recovery(gateway.url) as made:
        cid = gateway.add_file(BODY)
        gateway.behave(wrong_bytes)
        end = await recovered(made, f"ipfs://{cid.text}")
        assert [attempt.reason for attempt in end.attempts] == ["cid_mismatch", "cid_mismatch"]
        assert end.attempts[-1].outcome == "refused" and isinstance(end, Exhausted)


async def test_the_subdomain_form_by_tls(tmp_path: Path) -> None:
    authority = Authority()
    tls = authority.server("gateway.example", "*.ipfs.gateway.example")
    async with TrustlessGateway(tls=tls) as gateway:
        cid = gateway.add_file(BODY)
        gateway.behave(to_subdomain)
        names = ("gateway.example", f"{cid.text}.ipfs.gateway.example")
        limits = UpstreamLimits(
            ca_file=str(authority.write(tmp_path / "ca.pem")),
            connect_to=tuple(ConnectTo(name, None, "127.0.0.1", None) for name in names),
        )
        async with recovery(f"https://gateway.example:{gateway.port}", limits=limits) as made:
            assert body_of(await recovered(made, f"ipfs://{cid.text}")) == BODY
        assert gateway.asked == [f"/ipfs/{cid.text}", "/"]


async def test_a_name() -> None:
    key = Ed25519PrivateKey.generate()
    name = ipns_name(key)
    async with TrustlessGateway() as gateway, recovery(gateway.url) as made:
        cid = gateway.add_file(BODY)
        gateway.add_record(
            name.text, ipns_record(key, f"/ipfs/{cid.text}", sequence=3, valid_until=START + 900, ttl_seconds=60)
        )
        end = await recovered(made, f"ipns://{name.text}")
        assert body_of(end) == BODY and isinstance(end, Recovered)
        assert (end.max_age, [seen.sequence for seen in end.names]) == (60.0, [3])


def fixtures() -> list[Any]:
    index = FIXTURES / "fixtures.json"
    if not index.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))]
    rows = [row for row in json.loads(index.read_bytes()) if "root" in row and row["file"].endswith(".car")]
    return [pytest.param(row, id=Path(row["file"]).stem) for row in rows]


@pytest.mark.parametrize("fixture", fixtures())
async def test_what_others_have_made(fixture: dict[str, Any]) -> None:
    async with TrustlessGateway() as gateway, recovery(gateway.url) as made:
        gateway.add_car(FIXTURES / fixture["file"])
        end = await recovered(made, f"ipfs://{fixture['root']}")
        if fixture["expect"] == "content":
            assert sha256(body_of(end)).hexdigest() == fixture["contentSha256"]
        else:
            assert [attempt.reason for attempt in end.attempts] == ["ipfs_not_a_file"]
