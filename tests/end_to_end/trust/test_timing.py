"""How long an outage makes clients wait: bounds that a busy machine keeps too."""

from __future__ import annotations

import asyncio
from time import perf_counter

from tests.end_to_end.running import Running
from tests.end_to_end.trust.world import (
    COPY_PATH,
    FIRST,
    MIRRORS,
    PATH,
    SECOND,
    World,
    ask_manifest,
    attempts,
    signed_manifest,
    source_of,
)

CONNECT_TIMEOUT = 1.0
HEDGE_DELAY = 0.4
SLACK = 1.0
LATER = 0.05
BOUNDS = {"upstream__connect_timeout": CONNECT_TIMEOUT, "failover__hedge_delay": HEDGE_DELAY}


async def forever() -> bytes:
    await asyncio.Event().wait()
    return b""


async def timed(proxy: Running) -> tuple[str | None, float]:
    """Whence the manifest came, and after how many seconds."""
    began = perf_counter()
    answer = await ask_manifest(proxy)
    return source_of(answer), perf_counter() - began


async def later(proxy: Running) -> list[float]:
    """The seconds of answers while the outage lasts, all from a mirror, in order of length."""
    timings = [await timed(proxy) for _ in range(20)]
    assert {source for source, _ in timings} == {"mirror"}
    return sorted(seconds for _, seconds in timings)


async def test_an_origin_that_refuses_and_a_mirror_that_is_silent(world: World) -> None:
    async with world.proxy(**BOUNDS) as proxy:
        await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        world.first.on(COPY_PATH, lambda asked: forever())
        source, seconds = await timed(proxy)
        assert source == "mirror" and seconds < CONNECT_TIMEOUT + HEDGE_DELAY + SLACK
        *rest, _ = await later(proxy)
        assert max(rest) < LATER


async def test_a_silent_mirror_costs_its_delay_once(world: World) -> None:
    async with world.proxy(**BOUNDS) as proxy:
        await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        world.first.on(COPY_PATH, lambda asked: forever())
        for _ in range(5):
            assert (await timed(proxy))[0] == "mirror"
            await proxy.purge()
        source, seconds = await timed(proxy)
        assert source == "mirror" and seconds < HEDGE_DELAY


async def test_an_origin_that_is_silent_too(world: World) -> None:
    async with world.proxy(**BOUNDS, upstream__total_timeout=1) as proxy:
        world.publish(world.mirrored(signed_manifest(*MIRRORS)))
        assert (await timed(proxy))[0] == "origin"
        world.origin.on(PATH, lambda asked: forever())
        world.first.on(COPY_PATH, lambda asked: forever())
        source, seconds = await timed(proxy)
        assert source == "mirror" and seconds < CONNECT_TIMEOUT + HEDGE_DELAY + SLACK
        *rest, _ = await later(proxy)
        assert max(rest) < LATER


async def test_where_everybody_is_silent_the_deadline_ends_it(world: World) -> None:
    async with world.proxy(**BOUNDS, failover__deadline=1.5, upstream__total_timeout=10) as proxy:
        await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        for site in (world.first, world.second):
            site.on(COPY_PATH, lambda asked: forever())
        began = perf_counter()
        answer = await ask_manifest(proxy)
        assert answer.status == 504 and perf_counter() - began < 1.5 + SLACK
        assert attempts(answer) == [("mirror", url, "failed", "deadline") for url in (FIRST, SECOND)]


async def test_a_crowd_waits_once(world: World) -> None:
    async with world.proxy(**BOUNDS) as proxy:
        await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        timings = await asyncio.gather(*(timed(proxy) for _ in range(50)))
        assert {source for source, _ in timings} == {"mirror"}
        assert [asked.path for asked in world.asked_mirrors] == [COPY_PATH]
