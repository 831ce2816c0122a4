"""Where URLs stand: records before what is stored, that before asking; nothing without the records."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import replace
from typing import Any

import pytest

from proxy.catalogs.verdicts import Verdict
from proxy.discovery.classes import DocumentClass
from proxy.engine.catalogs.judging import BEHIND_THE_SCENES, FOR_A_CLIENT, Judgement, is_unknown
from proxy.http.targets import parse_target
from proxy.ledgers import LedgerUnavailable
from proxy.relocation.records import State
from tests.engine.catalogs.scene import DAY, Scene, gone, moved, pending, record
from tests.simulators.clock import START

URL = "https://a.example.com/card.json"
NEW = "https://a.example.com/new.json"
FAR = "https://b.example.net/far.json"


async def verdict(scene: Scene, url: str = URL) -> Verdict:
    return (await scene.judgement.standings([url]))[url].verdict


class TestRecords:
    async def test_moved(self) -> None:
        scene = Scene()
        await scene.put(moved(URL, NEW), moved(NEW, FAR))
        standing = (await scene.judgement.standings([URL]))[URL]
        assert (standing.verdict, standing.final_url) == (Verdict.SUPERSEDED, FAR)

    async def test_gone(self) -> None:
        scene = Scene()
        await scene.put(gone(URL))
        assert await verdict(scene) is Verdict.REMOVED

    async def test_moved_and_gone_there(self) -> None:
        scene = Scene()
        await scene.put(moved(URL, NEW), gone(NEW))
        assert await verdict(scene) is Verdict.REMOVED

    async def test_pending(self) -> None:
        scene = Scene()
        await scene.put(pending(URL, FAR))
        assert await verdict(scene) is Verdict.PENDING

    async def test_missing(self) -> None:
        scene = Scene()
        await scene.put(record(URL, State.MISSING, 404, START))
        assert await verdict(scene) is Verdict.UNCONFIRMED

    async def test_nothing_known(self) -> None:
        scene = Scene()
        standing = (await scene.judgement.standings([URL]))[URL]
        assert standing.verdict is Verdict.UNCONFIRMED and is_unknown(standing)

    @pytest.mark.parametrize("damaged", [False, True], ids=["the ledger", "one record"])
    async def test_that_cannot_be_read(self, damaged: bool) -> None:
        scene = Scene()
        scene.records.fail(damaged=damaged)
        with pytest.raises(LedgerUnavailable):
            await scene.judgement.standings([URL])


class TestWhatIsStored:
    """A fresh answer of the very URL counts, where nothing is recorded."""

    async def stored(self, scene: Scene, status: int = 200, content_type: str = "application/json") -> None:
        scene.publish(b"{}", URL, status=status, content_type=content_type)
        await scene.sim.ask(URL)

    async def test_confirms(self) -> None:
        scene = Scene()
        await self.stored(scene)
        standing = (await scene.judgement.standings([URL]))[URL]
        assert (standing.verdict, standing.evidence["source"]) == (Verdict.CONFIRMED, "cache")

    async def test_a_page_does_not(self) -> None:
        scene = Scene()
        await self.stored(scene, content_type="text/html; charset=utf-8")
        assert await verdict(scene) is Verdict.UNCONFIRMED

    async def test_another_status_does_not(self) -> None:
        scene = Scene()
        await self.stored(scene, status=404)
        assert await verdict(scene) is Verdict.UNCONFIRMED

    async def test_a_stale_one_does_not(self) -> None:
        scene = Scene()
        await self.stored(scene)
        scene.sim.clock += 301
        assert await verdict(scene) is Verdict.UNCONFIRMED

    async def test_a_record_comes_first(self) -> None:
        scene = Scene()
        await self.stored(scene)
        await scene.put(gone(URL))
        assert await verdict(scene) is Verdict.REMOVED


CARD = b'{"name": "A", "url": "https://a.example.com/a2a"}'
PAGE = b"<!doctype html><title>A</title>"
FOUND: dict[str, tuple[bytes, dict[str, Any], DocumentClass | None, bool]] = {
    "what is claimed": (CARD, {}, DocumentClass.AGENT_CARD, True),
    "JSON of another kind": (b'{"ok": true}', {}, DocumentClass.AGENT_CARD, False),
    "what is for another kind": (CARD, {}, DocumentClass.AI_CATALOG, False),
    "anything where nothing is claimed": (b'{"ok": true}', {}, None, True),
    "a page that is declared as one": (b"{}", {"content_type": "text/html"}, None, False),
    "a page by how it begins": (PAGE, {}, None, False),
    "a coded page": (gzip.compress(PAGE), {"fields": [("Content-Encoding", "gzip")]}, None, False),
    "what is claimed, coded": (
        gzip.compress(CARD),
        {"fields": [("Content-Encoding", "gzip")]},
        DocumentClass.AGENT_CARD,
        True,
    ),
    "what does not decode": (CARD, {"fields": [("Content-Encoding", "zz")]}, DocumentClass.AGENT_CARD, False),
    "what does not decode, of no kind": (CARD, {"fields": [("Content-Encoding", "zz")]}, None, True),
    "larger than a card may be": (
        CARD + b" " * 2**20,
        {},
        DocumentClass.AGENT_CARD,
        False,
    ),
    "a long one": (CARD + b" " * 2**18, {}, DocumentClass.AGENT_CARD, True),
}


@pytest.mark.parametrize(("body", "how", "claimed", "confirms"), FOUND.values(), ids=FOUND)
class TestOfWhatKind:
    """Of the kind that is listed, or absent: that anything is there confirms nothing (C-15)."""

    async def test_stored(
        self, body: bytes, how: dict[str, Any], claimed: DocumentClass | None, confirms: bool
    ) -> None:
        scene = Scene()
        scene.publish(body, URL, **{"content_type": "application/json", **how})
        await scene.sim.ask(URL)
        claims = {} if claimed is None else {URL: claimed}
        standing = (await scene.judgement.standings([URL], None, claims))[URL]
        assert standing.evidence["source"] == "cache"
        assert (standing.verdict is Verdict.CONFIRMED) is confirms

    async def test_asked_for(
        self, body: bytes, how: dict[str, Any], claimed: DocumentClass | None, confirms: bool
    ) -> None:
        scene = Scene()
        sim, relocating = scene.sim, scene.sim.relocating
        judgement = Judgement(relocating.answering.record, relocating.rechecks, sim.store, sim.clock)
        scene.publish(body, URL, **{"content_type": "application/json", **how})
        claims = {} if claimed is None else {URL: claimed}
        standing = (await judgement.standings([URL], FOR_A_CLIENT, claims))[URL]
        assert standing.evidence["source"] == "probe"
        assert (standing.verdict is Verdict.CONFIRMED) is confirms
        await relocating.close()


class TestClaims:
    async def test_the_path_says_more(self) -> None:
        scene, url = Scene(), "https://a.example.com/.well-known/agent-card.json"
        scene.publish(CARD, url, content_type="application/json")
        await scene.sim.ask(url)
        standings = await scene.judgement.standings([url], None, {url: DocumentClass.OPENAPI})
        assert standings[url].verdict is Verdict.CONFIRMED

    async def test_are_told_to_who_asks(self) -> None:
        scene = Scene()
        await scene.judgement.standings([URL, FAR], FOR_A_CLIENT, {URL: DocumentClass.AGENT_CARD})
        assert scene.origins.claims == {URL: DocumentClass.AGENT_CARD, FAR: None}

    async def test_keep_no_record(self) -> None:
        """What a catalog says of a URL does not hold it for gone when its origin has something there again."""
        scene = Scene()
        relocating = scene.sim.relocating
        scene.publish(b"", URL, status=410, max_age=60)
        await scene.sim.ask(URL)
        assert relocating.answering.record(URL) is not None
        scene.publish(b"{}", URL, content_type="application/json")
        sighting = await relocating.rechecks.ask(parse_target(URL), claimed=DocumentClass.AGENT_CARD)
        assert (sighting.status, sighting.is_document) == (200, False)
        assert relocating.answering.record(URL) is None
        await relocating.close()


class TestTime:
    async def test_over(self) -> None:
        """The records are looked at all the same."""
        scene = Scene()
        scene.publish(CARD, URL, content_type="application/json")
        await scene.sim.ask(URL)
        await scene.put(gone(NEW))
        scene.origins.serves(FAR)
        now = asyncio.get_running_loop().time()
        standings = await scene.judgement.standings([URL, NEW, FAR], FOR_A_CLIENT, {}, now - 1)
        assert [standings[url].verdict for url in (URL, NEW)] == [Verdict.UNCONFIRMED, Verdict.REMOVED]
        assert standings[FAR].evidence["reason"] == "not-probed"

    async def test_nearly(self) -> None:
        scene = Scene()
        scene.origins.hanging = {"a.example.com"}
        until = asyncio.get_running_loop().time() + 0.05
        standings = await scene.judgement.standings([URL], FOR_A_CLIENT, {}, until)
        assert standings[URL].evidence["reason"] == "not-probed"


class TestDue:
    async def test_asked_behind_the_scenes(self) -> None:
        scene = Scene()
        await scene.put(moved(URL, NEW), gone(NEW))
        scene.sim.clock += 2 * DAY
        assert await verdict(scene) is Verdict.REMOVED
        assert sorted(scene.origins.due) == sorted([URL, NEW])

    async def test_not_before(self) -> None:
        scene = Scene()
        await scene.put(moved(URL, NEW))
        await verdict(scene)
        assert scene.origins.due == []

    async def test_no_more_than_fifty_a_time(self) -> None:
        scene = Scene()
        urls = [f"https://a.example.com/{number}" for number in range(80)]
        await scene.put(*map(gone, urls))
        scene.sim.clock += 2 * DAY
        await scene.judgement.standings(urls)
        assert len(scene.origins.due) == 50


class TestProbes:
    async def test_of_what_is_unknown_alone(self) -> None:
        scene = Scene()
        await scene.put(moved(URL, NEW))
        scene.origins.serves(FAR)
        standings = await scene.judgement.standings([URL, FAR], FOR_A_CLIENT)
        assert scene.origins.asked == [FAR]
        assert (standings[FAR].verdict, standings[FAR].evidence["source"]) == (Verdict.CONFIRMED, "probe")

    async def test_what_they_record_counts(self) -> None:
        scene = Scene()
        scene.origins.says(gone(URL))
        scene.origins.says(pending(FAR, NEW))
        standings = await scene.judgement.standings([URL, FAR], FOR_A_CLIENT)
        assert [standings[url].verdict for url in (URL, FAR)] == [Verdict.REMOVED, Verdict.PENDING]

    async def test_an_origin_that_is_down(self) -> None:
        scene = Scene()
        standing = (await scene.judgement.standings([URL], FOR_A_CLIENT))[URL]
        assert standing.verdict is Verdict.UNCONFIRMED

    async def test_each_once(self) -> None:
        scene = Scene()
        await scene.judgement.standings([URL, URL, None, URL], FOR_A_CLIENT)
        assert scene.origins.asked == [URL]

    async def test_fifty_thousand_on_one_host(self) -> None:
        scene = Scene()
        urls = [f"https://a.example.com/{number}" for number in range(50_000)]
        standings = await scene.judgement.standings([FAR, *urls], FOR_A_CLIENT)
        assert len(scene.origins.asked) == 200 and FAR in scene.origins.asked
        left = [standing for standing in standings.values() if standing.evidence.get("reason") == "not-probed"]
        assert len(left) == 50_001 - 200
        assert {(one.verdict, one.evidence["source"]) for one in left} == {(Verdict.UNCONFIRMED, "none")}

    async def test_none_unless_wanted(self) -> None:
        scene = Scene()
        await scene.judgement.standings([URL])
        assert scene.origins.asked == []

    async def test_a_record_that_cannot_be_written(self) -> None:
        scene = Scene()
        scene.origins.fault = LedgerUnavailable("full")
        with pytest.raises(LedgerUnavailable):
            await scene.judgement.standings([URL], FOR_A_CLIENT)

    async def test_no_longer_than_a_while(self) -> None:
        scene = Scene()
        scene.origins.hanging = {"a.example.com"}
        standings = await scene.judgement.standings([URL], replace(FOR_A_CLIENT, seconds=0.02))
        assert standings[URL].evidence["reason"] == "not-probed"


class TestInTheEngine:
    """With the engine's own records, and its own way of asking for them."""

    async def test_what_origins_say(self) -> None:
        scene = Scene()
        sim, relocating = scene.sim, scene.sim.relocating
        judgement = Judgement(relocating.answering.record, relocating.rechecks, sim.store, sim.clock)
        scene.publish(b"", URL, status=410, max_age=60)
        scene.publish(b"", f"{URL}?old", status=308, fields=[("Location", NEW)])
        scene.publish(b"{}", NEW, content_type="application/json", cache_control="no-store")
        standings = await judgement.standings([URL, f"{URL}?old", NEW, FAR], FOR_A_CLIENT)
        verdicts = [standing.verdict for standing in standings.values()]
        assert (verdicts[0], *verdicts[2:]) == (Verdict.REMOVED, Verdict.CONFIRMED, Verdict.UNCONFIRMED)
        # Where it moved to may have been looked at by now.
        assert verdicts[1] in (Verdict.PENDING, Verdict.SUPERSEDED)
        await relocating.rechecks.settle([f"{URL}?old"])
        asked = len(sim.origin.requests)
        again = await judgement.standings([URL, f"{URL}?old"], FOR_A_CLIENT)
        assert [standing.verdict for standing in again.values()] == [Verdict.REMOVED, Verdict.SUPERSEDED]
        assert len(sim.origin.requests) == asked
        await relocating.close()


async def test_others_have_their_turn() -> None:
    """A long catalog does not keep everybody waiting until it is through."""
    scene, turns = Scene(), 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(others())
        await scene.judgement.standings(f"https://a.example.com/{number}" for number in range(20_000))
        task.cancel()
    assert turns >= 9


def test_behind_the_scenes_less_is_asked() -> None:
    assert BEHIND_THE_SCENES.most <= 20 < FOR_A_CLIENT.most <= 200 and FOR_A_CLIENT.seconds <= 20
