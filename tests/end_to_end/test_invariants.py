"""What holds whatever clients and origins do, through a real proxy and real sockets."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.end_to_end.running import Reply, Running, Wire, request, running
from tests.end_to_end.site import Asked, Cut, Site, reply

BODY = b"0123456789" * 100


@dataclass(frozen=True)
class Setting:
    """A proxy before a site without TLS."""

    proxy: Running
    site: Site

    def target(self, path: str) -> str:
        return f"/http/127.0.0.1:{self.site.port}{path}"

    async def get(self, path: str, *lines: str) -> Reply:
        return await self.proxy.get(self.target(path), *lines)

    async def asked(self, path: str, count: int) -> None:
        """Wait until the site has got `count` requests for `path`."""
        async with asyncio.timeout(5):
            while len(self.site.to(path)) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)


@pytest.fixture
async def case() -> AsyncIterator[Setting]:
    async with Site(None) as site, running() as proxy:
        yield Setting(proxy, site)


class Held:
    """An answer that waits to be let go."""

    def __init__(self, answer: bytes) -> None:
        self.gate = asyncio.Event()
        self._answer = answer

    async def __call__(self) -> bytes:
        await self.gate.wait()
        return self._answer


async def test_3_a_client_that_leaves_takes_nothing_with_it(case: Setting) -> None:
    held = Held(reply(BODY, "max-age=60"))
    case.site.on("/a", lambda _: held())
    async with Wire.open(case.proxy.port) as leaving:
        await leaving.send(request("GET", case.target("/a")))
        await case.asked("/a", 1)
        staying = [asyncio.get_running_loop().create_task(case.get("/a")) for _ in range(3)]
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.05)
    held.gate.set()
    assert [(await client).body for client in staying] == [BODY] * 3
    assert len(case.site.to("/a")) == 1


async def test_3_a_fill_goes_on_when_everybody_has_left(case: Setting) -> None:
    held = Held(reply(BODY, "max-age=60"))
    case.site.on("/a", lambda _: held())
    async with Wire.open(case.proxy.port) as leaving:
        await leaving.send(request("GET", case.target("/a")))
        await case.asked("/a", 1)
    await asyncio.sleep(0.05)
    held.gate.set()
    await asyncio.sleep(0.05)
    assert (await case.get("/a")).body == BODY
    assert len(case.site.to("/a")) == 1


async def test_4_nothing_fetched_before_a_purge_is_served_after_it(case: Setting) -> None:
    held = Held(reply(b"old", "max-age=60"))
    case.site.on("/a", lambda asked: held() if asked.number == 1 else reply(b"new", "max-age=60"))
    before = asyncio.get_running_loop().create_task(case.get("/a"))
    await case.asked("/a", 1)
    await case.proxy.purge()
    assert (await case.get("/a")).body == b"new"
    held.gate.set()
    assert (await before).body == b"new"
    assert (await case.get("/a")).body == b"new"


LASTING = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"
CUT = {
    "short Content-Length": LASTING + b"Content-Length: 100\r\n\r\nshort",
    "no last chunk": LASTING + b"Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
    "cut gzip": reply(gzip.compress(BODY)[:-4], "max-age=60", ("Content-Encoding", "gzip")),
}


@pytest.mark.parametrize("octets", CUT.values(), ids=CUT)
async def test_5_what_is_incomplete_is_neither_stored_nor_passed_for_whole(case: Setting, octets: bytes) -> None:
    case.site.on("/a", lambda _: Cut(octets))
    for _ in range(2):
        got = await case.get("/a")
        assert (got.status, got.slug) == (502, "origin-invalid-response")
    assert len(case.site.to("/a")) == 2


async def test_5_a_stream_that_is_cut_is_cut_for_the_client_too(case: Setting) -> None:
    case.site.on("/a", lambda _: Cut(reply(BODY, "no-store")[:-10]))
    got = await case.get("/a")
    assert (got.status, got.is_complete) == (200, False)


async def test_10_revalidations_cost_nothing_that_stays(case: Setting) -> None:
    case.site.on("/a", lambda _: reply(BODY, "max-age=0", ("ETag", '"1"')))
    memory = case.proxy.service._kept.memory
    async with Wire.open(case.proxy.port) as wire:
        ask = request("GET", case.target("/a"))
        for _ in range(10):
            await wire.ask(ask)
        held = (len(memory), memory.bytes)
        for _ in range(300):
            assert (await wire.ask(ask)).body == BODY
    assert (len(memory), memory.bytes) == held


async def test_12_a_thousand_at_once(case: Setting) -> None:
    async def slowly() -> bytes:
        await asyncio.sleep(0.3)
        return reply(BODY, "max-age=60")

    case.site.on("/a", lambda _: slowly())
    answers = await asyncio.gather(*(case.get("/a") for _ in range(1000)))
    assert {answer.body for answer in answers} == {BODY}
    assert len(case.site.to("/a")) == 1


async def test_12_what_may_not_be_stored_is_not_serialised(case: Setting) -> None:
    async def slowly(asked: Asked) -> bytes:
        await asyncio.sleep(0.2)
        return reply(str(asked.number).encode(), "no-store")

    case.site.on("/a", slowly)
    began = asyncio.get_running_loop().time()
    answers = await asyncio.gather(*(case.get("/a") for _ in range(50)))
    assert len({answer.body for answer in answers}) == 50
    assert asyncio.get_running_loop().time() - began < 2


async def test_17_a_document_that_needs_a_login_is_nobody_elses(case: Setting) -> None:
    def by_token(asked: Asked) -> bytes:
        token = asked.fields.get("authorization")
        return reply(status=401) if token is None else reply(token.encode(), "max-age=60")

    case.site.on("/a", by_token)
    assert (await case.get("/a", "Authorization: Bearer a")).body == b"Bearer a"
    assert (await case.get("/a")).status == 401
    assert (await case.get("/a", "Authorization: Bearer b")).body == b"Bearer b"
