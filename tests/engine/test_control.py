"""What operators ask: purge in every scope, refresh, explain, list."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from proxy.engine.control import ByHost, ByTag, ByUri, Everything, Scope, scope_name
from proxy.engine.outcome import Served
from proxy.http.targets import MalformedTarget
from tests.engine.samples import CARD, CARD_PATH, HTML, WINDOWS
from tests.simulators.engine import SITE, Simulation, engine, received, request

PAGES = {
    f"{SITE}/a": "red blue",
    f"{SITE}/b": "blue",
    f"{SITE}:8443/a": "",
    "http://example.com/a": "red",
    "https://other.example/a": "red",
    "https://notexample.com/a": "",
    "https://[2001:db8::1]/a": "",
    "https://[2001:db8::1]:8443/a": "",
}


async def holding() -> Simulation:
    """An engine that holds every page."""
    e = engine()
    for uri, tags in PAGES.items():
        e.origin.respond(
            uri[uri.rindex("/") :], cache_control=WINDOWS, etag='"1"', fields=[("Surrogate-Key", tags)]
        )
        await e.ask(uri)
    return e


SCOPES: dict[str, tuple[Scope, str, set[str]]] = {
    "url": (ByUri(f"{SITE}/a"), f"uri:{SITE}/a", {f"{SITE}/a"}),
    "url in another spelling": (ByUri("https://EXAMPLE.com:443/a"), f"uri:{SITE}/a", {f"{SITE}/a"}),
    "url that is not stored": (ByUri(f"{SITE}/c"), f"uri:{SITE}/c", set()),
    "host, every port": (
        ByHost("example.com"),
        "host:example.com",
        {f"{SITE}/a", f"{SITE}/b", f"{SITE}:8443/a", "http://example.com/a"},
    ),
    "host in another spelling": (ByHost("Other.Example."), "host:other.example", {"https://other.example/a"}),
    "host with a port": (ByHost("example.com:8443"), "host:example.com:8443", {f"{SITE}:8443/a"}),
    "host with the default port": (ByHost("example.com:443"), "host:example.com:443", {f"{SITE}/a", f"{SITE}/b"}),
    "address": (
        ByHost("[2001:DB8::1]"),
        "host:[2001:db8::1]",
        {"https://[2001:db8::1]/a", "https://[2001:db8::1]:8443/a"},
    ),
    "address with a port": (
        ByHost("[2001:db8::1]:8443"),
        "host:[2001:db8::1]:8443",
        {"https://[2001:db8::1]:8443/a"},
    ),
    "tag": (ByTag("red"), "tag:red", {f"{SITE}/a", "http://example.com/a", "https://other.example/a"}),
    "tag of nothing": (ByTag("green"), "tag:green", set()),
    "everything": (Everything(), "all", set(PAGES)),
}


@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize(("scope", "name", "affected"), SCOPES.values(), ids=SCOPES)
async def test_purge(scope: Scope, name: str, affected: set[str], soft: bool) -> None:
    e = await holding()
    assert scope_name(scope) == name
    e.clock += 5
    assert await e.control.purge(scope, soft=soft) == len(affected)
    e.origin.fail()
    for uri in PAGES:
        got = await e.ask(uri)
        expected = (Served.SWR if soft else Served.ERROR) if uri in affected else Served.FRESH
        assert (uri, got.served) == (uri, expected)
        await e.refreshed()
    assert len(e.memory) == len(PAGES) - (0 if soft else len(affected))


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param(ByUri("nonsense"), id="url"),
        pytest.param(ByUri("/a"), id="path"),
        pytest.param(ByHost("a b"), id="host"),
        pytest.param(ByHost("[x]"), id="brackets"),
    ],
)
async def test_malformed_scopes(scope: Scope) -> None:
    with pytest.raises(MalformedTarget):
        await engine().control.purge(scope, soft=False)


async def test_b36_purge_takes_all_variants_and_stale_copies() -> None:
    e = engine()
    e.origin.respond("/a", cache_control=WINDOWS, vary="Accept-Language", fields=[("Cache-Tag", "t")])
    for language in ("de", "fr", "it"):
        await e.ask("/a", {"Accept-Language": language})
    e.clock += 50
    assert await e.control.purge(ByTag("t"), soft=False) == 3
    e.origin.fail()
    assert {(await e.ask("/a", {"Accept-Language": language})).status for language in ("de", "fr")} == {504}


async def test_a_purge_of_one_url_counts_every_variant() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, vary="Accept-Language")
    for language in ("de", "fr"):
        await e.ask("/a", {"Accept-Language": language})
    assert await e.control.purge(ByUri(f"{SITE}/a"), soft=False) == 2
    assert await e.control.purge(ByUri(f"{SITE}/a"), soft=False) == 0


async def test_a_purge_of_many_lets_requests_have_their_turn() -> None:
    e = engine()
    for n in range(300):
        e.origin.respond(f"/{n}", max_age=60)
        await e.ask(f"/{n}")
    purge = asyncio.get_running_loop().create_task(e.control.purge(Everything(), soft=False))
    turns = 0
    for _ in range(1000):
        turns += not purge.done()
        await asyncio.sleep(0)
    assert await purge == 300 and turns >= 8 and len(e.memory) == 0


async def test_a_soft_purge_after_a_hard_one_revives_nothing() -> None:
    e = await holding()
    await e.control.purge(Everything(), soft=False)
    await e.control.purge(Everything(), soft=True)
    assert len(await e.control.entries(None, 100)) == 0


async def test_refresh_of_a_url() -> None:
    e = await holding()
    count = len(e.origin.requests)
    e.origin.hold()
    assert await e.control.refresh_uri(f"{SITE}/a")
    assert not await e.control.refresh_uri(f"{SITE}/a")
    assert await e.control.refresh_uri(f"{SITE}/never-seen")
    e.origin.respond("/never-seen", max_age=60)
    e.origin.release()
    await e.refreshed()
    assert e.origin.requests[count].field("If-None-Match") == '"1"'
    assert (await e.ask("/never-seen")).served is Served.FRESH
    with pytest.raises(MalformedTarget):
        await e.control.refresh_uri("nonsense")


async def test_b37_refresh_ends_a_negative_answer() -> None:
    e = engine()
    await e.ask(CARD_PATH)
    e.origin.respond(CARD_PATH, 404, max_age=60)
    await e.ask(CARD_PATH)
    e.origin.respond(CARD_PATH, max_age=60, body=CARD)
    assert await e.control.refresh_uri(f"{SITE}{CARD_PATH}")
    await e.refreshed()
    assert (await e.ask(CARD_PATH)).body == CARD


async def test_refresh_is_held_off_after_failures() -> None:
    e = await holding()
    e.origin.fail()
    await e.control.refresh_uri(f"{SITE}/a")
    await e.refreshed()
    assert not await e.control.refresh_uri(f"{SITE}/a")
    assert (await e.ask("/a")).served is Served.FRESH


async def test_refresh_of_a_host_takes_every_variant_with_what_selects_it() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, vary="Accept-Language, X-None")
    for language in ("de", "fr"):
        await e.ask("/a", {"Accept-Language": language})
    await e.ask("https://other.example/a")
    assert await e.control.refresh_host("example.com") == 2
    assert await e.control.refresh_host("other.example:8443") == 0
    await e.refreshed()
    again = e.origin.requests[3:]
    assert [sent.field("Accept-Language") for sent in again] == ["de", "fr"]
    assert all(sent.field("X-None") is None for sent in again)
    assert len(e.memory) == 3


async def test_entries() -> None:
    e = await holding()
    assert [entry["url"] for entry in await e.control.entries(None, 100)] == list(PAGES)
    assert len(await e.control.entries(None, 3)) == 3
    assert [entry["url"] for entry in await e.control.entries("example.com:8443", 100)] == [f"{SITE}:8443/a"]
    [first, *_] = await e.control.entries("example.com", 100)
    assert (first["tags"], first["status"], first["ttl"]) == (["red", "blue"], 200, 10)


ANSWERS: dict[str, tuple[str, float, str]] = {
    "hit": (WINDOWS, 5, "hit"),
    "stale hit": (WINDOWS, 20, "stale-hit"),
    "revalidate": (WINDOWS, 500, "revalidate"),
}


@pytest.mark.parametrize(("stored", "seconds", "answer"), ANSWERS.values(), ids=ANSWERS)
async def test_explain_foretells_the_answer(stored: str, seconds: float, answer: str) -> None:
    e = engine()
    e.origin.respond("/a", cache_control=stored, etag='"1"', body=b"one")
    await e.ask("/a")
    e.clock += seconds
    told: Any = await e.control.explain(f"{SITE}/a")
    assert (told["decision"]["answer"], told["key"], told["class"]) == (answer, f"{SITE}/a", "other")
    assert (told["flight"], told["hold_off"], len(told["variants"])) == (None, None, 1)


async def test_explain_tells_of_flights_and_back_off() -> None:
    e = engine()
    e.origin.respond("/a", cache_control=WINDOWS)
    await e.ask("/a")
    e.clock += 20
    e.origin.fail()
    await e.ask("/a")
    await e.refreshed()
    told: Any = await e.control.explain(f"{SITE}/a")
    assert told["hold_off"] == {"failures": 1, "until": e.clock() + 5}
    e.origin.hold()
    client = e.start("/b")
    await e.origin.arrived(3)
    told = await e.control.explain(f"{SITE}/b")
    assert (told["flight"], told["decision"]["answer"], told["variants"]) == ({"generation": 0}, "miss", [])
    e.origin.release()
    await client
    with pytest.raises(MalformedTarget):
        await e.control.explain("nonsense")


async def test_a_refresh_holds_a_document_to_what_it_was_stored_as() -> None:
    e = engine()
    e.origin.respond("/card", max_age=60, body=CARD)
    asked = replace(request("/card"), document_class="agent-card")
    await received(await e.gateway.handle(asked))
    e.origin.respond("/card", body=HTML, content_type="text/html")
    await e.control.refresh_uri(f"{SITE}/card")
    await e.refreshed()
    assert [stored.body for stored in e.store.peek(f"{SITE}/card")] == [CARD]
