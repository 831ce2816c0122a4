"""What holds for the tiers however they are built: memory alone, over SQLite, and SQLite with no room in memory."""

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from proxy.caching.generations import EVERYTHING, host_scope, tag_scope, uri_scope
from proxy.stores.generations import MemoryGenerations
from proxy.stores.memory import Memory
from proxy.stores.persistent import open_sqlite
from proxy.stores.tiered import Tiered
from tests.stores.samples import NO_FIELDS, START, URI, Clock, Observations, bodies, response, speaking, variant


class Tiers:
    """Tiers with all that they were given."""

    def __init__(self, database: Path | None, max_bytes: int) -> None:
        self.clock = Clock()
        self.generations = MemoryGenerations()
        self.observer = Observations()
        self.memory = Memory(max_bytes, 8, lambda reason, count: None)
        store = None if database is None else open_sqlite(database, 8, self.clock)
        self.tiered = Tiered(self.memory, store, self.generations, self.observer, self.clock, 5.0)

    async def find(self, language: str | None = None) -> list[bytes]:
        await self.tiered.flush()
        return bodies(await self.tiered.find("k", NO_FIELDS if language is None else speaking(language)))


@pytest.fixture(params=["memory", "sqlite", "no room in memory"])
async def tiers(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Tiers]:
    database = None if request.param == "memory" else tmp_path / "cache.db"
    tiers = Tiers(database, 0 if request.param == "no room in memory" else 10_000_000)
    monkeypatch.setattr(time, "time", tiers.clock)  # the storage reads this clock
    yield tiers
    await tiers.tiered.close()
    assert tiers.observer.errors == []


async def test_nothing(tiers: Tiers) -> None:
    assert await tiers.find() == [] and await tiers.tiered.count("k") == 0
    assert tiers.tiered.remove("k") == 0 and tiers.tiered.degraded == ()


async def test_what_was_put_is_found_whole(tiers: Tiers) -> None:
    stored = response(bytes(range(256)) * 2000, tags=("a", "b"), generation=7)
    assert tiers.tiered.put("k", stored)
    await tiers.tiered.flush()
    assert await tiers.tiered.find("k", NO_FIELDS) == (stored,)


async def test_an_empty_body(tiers: Tiers) -> None:
    tiers.tiered.put("k", response(b"", status=404))
    assert await tiers.find() == [b""]


async def test_the_newer_replaces_the_older(tiers: Tiers) -> None:
    for body in (b"1", b"2", b"3"):
        tiers.tiered.put("k", response(body))
        await tiers.tiered.flush()
    assert await tiers.find() == [b"3"] and await tiers.tiered.count("k") == 1


async def test_each_variant_is_found_by_its_own_request(tiers: Tiers) -> None:
    for language in ("en", "fr", "de"):
        tiers.tiered.put("k", variant(language))
    for language in ("en", "fr", "de"):
        assert language.encode() in await tiers.find(language)
    assert await tiers.tiered.count("k") == 3


async def test_a_response_without_vary_beside_variants(tiers: Tiers) -> None:
    tiers.tiered.put("k", variant("en"))
    tiers.tiered.put("k", response(b"plain", born=START + 1))
    assert (await tiers.find("en"))[-1] == b"plain"
    assert await tiers.tiered.count("k") == 2


async def test_variants_are_bounded(tiers: Tiers) -> None:
    for number in range(12):
        tiers.tiered.put("k", variant(f"x-{number}", born=START + number))
    await tiers.tiered.flush()
    assert await tiers.tiered.count("k") == 8
    assert await tiers.find("x-11") != []


async def test_keys_are_apart(tiers: Tiers) -> None:
    tiers.tiered.put("k", response(b"1"))
    tiers.tiered.put("k2", response(b"2"))
    tiers.tiered.remove("k2")
    assert await tiers.find() == [b"1"]


async def test_remove_forgets_every_variant(tiers: Tiers) -> None:
    for stored in (variant("en"), variant("fr"), response()):
        tiers.tiered.put("k", stored)
    await tiers.tiered.flush()
    tiers.tiered.remove("k")
    assert await tiers.find("en") == [] and await tiers.tiered.count("k") == 0


async def test_discard_forgets_one(tiers: Tiers) -> None:
    for language in ("en", "fr"):
        tiers.tiered.put("k", variant(language))
    await tiers.tiered.flush()
    tiers.tiered.discard("k", variant("en"))
    assert b"en" not in await tiers.find("en") and b"fr" in await tiers.find("fr")


async def test_past_use_is_forgotten(tiers: Tiers) -> None:
    tiers.tiered.put("k", response())
    await tiers.tiered.flush()
    tiers.clock.now += 3599
    assert await tiers.find() == [b"{}"]
    tiers.clock.now += 2
    assert await tiers.find() == [] and await tiers.tiered.count("k") == 0


async def test_what_is_put_too_late_is_not_found(tiers: Tiers) -> None:
    tiers.clock.now += 4000
    tiers.tiered.put("k", response())
    assert await tiers.find() == []


SCOPES = {
    "uri": uri_scope(URI),
    "host": host_scope("example.com"),
    "host and port": host_scope("example.com:443"),
    "tag": tag_scope("t"),
    "everything": EVERYTHING,
}


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
async def test_a_purge_leaves_no_variant_fresh_or_stale(tiers: Tiers, scope: str) -> None:
    for language in ("en", "fr"):
        tiers.tiered.put("k", variant(language, tags=("t",)))
    await tiers.tiered.flush()
    tiers.generations.mark((scope,), START + 1, soft=False)
    assert await tiers.find("en") == [] and await tiers.find("fr") == []
    assert await tiers.tiered.count("k") == 0 and list(tiers.tiered.entries()) == []


async def test_a_purge_of_something_else_changes_nothing(tiers: Tiers) -> None:
    tiers.tiered.put("k", response(tags=("t",)))
    tiers.generations.mark((tag_scope("other"),), START + 1, soft=False)
    assert await tiers.find() == [b"{}"]


async def test_a_soft_purge_ends_freshness_at_its_moment(tiers: Tiers) -> None:
    tiers.tiered.put("k", response())
    await tiers.tiered.flush()
    tiers.generations.mark((uri_scope(URI),), START + 10, soft=True)
    [stored] = await tiers.tiered.find("k", NO_FIELDS)
    assert stored.fresh_until == START + 10
    tiers.generations.mark((uri_scope(URI),), START + 20, soft=False)
    assert await tiers.find() == []


FETCHED: dict[str, tuple[bool, Callable[[bool, float], bool]]] = {
    "purged while it was fetched": (False, lambda accepted, fresh: not accepted),
    "softly purged while it was fetched": (True, lambda accepted, fresh: accepted and fresh == START + 1),
}


@pytest.mark.parametrize(("soft", "holds"), FETCHED.values(), ids=FETCHED)
async def test_put_after_a_purge(tiers: Tiers, soft: bool, holds: Callable[[bool, float], bool]) -> None:
    before = tiers.generations.latest
    tiers.generations.mark((uri_scope(URI),), START + 1, soft=soft)
    accepted = tiers.tiered.put("k", response(generation=before))
    await tiers.tiered.flush()
    found = await tiers.tiered.find("k", NO_FIELDS)
    assert holds(accepted, found[0].fresh_until if found else 0.0)
    assert tiers.tiered.put("k", response(b"new", generation=tiers.generations.latest))
    assert await tiers.find() == [b"new"]
