"""The watch list: what is read when, what is held, and what is told of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from proxy.catalogs.verdicts import Verdict
from proxy.discovery.classes import DocumentClass
from proxy.engine.catalogs import holding, reading, watching
from proxy.engine.catalogs.watching import WatchList
from tests.engine.catalogs.scene import CATALOG, DAY, REGISTRY, Scene, catalog, entry, gone, moved
from tests.simulators.clock import START
from tests.simulators.registry import Registry, name_of, url_of

A, B, C = (f"https://{host}.example.com/card.json" for host in "abc")
NEW = "https://new.example.com/mcp"
PATIENCE = 5.0


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_FIRST_AFTER", 0.0)


@asynccontextmanager
async def watched(scene: Scene, *urls: str, interval: float = 0.01) -> AsyncIterator[WatchList]:
    watch_list = scene.watch_list(*urls, interval=interval)
    watch_list.begin()
    try:
        yield watch_list
    finally:
        await watch_list.close()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


def counts(watch_list: WatchList, position: int = 0) -> dict[Verdict, int]:
    return {verdict: count for verdict, count in watch_list.standing()[position].counts.items() if count}


async def looked(watch_list: WatchList, position: int = 0) -> None:
    await until(lambda: watch_list.standing()[position].looked_at is not None)


class TestLooking:
    async def test_what_is_known_then(self) -> None:
        scene = Scene()
        scene.publish(catalog(entry("a", A), entry("b", B), entry("c", C), entry("d", "http://d.example.com/")))
        await scene.put(moved(A, NEW), gone(B))
        scene.origins.serves(C)
        async with watched(scene, CATALOG, interval=3600) as watch_list:
            await looked(watch_list)
            assert counts(watch_list) == {Verdict.SUPERSEDED: 1, Verdict.REMOVED: 1, Verdict.CONFIRMED: 1}
            (standing,) = watch_list.standing()
        assert (standing.position, standing.host, standing.looked_at) == (0, "catalog.example.org", START)
        assert standing.failing is None and set(standing.counts) == set(Verdict)

    async def test_which_catalogs_list_a_url(self) -> None:
        scene = Scene()
        other = "https://other.example.org/c.json?token=sk-live-0123456789abcdef0123456789"
        scene.publish(catalog(entry("a", A), entry("b", B)))
        scene.publish(catalog(entry("b", f"{B}#fragment")), other)
        async with watched(scene, CATALOG, other, interval=3600) as watch_list:
            await looked(watch_list, 0)
            await looked(watch_list, 1)
            assert watch_list.catalogs_of(A) == (CATALOG,)
            assert watch_list.catalogs_of(C) == ()
            first, second = watch_list.catalogs_of(B) if len(watch_list.catalogs_of(B)) == 2 else (CATALOG, "")
        assert first == CATALOG and "sk-live" not in second

    async def test_again_and_again(self) -> None:
        scene = Scene()
        scene.publish(catalog(entry("a", A)), cache_control="no-store")
        async with watched(scene, CATALOG) as watch_list:
            await scene.sim.origin.arrived(3)
            scene.publish(catalog(entry("b", B)), cache_control="no-store")
            await until(lambda: bool(watch_list.catalogs_of(B)))
            assert watch_list.catalogs_of(A) == ()

    async def test_one_that_is_listed_again_stays_removed(self) -> None:
        """OV-6: a tombstone outlives any catalog that lists its URL anew."""
        scene = Scene()
        await scene.put(gone(A))
        scene.publish(catalog(entry("a", A)), cache_control="no-store")
        async with watched(scene, CATALOG) as watch_list:
            await scene.sim.origin.arrived(5)
            assert counts(watch_list) == {Verdict.REMOVED: 1}

    async def test_what_is_due_is_asked_again(self) -> None:
        scene = Scene()
        await scene.put(gone(A, START - 2 * DAY))
        scene.publish(catalog(entry("a", A)))
        async with watched(scene, CATALOG, interval=3600) as watch_list:
            await looked(watch_list)
        assert scene.origins.due == [A]

    async def test_nothing_to_watch(self) -> None:
        async with watched(Scene()) as watch_list:
            assert watch_list.standing() == ()


class TestAsking:
    async def test_a_few_each_time_and_others_the_next(self) -> None:
        scene = Scene()
        urls = [f"https://{number}.example.com/card.json" for number in range(50)]
        scene.publish(catalog(*(entry(str(number), url) for number, url in enumerate(urls))))
        scene.origins.serves(*urls)
        async with watched(scene, CATALOG, interval=0.2) as watch_list:
            await looked(watch_list)
            assert len(scene.origins.asked) == 20
            scene.sim.clock += 1
            await until(lambda: len(scene.origins.asked) >= 50)
            assert set(scene.origins.asked[:50]) == set(urls)
            await until(lambda: counts(watch_list) == {Verdict.CONFIRMED: 50})

    async def test_for_what_is_listed(self) -> None:
        scene = Scene()
        scene.publish(catalog(entry("a", A), entry("b", B, type="application/json")), cache_control="no-store")
        async with watched(scene, CATALOG) as watch_list:
            await until(lambda: set(scene.origins.claims) == {A, B})
            assert scene.origins.claims == {A: DocumentClass.AGENT_CARD, B: None}
            scene.publish(catalog(entry("b", B)), cache_control="no-store")
            await until(lambda: scene.origins.claims[B] is DocumentClass.AGENT_CARD)
            await until(lambda: watch_list.catalogs_of(A) == ())

    async def test_a_record_ends_what_was_seen(self) -> None:
        scene = Scene()
        scene.publish(catalog(entry("a", A)))
        scene.origins.serves(A)
        async with watched(scene, CATALOG) as watch_list:
            await until(lambda: counts(watch_list) == {Verdict.CONFIRMED: 1})
            await scene.put(gone(A))
            await until(lambda: counts(watch_list) == {Verdict.REMOVED: 1})


class TestFailing:
    async def test_keeps_what_is_held_and_is_told_once(self, caplog: pytest.LogCaptureFixture) -> None:
        scene = Scene()
        scene.publish(catalog(entry("a", A)), cache_control="no-store")
        caplog.set_level(logging.INFO, "proxy.catalogs")
        async with watched(scene, CATALOG) as watch_list:
            await looked(watch_list)
            scene.publish(b"", status=503, cache_control="no-store")
            before = len(scene.sim.origin.requests)
            await scene.sim.origin.arrived(before + 4)
            (standing,) = watch_list.standing()
            assert standing.failing is not None and "503" in standing.failing
            assert watch_list.catalogs_of(A) == (CATALOG,)
            scene.publish(catalog(entry("b", B)), cache_control="no-store")
            await until(lambda: bool(watch_list.catalogs_of(B)))
        messages = [(one.levelname, one.message) for one in caplog.records]
        assert messages == [
            ("WARNING", "a catalog cannot be read"),
            ("INFO", "a catalog can be read again"),
        ]
        assert (caplog.records[0].__dict__["host"], caplog.records[0].__dict__["position"]) == (
            "catalog.example.org",
            0,
        )

    async def test_without_records(self) -> None:
        scene = Scene()
        scene.publish(catalog(entry("a", A)))
        scene.records.fail()
        async with watched(scene, CATALOG) as watch_list:
            await until(lambda: watch_list.standing()[0].failing is not None)
            assert watch_list.standing()[0].failing == "the records cannot be read"
            scene.records.fault = None
            await looked(watch_list)

    async def test_a_fault_of_ours_ends_no_watch(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        scene = Scene()
        scene.publish(catalog(entry("a", A)))
        good = scene.judgement.standings

        async def bad(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(scene.judgement, "standings", bad)
        async with watched(scene, CATALOG) as watch_list:
            await until(lambda: watch_list.standing()[0].failing is not None)
            monkeypatch.setattr(scene.judgement, "standings", good)
            await looked(watch_list)
        assert "a look at a catalog failed" in caplog.text

    async def test_one_that_is_cut_short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It has failed, and takes nothing away; what it saw is held all the same."""
        monkeypatch.setattr(reading, "MOST_PAGES", 2)
        scene, registry = Scene(), Registry(250, cache_control="no-store")
        scene.publish_registry(registry)
        await scene.put(gone(url_of(1)))
        async with watched(scene, REGISTRY) as watch_list:
            await until(lambda: watch_list.standing()[0].failing is not None)
            (standing,) = watch_list.standing()
            assert (standing.looked_at, standing.failing) == (
                None,
                "There are more than 2 pages; those after them are not read.",
            )
            assert counts(watch_list)[Verdict.REMOVED] == 1 and sum(standing.counts.values()) == 200
            monkeypatch.setattr(reading, "MOST_PAGES", 200)
            await looked(watch_list)
            assert watch_list.catalogs_of(url_of(249)) == (REGISTRY,)
            assert watch_list.standing()[0].failing is None

    async def test_changes_that_are_cut_short_are_read_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        moments = ["2027-01-15T07:55:00Z"]
        scene, registry = Scene(), Registry(150, cache_control="no-store")
        scene.publish_registry(registry, since=moments)
        async with watched(scene, REGISTRY) as watch_list:
            await looked(watch_list)
            monkeypatch.setattr(reading, "MOST_PAGES", 1)
            for number in range(150):
                registry.move(name_of(number), f"{url_of(number)}/v2", at=START + 10)
            scene.sim.clock += 50
            await until(lambda: watch_list.standing()[0].failing is not None)
            assert sum(bool(watch_list.catalogs_of(f"{url_of(number)}/v2")) for number in range(150)) == 100
            assert watch_list.catalogs_of(url_of(149)) == (REGISTRY,)
            monkeypatch.setattr(reading, "MOST_PAGES", 200)
            await until(lambda: watch_list.standing()[0].failing is None)
            assert all(watch_list.catalogs_of(f"{url_of(number)}/v2") for number in range(150))

    async def test_what_is_always_cut_short_is_not_held_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reading, "MOST_PAGES", 1)
        monkeypatch.setattr(holding, "MOST_OF_PAGES", 150)
        scene, registry = Scene(), Registry(250, cache_control="no-store")
        scene.publish_registry(registry)
        async with watched(scene, REGISTRY) as watch_list:
            for turn in range(4):
                registry.servers = {f"{turn}-{name}": server for name, server in Registry(250).servers.items()}
                for name in list(registry.servers):
                    registry.move(name, f"https://{turn}.example.com/{name}", at=START)
                before = len(registry.asked)
                await until(lambda before=before: len(registry.asked) >= before + 2)  # type: ignore[misc]
                assert sum(watch_list.standing()[0].counts.values()) <= 250

    async def test_a_look_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(watching, "_A_LOOK", 0.05)
        scene = Scene()
        scene.publish(catalog(entry("a", A)))
        scene.sim.origin.hang("/catalog.json")
        async with watched(scene, CATALOG, interval=0.2) as watch_list:
            await until(lambda: watch_list.standing()[0].failing is not None)
            assert (watch_list.standing()[0].failing or "").startswith("origin-timeout: ")
            scene.sim.origin.unhang("/catalog.json")
            await looked(watch_list)

    async def test_a_registry_that_breaks_off(self) -> None:
        scene, registry = Scene(), Registry(250, cache_control="no-store")
        scene.publish_registry(registry)
        broken = REGISTRY + "&cursor=from%3A100"
        whole = scene.sim.origin.answering(broken)
        scene.publish(b"", broken, status=503, cache_control="no-store")
        async with watched(scene, REGISTRY) as watch_list:
            await until(lambda: watch_list.standing()[0].failing is not None)
            assert watch_list.catalogs_of(url_of(1)) == ()
            scene.sim.origin.answer(broken, whole)
            await looked(watch_list)
            assert watch_list.catalogs_of(url_of(1)) == (REGISTRY,)


