"""A file and a record fetched from a real gateway over TLS, and what a walk makes of one that misbehaves."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proxy.trust.content.cid import Cid
from proxy.trust.content.ipns import verify_record
from proxy.trust.content.unixfs import CHUNK, Walk
from proxy.trust.reasons import Reason, Untrusted
from tests.simulators import gateway as simulated
from tests.simulators.gateway import Behaviour, TrustlessGateway, ipns_name, ipns_record
from tests.simulators.wire import Authority

FILE = bytes(range(256)) * 2048
KEY = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
NOW = 1_796_040_000.0

Ask = Callable[..., Awaitable[bytes]]


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def gateway(authority: Authority) -> AsyncIterator[TrustlessGateway]:
    async with TrustlessGateway(tls=authority.server("127.0.0.1")) as gateway:
        yield gateway


@pytest.fixture
def ask(gateway: TrustlessGateway, authority: Authority, tmp_path: Path) -> Ask:
    trusted = ssl.create_default_context(cafile=str(authority.write(tmp_path / "ca.pem")))
    return lambda path, form="raw": asked(f"{gateway.url}{path}?format={form}", form, trusted)


async def asked(url: str, form: str, trusted: ssl.SSLContext) -> bytes:
    accept = {"raw": simulated.RAW_TYPE, "ipns-record": simulated.RECORD_TYPE}[form]
    timeout = aiohttp.ClientTimeout(total=0.3)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.get(url, headers={"Accept": accept}, ssl=trusted, allow_redirects=False) as response,
    ):
        response.raise_for_status()
        if response.status != 200 or response.content_type != accept:
            raise ValueError(f"{response.status} {response.content_type} {response.headers.get('Location')}")
        return await response.read()


async def fetched(ask: Ask, cid: Cid) -> bytes:
    walk = Walk(cid)
    while walk.file is None:
        wanted = walk.wanted[0]
        walk.received(wanted, await ask(f"/ipfs/{wanted.text}"))
    return walk.file


async def test_a_file(gateway: TrustlessGateway, ask: Ask) -> None:
    assert len(FILE) == 2 * CHUNK
    cid = gateway.add_file(FILE)
    assert await fetched(ask, cid) == FILE
    assert gateway.asked[0] == f"/ipfs/{cid.text}" and len(gateway.asked) == 2, "equal halves are one block"


async def test_a_record(gateway: TrustlessGateway, ask: Ask) -> None:
    name = ipns_name(KEY)
    gateway.add_record(name.text, ipns_record(KEY, "/ipfs/bafkqaaa", valid_until=NOW + 60))
    record = verify_record(await ask(f"/ipns/{name.text}", "ipns-record"), name, NOW)
    assert record.value == "/ipfs/bafkqaaa"


@pytest.mark.parametrize("behaviour", [simulated.wrong_bytes, simulated.shortened], ids=["others", "fewer"])
async def test_wrong_octets(gateway: TrustlessGateway, ask: Ask, behaviour: Behaviour) -> None:
    cid = gateway.add_file(FILE)
    gateway.behave(behaviour)
    with pytest.raises(Untrusted) as refusal:
        await fetched(ask, cid)
    assert refusal.value.reason is Reason.CID_MISMATCH


@pytest.mark.parametrize(
    ("behaviour", "failure"),
    [
        (simulated.html, ValueError),
        (simulated.wrong_type, ValueError),
        (simulated.truncated, aiohttp.ClientPayloadError),
        (simulated.endless, asyncio.TimeoutError),
        (simulated.slow(5.0), asyncio.TimeoutError),
        (simulated.status(404), aiohttp.ClientResponseError),
        (simulated.status(429, Retry_After="3"), aiohttp.ClientResponseError),
        (simulated.redirect("http://127.0.0.1:1/{cid}"), ValueError),
        (simulated.to_subdomain, ValueError),
    ],
    ids=["html", "type", "truncated", "endless", "slow", "404", "429", "redirect", "subdomain"],
)
async def test_what_is_no_answer(
    gateway: TrustlessGateway, ask: Ask, behaviour: Behaviour, failure: type[Exception]
) -> None:
    cid = gateway.add_file(FILE[:100])
    gateway.behave(behaviour, cid)
    with pytest.raises(failure):
        await fetched(ask, cid)


async def test_what_it_has_not(gateway: TrustlessGateway, ask: Ask) -> None:
    with pytest.raises(aiohttp.ClientResponseError):
        await ask("/ipfs/bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")
    with pytest.raises(aiohttp.ClientResponseError):
        await ask(f"/ipns/{ipns_name(KEY).text}", "ipns-record")
    assert await ask("/ipfs/bafkqaaa") == b""
