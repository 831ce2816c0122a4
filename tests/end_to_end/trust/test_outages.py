"""In which ways an origin can be down, and what is none of them: its own word, or another thing than asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import dns.rcode
import pytest

from tests.end_to_end.site import Answering, Cut, Site, reply
from tests.end_to_end.trust.world import (
    HOST,
    JSON,
    MIRRORS,
    PATH,
    World,
    ask_manifest,
    signed_manifest,
    trust_of,
    verified_from,
)
from tests.simulators.nameserver import Reply, absent, failing, silence

FAST = {"upstream__connect_timeout": 1, "upstream__total_timeout": 1}


async def forever() -> bytes:
    await asyncio.Event().wait()
    return b""


def with_status(status: int) -> Answering:
    return lambda asked: reply(b"down", None, status=status)


FAILING: dict[str, Answering] = {
    **{str(status): with_status(status) for status in (500, 502, 503, 504)},
    "silent": lambda asked: forever(),
}


@pytest.mark.parametrize("answering", FAILING.values(), ids=FAILING)
async def test_an_origin_that_answers_so_is_down(world: World, answering: Answering) -> None:
    async with world.proxy(**FAST) as proxy:
        body = world.publish(world.mirrored(signed_manifest(*MIRRORS)))
        assert trust_of(await ask_manifest(proxy)) == verified_from("origin")
        world.origin.on(PATH, answering)
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.body, trust_of(answer)) == (200, body, verified_from("mirror"))


@asynccontextmanager
async def impostor(world: World, name: str) -> AsyncIterator[Site]:
    """Somebody in the origin's place with a certificate for `name`, who would have a manifest, too."""
    await world.origin.down()
    site = Site(world.authority.server(name))
    site.port = world.origin.port
    site.on(PATH, lambda asked: reply(b'{"profileId": "uaix.ai-ready-web.manifest.v1"}', "max-age=60", JSON))
    async with site:
        yield site


async def test_a_certificate_of_another_name_is_an_outage_and_nothing_is_taken_from_there(world: World) -> None:
    async with world.proxy(**FAST) as proxy:
        body = world.publish(world.mirrored(signed_manifest(*MIRRORS)))
        assert trust_of(await ask_manifest(proxy)) == verified_from("origin")
        async with impostor(world, "elsewhere.example.net") as site:
            answer = await ask_manifest(proxy)
            assert (answer.body, trust_of(answer)) == (body, verified_from("mirror"))
            assert not site.asked


WITHOUT_ADDRESS: dict[str, Reply] = {
    "no such name": absent(dns.rcode.NXDOMAIN),
    "no address": absent(),
    "SERVFAIL": failing(dns.rcode.SERVFAIL),
    "REFUSED": failing(dns.rcode.REFUSED),
    "silence": silence,
}


@pytest.mark.parametrize("answering", WITHOUT_ADDRESS.values(), ids=WITHOUT_ADDRESS)
async def test_a_name_without_address_is_an_outage(world: World, tmp_path: Path, answering: Reply) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    body = world.publish(world.mirrored(signed_manifest(*MIRRORS)))
    async with world.proxy(store__url=store) as proxy:
        assert trust_of(await ask_manifest(proxy)) == verified_from("origin")
    world.nameserver.replies[HOST, "A"] = answering
    mirrors = [rule for rule in world.connect_to if not rule.startswith(f"{HOST}:")]
    async with world.proxy(**FAST, store__url=store, upstream__connect_to=mirrors) as proxy:
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.body, trust_of(answer)) == (200, body, verified_from("mirror"))
    assert world.nameserver.count(HOST, "A") >= 1


# What the origin says then, and what the client gets.
NO_OUTAGE: dict[str, tuple[Callable[[bytes], Answering], int]] = {
    "moved": (lambda body: lambda asked: reply(b"", None, ("Location", "/new.json"), status=308), 308),
    "401": (lambda body: with_status(401), 401),
    "403": (lambda body: with_status(403), 403),
    "404": (lambda body: with_status(404), 404),
    "410": (lambda body: with_status(410), 410),
    "429": (lambda body: with_status(429), 429),
    "501": (lambda body: with_status(501), 501),
    "a page": (
        lambda body: lambda asked: reply(b"<!doctype html>", "max-age=60", ("Content-Type", "text/html")),
        502,
    ),
    "half of it": (lambda body: lambda asked: Cut(reply(body, "max-age=60", JSON)[:-100]), 502),
}


@pytest.mark.parametrize(("answering", "status"), NO_OUTAGE.values(), ids=NO_OUTAGE)
async def test_an_origin_that_answers_so_is_not_down(
    world: World, answering: Callable[[bytes], Answering], status: int
) -> None:
    async with world.proxy(**FAST) as proxy:
        body = world.publish(world.mirrored(signed_manifest(*MIRRORS)))
        assert trust_of(await ask_manifest(proxy)) == verified_from("origin")
        world.origin.on(PATH, answering(body))
        assert (await ask_manifest(proxy)).status == status
        assert not world.asked_mirrors
