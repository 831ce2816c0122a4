"""The watch list: catalogs read again and again, gauges of what their origins say, and a feed that names them."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from proxy.config import load
from tests.end_to_end.relocation.world import (
    CARD,
    CATALOG,
    CATALOG_TYPE,
    HOST,
    NEVER_STALE,
    NEW,
    OTHER,
    REGISTRY,
    SECOND_CATALOG,
    SECOND_REGISTRY,
    AnyProxy,
    World,
    ai_catalog,
    ask,
    entry,
    feed,
    get,
    gone,
    moved,
    record_of,
    settled,
)
from tests.end_to_end.running import PATIENCE, until
from tests.end_to_end.site import reply
from tests.end_to_end.test_process import child

WITHDRAWN = f"https://{OTHER}/withdrawn.json"
KEPT = f"https://{HOST}/kept.json"
INTERVAL = 0.3
Counts = dict[str, float]


def publish(world: World, url: str, *urls: str) -> None:
    """From now on the catalog at `url` lists these."""
    listed = ai_catalog(*(entry(one, f"n{number}") for number, one in enumerate(urls)))
    world.has(url, listed, CATALOG_TYPE, NEVER_STALE)


async def samples(proxy: AnyProxy, name: str) -> list[Any]:
    """The samples of one metric."""
    answer = await ask(proxy, "/metrics", "Host: 127.0.0.1", port=proxy.admin_port)
    families = text_string_to_metric_families(answer.body.decode())
    return [sample for family in families for sample in family.samples if sample.name == f"discovery_proxy_{name}"]


async def entries(proxy: AnyProxy, catalog: int = 0) -> Counts:
    """How many entries of a watched catalog have each verdict, those that none has left out."""
    found = await samples(proxy, "catalog_entries")
    of_catalog = [one for one in found if one.labels["catalog"] == str(catalog)]
    return {one.labels["verdict"]: one.value for one in of_catalog if one.value}


async def shown(proxy: AnyProxy, is_so: Callable[[Counts], bool], catalog: int = 0) -> Counts:
    """The gauges of a catalog once they are so."""
    counts: Counts = {}
    try:
        async with asyncio.timeout(PATIENCE):
            while not is_so(counts := await entries(proxy, catalog)):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"the gauges remain {counts}") from None
    return counts


async def test_gauges_and_feed(world: World) -> None:
    world.has(KEPT)
    publish(world, CATALOG, CARD, WITHDRAWN, KEPT)
    publish(world, SECOND_CATALOG, KEPT)
    watched = {"catalogs__watch": [CATALOG, SECOND_CATALOG], "catalogs__interval": INTERVAL}
    async with world.proxy(**watched) as proxy:
        await moved(world, proxy)
        await gone(world, proxy, WITHDRAWN)
        await shown(proxy, lambda counts: counts == {"superseded": 1, "removed": 1, "confirmed": 1})
        await shown(proxy, lambda counts: counts == {"confirmed": 1}, 1)
        labels = [(one.labels["catalog"], one.labels["host"]) for one in await samples(proxy, "catalog_entries")]
        assert set(labels) == {("0", REGISTRY), ("1", SECOND_REGISTRY)}
        read_at = await samples(proxy, "catalog_read_timestamp_seconds")
        assert len(read_at) == 2 and all(one.value > 1_700_000_000 for one in read_at)
        lines, _ = await feed(proxy)
        assert {line["url"]: line["catalogs"] for line in lines} == {CARD: [CATALOG], WITHDRAWN: [CATALOG]}
        counted = {
            (one.labels["event"], one.labels["state"]): one.value
            for one in await samples(proxy, "relocations_total")
        }
        assert counted == {("recorded", "pending"): 1, ("changed", "moved"): 1, ("recorded", "gone"): 1}
        # A record of what no watched catalog lists is of none.
        await gone(world, proxy, f"https://{HOST}/unlisted.json")
        assert [line["catalogs"] for line in (await feed(proxy))[0] if "unlisted" in line["url"]] == [[]]


async def test_what_a_changed_catalog_lists_is_noticed(world: World) -> None:
    world.has(KEPT)
    publish(world, CATALOG, KEPT)
    world.withdraws(WITHDRAWN)
    async with world.proxy(catalogs__watch=[CATALOG], catalogs__interval=INTERVAL) as proxy:
        await shown(proxy, lambda counts: counts == {"confirmed": 1})
        assert world.asked(WITHDRAWN) == []
        publish(world, CATALOG, KEPT, WITHDRAWN)
        await settled(proxy, WITHDRAWN, "gone")
        [line] = (await feed(proxy, "?wait=1"))[0]
        assert (line["event"], line["url"]) == ("gone", WITHDRAWN)
        await shown(proxy, lambda counts: counts == {"confirmed": 1, "removed": 1})
        assert (await feed(proxy))[0][0]["catalogs"] == [CATALOG]
        publish(world, CATALOG, KEPT)
        await shown(proxy, lambda counts: counts == {"confirmed": 1})
        assert (await feed(proxy))[0][0]["catalogs"] == []
        assert len(world.asked(WITHDRAWN)) == 1, "what is recorded is not asked for again"
        assert len(world.asked(KEPT)) <= len(world.asked(CATALOG)), "what is not, once each time at most"


async def test_few_are_asked_at_each_look(world: World) -> None:
    urls = [f"https://{HOST}/agents/{number}.json" for number in range(50)]
    for url in urls:
        world.has(url)
    publish(world, CATALOG, *urls)
    async with world.proxy(catalogs__watch=[CATALOG], catalogs__interval=INTERVAL) as proxy:
        await shown(proxy, lambda counts: counts.get("confirmed", 0) >= 20)
        assert len(world.sites[HOST].asked) <= 20 * len(world.asked(CATALOG))
        await shown(proxy, lambda counts: counts == {"confirmed": 50})
        assert 50 <= len(world.sites[HOST].asked) <= 20 * len(world.asked(CATALOG))
        # Those that were not asked for the longest time come first.
        assert {len(world.asked(url)) for url in urls} <= {1, 2}


async def test_a_catalog_that_fails_is_told_once_and_changes_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.has(KEPT)
    publish(world, CATALOG, KEPT)
    async with world.proxy(catalogs__watch=[CATALOG], catalogs__interval=INTERVAL) as proxy:
        counts = await shown(proxy, lambda counts: counts == {"confirmed": 1})
        world.on(CATALOG, lambda asked: reply(b"", status=503))
        world.forget()
        await until(lambda: len(world.asked(CATALOG)) >= 3)
        assert await entries(proxy) == counts
        publish(world, CATALOG, KEPT, CARD)
        world.withdraws(CARD)
        await shown(proxy, lambda counts: counts == {"confirmed": 1, "removed": 1})
    told = [event.getMessage() for event in caplog.records if event.name == "proxy.catalogs"]
    assert told == ["a catalog cannot be read", "a catalog can be read again"]


async def test_a_secret_in_a_watched_url_is_nowhere(
    world: World, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    secret = "s3cr3t-0123456789abcdef"
    url = f"{CATALOG}?access_token={secret}"
    publish(world, url, CARD)
    async with world.proxy(catalogs__watch=[url], catalogs__interval=INTERVAL) as proxy:
        await gone(world, proxy)
        await shown(proxy, lambda counts: counts == {"removed": 1})
        [line] = (await feed(proxy))[0]
        [named] = line["catalogs"]
        assert named.startswith(f"https://{REGISTRY}/")
        metrics = await ask(proxy, "/metrics", "Host: 127.0.0.1", port=proxy.admin_port)
        config = await ask(proxy, "/admin/config", "Host: 127.0.0.1", port=proxy.admin_port)
        assert secret not in named + metrics.body.decode()
        assert secret.encode() not in config.body
        world.on(url, lambda asked: reply(b"", status=503))
        await until(lambda: any(event.name == "proxy.catalogs" for event in caplog.records))
    texts = [json.dumps(vars(event), default=str) for event in caplog.records if event.name.startswith("proxy")]
    assert secret not in capsys.readouterr().out + "".join(texts)


async def test_a_reload_with_another_list(world: World, config: Path) -> None:
    world.has(KEPT)
    publish(world, CATALOG, CARD)
    publish(world, SECOND_CATALOG, KEPT)
    first, second = (
        world.document(catalogs__watch=[url], catalogs__interval=INTERVAL) for url in (CATALOG, SECOND_CATALOG)
    )
    async with child(config, **first) as proxy:
        await gone(world, proxy)
        await shown(proxy, lambda counts: counts == {"removed": 1})
        assert (await feed(proxy))[0][0]["catalogs"] == [CATALOG]
        proxy.configure(**second)
        proxy.process.send_signal(signal.SIGHUP)
        await proxy.logged("reloaded")
        await shown(proxy, lambda counts: counts == {"confirmed": 1})
        assert {one.labels["host"] for one in await samples(proxy, "catalog_entries")} == {SECOND_REGISTRY}
        assert (await feed(proxy))[0][0]["catalogs"] == []
        record = await record_of(proxy, CARD)
        assert record is not None and (await get(proxy, CARD)).status == 410
        proxy.process.send_signal(signal.SIGTERM)
        assert await proxy.ended() == 0


async def test_the_list_of_before_is_watched_no_longer(world: World) -> None:
    publish(world, CATALOG, CARD)
    async with world.proxy(catalogs__watch=[CATALOG], catalogs__interval=INTERVAL) as proxy:
        await until(lambda: bool(world.asked(CATALOG)))
        sections = {
            name.replace("__", "."): value for name, value in {**world.sections, "store__url": "memory://"}.items()
        }
        await proxy.service.reload(load(None, {}, sections))
        await asyncio.sleep(0.1)
        world.forget()
        await asyncio.sleep(3 * INTERVAL)
        assert world.asked(CATALOG) == []


async def test_a_catalog_on_the_list_that_moves(world: World) -> None:
    world.has(KEPT)
    publish(world, SECOND_CATALOG, KEPT)
    world.answers(CATALOG, 308, ("Location", SECOND_CATALOG))
    async with world.proxy(catalogs__watch=[CATALOG], catalogs__interval=INTERVAL) as proxy:
        await shown(proxy, lambda counts: counts == {"confirmed": 1})
        record = await settled(proxy, CATALOG, "moved")
        assert record is not None and record["target"] == SECOND_CATALOG
        assert (await get(proxy, NEW)).status == 404
