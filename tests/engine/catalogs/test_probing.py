"""Asking about many URLs: bounded in number, in time and in hosts, and fair among these."""

from __future__ import annotations

import pytest

from proxy.engine.catalogs.probing import Prober, Round, chosen
from proxy.ledgers import LedgerUnavailable
from tests.engine.catalogs.scene import Scene

A = [f"https://a.example.com/{number}" for number in range(50_000)]
B = [f"https://b.example.com/{number}" for number in range(3)]
C = ["https://c.example.com:8443/0"]

CHOSEN: dict[str, tuple[list[str], int, tuple[tuple[str, ...], ...]]] = {
    "none": ([], 5, ()),
    "fewer than there may be": ([*B, *C], 9, (tuple(B), tuple(C))),
    "one of each host in turn": ([*A, *B, *C], 6, (tuple(A[:3]), tuple(B[:2]), tuple(C))),
    "one host of very many URLs": (A, 200, (tuple(A[:200]),)),
    "by host and port": (["https://c.example.com/1", *C], 2, (("https://c.example.com/1",), tuple(C))),
    "no more than there may be": ([*A, *B, *C], 1, ((A[0],),)),
}


@pytest.mark.parametrize(("keys", "most", "expected"), CHOSEN.values(), ids=CHOSEN)
def test_which_are_asked(keys: list[str], most: int, expected: tuple[tuple[str, ...], ...]) -> None:
    assert chosen(keys, most) == expected


async def test_hosts_at_once() -> None:
    scene = Scene()
    keys = [f"https://{host}.example.com/{number}" for host in range(10) for number in range(3)]
    sightings = await Prober(scene.origins, 2).ask(keys, Round(100, 5.0), {})
    assert set(sightings) == set(keys) and sorted(scene.origins.asked) == sorted(keys)
    assert scene.origins.hosts_at_once == 2


async def test_the_time_ends() -> None:
    scene = Scene()
    scene.origins.hanging = {"slow.example.com", "slower.example.com"}
    keys = ["https://fast.example.com/", "https://slow.example.com/", "https://slower.example.com/", *B]
    sightings = await Prober(scene.origins, 2).ask(keys, Round(100, 0.05), {})
    assert set(sightings) == {"https://fast.example.com/"}


async def test_no_more_is_begun_than_goes_on_at_once() -> None:
    scene = Scene()
    scene.origins.hanging = {"a.example.com"}
    assert await Prober(scene.origins, 2).ask(A, Round(200, 0.05), {}) == {}
    assert len(scene.origins.asked) == 2


async def test_what_cannot_be_recorded_is_not_told() -> None:
    scene = Scene()
    scene.origins.fault = LedgerUnavailable("full")
    keys = [f"https://{host}.example.com/" for host in range(10)]
    with pytest.raises(LedgerUnavailable):
        await Prober(scene.origins, 2).ask(keys, Round(100, 5.0), {})
    assert len(scene.origins.asked) <= 2
