"""A registry of 10,000 servers: in full, through the cache, and over real connections."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from proxy.engine.catalogs.reading import CatalogRead, CatalogReader
from proxy.engine.fill import Filler
from proxy.engine.forwarder import Forwarder
from proxy.engine.gateway import Gateway
from proxy.engine.outage import Outage
from proxy.engine.outcome import Complete, Served
from proxy.engine.refresh import Refresher
from proxy.engine.turns import Turns
from proxy.http.fields import Fields
from proxy.http.targets import parse_target
from proxy.ports import Origin
from proxy.relocation.rules import DEFAULT_RULES
from proxy.server.catalogpages import CATALOGS, CatalogPages
from proxy.server.own import Asked
from proxy.server.relocating import build_relocation
from proxy.upstream.connect_to import ConnectTo
from proxy.upstream.origin import UpstreamLimits
from tests.engine.catalogs.scene import REGISTRY, Scene, gone, moved
from tests.simulators.engine import Simulation
from tests.simulators.registry import PATH, Registry, Serving, name_of, url_of
from tests.simulators.wire import Authority
from tests.upstream.loopback import client

COUNT = 10_000


def gateway_to(sim: Simulation, origin: Origin) -> Gateway:
    """The engine's store and rules, in front of another origin."""
    relocating = build_relocation(sim.state, origin, sim.relocating.ledger, Turns(), DEFAULT_RULES, None)
    filler = Filler(sim.state, origin, relocating.hearing)
    refresher, forwarder = Refresher(sim.state, filler), Forwarder(sim.state, origin, relocating.hearing)
    return Gateway(sim.state, relocating.answering, filler, refresher, forwarder, Outage(sim.state, None))


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry(COUNT)


async def test_a_report_of_all_pages_is_right_and_asks_for_each_once(registry: Registry) -> None:
    scene = Scene()
    scene.publish_registry(registry)
    await scene.put(*(gone(url_of(number)) for number in range(0, COUNT, 500)))
    await scene.put(*(moved(url_of(number), f"{url_of(number)}/v2") for number in range(1, COUNT, 250)))
    pages = CatalogPages(scene.reader, scene.judgement, scene.sim.clock)
    query = "report=1&url=" + REGISTRY.replace("?", "%3F").replace("=", "%3D")

    first = await pages.answer(Asked(CATALOGS, query, Fields()))
    assert isinstance(first, Complete)
    told: dict[str, Any] = json.loads(first.body)
    assert told["note"] is None
    assert [one["url"] for one in told["entries"]] == [url_of(number) for number in range(COUNT)]
    verdicts = {number: one["verdict"] for number, one in enumerate(told["entries"])}
    assert {number for number, verdict in verdicts.items() if verdict == "removed"} == set(range(0, COUNT, 500))
    assert {number for number, verdict in verdicts.items() if verdict == "superseded"} == set(range(1, COUNT, 250))
    assert told["entries"][1]["final_url"] == f"{url_of(1)}/v2"
    assert first.head.fields.get("discovery-overrides") == "60;moved=40;gone=20"
    assert len(scene.sim.origin.requests) == len(set(scene.sim.origin.paths)) == COUNT // 100

    started = time.perf_counter()
    second = await pages.answer(Asked(CATALOGS, query, Fields()))
    assert time.perf_counter() - started < 10
    assert isinstance(second, Complete) and second.body == first.body
    assert second.outcome.served is Served.FRESH
    assert len(scene.sim.origin.requests) == COUNT // 100


async def test_over_tls(registry: Registry, tmp_path: Path) -> None:
    """The same registry on a socket, read as any other origin is."""
    authority, host = Authority(), "registry.example.org"
    async with Serving(registry, authority.server(host)) as serving:
        limits = UpstreamLimits(
            ca_file=str(authority.write(tmp_path / "ca.pem")),
            connect_to=(ConnectTo(host, None, "127.0.0.1", serving.port),),
        )
        scene = Scene()
        async with client(limits, clock=scene.sim.clock) as origin:
            reader = CatalogReader(gateway_to(scene.sim, origin), scene.sim.clock, "discovery-proxy/test")
            asked = len(registry.asked)
            read = await reader.read_all(parse_target(f"https://{host}{PATH}?limit=100"))
            assert isinstance(read, CatalogRead)
            assert [one.subject for one in read.catalog.entries] == [name_of(number) for number in range(COUNT)]
            assert (read.note, len(registry.asked) - asked) == (None, COUNT // 100)
            again = await reader.read_all(parse_target(f"https://{host}{PATH}?limit=100"))
            assert isinstance(again, CatalogRead) and len(again.catalog.entries) == COUNT
            assert len(registry.asked) - asked == COUNT // 100