class TestRegistry:
    async def test_only_what_has_changed_is_read_again(self) -> None:
        scene, registry = Scene(), Registry(250, cache_control="no-store")
        scene.publish_registry(registry, since=["2027-01-15T07:55:00Z", "2027-01-15T07:56:40Z"])
        async with watched(scene, REGISTRY) as watch_list:
            await looked(watch_list)
            assert len([one for one in registry.asked if "updated_since" not in one]) == 3
            scene.sim.clock += 100
            registry.move(name_of(1), NEW, at=START + 100)
            registry.mark(name_of(2), "deleted", at=START + 100)
            registry.mark(name_of(3), "deprecated", at=START + 100)
            await until(lambda: bool(watch_list.catalogs_of(NEW)))
            assert [watch_list.catalogs_of(url_of(number)) for number in (1, 2, 3, 4)] == [
                (),
                (),
                (REGISTRY,),
                (REGISTRY,),
            ]
            assert len([one for one in registry.asked if "updated_since" not in one]) == 3

    async def test_all_of_it_once_a_day(self) -> None:
        scene, registry = Scene(), Registry(10, cache_control="no-store")
        scene.publish_registry(registry, since=["2027-01-15T07:55:00Z"])
        async with watched(scene, REGISTRY) as watch_list:
            await looked(watch_list)
            del registry.servers[name_of(5)]
            await scene.sim.origin.arrived(3)
            assert watch_list.catalogs_of(url_of(5)) == (REGISTRY,)
            scene.sim.clock += DAY
            await until(lambda: watch_list.catalogs_of(url_of(5)) == ())


class TestPauses:
    @pytest.mark.parametrize("looks", range(0, 50, 7))
    def test_about_the_interval(self, looks: int) -> None:
        watch = watching._Watch(0, CATALOG)
        watch.looks = looks
        assert 3240 <= watch.pause(3600) <= 3960

    def test_not_always_the_same(self) -> None:
        watch, pauses = watching._Watch(0, CATALOG), set()
        for watch.looks in range(20):
            pauses.add(watch.pause(3600))
        assert len(pauses) > 10 and max(pauses) - min(pauses) > 360

    @pytest.mark.parametrize(
        ("failures", "seconds"), [(1, 60), (2, 120), (3, 240), (7, 3600), (500, 3600)], ids=str
    )
    def test_sooner_after_failures(self, failures: int, seconds: float) -> None:
        watch = watching._Watch(0, CATALOG)
        watch.failures = failures
        assert 0.9 * seconds <= watch.pause(3600) <= 1.1 * seconds

    def test_never_more_often_than_is_configured(self) -> None:
        watch = watching._Watch(0, CATALOG)
        watch.failures = 1
        assert watch.pause(5.0) <= 5.5
